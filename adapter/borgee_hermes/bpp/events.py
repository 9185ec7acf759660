"""What a server tells a client, as values: inbound events, updates, requests, switches. Pure data.

Source: Borgee 1.4, 1.5, 1.9, 1.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = [
    "ActionResult",
    "AgentToggle",
    "ConfigUpdate",
    "ConversationContext",
    "Denial",
    "Ignored",
    "InboundEvent",
    "Incoming",
    "Kind",
    "Ping",
    "Reaction",
    "ServerRequest",
]


class Kind(StrEnum):
    """What happened in a channel."""

    MESSAGE = "message"
    MENTION = "mention"
    EDITED = "edited"
    DELETED = "deleted"
    REACTION = "reaction"


@dataclass(frozen=True, slots=True)
class Reaction:
    """Somebody put an emoji on a message, or took it away."""

    emoji: str
    user_id: str
    added: bool


@dataclass(frozen=True, slots=True)
class ConversationContext:
    """Where in the Server a channel stands; ``guild_id`` is the Server id that the channel tools ask for."""

    guild_id: str
    top_level_channel_id: str
    thread_id: str | None = None
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class InboundEvent:
    """One thing that happened in a channel of this agent.

    Attributes:
        channel_type: ``dm`` for a direct conversation, anything else is a channel; empty when the server did not say.
        author_name: empty when the server did not say.
        body: the text, with mentions as ``<@user-id>``; empty for deletions and reactions.
        created_at_ms: as on the wire.
        reaction: only for :attr:`Kind.REACTION`.
    """

    kind: Kind
    channel_id: str
    channel_type: str
    message_id: str
    author_id: str
    author_name: str
    body: str
    created_at_ms: int
    reaction: Reaction | None = None
    context: ConversationContext | None = None


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The answer to an action; ``value`` is the decoded payload, ``error`` the server's code when it refused."""

    nonce: str
    value: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Denial:
    """The answer to an action for which this agent lacks a capability or a membership."""

    nonce: str
    action: str
    capability: str
    scope: str


@dataclass(frozen=True, slots=True)
class ConfigUpdate:
    """New settings of the agent, to be applied or rejected."""

    cursor: int
    agent_id: str
    schema_version: int
    blob: Any
    idempotency_key: str
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class AgentToggle:
    """The agent was switched on or off in Borgee."""

    agent_id: str
    action: str
    reason: str


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """The server asks for something and waits for a response under the same id."""

    request_id: str
    data: Mapping[str, Any]
    size_bytes: int = 0

    @property
    def action(self) -> str:
        value = self.data.get("action")
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Ping:
    """Wants a pong, ahead of other traffic."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing for us: a pong, an unknown type, an unknown kind; ``why`` is for the log."""

    why: str


Incoming = InboundEvent | ActionResult | Denial | ConfigUpdate | AgentToggle | ServerRequest | Ping | Ignored
