"""How far the event stream is dealt with, and the stretches of it that nobody has seen.

The cursor moves one step at a time, each taken only from where the step before has led: when a write fails and the next
one does not, the cursor stays where it is, and the stream brings again what came after.

Source: decisions X1, X4.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from canon_hermes_plugin.inbox.owned import OF_OWNER, columns
from canon_hermes_plugin.state.owner import Owner
from canon_ops.durable import Row, Snapshot, Transaction

__all__ = [
    "Gap",
    "GapKind",
    "Step",
    "add_gap",
    "all_gaps",
    "begin_cursor",
    "create_cursors",
    "cursor",
    "gaps",
    "move_cursor",
    "set_cursor",
    "tell_gap",
]


class GapKind(StrEnum):
    """Why messages may have been missed."""

    FIRST = "first"  # the first connection ever: nothing is known of what was said before
    NO_CURSOR = "no_cursor"  # a connection was lost before it had brought an event to resume from
    EXPIRED = "expired"  # Canon no longer holds what came after our cursor


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of the stream that nobody has seen. ``told``: the home channel has heard of it."""

    number: int
    kind: GapKind
    from_event: str | None
    to_event: str | None
    at_ms: int
    told: bool


class Step(NamedTuple):
    """A move of the cursor: from the event before, to this one."""

    after: str | None
    event_id: str


# -- schema -----------------------------------------------------------------------------------------------------------


def create_cursors(transaction: Transaction) -> None:
    """Cursors and gaps."""
    transaction.run("""
        CREATE TABLE cursors (
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            event_id TEXT,                             -- null: the stream has to begin from now
            moved_at_ms INTEGER NOT NULL,
            PRIMARY KEY (environment_id, agent_id)
        ) WITHOUT ROWID""")
    transaction.run("""
        CREATE TABLE gaps (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('first', 'no_cursor', 'expired')),
            from_event TEXT,
            to_event TEXT,
            at_ms INTEGER NOT NULL,
            told INTEGER NOT NULL CHECK (told IN (0, 1))
        )""")


# -- statements -------------------------------------------------------------------------------------------------------

CURSOR: Final = f"SELECT event_id FROM cursors WHERE {OF_OWNER}"
BEGIN_CURSOR: Final = """INSERT INTO cursors (environment_id, agent_id, event_id, moved_at_ms)
    VALUES (:environment_id, :agent_id, NULL, :now_ms) ON CONFLICT DO NOTHING"""
SET_CURSOR: Final = f"UPDATE cursors SET event_id = :event_id, moved_at_ms = :now_ms WHERE {OF_OWNER}"
# One step: it is only taken from where the step before has led, so a step that failed stops all that follow.
MOVE_CURSOR: Final = f"{SET_CURSOR} AND event_id IS :after"

ADD_GAP: Final = """INSERT INTO gaps (environment_id, agent_id, kind, from_event, to_event, at_ms, told)
    VALUES (:environment_id, :agent_id, :kind, :from_event, :to_event, :now_ms, :told)"""
GAPS: Final = f"SELECT * FROM gaps WHERE {OF_OWNER} ORDER BY number"
ALL_GAPS: Final = "SELECT * FROM gaps ORDER BY number"
NEWEST_GAP: Final = f"SELECT * FROM gaps WHERE {OF_OWNER} ORDER BY number DESC LIMIT 1"
# A stream without events that is opened again and again has one gap, which grows.
STRETCH_GAP: Final = "UPDATE gaps SET kind = :kind, at_ms = :now_ms WHERE number = :number"
TELL_GAP: Final = f"UPDATE gaps SET told = 1 WHERE {OF_OWNER} AND number = :number AND told = 0"

# -- the cursor -------------------------------------------------------------------------------------------------------


def cursor(snapshot: Snapshot, owner: Owner) -> str | None:
    """Where to resume the stream."""
    event_id: str | None = snapshot.value(CURSOR, columns(owner))
    return event_id


def begin_cursor(transaction: Transaction, owner: Owner, *, now_ms: int) -> bool:
    """Make sure that the owner has a cursor; True when it had none, that is, on its first connection ever."""
    return transaction.run(BEGIN_CURSOR, {**columns(owner), "now_ms": now_ms}) == 1


def set_cursor(transaction: Transaction, owner: Owner, event_id: str | None, *, now_ms: int) -> None:
    """The stream is about to be opened here, whatever was before."""
    transaction.run(SET_CURSOR, {**columns(owner), "event_id": event_id, "now_ms": now_ms})


def move_cursor(transaction: Transaction, owner: Owner, step: Step, *, now_ms: int) -> bool:
    """Everything up to ``step.event_id`` is on the disk, or need not be; False when an earlier step is missing."""
    return transaction.run(MOVE_CURSOR, {**columns(owner), **step._asdict(), "now_ms": now_ms}) == 1


# -- gaps -------------------------------------------------------------------------------------------------------------


def add_gap(
    transaction: Transaction,
    owner: Owner,
    kind: GapKind,
    *,
    from_event: str | None = None,
    to_event: str | None = None,
    now_ms: int,
) -> None:
    """Note that messages may have been missed; after an expired replay the cursor goes where the server says."""
    told = kind is GapKind.FIRST
    if kind is GapKind.EXPIRED:
        set_cursor(transaction, owner, to_event, now_ms=now_ms)
    else:
        newest = transaction.one(NEWEST_GAP, columns(owner))
        if newest is not None and newest["kind"] == GapKind.NO_CURSOR and cursor(transaction, owner) is None:
            transaction.run(STRETCH_GAP, {"number": newest["number"], "kind": newest["kind"], "now_ms": now_ms})
            return
    values = {"kind": kind.value, "from_event": from_event, "to_event": to_event, "told": int(told), "now_ms": now_ms}
    transaction.run(ADD_GAP, {**columns(owner), **values})


def gaps(snapshot: Snapshot, owner: Owner) -> list[Gap]:
    """Every stretch that was missed, oldest first."""
    return [_gap(row) for row in snapshot.all(GAPS, columns(owner))]


def all_gaps(snapshot: Snapshot) -> list[Gap]:
    """The same for every owner."""
    return [_gap(row) for row in snapshot.all(ALL_GAPS)]


def tell_gap(transaction: Transaction, owner: Owner, number: int) -> bool:
    """The home channel is about to hear of a gap; False when it has heard already."""
    return transaction.run(TELL_GAP, {**columns(owner), "number": number}) == 1


def _gap(row: Row) -> Gap:
    return Gap(row["number"], GapKind(row["kind"]), row["from_event"], row["to_event"], row["at_ms"], bool(row["told"]))
