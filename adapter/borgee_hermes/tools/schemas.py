"""The tools as the model sees them: names, descriptions, parameters. Data only. Source: Borgee 7.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["SCHEMAS"]

Json = Mapping[str, Any]


def _text(description: str) -> Json:
    return {"type": "string", "description": description}


def _choice(description: str, *values: str) -> Json:
    return {"type": "string", "enum": list(values), "description": description}


def _tool(name: str, description: str, properties: Json, *required: str) -> Json:
    parameters: dict[str, Any] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        parameters["required"] = list(required)
    return {"name": name, "description": description, "parameters": parameters}


_TASK_ID: Final = _text("Task id.")
_CHANNEL_ID: Final = _text("Channel id.")
_KEY: Final = "link.pr or link.issue. agent.session_id belongs to the runtime; other keys are refused."

_TOOLS: Final = (
    _tool(
        "borgee_task_create",
        "Create a task in a Borgee channel. Its assignee starts by itself.",
        {
            "channel_id": _text("Channel that will hold the task."),
            "title": _text("Short title."),
            "description": _text("Body text, shown in the task's thread."),
            "assignee_id": _text("Id of the person or agent to give it to."),
            "heartbeat_prompt": _text("Text used for the assignee's periodic check-ins."),
        },
        "channel_id",
        "title",
    ),
    _tool(
        "borgee_task_list",
        "List the tasks of one Borgee channel, or of a whole Server.",
        {
            "channel_id": _text("Limit to this channel."),
            "guild_id": _text("Whole Server; give this or channel_id."),
        },
    ),
    _tool("borgee_task_get", "Read one Borgee task.", {"task_id": _TASK_ID}, "task_id"),
    _tool(
        "borgee_task_update",
        "Change a Borgee task; what is not given stays.",
        {
            "task_id": _TASK_ID,
            "status": _choice("New state.", "open", "in_progress", "in_review", "done", "blocked", "cancelled"),
            "assignee_id": _text("New assignee; empty string removes it."),
            "title": _text("New title."),
            "description": _text("New body; empty string clears it."),
            "heartbeat_interval_ms": {
                "type": "integer",
                "minimum": 0,
                "description": "Check-in interval in ms; 0 switches it off.",
            },
            "heartbeat_prompt": _text("Text for check-ins."),
        },
        "task_id",
    ),
    _tool(
        "borgee_task_set_property",
        "Put a link or an identifier on a Borgee task.",
        {
            "task_id": _TASK_ID,
            "key": _text(_KEY),
            "value": _text("Link or identifier, no running text; at most 8 KiB."),
        },
        "task_id",
        "key",
        "value",
    ),
    _tool(
        "borgee_task_delete_property",
        "Take a property off a Borgee task.",
        {"task_id": _TASK_ID, "key": _text("Property key as in borgee_task_set_property.")},
        "task_id",
        "key",
    ),
    _tool("borgee_channel_list", "List the Borgee channels that you are a member of.", {}),
    _tool(
        "borgee_list_zones",
        "List the named Zones of a Borgee Server, page by page. The Default group is not among them.",
        {
            "guild_id": _text("Server id of this conversation."),
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "after": _text("next_after of the page before."),
        },
        "guild_id",
    ),
    _tool(
        "borgee_channel_create",
        "Create a Borgee channel in a Zone, or outside every Zone.",
        {
            "guild_id": _text("Server id, taken from this conversation's context."),
            "name": _text("Name of the channel to make."),
            "parent_id": {
                "type": ["string", "null"],
                "description": "Id of the Zone to put it in; null leaves it outside every Zone. "
                "Cannot be changed later.",
            },
            "topic": _text("Topic."),
            "visibility": _choice("Who can see it.", "public", "private"),
        },
        "guild_id",
        "name",
        "parent_id",
    ),
    _tool(
        "borgee_channel_update",
        "Rename, hide or archive a Borgee channel. Its Zone and type cannot be changed.",
        {
            "channel_id": _CHANNEL_ID,
            "name": _text("New name."),
            "visibility": _choice("New visibility.", "public", "private"),
            "archived": {"type": "boolean", "description": "true archives, false restores."},
        },
        "channel_id",
    ),
    _tool("borgee_channel_delete", "Delete a Borgee channel.", {"channel_id": _CHANNEL_ID}, "channel_id"),
    _tool(
        "borgee_channel_set_topic",
        "Say what a Borgee channel is about.",
        {"channel_id": _CHANNEL_ID, "topic": _text("New topic.")},
        "channel_id",
        "topic",
    ),
    _tool(
        "borgee_channel_read_history",
        "Read messages of a Borgee channel.",
        {
            "channel_id": _CHANNEL_ID,
            "limit": {"type": "integer", "description": "Most messages to return."},
            "before": _text("Upper bound: a message id."),
            "after": _text("Lower bound: a message id."),
        },
        "channel_id",
    ),
)

SCHEMAS: Final[Mapping[str, Json]] = {tool["name"]: tool for tool in _TOOLS}
