"""Who is there: environment, agent, rooms. Pure. Source: Canon wire 1.5, 4.1, 4.3."""

from __future__ import annotations

from canon_ops.sandbox.state import Call, Reply, World

__all__ = ["conversations", "health", "me"]


def health(world: World, call: Call) -> Reply:
    """``GET /healthz/`` on the API, ``GET /health`` on the stream; the shell adds the identity header."""
    return Reply(200, {"status": "ok", "environmentId": world.options.environment_id, "projectId": world.project_id})


def me(world: World, call: Call) -> Reply:
    """``GET /agents/me``."""
    agent = call.caller
    body = {"agentId": agent.agent_id, "displayName": agent.name, "ownerId": agent.owner_id}
    if agent.outbound_policy is not None:
        body["outboundPolicy"] = agent.outbound_policy
    return Reply(200, body)


def conversations(world: World, call: Call) -> Reply:
    """``GET /conversations``: only the caller's own."""
    rooms = [room for room in world.conversations.values() if call.caller.agent_id in room.member_ids]
    return Reply(200, {"conversations": [room.summary() for room in rooms]})
