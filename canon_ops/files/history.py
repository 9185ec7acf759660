"""What was changed, when, by which command, and how to take it back.

Each commit leaves a folder ``history/<id>`` with its record and both texts of every file (0600 in 0700 folders; a
``.env`` text holds keys). Ids sort in the order of the commits, whatever the clock did. Undo is a commit of its own
with the old texts, so it can be undone too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from canon_ops.errors import CanonOpsError, NotFoundError, UsageError
from canon_ops.files.atomic import NotAFile
from canon_ops.files.disk import Disk, explain
from canon_ops.files.reading import read_optional
from canon_ops.files.records import Record, digest
from canon_ops.hints import ClassVar, Literal
from canon_ops.lean import dataclass, field

__all__ = ["History", "NoSuchEntry", "Retention", "taken_back_by"]

DAY_MS = 86_400_000


class NoSuchEntry(NotFoundError):
    """The history has no entry of that id, or nothing that could be undone."""

    code: ClassVar[str] = "no_such_history"


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history stays: the newest ``entries``, and of those none older than ``days``.

    Attributes:
        spare: names entries that stay nevertheless; asked only when something would go.
    """

    entries: int = 50
    days: int = 90
    spare: Callable[[], Collection[str]] | None = field(default=None, compare=False)


def taken_back_by(records: Iterable[Record]) -> dict[str, str]:
    """What is not in force, by id, and the id of the undo that took it back; an undo may itself be taken back.

    Args:
        records: newest first: an undo is met before what it undoes.
    """
    found: dict[str, str] = {}
    for record in records:
        if record.undoes is not None and record.outcome == "done" and record.id not in found:
            found.setdefault(record.undoes, record.id)
    return found


class History:
    """The finished commits of one folder. Reading takes no lock: an entry appears whole, by one rename."""

    def __init__(self, lock_folder: Path, disk: Disk | None = None) -> None:
        self.folder = lock_folder / ".canon-ops" / "history"
        self._disk = disk or Disk()

    def records(self) -> tuple[Record, ...]:
        """Every readable entry, newest first."""
        return tuple(found for found in self._entries() if isinstance(found, Record))

    def unreadable(self) -> tuple[Path, ...]:
        """The folders of the other entries, newest first: damaged, or of a newer release."""
        return tuple(found for found in self._entries() if isinstance(found, Path))

    def _entries(self) -> Iterator[Record | Path]:
        try:
            names = sorted((path.name for path in self.folder.iterdir()), reverse=True)
        except FileNotFoundError:
            return
        except OSError as error:
            raise explain(error, self.folder, verb="read") from error
        for name in names:
            entry = self.folder / name
            try:
                data = read_optional(entry / "entry.json")
                if data is not None:  # else it is being removed
                    yield Record.from_json(data)
            except (CanonOpsError, ValueError):
                if not os.path.isfile(entry):  # noqa: PTH113  # of a closed folder, is_file() raises
                    yield entry

    def find(self, identity: str) -> Record:
        """The entry with this id, or the only one whose id begins with it.

        Raises:
            UsageError: the id is empty: every id begins with that.
            NoSuchEntry: none, or more than one.
        """
        if not identity:
            raise UsageError("ID is empty", fix="canon-ops history list")
        matches = [record for record in self.records() if record.id.startswith(identity)]
        if len(matches) != 1:
            count = "no entry" if not matches else f"{len(matches)} entries"
            raise NoSuchEntry(f"The history has {count} of the id {identity}", fix="canon-ops history list")
        return matches[0]

    def latest_to_undo(self) -> Record:
        """The newest commit that is in force: no undo, not undone, not abandoned.

        Raises:
            NoSuchEntry: there is none.
        """
        records = self.records()
        undone = taken_back_by(records)
        for record in records:
            if record.outcome == "done" and record.undoes is None and record.id not in undone:
                return record
        raise NoSuchEntry("There is nothing to undo", fix="canon-ops history list")

    def texts(self, record: Record, which: Literal["before", "after"]) -> tuple[bytes | None, ...]:
        """Each file's bytes before or after ``record``; None for "no such file".

        Raises:
            NoSuchEntry: the entry's texts are gone, or are no longer what was kept.
            DiskError: they cannot be read.
        """
        found: list[bytes | None] = []
        for number, file in enumerate(record.files):
            kept: str | None = getattr(file, which)
            if kept is None:
                found.append(None)
                continue
            path = self.folder / record.id / f"{number}.{which}"
            try:
                text = read_optional(path)
            except NotAFile as error:
                raise NoSuchEntry(error.what, fix=error.fix, file=str(path)) from error
            if text is None:
                raise NoSuchEntry(f"{path} is gone", fix="canon-ops history list", file=str(path))
            if digest(text) != kept:  # a copy that was edited or damaged is nobody's old text
                raise NoSuchEntry(
                    f"{path} is no longer the text that was kept", fix="canon-ops history list", file=str(path)
                )
            found.append(text)
        return tuple(found)

    def prune(self, retention: Retention, *, now_ms: int) -> tuple[str, ...]:
        """Remove what is beyond the retention; the caller holds the lock. Failures are left for the next time.

        Returns:
            The ids that went.
        """
        oldest_ms = now_ms - retention.days * DAY_MS
        gone = [
            record.id
            for number, record in enumerate(self.records())
            if number >= retention.entries or record.time_ms < oldest_ms
        ]
        if gone and retention.spare is not None:
            spared = retention.spare()
            gone = [identity for identity in gone if identity not in spared]
        with contextlib.suppress(OSError):  # what an interrupted removal left
            gone += [path.name for path in self.folder.iterdir() if not (path / "entry.json").exists()]
        for identity in gone:
            with contextlib.suppress(OSError):
                self._remove(self.folder / identity)
        return tuple(gone)

    def forget(self, record: Record) -> None:
        """Remove one entry for good, and with it the way to undo it; the caller holds the lock.

        Raises:
            DiskError: some of it is still there.
        """
        entry = self.folder / record.id
        try:
            self._remove(entry)
            self._disk.sync_folder(self.folder)
        except OSError as error:
            raise explain(error, entry, verb="removed") from error

    def _remove(self, entry: Path) -> None:
        """The record goes last: an entry without one is a removal that was interrupted, and is swept later."""
        for path in sorted(entry.iterdir(), key=lambda path: path.name == "entry.json"):
            self._disk.unlink(path)
        self._disk.remove_folder(entry)
