"""Durable messages: send, disposition, read mark. Pure. Source: Canon wire 4.4-4.6, 11.4."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from types import UnionType

from canon_ops.sandbox.events import compact
from canon_ops.sandbox.posting import RECEIPT_TYPES, post
from canon_ops.sandbox.records import Conversation, Json, Message
from canon_ops.sandbox.rest import limits
from canon_ops.sandbox.rest.media import is_issued
from canon_ops.sandbox.state import Call, Reply, Sent, World, refusal

__all__ = ["accept", "disposition", "fingerprint", "is_client_id", "mark_read", "send", "shape_fault"]

TEXT_BYTES = 4096
METADATA_UNITS = 4096
ATTACHMENTS = 10
DISPOSITIONS = ("queued", "accepted_now", "interleaved", "trigger_suppressed", "rejected", "cancelled")
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,160}")
_TYPES: dict[str, type | UnionType] = {"contentType": str, "mentions": list, "replyTo": str | None}
_KEPT_KEYS = ("contactCard", "replyToPosition", "forwarded", "forwardedFrom")


def is_client_id(value: object) -> bool:
    """Whether a client may choose this id. Source: Canon wire 0.1."""
    if not isinstance(value, str) or not _ID.fullmatch(value) or value in {".", ".."}:
        return False
    return not (value.startswith("__") and value.endswith("__"))


def fingerprint(body: Json) -> str:
    """Stands for everything in a send but its id: equal for a replay, different for another message."""
    rest = {key: value for key, value in body.items() if key != "messageId"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def send(world: World, call: Call) -> Reply:
    """``POST /messages/send``: the same id and payload is stored once, however often it arrives."""
    room = world.room_for(call, call.body.get("conversationId"))
    if isinstance(room, Reply):
        return room
    message = accept(world, call, room, call.body)
    return message if isinstance(message, Reply) else Reply(200, {"messageId": message.message_id})


def accept(world: World, call: Call, room: Conversation, body: Json) -> Message | Reply:
    """Take a message into a room, or find the stored one for its id; the refusal when something is wrong with it.

    ``body`` has the keys of a send; the verb wire builds the same from its envelope and value.
    """
    fault = shape_fault(world, body)
    if fault is not None:
        return fault
    agent, message_id, mark = call.caller, body.get("messageId"), fingerprint(body)
    if message_id is not None:
        known = world.sent.get((agent.agent_id, message_id))
        if known is not None and known.fingerprint == mark:
            return world.conversations[known.conversation_id].messages[known.message_id]
        if known is not None or message_id in room.messages:
            return refusal(409, "This messageId belongs to another message", "MESSAGE_ID_EXISTS")
    fault = _authority(world, call, room, body) or limits.exceeded(world, call, room)
    if fault is not None:
        return fault
    message = post(
        world,
        room,
        sender_id=agent.agent_id,
        sender_type="ai_agent",
        text=body["text"],
        origin="agent",
        now_ms=call.now_ms,
        message_id=message_id,
        metadata=dict(body.get("metadata", {})),
        content_type=body.get("contentType", "text"),
        attachments=list(body.get("attachments", [])),
        mentions=list(body.get("mentions", [])),
        reply_to=body.get("replyTo"),
        extra={key: body[key] for key in _KEPT_KEYS if key in body},
    )
    if message_id is not None:
        world.sent[agent.agent_id, message_id] = Sent(mark, room.conversation_id, message.message_id)
    return message


def shape_fault(world: World, body: Json) -> Reply | None:
    """The first thing that is wrong with a send, by itself."""
    text, metadata = body.get("text"), body.get("metadata", {})
    attachments = body.get("attachments", [])
    if not isinstance(text, str):
        return refusal(400, "text must be a string")
    if len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES:
        return refusal(400, f"text is longer than {TEXT_BYTES} bytes", "TEXT_TOO_LONG")
    if not isinstance(metadata, dict):
        return refusal(400, "metadata must be an object")
    if metadata and len(compact(metadata).encode("utf-16-le", "surrogatepass")) // 2 > METADATA_UNITS:
        return refusal(400, f"metadata is longer than {METADATA_UNITS} characters", "METADATA_TOO_LONG")
    if metadata.get("type") in RECEIPT_TYPES:
        return refusal(400, "receipts are written by the server", "RESERVED_MESSAGE_TYPE")
    if "messageId" in body and not is_client_id(body["messageId"]):
        return refusal(400, "messageId has the wrong shape", "INVALID_MESSAGE_ID")
    for key, kind in _TYPES.items():
        if key in body and not isinstance(body[key], kind):
            return refusal(400, f"{key} has the wrong type")
    if not isinstance(attachments, list) or len(attachments) > ATTACHMENTS:
        return refusal(400, f"attachments must be a list of at most {ATTACHMENTS}")
    if not all(isinstance(item, dict) and is_issued(world, item.get("url")) for item in attachments):
        return refusal(400, "attachments must have been uploaded here", "FOREIGN_ATTACHMENT")
    if not text.strip() and not attachments and not isinstance(body.get("contactCard"), dict):
        return refusal(400, "a message needs text, an attachment or a contact card")
    return None


def _authority(world: World, call: Call, room: Conversation, body: Json) -> Reply | None:
    """Check a reply authority. None when all is well or there is none.

    The first use claims it for its turn: further parts of that turn pass, another turn's do not. A send that names no
    turn claims nothing.
    """
    given = body.get("replyAuthority")
    if given is None:
        return None
    wrong = refusal(403, "The reply authority is not valid here", "REPLY_AUTHORITY_INVALID")
    source = room.messages.get(str(given.get("sourceMessageId"))) if isinstance(given, dict) else None
    if source is None:
        return wrong
    issued = world.reply_authority(call.caller, source)
    if {key: given.get(key) for key in issued} != issued:
        return wrong
    if call.now_ms > datetime.fromisoformat(issued["expiresAt"]).timestamp() * 1000:
        return refusal(403, "The reply authority has expired", "REPLY_AUTHORITY_EXPIRED")
    turn_id = body.get("metadata", {}).get("turnId")
    if turn_id is None:
        return None
    claimed_by = world.authority_claims.setdefault((call.caller.agent_id, source.message_id), turn_id)
    if claimed_by != turn_id:
        return refusal(403, "The reply authority belongs to another turn", "REPLY_AUTHORITY_INVALID")
    return None


def disposition(world: World, call: Call) -> Reply:
    """``PATCH …/disposition``: say what became of a queued message; safe to repeat."""
    room = world.room_for(call, call.params["conversation_id"])
    if isinstance(room, Reply):
        return room
    message = room.messages.get(call.params["message_id"])
    if message is None:
        return refusal(404, "No such message")
    value = call.body.get("inboundDisposition")
    if value not in DISPOSITIONS:
        return refusal(400, f"unknown disposition: {value!r}")
    message.metadata["inboundDisposition"] = value
    changed = {"id": message.message_id, "metadata": {"inboundDisposition": value}}
    world.publish_to_members(room, "message.updated", {"conversationId": room.conversation_id, "message": changed})
    return Reply(200, {})


def mark_read(world: World, call: Call) -> Reply:
    """``POST …/read``: everything in the conversation is read."""
    room = world.room_for(call, call.params["conversation_id"])
    if isinstance(room, Reply):
        return room
    world.read_marks[room.conversation_id, call.caller.agent_id] = call.now_ms
    return Reply(200, {})
