"""How a message enters the world, and which agents hear of it. Pure.

One path for everybody: people, agents, and the server itself. It stores, counts notifications, and puts
``message.created`` on the streams of the agents that the dispatch rule lets it through to.
"""

from __future__ import annotations

from typing import Any, Final

from canon_ops.sandbox.records import Agent, Conversation, Json, Message
from canon_ops.sandbox.state import World

__all__ = ["RECEIPT_TYPES", "UNSET", "dispatch_verdict", "notifies", "post"]

RECEIPT_TYPES: Final = (
    "approval_reply",
    "approval_outcome",
    "runtime_input_reply",
    "runtime_input_outcome",
    "runtime_card_reply",
    "runtime_card_outcome",
    "plan_approval_reply",
)
"""``metadata.type`` values that only the server writes; a tuple, as what a client sends may have no hash. Wire 7.4."""

UNSET: Final = object()
"""Stands for "decide by the rule" where None means "leave it out"."""


def dispatch_verdict(message: Message) -> str:
    """The server's own reading of which message wakes a turn. Source: Canon wire 7.2."""
    if message.metadata.get("replyBehavior") == "suppress_auto_reply":
        return "record_only"
    if message.sender_type == "human":
        return "run_turn"
    return "run_turn" if message.semantics in {"turn_complete", "control"} else "record_only"


def notifies(message: Message) -> bool:
    """Whether people's phones ring: not for progress, not for receipts. Source: Canon wire 11.4."""
    return message.semantics != "progress" and message.metadata.get("type") not in RECEIPT_TYPES


def post(
    world: World,
    room: Conversation,
    *,
    sender_id: str,
    sender_type: str,
    text: str | None,
    origin: str,
    now_ms: int,
    message_id: str | None = None,
    metadata: Json | None = None,
    verdict: object = UNSET,
    event_extra: Json | None = None,
    announce: bool = True,
    **fields: Any,
) -> Message:
    """Store a message and tell the agents in the room.

    Args:
        verdict: the ``turnDispatch.kind`` to send; None omits the key as an old server would.
        event_extra: keys that replace or join those of the event's payload; a value of None removes the key.
        announce: False stores without any event.
        fields: further fields of :class:`Message`.
    """
    world.message_count += 1
    message = Message(
        message_id or world.mint("msg"),
        room.conversation_id,
        sender_id,
        world.name_of(sender_id),
        sender_type,
        text,
        now_ms,
        origin,
        world.message_count,
        metadata=metadata if metadata is not None else {},
        **fields,
    )
    room.messages[message.message_id] = message
    room.agent_streak = 0 if sender_type == "human" else room.agent_streak + 1
    if notifies(message):
        world.notifications[room.conversation_id] += 1
    if sender_type != "human" and message.semantics == "turn_complete" and message.turn_id:
        world.finals[sender_id, message.turn_id] += 1
    if announce:
        _announce(world, room, message, verdict, event_extra or {})
    return message


def _announce(world: World, room: Conversation, message: Message, verdict: object, extra: Json) -> None:
    ruled = dispatch_verdict(message)
    for member in room.member_ids:
        agent = world.agents.get(member)
        if agent is None or (member == message.sender_id and not world.options.echo_to_author):
            continue
        kind = ruled if verdict is UNSET else verdict
        if message.origin == "agent" and _exhausted(room):
            kind = "record_only"
        if message.sender_type != "human" and kind == "record_only" and not world.options.emit_suppressed:
            continue  # the live stream leaves these out, Canon wire 6.5
        payload = {**_created(world, room, message, agent, kind), **extra}
        payload = {key: value for key, value in payload.items() if value is not None}
        world.publish(member, "message.created", payload, occasion=message.message_id)


def _exhausted(room: Conversation) -> bool:
    """Whether the agents have talked among themselves for long enough."""
    limit = room.max_consecutive_agent_turns
    return limit is not None and room.agent_streak > limit


def _created(world: World, room: Conversation, message: Message, agent: Agent, kind: object) -> Json:
    """The payload of ``message.created`` for one agent. Source: Canon wire 6.5."""
    return {
        "conversationId": room.conversation_id,
        "conversation": room.summary(),
        "message": {**message.wire(), "isOwner": message.sender_id == agent.owner_id},
        "turnDispatch": None if kind is None else {"kind": kind},
        "provenance": {
            "mentionedAgent": agent.agent_id in message.mentions,
            "conversation": {"id": room.conversation_id, "type": room.kind},
        },
        "behavior": {"participation": {"maxConsecutiveAgentTurns": room.max_consecutive_agent_turns}},
        "replyAuthority": world.reply_authority(agent, message) if kind == "run_turn" else None,
    }
