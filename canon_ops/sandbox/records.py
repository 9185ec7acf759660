"""The records of a loopback Canon server: who there is, what was said, what waits for an answer. Pure data.

Each knows its own wire form and nothing of the others; ``state.World`` holds them. Source: Canon wire 11.2.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

__all__ = [
    "NODE_WRITES_REMEMBERED",
    "Agent",
    "Contact",
    "Conversation",
    "Human",
    "Interaction",
    "Json",
    "Kind",
    "Media",
    "Message",
    "Node",
    "Policy",
    "Registration",
    "Signal",
    "Tombstone",
    "TurnLog",
    "iso_time",
]

Json = dict[str, Any]
Policy = Literal["open", "approval-required", "closed"]
Kind = Literal["direct", "group"]

TURNS_REMEMBERED = 500
NODE_WRITES_REMEMBERED = 200


def iso_time(at_ms: int) -> str:
    """Milliseconds since the epoch as the wire writes times in messages."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Agent:
    """A principal behind an API key."""

    agent_id: str
    name: str
    owner_id: str
    api_key: str
    description: str = ""
    outbound_policy: Policy | None = "open"
    inbound_policy: Policy = "open"
    group_join_policy: Policy = "open"
    revoked: bool = False
    listed: bool = True
    may_reach_out: bool = False  # the owner's standing leave, asked for by an "approval-required" outbound policy


@dataclass(slots=True)
class Human:
    """A person; the owner is the one that agents name."""

    user_id: str
    name: str
    phone: str
    inbound_policy: Policy = "open"
    group_join_policy: Policy = "open"
    blocked: set[str] = field(default_factory=set)  # agents that this person does not want to hear from


@dataclass(slots=True)
class Message:
    """One stored message.

    Attributes:
        origin: ``human``, ``agent``, or ``server`` for what the server writes on its own (receipts, salvaged nodes).
        extra: further wire keys, carried as they came.
        position: 1 for the first message of the whole server; a running number to wait and page by.
    """

    message_id: str
    conversation_id: str
    sender_id: str
    sender_name: str
    sender_type: str
    text: str | None
    created_at_ms: int
    origin: str
    position: int
    content_type: str = "text"
    metadata: Json = field(default_factory=dict)
    attachments: list[Json] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    reply_to: str | None = None
    extra: Json = field(default_factory=dict)

    @property
    def semantics(self) -> str | None:
        value = self.metadata.get("turnSemantics")
        return value if isinstance(value, str) else None

    @property
    def turn_id(self) -> str | None:
        value = self.metadata.get("turnId")
        return value if isinstance(value, str) else None

    def wire(self) -> Json:
        """The message as every reader gets it. Source: Canon wire 7.1."""
        return {
            "id": self.message_id,
            "senderId": self.sender_id,
            "senderName": self.sender_name,
            "senderType": self.sender_type,
            "contentType": self.content_type,
            "text": self.text,
            "attachments": self.attachments,
            "mentions": self.mentions,
            "replyTo": self.reply_to,
            "replyToPosition": None,
            "status": "sent",
            "createdAt": iso_time(self.created_at_ms),
            "metadata": self.metadata,
            **self.extra,
        }


@dataclass(slots=True)
class Conversation:
    """A room with its messages in order."""

    conversation_id: str
    kind: Kind
    name: str | None
    topic: str | None
    member_ids: list[str]
    created_at_ms: int
    admin_ids: list[str] = field(default_factory=list)
    max_consecutive_agent_turns: int | None = 4  # the contract's default for both kinds, Canon wire 7.2
    messages: dict[str, Message] = field(default_factory=dict)
    agent_streak: int = 0

    def summary(self) -> Json:
        """The conversation as lists and events carry it. Source: Canon wire 4.3."""
        return {
            "id": self.conversation_id,
            "type": self.kind,
            "name": self.name,
            "topic": self.topic,
            "memberIds": list(self.member_ids),
        }


@dataclass(slots=True)
class Node:
    """The streaming node of one agent in one conversation: fields merge, absent ones keep. Source: Canon wire 4.8."""

    status: str = ""
    text: str = ""
    turn_id: str | None = None
    message_id: str | None = None
    blocks: list[Json] = field(default_factory=list)
    updated_at_ms: int = 0

    def is_empty(self) -> bool:
        return not self.text and not self.blocks

    def wire(self) -> Json:
        return {
            "status": self.status,
            "text": self.text,
            "turnId": self.turn_id,
            "messageId": self.message_id,
            "blocks": self.blocks,
            "updatedAt": self.updated_at_ms,
        }


@dataclass(slots=True)
class TurnLog:
    """The turn states one agent published in one conversation; ``last`` is what a Canon app would show."""

    last: Json | None = None
    history: deque[Json] = field(default_factory=lambda: deque(maxlen=TURNS_REMEMBERED))


@dataclass(frozen=True, slots=True)
class Signal:
    """A control that a person set and that the next consume takes away. Source: Canon wire 4.11, 8.3."""

    kind: str
    set_by: str


@dataclass(slots=True)
class Registration:
    """A request for an agent on its way to a key. Source: Canon wire 3."""

    request_id: str
    poll_token: str
    body: Json
    owner_id: str
    created_at_ms: int
    status: Literal["pending", "approved", "rejected"] = "pending"
    agent_id: str | None = None
    polls: int = 0
    key_delivered: bool = False
    acknowledged: bool = False
    key_expired: bool = False
    approved_at_ms: int | None = None


@dataclass(slots=True)
class Interaction:
    """A question to a person, from its creation until its answer was taken. Source: Canon wire 9, 11.5.

    Attributes:
        request: the body of the create call, shortened where the contract shortens.
        responder_id: the one person whose answer counts.
        expires_at_ms: the effective expiry, which the create answer told.
        answer: what the next consume hands out, without status-independent keys; None while nobody answered.
    """

    kind: str
    request_id: str
    conversation_id: str
    agent_id: str
    request: Json
    responder_id: str
    expires_at_ms: int
    allow_session_rule: bool
    message_id: str
    state: Literal["pending", "answered", "cancelled", "gone"] = "pending"
    answer: Json | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a taken approval: the decision and who made it, readable again for a while."""

    decision: str
    responder_id: str
    agent_id: str
    first_taken_at_ms: int


@dataclass(slots=True)
class Contact:
    """A wish to reach somebody, or to have somebody in a group, that waits for that person. Source: Canon wire 5.3."""

    request_id: str
    agent_id: str
    target_id: str
    conversation_id: str | None
    state: Literal["pending", "accepted", "declined"] = "pending"


@dataclass(frozen=True, slots=True)
class Media:
    """Uploaded bytes behind a secret URL. Source: Canon wire 10."""

    token: str
    data: bytes
    mime_type: str
    file_name: str
    conversation_id: str
