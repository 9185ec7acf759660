"""A folder for the length of one piece of work: made, owned by a lock, gone afterwards, however the work ends.

SIGINT, SIGTERM and SIGHUP leave nothing: neither between making the folder and knowing it, nor while it is removed, nor
where the work happens on a thread that the process leaves behind. SIGKILL leaves the folder, readable for its user
alone, and its lock free; whoever makes the next folder here removes it. What has no lock is nobody's to remove: a
folder that somebody else has named alike, and one that is to be kept.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from canon_ops.runtime.held_signals import signals_held

__all__ = ["LOCK_NAME", "Scratch", "remove_dead", "scratch_folder"]

LOCK_NAME = ".canon-ops.lock"
_PREFIX = "canon-ops-"


class Scratch:
    """A temporary folder; removed when it is closed, when nobody holds it any more, and when the process ends.

    Attributes:
        lock: the descriptor that holds the folder's lock; None where there is none.
    """

    def __init__(self, name: str = "", *, keep: bool = False) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX + name))  # 0700
        self.lock = None if keep else _locked(self.path)
        self.close = weakref.finalize(self, _end, None if keep else self.path, self.lock)


@contextmanager
def scratch_folder(name: str = "", *, keep: bool = False) -> Iterator[Scratch]:
    """A folder of mode 0700, called after ``name``. First, what killed work has left here is removed.

    Args:
        keep: leave it, without a lock.
    """
    remove_dead()
    made: Scratch | None = None
    try:
        with signals_held():
            made = Scratch(name, keep=keep)
        yield made
    finally:
        with signals_held():
            if made is not None:
                made.close()


def _end(folder: Path | None, lock: int | None) -> None:
    if folder is not None:
        _remove(folder)
    if lock is not None:
        os.close(lock)


def _remove(folder: Path) -> None:
    """The lock goes last, so that what an interruption leaves is found again."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK_NAME:
                with suppress(OSError):
                    path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _locked(folder: Path) -> int | None:
    """The lock gets its name once it is held: who finds it can tell at once. None where the system has no locks."""
    new = folder / (LOCK_NAME + ".new")
    with suppress(OSError):
        lock = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new.rename(folder / LOCK_NAME)
        except OSError:
            os.close(lock)
            raise
        return lock
    return None


def remove_dead() -> None:
    """Remove the temporary folders of this user whose lock nobody holds. What cannot be told, or removed, stays."""
    with suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    finally:
        os.close(lock)
