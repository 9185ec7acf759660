"""The tables of the inbox, and everything that is asked of them.

Every row belongs to an :class:`~.items.Owner`; only what the doctor asks looks at another owner's. The cursor of the
stream is moved in the same transaction as the receipt that it covers, and only from where the step before has led: so
it never passes a message that is not on the disk, not even when a write fails and the next one does not. A settled item
keeps its id and loses its content: the id is what tells a repeated delivery.

Source: decisions X1, X4.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from canon_hermes_plugin.inbox.items import Item, Owner, Settlement, State
from canon_hermes_plugin.inbox.recovery import DeadTurn
from canon_ops.durable import Row, Snapshot, Transaction

__all__ = [
    "Gap",
    "GapKind",
    "Receipt",
    "Step",
    "Tally",
    "absorb",
    "add_gap",
    "all_gaps",
    "background",
    "begin_cursor",
    "close_turn",
    "correct",
    "create_inbox",
    "cursor",
    "dead_turns",
    "forget_closed",
    "forget_turn",
    "gaps",
    "give_back",
    "handed",
    "keep_background",
    "move_cursor",
    "open_turn",
    "prune",
    "record",
    "set_cursor",
    "settle",
    "settled_ids",
    "started",
    "tally",
    "tell_gap",
    "unsettled",
]

KEPT: Final = 2_048  # settled ids for each owner; more than the 1,024 that a running adapter remembers


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


class Receipt(StrEnum):
    """What recording a message came to."""

    NEW = "new"
    AGAIN = "again"  # recorded before, and the host does not have it yet
    KNOWN = "known"  # the host has it, or had it


@dataclass(frozen=True, slots=True)
class Tally:
    """How many items of one owner are in one state, and since when the oldest of them."""

    owner: Owner
    state: State
    count: int
    oldest_ms: int


# -- schema -----------------------------------------------------------------------------------------------------------


def create_inbox(transaction: Transaction) -> None:
    """Items, cursors, gaps, background, open turns."""
    transaction.run("""
        CREATE TABLE inbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order of arrival
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            item_id TEXT NOT NULL,
            conversation_id TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('recorded', 'handed', 'started', 'settled')),
            settlement TEXT,                           -- why it is settled; null until then
            payload TEXT NOT NULL,                     -- the event's data as JSON; empty once settled
            background TEXT NOT NULL DEFAULT '[]',     -- what was taken as background for it; empty list once settled
            session TEXT,                              -- the host's session
            turn_id TEXT,                              -- of its newest run
            runs INTEGER NOT NULL DEFAULT 0,
            recorded_at_ms INTEGER NOT NULL,
            changed_at_ms INTEGER NOT NULL,
            CHECK ((state = 'settled') = (settlement IS NOT NULL)),
            UNIQUE (environment_id, agent_id, item_id)
        )""")
    transaction.run("CREATE INDEX inbox_unsettled ON inbox (environment_id, agent_id, number) WHERE state <> 'settled'")
    transaction.run("CREATE INDEX inbox_settled ON inbox (environment_id, agent_id, number) WHERE state = 'settled'")
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
    transaction.run("""
        CREATE TABLE backgrounds (
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            conversation_id TEXT NOT NULL,
            entries TEXT NOT NULL,                     -- a JSON list of lines
            began_at_ms INTEGER NOT NULL,
            PRIMARY KEY (environment_id, agent_id, conversation_id)
        ) WITHOUT ROWID""")
    transaction.run("""
        CREATE TABLE turns (                           -- turns that may have something on Canon's live surfaces
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            turn_id TEXT NOT NULL,
            conversation_id TEXT NOT NULL,
            opened_at_ms INTEGER NOT NULL,
            closed INTEGER NOT NULL CHECK (closed IN (0, 1)),  -- over; only its node may be left
            PRIMARY KEY (environment_id, agent_id, turn_id)
        ) WITHOUT ROWID""")


# -- statements -------------------------------------------------------------------------------------------------------

OF_OWNER: Final = "environment_id = :environment_id AND agent_id = :agent_id"

ADD: Final = """INSERT INTO inbox
    (environment_id, agent_id, item_id, conversation_id, state, payload, recorded_at_ms, changed_at_ms)
    VALUES (:environment_id, :agent_id, :item_id, :conversation_id, 'recorded', :payload, :now_ms, :now_ms)
    ON CONFLICT (environment_id, agent_id, item_id) DO NOTHING"""
STATE_OF: Final = f"SELECT state FROM inbox WHERE {OF_OWNER} AND item_id = :item_id"
# The host has it now; a run that begins at once may have been noted first.
HAND: Final = f"""UPDATE inbox
    SET state = iif(state = 'recorded', 'handed', state), session = coalesce(session, :session),
        background = :background, changed_at_ms = :now_ms
    WHERE {OF_OWNER} AND item_id = :item_id AND state <> 'settled'"""
START: Final = f"""UPDATE inbox
    SET state = 'started', session = :session, turn_id = :turn_id, runs = runs + 1, changed_at_ms = :now_ms
    WHERE {OF_OWNER} AND item_id = :item_id AND state <> 'settled'"""
# A run without a trace did not count; one that died before it still does.
GIVE_BACK: Final = f"""UPDATE inbox
    SET state = iif(runs > 1, 'started', 'handed'), runs = max(0, runs - 1), changed_at_ms = :now_ms
    WHERE {OF_OWNER} AND item_id = :item_id AND state = 'started'"""
SETTLE: Final = f"""UPDATE inbox
    SET state = 'settled', settlement = :settlement, payload = '', background = '[]', changed_at_ms = :now_ms
    WHERE {OF_OWNER} AND item_id = :item_id AND state <> 'settled'"""
ABSORB: Final = f"""UPDATE inbox
    SET state = 'settled', settlement = 'absorbed', payload = '', background = '[]', changed_at_ms = :now_ms
    WHERE {OF_OWNER} AND session = :session AND state = 'handed' AND item_id <> :but"""
NOT_STARTED: Final = f"""SELECT payload FROM inbox
    WHERE {OF_OWNER} AND item_id = :item_id AND state IN ('recorded', 'handed')"""
REWRITE: Final = f"UPDATE inbox SET payload = :payload, changed_at_ms = :now_ms WHERE {OF_OWNER} AND item_id = :item_id"
UNSETTLED: Final = f"SELECT * FROM inbox WHERE {OF_OWNER} AND state <> 'settled' ORDER BY number"
SETTLED_IDS: Final = f"""SELECT item_id FROM
    (SELECT item_id, number FROM inbox WHERE {OF_OWNER} AND state = 'settled' ORDER BY number DESC LIMIT :limit)
    ORDER BY number"""
PRUNE: Final = f"""DELETE FROM inbox WHERE {OF_OWNER} AND state = 'settled' AND number <=
    (SELECT number FROM inbox WHERE {OF_OWNER} AND state = 'settled' ORDER BY number DESC LIMIT 1 OFFSET :kept)"""
TALLY: Final = """SELECT environment_id, agent_id, state, count(*) AS count, min(changed_at_ms) AS oldest_ms
    FROM inbox WHERE state <> 'settled' GROUP BY environment_id, agent_id, state ORDER BY 1, 2, 3"""

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

KEEP_BACKGROUND: Final = """INSERT INTO backgrounds (environment_id, agent_id, conversation_id, entries, began_at_ms)
    VALUES (:environment_id, :agent_id, :conversation_id, :entries, :now_ms)
    ON CONFLICT DO UPDATE SET entries = excluded.entries"""
DROP_BACKGROUND: Final = f"DELETE FROM backgrounds WHERE {OF_OWNER} AND conversation_id = :conversation_id"
BACKGROUND: Final = (
    f"SELECT conversation_id, entries FROM backgrounds WHERE {OF_OWNER} ORDER BY began_at_ms, conversation_id"
)

OPEN_TURN: Final = """INSERT INTO turns (environment_id, agent_id, turn_id, conversation_id, opened_at_ms, closed)
    VALUES (:environment_id, :agent_id, :turn_id, :conversation_id, :now_ms, 0)
    ON CONFLICT DO UPDATE SET opened_at_ms = excluded.opened_at_ms, closed = 0"""
CLOSE_TURN: Final = f"UPDATE turns SET closed = 1 WHERE {OF_OWNER} AND turn_id = :turn_id"
FORGET_TURN: Final = f"DELETE FROM turns WHERE {OF_OWNER} AND turn_id = :turn_id"
FORGET_CLOSED: Final = f"DELETE FROM turns WHERE {OF_OWNER} AND conversation_id = :conversation_id AND closed = 1"
TURNS: Final = f"SELECT * FROM turns WHERE {OF_OWNER} ORDER BY opened_at_ms, turn_id"

# -- items ------------------------------------------------------------------------------------------------------------


def record(
    transaction: Transaction,
    owner: Owner,
    item_id: str,
    conversation_id: str,
    payload: Any,
    *,
    step: Step | None,
    now_ms: int,
) -> Receipt:
    """Write a message down, once, and move the cursor to its event."""
    values = {
        **_of(owner),
        "item_id": item_id,
        "conversation_id": conversation_id,
        "payload": _text(payload),
        "now_ms": now_ms,
    }
    is_new = transaction.run(ADD, values) == 1
    if step is not None:
        move_cursor(transaction, owner, step, now_ms=now_ms)
    if is_new:
        return Receipt.NEW
    return Receipt.AGAIN if transaction.value(STATE_OF, values) == State.RECORDED else Receipt.KNOWN


def handed(
    transaction: Transaction,
    owner: Owner,
    item_id: str,
    conversation_id: str,
    *,
    session: str | None,
    background: Sequence[str],
    now_ms: int,
) -> None:
    """The host has the item, and with it the background of its conversation."""
    values = {**_of(owner), "item_id": item_id, "session": session, "background": _text(list(background))}
    transaction.run(HAND, {**values, "now_ms": now_ms})
    if background:
        transaction.run(DROP_BACKGROUND, {**_of(owner), "conversation_id": conversation_id})


def started(transaction: Transaction, owner: Owner, item_id: str, *, session: str, turn_id: str, now_ms: int) -> None:
    """The agent begins to work on the item; what it does from now on may not be undone by forgetting."""
    values = {"item_id": item_id, "session": session, "turn_id": turn_id, "now_ms": now_ms}
    transaction.run(START, {**_of(owner), **values})


def give_back(transaction: Transaction, owner: Owner, item_id: str, *, now_ms: int) -> None:
    """The run left no trace: the host only queued the item."""
    transaction.run(GIVE_BACK, {**_of(owner), "item_id": item_id, "now_ms": now_ms})


def settle(transaction: Transaction, owner: Owner, item_id: str, why: Settlement, *, now_ms: int) -> bool:
    """Nothing more happens to the item; False when that was settled before."""
    values = {**_of(owner), "item_id": item_id, "settlement": why.value, "now_ms": now_ms}
    return transaction.run(SETTLE, values) == 1


def correct(transaction: Transaction, owner: Owner, item_id: str, text: str | None, *, now_ms: int) -> None:
    """The text of an item that has not started, or that it is gone; what has started is left alone."""
    values = {**_of(owner), "item_id": item_id, "now_ms": now_ms}
    row = transaction.one(NOT_STARTED, values)
    if row is None:
        return
    if text is None:
        settle(transaction, owner, item_id, Settlement.DROPPED, now_ms=now_ms)
        return
    payload = json.loads(row["payload"])
    message = payload.get("message") if isinstance(payload, dict) else None
    if isinstance(message, dict):
        message["text"] = text
        transaction.run(REWRITE, {**values, "payload": _text(payload)})


def absorb(transaction: Transaction, owner: Owner, session: str, *, but: str | None, now_ms: int) -> int:
    """The session is idle: what the host had of it, ``but`` one, is in runs that are over. Returns the count."""
    return transaction.run(ABSORB, {**_of(owner), "session": session, "but": but or "", "now_ms": now_ms})


def unsettled(snapshot: Snapshot, owner: Owner) -> list[Item]:
    """What is not finished, in the order of arrival."""
    return [_item(row) for row in snapshot.all(UNSETTLED, _of(owner))]


def settled_ids(snapshot: Snapshot, owner: Owner, *, limit: int) -> list[str]:
    """The newest finished items, oldest first."""
    return [row["item_id"] for row in snapshot.all(SETTLED_IDS, {**_of(owner), "limit": limit})]


def prune(transaction: Transaction, owner: Owner, *, kept: int = KEPT) -> int:
    """Forget finished items but the newest ``kept``."""
    return transaction.run(PRUNE, {**_of(owner), "kept": kept})


def tally(snapshot: Snapshot) -> list[Tally]:
    """Unfinished items, counted; every owner's."""
    return [
        Tally(Owner(row["environment_id"], row["agent_id"]), State(row["state"]), row["count"], row["oldest_ms"])
        for row in snapshot.all(TALLY)
    ]


# -- the stream -------------------------------------------------------------------------------------------------------


def cursor(snapshot: Snapshot, owner: Owner) -> str | None:
    """Where to resume the stream."""
    event_id: str | None = snapshot.value(CURSOR, _of(owner))
    return event_id


def begin_cursor(transaction: Transaction, owner: Owner, *, now_ms: int) -> bool:
    """Make sure that the owner has a cursor; True when it had none, that is, on its first connection ever."""
    return transaction.run(BEGIN_CURSOR, {**_of(owner), "now_ms": now_ms}) == 1


def set_cursor(transaction: Transaction, owner: Owner, event_id: str | None, *, now_ms: int) -> None:
    """The stream is about to be opened here, whatever was before."""
    transaction.run(SET_CURSOR, {**_of(owner), "event_id": event_id, "now_ms": now_ms})


def move_cursor(transaction: Transaction, owner: Owner, step: Step, *, now_ms: int) -> bool:
    """Everything up to ``step.event_id`` is on the disk, or need not be; False when an earlier step is missing."""
    return transaction.run(MOVE_CURSOR, {**_of(owner), **step._asdict(), "now_ms": now_ms}) == 1


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
        newest = transaction.one(NEWEST_GAP, _of(owner))
        if newest is not None and newest["kind"] == GapKind.NO_CURSOR and cursor(transaction, owner) is None:
            transaction.run(STRETCH_GAP, {"number": newest["number"], "kind": newest["kind"], "now_ms": now_ms})
            return
    values = {"kind": kind.value, "from_event": from_event, "to_event": to_event, "told": int(told), "now_ms": now_ms}
    transaction.run(ADD_GAP, {**_of(owner), **values})


def gaps(snapshot: Snapshot, owner: Owner) -> list[Gap]:
    """Every stretch that was missed, oldest first."""
    return [_gap(row) for row in snapshot.all(GAPS, _of(owner))]


def all_gaps(snapshot: Snapshot) -> list[Gap]:
    """The same for every owner."""
    return [_gap(row) for row in snapshot.all(ALL_GAPS)]


def tell_gap(transaction: Transaction, owner: Owner, number: int) -> bool:
    """The home channel is about to hear of a gap; False when it has heard already."""
    return transaction.run(TELL_GAP, {**_of(owner), "number": number}) == 1


# -- background and turns ---------------------------------------------------------------------------------------------


def keep_background(
    transaction: Transaction,
    owner: Owner,
    conversation_id: str,
    entries: Sequence[str],
    *,
    step: Step | None,
    now_ms: int,
) -> None:
    """Replace the background of a conversation, and move the cursor to the event that brought its last line."""
    values = {**_of(owner), "conversation_id": conversation_id, "entries": _text(list(entries)), "now_ms": now_ms}
    transaction.run(KEEP_BACKGROUND, values)
    if step is not None:
        move_cursor(transaction, owner, step, now_ms=now_ms)


def background(snapshot: Snapshot, owner: Owner) -> dict[str, tuple[str, ...]]:
    """The background of each conversation, the one that began first in front."""
    return {row["conversation_id"]: tuple(json.loads(row["entries"])) for row in snapshot.all(BACKGROUND, _of(owner))}


def open_turn(transaction: Transaction, owner: Owner, turn_id: str, conversation_id: str, *, now_ms: int) -> None:
    """The turn may show something on Canon from now on."""
    values = {"turn_id": turn_id, "conversation_id": conversation_id, "now_ms": now_ms}
    transaction.run(OPEN_TURN, {**_of(owner), **values})


def close_turn(transaction: Transaction, owner: Owner, turn_id: str) -> None:
    """The turn is over; its node may not be gone yet."""
    transaction.run(CLOSE_TURN, {**_of(owner), "turn_id": turn_id})


def forget_turn(transaction: Transaction, owner: Owner, turn_id: str) -> None:
    """Nothing of the turn is left on Canon's live surfaces."""
    transaction.run(FORGET_TURN, {**_of(owner), "turn_id": turn_id})


def forget_closed(transaction: Transaction, owner: Owner, conversation_id: str) -> None:
    """The node of the conversation is gone: nothing is left of the turns that are over there."""
    transaction.run(FORGET_CLOSED, {**_of(owner), "conversation_id": conversation_id})


def dead_turns(snapshot: Snapshot, owner: Owner) -> list[DeadTurn]:
    """The turns that may have left something, oldest first."""
    return [
        DeadTurn(row["turn_id"], row["conversation_id"], row["opened_at_ms"], bool(row["closed"]))
        for row in snapshot.all(TURNS, _of(owner))
    ]


def _of(owner: Owner) -> dict[str, Any]:
    return {"environment_id": owner.environment_id, "agent_id": owner.agent_id}


def _item(row: Row) -> Item:
    return Item(
        row["item_id"],
        row["conversation_id"],
        State(row["state"]),
        json.loads(row["payload"]),
        tuple(json.loads(row["background"])),
        row["session"],
        row["turn_id"],
        row["runs"],
    )


def _gap(row: Row) -> Gap:
    return Gap(row["number"], GapKind(row["kind"]), row["from_event"], row["to_event"], row["at_ms"], bool(row["told"]))


def _text(value: Any) -> str:
    """JSON in ASCII: a lone surrogate, which a database cannot hold, stays an escape."""
    return json.dumps(value, separators=(",", ":"))
