"""Migrations: a fresh file and an old one end equal, each step is whole or not at all, strangers are refused."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from canon_ops.durable import Row, Schema, Snapshot, Transaction, read_once, require_sqlite, write_once
from canon_ops.durable.opening import open_for_reading, open_for_writing
from canon_ops.durable.problems import (
    DiskFull,
    ForeignFile,
    MigrationFailed,
    NewerSchema,
    OlderSchema,
    SqliteTooOld,
)
from canon_ops.durable.schema import missing
from canon_ops.runtime.clock import ManualClock
from tests.support import letters
from tests.support.databases import dump_schema


def look(snapshot: Snapshot) -> list[str]:
    return [row["name"] for row in snapshot.all("SELECT name FROM schema_migrations ORDER BY number")]


def first_steps(count: int, schema: Schema = letters.SCHEMA) -> Schema:
    return Schema(schema.name, schema.migrations[:count])


@pytest.mark.parametrize("count", range(len(letters.SCHEMA.migrations) + 1))
def test_a_migrated_file_equals_a_fresh_one(tmp_path: Path, count: int) -> None:
    """From every earlier schema the same tables, indexes and records come out; rows stay."""
    old, fresh = tmp_path / "old" / "db", tmp_path / "fresh" / "db"
    if count:
        write_once(old, first_steps(count), letters.post, "ada", 1, ["one", "two"])

    write_once(old, letters.SCHEMA, letters.post, "bob", 1, ["three"])
    write_once(fresh, letters.SCHEMA, letters.post, "bob", 1, ["three"])

    assert dump_schema(old) == dump_schema(fresh)
    assert (
        read_once(old, letters.SCHEMA, look)
        == read_once(fresh, letters.SCHEMA, look)
        == [
            "create_letters",
            "add_claims",
        ]
    )
    assert read_once(old, letters.SCHEMA, letters.posted) == {("bob", 1), *([("ada", 1)] if count else [])}


def test_each_migration_runs_once_and_its_time_is_recorded(path: Path) -> None:
    """Opening again applies nothing; the record tells when each step was taken."""
    clock = ManualClock(now_ms=1_000)

    for _ in range(3):
        open_for_writing(path, letters.SCHEMA, clock=clock).connection.close()

    rows = read_once(path, letters.SCHEMA, lambda snapshot: snapshot.all("SELECT * FROM schema_migrations"))
    assert [tuple(row) for row in rows] == [(1, "create_letters", 1_000), (2, "add_claims", 1_000)]


def break_off(transaction: Transaction) -> None:
    transaction.run("CREATE TABLE half_way (x)")
    transaction.run("INSERT INTO nowhere VALUES (1)")


def test_a_step_that_breaks_off_leaves_the_file_as_it_was(path: Path) -> None:
    """The error names step, function and reason; the file is at the schema before it, and usable by that version."""
    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])
    before = dump_schema(path)
    newer = Schema(letters.SCHEMA.name, (*letters.SCHEMA.migrations, break_off))

    with pytest.raises(MigrationFailed, match=r"migration 3 \(break_off\) of .* failed: no such table: nowhere"):
        write_once(path, newer, letters.post, "ada", 2, ["two"])

    assert dump_schema(path) == before
    assert write_once(path, letters.SCHEMA, letters.post, "ada", 2, ["two"]) == 2


def leave_orphans(transaction: Transaction) -> None:
    """Rebuild the parent table, and forget its rows."""
    transaction.run("DELETE FROM letters")


def test_a_step_that_leaves_dangling_rows_is_taken_back(path: Path) -> None:
    """Foreign keys are off while a table is rebuilt, and checked before the commit."""
    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])
    newer = Schema(letters.SCHEMA.name, (*letters.SCHEMA.migrations, leave_orphans))

    with pytest.raises(MigrationFailed, match="leaves 1 rows of a post office pointing nowhere"):
        write_once(path, newer, letters.post, "ada", 2, ["two"])

    assert read_once(path, letters.SCHEMA, letters.posted) == {("ada", 1)}


def rebuild_letters(transaction: Transaction) -> None:
    """What SQLite cannot alter is rebuilt: new table, copy, drop, rename."""
    transaction.run(
        "CREATE TABLE new_letters (number INTEGER PRIMARY KEY, writer TEXT, serial INTEGER, length INTEGER, state TEXT)"
    )
    transaction.run("INSERT INTO new_letters SELECT number, writer, serial, length, state FROM letters")
    transaction.run("DROP TABLE letters")
    transaction.run("ALTER TABLE new_letters RENAME TO letters")


def test_a_table_that_others_point_to_can_be_rebuilt(path: Path) -> None:
    """Dropping the old table does not take the rows that point to it along."""
    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one", "two"])
    newer = Schema(letters.SCHEMA.name, (*letters.SCHEMA.migrations, rebuild_letters))

    write_once(path, newer, lambda transaction: None)

    assert read_once(path, newer, letters.half_letters) == []
    assert read_once(path, newer, lambda snapshot: snapshot.value("SELECT count(*) FROM pages")) == 2


def test_a_newer_file_is_refused_with_a_sentence(path: Path) -> None:
    """An older canon-ops does not guess; reading and writing say the same, and change nothing."""
    newer = Schema(letters.SCHEMA.name, (*letters.SCHEMA.migrations, rebuild_letters))
    write_once(path, newer, letters.post, "ada", 1, ["one"])
    before = path.read_bytes()

    for call in (read_once, write_once):
        with pytest.raises(NewerSchema, match="its schema is number 3, and this version knows 2") as caught:
            call(path, letters.SCHEMA, letters.posted)
        assert caught.value.fix == "canon-ops upgrade"

    assert path.read_bytes() == before


def test_a_reader_does_not_migrate(path: Path) -> None:
    """A file of an earlier schema is named as such and stays."""
    write_once(path, first_steps(1), letters.post, "ada", 1, ["one"])

    with pytest.raises(OlderSchema, match="number 1 of 2"):
        read_once(path, letters.SCHEMA, letters.posted)


def other_table(transaction: Transaction) -> None:
    transaction.run("CREATE TABLE receipts (x)")


def test_a_file_of_another_store_is_refused(path: Path) -> None:
    """A Borgee inbox given as Canon's state is not migrated into a mixture."""
    write_once(path, Schema("another", (other_table,)), lambda transaction: None)

    with pytest.raises(ForeignFile, match="not a post office"):
        write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])


def test_a_file_without_a_record_is_refused_unless_adopted(path: Path) -> None:
    """Tables that nobody recorded: another program's, or those of a version before the records."""
    open_for_writing(path, Schema("nothing", ())).connection.close()
    with sqlite3.connect(path) as plain:
        plain.execute("CREATE TABLE receipts (ingest_seq INTEGER PRIMARY KEY, body TEXT)")
        plain.execute("INSERT INTO receipts VALUES (7, 'kept')")
    plain.close()

    def create_receipts(transaction: Transaction) -> None:
        raise AssertionError("the file has it")

    def add_class(transaction: Transaction) -> None:
        transaction.run("ALTER TABLE receipts ADD COLUMN dispatch_class TEXT NOT NULL DEFAULT 'ordinary'")

    def published(snapshot: Snapshot) -> int:
        return 1 if snapshot.value("SELECT count(*) FROM pragma_table_info('receipts')") else 0

    def rows(snapshot: Snapshot) -> list[Row]:
        return snapshot.all("SELECT * FROM receipts")

    with pytest.raises(ForeignFile):
        write_once(path, Schema("an inbox", (create_receipts, add_class)), rows)
    adopting = Schema("an inbox", (create_receipts, add_class), adopts=published)

    assert [tuple(row) for row in write_once(path, adopting, rows)] == [(7, "kept", "ordinary")]
    assert read_once(path, adopting, look) == ["create_receipts", "add_class"]
    assert [tuple(row) for row in write_once(path, adopting, rows)] == [(7, "kept", "ordinary")]


def test_what_is_missing_is_decided_from_the_record_alone() -> None:
    """The pure decision: the rest of the list, with numbers that go on."""
    first, second = letters.SCHEMA.migrations

    assert missing((), letters.SCHEMA, Path("x")) == ((1, first), (2, second))
    assert missing(("create_letters",), letters.SCHEMA, Path("x")) == ((2, second),)
    assert missing(("create_letters", "add_claims"), letters.SCHEMA, Path("x")) == ()


def test_a_full_disk_during_a_migration_is_a_full_disk(path: Path) -> None:
    """The operator's trouble is not dressed up as ours; with room again the migration goes on."""

    def need_room(transaction: Transaction) -> None:
        transaction.run("PRAGMA max_page_count = 12")
        transaction.run("CREATE TABLE ballast AS SELECT zeroblob(100000)")

    write_once(path, first_steps(1), letters.post, "ada", 1, ["one"])
    bigger = Schema(letters.SCHEMA.name, (letters.create_letters, need_room))

    with pytest.raises(DiskFull):
        write_once(path, bigger, lambda transaction: None)

    assert read_once(path, first_steps(1), letters.posted) == {("ada", 1)}


def test_processes_that_migrate_at_once_agree(path: Path) -> None:
    """Eight openers of one new file: each migration is applied by exactly one of them."""
    barrier = threading.Barrier(8)
    failures: list[BaseException] = []

    def open_it(number: int) -> None:
        try:
            barrier.wait(10)
            write_once(path, letters.SCHEMA, letters.post, "ada", number, ["one"])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert read_once(path, letters.SCHEMA, look) == ["create_letters", "add_claims"]
    assert len(read_once(path, letters.SCHEMA, letters.posted)) == 8


@pytest.mark.parametrize("statement", [1, 2])  # the third is under the write lock
@pytest.mark.parametrize("opener", [open_for_writing, open_for_reading])
def test_a_file_that_is_migrated_between_two_looks(path: Path, opener: Any, statement: int) -> None:
    """Whatever another process does between two statements of the opening, the file is never taken for a stranger's."""
    seen = 0

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            nonlocal seen
            if "schema_migrations" in sql or "sqlite_master" in sql:
                seen += 1
                if seen == statement:
                    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])
            return super().execute(sql, *parameters)

    if opener is open_for_writing:
        opener(path, letters.SCHEMA, factory=Watched).connection.close()
        assert read_once(path, letters.SCHEMA, look) == ["create_letters", "add_claims"]
    else:
        write_once(path, first_steps(0), lambda transaction: None)
        with contextlib.suppress(OlderSchema):
            opener(path, letters.SCHEMA, busy_s=1.0, resting=False, factory=Watched).close()
    assert seen >= statement - 1


@pytest.mark.parametrize(
    ("version", "refused"), [((3, 34, 1), True), ((3, 35, 4), True), ((3, 35, 5), False), ((3, 40, 1), False)]
)
def test_a_step_can_ask_for_an_sqlite(path: Path, version: Any, refused: bool) -> None:
    """I2: a step that needs a newer SQLite says which, and the file is untouched."""

    def drop_the_cursor(transaction: Transaction) -> None:
        require_sqlite((3, 35, 5), "dropping the column raw_cursor", version=version)
        transaction.run("CREATE TABLE done (x)")

    newer = Schema(letters.SCHEMA.name, (*letters.SCHEMA.migrations, drop_the_cursor))
    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])
    before = dump_schema(path)

    if not refused:
        write_once(path, newer, lambda transaction: None)
        return
    with pytest.raises(SqliteTooOld, match=r"raw_cursor needs SQLite 3\.35\.5"):
        write_once(path, newer, lambda transaction: None)
    assert dump_schema(path) == before


def test_two_migrations_of_one_name_are_refused() -> None:
    """The record is by number and name."""
    with pytest.raises(ValueError, match="one name"):
        Schema("a post office", (letters.create_letters, letters.create_letters))
