"""Take a commit back: another commit, with the old texts."""

from __future__ import annotations

from canon_ops.files.records import Record
from canon_ops.files.transaction import Transaction

__all__ = ["undo"]


def undo(transaction: Transaction, identity: str | None = None) -> Record:
    """Stage the old texts of one commit in an open transaction; the caller shows the diff and commits.

    Args:
        identity: the id, or its unique beginning; None takes the newest commit in force, so that a second undo goes
            one further back.

    Raises:
        NoSuchEntry: nothing to undo.
        ChangedUnderUs: a file has changed since; nothing is staged.
    """
    record = transaction.history.find(identity) if identity else transaction.history.latest_to_undo()
    transaction.take_back(record)
    return record
