"""The database as a command uses it: one question or one change, in the caller's thread, then closed again.

It takes the same functions of the store as :class:`~canon_ops.durable.database.Database`, and a gateway may have the
file open meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from canon_ops.durable.batch import Done, Failed, Outcome, Reading, Work, Writing, run_batch
from canon_ops.durable.opening import WRITER_BUSY_S, is_resting, open_for_reading, open_for_writing
from canon_ops.durable.problems import DurableError, explain
from canon_ops.durable.schema import Schema
from canon_ops.durable.statements import Snapshot, Transaction

__all__ = ["READER_BUSY_S", "read_once", "write_once"]

P = ParamSpec("P")
R = TypeVar("R")

READER_BUSY_S = 1.0


def read_once(
    path: Path,
    schema: Schema,
    function: Callable[Concatenate[Snapshot, P], R],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> R:
    """Call ``function(snapshot, …)`` on the file and return its result; nothing is written.

    A file that rests is read as it lies, without locks and without the two files that SQLite makes for readers. That
    no gateway began to write meanwhile is checked afterwards; if one did, the function is called again, with locks.

    Raises:
        NoDatabase, OlderSchema, Busy, …: see :mod:`canon_ops.durable.problems`.
        Exception: whatever ``function`` raised.
    """
    result: R = _result(_read(path, schema, Reading(lambda snapshot: function(snapshot, *args, **kwargs))))
    return result


def write_once(
    path: Path,
    schema: Schema,
    function: Callable[Concatenate[Transaction, P], R],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> R:
    """Call ``function(transaction, …)`` on the file, created and migrated as needed; return once it is on the disk.

    Raises:
        Busy: a gateway was writing for all of five seconds.
        DurableError: see :mod:`canon_ops.durable.problems`; nothing was written.
        Exception: whatever ``function`` raised; nothing was written.
    """
    opened = open_for_writing(path, schema, busy_s=WRITER_BUSY_S)
    writing = Writing(lambda transaction: function(transaction, *args, **kwargs))
    result: R = _result(_run(opened.connection, writing, path))
    return result


def _read(path: Path, schema: Schema, reading: Reading) -> Outcome:
    outcome = _read_at_rest(path, schema, reading)
    if outcome is not None:
        return outcome
    return _run(open_for_reading(path, schema, busy_s=READER_BUSY_S, resting=False), reading, path)


def _read_at_rest(path: Path, schema: Schema, reading: Reading) -> Outcome | None:
    """Read the file as it lies; None when it does not rest, or did not until the end."""
    before = _look(path)
    if before is None:
        return None
    outcome: Outcome
    try:
        outcome = _run(open_for_reading(path, schema, busy_s=READER_BUSY_S, resting=True), reading, path)
    except DurableError as error:
        outcome = Failed(error)
    return outcome if _look(path) == before else None


def _run(connection: sqlite3.Connection, work: Work, path: Path) -> Outcome:
    with closing(connection):
        try:
            (outcome,) = run_batch(connection, [work], path)
        except sqlite3.Error as error:
            return Failed(explain(error, path))
    return outcome


def _result(outcome: Outcome) -> Any:
    if isinstance(outcome, Done):
        return outcome.value
    raise outcome.error


def _look(path: Path) -> tuple[int, ...] | None:
    """What would differ if somebody had written the file, or None when it does not rest."""
    if not is_resting(path):
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
