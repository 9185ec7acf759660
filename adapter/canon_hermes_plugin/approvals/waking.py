"""A decision becomes a message of our own in the inbox: once, in the room and the session that asked.

The inbox keeps it as it keeps what people say, so recovery, order and marks are the same: written down before the host
has it, under the key ``canon-detached-approval:<id>``, and run at least once. What it may do is looked at anew each
time: rooms change while a human thinks.

* The agent must still be in the room, or the wake is refused and stays owed (D48).
* Who answered acts in the turn, while they are in the room and may start turns here. Otherwise nobody does: the
  decision is the agent's to know all the same, and what the turn asks goes to the owner.

Source: canon-adapter R10.32, R10.33; decisions A5, C2; D27, D48.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from canon_hermes_plugin.approvals.ports import Wake, WakeRefused
from canon_hermes_plugin.inbound.gate import MessageType, Request
from canon_hermes_plugin.inbound.own_messages import OWN_FIELD, may_act
from canon_hermes_plugin.inbound.own_offers import NotAdmitted
from canon_hermes_plugin.inbound.rooms import Rooms
from canon_ops.settings.options import UserAccess
from canon_ops.wire.agents import Conversation
from canon_ops.wire.dispatch import RUN_TURN
from canon_ops.wire.fields import JsonObject

__all__ = ["Waking", "message_of", "possible_actors"]

AUTHOR: Final = "Canon"


class Intake(Protocol):
    """What is needed of :class:`~canon_hermes_plugin.inbound.own_offers.OwnOffers`."""

    @property
    def rooms(self) -> Rooms: ...

    @property
    def access(self) -> UserAccess: ...

    async def refresh_rooms(self) -> None: ...

    async def take(self, payload: JsonObject) -> None: ...


class Waking:
    """The :class:`~.ports.WakePort` of a gateway.

    Args:
        session_of: the host's session of a message.
    """

    def __init__(self, intake: Intake, session_of: Callable[[Request], str]) -> None:
        self._intake = intake
        self._session_of = session_of

    async def look(self, conversation_id: str) -> None:
        """Ask Canon whether the agent is still in the room.

        Raises:
            WakeRefused: it is not.
            CanonOpsError: the rooms could not be asked for.
        """
        await self._intake.refresh_rooms()
        self._room(conversation_id)

    async def wake(self, wake: Wake) -> None:
        """Put the decision into the inbox.

        Raises:
            WakeRefused: the agent is not in the room.
            DurableError: the inbox could not be written.
        """
        room = self._room(wake.conversation_id)
        actor = self._actor(wake, room)
        try:
            await self._intake.take(message_of(wake, actor))
        except NotAdmitted as refused:
            raise WakeRefused(f"the turn may not start: {refused}") from refused

    def _room(self, conversation_id: str) -> Conversation:
        room = self._intake.rooms.rooms.get(conversation_id)
        if room is None:
            raise WakeRefused(f"the agent is no longer in the conversation {conversation_id}")
        return room

    def _actor(self, wake: Wake, room: Conversation) -> str | None:
        """The first in whose session the request was made; when there is none, the first of all."""
        actors = list(possible_actors(wake, room, self._intake.access))
        for actor in actors:
            if self._session_of(_probe(wake, actor, is_group=self._intake.rooms.is_group(room.id))) == wake.session_key:
                return actor
        return actors[0]


def possible_actors(wake: Wake, room: Conversation, access: UserAccess) -> Iterator[str | None]:
    """Who may act in the turn: the human who answered, and nobody."""
    if may_act(wake.user_id, room, access):
        yield wake.user_id
    yield None


def message_of(wake: Wake, actor: str | None) -> JsonObject:
    """The message that starts the turn, as the stream would bring one; a restart reads it back."""
    message = {
        "id": wake.key,
        "senderId": actor,
        "senderType": "human" if actor is not None else "system",
        "senderName": AUTHOR,
        "text": wake.text,
    }
    return {
        "conversationId": wake.conversation_id,
        "message": message,
        "turnDispatch": {"kind": RUN_TURN},
        "provenance": {"mentionedAgent": True},
        OWN_FIELD: {"approvalId": wake.approval_id, "decision": wake.decision.value},
    }


def _probe(wake: Wake, actor: str | None, *, is_group: bool) -> Request:
    """As much of the message as decides about its session."""
    return Request(
        conversation_id=wake.conversation_id,
        text=wake.text,
        type=MessageType.TEXT,
        is_group=is_group,
        chat_name=None,
        user_id=actor,
        user_name=AUTHOR,
        message_id=wake.key,
        reply_to=None,
        channel_prompt=None,
        channel_context=None,
        delivery_intent=None,
        media_urls=(),
        media_types=(),
        raw={},
    )
