"""The few calls by which this room changes a disk, and what their failures mean to a person.

Every change goes through :class:`Disk`, one method a system call, so that a test can hand in a disk that fails or
kills at each of them; ``tests/acceptance`` compares the list with what ``strace`` sees. Reading needs no such care and
uses ``pathlib``.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from canon_ops.errors import OutsideError
from canon_ops.hints import ClassVar
from canon_ops.runtime.ownership import heir, owner_of

__all__ = ["Disk", "DiskError", "existing", "explain"]


class DiskError(OutsideError):
    """The operating system refused to read or write a file."""

    code: ClassVar[str] = "disk"


# What to say for an errno, and what to do about it. {path} is the file or folder at fault, {existing} the first one on
# the way up that is there to be looked at.
_SENTENCES: dict[int, tuple[str, str]] = {
    errno.EACCES: ("{path} may not be {verb} by this user", "ls -ld {existing}"),
    errno.EPERM: ("{path} may not be {verb} by this user", "ls -ld {existing}"),
    errno.EROFS: ("{path} lies on a read-only file system", "mount | grep -w ro"),
    errno.ENOSPC: ("the disk that holds {path} is full; nothing was changed", "df -h {existing}"),
    errno.EDQUOT: ("the quota of the disk that holds {path} is used up; nothing was changed", "quota -s"),
    errno.EIO: ("the disk that holds {path} reports an input/output error", "dmesg | tail"),
    errno.EISDIR: ("{path} is a folder, not a file", "ls -ld {path}"),
    errno.ENOTDIR: ("a part of {path} is a file where a folder is needed", "ls -ld {existing}"),
    errno.ENAMETOOLONG: ("the name {path} is too long for its file system", "choose a shorter name"),
    errno.ENOENT: ("{path} does not exist", "ls -ld {existing}"),
    errno.ESTALE: ("the network mount that holds {path} has gone stale", "ls {path}"),
}


def explain(error: OSError, path: Path, *, verb: str = "written") -> DiskError:
    """Turn an operating-system error about ``path`` into one sentence with its cure.

    Args:
        verb: what was tried, as a participle: "written", "read".
    """
    what, fix = _SENTENCES.get(
        error.errno or 0, (f"{{path}} could not be {{verb}}: {error.strerror or error}", "ls -ld {existing}")
    )
    above = existing(path)
    if error.errno == errno.ENOENT and above.is_symlink():
        what, fix = f"{above} is a symbolic link to {above.readlink()}, which does not exist", "ls -l {existing}"
    return DiskError(what.format(path=path, verb=verb), fix=fix.format(path=path, existing=above), file=str(path))


def existing(path: Path) -> Path:
    """``path``, or the first folder above it that exists; a link that leads nowhere exists as a link."""
    for place in (path, *path.parents):
        if os.path.lexists(place):
            return place
    return path


class Disk:
    """The real disk. Each method is one system call that changes something, and raises what the call raises."""

    def make_folder(self, path: Path, mode: int) -> None:
        os.mkdir(path, mode)  # noqa: PTH102  # one call, no parents: the caller walks them

    def create(self, path: Path, mode: int) -> int:
        """Create ``path``, which must not exist, with ``mode`` from its first moment; return the descriptor."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)

    def overwrite(self, path: Path) -> int:
        """Open ``path``, which exists, empty it, and return the descriptor."""
        return os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW)

    def give_to(self, descriptor: int, uid: int, gid: int) -> None:
        os.fchown(descriptor, uid, gid)

    def set_mode(self, descriptor: int, mode: int) -> None:
        os.fchmod(descriptor, mode)

    def write(self, descriptor: int, data: bytes) -> int:
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        os.rename(source, target)  # noqa: PTH104  # the bare call, so that the list of points is honest

    def unlink(self, path: Path) -> None:
        os.unlink(path)  # noqa: PTH108

    def remove_folder(self, path: Path) -> None:
        os.rmdir(path)  # noqa: PTH106

    def sync_folder(self, path: Path) -> None:
        """Make the names in ``path`` durable. File systems without that ability (some network mounts) are let pass."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(descriptor)

    # -- compositions -------------------------------------------------------------------------------------------

    def make_folders(self, path: Path, mode: int) -> None:
        """Create ``path`` and its missing parents, each with ``mode`` from its first moment, and make them durable."""
        missing = [path, *path.parents]
        missing = missing[: next((i for i, folder in enumerate(missing) if folder.is_dir()), len(missing))]
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):  # another process was quicker
                self.add_folder(folder, mode)
                self.sync_folder(folder.parent)

    def add_folder(self, path: Path, mode: int) -> None:
        """Create ``path``, which must not exist, for whom the folder above it belongs to."""
        self.make_folder(path, mode)
        if (owner := heir(path.parent)) is not None:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                self._give(descriptor, owner)
            finally:
                os.close(descriptor)

    def write_new(self, path: Path, data: bytes, *, mode: int, owner: tuple[int, int] | None = None) -> None:
        """Create ``path`` durably with ``data``; it is never readable by more people than ``mode`` and 0600 allow.

        Args:
            mode: the mode at the end, umask or not.
            owner: user and group to hand the file to; None: those of its folder, when root makes it.
        """
        self._fill(self.create(path, mode & 0o600), data, mode=mode, owner=owner or heir(path.parent))

    def write_plain(self, path: Path, data: bytes) -> None:
        """Create ``path`` durably with ``data``; the umask decides who may read it."""
        self._fill(self.create(path, 0o666), data, mode=None, owner=heir(path.parent))

    def rewrite(self, path: Path, data: bytes) -> None:
        """Replace the content of ``path`` in place: for a file that is itself a mount point and cannot be renamed."""
        self._fill(self.overwrite(path), data, mode=None, owner=None)

    def _fill(self, descriptor: int, data: bytes, *, mode: int | None, owner: tuple[int, int] | None) -> None:
        try:
            if owner is not None:
                self._give(descriptor, owner)
            if mode is not None:
                self.set_mode(descriptor, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[self.write(descriptor, bytes(rest)) :]
            self.sync(descriptor)
        finally:
            os.close(descriptor)

    def _give(self, descriptor: int, owner: tuple[int, int]) -> None:
        if owner_of(descriptor) != owner:
            self.give_to(descriptor, *owner)
