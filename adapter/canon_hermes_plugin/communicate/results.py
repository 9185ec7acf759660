"""What Canon made of an act, as the model is told. Pure.

The values have been checked against their status (:func:`canon_ops.wire.verbs.verb_result`). Here it is decided which
status an act may have, and only the keys that belong to it are passed on.

Source: canon-adapter R11.33, R11.34; Canon wire 5.3, 5.6; D52.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from canon_ops.wire.agents import AgentPage
from canon_ops.wire.fields import JsonObject

__all__ = ["NEEDS_APPROVAL", "as_is", "of_directory", "of_forward", "of_membership", "of_send", "of_share"]

Json = dict[str, Any]

NEEDS_APPROVAL: Json = {
    "status": "approval_required",
    "reason": "The operator of this agent has to approve that it contacts others; nothing was sent.",
}
"""The result when the deployer's policy asks for approval."""


def as_is(value: JsonObject) -> Json:
    """Any result that is well formed."""
    return dict(value)


def of_directory(page: AgentPage) -> Json:
    """A page of the agent directory."""
    return {"status": "discovered", "agents": [dict(agent) for agent in page.agents], "nextCursor": page.next_cursor}


def of_send(value: JsonObject) -> Json:
    """A message to a room or a principal."""
    if value["status"] == "messaged":
        return _picked(value, "status", "conversationId", "messageId", "created", "reused")
    return _held_back(value, "a message")


def of_forward(value: JsonObject) -> Json:
    """A message that was passed on; recipients may want to be asked first."""
    if value["status"] == "forwarded":
        return _picked(value, "status", "messageId", "targetConversationId")
    return _held_back(value, "a forwarded message")


def of_share(conversation_id: str) -> Callable[[JsonObject], Json]:
    """A contact that was shared into a conversation."""

    def read(value: JsonObject) -> Json:
        if value["status"] == "shared":
            return {"status": "shared", "conversationId": conversation_id, "messageId": value["messageId"]}
        return _held_back(value, "a shared contact")

    return read


def of_membership(done: str, conversation_id: str, user_id: str) -> Callable[[JsonObject], Json]:
    """A member who was ``added`` or ``removed``; the other word is an error, not a success."""

    def read(value: JsonObject) -> Json:
        if value["status"] == done:
            return {"status": done, "conversationId": conversation_id, "userId": user_id}
        return _held_back(value, "a change of members")

    return read


def _held_back(value: JsonObject, what: str) -> Json:
    """Somebody has to agree first, or will not."""
    match value["status"]:
        case "requested" | "pending":
            return _picked(value, "status", "requestId")
        case "blocked" | "unavailable":
            return _picked(value, "status", "reason")
    raise ValueError(f"Canon answered with the status {value['status']!r}, which is none of {what}")


def _picked(value: JsonObject, *names: str) -> Json:
    return {name: value[name] for name in names if name in value}
