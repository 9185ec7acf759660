"""How a command writes: where, with which patience, and what it gives back. One value instead of eight arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from canon_ops.errors import RefusedError, UsageError
from canon_ops.files.history import Retention
from canon_ops.files.transaction import FileChange, Transaction, edit_files
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import canon_paths_from_disk
from canon_ops.hints import ClassVar
from canon_ops.operate.dotenv_diff import change_diff
from canon_ops.operate.edit_config import expect_unchanged, sparing_comments
from canon_ops.operate.prompts import Prompts, Question, Unattended
from canon_ops.settings.profiles import AgentsFile
from canon_ops.settings.secret import SECRET_MARK

__all__ = ["ConsentMissing", "Writing", "Written", "edit_agents", "require_consent"]

_SECRET_FIELDS = ("apiKey", "pollToken")


class ConsentMissing(UsageError):
    """Something would be lost, and nobody agreed to it."""

    code: ClassVar[str] = "consent_missing"


@dataclass(frozen=True, slots=True)
class Writing:
    """The circumstances of one writing command.

    Args:
        home: the Hermes home that it works on.
        environ: the process environment.
        label: the command as the history shows it; never a secret.
        dry_run: plan everything, write nothing.
        expected: (file, SHA-256) of what the caller last saw; see ``expect_unchanged``.
        mask: hides secrets in each line of a diff.
    """

    home: HermesHome
    environ: Mapping[str, str] = field(repr=False)
    label: str
    dry_run: bool = False
    expected: Sequence[tuple[Path | None, str]] = ()
    lock_timeout_s: float = 10.0
    retention: Retention = field(default_factory=Retention)
    mask: Callable[[str], str] = str

    def transaction(
        self,
        folder: Path,
        refuse: Callable[[Path], RefusedError | None] | None = None,
        *,
        also: Sequence[Path] = (),
    ) -> Transaction:
        """A new transaction over ``folder``; ``also`` are others in which files change too."""
        return Transaction(
            folder,
            also=also,
            timeout_s=self.lock_timeout_s,
            label=self.label,
            dry_run=self.dry_run,
            refuse=refuse,
            retention=sparing_comments(self.home, self.retention),
        )

    def commit(self, transaction: Transaction) -> Written:
        """Commit what is staged, and say what it was."""
        changes = transaction.changes()
        return self.written(changes, transaction.commit())

    def written(self, changes: Sequence[FileChange], history_id: str | None) -> Written:
        """The report of some changes."""
        diff = "".join(change_diff(change, self.mask) for change in changes)
        return Written(tuple(change.path for change in changes), diff, history_id)

    def expect(self, transaction: Transaction, *changing: Path) -> None:
        """Hold the files to what the caller last saw of them.

        Raises:
            ChangedUnderUs, UsageError: see ``expect_unchanged``.
        """
        expect_unchanged(transaction, self.expected, home=self.home, changing=changing)


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, or would be.

    Attributes:
        diff: unified, secrets masked; empty when nothing changes.
        history_id: what ``undo`` takes; None for a plan and for no change.
    """

    files: tuple[Path, ...] = ()
    diff: str = ""
    history_id: str | None = None

    @property
    def changed(self) -> bool:
        return bool(self.files)


def edit_agents(writing: Writing, edit: Callable[[AgentsFile], AgentsFile]) -> Written:
    """Write what ``edit`` makes of agents.json as it is; it may run again when somebody wrote meanwhile.

    Raises:
        DamagedFile, LockTimeout, ChangedUnderUs, DiskError, or whatever ``edit`` raises: nothing was written.
    """
    paths = canon_paths_from_disk(writing.home.path, writing.environ)
    file = paths.agents_file

    def once(transaction: Transaction) -> Written:
        writing.expect(transaction, file)
        before = AgentsFile.parse(transaction.read(file), file=str(file))
        after = edit(before)
        if after.entries != before.entries:
            transaction.stage(file, after.data, private=True)
        masking = replace(writing, mask=_hiding(writing.mask, before, after))
        return masking.commit(transaction)

    return edit_files(once, lambda: writing.transaction(paths.home))


def _hiding(mask: Callable[[str], str], *files: AgentsFile) -> Callable[[str], str]:
    """``mask``, and every key of these files wherever it stands in a line: the file may be one long line."""
    entries = [entry for file in files for entry in file.entries.values()]
    keys = {text for entry in entries for name in _SECRET_FIELDS if isinstance(text := entry.get(name), str) and text}
    written = sorted({json.dumps(key)[1:-1] for key in keys}, key=len, reverse=True)

    def hide(line: str) -> str:
        for text in written:
            line = line.replace(text, SECRET_MARK)
        return mask(line)

    return hide


def require_consent(prompts: Prompts, question: str) -> None:
    """Go on only when the operator says so.

    Raises:
        ConsentMissing: they do not, or nobody can be asked and ``--yes`` was not given.
    """
    if not prompts.confirm(Question(question, "--yes"), default=False):
        if isinstance(prompts, Unattended):
            raise ConsentMissing(f"Nobody could be asked: {question}", fix="add --yes")
        raise ConsentMissing(f"Not agreed: {question}", fix="run it again, and answer yes")
