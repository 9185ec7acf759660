"""What an agent may do, by the name on the wire. One module a subject; read call.py first. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from borgee_hermes.loopback.actions import channels, messages, tasks
from borgee_hermes.loopback.actions.call import Call, Failed, Handler, Ok, Outcome, Refused

__all__ = ["ACTIONS", "perform"]

UNKNOWN: Final = Failed("bpp.semantic_op_unknown")

ACTIONS: Final[Mapping[str, Handler]] = {
    "get_me": messages.get_me,
    "send_message": messages.send_message,
    "edit_message": messages.edit_message,
    "delete_message": messages.delete_message,
    "react": messages.react,
    "create_dm": messages.create_dm,
    "read_channel_history": messages.read_channel_history,
    "create_task": tasks.create_task,
    "list_tasks": tasks.list_tasks,
    "get_task": tasks.get_task,
    "update_task": tasks.update_task,
    "set_task_property": tasks.set_task_property,
    "delete_task_property": tasks.delete_task_property,
    "list_task_property_definitions": tasks.list_task_property_definitions,
    "list_channels": channels.list_channels,
    "list_zones": channels.list_zones,
    "create_channel": channels.create_channel,
    "update_channel": channels.update_channel,
    "set_topic": channels.set_topic,
    "delete_channel": channels.delete_channel,
}


def perform(name: Any, call: Call) -> Outcome:
    """Carry an action out."""
    handler = ACTIONS.get(name) if isinstance(name, str) else None
    if handler is None:
        return UNKNOWN
    try:
        return Ok(handler(call))
    except Refused as refused:
        return refused.outcome
