"""A commit that its process did not finish, told without a lock and without changing anything.

A reader that meets a home in that state reads a mixture: one file is new already, the other one is not yet. It has to
say so. Whoever writes next finishes it on entering (:meth:`canon_ops.files.journal.Journal.recover`).

A commit that is under way looks the same for some milliseconds; the lock, which its process holds, tells them apart.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import Literal

from canon_ops.files.disk import explain
from canon_ops.files.grounds import noted_folder
from canon_ops.files.journal import COMMITTED, INTENT, PENDING, FileState, file_states, goes_back, read_record
from canon_ops.files.records import Record
from canon_ops.lean import dataclass

__all__ = ["Interrupted", "blocked_place", "find_interrupted", "is_under_way", "pending_texts"]


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A commit that was not finished.

    Attributes:
        folder: whose journal has it.
        record: what it was; None when it ended while that was being written down.
        states: for each file of the record: it is as before, as it will be, half written in place, or somebody else's.
        is_committed: the next writer finishes it; otherwise it is forgotten, and no file of the user was touched.
    """

    folder: Path
    record: Record | None
    states: tuple[FileState, ...]
    is_committed: bool

    @property
    def is_half(self) -> bool:
        """Whether a reader finds a mixture, or a text that nobody wrote."""
        return self.is_committed and set(self.states) != {"new"}

    def goes_back(self) -> bool:
        """Whether the next writer puts the old texts back, instead of carrying the commit out.

        Raises:
            InternalError: it can do neither: the texts in the journal are no longer what was kept.
            DiskError: they cannot be read.
        """
        if not self.is_committed or self.record is None:
            return False
        pending = self.folder / ".canon-ops" / PENDING
        try:
            return goes_back(self.record, self.states, pending)
        except OSError as error:
            raise explain(error, pending, verb="read") from error

    @property
    def files(self) -> dict[str, FileState]:
        """Each file by its path, and its state."""
        files = self.record.files if self.record else ()
        return {file.path: state for file, state in zip(files, self.states, strict=True)}


def find_interrupted(folder: Path) -> Interrupted | None:
    """What an ended process left half-done in ``folder``, or in the folder that a note there names; None for nothing.

    Raises:
        InternalError: the journal cannot be read.
        DiskError: nor can the folder.
    """
    for each in (folder, noted_folder(folder)):
        if each is not None and _has_pending(each / ".canon-ops") and not is_under_way(each):
            with contextlib.suppress(FileNotFoundError):  # finished, or forgotten, while we looked
                return _look(each)
    return None


def blocked_place(folder: Path) -> Path | None:
    """What stands where the folder of our records, or the lock in it, belongs: every writer stops there."""
    state = folder / ".canon-ops"
    try:
        if state.exists() and not state.is_dir():
            return state
        lock = state / "lock"
        return lock if lock.exists() and not lock.is_file() else None
    except OSError as error:
        raise explain(error, state, verb="read") from error


def _has_pending(state: Path) -> bool:
    try:
        return (state / PENDING).is_dir()
    except OSError as error:
        raise explain(error, state, verb="read") from error


def pending_texts(found: Interrupted) -> tuple[tuple[bytes | None, bytes | None], ...]:
    """The old and the new text of each file, as the journal keeps them; None for "no such file"."""
    pending = found.folder / ".canon-ops" / PENDING
    files = found.record.files if found.record else ()

    def text(number: int, which: Literal["before", "after"]) -> bytes | None:
        with contextlib.suppress(FileNotFoundError):  # the attempt ended before it was written
            return (pending / f"{number}.{which}").read_bytes()
        return None

    return tuple((text(number, "before"), text(number, "after")) for number in range(len(files)))


def _look(folder: Path) -> Interrupted:
    pending = folder / ".canon-ops" / PENDING
    try:
        if not (pending / COMMITTED).exists():
            record = None
            with contextlib.suppress(FileNotFoundError, ValueError):  # torn: it ended in that moment
                record = Record.from_json((pending / INTENT).read_bytes())
            count = len(record.files) if record else 0
            return Interrupted(folder, record, tuple("old" for _ in range(count)), is_committed=False)
        record = read_record(pending / COMMITTED)
        states = file_states(record, pending)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise explain(error, pending, verb="read") from error
    return Interrupted(folder, record, states, is_committed=True)


def is_under_way(folder: Path) -> bool:
    """Whether a process holds the lock of ``folder``.

    It is asked for by a shared one, given back at once, which keeps no writer longer than its next look.
    """
    try:
        descriptor = os.open(folder / ".canon-ops" / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # no lock was ever made there, or it is somebody else's
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES)
    finally:
        os.close(descriptor)
    return False
