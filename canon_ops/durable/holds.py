"""Which database files this process has open, so that no descriptor of one is closed behind SQLite's back.

File locks of the ``fcntl`` kind belong to the process: closing *any* descriptor of a file drops all of its locks, also
those of a connection that another thread works with. SQLite takes care of the descriptors it knows; it does not for a
file that it was told to read as ``immutable``. A gateway that lost its locks that way would lose its log next, to
whichever process closes the file after it. So a file is read bare only while nobody here holds it, and whoever wants to
hold it waits until the bare reading is over.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canon_ops.durable.problems import StatementRefused

__all__ = ["HeldConnection", "bare", "hold", "let_go"]

_changed = threading.Condition()
_holds: dict[Path, int] = {}
_bare: dict[Path, list[int]] = {}  # the threads that read it


class HeldConnection(sqlite3.Connection):
    """A connection that lets go of its file when it is closed."""

    held: Path | None = None

    def close(self) -> None:
        super().close()
        held, self.held = self.held, None
        if held is not None:
            let_go(held)


def hold(path: Path) -> Path:
    """Say that a connection to ``path`` is about to be opened; return what to give to :func:`let_go`.

    Raises:
        StatementRefused: this very thread is reading the file bare, and would wait for itself.
    """
    name = _name(path)
    with _changed:
        if threading.get_ident() in _bare.get(name, ()):
            raise StatementRefused(f"a function that reads {path} opened it for writing", file=str(path))
        _changed.wait_for(lambda: not _bare.get(name))
        _holds[name] = _holds.get(name, 0) + 1
    return name


def let_go(name: Path) -> None:
    """Say that a connection was closed."""
    with _changed:
        _holds[name] -= 1
        if not _holds[name]:
            del _holds[name]


@contextmanager
def bare(path: Path) -> Iterator[bool]:
    """Keep everybody in this process from opening ``path`` meanwhile; False when somebody has it open already."""
    name = _name(path)
    with _changed:
        is_free = name not in _holds
        if is_free:
            _bare.setdefault(name, []).append(threading.get_ident())
    try:
        yield is_free
    finally:
        if is_free:
            with _changed:
                _bare[name].remove(threading.get_ident())
                if not _bare[name]:
                    del _bare[name]
                _changed.notify_all()


def _name(path: Path) -> Path:
    return path.parent.resolve() / path.name
