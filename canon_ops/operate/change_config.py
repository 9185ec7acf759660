"""Changing config.yaml as a whole: planned without a lock, shown, agreed to, then written if it is still the same file.

One value is changed by :mod:`edit_config`. What proposes several edits at once (``config recommend``, ``heal``,
``edit``) shows its difference to a person first, and a person may take their time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.transaction import FileChange, Transaction, digest
from canon_ops.files.yaml_difference import differences
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.managed_scope import managed_scope
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.writing import Writing, Written

__all__ = ["ConfigPlan", "carry_out", "keep_config", "plan_config"]

Edit = Callable[[ConfigDocument], ConfigDocument]


@dataclass(frozen=True, slots=True)
class ConfigPlan:
    """A new text of config.yaml that has not been written.

    Attributes:
        before: what the file holds; None when there is none.
        changes: empty when there is nothing to do.
    """

    file: Path
    before: bytes | None = field(repr=False)
    after: bytes = field(repr=False)
    changes: tuple[FileChange, ...]

    @property
    def changed(self) -> bool:
        return bool(self.changes)


def plan_config(writing: Writing, edit: Edit) -> ConfigPlan:
    """Apply ``edit`` to the file as it is, and write nothing.

    Raises:
        ManagedHome, PinnedByAdministrator: the home, or a value that changes, belongs to somebody else.
        ConfigSyntaxError, ConfigRefused, ProofFailed: the text cannot be read, or the edit cannot be made safely.
        ChangedUnderUs: it is not the file that the caller last saw.
    """
    file = writing.home.config_file
    if (managed := refuse_managed(writing.home)) is not None:
        raise managed
    with _transaction(writing, dry_run=True) as transaction:
        writing.expect(transaction, file)
        before = transaction.read(file)
        old = ConfigDocument.parse(before or b"", str(file))
        new = edit(old)
        _refuse_pinned(writing.home, old, new)
        after = new.data
        if after != (before or b""):
            transaction.stage(file, after, private=True)
        return ConfigPlan(file, before, after, transaction.changes())


def carry_out(writing: Writing, plan: ConfigPlan) -> Written:
    """Write what was planned, or report it only (a dry run).

    Raises:
        ChangedUnderUs: somebody wrote the file after it was planned; theirs stays.
        LockTimeout, DiskError: nothing was written.
    """
    if writing.dry_run or not plan.changed:
        return writing.written(plan.changes, None)
    with _transaction(writing, dry_run=False) as transaction:
        transaction.expect(plan.file, digest(plan.before) or "")
        transaction.stage(plan.file, plan.after, private=True)
        return writing.commit(transaction)


def keep_config(writing: Writing) -> str | None:
    """Keep the file's present text in the history; gives the id, or None for a dry run.

    Raises:
        NoSuchEntry: there is no file.
        ChangedUnderUs, LockTimeout, DiskError: nothing was kept.
    """
    with writing.transaction(writing.home.path) as transaction:
        writing.expect(transaction, writing.home.config_file)
        return transaction.keep(writing.home.config_file)


def _refuse_pinned(home: HermesHome, old: ConfigDocument, new: ConfigDocument) -> None:
    """Refuse a text that reads differently where the administrator decides."""
    if (scope := managed_scope(home)) is not None:
        for difference in differences(old.value, new.value):
            scope.refuse_path(difference.path)


def _transaction(writing: Writing, *, dry_run: bool) -> Transaction:
    home = writing.home
    return replace(writing, dry_run=dry_run).transaction(home.path, lambda _path: refuse_managed(home))
