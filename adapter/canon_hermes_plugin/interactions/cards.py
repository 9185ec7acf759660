"""Cards: shown to one human, waited for a moment, and asked about later.

A host ends a tool after minutes, a human answers when they like. So the wait is bounded by the caller, the card stays,
and whoever holds its id asks again (:meth:`CardDesk.look`), also after a restart. Asking is single file for each card:
Canon hands an answer out once, and it is on the disk before anybody is told.

::

    reserve (disk) -> request (Canon) -> wait: pending | answer (disk) -> look: the same answer, again and again

Source: canon-adapter R11.6-R11.8; Canon wire 9.2, 9.3, 9.6; D32.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from canon_hermes_plugin.interactions import store
from canon_hermes_plugin.interactions.answers import is_final, unknown, wrong_responder
from canon_hermes_plugin.interactions.polling import await_answer
from canon_hermes_plugin.interactions.store import Card
from canon_hermes_plugin.state.file import StateFile
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.turnstile import Turnstile
from canon_ops.client.api import CanonApi
from canon_ops.client.errors import ApiError, RequestFailed
from canon_ops.runtime.clock import Clock
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.interactions import CardReceipt, CardRequest, InteractionKind

__all__ = ["CardDesk", "CardIdUsed", "Shown", "WrongHuman", "card_for", "has_actions"]


GRACE_S: Final = 3.0  # ours: as long as a gateway that stops can wait for one answer


class CardIdUsed(ValueError):
    """A card with that id was shown before; ids are single use for ever."""


class WrongHuman(RuntimeError):
    """Canon would let somebody else answer than the human who was meant."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A card that Canon shows.

    Attributes:
        responder: the human whose answer counts, as far as anybody said.
        receipt: Canon's own answer to the request.
    """

    card: Card
    is_interactive: bool
    receipt: JsonObject

    def result(self) -> dict[str, Any]:
        """What is said of a card that nobody waits for. Source: Canon wire 9.11."""
        return {"status": "displayed", **names_of(self.card), "request": dict(self.receipt)}


def card_for(request: CardRequest) -> Card:
    """The card of a request, before anybody has answered."""
    return Card(request.card_id, request.conversation_id, request.responder, request.expires_at_ms, None)


def names_of(card: Card) -> dict[str, str]:
    """The ids of a card, for a result."""
    names = {"conversationId": card.conversation_id, "cardId": card.card_id}
    return {**names, "responseUserId": card.responder} if card.responder else names


class CardDesk:
    """The cards of one connected agent."""

    def __init__(self, file: StateFile, owner: Owner, api: CanonApi, clock: Clock) -> None:
        self._file = file
        self._owner = owner
        self._api = api
        self._clock = clock
        self._asking = Turnstile()

    async def show(self, request: CardRequest) -> Shown:
        """Show a card that has been validated.

        Raises:
            CardIdUsed: nothing was sent.
            DurableError: it could not be written down; nothing was sent.
            WrongHuman: Canon asks somebody else; the card was taken back.
            RequestFailed: Canon refused it, and the id is free again; or nobody knows, and :meth:`look` finds out.
        """
        card = card_for(request)
        if not await self._file.write(store.reserve, self._owner, card, now_ms=self._clock.now_ms()):
            raise CardIdUsed(f"a card {request.card_id} was shown before; card ids are single use")
        raw = await self._requested(request)
        receipt = CardReceipt.parse(raw)
        if request.responder is not None and receipt.responder not in (None, request.responder):
            await self.take_back(card)
            raise WrongHuman("Canon shows the card to a different human than the one of this turn; it was taken back")
        until_ms = int(receipt.expires_at_ms or request.expires_at_ms)
        await self._file.write(
            store.keep_receipt,
            self._owner,
            request.card_id,
            responder=receipt.responder,
            expires_at_ms=until_ms,
        )
        shown = Card(request.card_id, card.conversation_id, card.responder or receipt.responder, until_ms, None)
        interactive = has_actions(request.card) if receipt.interactive is None else receipt.interactive
        return Shown(shown, interactive, raw)

    async def _requested(self, request: CardRequest) -> JsonObject:
        """Ask Canon to show it. What has certainly not got there was never shown, and its id may be used again: a model
        corrects what was refused, and keeps the id."""
        try:
            return await self._api.request_interaction(request.body())
        except (RequestFailed, TypeError, ValueError) as error:  # the latter two: it has no form as JSON
            if not (isinstance(error, RequestFailed) and error.may_have_landed):
                await self._file.write(store.forget, self._owner, request.card_id)
            raise

    async def take_back(self, card: Card) -> dict[str, Any]:
        """End a card whose time is over; an answer of the last moment comes with the cancellation (D17).

        Raises:
            RequestFailed: Canon could not be told.
        """
        async with self._asking.through(card.card_id):
            known = await self._file.read(store.card, self._owner, card.card_id)
            if known is None or known.answer is None:
                answer = await self._cancelled(card)
                await self._file.write(store.keep_answer, self._owner, card.card_id, answer)
                known = Card(card.card_id, card.conversation_id, card.responder, card.expires_at_ms, answer)
        return _result(known)

    async def answer_of(self, card_id: str) -> JsonObject | None:
        """Canon's final response to a card, as it came; None while there is none."""
        card = await self._file.read(store.card, self._owner, card_id)
        return card.answer if card is not None else None

    async def _cancelled(self, card: Card) -> JsonObject:
        try:
            last = await self._api.consume_interaction(
                InteractionKind.CARD, card.conversation_id, card.card_id, cancel=True
            )
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            last = {}
        return last if last.get("status") == "submitted" else {"status": "timeout"}

    async def look(self, card_id: str, conversation_id: str, *, wait_s: float = 0.0) -> dict[str, Any]:
        """How a card stands, waiting up to ``wait_s`` seconds for an answer.

        Returns:
            Canon's final response with the card's ids; ``pending``; or ``unknown``, which authorises nothing.

        Raises:
            PermissionError: it was shown in a different Canon conversation; nothing was asked.
            RequestFailed: Canon could not be asked; the card stays as it is.
        """
        card = await self._file.read(store.card, self._owner, card_id)
        if card is None:
            return unknown(card_id, conversation_id, "No card with that id was shown by this agent")
        if card.conversation_id != conversation_id:
            raise PermissionError(f"card {card_id} was shown in a different Canon conversation")
        until_ms = min(card.expires_at_ms, self._clock.now_ms() + wait_s * 1_000)
        answer = await await_answer(lambda: self._ask(card), until_ms=until_ms, clock=self._clock)
        return _result(replace(card, answer=answer))

    async def open_in(self, conversation_id: str) -> tuple[Card, ...]:
        """The cards of a conversation that have no final response yet."""
        return tuple(await self._file.read(store.open_cards, self._owner, conversation_id))

    async def _ask(self, card: Card) -> JsonObject:
        """Ask Canon once, unless the answer is on the disk already; between two questions others may ask, too.

        Canon gives an answer away with this question, so one that is on its way is waited for when the caller is
        cancelled: it is on the disk for :meth:`look` or :meth:`take_back`.
        """
        asking = asyncio.get_running_loop().create_task(self._asked(card))
        try:
            return await asyncio.shield(asking)
        finally:
            if not asking.done():
                try:
                    await asyncio.wait({asking}, timeout=GRACE_S)
                finally:
                    asking.cancel()
                    await asyncio.wait({asking})

    async def _asked(self, card: Card) -> JsonObject:
        async with self._asking.through(card.card_id):
            known = await self._file.read(store.card, self._owner, card.card_id)
            if known is None:
                return {"status": "unknown"}  # too old to be kept
            if known.answer is not None:
                return known.answer
            try:
                answer = await self._api.consume_interaction(InteractionKind.CARD, card.conversation_id, card.card_id)
            except ApiError as error:
                if error.status not in (404, 409):
                    raise
                answer = {"status": "unknown"}
            if is_final(answer):
                await self._file.write(store.keep_answer, self._owner, card.card_id, answer)
            return answer


def has_actions(card: Mapping[str, Any]) -> bool:
    """Whether the document has something to press."""
    blocks = card.get("blocks")
    if not isinstance(blocks, list):
        return False
    return any(isinstance(one, Mapping) and one.get("kind") == "actions" and bool(one.get("actions")) for one in blocks)


def _result(card: Card) -> dict[str, Any]:
    answer = card.answer
    if answer is None:
        note = "Nobody has answered yet. Do not wait: end the turn, and ask with check_card when you need the answer."
        return {"status": "pending", **names_of(card), "expiresAt": card.expires_at_ms, "note": note}
    if answer.get("status") == "unknown":
        return unknown(card.card_id, card.conversation_id, "Canon no longer knows this card")
    if problem := wrong_responder(answer, card.responder):
        return {**unknown(card.card_id, card.conversation_id, problem), **_who(answer)}
    return {**answer, **names_of(card)}


def _who(answer: JsonObject) -> dict[str, Any]:
    return {"respondedBy": answer["respondedBy"]} if answer.get("respondedBy") else {}
