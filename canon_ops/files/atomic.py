"""Replace one file so that every reader sees the old text or the new one, never a part.

The new text is written beside the *real* target (links are followed and kept), made durable, given the old file's mode
and owner, and renamed over it; then the folder is made durable.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import stat
import time
from pathlib import Path

from canon_ops.errors import RefusedError
from canon_ops.files.disk import Disk, DiskError, explain
from canon_ops.hints import ClassVar
from canon_ops.lean import dataclass

__all__ = [
    "BrokenLink",
    "ForeignLink",
    "ForeignOwner",
    "NotAFile",
    "Target",
    "find_target",
    "replace_file",
    "write_beside",
]

_STEPS = 4_096  # of a path with every link in it followed; more would be a circle, which is refused before
_MARK_BYTES = 4  # of a temporary name, behind the number of its process
_ABANDONED_S = 60.0
PRIVATE_MODE = 0o600
PRIVATE_FOLDER_MODE = 0o700


class BrokenLink(RefusedError):
    """The path is a symbolic link that leads nowhere, or in a circle."""

    code: ClassVar[str] = "broken_link"


class NotAFile(RefusedError):
    """Something else than a regular file has that name."""

    code: ClassVar[str] = "not_a_file"


class ForeignLink(RefusedError):
    """A link on the way belongs to somebody who has no business with the file behind it."""

    code: ClassVar[str] = "foreign_link"


class ForeignOwner(RefusedError):
    """The file belongs to somebody else, and this user cannot give the new text back to them."""

    code: ClassVar[str] = "foreign_owner"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a path leads, and what is kept of the file there.

    Attributes:
        path: as it was asked for.
        real: with every symbolic link followed; the file that a writer replaces.
        mode: permission bits of the existing file; None when there is none.
        owner: user and group of the existing file; None when there is none.
    """

    path: Path
    real: Path
    mode: int | None
    owner: tuple[int, int] | None

    @property
    def exists(self) -> bool:
        return self.mode is not None


def find_target(path: Path) -> Target:
    """Follow ``path`` to the file that it names.

    Raises:
        BrokenLink: a dangling link or a loop.
        ForeignLink: a link that somebody else laid, to a file that is not theirs.
        NotAFile: a folder, a pipe, a device.
        DiskError: a folder on the way may not be entered.
    """
    try:
        real = _follow(path)
        found = real.lstat()
    except FileNotFoundError:
        if path.is_symlink():
            raise BrokenLink(
                f"{path} is a symbolic link to {real}, which does not exist",
                fix=f"ls -l {path}",
                file=str(path),
            ) from None
        return Target(path, real, None, None)
    except OSError as error:
        raise explain(error, path, verb="read") from error
    if real != path:
        _refuse_foreign_links(path, found.st_uid)
    if not stat.S_ISREG(found.st_mode):
        raise NotAFile(f"{path} is not a regular file", fix=f"ls -ld {path}", file=str(path))
    return Target(path, real, stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid))


def _follow(path: Path) -> Path:
    try:
        return path.resolve(strict=False)
    except (RuntimeError, OSError) as error:  # Python 3.11 and 3.12 raise RuntimeError for a loop
        if isinstance(error, OSError) and error.errno != errno.ELOOP:
            raise
        raise BrokenLink(
            f"{path} is a symbolic link that leads in a circle", fix=f"ls -l {path}", file=str(path)
        ) from error


def _refuse_foreign_links(path: Path, owner: int) -> None:
    """Refuse a way to somebody's file over a link that a third person laid; the rule is Linux's for shared folders.

    Raises:
        ForeignLink: a link on the way is neither this user's nor root's, nor of whom the file belongs to.
    """
    trusted = {os.geteuid(), 0, owner}
    waiting, walked = list(reversed(path.absolute().parts[1:])), Path("/")
    for _ in range(_STEPS):
        if not waiting:
            return
        walked = walked.parent if (name := waiting.pop()) == ".." else walked / name
        found = walked.lstat()
        if not stat.S_ISLNK(found.st_mode):
            continue
        if found.st_uid not in trusted:
            raise ForeignLink(
                f"{walked} is a symbolic link of user {found.st_uid}, who does not own the file that it leads to",
                fix=f"ls -l {shlex.quote(str(walked))}; remove it unless you want it",
                file=str(path),
            )
        where = walked.readlink()
        walked = Path("/") if where.is_absolute() else walked.parent
        waiting += reversed([part for part in where.parts if part != "/"])


def write_beside(disk: Disk, target: Target, name: Path, data: bytes, *, new_mode: int | None) -> None:
    """Write ``data`` durably to ``name``, dressed as the file that it will replace.

    Args:
        new_mode: the mode when there is no old file; None leaves it to the process's umask.
    """
    try:
        if not target.exists and new_mode is None:
            disk.write_plain(name, data)
            return
        mode = target.mode if target.mode is not None else new_mode
        disk.write_new(name, data, mode=mode if mode is not None else PRIVATE_MODE, owner=target.owner)
    except PermissionError as error:
        if target.owner is not None and target.owner[0] != os.geteuid():
            raise ForeignOwner(
                f"{target.real} belongs to user {target.owner[0]}; user {os.geteuid()} would take it away",
                fix=f"run the command as user {target.owner[0]}",
                file=str(target.path),
            ) from error
        raise


def replace_file(path: Path, data: bytes, *, mode: int | None = PRIVATE_MODE, disk: Disk | None = None) -> None:
    """Replace or create one file, durably, in one step for every reader.

    For a user's files use :class:`canon_ops.files.transaction.Transaction`; this is for files that only we write
    (state, caches, ready files), which need neither lock nor history. What a process that was killed here has left
    beside the file goes with the next one that writes it.

    Args:
        mode: the mode of a file that does not exist yet; an existing one keeps its mode and owner. None: by umask.

    Raises:
        BrokenLink, NotAFile, ForeignOwner, DiskError: nothing was changed, no temporary file is left; or the error
            says that the file is written and that only its disk has not confirmed it.
    """
    disk = disk or Disk()
    target = find_target(path)
    temporary = target.real.with_name(f".{target.real.name}.{os.getpid()}.{os.urandom(_MARK_BYTES).hex()}.tmp")
    try:
        disk.make_folders(target.real.parent, PRIVATE_FOLDER_MODE)
        try:
            write_beside(disk, target, temporary, data, new_mode=mode)
            disk.rename(temporary, target.real)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise explain(error, path) from error
    _sweep(disk, target.real)
    try:
        disk.sync_folder(target.real.parent)
    except OSError as error:
        raise DiskError(
            f"{path} is written, but its disk does not confirm it ({error.strerror or error}); "
            "after a power cut the old text may be back",
            fix=explain(error, path).fix,
            file=str(path),
        ) from error


def _sweep(disk: Disk, real: Path) -> None:
    """Remove the temporary files of earlier writers of ``real`` that were killed; such a text may hold a key.

    A process of another container is not seen here, so a file must also be older than any write takes.
    """
    try:
        with os.scandir(real.parent) as entries:
            found = [Path(entry.path) for entry in entries if _is_temporary(entry.name, real.name)]
    except OSError:
        return
    for path in found:
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _ABANDONED_S and not _is_running(int(path.name.split(".")[-3])):
                disk.unlink(path)


def _is_temporary(name: str, of: str) -> bool:
    """Whether :func:`replace_file` names a file like that beside the one that it writes."""
    if not (name.startswith(f".{of}.") and name.endswith(".tmp")):
        return False
    pid, _, mark = name[len(of) + 2 : -len(".tmp")].partition(".")
    return pid.isascii() and pid.isdigit() and len(mark) == 2 * _MARK_BYTES and "." not in mark


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True
