"""The promise before the work: what makes several renames one change.

``<folder>/.canon-ops`` holds ``lock``, at most one ``pending`` folder (the lock is exclusive, so there is only one
commit in flight), and ``history``::

    pending/intent.json   the record, durable before the first temporary file exists
    pending/0.before …    each file's old bytes (absent: the file did not exist)
    pending/0.after …     each file's new bytes (absent: it is deleted)
    pending/entry.json    intent.json under its new name: the commit point
    pending/0.in-place    the file is being overwritten where it stands, since it cannot be renamed over
    history/<id>/         the pending folder under its new name: the last step, and what undo reads

Recovery, on the next start under the lock: with ``intent.json`` only, the attempt is thrown away together with the
temporary files that it names; with ``entry.json`` it is finished from the ``.after`` files. A file that is neither old
nor new by then was written by somebody else after the crash, and one whose folder is gone was removed by them: theirs
stays, the others go back to their old text, and the entry says "abandoned". So it does where an ``.after`` file is no
longer what was kept. Every step of recovery can itself be interrupted and run again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from canon_ops.errors import CanonOpsError, ConflictError, InternalError
from canon_ops.files.atomic import PRIVATE_FOLDER_MODE, PRIVATE_MODE, Target, find_target, write_beside
from canon_ops.files.disk import Disk, DiskError, explain
from canon_ops.files.records import FileRecord, Outcome, Planned, Record, Repair, digest, next_moment
from canon_ops.hints import ClassVar, Literal
from canon_ops.lean import replace

__all__ = [
    "COMMITTED",
    "INTENT",
    "PENDING",
    "ChangedUnderUs",
    "FileState",
    "Journal",
    "Side",
    "Unfinished",
    "file_states",
    "files_to_restore",
    "goes_back",
    "read_record",
]

PENDING, INTENT, COMMITTED = "pending", "intent.json", "entry.json"

FileState = Literal["old", "new", "torn", "foreign"]
Side = Literal["before", "after"]

# rename() cannot replace a file that is itself a mount point (a single file mounted into a container).
_MOUNTED_ERRORS = (errno.EBUSY, errno.EXDEV)


class ChangedUnderUs(ConflictError):
    """Somebody else wrote the file between our reading and our writing; theirs stays."""

    code: ClassVar[str] = "changed_under_us"


class Unfinished(DiskError):
    """A commit is half carried out, and the disk refuses to take it back; recovery finishes it."""

    code: ClassVar[str] = "unfinished"


class Journal:
    """The pending commit of one folder and the way it becomes history. The caller holds the folder's lock.

    Call order: ``recover`` once, then for each commit ``begin``, ``stage``, and either ``discard`` or ``carry_out``;
    for a snapshot ``begin`` and ``keep``.

    Args:
        beside: other folders whose locks the caller holds; a new entry is newer than theirs too.
    """

    def __init__(self, lock_folder: Path, disk: Disk, beside: Sequence[Path] = ()) -> None:
        self.folder = lock_folder / ".canon-ops"
        self.pending = self.folder / PENDING
        self.history = self.folder / "history"
        self._histories = [self.history, *(folder / ".canon-ops" / "history" for folder in beside)]
        self._disk = disk
        self._planned: list[Planned] = []

    # -- commit ---------------------------------------------------------------------------------------------------

    def begin(
        self,
        planned: Sequence[Planned],
        *,
        label: str,
        now_ms: int,
        undoes: str | None = None,
        outcome: Outcome = "done",
    ) -> Record:
        """Write down what is about to happen, with both texts of every file; nothing of the user's is touched.

        Raises:
            DiskError: nothing is left behind.
        """
        self._planned = list(planned)
        try:
            identity = f"{next_moment(now_ms, self._ids())}-{os.urandom(2).hex()}"
            files = tuple(_file_record(identity, item) for item in planned)
            record = Record(identity, now_ms, label, files, undoes, outcome)
            self._disk.add_folder(self.pending, PRIVATE_FOLDER_MODE)
            self._write(INTENT, record.to_json())
            for number, item in enumerate(planned):
                for name, data in ((f"{number}.before", item.before), (f"{number}.after", item.after)):
                    if data is not None:
                        self._write(name, data)
            self._disk.sync_folder(self.pending)
            self._disk.sync_folder(self.folder)
        except OSError as error:
            self.discard()
            raise explain(error, self.pending) from error
        return record

    def stage(self, record: Record) -> None:
        """Write each new text durably beside its target, so that nothing but renames is left to do.

        Raises:
            DiskError, ForeignOwner: call ``discard``.
        """
        for item, file in zip(self._planned, record.files, strict=True):
            if item.after is None:
                continue
            try:
                self._disk.make_folders(item.target.real.parent, PRIVATE_FOLDER_MODE)
                write_beside(self._disk, item.target, Path(file.temporary), item.after, new_mode=item.new_mode)
            except OSError as error:
                raise explain(error, item.target.path) from error

    def discard(self) -> None:
        """Forget the pending commit, before its commit point; the next start removes what cannot be removed now."""
        with contextlib.suppress(OSError):
            self._throw_away()

    def carry_out(self, record: Record) -> None:
        """Pass the commit point and move every file into place.

        Raises:
            ChangedUnderUs: a file is not what it was before; the others were put back, somebody else's text stays.
            DiskError: a file could not be replaced; the others were put back.
            Unfinished: nor could they be put back; the next start finishes the commit.
            KeyboardInterrupt: the same as for an error of the disk.
        """
        at = self.pending
        try:
            self._disk.rename(self.pending / INTENT, self.pending / COMMITTED)
            self._disk.sync_folder(self.pending)
            for number, (item, file) in enumerate(zip(self._planned, record.files, strict=True)):
                at = item.target.path
                if _read(item.target.real) != item.before:  # checked before, but the journal took its time
                    raise ChangedUnderUs(
                        f"{at} was changed by another program in the meantime; nothing was written",
                        fix="run the command again",
                        file=str(at),
                    )
                self._replace(number, item, Path(file.temporary))
        except BaseException as error:
            if not self._take_back(record):
                names = ", ".join(file.path for file in record.files)
                raise Unfinished(
                    f"the change of {names} was interrupted and could not be taken back ({error}); "
                    "the next canon-ops command that writes finishes it",
                    fix="canon-ops history finish",
                    file=str(at),
                ) from error
            if isinstance(error, OSError):
                raise explain(error, at) from error
            raise
        with contextlib.suppress(OSError):  # the change stands; the next start files the entry
            self._file_away(record)

    def keep(self, record: Record) -> None:
        """File a commit that changes nothing: its texts become history as they are.

        Raises:
            DiskError: nothing is left behind.
        """
        try:
            self._disk.rename(self.pending / INTENT, self.pending / COMMITTED)
            self._disk.sync_folder(self.pending)
            self._file_away(record)
        except OSError as error:
            self.discard()
            raise explain(error, self.pending) from error

    def _replace(self, number: int, item: Planned, temporary: Path) -> None:
        if item.after is not None:
            self._move(number, temporary, item.target, item.after)
            return
        self._disk.unlink(item.target.real)
        self._disk.sync_folder(item.target.real.parent)

    def _move(self, number: int, temporary: Path, target: Target, data: bytes) -> None:
        """Put a staged file over its target; one that is itself a mount point is written in place instead.

        That is not atomic for readers. A note says that it has begun, so that a torn text is taken for ours.
        """
        try:
            self._disk.rename(temporary, target.real)
        except OSError as error:
            if error.errno not in _MOUNTED_ERRORS or not target.exists:
                raise
            if not self._is_torn(number):
                self._write(f"{number}.in-place", b"")
                self._disk.sync_folder(self.pending)
            self._disk.rewrite(target.real, data)
            self._disk.unlink(temporary)
        self._disk.sync_folder(target.real.parent)

    def _is_torn(self, number: int) -> bool:
        """Whether file ``number`` may hold a part of a text that was being written in place."""
        return (self.pending / f"{number}.in-place").exists()

    def _take_back(self, record: Record) -> bool:
        """Put every file back and forget the commit; False when the disk refuses even that."""
        try:
            for number, file in enumerate(record.files):
                if digest(_read(Path(file.real))) == file.after or self._is_torn(number):
                    self._restore(record, number, "before")
            if (self.pending / COMMITTED).exists():
                self._disk.rename(self.pending / COMMITTED, self.pending / INTENT)
                self._disk.sync_folder(self.pending)
        except (OSError, CanonOpsError):
            return False
        self.discard()
        return True

    # -- recovery -------------------------------------------------------------------------------------------------

    def recover(self) -> Repair | None:
        """Finish or forget what an interrupted process left; None when it left nothing.

        Raises:
            DiskError: the disk prevents the repair; nothing else may be written then.
        """
        try:
            if not self.pending.is_dir():
                return None
            entry = self.pending / COMMITTED
            if not entry.exists():
                return Repair(None, "discarded", self._throw_away())
            return self._finish(read_record(entry))
        except OSError as error:
            raise explain(error, self.pending) from error

    def _finish(self, record: Record) -> Repair:
        names = tuple(file.path for file in record.files)
        states = file_states(record, self.pending)
        back = goes_back(record, states, self.pending)
        wanted: Side = "before" if back else "after"
        for number in files_to_restore(record, states, wanted):
            self._restore(record, number, wanted)
        self._drop_temporaries(record)
        if back:
            record = replace(record, outcome="abandoned")
            self._write("entry.new", record.to_json(), anew=True)
            self._disk.rename(self.pending / "entry.new", self.pending / COMMITTED)
            self._disk.sync_folder(self.pending)
        self._file_away(record)
        return Repair(record.id, "abandoned" if back else "finished", names)

    def _restore(self, record: Record, number: int, which: Side) -> None:
        """Bring one file to its ``before`` or ``after`` text from the pending folder."""
        file = record.files[number]
        real, temporary = Path(file.real), Path(file.temporary)
        if getattr(file, which) is None:
            if real.exists():
                self._disk.unlink(real)
        else:
            data = (self.pending / f"{number}.{which}").read_bytes()
            if temporary.exists():
                self._disk.unlink(temporary)
            target = Target(Path(file.path), real, file.mode if real.exists() or file.before else None, file.owner)
            write_beside(self._disk, target, temporary, data, new_mode=file.mode)
            self._move(number, temporary, find_target(real), data)
            return
        self._disk.sync_folder(real.parent)

    # -- the folder -----------------------------------------------------------------------------------------------

    def _ids(self) -> list[str]:
        return [path.name for history in self._histories if history.is_dir() for path in history.iterdir()]

    def _write(self, name: str, data: bytes, *, anew: bool = False) -> None:
        if anew and (self.pending / name).exists():
            self._disk.unlink(self.pending / name)
        self._disk.write_new(self.pending / name, data, mode=PRIVATE_MODE)

    def _throw_away(self) -> tuple[str, ...]:
        """Remove the temporary files that the intent names, then the pending folder, the intent last."""
        intent = self.pending / INTENT
        names: tuple[str, ...] = ()
        # A torn intent was never followed by a temporary file: it is durable before the first of them.
        with contextlib.suppress(FileNotFoundError, ValueError):
            record = Record.from_json(intent.read_bytes())
            names = tuple(file.path for file in record.files)
            self._drop_temporaries(record)
        if self.pending.is_dir():
            for leftover in sorted(self.pending.iterdir(), key=lambda path: (path.name == INTENT, path.name)):
                self._disk.unlink(leftover)
            self._disk.remove_folder(self.pending)
            self._disk.sync_folder(self.folder)
        return names

    def _drop_temporaries(self, record: Record) -> None:
        """Remove durably what is left beside the files: once the journal is gone, nothing names it any more."""
        temporaries = [Path(file.temporary) for file in record.files]
        for temporary in temporaries:
            if temporary.exists():
                self._disk.unlink(temporary)
        for folder in dict.fromkeys(temporary.parent for temporary in temporaries):
            if folder.is_dir():  # also when an interrupted start has removed them: that one may not have got this far
                self._disk.sync_folder(folder)

    def _file_away(self, record: Record) -> None:
        self._disk.make_folders(self.history, PRIVATE_FOLDER_MODE)
        self._disk.rename(self.pending, self.history / record.id)
        self._disk.sync_folder(self.history)
        self._disk.sync_folder(self.folder)


def read_record(entry: Path) -> Record:
    """The record of a commit that has passed its commit point.

    Raises:
        InternalError: it is damaged, or of a newer release.
        OSError: it cannot be read.
    """
    try:
        return Record.from_json(entry.read_bytes())
    except ValueError as error:
        raise InternalError(
            f"{entry} cannot be read: {error}",
            fix=f"look at {entry.parent}; its .before files hold the old texts",
            file=str(entry),
        ) from error


def file_states(record: Record, pending: Path) -> tuple[FileState, ...]:
    """What each file of a commit is that has passed its commit point.

    Raises:
        OSError: it cannot be read.
    """
    return tuple(_file_state(file, pending / f"{number}.in-place") for number, file in enumerate(record.files))


def _file_state(file: FileRecord, torn_note: Path) -> FileState:
    real = Path(file.real)
    if _is_gone(real.parent):  # it was there when the new text was staged, so somebody removed it
        return "new" if file.after is None else "foreign"
    try:
        now = digest(_read(real))
    except IsADirectoryError:
        return "foreign"
    if now == file.after:
        return "new"
    if now == file.before:
        return "old"
    return "torn" if torn_note.exists() else "foreign"


def _is_gone(folder: Path) -> bool:
    try:
        return not stat.S_ISDIR(folder.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True


def goes_back(record: Record, states: Sequence[FileState], pending: Path) -> bool:
    """Whether recovery ends with the old texts, where nobody else's are, instead of the new ones.

    Raises:
        InternalError: neither is possible, since the journal's own texts are no longer what was kept.
        OSError: they cannot be read.
    """
    if "foreign" not in states and not _damaged(record, states, pending, "after"):
        return False
    if damaged := _damaged(record, states, pending, "before"):
        raise InternalError(
            f"{damaged[0]} is no longer the text that was kept, so an interrupted change cannot be finished",
            fix=f"put {', '.join(file.path for file in record.files)} right by hand, then move {pending} away",
            file=str(damaged[0]),
        )
    return True


def files_to_restore(record: Record, states: Sequence[FileState], side: Side) -> tuple[int, ...]:
    """The numbers of the files that recovery writes or removes to have them all as they are on ``side``."""
    there: FileState = "new" if side == "after" else "old"
    return tuple(
        number
        for number, (file, state) in enumerate(zip(record.files, states, strict=True))
        if state not in (there, "foreign") and not _is_gone(Path(file.real).parent)
    )


def _damaged(record: Record, states: Sequence[FileState], pending: Path, side: Side) -> list[Path]:
    """The texts that recovery needs for ``side`` and that are gone or altered."""
    needed = ((number, getattr(record.files[number], side)) for number in files_to_restore(record, states, side))
    texts = [(pending / f"{number}.{side}", kept) for number, kept in needed if kept is not None]
    return [path for path, kept in texts if digest(_read(path)) != kept]


def _file_record(identity: str, item: Planned) -> FileRecord:
    target = item.target
    return FileRecord(
        path=str(target.path),
        real=str(target.real),
        temporary=str(target.real.with_name(f".{target.real.name}.{identity}.tmp")),
        before=digest(item.before),
        after=digest(item.after),
        mode=target.mode if target.exists else item.new_mode,
        owner=target.owner,
    )


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
