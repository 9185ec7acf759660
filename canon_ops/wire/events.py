"""What a frame of the stream means, beside ``message.created``, whose own types are in messages.py.

A known event whose payload has not its shape reads as None, like an unknown event: there is nothing to do. The one
exception is ``replay.expired``, whose very arrival says that the cursor is dead.

Source: Canon wire 6.3, 6.4; canon-adapter R2.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from canon_ops.wire.agents import AgentIdentity
from canon_ops.wire.fields import JsonObject, as_object, string_first, text_of
from canon_ops.wire.messages import MessageCreated
from canon_ops.wire.sse import Frame

__all__ = [
    "AgentContext",
    "ConversationUpdated",
    "MessageDeleted",
    "MessageEdited",
    "ReplayExpired",
    "SignalWaiting",
    "StreamEvent",
    "StreamTrouble",
    "parse_event",
]


@dataclass(frozen=True, slots=True)
class AgentContext:
    """Our own policy changed. A payload without a policy withholds it: ``identity.outbound_policy`` is then None."""

    identity: AgentIdentity


@dataclass(frozen=True, slots=True)
class ConversationUpdated:
    """Some keys of a room changed; a room that is not known yet begins with them."""

    conversation_id: str
    changes: JsonObject


@dataclass(frozen=True, slots=True)
class MessageEdited:
    """Somebody changed the text of a message; ``text`` is the whole new one and never blank."""

    conversation_id: str | None
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class MessageDeleted:
    """Somebody took a message away."""

    conversation_id: str | None
    message_id: str


@dataclass(frozen=True, slots=True)
class SignalWaiting:
    """A person set a signal; which one is told by the server only when it is taken."""

    conversation_id: str


@dataclass(frozen=True, slots=True)
class ReplayExpired:
    """The server cannot replay from our cursor. ``cursor`` is where to go on; None means without one."""

    cursor: str | None


@dataclass(frozen=True, slots=True)
class StreamTrouble:
    """The server tells of trouble; the connection stays."""

    code: str | None
    message: str


StreamEvent: TypeAlias = (
    MessageCreated
    | MessageEdited
    | MessageDeleted
    | AgentContext
    | ConversationUpdated
    | SignalWaiting
    | ReplayExpired
    | StreamTrouble
)


def parse_event(frame: Frame) -> StreamEvent | None:
    """The event in ``frame``; None when there is nothing to do about it. Never raises."""
    payload = frame.payload()
    match frame.event:
        case "replay.expired":
            return ReplayExpired(string_first(payload, "lastAvailableId"))
        case "error":
            return StreamTrouble(string_first(payload, "code"), string_first(payload, "message") or frame.data)
        case _ if not isinstance(payload, Mapping):
            return None
        case "message.created":
            return MessageCreated.parse(payload)
        case "message.updated":
            return _edit(payload)
        case "message.deleted":
            message_id = string_first(payload, "messageId")
            return MessageDeleted(string_first(payload, "conversationId"), message_id) if message_id else None
        case "agent.context":
            return AgentContext(AgentIdentity.parse(payload))
        case "conversation.updated":
            conversation_id, changes = string_first(payload, "conversationId", "id"), payload.get("changes")
            if conversation_id is None or not isinstance(changes, Mapping):
                return None
            return ConversationUpdated(conversation_id, as_object(changes))
        case "runtime.control":
            conversation_id = string_first(payload, "conversationId")
            is_signal = text_of(payload, "kind") == "signal"
            return SignalWaiting(conversation_id) if conversation_id is not None and is_signal else None
        case _:
            return None


def _edit(payload: JsonObject) -> MessageEdited | None:
    """An update that says nothing about the text, such as a disposition, is no edit."""
    message = as_object(payload.get("message"))
    message_id, text = string_first(message, "id"), text_of(message, "text")
    if message_id is None or text is None or not text.strip():
        return None
    return MessageEdited(string_first(payload, "conversationId"), message_id, text)
