"""What the doctor asks of a database file: functions to be given to ``read`` or ``read_once``."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from canon_ops.durable.statements import Snapshot

__all__ = ["Pragmas", "find_damage", "read_pragmas"]

MOST = 100  # sentences


@dataclass(frozen=True, slots=True)
class Pragmas:
    """The settings that durability rests on, as SQLite reports them: "wal", 2 (FULL), True, 5000."""

    journal_mode: str
    synchronous: int
    foreign_keys: bool
    busy_timeout_ms: int


def read_pragmas(snapshot: Snapshot) -> Pragmas:
    """The settings of this very connection."""
    return Pragmas(
        journal_mode=snapshot.value("PRAGMA journal_mode"),
        synchronous=snapshot.value("PRAGMA synchronous"),
        foreign_keys=bool(snapshot.value("PRAGMA foreign_keys")),
        busy_timeout_ms=snapshot.value("PRAGMA busy_timeout"),
    )


def find_damage(snapshot: Snapshot) -> tuple[str, ...]:
    """What is wrong with the file, a sentence each; empty when it is whole. It reads every page and index."""
    try:
        sentences = [str(row[0]) for row in snapshot.all(f"PRAGMA integrity_check({MOST})")]
    except sqlite3.DatabaseError as error:  # so broken that not even the check gets through
        return (str(error),)
    if sentences != ["ok"]:
        return tuple(sentences)
    return tuple(
        f"row {row['rowid']} of {row['table']} points to a missing row of {row['parent']}"
        for row in snapshot.all("SELECT * FROM pragma_foreign_key_check LIMIT ?", (MOST,))
    )
