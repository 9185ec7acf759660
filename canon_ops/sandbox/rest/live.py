"""What lives only while an agent works: typing, the streaming node, turn states, runtime status, signals. Pure.

Source: Canon wire 4.7-4.11, 8, 11.3.
"""

from __future__ import annotations

from collections import deque

from canon_ops.sandbox.descriptor import normalised
from canon_ops.sandbox.posting import post
from canon_ops.sandbox.records import NODE_WRITES_REMEMBERED, Conversation, Json, Node, TurnLog
from canon_ops.sandbox.rest.messages import TEXT_BYTES
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["consume_signal", "runtime_status", "runtime_turn", "streaming", "typing"]

TYPING_LAPSE_MS = 6_000  # chosen: three missed refreshes of about two seconds, Canon wire 8.2
LIVE_BLOCKS = 30
TURN_STATES = ("thinking", "streaming", "tool", "waiting_input", "completed", "interrupted", "idle")


def typing(world: World, call: Call) -> Reply:
    """``POST /typing``: a mark that lapses by itself."""
    room = world.room_for(call, call.body.get("conversationId"))
    if isinstance(room, Reply):
        return room
    on, kind = call.body.get("typing"), call.body.get("status", "typing")
    if not isinstance(on, bool) or kind not in ("typing", "thinking"):
        return refusal(400, "typing must be a boolean and status one of typing, thinking")
    key = (room.conversation_id, call.caller.agent_id)
    if on:
        world.typing[key] = (kind, call.now_ms + TYPING_LAPSE_MS)
    else:
        world.typing.pop(key, None)
    event = {"conversationId": room.conversation_id, "userId": call.caller.agent_id, "typing": on}
    world.publish_to_members(room, "typing", event, but=call.caller.agent_id)
    return Reply(200, {})


def streaming(world: World, call: Call) -> Reply:
    """``POST /streaming``: merge into the node, or delete it and keep what would be lost."""
    room = world.room_for(call, call.body.get("conversationId"))
    if isinstance(room, Reply):
        return room
    body, key = call.body, (room.conversation_id, call.caller.agent_id)
    deleting = body.get("streaming") is False
    if not deleting and not isinstance(body.get("status"), str):
        return refusal(400, "status must be a string")
    writes = world.node_writes.setdefault(key, deque(maxlen=NODE_WRITES_REMEMBERED))
    writes.append({**body, "at": call.now_ms})
    if deleting:
        return Reply(200, {"salvage": _salvage(world, call, room, world.nodes.pop(key, None))})
    node = world.nodes.setdefault(key, Node())
    node.status, node.updated_at_ms = body["status"], call.now_ms
    if isinstance(body.get("text"), str):
        node.text = body["text"]
    if isinstance(body.get("turnId"), str):
        node.turn_id = body["turnId"]
    if isinstance(body.get("messageId"), str):
        node.message_id = body["messageId"]
    if isinstance(body.get("blocks"), list):
        node.blocks = body["blocks"][:LIVE_BLOCKS]
    return Reply(200, {})


def _salvage(world: World, call: Call, room: Conversation, node: Node | None) -> Json:
    """Keep the content of a node whose turn left no final message. Source: Canon wire 4.8."""
    if node is None or node.is_empty():
        return {"written": False, "reason": "empty_streaming_content"}
    if node.turn_id is not None and world.finals[call.caller.agent_id, node.turn_id]:
        return {"written": False, "reason": "turn_complete_exists"}
    metadata: Json = {"turnSemantics": "progress", "turnTrail": node.blocks}
    if node.turn_id is not None:
        metadata["turnId"] = node.turn_id
    text = node.text.encode("utf-8", "replace")[:TEXT_BYTES].decode("utf-8", "ignore")
    message = post(
        world,
        room,
        sender_id=call.caller.agent_id,
        sender_type="ai_agent",
        text=text,
        origin="server",
        now_ms=call.now_ms,
        metadata=metadata,
    )
    return {"written": True, "messageId": message.message_id}


def runtime_turn(world: World, call: Call) -> Reply:
    """``POST /runtime/turn``: what the agent says it is doing."""
    room = world.room_for(call, call.body.get("conversationId"))
    if isinstance(room, Reply):
        return room
    if call.body.get("state") not in TURN_STATES:
        return refusal(400, f"unknown turn state: {call.body.get('state')!r}")
    agent_id = call.caller.agent_id
    log = world.turns.setdefault((room.conversation_id, agent_id), TurnLog())
    log.last = call.body
    log.history.append(call.body)
    event = {"conversationId": room.conversation_id, "agentId": agent_id, "state": call.body["state"]}
    if isinstance(call.body.get("turnId"), str):
        event["turnId"] = call.body["turnId"]
    world.publish_to_members(room, "runtime.turn", event, but=agent_id)
    return Reply(200, {})


def runtime_status(world: World, call: Call) -> Reply:
    """``POST /runtime/status``: the heartbeat with the descriptor."""
    if not isinstance(call.body.get("runtime"), str):
        return refusal(400, "runtime must be a string")
    kept = dict(call.body)
    if "runtimeDescriptor" in kept:
        kept["runtimeDescriptor"] = normalised(kept["runtimeDescriptor"])
    world.runtime_status[call.caller.agent_id] = (kept, call.now_ms)
    return Reply(200, {})


def consume_signal(world: World, call: Call) -> Reply:
    """``POST /runtime/signal/consume``: take the pending signal away, if there is one."""
    room = world.room_for(call, call.body.get("conversationId"))
    if isinstance(room, Reply):
        return room
    signal = world.signals.pop(room.conversation_id, None)
    if signal is None:
        return Reply(200, {"status": "none"})
    return Reply(200, {"status": "signal", "signal": signal.kind, "updatedBy": signal.set_by})
