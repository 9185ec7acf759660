"""The verbs that bring something to a conversation: send, forward, share a contact, or deliberately nothing. Pure.

Source: Canon wire 5.2, 5.3, 5.7, 5.8, 11.6.
"""

from __future__ import annotations

from canon_ops.sandbox.posting import post
from canon_ops.sandbox.records import Agent, Conversation, Human, Json, Message
from canon_ops.sandbox.rest.messages import accept, shape_fault
from canon_ops.sandbox.rest.reaching import admission, id_of, principal_of
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["forward", "no_reply", "send_to", "share_contact"]

REASON = 500


def send_to(world: World, call: Call, envelope: Json, value: Json) -> Json | Reply:
    if ("conversationId" in envelope) == ("targetUserId" in envelope):
        return refusal(400, "send_to needs either conversationId or targetUserId", "INVALID_VERB_FRAME")
    body = _message_of(envelope, value)
    if isinstance(body, Reply):
        return body
    if "conversationId" in envelope:
        room = world.room_for(call, envelope["conversationId"])
        return room if isinstance(room, Reply) else _messaged(world, call, room, body, {})
    target = principal_of(world, envelope["targetUserId"])
    if target is None:
        return {"status": "unavailable", "reason": "not_found"}
    standing_between = admission(world, call, target, None, target.inbound_policy)
    return standing_between or _send_to_principal(world, call, envelope, body)


def _message_of(envelope: Json, value: Json) -> Json | Reply:
    """The body of a send, built from envelope and value as the contract does. Source: Canon wire 5.2."""
    options, turn = value.get("messageOptions", {}), envelope.get("turn", {})
    metadata = options.get("metadata", {}) if isinstance(options, dict) else None
    if not isinstance(turn, dict) or not isinstance(metadata, dict):
        return refusal(400, "turn, messageOptions and its metadata must be objects", "INVALID_VERB_FRAME")
    body: Json = {
        "text": value.get("text", ""),
        "metadata": {**metadata, **turn},
    }
    body.update({key: options[key] for key in ("contentType", "attachments") if key in options})
    body.update({key: envelope[key] for key in ("replyTo", "replyToPosition", "mentions") if key in envelope})
    if "idempotencyKey" in envelope:
        body["messageId"] = envelope["idempotencyKey"]
    return body


def _send_to_principal(world: World, call: Call, envelope: Json, body: Json) -> Json | Reply:
    """Pick or open the direct conversation that the selection asks for, and send."""
    fault = shape_fault(world, body)
    if fault is not None:
        return fault  # before a room is made for it
    room = _selected(world, call, envelope)
    if isinstance(room, Reply):
        return room
    if room is not None:
        return _messaged(world, call, room, body, {"created": False, "reused": True})
    if envelope.get("sessionSelection", {}).get("mode") == "continue_latest":
        return {"status": "unavailable", "reason": "no_session"}
    members = [call.caller.agent_id, envelope["targetUserId"]]
    room = world.add_conversation(members, kind="direct", now_ms=call.now_ms)
    return _messaged(world, call, room, body, {"created": True, "reused": False})


def _selected(world: World, call: Call, envelope: Json) -> Conversation | Reply | None:
    """The conversation to go on in; None when there is none or a new one is wanted. A repeated key stays."""
    agent_id, selection = call.caller.agent_id, envelope.get("sessionSelection", {"mode": "continue_or_create"})
    repeated = world.sent.get((agent_id, envelope.get("idempotencyKey", "")))
    if repeated is not None:
        return world.conversations[repeated.conversation_id]
    if selection["mode"] == "specific":
        return world.room_for(call, selection["conversationId"])
    return None if selection["mode"] == "new" else world.direct_conversation(agent_id, envelope["targetUserId"])


def _messaged(world: World, call: Call, room: Conversation, body: Json, more: Json) -> Json | Reply:
    message = accept(world, call, room, {"conversationId": room.conversation_id, **body})
    if isinstance(message, Reply):
        return message
    return {"status": "messaged", "conversationId": room.conversation_id, "messageId": message.message_id, **more}


def forward(world: World, call: Call, envelope: Json, value: Json) -> Json | Reply:
    source = world.room_for(call, envelope["sourceConversationId"])
    if isinstance(source, Reply):
        return source
    target = world.room_for(call, envelope["conversationId"])
    if isinstance(target, Reply):
        return target
    note = value.get("text", "")
    if not isinstance(note, str):
        return refusal(400, "text must be a string")
    original = source.messages.get(envelope["messageId"])
    if original is None:
        return refusal(404, "No such message")
    copy = post(
        world,
        target,
        sender_id=call.caller.agent_id,
        sender_type="ai_agent",
        text="\n\n".join(text for text in (note, original.text) if text),
        origin="agent",
        now_ms=call.now_ms,
        content_type=original.content_type,
        attachments=list(original.attachments),
        extra={"forwarded": True, "forwardedFrom": _origin(original)},
    )
    return {"status": "forwarded", "messageId": copy.message_id, "targetConversationId": target.conversation_id}


def _origin(message: Message) -> Json:
    return {
        "conversationId": message.conversation_id,
        "messageId": message.message_id,
        "senderId": message.sender_id,
        "senderName": message.sender_name,
    }


def share_contact(world: World, call: Call, envelope: Json, value: Json) -> Json | Reply:
    room = world.room_for(call, envelope["conversationId"])
    if isinstance(room, Reply):
        return room
    contact = principal_of(world, envelope["contactUserId"])
    if contact is None or not _is_known(world, call.caller, id_of(contact)):
        return refusal(403, "This contact is not known to the agent", "CONTACT_NOT_KNOWN")
    card = {
        "userId": id_of(contact),
        "displayName": contact.name,
        "avatarUrl": None,
        "userType": "human" if isinstance(contact, Human) else "ai_agent",
    }
    body: Json = {
        "conversationId": room.conversation_id,
        "text": value.get("text", ""),
        "contentType": "contact_card",
        "contactCard": card,
    }
    if "idempotencyKey" in envelope:
        body["messageId"] = envelope["idempotencyKey"]
    message = accept(world, call, room, body)
    return message if isinstance(message, Reply) else {"status": "shared", "messageId": message.message_id}


def _is_known(world: World, agent: Agent, principal_id: str) -> bool:
    """Whether the agent shares a room with them, or finds them in the directory."""
    listed = principal_id in world.agents and world.agents[principal_id].listed
    rooms = (room.member_ids for room in world.conversations.values())
    return listed or any(agent.agent_id in members and principal_id in members for members in rooms)


def no_reply(world: World, call: Call, envelope: Json, value: Json) -> Json | Reply:
    reason = value.get("reason")
    if reason is not None and (not isinstance(reason, str) or len(reason) > REASON):
        return refusal(400, f"reason must be a text of at most {REASON} characters", "INVALID_VERB_FRAME")
    conversation_id = envelope.get("conversationId")
    if conversation_id is not None:
        room = world.room_for(call, conversation_id)
        if isinstance(room, Reply):
            return room
    world.silences.append(
        {
            "agentId": call.caller.agent_id,
            "conversationId": conversation_id,
            "messageId": envelope.get("messageId"),
            "hasReason": reason is not None,
            "messages": world.message_count,
        }
    )
    return {
        "status": "acknowledged",
        "conversationId": conversation_id,
        "note": "Acknowledged — nothing was posted to the conversation.",
    }
