"""The turns that may have left something on Canon's live surfaces: what the next gateway has to lay to rest.

Source: decisions X1; Canon adapter D37.
"""

from __future__ import annotations

from typing import Final

from canon_hermes_plugin.inbox.owned import OF_OWNER, columns
from canon_hermes_plugin.inbox.recovery import DeadTurn
from canon_hermes_plugin.state.owner import Owner
from canon_ops.durable import Snapshot, Transaction

__all__ = ["close_turn", "create_turns", "dead_turns", "forget_closed", "forget_turn", "open_turn"]


def create_turns(transaction: Transaction) -> None:
    """Open turns, and closed ones whose node may be left."""
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


OPEN_TURN: Final = """INSERT INTO turns (environment_id, agent_id, turn_id, conversation_id, opened_at_ms, closed)
    VALUES (:environment_id, :agent_id, :turn_id, :conversation_id, :now_ms, 0)
    ON CONFLICT DO UPDATE SET opened_at_ms = excluded.opened_at_ms, closed = 0"""
CLOSE_TURN: Final = f"UPDATE turns SET closed = 1 WHERE {OF_OWNER} AND turn_id = :turn_id"
FORGET_TURN: Final = f"DELETE FROM turns WHERE {OF_OWNER} AND turn_id = :turn_id"
FORGET_CLOSED: Final = f"DELETE FROM turns WHERE {OF_OWNER} AND conversation_id = :conversation_id AND closed = 1"
TURNS: Final = f"SELECT * FROM turns WHERE {OF_OWNER} ORDER BY opened_at_ms, turn_id"


def open_turn(transaction: Transaction, owner: Owner, turn_id: str, conversation_id: str, *, now_ms: int) -> None:
    """The turn may show something on Canon from now on."""
    values = {"turn_id": turn_id, "conversation_id": conversation_id, "now_ms": now_ms}
    transaction.run(OPEN_TURN, {**columns(owner), **values})


def close_turn(transaction: Transaction, owner: Owner, turn_id: str) -> None:
    """The turn is over; its node may not be gone yet."""
    transaction.run(CLOSE_TURN, {**columns(owner), "turn_id": turn_id})


def forget_turn(transaction: Transaction, owner: Owner, turn_id: str) -> None:
    """Nothing of the turn is left on Canon's live surfaces."""
    transaction.run(FORGET_TURN, {**columns(owner), "turn_id": turn_id})


def forget_closed(transaction: Transaction, owner: Owner, conversation_id: str) -> None:
    """The node of the conversation is gone: nothing is left of the turns that are over there."""
    transaction.run(FORGET_CLOSED, {**columns(owner), "conversation_id": conversation_id})


def dead_turns(snapshot: Snapshot, owner: Owner) -> list[DeadTurn]:
    """The turns that may have left something, oldest first."""
    return [
        DeadTurn(row["turn_id"], row["conversation_id"], row["opened_at_ms"], bool(row["closed"]))
        for row in snapshot.all(TURNS, columns(owner))
    ]
