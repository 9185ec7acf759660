"""Who we are on Canon and where we take part: the answers of ``/agents/me``, ``/conversations``, ``/agents/discover``.

Each type keeps the object it was read from in ``raw``, so that keys we do not know are never lost.

Source: Canon wire 4.1-4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from canon_ops.errors import OutsideError
from canon_ops.wire.fields import JsonObject, as_object, objects_in, string_first, strings_in, text_of

__all__ = [
    "AgentIdentity",
    "AgentPage",
    "Conversation",
    "DiscoverQuery",
    "MalformedDirectory",
    "OutboundPolicy",
]

QUERY_CHARACTERS = 64  # Canon wire 4.2
PAGE_AGENTS = 10  # likewise; the server itself would allow 25

_LATER = "try again later; if it stays, tell the people who run Canon"


class OutboundPolicy(StrEnum):
    """Whether the deployer lets the agent write to people on its own; anything unknown counts as closed."""

    OPEN = "open"
    APPROVAL_REQUIRED = "approval-required"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """The agent that our key authenticates.

    ``outbound_policy`` is the server's word; it may be one that :class:`OutboundPolicy` does not know.
    """

    agent_id: str | None = None
    owner_id: str | None = None
    outbound_policy: str | None = None
    display_name: str | None = None
    raw: JsonObject = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, answer: object) -> AgentIdentity:
        """Read ``GET /agents/me`` or the ``agent.context`` event."""
        source = as_object(answer)
        return cls(
            agent_id=string_first(source, "agentId", "id", "userId"),
            owner_id=string_first(source, "ownerId"),
            outbound_policy=text_of(source, "outboundPolicy"),
            display_name=string_first(source, "displayName", "agentName", "name"),
            raw=source,
        )

    @property
    def may_communicate(self) -> bool:
        """Whether the tool that writes to people may be offered at all."""
        return self.outbound_policy in (OutboundPolicy.OPEN, OutboundPolicy.APPROVAL_REQUIRED)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A room as the server last described it. ``member_ids`` is None when the server did not list the members."""

    id: str
    type: str | None = None
    name: str | None = None
    topic: str | None = None
    member_ids: tuple[str, ...] | None = None
    raw: JsonObject = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, source: object, *, default_id: str | None = None) -> Conversation | None:
        """Read one room; None when it carries no id and ``default_id`` gives none.

        Args:
            default_id: the id known from the place where the object stood.
        """
        room = as_object(source)
        room_id = string_first(room, "id", "conversationId") or default_id
        if not room_id:
            return None
        members = room.get("memberIds")
        return cls(
            id=room_id,
            type=string_first(room, "type"),
            name=string_first(room, "name"),
            topic=string_first(room, "topic"),
            member_ids=strings_in(members) if isinstance(members, list | tuple) else None,
            raw=room,
        )

    @classmethod
    def parse_list(cls, answer: object) -> tuple[Conversation, ...]:
        """Read ``GET /conversations``: an object with a list, or the bare list; rooms without id are left out."""
        rooms = answer.get("conversations") if isinstance(answer, Mapping) else answer
        return tuple(room for item in objects_in(rooms) if (room := cls.parse(item)) is not None)

    @property
    def is_group(self) -> bool:
        """Everything that is not plainly a group is a direct chat."""
        return self.type == "group"

    @property
    def title(self) -> str:
        """The name that people see."""
        return self.name or self.topic or self.id

    @property
    def member_count(self) -> int | None:
        return None if self.member_ids is None else len(self.member_ids)

    def merged(self, changes: JsonObject) -> Conversation:
        """This room with the keys of ``changes`` replaced (``conversation.updated``); the id stays."""
        changed = Conversation.parse({**self.raw, **changes, "id": self.id})
        assert changed is not None  # noqa: S101  # it has an id
        return changed


@dataclass(frozen=True, slots=True)
class DiscoverQuery:
    """A page of the public agent directory.

    Raises:
        ValueError: the query is too long, the page size outside 1…10, or the cursor empty.
    """

    query: str | None = None
    limit: int = PAGE_AGENTS
    cursor: str | None = None

    def __post_init__(self) -> None:
        if self.query is not None and len(self.query) > QUERY_CHARACTERS:
            raise ValueError(f"query has {len(self.query)} characters, at most {QUERY_CHARACTERS} are allowed")
        if isinstance(self.limit, bool) or not 1 <= self.limit <= PAGE_AGENTS:
            raise ValueError(f"limit must be a number from 1 to {PAGE_AGENTS}, not {self.limit!r}")
        if self.cursor == "":
            raise ValueError("cursor must not be empty")

    def params(self) -> dict[str, str]:
        """The query parameters, absent ones left out; an empty query is sent."""
        params = {} if self.query is None else {"query": self.query}
        params["limit"] = str(self.limit)
        if self.cursor is not None:
            params["cursor"] = self.cursor
        return params


class MalformedDirectory(OutsideError):
    """The directory answered with something else than a page of agents."""

    code = "malformed_answer"


@dataclass(frozen=True, slots=True)
class AgentPage:
    """Agents as the server describes them, untouched, and the cursor of the next page."""

    agents: tuple[JsonObject, ...]
    next_cursor: str | None

    @classmethod
    def parse(cls, answer: object) -> AgentPage:
        """Read a page.

        Raises:
            MalformedDirectory: any entry lacks what the contract promises; a page is good as a whole or not at all.
        """
        source = as_object(answer)
        agents: Any = source.get("agents")
        cursor = source.get("nextCursor")
        if not isinstance(agents, list) or not all(_is_entry(agent) for agent in agents):
            raise MalformedDirectory("Canon's agent directory answered with a malformed page of agents.", fix=_LATER)
        if cursor is not None and not isinstance(cursor, str):
            raise MalformedDirectory("Canon's agent directory answered with a malformed cursor.", fix=_LATER)
        return cls(tuple(agents), cursor)


def _is_entry(agent: object) -> bool:
    entry = as_object(agent)
    owner = entry.get("owner")
    return (
        _is_named(entry)
        and isinstance(entry.get("shareable"), bool)
        and isinstance(owner, Mapping)
        and _is_named(owner)
    )


def _is_named(source: JsonObject) -> bool:
    return bool((text_of(source, "principalId") or "").strip())
