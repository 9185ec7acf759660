"""What the model asks for, as what Canon is sent: one function an action. Pure.

Source: canon-adapter R1.19, R11.32, R11.33; Canon wire 5.2, 5.5; D52.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from canon_hermes_plugin.communicate import results
from canon_hermes_plugin.communicate.arguments import Arguments, whole_characters
from canon_ops.wire.agents import DiscoverQuery
from canon_ops.wire.fields import JsonObject

__all__ = ["ACTIONS", "Act", "Perform", "read_act"]


@dataclass(frozen=True, slots=True)
class Perform:
    """A verb to perform.

    Attributes:
        read: makes the model's result of the verb's value; ValueError when that is none of the expected.
    """

    verb: str
    envelope: JsonObject
    value: JsonObject
    read: Callable[[JsonObject], dict[str, Any]]


Act = Perform | DiscoverQuery


def read_act(args: Mapping[str, Any]) -> Act:
    """What is to be done.

    Raises:
        ValueError: the action is unknown, or its arguments are not as they must be; nothing may be sent.
    """
    action = args.get("action")
    read = ACTIONS.get(action) if isinstance(action, str) else None
    if read is None:
        raise ValueError(f"Unknown action; use one of: {', '.join(ACTIONS)}")
    return read(args)


def _discover(args: Mapping[str, Any]) -> DiscoverQuery:
    given = Arguments("discover_agents", args, ("query", "limit", "cursor"))
    query, cursor, limit = given.optional("query"), given.optional("cursor"), given.optional("limit")
    for name, value in (("query", query), ("cursor", cursor)):
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name} must be a text")
        if value is not None:
            whole_characters(name, value)
    if limit is None:
        return DiscoverQuery(query, cursor=cursor)
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise ValueError("limit must be a whole number from 1 to 10")
    return DiscoverQuery(query, limit, cursor)


def _message_existing(args: Mapping[str, Any]) -> Perform:
    given = Arguments("message_existing", args, ("conversationId", "text", "messageId"))
    envelope = {"conversationId": given.id("conversationId"), "idempotencyKey": given.optional_id("messageId")}
    value = {"text": given.text(), "messageOptions": {"metadata": {"turnSemantics": "turn_complete"}}}
    return Perform("send_to", envelope, value, results.of_send)


def _start_direct(args: Mapping[str, Any]) -> Perform:
    given = Arguments("start_direct", args, ("principalId", "text", "selection", "messageId"))
    envelope = {
        "targetUserId": given.id("principalId"),
        "sessionSelection": _selection(given.optional("selection")),
        "idempotencyKey": given.optional_id("messageId"),
    }
    return Perform("send_to", envelope, {"text": given.text()}, results.of_send)


def _selection(given: object) -> dict[str, str] | None:
    """Which conversation with a principal; exactly one of three shapes."""
    if given is None:
        return None
    match given:
        case {"mode": "latest_or_new", **rest} if not rest:
            return {"mode": "continue_or_create"}
        case {"mode": "new", **rest} if not rest:
            return {"mode": "new"}
        case {"mode": "specific", "conversationId": str() as room, **rest} if not rest and room.strip():
            of_selection = Arguments("selection", {"conversationId": room}, ("conversationId",))
            return {"mode": "specific", "conversationId": of_selection.id("conversationId")}
    raise ValueError("selection must have mode latest_or_new, new, or specific with a conversationId, and nothing else")


def _create_group(args: Mapping[str, Any]) -> Perform:
    given = Arguments("create_group", args, ("name", "memberIds"))
    return Perform("create_group", {"memberIds": given.ids("memberIds")}, {"name": given.name("name")}, results.as_is)


def _forward_message(args: Mapping[str, Any]) -> Perform:
    names = ("sourceConversationId", "targetConversationId", "messageId", "text")
    given = Arguments("forward_message", args, names)
    envelope = {
        "sourceConversationId": given.id("sourceConversationId"),
        "conversationId": given.id("targetConversationId"),
        "messageId": given.id("messageId"),
    }
    return Perform("forward", envelope, {"text": given.optional_text()}, results.of_forward)


def _share_contact(args: Mapping[str, Any]) -> Perform:
    given = Arguments("share_contact", args, ("conversationId", "contactUserId", "text", "messageId"))
    room = given.id("conversationId")
    envelope = {
        "conversationId": room,
        "contactUserId": given.id("contactUserId"),
        "idempotencyKey": given.optional_id("messageId"),
    }
    return Perform("share_contact", envelope, {"text": given.optional_text()}, results.of_share(room))


def _manage_group_members(args: Mapping[str, Any]) -> Perform:
    given = Arguments("manage_group_members", args, ("conversationId", "userId", "operation"))
    room, user_id, operation = (
        given.id("conversationId"),
        given.id("userId"),
        given.one_of("operation", "add", "remove"),
    )
    envelope = {"conversationId": room, "targetUserId": user_id}
    done = "added" if operation == "add" else "removed"
    return Perform(f"{operation}_member", envelope, {}, results.of_membership(done, room, user_id))


ACTIONS: Final[Mapping[str, Callable[[Mapping[str, Any]], Act]]] = MappingProxyType({
    "discover_agents": _discover,
    "message_existing": _message_existing,
    "start_direct": _start_direct,
    "create_group": _create_group,
    "forward_message": _forward_message,
    "share_contact": _share_contact,
    "manage_group_members": _manage_group_members,
})  # fmt: skip
