"""From a tool's arguments to one action and the shape of its result. Pure; wrong arguments send nothing.

A :class:`Plan` is an action with what becomes of its answer; an :class:`Answer` needs no server. Arguments come from
the model. Two tools also take what the host passes beside them, for hosts that move arguments there; what the model
says itself wins, and a null of it is a value.

Source: Borgee 7.1-7.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from borgee_hermes.bpp import actions
from borgee_hermes.bpp.actions import Action
from borgee_hermes.bpp.values import is_zone_id

__all__ = ["CALLS", "Answer", "Plan"]

Json = Mapping[str, Any]

MAX_ZONES: Final = 50
RUNTIME: Final = frozenset({"session_id", "user_task"})
STARTED: Final = (
    "The assignee sees the task and starts by itself. Confirm to the person that it exists, and stop there."
)
NO_TASK: Final = "Nothing was done: task_id is missing."


@dataclass(frozen=True, slots=True)
class Plan:
    """One action, and the tool's result made of its answer."""

    action: Action[Any]
    result: Callable[[Any], Json]


@dataclass(frozen=True, slots=True)
class Answer:
    """A result that needs no server: a note to the model."""

    result: Json


Call = Callable[[Json, Json], "Plan | Answer"]


def _given(arguments: Json, name: str) -> str | None:
    """A text argument; None when it is absent, null or blank."""
    value = arguments.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _required(arguments: Json, name: str) -> str:
    value = _given(arguments, name)
    if value is None:
        raise ValueError(f"{name} is required")
    return value


def _optional(arguments: Json, *names: str) -> dict[str, Any]:
    """What is there of ``names``; an empty text is there, a null is not."""
    return {name: arguments[name] for name in names if arguments.get(name) is not None}


def _merged(arguments: Json, beside: Json) -> Json:
    return {**{name: value for name, value in beside.items() if name not in RUNTIME}, **arguments}


def _task(task: Any) -> Json:
    return {"task": task}


# -- tasks ------------------------------------------------------------------------------------------------------------


def task_create(arguments: Json, _beside: Json) -> Plan | Answer:
    """A new task; the model is told to leave it to its assignee."""
    action = actions.create_task(
        _required(arguments, "channel_id"),
        _required(arguments, "title"),
        description=_given(arguments, "description"),
        assignee_id=_given(arguments, "assignee_id"),
        heartbeat_prompt=_given(arguments, "heartbeat_prompt"),
    )
    return Plan(action, lambda task: {"task": task, "note": STARTED})


def task_list(arguments: Json, _beside: Json) -> Plan | Answer:
    """The tasks of a channel or of a Server."""
    channel_id, guild_id = _given(arguments, "channel_id"), _given(arguments, "guild_id")
    if channel_id and guild_id:
        raise ValueError("give channel_id or guild_id, not both")
    if not channel_id and not guild_id:
        return Answer({"error": "give channel_id, or guild_id for a whole Server"})
    action = actions.list_tasks(channel_id=channel_id, guild_id=guild_id)
    return Plan(action, lambda tasks: {"count": len(tasks), "tasks": list(tasks)})


def task_get(arguments: Json, _beside: Json) -> Plan | Answer:
    """One task."""
    task_id = _given(arguments, "task_id")
    return Plan(actions.get_task(task_id), _task) if task_id else Answer({"note": NO_TASK})


def task_update(arguments: Json, _beside: Json) -> Plan | Answer:
    """Change what is given."""
    task_id = _given(arguments, "task_id")
    names = ("status", "assignee_id", "title", "description", "heartbeat_interval_ms", "heartbeat_prompt")
    changes = _optional(arguments, *names)
    if not task_id:
        return Answer({"note": NO_TASK})
    if not changes:
        return Answer({"note": "Nothing was done: no field to change was given."})
    return Plan(actions.update_task(task_id, **changes), _task)


def task_set_property(arguments: Json, _beside: Json) -> Plan | Answer:
    """Put a property on a task; its value may be empty."""
    task_id, key, value = _given(arguments, "task_id"), _given(arguments, "key"), arguments.get("value")
    if not task_id or not key or not isinstance(value, str):
        return Answer({"note": "Nothing was done: task_id, key and value are needed."})
    return Plan(actions.set_task_property(task_id, key, value), _task)


def task_delete_property(arguments: Json, _beside: Json) -> Plan | Answer:
    """Take a property off a task."""
    task_id, key = _given(arguments, "task_id"), _given(arguments, "key")
    if not task_id or not key:
        return Answer({"note": "Nothing was done: task_id and key are needed."})
    return Plan(actions.delete_task_property(task_id, key), _task)


# -- channels and zones -----------------------------------------------------------------------------------------------


def channel_list(_arguments: Json, _beside: Json) -> Plan | Answer:
    """The channels of this agent."""
    return Plan(actions.list_channels(), lambda found: {"count": len(found), "channels": list(found)})


def list_zones(arguments: Json, beside: Json) -> Plan | Answer:
    """One page of a Server's named zones."""
    asked = _merged(arguments, beside)
    guild_id, limit, after = asked.get("guild_id"), asked.get("limit"), asked.get("after")
    if not isinstance(guild_id, str) or not guild_id.strip():
        raise ValueError("guild_id is required: the Server id of this conversation")
    if "limit" in asked and (isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_ZONES):
        raise ValueError(f"limit must be a whole number from 1 to {MAX_ZONES}")
    if "after" in asked and not is_zone_id(after):
        raise ValueError("after must be the next_after of the page before")
    return Plan(actions.list_zones(guild_id, limit=limit, after=after), lambda page: page.as_dict())


def channel_create(arguments: Json, beside: Json) -> Plan | Answer:
    """A new channel; where it is put has to be said, since it can never be moved."""
    asked = _merged(arguments, beside)
    guild_id, name = _required(asked, "guild_id"), _required(asked, "name")
    if "parent_id" not in asked:
        raise ValueError("parent_id is required: a Zone id, or null for no Zone")
    parent_id = asked["parent_id"]
    if parent_id is not None and not is_zone_id(parent_id):
        raise ValueError("parent_id must be a Zone id, or null for no Zone")
    topic, visibility = _given(asked, "topic"), _given(asked, "visibility")
    action = actions.create_channel(guild_id, name, parent_id, topic=topic, visibility=visibility)
    return Plan(action, lambda channel: {"channel": channel})


def channel_update(arguments: Json, beside: Json) -> Plan | Answer:
    """Rename, hide or archive a channel."""
    asked = _merged(arguments, beside)
    for name in ("parent_id", "channel_type"):
        if name in asked:
            raise ValueError(f"{name} is immutable: a channel keeps its Zone and its type")
    action = actions.update_channel(
        _required(asked, "channel_id"), **_optional(asked, "name", "visibility", "archived")
    )
    return Plan(action, lambda channel: {"channel": channel})


def channel_delete(arguments: Json, _beside: Json) -> Plan | Answer:
    """Take a channel away."""
    channel_id = _required(arguments, "channel_id")
    return Plan(actions.delete_channel(channel_id), lambda _: {"ok": True, "channel_id": channel_id})


def channel_set_topic(arguments: Json, _beside: Json) -> Plan | Answer:
    """Say what a channel is about; an empty topic is one."""
    channel_id, topic = _required(arguments, "channel_id"), arguments.get("topic")
    if not isinstance(topic, str):
        raise ValueError("topic is required; an empty one clears it")
    return Plan(actions.set_topic(channel_id, topic), lambda _: {"ok": True, "channel_id": channel_id})


def channel_read_history(arguments: Json, _beside: Json) -> Plan | Answer:
    """Messages of a channel."""
    channel_id, limit = _required(arguments, "channel_id"), arguments.get("limit")
    action = actions.read_channel_history(
        channel_id,
        limit=limit if isinstance(limit, int) and not isinstance(limit, bool) else None,
        before=_given(arguments, "before"),
        after=_given(arguments, "after"),
    )
    return Plan(action, lambda found: {"channel_id": channel_id, "count": len(found), "messages": found})


CALLS: Final[Mapping[str, Call]] = {
    "borgee_task_create": task_create,
    "borgee_task_list": task_list,
    "borgee_task_get": task_get,
    "borgee_task_update": task_update,
    "borgee_task_set_property": task_set_property,
    "borgee_task_delete_property": task_delete_property,
    "borgee_channel_list": channel_list,
    "borgee_list_zones": list_zones,
    "borgee_channel_create": channel_create,
    "borgee_channel_update": channel_update,
    "borgee_channel_delete": channel_delete,
    "borgee_channel_set_topic": channel_set_topic,
    "borgee_channel_read_history": channel_read_history,
}
