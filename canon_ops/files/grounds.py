"""The folders of one transaction: locked together, repaired together.

A command may change a Hermes home and a Canon home at once. One of them keeps the journal; the other gets a note,
``.canon-ops/pending-at``, that names it for as long as a commit is in flight. Whoever comes to either folder after a
crash finds the journal and repairs both. Locks are taken in the order of their paths, so that two such commands
cannot wait for each other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from canon_ops.files.atomic import PRIVATE_FOLDER_MODE, PRIVATE_MODE
from canon_ops.files.disk import Disk, explain
from canon_ops.files.journal import Journal
from canon_ops.files.lock import FileLock
from canon_ops.files.records import Repair

__all__ = ["Grounds", "noted_folder"]

NOTE = "pending-at"


class Grounds:
    """The folders that a transaction holds.

    Args:
        journal: of the folder that keeps the record.
        also: further folders in which files will change.
    """

    def __init__(self, journal: Journal, also: Sequence[Path], disk: Disk, timeout_s: float) -> None:
        self._journal = journal
        self._also = [folder for folder in also if folder != journal.folder.parent]
        self._disk = disk
        self._timeout_s = timeout_s

    def enter(self) -> tuple[ExitStack, Repair | None]:
        """Lock every folder and repair what is found in them.

        Returns:
            What releases the locks, and what was repaired last.

        Raises:
            LockTimeout, DiskError, InternalError: nothing is held.
        """
        while True:
            folders = self._folders()
            with ExitStack() as stack:
                for folder in folders:
                    stack.enter_context(self._lock(folder))
                if self._folders() != folders:
                    continue  # somebody crashed between our look and our lock
                repairs = [self._repair(folder) for folder in folders]
                return stack.pop_all(), next(filter(None, repairs), None)

    def announce(self, files: Iterable[Path]) -> None:
        """Leave a note in each further folder that holds one of ``files``, before the journal begins.

        Raises:
            DiskError: nothing is left.
        """
        files = list(files)
        for folder in self._also:
            if any(file.is_relative_to(folder.resolve()) for file in files):
                note = folder / ".canon-ops" / NOTE
                try:
                    self._disk.write_new(note, str(self._journal.folder.parent).encode("utf-8"), mode=PRIVATE_MODE)
                    self._disk.sync_folder(note.parent)
                except OSError as error:
                    self.withdraw()
                    raise explain(error, note) from error

    def withdraw(self) -> None:
        """Take the notes away; one that cannot be removed now is removed by the next transaction there."""
        for folder in self._also:
            note = folder / ".canon-ops" / NOTE
            with contextlib.suppress(OSError):
                if note.exists():
                    self._disk.unlink(note)

    def _folders(self) -> list[Path]:
        found = {self._journal.folder.parent, *self._also}
        for folder in list(found):
            if (other := noted_folder(folder)) is not None:
                found.add(other)
        return sorted(found)

    def _lock(self, folder: Path) -> FileLock:
        state = folder / ".canon-ops"
        try:
            self._disk.make_folders(state, PRIVATE_FOLDER_MODE)
        except OSError as error:
            raise explain(error, state) from error
        return FileLock(state / "lock", self._timeout_s)

    def _repair(self, folder: Path) -> Repair | None:
        mine = folder == self._journal.folder.parent
        repair = (self._journal if mine else Journal(folder, self._disk)).recover()
        note = folder / ".canon-ops" / NOTE
        with contextlib.suppress(OSError):
            if note.exists():  # its journal's folder is locked too, and repaired in this round
                self._disk.unlink(note)
        return repair


def noted_folder(folder: Path) -> Path | None:
    """The folder that the note in ``folder`` names, while it exists."""
    with contextlib.suppress(OSError, UnicodeDecodeError, ValueError):
        other = Path((folder / ".canon-ops" / NOTE).read_bytes().decode("utf-8"))
        return other if other.is_absolute() and (other / ".canon-ops").is_dir() else None
    return None
