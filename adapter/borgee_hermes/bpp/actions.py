"""The semantic actions: each function gives the name, the payload and how to read the answer. Pure.

::

    message_id = await client.act(actions.send_message("ch-1", "hello"))

``None`` leaves an optional member out; where null itself has a meaning (``parent_id``, ``reply_to_id``) it is always
sent. Source: Borgee 1.12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from borgee_hermes.bpp.errors import ProtocolError
from borgee_hermes.bpp.values import User, ZonePage, conversation, conversations, task, tasks, zone_page

__all__ = [
    "Action",
    "create_channel",
    "create_dm",
    "create_task",
    "delete_channel",
    "delete_message",
    "delete_task_property",
    "edit_message",
    "get_me",
    "get_task",
    "list_channels",
    "list_task_property_definitions",
    "list_tasks",
    "list_zones",
    "react",
    "read_channel_history",
    "send_message",
    "set_task_property",
    "set_topic",
    "update_channel",
    "update_task",
]

_RENDERS: Final = frozenset({"url", "identifier", "text"})

T = TypeVar("T")
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Action(Generic[T]):
    """One act of the agent on the server.

    Attributes:
        read: checks and types the answer; raises :class:`ProtocolError`.
    """

    name: str
    payload: Json
    read: Callable[[Any], T] = field(compare=False, repr=False)


def _given(**members: Any) -> dict[str, Any]:
    """The members that are there."""
    return {key: value for key, value in members.items() if value is not None}


def _nothing(value: object) -> None:
    del value


def get_me() -> Action[User]:
    """Who this key belongs to."""
    return Action("get_me", {}, User.read)


# Messages -----------------------------------------------------------------------------------------------------------


def send_message(channel_id: str, content: str, *, reply_to_id: str | None = None) -> Action[str]:
    """Write a message; the answer is its id."""
    payload = {"channel_id": channel_id, "content": content, "reply_to_id": reply_to_id}
    return Action("send_message", payload, _message_id)


def _message_id(value: object) -> str:
    found = value.get("message_id") if isinstance(value, Mapping) else None
    if not isinstance(found, str) or not found:
        raise ProtocolError("Borgee took a message and did not tell its id.")
    return found


def edit_message(message_id: str, content: str) -> Action[None]:
    """Replace the text of an own message."""
    return Action("edit_message", {"message_id": message_id, "content": content}, _nothing)


def delete_message(message_id: str) -> Action[None]:
    """Take an own message away."""
    return Action("delete_message", {"message_id": message_id}, _nothing)


def react(message_id: str, emoji: str, *, removed: bool = False) -> Action[None]:
    """Put an emoji on a message, or take it off."""
    return Action("react", {"message_id": message_id, "emoji": emoji, "removed": removed}, _nothing)


def create_dm(user_id: str) -> Action[str]:
    """The direct channel with somebody; the answer is its id."""
    return Action("create_dm", {"user_id": user_id}, _channel_id)


def _channel_id(value: object) -> str:
    found = value.get("channel_id") if isinstance(value, Mapping) else None
    if not isinstance(found, str) or not found:
        raise ProtocolError("Borgee made a direct channel and did not tell its id.")
    return found


def read_channel_history(
    channel_id: str, *, limit: int | None = None, before: str | None = None, after: str | None = None
) -> Action[list[Any]]:
    """Messages of a channel, between two message ids; their shape is the server's."""
    payload = {"channel_id": channel_id, **_given(limit=limit, before=before, after=after)}
    return Action("read_channel_history", payload, _history)


def _history(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ProtocolError("Borgee sent a history that is not a list.")
    return value


# Tasks --------------------------------------------------------------------------------------------------------------


def create_task(
    channel_id: str,
    title: str,
    *,
    description: str | None = None,
    assignee_id: str | None = None,
    heartbeat_interval_ms: int | None = None,
    heartbeat_prompt: str | None = None,
) -> Action[Json]:
    """A new task in a channel."""
    extra = _given(
        description=description,
        assignee_id=assignee_id,
        heartbeat_interval_ms=heartbeat_interval_ms,
        heartbeat_prompt=heartbeat_prompt,
    )
    return Action("create_task", {"channel_id": channel_id, "title": title, **extra}, task)


def list_tasks(*, channel_id: str | None = None, guild_id: str | None = None) -> Action[list[Json]]:
    """The tasks of one channel, or of one Server."""
    if (channel_id is None) == (guild_id is None):
        raise ValueError("name either a channel or a Server")
    return Action("list_tasks", _given(channel_id=channel_id, guild_id=guild_id), tasks)


def get_task(task_id: str) -> Action[Json]:
    """One task."""
    return Action("get_task", {"task_id": task_id}, task)


def update_task(
    task_id: str,
    *,
    status: str | None = None,
    assignee_id: str | None = None,
    title: str | None = None,
    description: str | None = None,
    heartbeat_interval_ms: int | None = None,
    heartbeat_prompt: str | None = None,
) -> Action[Json]:
    """Change what is given: an empty text clears or unassigns, an interval of 0 switches the check-ins off."""
    changes = _given(
        status=status,
        assignee_id=assignee_id,
        title=title,
        description=description,
        heartbeat_interval_ms=heartbeat_interval_ms,
        heartbeat_prompt=heartbeat_prompt,
    )
    if not changes:
        raise ValueError("nothing to change")
    return Action("update_task", {"task_id": task_id, **changes}, task)


def set_task_property(task_id: str, key: str, value: str) -> Action[Json]:
    """Put a link or an identifier on a task."""
    return Action("set_task_property", {"task_id": task_id, "key": key, "value": value}, task)


def delete_task_property(task_id: str, key: str) -> Action[Json]:
    """Take one away."""
    return Action("delete_task_property", {"task_id": task_id, "key": key}, task)


def list_task_property_definitions() -> Action[list[Json]]:
    """The properties that a task may have; a way of showing one that we do not know is plain text."""
    return Action("list_task_property_definitions", {}, _definitions)


def _definitions(value: object) -> list[Json]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise ProtocolError("Borgee sent property definitions that are not a list of objects.")
    return [{**item, "render": item.get("render") if item.get("render") in _RENDERS else "text"} for item in value]


# Channels and zones -------------------------------------------------------------------------------------------------


def list_channels() -> Action[list[Json]]:
    """The channels that this agent is in."""
    return Action("list_channels", {}, conversations)


def list_zones(guild_id: str, *, limit: int | None = None, after: str | None = None) -> Action[ZonePage]:
    """One page of the named zones of a Server."""
    payload = {"guild_id": guild_id, **_given(limit=limit, after=after)}
    return Action("list_zones", payload, lambda value: zone_page(value, limit=limit, after=after))


def create_channel(
    guild_id: str,
    name: str,
    parent_id: str | None,
    *,
    topic: str | None = None,
    visibility: str | None = None,
    member_ids: list[str] | None = None,
) -> Action[Json]:
    """A new channel in a zone, or with None outside of every zone; it can never be moved."""
    extra = _given(topic=topic, visibility=visibility, member_ids=member_ids)
    return Action("create_channel", {"name": name, "guild_id": guild_id, "parent_id": parent_id, **extra}, conversation)


def update_channel(
    channel_id: str, *, name: str | None = None, visibility: str | None = None, archived: bool | None = None
) -> Action[Json]:
    """Rename, hide or archive a channel."""
    payload = {"channel_id": channel_id, **_given(name=name, visibility=visibility, archived=archived)}
    return Action("update_channel", payload, conversation)


def set_topic(channel_id: str, topic: str) -> Action[None]:
    """Say what a channel is about."""
    return Action("set_topic", {"channel_id": channel_id, "topic": topic}, _nothing)


def delete_channel(channel_id: str) -> Action[None]:
    """Take a channel away."""
    return Action("delete_channel", {"channel_id": channel_id}, _nothing)
