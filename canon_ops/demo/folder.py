"""The folder in which a demo happens: made, owned by a lock, removed; and what killed demos have left of theirs.

The lock tells a folder that is at work from one that nobody will ever clear away. It is held by the demo, and by the
watcher of its gateway after a kill. One that is to be kept has none, so it is nobody's to remove.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from canon_ops.demo.tether import LOCK_NAME, remove_folder
from canon_ops.runtime.held_signals import signals_held

__all__ = ["DemoFolder", "demo_folder"]

_PREFIX = "canon-ops-demo-"


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """Where a demo happens.

    Attributes:
        lock: the descriptor that holds its lock; None where it is to be kept.
    """

    path: Path
    lock: int | None


@contextmanager
def demo_folder(*, keep: bool = False) -> Iterator[DemoFolder]:
    """A folder for one demo, gone afterwards unless it is to be kept; first what dead demos have left is removed."""
    _remove_dead(Path(tempfile.gettempdir()))
    made: DemoFolder | None = None
    try:
        with signals_held():
            path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            made = DemoFolder(path, None if keep else _locked(path))
        yield made
    finally:
        with signals_held():
            if made is not None and made.lock is not None:
                remove_folder(made.path)
                os.close(made.lock)


def _locked(folder: Path) -> int:
    """The lock under its name once it is held: who finds it can tell at once."""
    new = folder / (LOCK_NAME + ".new")
    lock = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    new.rename(folder / LOCK_NAME)
    return lock


def _remove_dead(place: Path) -> None:
    """Remove the folders of this user whose lock nobody holds. What cannot be told, or removed, stays."""
    with suppress(OSError):
        for folder in place.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_folder(folder)
    finally:
        os.close(lock)
