"""Messages of our own on their way: recorded once under their id, and offered to the host until it takes them.

The stream brings a message again when the host refuses it; what is ours nobody sends again. So it is never given up
for a refusal: it stays in the inbox, and is offered from time to time, addressed each time as the room is then
(own_messages.py).

That the host took it proves little. A message that waits behind a running turn is thrown away when a person stops the
turn, begins a new session, or when too many wait. So each is watched until a run begins with it, or with a message that
it was merged into; one that the host holds no more is offered again.

Source: canon-adapter R10.32; decisions A5; D27, D48; docs/decisions/0013, 0021.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial

from canon_hermes_plugin.inbound.gate import Drop, DropReason, Wake
from canon_hermes_plugin.inbound.handing import Handing
from canon_hermes_plugin.inbound.own_messages import readdressed
from canon_hermes_plugin.inbound.rooms import Rooms
from canon_hermes_plugin.inbox.adoption import Adoption
from canon_hermes_plugin.inbox.items import Item
from canon_hermes_plugin.inbox.keeper import Inbox
from canon_hermes_plugin.inbox.recovery import Remedy, remedy_for
from canon_hermes_plugin.inbox.store import Receipt
from canon_hermes_plugin.lanes import Lanes
from canon_ops.durable.settle import settle
from canon_ops.settings.options import UserAccess
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.messages import MessageCreated

__all__ = ["NotAdmitted", "OwnOffers"]

logger = logging.getLogger(__name__)


class NotAdmitted(Exception):
    """A message of ours may start no turn as things are."""


class OwnOffers:
    """The messages of our own of one connection.

    Args:
        lanes: the order of each conversation, which they share with what people say.
        give_up: ends a message at which the gateway died too often, and tells its conversation.
    """

    def __init__(
        self, handing: Handing, inbox: Inbox, lanes: Lanes, *, give_up: Callable[[Item], Awaitable[None]]
    ) -> None:
        self._handing = handing
        self._inbox = inbox
        self._lanes = lanes
        self._give_up = give_up
        self._refused: dict[str, tuple[JsonObject, Item | None]] = {}  # to be offered again
        self._recording: dict[str, asyncio.Future[Receipt]] = {}  # on their way to the disk
        self._waiting: dict[str, tuple[JsonObject, str]] = {}  # the host has it, in this session, and no run began
        self._begun: dict[str, tuple[JsonObject, str]] = {}  # likewise, and one did
        self._open: set[str] = set()  # all whose run is not over: those, the refused, and those on their way

    @property
    def rooms(self) -> Rooms:
        """What is known of the conversations."""
        return self._handing.state.rooms

    @property
    def access(self) -> UserAccess:
        """Whose messages start turns."""
        return self._handing.access

    async def refresh_rooms(self) -> None:
        """Ask Canon for the conversations again.

        Raises:
            CanonOpsError: it could not be asked.
        """
        await self._handing.refresh_rooms()

    async def take(self, payload: JsonObject) -> None:
        """Start a turn with a message that is ours and not the stream's: recorded first, under its id once for ever.

        Returns when it is on the disk; the host gets it behind what its conversation has already.

        Raises:
            NotAdmitted: it may start no turn as things are.
            DurableError: it could not be recorded.
        """
        created = MessageCreated.parse(payload)
        if created is None:
            raise NotAdmitted(str(Drop(DropReason.NO_MESSAGE)))
        seen, item_id = self._handing.state.seen, str(created.message.id)
        if (recording := self._recording.get(item_id)) is not None:
            await settle(recording)  # somebody is putting it in just now, and that may fail
            return
        if item_id in seen:
            return  # it has had its turn, or waits for it
        admission = self._handing.consider(
            created, is_ours=True
        )  # what is refused is not remembered, so that it may come again
        wake = admission.verdict
        if not isinstance(wake, Wake):
            raise NotAdmitted(str(wake))
        seen.admit(item_id)
        self._handing.state = replace(admission.state, seen=seen)
        recording = self._recording[item_id] = self._inbox.record(item_id, wake.conversation_id, payload, event_id=None)
        try:
            await settle(recording)
        finally:  # a caller that was cancelled meanwhile has put it in all the same
            del self._recording[item_id]
            if recording.cancelled() or recording.exception() is not None:
                seen.release(item_id)
            elif recording.result() is Receipt.KNOWN:
                seen.settle(item_id)
            else:
                self._open.add(item_id)
                self._lanes.add(wake.conversation_id, partial(self._offer, item_id, payload))

    def recover(self, item: Item, adoption: Adoption) -> None:
        """Take over what an earlier process left."""
        self._handing.state.seen.admit(item.item_id)
        self._open.add(item.item_id)
        self._lanes.add(item.conversation_id, partial(self._again, item, adoption))

    async def offer_again(self) -> None:
        """Hand over once more what was not taken, and what a run has left without a trace; called from time to time.

        Such a message is never given up: it is on the disk, and nobody would send it again.
        """
        refused, self._refused = self._refused, {}
        for item_id, (payload, item) in refused.items():
            self._again_in_lane(item_id, payload, item)

    @property
    def open(self) -> frozenset[str]:
        """All whose run is not over: nothing but its own end ends a message of ours."""
        return frozenset(self._open)

    def waiting_in(self, session_key: str) -> tuple[str, ...]:
        """What the host was given for a session and has not begun with."""
        return tuple(item_id for item_id, (_, session) in self._waiting.items() if session == session_key)

    def knows(self, item_id: str) -> bool:
        """Whether an item is ours, and the host has it."""
        return item_id in self._waiting or item_id in self._begun

    def begun(self, item_ids: Iterable[str]) -> None:
        """A run begins with these items, or with one into which the host has merged them."""
        for item_id in item_ids:
            if item_id in self._waiting:
                self._begun[item_id] = self._waiting.pop(item_id)

    def ended(self, item_id: str, *, runs_again: bool) -> None:
        """The run of an item is over.

        Args:
            runs_again: it left no trace: the host only queued the item, or lost it. Which, is seen later, because a
                host that loses it at once would lose it for ever at once.
        """
        known = self._begun.pop(item_id, None)
        if known is None or not runs_again:
            self._open.discard(item_id)
            return
        if self._handing.holds(item_id):
            self._waiting[item_id] = known
        else:
            self._refused[item_id] = (known[0], None)

    def look_after(self, session_key: str) -> None:
        """A run of the session is over: what the host has thrown away meanwhile is offered anew."""
        for item_id in self.waiting_in(session_key):
            if not self._handing.holds(item_id):
                payload, _ = self._waiting.pop(item_id)
                logger.warning("Canon: Hermes dropped message %s, which is ours; it is handed over again", item_id)
                self._again_in_lane(item_id, payload, None)

    def _again_in_lane(self, item_id: str, payload: JsonObject, item: Item | None) -> None:
        self._lanes.add(str(payload.get("conversationId")), partial(self._offer, item_id, payload, item))

    def adopted(self, item: Item) -> Wake | None:
        """The turn of a message whose run died; None puts it off."""
        wake = self._wake_of(item.payload)
        if wake is None:
            self.put_off(item)
        else:
            self._begun[item.item_id] = (item.payload, str(item.session))
        return wake

    def put_off(self, item: Item) -> None:
        """Offer it again later."""
        self._refused[item.item_id] = (item.payload, item)

    async def _offer(self, item_id: str, payload: JsonObject, item: Item | None = None) -> None:
        wake = self._wake_of(payload)
        if wake is not None:
            try:
                session = await self._handing.hand(wake, item_id, item)
            except Exception:  # the outermost edge of a hand-over
                logger.exception("Canon: message %s could not be handed to Hermes; it is tried again", item_id)
            else:
                self._handing.state.seen.settle(item_id)
                if session is not None:
                    self._waiting[item_id] = (payload, session)
                else:
                    self._open.discard(item_id)
                return
        kept = replace(item, background=()) if item is not None and wake is not None else item
        self._refused[item_id] = (payload, kept)  # its background is back among what was said

    def _wake_of(self, payload: JsonObject) -> Wake | None:
        """The turn that a message of ours may start as things are."""
        addressed = readdressed(payload, self.rooms, self.access)
        if addressed is None:
            logger.warning("Canon: a decision waits, for we are not in conversation %s", payload.get("conversationId"))
            return None
        return self._handing.wake_of(addressed, is_ours=True)

    async def _again(self, item: Item, adoption: Adoption) -> None:
        remedy = remedy_for(item)
        if remedy is Remedy.GIVE_UP:
            self._open.discard(item.item_id)
            await self._give_up(item)
        elif remedy is Remedy.HAND_OVER or await adoption.is_ours(item.item_id):
            await self._offer(item.item_id, item.payload, item)
            return
        self._handing.state.seen.settle(item.item_id)
