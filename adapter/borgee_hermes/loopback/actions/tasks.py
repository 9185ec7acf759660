"""Tasks of channels. Pure. Source: Borgee 1.12, 7.2."""

from __future__ import annotations

from typing import Final

from borgee_hermes.loopback.actions.call import Call, Failed, Refused
from borgee_hermes.loopback.records import Json, Task

__all__ = [
    "create_task",
    "delete_task_property",
    "get_task",
    "list_task_property_definitions",
    "list_tasks",
    "set_task_property",
    "update_task",
]

STATUSES: Final = frozenset({"open", "in_progress", "in_review", "done", "blocked", "cancelled"})
PROPERTIES: Final = {"link.pr": "Pull request", "link.issue": "Issue"}
CHANGES: Final[dict[str, type]] = {
    "status": str,
    "assignee_id": str,
    "title": str,
    "description": str,
    "heartbeat_interval_ms": int,
    "heartbeat_prompt": str,
}


def create_task(call: Call) -> Json:
    channel, title = call.channel(), call.text("title")
    call.require("task.write", f"channel:{channel.channel_id}")
    _assignee(call)
    seq = 1 + sum(task.channel_id == channel.channel_id for task in call.world.tasks.values())
    task = Task(
        call.world.mint("task"), channel.channel_id, channel.guild_id, seq, title, call.caller.user_id,
        call.now_ms, call.now_ms,
        description=call.optional("description", str, ""),
        assignee_id=call.optional("assignee_id", str) or None,
        heartbeat_interval_ms=call.optional("heartbeat_interval_ms", int, 0),
        heartbeat_prompt=call.optional("heartbeat_prompt", str, ""),
    )  # fmt: skip
    call.world.tasks[task.task_id] = task
    return task.wire()


def list_tasks(call: Call) -> list[Json]:
    if ("channel_id" in call.payload) == ("guild_id" in call.payload):
        raise Refused(Failed("bpp.payload_invalid"))
    tasks = call.world.tasks.values()
    if "channel_id" in call.payload:
        channel_id = call.channel().channel_id
        return [task.wire() for task in tasks if task.channel_id == channel_id]
    guild_id = call.require_guild_member()
    return [task.wire() for task in tasks if task.guild_id == guild_id]


def get_task(call: Call) -> Json:
    return call.task().wire()


def update_task(call: Call) -> Json:
    task = call.task()
    call.require("task.write", f"channel:{task.channel_id}")
    changes = {key: call.optional(key, kind) for key, kind in CHANGES.items() if key in call.payload}
    if not changes or changes.get("status", "open") not in STATUSES:
        raise Refused(Failed("bpp.payload_invalid"))
    _assignee(call)
    for key, value in changes.items():
        setattr(task, key, (value or None) if key == "assignee_id" else value)
    task.updated_at = call.now_ms
    return task.wire()


def _assignee(call: Call) -> None:
    assignee_id = call.optional("assignee_id", str)
    if assignee_id and assignee_id not in call.world.users:
        raise Refused(Failed("bpp.user_not_found"))


def set_task_property(call: Call) -> Json:
    task, key, value = call.task(), call.text("key"), call.text("value", empty=True)
    _property(call, task, key)
    task.properties[key] = value
    task.updated_at = call.now_ms
    return task.wire()


def delete_task_property(call: Call) -> Json:
    task, key = call.task(), call.text("key")
    _property(call, task, key)
    task.properties.pop(key, None)
    task.updated_at = call.now_ms
    return task.wire()


def _property(call: Call, task: Task, key: str) -> None:
    call.require("task.write", f"channel:{task.channel_id}")
    if key not in PROPERTIES:
        raise Refused(Failed("bpp.task_property_unknown"))


def list_task_property_definitions(call: Call) -> list[Json]:
    return [{"key": key, "label": label, "render": "url"} for key, label in PROPERTIES.items()]
