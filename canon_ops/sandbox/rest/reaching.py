"""Who may be reached: what stands between an agent and a person, another agent, or a group. Pure.

Source: Canon wire 5.3, 5.4, 11.6.
"""

from __future__ import annotations

from canon_ops.sandbox.records import Agent, Contact, Human, Json
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["admission", "id_of", "outbound_refusal", "principal_of"]


def outbound_refusal(agent: Agent) -> Reply | None:
    """The deployer's word about reaching out. Source: Canon wire 5.4."""
    if agent.outbound_policy == "open" or (agent.outbound_policy == "approval-required" and agent.may_reach_out):
        return None
    if agent.outbound_policy == "closed":
        return refusal(403, "Outbound communication is closed", "OUTBOUND_COMMUNICATION_CLOSED")
    return refusal(403, "Agent outbound approval is required", "OUTBOUND_APPROVAL_REQUIRED")


def principal_of(world: World, principal_id: str) -> Human | Agent | None:
    return world.humans.get(principal_id) or world.agents.get(principal_id)


def id_of(principal: Human | Agent) -> str:
    return principal.user_id if isinstance(principal, Human) else principal.agent_id


def admission(world: World, call: Call, target: Human | Agent, conversation_id: str | None, policy: str) -> Json | None:
    """What stands between the caller and ``target``; None when nothing does."""
    agent_id = call.caller.agent_id
    if isinstance(target, Human) and agent_id in target.blocked:
        return {"status": "blocked", "reason": "blocked"}
    if policy == "closed":
        return {"status": "unavailable", "reason": "closed"}
    if policy == "open" or id_of(target) == call.caller.owner_id:
        return None
    wish = (agent_id, id_of(target), conversation_id)
    known = [item for item in world.contacts.values() if (item.agent_id, item.target_id, item.conversation_id) == wish]
    if any(item.state == "accepted" for item in known):
        return None
    waiting = next((item for item in known if item.state == "pending"), None)
    if waiting is not None:
        return {"status": "pending", "requestId": waiting.request_id}
    request_id = world.mint("req")
    world.contacts[request_id] = Contact(request_id, *wish)
    return {"status": "requested", "requestId": request_id}
