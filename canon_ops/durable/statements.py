"""What a store's functions are given: a :class:`Snapshot` to read from, a :class:`Transaction` to write with.

A store is a module of plain functions, each of them one sentence about its tables::

    def claim(transaction: Transaction, seq: int, token: str) -> bool:
        return transaction.run(CLAIM, {"seq": seq, "token": token}) == 1

The same function serves the gateway's thread, a command, a migration and a test. Neither class can begin or end a
transaction: that is decided outside, where several writers share one.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from sqlite3 import Row
from typing import Any

from canon_ops.durable.problems import StatementRefused

__all__ = ["Parameters", "Row", "Snapshot", "Transaction"]

Parameters = Sequence[Any] | Mapping[str, Any]

# Statements that would reach past the caller's own transaction, into its neighbours'.
NOT_YOURS = frozenset({"begin", "commit", "end", "rollback", "savepoint", "release", "attach", "detach", "vacuum"})
_FIRST_WORD = re.compile(r"(?:\s+|--[^\n]*\n|/\*.*?\*/)*(\w*)", re.DOTALL)


@lru_cache(maxsize=1024)
def refusal(sql: str) -> str | None:
    """Why ``sql`` may not run inside a shared transaction, or None."""
    match = _FIRST_WORD.match(sql)
    word = match[1].lower() if match else ""
    return f"{word.upper()} is not for a store's functions: the transaction is shared" if word in NOT_YOURS else None


class Snapshot:
    """One consistent view of the database, as long as the function that was given it runs.

    Parameters are positional for ``?`` and a mapping for ``:name``. Rows answer to index and column name.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Every row."""
        return self._execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """The first row, or None."""
        cursor = self._execute(sql, parameters)
        row: Row | None = cursor.fetchone()
        cursor.close()
        return row

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.one(sql, parameters)
        return None if row is None else row[0]

    def _execute(self, sql: str, parameters: Parameters) -> sqlite3.Cursor:
        reason = refusal(sql)
        if reason:
            raise StatementRefused(reason)
        try:
            return self._connection.execute(sql, parameters)
        except sqlite3.Warning as error:  # Python 3.11's word for two statements in one text; no sqlite3.Error
            raise StatementRefused(str(error)) from error


class Transaction(Snapshot):
    """A view that also writes; what it wrote is durable once the caller has its result, or it never happened."""

    def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Carry out a statement; return how many rows it changed, inserted or deleted."""
        cursor = self._execute(sql, parameters)
        cursor.fetchall()  # a RETURNING statement works only when it is stepped to its end
        return max(0, cursor.rowcount)

    def run_many(self, sql: str, rows: Iterable[Parameters]) -> int:
        """Carry out a statement once for each row of parameters; return how many rows changed in all."""
        reason = refusal(sql)
        if reason:
            raise StatementRefused(reason)
        return max(0, self._connection.executemany(sql, rows).rowcount)

    def insert(self, sql: str, parameters: Parameters = ()) -> int | None:
        """Carry out an INSERT of one row; return its rowid, or None when a conflict clause left it out."""
        cursor = self._execute(sql, parameters)
        return cursor.lastrowid if cursor.rowcount == 1 else None
