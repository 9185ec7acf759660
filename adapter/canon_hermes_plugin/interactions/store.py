"""The cards that an agent has shown, and what became of them: one table of the state file.

A card is written down before Canon is asked to show it, so that its answer can be fetched whatever dies in between, and
its answer before the model is told, because Canon hands it out once. Source: D32; Canon wire 9.6.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from canon_hermes_plugin.inbox.owned import OF_OWNER, columns
from canon_hermes_plugin.state.owner import Owner
from canon_ops.durable import Snapshot, Transaction
from canon_ops.wire.fields import JsonObject

__all__ = ["Card", "card", "create_cards", "forget", "keep_answer", "keep_receipt", "open_cards", "reserve"]

KEPT: Final = 512  # answered or expired cards for each owner


@dataclass(frozen=True, slots=True)
class Card:
    """One row.

    Attributes:
        responder: the only human whose answer counts; None: whoever Canon names.
        answer: Canon's final response; None while there is none.
    """

    card_id: str
    conversation_id: str
    responder: str | None
    expires_at_ms: int
    answer: JsonObject | None


def create_cards(transaction: Transaction) -> None:
    """Cards."""
    transaction.run("""
        CREATE TABLE cards (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            environment_id TEXT NOT NULL,
            agent_id TEXT NOT NULL,
            card_id TEXT NOT NULL,
            conversation_id TEXT NOT NULL,
            responder TEXT,
            expires_at_ms INTEGER NOT NULL,
            answer TEXT,                              -- Canon's final response as JSON; null until there is one
            UNIQUE (environment_id, agent_id, card_id)
        )""")


ADD: Final = """INSERT INTO cards (environment_id, agent_id, card_id, conversation_id, responder, expires_at_ms)
    VALUES (:environment_id, :agent_id, :card_id, :conversation_id, :responder, :expires_at_ms)
    ON CONFLICT (environment_id, agent_id, card_id) DO NOTHING"""
# The newest are kept, and every one that may still be answered.
PRUNE: Final = f"""DELETE FROM cards WHERE {OF_OWNER} AND (answer IS NOT NULL OR expires_at_ms < :now_ms)
    AND number <= (SELECT number FROM cards WHERE {OF_OWNER} ORDER BY number DESC LIMIT 1 OFFSET :kept)"""
RECEIPT: Final = f"""UPDATE cards SET responder = coalesce(responder, :responder), expires_at_ms = :expires_at_ms
    WHERE {OF_OWNER} AND card_id = :card_id"""
FORGET: Final = f"DELETE FROM cards WHERE {OF_OWNER} AND card_id = :card_id AND answer IS NULL"
ANSWER: Final = f"UPDATE cards SET answer = :answer WHERE {OF_OWNER} AND card_id = :card_id AND answer IS NULL"
ONE: Final = f"SELECT * FROM cards WHERE {OF_OWNER} AND card_id = :card_id"
OPEN: Final = f"""SELECT * FROM cards
    WHERE {OF_OWNER} AND conversation_id = :conversation_id AND answer IS NULL ORDER BY number"""


def reserve(transaction: Transaction, owner: Owner, new: Card, *, now_ms: int) -> bool:
    """Write a card down; False when its id was used before: ids are single use."""
    transaction.run(PRUNE, {**columns(owner), "now_ms": now_ms, "kept": KEPT})
    values = {
        "card_id": new.card_id,
        "conversation_id": new.conversation_id,
        "responder": new.responder,
        "expires_at_ms": new.expires_at_ms,
    }
    return transaction.run(ADD, {**columns(owner), **values}) == 1


def forget(transaction: Transaction, owner: Owner, card_id: str) -> None:
    """A card that was never shown."""
    transaction.run(FORGET, {**columns(owner), "card_id": card_id})


def keep_receipt(
    transaction: Transaction, owner: Owner, card_id: str, *, responder: str | None, expires_at_ms: int
) -> None:
    """What Canon made of the request; a human who was asked for stays the one."""
    values = {"card_id": card_id, "responder": responder, "expires_at_ms": expires_at_ms}
    transaction.run(RECEIPT, {**columns(owner), **values})


def keep_answer(transaction: Transaction, owner: Owner, card_id: str, answer: JsonObject) -> bool:
    """Canon's final response; False when one was kept before."""
    return transaction.run(ANSWER, {**columns(owner), "card_id": card_id, "answer": json.dumps(dict(answer))}) == 1


def card(snapshot: Snapshot, owner: Owner, card_id: str) -> Card | None:
    """One card; None when this agent has shown none with that id."""
    row = snapshot.one(ONE, {**columns(owner), "card_id": card_id})
    return None if row is None else _card(row)


def open_cards(snapshot: Snapshot, owner: Owner, conversation_id: str) -> list[Card]:
    """The cards of a conversation that have no final response, oldest first."""
    return [_card(row) for row in snapshot.all(OPEN, {**columns(owner), "conversation_id": conversation_id})]


def _card(row: Any) -> Card:
    answer = None if row["answer"] is None else json.loads(row["answer"])
    return Card(row["card_id"], row["conversation_id"], row["responder"], row["expires_at_ms"], answer)
