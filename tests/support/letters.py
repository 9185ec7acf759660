"""An example of a store on ``canon_ops.durable``: letters with their pages, written, claimed and sent.

It is what an outbox looks like: a table with its states in an enum, statements with a name each, plain functions that
take a snapshot or a transaction, and nothing else. The tests of the room and the crash harness use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from canon_ops.durable import Row, Schema, Snapshot, Transaction

__all__ = ["SCHEMA", "Letter", "State", "claim", "half_letters", "post", "posted", "send", "waiting"]


class State(StrEnum):
    """Where a letter is."""

    WAITING = "waiting"  # written down; nobody carries it yet
    CLAIMED = "claimed"  # somebody carries it, known by a token
    SENT = "sent"  # it arrived; nothing more happens to it


@dataclass(frozen=True, slots=True)
class Letter:
    """One row."""

    number: int
    writer: str
    serial: int
    state: State


# -- schema -----------------------------------------------------------------------------------------------------------


def create_letters(transaction: Transaction) -> None:
    """Letters and their pages."""
    transaction.run("""
        CREATE TABLE letters (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            writer TEXT NOT NULL,
            serial INTEGER NOT NULL,        -- the writer's own count
            length INTEGER NOT NULL,        -- how many pages belong to it
            state TEXT NOT NULL CHECK (state IN ('waiting', 'claimed', 'sent')),
            UNIQUE (writer, serial)
        )""")
    transaction.run("""
        CREATE TABLE pages (
            letter INTEGER NOT NULL REFERENCES letters (number) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
            place INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (letter, place)
        )""")


def add_claims(transaction: Transaction) -> None:
    """Who carries a letter."""
    transaction.run("ALTER TABLE letters ADD COLUMN token TEXT")
    transaction.run("CREATE INDEX letters_waiting ON letters (state, number)")


SCHEMA = Schema("a post office", (create_letters, add_claims))

# -- statements -------------------------------------------------------------------------------------------------------

# Write a letter down once; the same letter again is left out.
ADD_LETTER = "INSERT INTO letters (writer, serial, length, state) VALUES (?, ?, ?, 'waiting') ON CONFLICT DO NOTHING"
ADD_PAGE = "INSERT INTO pages (letter, place, body) VALUES (?, ?, ?)"
# The oldest waiting letter becomes the carrier's.
OLDEST_WAITING = "SELECT number, writer, serial, state FROM letters WHERE state = 'waiting' ORDER BY number LIMIT 1"
CLAIM = "UPDATE letters SET state = 'claimed', token = :token WHERE number = :number AND state = 'waiting'"
# Only its carrier can say that it arrived.
SEND = "UPDATE letters SET state = 'sent', token = NULL WHERE number = ? AND state = 'claimed' AND token = ?"
WAITING = "SELECT number, writer, serial, state FROM letters WHERE state = 'waiting' ORDER BY number"
POSTED = "SELECT writer, serial FROM letters"
# Letters without all of their pages, or with too many.
HALF = """SELECT number FROM letters
          WHERE length <> (SELECT count(*) FROM pages WHERE letter = letters.number) ORDER BY number"""


def post(transaction: Transaction, writer: str, serial: int, pages: Sequence[str]) -> int | None:
    """Write a letter down; return its number, or None when it was there before."""
    number = transaction.insert(ADD_LETTER, (writer, serial, len(pages)))
    if number is not None:
        transaction.run_many(ADD_PAGE, [(number, place, body) for place, body in enumerate(pages)])
    return number


def claim(transaction: Transaction, token: str) -> Letter | None:
    """Take the oldest waiting letter; None when none waits."""
    row = transaction.one(OLDEST_WAITING)
    if row is None:
        return None
    transaction.run(CLAIM, {"number": row["number"], "token": token})
    return _letter(row)


def send(transaction: Transaction, number: int, token: str) -> bool:
    """Note that a letter arrived; False when the token is not its carrier's."""
    return transaction.run(SEND, (number, token)) == 1


def waiting(snapshot: Snapshot) -> list[Letter]:
    """The letters that nobody carries, oldest first."""
    return [_letter(row) for row in snapshot.all(WAITING)]


def posted(snapshot: Snapshot) -> set[tuple[str, int]]:
    """Writer and serial of every letter."""
    return {(row["writer"], row["serial"]) for row in snapshot.all(POSTED)}


def half_letters(snapshot: Snapshot) -> list[int]:
    """What no crash may leave: letters with some of their pages."""
    return [row["number"] for row in snapshot.all(HALF)]


def _letter(row: Row) -> Letter:
    return Letter(row["number"], row["writer"], row["serial"], State(row["state"]))
