"""The messages of the inbox and what was said around them, and everything that is asked of either.

Every row belongs to an :class:`~.items.Owner`; only what the doctor asks looks at another owner's. The cursor of the
stream (cursors.py) is moved in the same transaction as the receipt that it covers, so it never passes a message that is
not on the disk. A settled item keeps its id and loses its content: the id is what tells a repeated delivery.

Source: decisions X1, X4.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from canon_hermes_plugin.inbound.suppressed import CONVERSATIONS
from canon_hermes_plugin.inbox.cursors import Step, create_cursors, move_cursor
from canon_hermes_plugin.inbox.items import Item, Settlement, State
from canon_hermes_plugin.inbox.owned import OF_OWNER, columns
from canon_hermes_plugin.inbox.turns import create_turns
from canon_hermes_plugin.state.owner import Owner
from canon_ops.durable import Row, Snapshot, Transaction

__all__ = [
    "Receipt",
    "Tally",
    "absorb",
    "background",
    "correct",
    "create_inbox",
    "give_back",
    "handed",
    "keep_background",
    "payload_of",
    "prune",
    "record",
    "settle",
    "settled_ids",
    "started",
    "tally",
    "unsettled",
]

KEPT: Final = 2_048  # settled ids for each owner; more than the 1,024 that a running adapter remembers
KEPT_BEHIND: Final = 65_536  # ours: likewise, behind a message that still waits for its hand-over


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
    create_cursors(transaction)
    transaction.run("""
        CREATE TABLE backgrounds (
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            conversation_id TEXT NOT NULL,
            entries TEXT NOT NULL,                     -- a JSON list of lines
            began_at_ms INTEGER NOT NULL,
            PRIMARY KEY (environment_id, agent_id, conversation_id)
        ) WITHOUT ROWID""")
    create_turns(transaction)


# -- statements -------------------------------------------------------------------------------------------------------

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
# A run without a trace did not count; one that died before it still does. A turn that was told to be over is not begun
# again: its answer would come after its end.
GIVE_BACK: Final = f"""UPDATE inbox
    SET state = iif(runs > 1, 'started', 'handed'), runs = max(0, runs - 1),
        turn_id = iif(:goes_on, turn_id, NULL), changed_at_ms = :now_ms
    WHERE {OF_OWNER} AND item_id = :item_id AND state = 'started'"""
SETTLE: Final = f"""UPDATE inbox
    SET state = 'settled', settlement = :settlement, payload = '', background = '[]', changed_at_ms = :now_ms
    WHERE {OF_OWNER} AND item_id = :item_id AND state <> 'settled'"""
ABSORB: Final = f"""UPDATE inbox
    SET state = 'settled', settlement = 'absorbed', payload = '', background = '[]', changed_at_ms = :now_ms
    WHERE {OF_OWNER} AND session = :session AND state = 'handed'
        AND item_id NOT IN (SELECT value FROM json_each(:but))"""
NOT_STARTED: Final = f"""SELECT payload FROM inbox
    WHERE {OF_OWNER} AND item_id = :item_id AND state IN ('recorded', 'handed')"""
REWRITE: Final = f"UPDATE inbox SET payload = :payload, changed_at_ms = :now_ms WHERE {OF_OWNER} AND item_id = :item_id"
UNSETTLED: Final = f"SELECT * FROM inbox WHERE {OF_OWNER} AND state <> 'settled' ORDER BY number"
SETTLED_IDS: Final = f"""SELECT item_id FROM
    (SELECT item_id, number FROM inbox WHERE {OF_OWNER} AND state = 'settled' ORDER BY number DESC LIMIT :limit)
    ORDER BY number"""
# A message that the host does not have yet holds the stream: after a break everything behind it comes again.
NEWEST_SETTLED: Final = f"SELECT number FROM inbox WHERE {OF_OWNER} AND state = 'settled' ORDER BY number DESC LIMIT 1"
WAITS: Final = f"SELECT min(number) FROM inbox WHERE {OF_OWNER} AND state <> 'settled' AND state = 'recorded'"
PRUNE: Final = f"""DELETE FROM inbox WHERE {OF_OWNER} AND state = 'settled'
    AND number <= ({NEWEST_SETTLED} OFFSET :kept)
    AND (number <= coalesce(({WAITS}), number) OR number <= ({NEWEST_SETTLED} OFFSET :kept_behind))"""
TALLY: Final = """SELECT environment_id, agent_id, state, count(*) AS count, min(changed_at_ms) AS oldest_ms
    FROM inbox WHERE state <> 'settled' GROUP BY environment_id, agent_id, state ORDER BY 1, 2, 3"""

KEEP_BACKGROUND: Final = """INSERT INTO backgrounds (environment_id, agent_id, conversation_id, entries, began_at_ms)
    VALUES (:environment_id, :agent_id, :conversation_id, :entries, :now_ms)
    ON CONFLICT DO UPDATE SET entries = excluded.entries"""
PRUNE_BACKGROUNDS: Final = f"""DELETE FROM backgrounds WHERE {OF_OWNER} AND conversation_id NOT IN
    (SELECT conversation_id FROM backgrounds WHERE {OF_OWNER}
        ORDER BY began_at_ms DESC, conversation_id DESC LIMIT :kept)"""
DROP_BACKGROUND: Final = f"DELETE FROM backgrounds WHERE {OF_OWNER} AND conversation_id = :conversation_id"
BACKGROUND: Final = (
    f"SELECT conversation_id, entries FROM backgrounds WHERE {OF_OWNER} ORDER BY began_at_ms, conversation_id"
)

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
        **columns(owner),
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
    values = {**columns(owner), "item_id": item_id, "session": session, "background": _text(list(background))}
    transaction.run(HAND, {**values, "now_ms": now_ms})
    if background:
        transaction.run(DROP_BACKGROUND, {**columns(owner), "conversation_id": conversation_id})


def started(
    transaction: Transaction, owner: Owner, item_id: str, *, session: str, turn_id: str | None, now_ms: int
) -> None:
    """The agent begins to work on the item; what it does from now on may not be undone by forgetting.

    Args:
        turn_id: None for one that is in the run of another, whose turn it is.
    """
    values = {"item_id": item_id, "session": session, "turn_id": turn_id, "now_ms": now_ms}
    transaction.run(START, {**columns(owner), **values})


def give_back(transaction: Transaction, owner: Owner, item_id: str, *, goes_on: bool, now_ms: int) -> None:
    """The run left no trace: the host only queued the item, or lost it.

    Args:
        goes_on: the next run is the same turn; otherwise that one was closed on Canon.
    """
    transaction.run(GIVE_BACK, {**columns(owner), "item_id": item_id, "goes_on": int(goes_on), "now_ms": now_ms})


def settle(transaction: Transaction, owner: Owner, item_id: str, why: Settlement, *, now_ms: int) -> bool:
    """Nothing more happens to the item; False when that was settled before."""
    values = {**columns(owner), "item_id": item_id, "settlement": why.value, "now_ms": now_ms}
    return transaction.run(SETTLE, values) == 1


def correct(transaction: Transaction, owner: Owner, item_id: str, text: str | None, *, now_ms: int) -> None:
    """The text of an item that has not started, or that it is gone; what has started is left alone."""
    values = {**columns(owner), "item_id": item_id, "now_ms": now_ms}
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


def payload_of(snapshot: Snapshot, owner: Owner, item_id: str) -> Any:
    """What an item that has not started says; None when it has, or is settled."""
    row = snapshot.one(NOT_STARTED, {**columns(owner), "item_id": item_id})
    return None if row is None else json.loads(row["payload"])


def absorb(transaction: Transaction, owner: Owner, session: str, *, but: Collection[str], now_ms: int) -> int:
    """The session is idle: what the host had of it, ``but`` some, is in runs that are over. Returns the count."""
    return transaction.run(ABSORB, {**columns(owner), "session": session, "but": _text(sorted(but)), "now_ms": now_ms})


def unsettled(snapshot: Snapshot, owner: Owner) -> list[Item]:
    """What is not finished, in the order of arrival."""
    return [_item(row) for row in snapshot.all(UNSETTLED, columns(owner))]


def settled_ids(snapshot: Snapshot, owner: Owner, *, limit: int) -> list[str]:
    """The newest finished items, oldest first."""
    return [row["item_id"] for row in snapshot.all(SETTLED_IDS, {**columns(owner), "limit": limit})]


def prune(transaction: Transaction, owner: Owner, *, kept: int = KEPT, kept_behind: int = KEPT_BEHIND) -> int:
    """Forget finished items but the newest ``kept``, and the ``kept_behind`` behind one that the host must still get.

    The stream may bring those again, and their rows are what tells that they were here.
    """
    return transaction.run(PRUNE, {**columns(owner), "kept": kept, "kept_behind": max(kept, kept_behind)})


def tally(snapshot: Snapshot) -> list[Tally]:
    """Unfinished items, counted; every owner's."""
    return [
        Tally(Owner(row["environment_id"], row["agent_id"]), State(row["state"]), row["count"], row["oldest_ms"])
        for row in snapshot.all(TALLY)
    ]


# -- background --------------------------------------------------------------------------------------------


def keep_background(
    transaction: Transaction,
    owner: Owner,
    conversation_id: str,
    entries: Sequence[str],
    *,
    step: Step | None,
    now_ms: int,
) -> None:
    """Replace the background of a conversation, and move the cursor to the event that brought its last line.

    As many conversations have one here as in the memory: the one that began first goes.
    """
    values = {**columns(owner), "conversation_id": conversation_id, "entries": _text(list(entries)), "now_ms": now_ms}
    transaction.run(KEEP_BACKGROUND, values)
    transaction.run(PRUNE_BACKGROUNDS, {**columns(owner), "kept": CONVERSATIONS})
    if step is not None:
        move_cursor(transaction, owner, step, now_ms=now_ms)


def background(snapshot: Snapshot, owner: Owner) -> dict[str, tuple[str, ...]]:
    """The background of each conversation, the one that began first in front."""
    return {
        row["conversation_id"]: tuple(json.loads(row["entries"])) for row in snapshot.all(BACKGROUND, columns(owner))
    }


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


def _text(value: Any) -> str:
    """JSON in ASCII: a lone surrogate, which a database cannot hold, stays an escape."""
    return json.dumps(value, separators=(",", ":"))
