"""The tables of the outbox: operations that Canon has not settled, with their exact parts.

An operation is written before its first attempt and deleted when Canon has all of it. What stands here is therefore
either on its way or in need of a person::

    PENDING --Canon has it--> (gone)
       |  ^
       |  +--retry----+--------+
       +--refused--> REFUSED   |     a person retries or discards it
       +--left-----> HELD -----+     the host was told that it failed, and repeats it by itself

Source: decisions X1, X9; Canon adapter R7.15-R7.21; defects D6, D54.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canon_hermes_plugin.inbox.owned import OF_OWNER, columns
from canon_hermes_plugin.outbox.codec import decode, encode
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.owner import Owner
from canon_ops.durable import Row, Snapshot, Transaction
from canon_ops.wire.ids import TurnId

__all__ = [
    "Posting",
    "State",
    "all_postings",
    "confirm",
    "create_outbox",
    "discard",
    "keep",
    "note_failure",
    "pending",
    "put_aside",
    "retry",
    "settle",
    "state_of",
    "stored",
]


class State(StrEnum):
    """Where an operation is."""

    PENDING = "pending"  # the gateway sends it, for as long as it takes
    REFUSED = "refused"  # Canon refused it for good; a person decides
    HELD = "held"  # the host was told that it failed; sent again only if the host, or a person, says so


@dataclass(frozen=True, slots=True)
class Posting:
    """One row, with its parts.

    Attributes:
        number: what a person calls it by.
        attempts: how many attempts have failed.
        error: why the last one did.
    """

    number: int
    owner: Owner
    operation: Operation = field(repr=False)
    state: State
    attempts: int
    error: str | None
    recorded_at_ms: int
    changed_at_ms: int

    @property
    def conversation_id(self) -> str:
        return self.operation.messages[-1].conversation_id

    @property
    def turn_id(self) -> str:
        return str(self.operation.turn_id)


# -- schema -----------------------------------------------------------------------------------------------------------


def create_outbox(transaction: Transaction) -> None:
    """Operations and their parts."""
    transaction.run("""
        CREATE TABLE outbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order in which they are owed
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            turn_id TEXT NOT NULL,                     -- what the ids of the parts are made from
            ordinal INTEGER NOT NULL,
            conversation_id TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'refused', 'held')),
            confirmed INTEGER NOT NULL DEFAULT 0,      -- how many parts Canon has
            attempts INTEGER NOT NULL DEFAULT 0,       -- failed ones
            error TEXT,                                -- why the last one failed
            recorded_at_ms INTEGER NOT NULL,
            changed_at_ms INTEGER NOT NULL,
            UNIQUE (environment_id, agent_id, turn_id, ordinal)
        )""")
    transaction.run("""
        CREATE TABLE outbox_parts (
            operation INTEGER NOT NULL REFERENCES outbox (number) ON DELETE CASCADE,
            place INTEGER NOT NULL,
            message TEXT NOT NULL,                     -- codec.py
            PRIMARY KEY (operation, place)
        ) WITHOUT ROWID""")


# -- statements -------------------------------------------------------------------------------------------------------

THIS: Final = f"{OF_OWNER} AND turn_id = :turn_id AND ordinal = :ordinal"

ADD: Final = """INSERT INTO outbox (environment_id, agent_id, turn_id, ordinal, conversation_id, state, confirmed,
                    recorded_at_ms, changed_at_ms)
    VALUES (:environment_id, :agent_id, :turn_id, :ordinal, :conversation_id, 'pending', :confirmed,
            :now_ms, :now_ms)"""
DROP: Final = f"DELETE FROM outbox WHERE {THIS}"
ADD_PART: Final = "INSERT INTO outbox_parts (operation, place, message) VALUES (?, ?, ?)"
CONFIRM: Final = f"UPDATE outbox SET confirmed = :confirmed, changed_at_ms = :now_ms WHERE {THIS}"
NOTE: Final = f"UPDATE outbox SET attempts = attempts + 1, error = :error, changed_at_ms = :now_ms WHERE {THIS}"
PUT_ASIDE: Final = f"UPDATE outbox SET state = :state, error = :error, changed_at_ms = :now_ms WHERE {THIS}"
STATE_OF: Final = f"SELECT state FROM outbox WHERE {THIS}"
PENDING: Final = f"SELECT * FROM outbox WHERE {OF_OWNER} AND state = 'pending' ORDER BY number"
ALL: Final = "SELECT * FROM outbox ORDER BY number"
PARTS: Final = "SELECT message FROM outbox_parts WHERE operation = ? ORDER BY place"
RETRY: Final = (
    "UPDATE outbox SET state = 'pending', changed_at_ms = :now_ms WHERE number = :number AND state <> 'pending'"
)
DISCARD: Final = "DELETE FROM outbox WHERE number = :number"

# -- what the gateway does --------------------------------------------------------------------------------------------


def keep(transaction: Transaction, owner: Owner, operation: Operation, *, now_ms: int) -> None:
    """Write an operation down before its first attempt; the same one again takes the place of what stood there."""
    values = _of(owner, operation)
    before = transaction.one(f"SELECT * FROM outbox WHERE {THIS}", values)
    if before is not None:
        if _operation(transaction, before).messages == operation.messages:
            transaction.run(PUT_ASIDE, {**values, "state": "pending", "error": before["error"], "now_ms": now_ms})
            return
        transaction.run(DROP, values)
    conversation_id = operation.messages[-1].conversation_id
    values |= {"conversation_id": conversation_id, "confirmed": operation.confirmed, "now_ms": now_ms}
    number = transaction.insert(ADD, values)
    parts = [(number, place, encode(message)) for place, message in enumerate(operation.messages, start=1)]
    transaction.run_many(ADD_PART, parts)


def confirm(transaction: Transaction, owner: Owner, operation: Operation, *, now_ms: int) -> None:
    """Canon has the parts that ``operation`` counts as confirmed."""
    transaction.run(CONFIRM, {**_of(owner, operation), "confirmed": operation.confirmed, "now_ms": now_ms})


def note_failure(transaction: Transaction, owner: Owner, operation: Operation, error: str, *, now_ms: int) -> None:
    """An attempt failed, and there will be another."""
    transaction.run(NOTE, {**_of(owner, operation), "error": error, "now_ms": now_ms})


def put_aside(
    transaction: Transaction, owner: Owner, operation: Operation, state: State, error: str, *, now_ms: int
) -> None:
    """We stop trying: ``state`` says who decides."""
    transaction.run(PUT_ASIDE, {**_of(owner, operation), "state": state.value, "error": error, "now_ms": now_ms})


def settle(transaction: Transaction, owner: Owner, operation: Operation) -> None:
    """Canon has all of it."""
    transaction.run(DROP, _of(owner, operation))


def state_of(snapshot: Snapshot, owner: Owner, operation: Operation) -> State | None:
    """Where the operation is; None when it is gone, settled or discarded."""
    state = snapshot.value(STATE_OF, _of(owner, operation))
    return None if state is None else State(state)


def pending(snapshot: Snapshot, owner: Owner) -> list[Operation]:
    """What is owed, oldest first."""
    return [_operation(snapshot, row) for row in snapshot.all(PENDING, columns(owner))]


# -- what a person does -----------------------------------------------------------------------------------------------


def all_postings(snapshot: Snapshot) -> list[Posting]:
    """Every operation of every owner, oldest first."""
    return [_posting(snapshot, row) for row in snapshot.all(ALL)]


def stored(snapshot: Snapshot, number: int) -> Posting | None:
    """One operation; None when there is none of that number."""
    row = snapshot.one("SELECT * FROM outbox WHERE number = ?", (number,))
    return None if row is None else _posting(snapshot, row)


def retry(transaction: Transaction, number: int, *, now_ms: int) -> bool:
    """Have the gateway send it again; False when it is on its way, or gone."""
    return transaction.run(RETRY, {"number": number, "now_ms": now_ms}) == 1


def discard(transaction: Transaction, number: int) -> bool:
    """Give it up; False when it is gone."""
    return transaction.run(DISCARD, {"number": number}) == 1


def _of(owner: Owner, operation: Operation) -> dict[str, Any]:
    return {**columns(owner), "turn_id": operation.turn_id, "ordinal": operation.ordinal}


def _operation(snapshot: Snapshot, row: Row) -> Operation:
    messages = tuple(decode(part["message"]) for part in snapshot.all(PARTS, (row["number"],)))
    return Operation(TurnId(row["turn_id"]), row["ordinal"], messages, row["confirmed"])


def _posting(snapshot: Snapshot, row: Row) -> Posting:
    return Posting(
        row["number"],
        Owner(row["environment_id"], row["agent_id"]),
        _operation(snapshot, row),
        State(row["state"]),
        row["attempts"],
        row["error"],
        row["recorded_at_ms"],
        row["changed_at_ms"],
    )
