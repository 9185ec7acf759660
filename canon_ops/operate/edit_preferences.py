"""One edit of ``settings.toml``: everything else in it stays, the history remembers, a dry run shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.operate.preferences import Preference, PreferencesDocument, Scalar, preferences_file
from canon_ops.operate.writing import Writing, Written

__all__ = ["PreferenceEdited", "edit_preference"]


@dataclass(frozen=True, slots=True)
class PreferenceEdited:
    """What an edit did, or would do.

    Attributes:
        before, after: as the file says; null when it says nothing.
        beaten_by: a variable that is set and counts before the file.
    """

    name: str
    before: str | int | float | bool | None
    after: str | int | float | bool | None
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    beaten_by: str | None
    dry_run: bool


def edit_preference(writing: Writing, preference: Preference, value: Scalar | None) -> PreferenceEdited:
    """Set a preference, or drop it (None).

    Raises:
        PreferencesDamaged: the file is no TOML; it is left as it is.
        LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    file = preferences_file(writing.environ)
    before: Any = None

    def once(transaction: Transaction) -> Written:
        nonlocal before
        writing.expect(transaction, file)
        data = transaction.read(file)
        document = PreferencesDocument.parse(data or b"", file)
        before = document.values.get(preference.name)
        if value is None:
            document.unset(preference.name)
        else:
            document.set(preference.name, value)
        if document.data != (data or b""):
            transaction.stage(file, document.data)
        return writing.commit(transaction)

    written = edit_files(once, lambda: writing.transaction(file.parent))
    return PreferenceEdited(
        name=preference.name,
        before=cast("Scalar | None", before),
        after=value,
        changed=written.changed,
        files=written.files,
        diff=written.diff,
        history_id=written.history_id,
        beaten_by=preference.variable if writing.environ.get(preference.variable, "").strip() else None,
        dry_run=writing.dry_run,
    )
