"""One writer at a time, never for ever: an advisory lock with a deadline.

The lock file is separate from the files it guards and is never deleted, so that every process locks the same inode.
On network mounts such a lock may be advisory only; the hash check of :mod:`canon_ops.files.transaction` is the real
guard. Attempts do not block: a lock that hangs in the kernel would outlive any deadline.

Attempts that do not block are unfair: who releases the lock and comes again at once would win over everybody who looks
every few milliseconds. So there is a turnstile, ``<path>.next``: who wants the lock first takes the turnstile, waits in
it for the lock, and leaves it with the lock in hand. The former holder stands behind whoever is in it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from canon_ops.errors import ConflictError
from canon_ops.files.disk import Disk, explain
from canon_ops.hints import ClassVar, Self
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.runtime.mounts import network_file_system
from canon_ops.runtime.ownership import hand_over

__all__ = ["FileLock", "FolderLock", "LockTimeout", "holder_of"]

POLL_S = 0.005


class LockTimeout(ConflictError):
    """Another process kept the lock for the whole time given."""

    code: ClassVar[str] = "lock_timeout"


class FileLock:
    """Hold ``path`` for the length of a ``with`` block.

    Args:
        path: the lock file; it and its folder are made when missing (0600, 0700).
        timeout_s: how long to try; zero tries once.

    Raises:
        LockTimeout: the lock was not free in time.
        DiskError: the lock file cannot be made here.
    """

    def __init__(self, path: Path, timeout_s: float = 10.0, *, clock: Clock | None = None) -> None:
        self.path = path
        self.timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._held: int | None = None

    def __enter__(self) -> Self:
        deadline_s = self._clock.monotonic_s() + self.timeout_s
        try:
            if not self.path.parent.is_dir():
                Disk().make_folders(self.path.parent, 0o700)
            turnstile = self._acquire(self.path.with_name(f"{self.path.name}.next"), deadline_s)
            try:
                self._held = self._acquire(self.path, deadline_s)
            finally:
                os.close(turnstile)
        except OSError as error:
            raise explain(error, self.path) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            with suppress(OSError):  # a server that has forgotten the file (ESTALE) has no lock of ours either
                os.close(held)  # the lock goes with the last descriptor of this opening

    def _acquire(self, path: Path, deadline_s: float, flags: int = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW) -> int:
        """Open and lock ``path``; the descriptor holds the lock until it is closed."""
        is_new = not os.path.lexists(path)
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
        try:
            if is_new:
                hand_over(descriptor, path.parent)
            while not _try_lock(descriptor):
                if self._clock.monotonic_s() >= deadline_s:
                    raise self._timed_out()
                time.sleep(POLL_S)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _timed_out(self) -> LockTimeout:
        holder = holder_of(self.path)
        who = f"process {holder}" if holder else "another process"
        what = f"{who} holds {self.path}; waited {self.timeout_s:g} s"
        mount = network_file_system(self.path)
        if mount:
            what += f" (the folder is on {mount}, where a lock may outlive its process)"
        return LockTimeout(
            what,
            fix=f"ps -p {holder}" if holder else "wait for the other canon-ops command and try again",
            file=str(self.path),
        )


class FolderLock(FileLock):
    """The same on a folder itself, which leaves nothing behind there; without a turnstile, so nobody queues.

    For folders that are not ours, where a lock file would be a stray file.
    """

    def __enter__(self) -> Self:
        deadline_s = self._clock.monotonic_s() + self.timeout_s
        try:
            self._held = self._acquire(self.path, deadline_s, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise explain(error, self.path) from error
        return self


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES):  # some file systems say EACCES
            return False
        raise
    return True


def holder_of(path: Path) -> int | None:
    """The process that holds a flock on ``path``, as far as Linux tells; None elsewhere."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = path.stat()
        wanted = f"{os.major(inode.st_dev):02x}:{os.minor(inode.st_dev):02x}:{inode.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5] == wanted:
                return int(fields[4]) if int(fields[4]) > 0 else None
    return None
