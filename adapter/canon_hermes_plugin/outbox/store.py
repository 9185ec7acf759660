"""The tables of the outbox: operations that Canon has not settled, with their exact parts.

An operation is written before its first attempt and deleted when Canon has all of it. What stands here is therefore
either on its way or in need of a person, and while it may have landed nothing of its turn takes its place: the same
text, whenever it comes, is that operation again under its old ids, and another one is refused (D54). This holds across
a restart, because it is decided here::

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
from canon_hermes_plugin.state.owner import Owner
from canon_ops.durable import Row, Snapshot, Transaction
from canon_ops.wire.ids import TurnId

__all__ = [
    "Owed",
    "Posting",
    "State",
    "all_postings",
    "confirm",
    "create_outbox",
    "discard",
    "keep",
    "note_failure",
    "owed",
    "pending",
    "put_aside",
    "repeated",
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


@dataclass(frozen=True, slots=True)
class Owed:
    """What the gateway still has to bring to Canon: how many operations, and since when the oldest stands here."""

    count: int = 0
    oldest_ms: int | None = None


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
            in_doubt INTEGER NOT NULL DEFAULT 1 CHECK (in_doubt IN (0, 1)),  -- 0: certainly nothing of it is on Canon
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

REPEATED_WITHIN_MS: Final = 900_000  # ours: the host repeats within seconds; an equal text hours later is a new one

THIS: Final = f"{OF_OWNER} AND turn_id = :turn_id AND ordinal = :ordinal"

ADD: Final = """INSERT INTO outbox (environment_id, agent_id, turn_id, ordinal, conversation_id, state, confirmed,
                    recorded_at_ms, changed_at_ms)
    VALUES (:environment_id, :agent_id, :turn_id, :ordinal, :conversation_id, 'pending', :confirmed,
            :now_ms, :now_ms)"""
DROP: Final = f"DELETE FROM outbox WHERE {THIS}"
ADD_PART: Final = "INSERT INTO outbox_parts (operation, place, message) VALUES (?, ?, ?)"
CONFIRM: Final = f"UPDATE outbox SET confirmed = :confirmed, changed_at_ms = :now_ms WHERE {THIS}"
NOTE: Final = f"UPDATE outbox SET attempts = attempts + 1, error = :error, changed_at_ms = :now_ms WHERE {THIS}"
PUT_ASIDE: Final = f"""UPDATE outbox SET state = :state, error = :error, in_doubt = :in_doubt, changed_at_ms = :now_ms
    WHERE {THIS}"""
WAKE: Final = f"UPDATE outbox SET state = 'pending', in_doubt = 1, changed_at_ms = :now_ms WHERE {THIS}"
OF_TURN: Final = f"SELECT * FROM outbox WHERE {OF_OWNER} AND turn_id = :turn_id ORDER BY ordinal DESC LIMIT 1"
HELD_HERE: Final = f"""SELECT * FROM outbox WHERE {OF_OWNER} AND conversation_id = :conversation_id
    AND state = 'held' AND changed_at_ms >= :since_ms ORDER BY number"""
OWED: Final = (
    f"SELECT count(*) AS count, min(recorded_at_ms) AS oldest_ms FROM outbox WHERE {OF_OWNER} AND state = 'pending'"
)
STATE_OF: Final = f"SELECT state FROM outbox WHERE {THIS}"
PENDING: Final = f"SELECT * FROM outbox WHERE {OF_OWNER} AND state = 'pending' ORDER BY number"
ALL: Final = "SELECT * FROM outbox ORDER BY number"
PARTS: Final = "SELECT message FROM outbox_parts WHERE operation = ? ORDER BY place"
RETRY: Final = (
    "UPDATE outbox SET state = 'pending', in_doubt = 1, changed_at_ms = :now_ms "
    "WHERE number = :number AND state <> 'pending'"
)
DISCARD: Final = "DELETE FROM outbox WHERE number = :number"

# -- what the gateway does --------------------------------------------------------------------------------------------


def keep(transaction: Transaction, owner: Owner, operation: Operation, *, now_ms: int) -> Operation:
    """Write an operation down before its first attempt.

    Returns:
        What stands there now. It is the operation itself, or what an earlier attempt of its turn has left: one that
        says the same, which is owed again and has the ids and the progress of that attempt; or one that says something
        else and may have landed, which is left as it is and may not be replaced. Source: Canon adapter R7.17, R7.19.
    """
    values = _of(owner, operation)
    before = transaction.one(OF_TURN, values)
    if before is not None:
        stands = _operation(transaction, before)
        if stands.contents == operation.contents:
            _wake(transaction, owner, stands, now_ms=now_ms)
            return stands
        if before["in_doubt"]:
            return stands
        settle(transaction, owner, stands)
    conversation_id = operation.messages[-1].conversation_id
    values |= {"conversation_id": conversation_id, "confirmed": operation.confirmed, "now_ms": now_ms}
    number = transaction.insert(ADD, values)
    parts = [(number, place, encode(message)) for place, message in enumerate(operation.messages, start=1)]
    transaction.run_many(ADD_PART, parts)
    return operation


def repeated(transaction: Transaction, owner: Owner, operation: Operation, *, now_ms: int) -> Operation | None:
    """What the host has been told that it failed, and says once more, from a turn that knows nothing of the first.

    A host that outlives its adapter, or a draft that it has forgotten, repeats a text under a new turn. The old ids
    keep it from standing there twice.

    Returns:
        The operation to send instead, owed again; None when this is nobody's repetition. An answer never is one: it has
        a message of its own.
    """
    if operation.is_answer:
        return None
    conversation_id, since_ms = operation.messages[-1].conversation_id, now_ms - REPEATED_WITHIN_MS
    values = {**columns(owner), "conversation_id": conversation_id, "since_ms": since_ms}
    for row in transaction.all(HELD_HERE, values):
        held = _operation(transaction, row)
        if held.contents == operation.contents:
            _wake(transaction, owner, held, now_ms=now_ms)
            return held
    return None


def confirm(transaction: Transaction, owner: Owner, operation: Operation, *, now_ms: int) -> None:
    """Canon has the parts that ``operation`` counts as confirmed."""
    transaction.run(CONFIRM, {**_of(owner, operation), "confirmed": operation.confirmed, "now_ms": now_ms})


def note_failure(transaction: Transaction, owner: Owner, operation: Operation, error: str, *, now_ms: int) -> None:
    """An attempt failed, and there will be another."""
    transaction.run(NOTE, {**_of(owner, operation), "error": error, "now_ms": now_ms})


def put_aside(
    transaction: Transaction,
    owner: Owner,
    operation: Operation,
    state: State,
    error: str,
    *,
    in_doubt: bool = True,
    now_ms: int,
) -> None:
    """We stop trying.

    Args:
        state: says who decides.
        in_doubt: something of it may be on Canon.
    """
    values = {"state": state.value, "error": error, "in_doubt": int(in_doubt), "now_ms": now_ms}
    transaction.run(PUT_ASIDE, {**_of(owner, operation), **values})


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


def owed(snapshot: Snapshot, owner: Owner) -> Owed:
    """How much that is."""
    row = snapshot.one(OWED, columns(owner))
    return Owed() if row is None else Owed(row["count"], row["oldest_ms"])


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


def _wake(transaction: Transaction, owner: Owner, operation: Operation, *, now_ms: int) -> None:
    transaction.run(WAKE, {**_of(owner, operation), "now_ms": now_ms})


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
