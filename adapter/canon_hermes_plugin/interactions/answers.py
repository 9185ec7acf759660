"""What an answer to a card is worth. Pure.

Canon routes a card to one human. An answer that does not say who gave it, or names somebody else, authorises nothing,
and neither does one that is missing: ``unknown`` is no refusal and no consent.

Source: canon-adapter R11.8, R13.4; Canon wire 9.3, 9.4; D32.
"""

from __future__ import annotations

from typing import Final

from canon_ops.wire.fields import JsonObject, text_of

__all__ = ["FORGED", "NAMELESS", "is_final", "unknown", "wrong_responder"]

NAMELESS: Final = "the card was answered without authenticated responder identity"
FORGED: Final = "the card was answered by a different human than the one who was asked"


def is_final(response: JsonObject) -> bool:
    """Whether a response ends the wait: it has a status, and that is not ``pending``. Source: R9.3."""
    status = response.get("status")
    return isinstance(status, str) and status not in ("", "pending")


def wrong_responder(response: JsonObject, expected: str | None) -> str | None:
    """Why a submitted answer does not count; None when it does, and for every other status.

    Args:
        expected: the human who was asked; None: whoever Canon names.
    """
    if response.get("status") != "submitted":
        return None
    by = (text_of(response, "respondedBy") or "").strip()
    if not by:
        return NAMELESS
    return FORGED if expected is not None and by != expected else None


def unknown(card_id: str, conversation_id: str, why: str) -> dict[str, str]:
    """The result for an answer that cannot be told, or does not count."""
    note = f"{why}. Nothing is authorised by it; if it is still needed, re-issue the card under a new id."
    return {"status": "unknown", "conversationId": conversation_id, "cardId": card_id, "note": note}
