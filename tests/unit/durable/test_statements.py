"""What a store's function is given: rows, counts, row numbers, and no way into the neighbours' transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from canon_ops.durable.problems import StatementRefused
from canon_ops.durable.statements import Transaction, refusal


@pytest.fixture
def transaction() -> Iterator[Transaction]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT UNIQUE)")
    connection.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    yield Transaction(connection)
    connection.close()


def test_rows_answer_to_names_and_places(transaction: Transaction) -> None:
    """all, one and value: every row, the first or None, its first column or None."""
    assert [row["v"] for row in transaction.all("SELECT k, v FROM t ORDER BY k DESC")] == ["c", "b", "a"]
    first = transaction.one("SELECT k, v FROM t WHERE k > ?", (1,))
    assert first is not None and tuple(first) == (2, "b")
    assert transaction.one("SELECT * FROM t WHERE k > :least", {"least": 9}) is None
    assert transaction.value("SELECT count(*) FROM t") == 3
    assert transaction.value("SELECT k FROM t WHERE k > 9") is None


def test_run_tells_how_many_rows_it_changed(transaction: Transaction) -> None:
    """The number of a compare-and-set; zero for statements that have none."""
    assert transaction.run("UPDATE t SET v = v || 'x' WHERE k > 1") == 2
    assert transaction.run("UPDATE t SET v = 'y' WHERE k > 9") == 0
    assert transaction.run("CREATE TABLE u (x)") == 0
    assert transaction.run_many("INSERT INTO u VALUES (?)", [(number,) for number in range(4)]) == 4


def test_insert_tells_the_row_number_or_that_there_was_none(transaction: Transaction) -> None:
    """A row that a conflict clause left out has no number, not that of the insert before."""
    assert transaction.insert("INSERT INTO t (v) VALUES ('d')") == 4
    assert transaction.insert("INSERT INTO t (v) VALUES ('a') ON CONFLICT DO NOTHING") is None
    assert transaction.insert("INSERT OR IGNORE INTO t (v) VALUES ('a')") is None


@pytest.mark.parametrize(
    "sql",
    [
        *("BEGIN", "commit", "  End", "ROLLBACK", "savepoint x", "RELEASE x", "ATTACH 'a' AS b", "DETACH b", "VACUUM"),
        *("-- a comment\nCOMMIT", "/* two\nlines */ ROLLBACK", "/**/--\n/* */\tBEGIN"),
    ],
)
def test_statements_beyond_the_own_transaction_are_refused(transaction: Transaction, sql: str) -> None:
    """Also behind comments, and in every method."""
    for method in (transaction.all, transaction.one, transaction.value, transaction.run, transaction.insert):
        with pytest.raises(StatementRefused):
            method(sql)
    with pytest.raises(StatementRefused):
        transaction.run_many(sql, [])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'commit'",
        "UPDATE t SET v = 'begin'",
        "PRAGMA user_version",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "",
        "-- nothing",
    ],
)
def test_others_are_not(sql: str) -> None:
    """The word has to be the first."""
    assert refusal(sql) is None


def test_two_statements_in_one_text_are_refused(transaction: Transaction) -> None:
    """Python's own warning about it is an error of ours on every version."""
    with pytest.raises((StatementRefused, sqlite3.ProgrammingError)):
        transaction.run("DELETE FROM t; DELETE FROM t")

    assert transaction.value("SELECT count(*) FROM t") == 3
