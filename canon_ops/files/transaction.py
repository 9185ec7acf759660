"""Several files, one change: all of them or none, whatever happens in between.

Order of a commit (each step has a test that kills the process there)::

    lock -> read -> (the caller edits) -> changes, diff
         -> record and both texts of each file durable in <folder>/.canon-ops/pending
         -> new texts staged beside their real targets
         -> the hash of everything that was read, again
         -> pending/intent.json becomes pending/entry.json          <- the commit point
         -> each staged file renamed over its target
         -> pending becomes history/<id>

Before the commit point the next start throws the attempt away; after it, the next start finishes it
(:mod:`canon_ops.files.journal`). So a command's files change together or not at all, and each change can be undone.

Usage::

    with Transaction(home) as transaction:
        text = transaction.read(home / "config.yaml")
        transaction.stage(home / "config.yaml", edited(text))
        transaction.commit()
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from canon_ops.errors import InternalError, RefusedError
from canon_ops.files.atomic import PRIVATE_MODE, Target, find_target
from canon_ops.files.disk import Disk, explain
from canon_ops.files.grounds import Grounds
from canon_ops.files.history import History, NoSuchEntry, Retention
from canon_ops.files.journal import ChangedUnderUs, Journal
from canon_ops.files.records import Planned, Record, Repair, digest
from canon_ops.hints import Self, TypeVar
from canon_ops.lean import dataclass
from canon_ops.runtime.clock import Clock, SystemClock

__all__ = ["ChangedUnderUs", "FileChange", "Transaction", "digest", "edit_files"]

T = TypeVar("T")
Refusal = Callable[[Path], RefusedError | None]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a transaction is about to do to one file.

    Attributes:
        path: as the caller named it.
        real: the file behind symbolic links, the one that is replaced.
        before: the bytes as they are; None when the file does not exist.
        after: the bytes as they will be; None when the file will be deleted.
    """

    path: Path
    real: Path
    before: bytes | None
    after: bytes | None

    def diff(self, *, mask: Callable[[str], str] | None = None, context: int = 3) -> str:
        """A unified diff for people.

        Args:
            mask: applied to each line, to hide secrets.
        """
        import difflib

        old, new = _lines(self.before), _lines(self.after)
        before, after = ("/dev/null" if data is None else str(self.path) for data in (self.before, self.after))
        parts: list[str] = []
        for number, line in enumerate(difflib.unified_diff(old, new, before, after, n=context)):
            if mask is not None and number > 1 and not line.startswith("@"):  # of a long file only what is shown
                line = line[0] + mask(line[1:])
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
        return "".join(parts)


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", errors="backslashreplace")
    *whole, rest = text.split("\n")  # never splitlines(): it also cuts at characters that YAML does not end lines with
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


@dataclass(slots=True)
class _Entry:
    target: Target
    before: bytes | None
    after: bytes | None
    staged: bool = False
    new_mode: int | None = None


class Transaction:
    """A locked set of file changes that commits whole or not at all.

    Args:
        lock_folder: whose lock is taken, and where journal and history live (``<lock_folder>/.canon-ops``): the
            Hermes home, or the Canon home when only its files change.
        also: other folders in which files change too, locked with it and repaired with it after a crash.
        timeout_s: how long to wait for the lock.
        label: the command as people will read it in the history; never a secret.
        dry_run: take no lock, repair nothing, write nothing: ``commit`` does nothing then.
        refuse: asked for each staged path; an error that it returns is raised (a managed home).
        retention: how much history stays; None removes nothing. Whoever does not know what the operator wants, and what
            others still need of the history, leaves it alone.

    Raises:
        LockTimeout, DiskError: on entering.
    """

    def __init__(
        self,
        lock_folder: Path,
        *,
        also: Sequence[Path] = (),
        timeout_s: float = 10.0,
        label: str = "",
        dry_run: bool = False,
        refuse: Refusal | None = None,
        retention: Retention | None = None,
        clock: Clock | None = None,
        disk: Disk | None = None,
    ) -> None:
        self.folder = lock_folder
        self._label = label
        self._dry_run = dry_run
        self._refuse = refuse
        self._clock = clock or SystemClock()
        self._disk = disk or Disk()
        self._journal = Journal(lock_folder, self._disk, also)
        self._grounds = Grounds(self._journal, also, self._disk, timeout_s)
        self.history = History(lock_folder, self._disk)
        self._retention = retention
        self._repaired: Repair | None = None
        self._entries: dict[Path, _Entry] = {}
        self._exit = ExitStack()
        self._undoes: str | None = None
        self._open = False

    @property
    def repaired(self) -> Repair | None:
        """What entering found of an earlier, interrupted commit, and did about it."""
        return self._repaired

    def __enter__(self) -> Self:
        if not self._dry_run:
            self._exit, self._repaired = self._grounds.enter()
        self._open = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open = False
        self._exit.close()

    def read(self, path: Path) -> bytes | None:
        """The file's bytes as they will be after what is staged so far; None when there is no such file.

        What was read from the disk is compared again before anything is written.
        """
        entry = self._entry(path)
        return entry.after if entry.staged else entry.before

    def stage(self, path: Path, data: bytes | None, *, private: bool = False) -> None:
        """Plan the new bytes of ``path``; None plans its deletion. Nothing is written yet.

        Args:
            private: a file that does not exist yet becomes 0600 whatever the umask; an existing one keeps its mode.
        """
        if self._refuse is not None and (error := self._refuse(path)) is not None:
            raise error
        entry = self._entry(path)
        entry.after, entry.staged = data, True
        entry.new_mode = PRIVATE_MODE if private else None

    def changes(self) -> tuple[FileChange, ...]:
        """What ``commit`` would do, in the order of staging; files whose bytes stay the same are left out."""
        return tuple(
            FileChange(entry.target.path, entry.target.real, entry.before, entry.after)
            for entry in self._entries.values()
            if entry.staged and entry.after != entry.before
        )

    def expect(self, path: Path, sha256: str) -> None:
        """Refuse unless ``path`` has this digest now ("" stands for no such file).

        Raises:
            ChangedUnderUs: it has another one.
        """
        found = digest(self._entry(path).before) or ""
        if found != sha256.lower():
            raise ChangedUnderUs(
                f"{path} is not the file that was expected (SHA-256 {found[:12] or 'none'}…)",
                fix=f"look at it again, then give its present digest: sha256sum {path}",
                file=str(path),
            )

    def commit(self) -> str | None:
        """Write every change, or none.

        Returns:
            The id of the history entry; None when there was nothing to write.

        Raises:
            ChangedUnderUs: a file that was read is no longer what it was; nothing was written.
            DiskError, ForeignOwner: the disk refused; nothing was written, or all of it was taken back.
        """
        if not self._open:
            raise InternalError("a transaction commits inside its with block")
        changes = self.changes()
        if not changes or self._dry_run:
            return None
        planned = [
            Planned(entry.target, entry.before, entry.after, entry.new_mode)
            for entry in self._entries.values()
            if entry.staged and entry.after != entry.before
        ]
        self._grounds.announce(change.real for change in changes)
        try:
            record = self._journal.begin(planned, label=self._label, now_ms=self._clock.now_ms(), undoes=self._undoes)
            try:
                self._journal.stage(record)
                self._check_unchanged()
            except BaseException:
                self._journal.discard()
                raise
            self._journal.carry_out(record)
        finally:
            if not self._journal.pending.exists():
                self._grounds.withdraw()
        self._entries.clear()
        self._prune(record)
        return record.id

    def keep(self, path: Path) -> str | None:
        """Put the present text of ``path`` into the history; the file itself is not touched.

        Returns:
            The id of the entry; None for a dry run.

        Raises:
            NoSuchEntry: there is no such file.
            DiskError: nothing was kept.
        """
        entry = self._entry(path)
        if entry.before is None:
            raise NoSuchEntry(f"there is no {path} to keep", fix="canon-ops config path", file=str(path))
        if self._dry_run:
            return None
        planned = [Planned(entry.target, entry.before, entry.before, None)]
        record = self._journal.begin(planned, label=self._label, now_ms=self._clock.now_ms(), outcome="kept")
        self._journal.keep(record)
        self._prune(record)
        return record.id

    def _prune(self, record: Record) -> None:
        if self._retention is not None:
            self.history.prune(self._retention, now_ms=record.time_ms)

    def take_back(self, record: Record) -> None:
        """Stage the texts from before ``record``; nothing is written yet.

        Raises:
            NoSuchEntry: ``record`` changed nothing.
            ChangedUnderUs: a file is not what ``record`` made of it.
        """
        if record.outcome != "done":
            what = "is a snapshot: it changed nothing" if record.outcome == "kept" else "was given up after a crash"
            raise NoSuchEntry(f"{record.id} {what}, so there is nothing to undo", fix="canon-ops history list")
        before = self.history.texts(record, "before")
        for file, data in zip(record.files, before, strict=True):
            path = Path(file.path)
            if digest(self.read(path)) != file.after:
                raise ChangedUnderUs(
                    f"{path} was changed after {record.id}; taking that back would lose the later change",
                    fix=f"canon-ops history show {record.id}",
                    file=str(path),
                )
            self.stage(path, data)
            self._entry(path).new_mode = file.mode
        self._undoes = record.id

    def _entry(self, path: Path) -> _Entry:
        target = find_target(path)
        if target.real not in self._entries:
            before = _read(target)
            self._entries[target.real] = _Entry(target, before, before)
        return self._entries[target.real]

    def _check_unchanged(self) -> None:
        for entry in self._entries.values():
            now = find_target(entry.target.path)
            if now.real != entry.target.real or _read(now) != entry.before:
                raise ChangedUnderUs(
                    f"{entry.target.path} was changed by another program in the meantime; nothing was written",
                    fix="run the command again",
                    file=str(entry.target.path),
                )


def _read(target: Target) -> bytes | None:
    if not target.exists:
        return None
    try:
        return target.real.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, target.path, verb="read") from error


def edit_files(edit: Callable[[Transaction], T], make: Callable[[], Transaction], *, attempts: int = 3) -> T:
    """Run ``edit`` in a fresh transaction, and again on the fresh text when somebody changed a file meanwhile.

    Args:
        edit: reads, stages and commits; it may run ``attempts`` times.
        make: gives a new transaction for each attempt.

    Raises:
        ChangedUnderUs: the file changed during every attempt.
    """
    for _ in range(attempts - 1):
        with contextlib.suppress(ChangedUnderUs), make() as transaction:
            return edit(transaction)
    with make() as transaction:
        return edit(transaction)
