"""What a loopback Borgee server keeps: people, agents, Servers, zones, channels, messages, tasks.

Mutable where the server changes them; the wire form is made where it is asked for. Source: Borgee 1.12, 1.16.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Channel", "Guild", "Json", "Mentions", "Message", "Report", "Task", "User", "Zone"]

Json = dict[str, Any]
Mentions = Literal["inherit", "on", "off"]


@dataclass(slots=True)
class User:
    """A person (``member``) or an agent, which has a key and an owner."""

    user_id: str
    name: str
    role: str = "member"
    api_key: str = ""
    owner_id: str | None = None
    permissions: list[str] = field(default_factory=list)
    require_mention: bool = True
    disabled: bool = False

    @property
    def is_agent(self) -> bool:
        return self.role == "agent"

    def may(self, capability: str) -> bool:
        """Whether one of the permissions gives this capability, in whatever scope."""
        return any(permission.partition(":")[0] == capability for permission in self.permissions)

    def wire(self) -> Json:
        """The answer to ``get_me``."""
        return {
            "id": self.user_id,
            "display_name": self.name,
            "role": self.role,
            "permissions": list(self.permissions),
            "avatar_url": None,
            "email": None,
            "created_at": 0,
            "last_seen_at": None,
            "require_mention": self.require_mention,
            "owner_id": self.owner_id,
            "deleted_at": None,
            "disabled": self.disabled,
        }


@dataclass(slots=True)
class Guild:
    """A Server in the sense of the product: people, channels and zones."""

    guild_id: str
    name: str
    member_ids: list[str]


@dataclass(slots=True)
class Zone:
    """A named group of channels; the group Default is none."""

    zone_id: str
    guild_id: str
    name: str

    def wire(self) -> Json:
        return {"id": self.zone_id, "name": self.name}


@dataclass(slots=True)
class Channel:
    """A room: ``dm`` or anything else.

    Attributes:
        mentions: by agent, whether a mention is needed here, instead of what the agent's own switch says.
        thread_id, task_id: what a thread's conversation context tells beside its Server.
    """

    channel_id: str
    kind: str
    guild_id: str | None
    name: str
    member_ids: list[str]
    parent_id: str | None = None
    topic: str = ""
    visibility: str = "public"
    archived: bool = False
    mentions: dict[str, Mentions] = field(default_factory=dict)
    top_level_channel_id: str | None = None
    thread_id: str | None = None
    task_id: str | None = None

    def wire(self) -> Json:
        """The conversation as actions give it back."""
        return {
            "id": self.channel_id,
            "name": self.name,
            "guild_id": self.guild_id,
            "parent_id": self.parent_id,
            "topic": self.topic,
            "visibility": self.visibility,
            "archived": self.archived,
        }

    def context(self) -> Json | None:
        """Where it stands in its Server; a direct channel stands nowhere."""
        if self.guild_id is None:
            return None
        return {
            "guild_id": self.guild_id,
            "top_level_channel_id": self.top_level_channel_id or self.channel_id,
            "thread_id": self.thread_id,
            "task_id": self.task_id,
        }


@dataclass(slots=True)
class Message:
    """Something that was said; ``text`` is None once it was deleted.

    Attributes:
        position: running number over all channels.
        reactions: who put which emoji on it.
    """

    message_id: str
    channel_id: str
    author_id: str
    text: str | None
    created_at: int
    position: int
    reply_to_id: str | None = None
    edits: int = 0
    reactions: list[tuple[str, str]] = field(default_factory=list)

    def wire(self) -> Json:
        """As history and transcripts show it."""
        return {
            "id": self.message_id,
            "channel_id": self.channel_id,
            "author_id": self.author_id,
            "content": self.text,
            "created_at": self.created_at,
            "reply_to_id": self.reply_to_id,
            "position": self.position,
            "edits": self.edits,
            "deleted": self.text is None,
            "reactions": [{"user_id": who, "emoji": emoji} for who, emoji in self.reactions],
        }


@dataclass(slots=True)
class Task:
    """A task of a channel."""

    task_id: str
    channel_id: str
    guild_id: str | None
    seq: int
    title: str
    created_by: str
    created_at: int
    updated_at: int
    description: str = ""
    status: str = "open"
    assignee_id: str | None = None
    heartbeat_interval_ms: int = 0
    heartbeat_prompt: str = ""
    properties: dict[str, str] = field(default_factory=dict)

    def wire(self) -> Json:
        return {
            "id": self.task_id,
            "channel_id": self.channel_id,
            "guild_id": self.guild_id or "",
            "seq": self.seq,
            "title": self.title,
            "description": self.description,
            "status": self.status,
            "assignee_id": self.assignee_id,
            "created_by": self.created_by,
            "message_id": None,
            "thread_id": None,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "heartbeat_interval_ms": self.heartbeat_interval_ms,
            "heartbeat_prompt": self.heartbeat_prompt,
            "properties": dict(self.properties),
            "participants": [],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A task lifecycle frame, and why it was dropped; None when it was taken."""

    frame: Json
    refused: str | None
