"""``request_card``, ``send_card``, ``check_card``: a card for the human of the turn, and its answer.

Source: canon-adapter R11.3, R11.5-R11.8; Canon wire 9.11, 9.12; D13, D32.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from canon_hermes_plugin.acting import Acting
from canon_hermes_plugin.approvals.wish import clamp_timeout
from canon_hermes_plugin.cards import validate_card
from canon_hermes_plugin.interactions.cards import Shown
from canon_hermes_plugin.tools.call import Call, text_argument
from canon_ops.wire.cards.rules import Id
from canon_ops.wire.interactions import CardRequest

__all__ = [
    "InvalidCard",
    "card_of",
    "check_card",
    "checked_card",
    "planned",
    "request_card",
    "send_card",
    "show",
    "valid_card",
    "wait_for",
]

Json = dict[str, Any]

DEFAULT_S, LONGEST_S = 300, 1_800  # R11.3
WAIT_S: Final = 30.0  # D32: a host ends a tool after minutes


class InvalidCard(ValueError):
    """The card is not a ``canon.card.v1`` document; nothing was sent."""


def valid_card(card: object) -> Mapping[str, Any]:
    """The card, if it is valid; what it says otherwise is for a model (R11.6).

    Raises:
        InvalidCard: with the first thing that is wrong.
        ValueError: it is no object.
    """
    if not isinstance(card, Mapping):
        raise ValueError("card is required: a canon.card.v1 object")
    result = validate_card(dict(card))
    if not result["ok"]:
        first = result["errors"][0]
        raise InvalidCard(f"Invalid canon.card.v1: {first} Correct the card; do not send the same one again.")
    return card


def checked_card(card: object) -> Mapping[str, Any]:
    """The card, if it is valid; what it says otherwise is for whoever writes a domain plugin (R12.12).

    Raises:
        InvalidCard: with everything that is wrong.
    """
    result = validate_card(dict(card) if isinstance(card, Mapping) else card)
    if not isinstance(card, Mapping) or not result["ok"]:
        raise InvalidCard(f"Invalid canon.card.v1: {'; '.join(result['errors'])}")
    return card


def card_of(
    card: Mapping[str, Any],
    call: Call,
    conversation_id: str,
    *,
    now_ms: int,
    timeout_s: int,
    native: Mapping[str, Any] | None = None,
) -> CardRequest:
    """The request for a valid card: to the human of the turn, under an id that is known before Canon answers.

    Raises:
        ValueError: the ``cardId`` of the call is none.
    """
    given = (one.strip() for one in (call.args.get("cardId"), card.get("cardId")) if isinstance(one, str))
    card_id = next(map(_shaped, filter(None, given)), None) or f"hermes-{secrets.token_hex(10)}"
    until_ms = now_ms + timeout_s * 1_000
    return CardRequest(conversation_id, card_id, card, until_ms, call.session.user_id, call.turn_id, native)


def _shaped(card_id: str) -> str:
    """An id as Canon takes it; another one would be refused there, after it was written down here."""
    if not Id.holds(card_id):
        raise ValueError(f"cardId {Id.words}")
    return card_id


async def show(
    acting: Acting, call: Call, card: Mapping[str, Any], *, native: Mapping[str, Any] | None = None
) -> Shown:
    """Show a valid card in the conversation of the call."""
    return await acting.cards.show(planned(acting, call, card, native=native))


def planned(
    acting: Acting, call: Call, card: Mapping[str, Any], *, native: Mapping[str, Any] | None = None
) -> CardRequest:
    """What Canon will be asked for."""
    timeout_s = clamp_timeout(call.args.get("timeoutSeconds"), default=DEFAULT_S, most=LONGEST_S)
    room = call.conversation(acting)
    now_ms = acting.clock.now_ms()
    return card_of(card, call, room, now_ms=now_ms, timeout_s=timeout_s, native=native)


async def wait_for(acting: Acting, call: Call, shown: Shown, *, wait_s: float) -> Json:
    """The answer to a card that was just shown, or ``pending``; the turn shows that it waits."""
    room = shown.card.conversation_id
    with acting.waiting(room, call.mark, call.session.session_key or ""):
        return await acting.cards.look(shown.card.card_id, room, wait_s=wait_s)


async def request_card(call: Call) -> Json:
    """Show a card and wait a moment for its answer."""
    card = valid_card(call.args.get("card"))

    async def work(acting: Acting) -> Json:
        shown = await show(acting, call, card)
        return await wait_for(acting, call, shown, wait_s=WAIT_S) if shown.is_interactive else shown.result()

    return await call.act(work)


async def send_card(call: Call) -> Json:
    """Show a card; when it can be answered, ``check_card`` gets the answer."""
    card = valid_card(call.args.get("card"))

    async def work(acting: Acting) -> Json:
        return (await show(acting, call, card)).result()

    return await call.act(work)


async def check_card(call: Call) -> Json:
    """How a card of this conversation stands; without an id, which cards have no answer."""
    has_id = call.args.get("cardId") is not None
    card_id = _shaped(text_argument(call.args, "cardId")) if has_id else None

    async def work(acting: Acting) -> Json:
        room = call.conversation(acting)
        if card_id is not None:
            return await acting.cards.look(card_id, room)
        rows = await acting.cards.open_in(room)
        cards = [{"cardId": row.card_id, "expiresAt": row.expires_at_ms} for row in rows]
        return {"status": "open", "conversationId": room, "cards": cards}

    return await call.act(work)
