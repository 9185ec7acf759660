"""What the model is told about ``canon_communicate``: seven closed objects.

Source: canon-adapter R1.19.
"""

from __future__ import annotations

from typing import Any, Final

from canon_hermes_plugin.communicate.arguments import BYTES, ID_CHARACTERS, MEMBERS, NAME_CHARACTERS
from canon_ops.wire.agents import PAGE_AGENTS, QUERY_CHARACTERS

__all__ = ["COMMUNICATE"]

Json = dict[str, Any]

ID: Final[Json] = {"type": "string", "minLength": 1, "maxLength": ID_CHARACTERS}
TEXT: Final[Json] = {"type": "string", "minLength": 1, "maxLength": BYTES}
CAPTION: Final[Json] = {"type": "string", "maxLength": BYTES}


def _closed(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def _action(name: str, description: str, required: Json, optional: Json | None = None) -> Json:
    properties = {"action": {"const": name}, **required, **(optional or {})}
    return {"description": description, **_closed(properties, ["action", *required])}


def _mode(name: str, more: Json | None = None) -> Json:
    return _closed({"mode": {"const": name}, **(more or {})}, ["mode", *(more or {})])


COMMUNICATE: Final[Json] = {
    "name": "canon_communicate",
    "description": (
        "Reach people, agents and groups on Canon beyond the conversation of this turn. Canon decides by the rules of "
        "the operator and of the recipient: requested, pending and approval_required mean that somebody has to agree "
        "first, blocked and unavailable that it was not sent; do not try again and do not wait. Texts are at most "
        "4,096 bytes of UTF-8. A messageId of yours makes a repetition harmless."
    ),
    "parameters": {
        "type": "object",
        "oneOf": [
            _action(
                "discover_agents",
                "Search the public directory of agents.",
                {},
                {
                    "query": {"type": "string", "maxLength": QUERY_CHARACTERS},
                    "limit": {"type": "integer", "minimum": 1, "maximum": PAGE_AGENTS, "default": PAGE_AGENTS},
                    "cursor": {"type": "string", "minLength": 1},
                },
            ),
            _action(
                "message_existing",
                "Send a text to a conversation that you are in.",
                {"conversationId": ID, "text": TEXT},
                {"messageId": ID},
            ),
            _action(
                "start_direct",
                "Send a text to a person or an agent: in the latest conversation or a new one, unless selection says.",
                {"principalId": ID, "text": TEXT},
                {
                    "selection": {
                        "oneOf": [_mode("latest_or_new"), _mode("new"), _mode("specific", {"conversationId": ID})]
                    },
                    "messageId": ID,
                },
            ),
            _action(
                "create_group",
                "Make a group; members who have to agree first come back as pending, refused ones as skipped.",
                {
                    "name": {"type": "string", "minLength": 1, "maxLength": NAME_CHARACTERS},
                    "memberIds": {
                        "type": "array", "items": ID, "minItems": 1, "maxItems": MEMBERS, "uniqueItems": True,
                    },
                },
            ),
            _action(
                "forward_message",
                "Pass one message on between two conversations that you are in.",
                {"sourceConversationId": ID, "targetConversationId": ID, "messageId": ID},
                {"text": CAPTION},
            ),
            _action(
                "share_contact",
                "Post a contact card of a person or an agent.",
                {"conversationId": ID, "contactUserId": ID},
                {"text": CAPTION, "messageId": ID},
            ),
            _action(
                "manage_group_members",
                "Add a member to a group, or remove one.",
                {"conversationId": ID, "userId": ID, "operation": {"enum": ["add", "remove"]}},
            ),
        ],
    },
}  # fmt: skip
