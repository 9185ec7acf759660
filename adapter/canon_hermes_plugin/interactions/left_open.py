"""Which requests of the host Canon still shows: one table of the state file.

A request is written down before Canon gets it and struck out when it is over. What is left when a gateway starts
belongs to runs that died with the last one: nobody waits for the answer any more, so it is taken back, and a message
that runs again asks anew.

Source: canon-adapter R9.14; decisions X1; D17.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from canon_hermes_plugin.inbox.owned import OF_OWNER, columns
from canon_hermes_plugin.state.owner import Owner
from canon_ops.durable import Snapshot, Transaction
from canon_ops.wire.interactions import InteractionKind

__all__ = ["Shown", "create_requests", "left", "note", "strike"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A request as Canon knows it."""

    kind: InteractionKind
    request_id: str
    conversation_id: str


def create_requests(transaction: Transaction) -> None:
    """Questions and approvals of running turns."""
    transaction.run("""
        CREATE TABLE open_requests (
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            kind TEXT NOT NULL,                       -- input or approval
            request_id TEXT NOT NULL,
            conversation_id TEXT NOT NULL,
            PRIMARY KEY (environment_id, agent_id, kind, request_id)
        )""")


NOTE: Final = """INSERT INTO open_requests (environment_id, agent_id, kind, request_id, conversation_id)
    VALUES (:environment_id, :agent_id, :kind, :request_id, :conversation_id) ON CONFLICT DO NOTHING"""
STRIKE: Final = f"DELETE FROM open_requests WHERE {OF_OWNER} AND kind = :kind AND request_id = :request_id"
LEFT: Final = f"SELECT kind, request_id, conversation_id FROM open_requests WHERE {OF_OWNER} ORDER BY rowid"


def note(transaction: Transaction, owner: Owner, shown: Shown) -> None:
    """Canon is about to get it."""
    values = {"kind": shown.kind.value, "request_id": shown.request_id, "conversation_id": shown.conversation_id}
    transaction.run(NOTE, {**columns(owner), **values})


def strike(transaction: Transaction, owner: Owner, shown: Shown) -> None:
    """It is over, on Canon too."""
    transaction.run(STRIKE, {**columns(owner), "kind": shown.kind.value, "request_id": shown.request_id})


def left(snapshot: Snapshot, owner: Owner) -> tuple[Shown, ...]:
    """What is noted and was not struck out, oldest first."""
    rows = snapshot.all(LEFT, columns(owner))
    return tuple(Shown(InteractionKind(row["kind"]), row["request_id"], row["conversation_id"]) for row in rows)
