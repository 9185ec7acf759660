"""The file's place on disk: a private folder, a private file, and nobody else's hands in it.

SQLite would create its file with the umask's mode and follow any link. So the file is created here, 0600 from its
first moment, in a folder of 0700; SQLite gives its ``-wal`` and ``-shm`` files the mode of the main file. A file that
is already there is looked at and never opened: closing any descriptor of it would drop the locks that another
connection of this process holds (fcntl locks belong to the process).
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import stat
import threading
from pathlib import Path

from canon_ops.durable.problems import NoDatabase, UnsafeFile, explain
from canon_ops.runtime.ownership import give_folder, hand_over, is_ours

__all__ = ["check_file", "companions", "prepare", "sync_names"]

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077

# Creating closes a descriptor (see above), so no other thread of ours may be between "it exists" and its first lock.
_creating = threading.Lock()


def companions(path: Path) -> tuple[Path, ...]:
    """The files that SQLite may keep beside ``path``: log, log index, rollback journal."""
    return tuple(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))


def prepare(path: Path) -> None:
    """Make sure that ``path`` is a private file in a private folder; create what is missing, durably.

    The folder belongs to the database: a mode that lets others in is tightened. A file is never tightened, since
    others may have read it already; that is for a person to judge. Links above the folder, and the folder itself as a
    link, are followed, because people keep a Hermes home on another disk; but what a link leads to was made by somebody
    for more than this, so its mode is theirs to change.

    Raises:
        UnsafeFile: a file is a link, has more names, or a mode open to others; the folder is a link to one that is
            open to others; either has another owner.
        DurableError: the operating system refused.
    """
    try:
        with _creating:
            _prepare_folder(path.parent)
            if not os.path.lexists(path):
                _create(path)
    except OSError as error:
        raise explain(error, path) from error
    check_file(path)


def sync_names(path: Path) -> None:
    """Make sure that the names of the database and its log outlive a power cut.

    Raises:
        DurableError: the disk refuses to say so.
    """
    try:
        _sync_folder(path.parent)
    except OSError as error:
        raise explain(error, path) from error


def check_file(path: Path) -> None:
    """Refuse a database file, or a companion of it, that somebody else could have written or could read.

    Raises:
        NoDatabase: there is no such file.
        UnsafeFile: see :func:`prepare`.
    """
    if not os.path.lexists(path):
        raise NoDatabase(f"there is no database {path}", file=str(path))
    for each in (path, *companions(path)):
        try:
            _check(each, each.lstat())
        except FileNotFoundError:
            continue  # a companion that is not there, or has just gone
        except OSError as error:
            raise explain(error, each) from error


def _prepare_folder(folder: Path) -> None:
    missing = [folder, *folder.parents]
    missing = missing[: next((i for i, each in enumerate(missing) if each.is_dir()), len(missing))]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            each.mkdir(FOLDER_MODE)
            give_folder(each)
        _sync_folder(each.parent)
    found = folder.stat()
    if not is_ours(found, folder.parent):
        raise _foreign(folder, found.st_uid)
    mode = stat.S_IMODE(found.st_mode)
    if mode & OTHERS:
        if folder.is_symlink():
            what = f"others may enter {folder}, a symbolic link to {folder.readlink()} (permissions {mode:04o})"
            raise _unsafe(folder, what, f"chmod 700 {shlex.quote(str(folder))}")
        folder.chmod(FOLDER_MODE)


def _create(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        hand_over(descriptor, path.parent)
    finally:
        os.close(descriptor)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(path: Path, found: os.stat_result) -> None:
    quoted = shlex.quote(str(path))
    if stat.S_ISLNK(found.st_mode):
        raise _unsafe(path, f"{path} is a symbolic link (to {path.readlink()})", f"ls -l {quoted}")
    if not stat.S_ISREG(found.st_mode):
        raise _unsafe(path, f"{path} is not a regular file", f"ls -ld {quoted}")
    if not is_ours(found, path.parent):
        raise _foreign(path, found.st_uid)
    if found.st_nlink > 1:  # SQLite finds its log by name: two names would be two logs for one file
        raise _unsafe(path, f"{path} has {found.st_nlink} names (hard links)", f"ls -li {quoted}")
    mode = stat.S_IMODE(found.st_mode)
    if mode & OTHERS:
        raise _unsafe(path, f"others may open {path} (permissions {mode:04o})", f"chmod 600 {quoted}")


def _foreign(path: Path, uid: int) -> UnsafeFile:
    try:
        owner = pwd.getpwuid(uid).pw_name
    except KeyError:
        owner = f"#{uid}"
    return _unsafe(path, f"{path} belongs to user {owner}, not to the user who runs this", f"sudo -u {owner} …")


def _unsafe(path: Path, what: str, fix: str) -> UnsafeFile:
    return UnsafeFile(what, fix=fix, file=str(path))
