"""Messages of our own in the inbox: who may act in them is asked anew whenever one is handed over. Pure.

A decision can wait for days, over restarts and refusals of the host. Meanwhile the human who answered may leave the
room, or the operator's list; the decision is the agent's to know all the same, in a turn in which nobody acts. An agent
that has left the room has no turn there, and the message waits.

Source: canon-adapter R10.32; decisions A5, C2; D48.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from canon_hermes_plugin.inbound.rooms import Rooms
from canon_ops.settings.options import UserAccess
from canon_ops.wire.agents import Conversation
from canon_ops.wire.fields import JsonObject

__all__ = ["OWN_FIELD", "is_own", "may_act", "readdressed"]

OWN_FIELD = "canonDetachedApproval"


def is_own(payload: Any) -> bool:
    """Whether a row of the inbox is ours, and not the stream's."""
    return isinstance(payload, Mapping) and OWN_FIELD in payload


def may_act(user_id: str, room: Conversation, access: UserAccess) -> bool:
    """Whether a human is in the room and may start turns of this agent."""
    is_member = room.member_ids is None or user_id in room.member_ids
    return is_member and (access.allow_all or access.allowed is None or access.is_listed(user_id))


def readdressed(payload: JsonObject, rooms: Rooms, access: UserAccess) -> JsonObject | None:
    """The message as it may be handed over now; None: the agent is not in the room."""
    room = rooms.rooms.get(str(payload.get("conversationId")))
    message = payload.get("message")
    if room is None or not isinstance(message, Mapping):
        return None
    actor = message.get("senderId")
    if actor is None or may_act(str(actor), room, access):
        return payload
    return {**payload, "message": {**message, "senderId": None, "senderType": "system"}}
