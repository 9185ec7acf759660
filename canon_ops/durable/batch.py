"""Group commit: several callers' work in one transaction, and to each caller its own result.

One batch is one transaction, hence one write to the disk that everybody waits for. Each writer stands on a savepoint
of its own, so one that fails takes back only what it did. Nobody is told anything before the commit.

A few failures take the whole transaction down: SQLite ends it by itself when the disk is full, and a commit can fail
over a foreign key that was left dangling. The batch is then tried again in halves, down to the one at fault, so a
function may run more than once before its result counts. That is the contract of every function given to a database:
**it has no effect but on the database**.

Readers see what the writers before them wrote, in the order of submission, and cannot write. They too are told after
the commit, so nobody acts on what a power cut would take back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from canon_ops.durable.problems import StatementRefused, explain, result_of
from canon_ops.durable.statements import Snapshot, Transaction

__all__ = ["Done", "Failed", "Outcome", "Reading", "Work", "Writing", "run_batch"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A caller's function that only looks."""

    function: Callable[[Snapshot], Any]


@dataclass(frozen=True, slots=True)
class Writing:
    """A caller's function that changes something."""

    function: Callable[[Transaction], Any]


@dataclass(frozen=True, slots=True)
class Done:
    """The function's value; what it wrote is on the disk."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The function's error; nothing that it wrote is in the database."""

    error: BaseException


Work: TypeAlias = Reading | Writing
Outcome: TypeAlias = Done | Failed

# Errors of one writer that cost everybody the transaction; others (no lock, a broken disk) would hit each alone too.
ONE_AT_FAULT = frozenset(
    {
        0,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_TOOBIG,
    }
)


class _Lost(Exception):
    """The transaction is gone, and everybody's work with it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def run_batch(connection: sqlite3.Connection, work: Sequence[Work], path: Path) -> list[Outcome]:
    """Carry out ``work`` in order and commit; return the outcomes in the same order.

    Raises:
        sqlite3.Error: the transaction could not even be rolled back; the connection is of no more use.
    """
    try:
        return _share_a_transaction(connection, work, path)
    except _Lost as lost:
        error = lost.error
    if len(work) == 1:
        return [_failed(error, path)]
    if not isinstance(error, sqlite3.Error) or result_of(error) in ONE_AT_FAULT:
        half = len(work) // 2
        return run_batch(connection, work[:half], path) + run_batch(connection, work[half:], path)
    return [
        _failed(error, path) if isinstance(each, Writing) else run_batch(connection, [each], path)[0] for each in work
    ]


def _share_a_transaction(connection: sqlite3.Connection, work: Sequence[Work], path: Path) -> list[Outcome]:
    writes = any(isinstance(each, Writing) for each in work)
    try:
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        outcomes = [
            _write(connection, each, path) if isinstance(each, Writing) else _read(connection, each, path)
            for each in work
        ]
        connection.execute("COMMIT" if writes else "ROLLBACK")  # looking at a damaged file can spoil a COMMIT
    except (sqlite3.Error, _Lost) as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise (error if isinstance(error, _Lost) else _Lost(error)) from error
    return outcomes


def _write(connection: sqlite3.Connection, work: Writing, path: Path) -> Outcome:
    connection.execute("SAVEPOINT one_writer")
    try:
        value = work.function(Transaction(connection))
    except BaseException as error:  # whatever it is, it belongs to the caller, who gets it
        if not connection.in_transaction:
            raise _Lost(error) from error
        connection.execute("ROLLBACK TO one_writer")
        connection.execute("RELEASE one_writer")
        return _failed(error, path)
    connection.execute("RELEASE one_writer")
    return Done(value)


def _read(connection: sqlite3.Connection, work: Reading, path: Path) -> Outcome:
    connection.execute("PRAGMA query_only = ON")
    try:
        return Done(work.function(Snapshot(connection)))
    except BaseException as error:  # as above
        if isinstance(error, sqlite3.Error) and result_of(error) == sqlite3.SQLITE_READONLY:
            return Failed(StatementRefused(f"a reader of {path} tried to write; it has to be a writer", file=str(path)))
        return _failed(error, path)
    finally:
        connection.execute("PRAGMA query_only = OFF")


def _failed(error: BaseException, path: Path) -> Failed:
    """An outcome of its own for each caller: an exception that two tasks raise collects both their traces."""
    if isinstance(error, sqlite3.Error):
        return Failed(explain(error, path))
    if isinstance(error, StopIteration):  # no future can carry it, nor could a coroutine raise it
        return Failed(RuntimeError("a store's function raised StopIteration"))
    return Failed(error)
