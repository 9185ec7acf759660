"""Numbered migrations: the list of functions that makes an empty file into today's schema, and an old file too.

A store says what its tables are by a tuple of functions; number n in it is migration n, for ever. A new file gets all
of them, an old one those that it lacks, so the two end equal. Each runs in one transaction together with its row in
``schema_migrations``: killed anywhere, the file is at some number, never between two. Foreign keys are not enforced
meanwhile, so that a table can be rebuilt, and are all checked before each commit.

The decision (:func:`missing`) is pure; :func:`migrate` carries it out.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from canon_ops.durable.problems import (
    ForeignFile,
    MigrationFailed,
    NewerSchema,
    OlderSchema,
    StatementRefused,
    explain,
)
from canon_ops.durable.statements import Snapshot, Transaction

__all__ = ["Migration", "Schema", "migrate", "missing", "one_view", "recorded"]

Migration = Callable[[Transaction], None]

RECORD = (
    "CREATE TABLE schema_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at_ms INTEGER NOT NULL)"
)
HAS_RECORD = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'"
IS_EMPTY = "SELECT count(*) = 0 FROM sqlite_master"
RECORDED = "SELECT name FROM schema_migrations ORDER BY number"
ADD_RECORD = "INSERT INTO schema_migrations (number, name, applied_at_ms) VALUES (?, ?, ?)"
BROKEN_KEYS = "SELECT count(*) FROM pragma_foreign_key_check"


@dataclass(frozen=True, slots=True)
class Schema:
    """What a store keeps, as the steps by which it came to be.

    Attributes:
        name: for people: "Canon's state", "Borgee's inbox".
        migrations: append only; a function that has been released is never changed, removed or renamed.
        adopts: for a store that existed before its migrations were recorded: given a file that has tables and no
            record, how many migrations it amounts to; 0 when it is something else.
    """

    name: str
    migrations: tuple[Migration, ...]
    adopts: Callable[[Snapshot], int] | None = None

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"two migrations of {self.name} have one name: the record could not tell them apart")

    @property
    def names(self) -> tuple[str, ...]:
        """The migrations' names, in order: those of their functions."""
        return tuple(migration.__name__ for migration in self.migrations)


def recorded(snapshot: Snapshot, schema: Schema, path: Path) -> tuple[str, ...]:
    """The names of the migrations that a file has had.

    Raises:
        ForeignFile: it has tables, no record, and ``schema`` does not adopt it.
    """
    if snapshot.value(HAS_RECORD):
        return tuple(row[0] for row in snapshot.all(RECORDED))
    if snapshot.value(IS_EMPTY):
        return ()
    adopted = schema.adopts(snapshot) if schema.adopts else 0
    if not adopted:
        raise ForeignFile(f"{path} is a database, but not {schema.name}", file=str(path))
    return schema.names[:adopted]


def missing(have: Sequence[str], schema: Schema, path: Path) -> tuple[tuple[int, Migration], ...]:
    """The migrations that a file with the record ``have`` still lacks, with their numbers.

    Raises:
        NewerSchema: it has had more than ``schema`` knows.
        ForeignFile: it has had others.
    """
    known = schema.names
    if tuple(have[: len(known)]) != known[: len(have)]:
        raise ForeignFile(f"{path} is a database, but not {schema.name}: its migrations are others", file=str(path))
    if len(have) > len(known):
        raise NewerSchema(
            f"a newer canon-ops wrote {path}: its schema is number {len(have)}, and this version knows {len(known)}",
            fix="canon-ops upgrade",
            file=str(path),
        )
    return tuple(enumerate(schema.migrations, start=1))[len(have) :]


def check_current(snapshot: Snapshot, schema: Schema, path: Path) -> None:
    """Raise unless the file has exactly this schema: what a reader, which does not migrate, can ask for.

    Raises:
        OlderSchema: migrations are missing.
        DurableError: see :func:`recorded` and :func:`missing`.
    """
    lacking = missing(recorded(snapshot, schema, path), schema, path)
    if lacking:
        number, _ = lacking[0]
        raise OlderSchema(
            f"{path} has an older schema (number {number - 1} of {len(schema.migrations)})",
            fix="start the gateway once: it brings its files up to date",
            file=str(path),
        )


def migrate(connection: sqlite3.Connection, schema: Schema, path: Path, *, now_ms: Callable[[], int]) -> int:
    """Apply what is missing, one transaction a migration; return how many that were.

    Another process may do the same at the same time: each step looks again under the write lock.

    Raises:
        MigrationFailed: a step broke off; those before it stand, and its own transaction was rolled back.
        DurableError: see :func:`recorded` and :func:`missing`, or what SQLite says.
    """
    applied = 0
    while _one_step(connection, schema, path, now_ms):
        applied += 1
    return applied


def _one_step(connection: sqlite3.Connection, schema: Schema, path: Path, now_ms: Callable[[], int]) -> bool:
    with one_view(connection) as snapshot:
        if not missing(recorded(snapshot, schema, path), schema, path):
            return False
    connection.execute("BEGIN IMMEDIATE")
    with _rolled_back_on_error(connection):
        transaction = Transaction(connection)
        have = recorded(transaction, schema, path)
        lacking = missing(have, schema, path)
        if lacking:
            number, migration = lacking[0]
            try:
                _record_start(transaction, have, now_ms())
                migration(transaction)
                _check_keys(transaction, schema, number)
            except (sqlite3.Error, StatementRefused) as error:
                raise _failed(error, number, migration, path) from error
            transaction.run(ADD_RECORD, (number, migration.__name__, now_ms()))
        connection.execute("COMMIT")
    return True


def _record_start(transaction: Transaction, have: Sequence[str], now_ms: int) -> None:
    """Make the table of records, with the rows of an adopted file."""
    if not transaction.value(HAS_RECORD):
        transaction.run(RECORD)
        transaction.run_many(ADD_RECORD, [(number, name, now_ms) for number, name in enumerate(have, start=1)])


def _check_keys(transaction: Transaction, schema: Schema, number: int) -> None:
    broken = transaction.value(BROKEN_KEYS)
    if broken:
        raise StatementRefused(f"it leaves {broken} rows of {schema.name} pointing nowhere")


def _failed(error: sqlite3.Error | StatementRefused, number: int, migration: Migration, path: Path) -> Exception:
    """A fault of the step itself is named as such; a full disk stays a full disk."""
    problem = explain(error, path) if isinstance(error, sqlite3.Error) else error
    if not isinstance(problem, StatementRefused):
        return problem
    return MigrationFailed(f"migration {number} ({migration.__name__}) of {path} failed: {error}", file=str(path))


@contextlib.contextmanager
def one_view(connection: sqlite3.Connection) -> Iterator[Snapshot]:
    """Several questions, one answer: between two statements of their own another process may have migrated the file."""
    connection.execute("BEGIN")
    try:
        yield Snapshot(connection)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextlib.contextmanager
def _rolled_back_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
