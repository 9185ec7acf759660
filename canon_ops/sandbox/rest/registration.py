"""How an agent comes to its key: register, poll, acknowledge. Pure.

The key is told with every ``approved`` answer until it is acknowledged, never afterwards. Source: Canon wire 3, 11.3.
"""

from __future__ import annotations

from canon_ops.sandbox.records import Agent, Registration
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["acknowledge", "approve", "register", "reject", "status"]

REQUIRED = ("name", "description", "ownerPhone", "developerInfo", "clientType", "localRegistrationId")
TOKEN_HEADER = "x-canon-poll-token"  # noqa: S105  # the name of a header


def register(world: World, call: Call) -> Reply:
    """``POST /agents/register``: the same local id with the same body is the same request."""
    missing = [key for key in REQUIRED if not isinstance(call.body.get(key), str) or not call.body[key]]
    if missing:
        return refusal(400, f"missing or empty: {', '.join(missing)}")
    known = world.request_by_local_id.get(call.body["localRegistrationId"])
    if known is not None:
        request = world.registrations[known]
        if request.body != call.body:
            return refusal(409, "localRegistrationId was used for another registration", "REGISTRATION_ID_EXISTS")
        return _accepted(request)
    owner = next((human for human in world.humans.values() if human.phone == call.body["ownerPhone"]), None)
    if owner is None:
        return refusal(404, "No Canon account has this phone number", "OWNER_NOT_FOUND")
    request_id = world.mint("reg")
    request = Registration(
        request_id, "pt_" + world.secret("poll", request_id)[:40], call.body, owner.user_id, call.now_ms
    )
    world.registrations[request_id] = request
    world.request_by_local_id[call.body["localRegistrationId"]] = request_id
    return _accepted(request)


def _accepted(request: Registration) -> Reply:
    return Reply(201, {"requestId": request.request_id, "pollToken": request.poll_token})


def status(world: World, call: Call) -> Reply:
    """``GET /agents/status/{requestId}``."""
    request = _authorized(world, call)
    if isinstance(request, Reply):
        return request
    request.polls += 1
    options = world.options
    if request.status == "pending" and options.auto_approve and request.polls > options.approve_after_polls:
        approve(world, request, now_ms=call.now_ms)
    if request.status != "approved" or request.agent_id is None:
        return Reply(200, {"status": request.status})
    agent = world.agents[request.agent_id]
    body = {"status": "approved", "agentId": agent.agent_id, "agentName": agent.name}
    if request.key_expired or _outlived(world, request, call.now_ms):
        request.key_expired = True
        return Reply(200, {**body, "apiKeyExpired": True})
    if request.acknowledged:
        return Reply(200, {**body, "apiKeyDelivered": True})
    request.key_delivered = True
    return Reply(200, {**body, "apiKey": agent.api_key})


def _outlived(world: World, request: Registration, now_ms: int) -> bool:
    """Whether the key has waited for its acknowledgement longer than the server keeps it."""
    life_s = world.options.key_life_s
    if request.acknowledged or life_s is None or request.approved_at_ms is None:
        return False
    return now_ms - request.approved_at_ms >= life_s * 1000


def acknowledge(world: World, call: Call) -> Reply:
    """``POST /agents/status/{requestId}/ack``: safe to repeat."""
    request = _authorized(world, call)
    if isinstance(request, Reply):
        return request
    if request.status != "approved":
        return refusal(409, "The registration has not been approved")
    request.acknowledged = True
    return Reply(200, {})


def _authorized(world: World, call: Call) -> Registration | Reply:
    request = world.registrations.get(call.params["request_id"])
    if request is None:
        return refusal(404, "Unknown registration")
    token = call.headers.get(TOKEN_HEADER)
    if token is None:
        return refusal(401, "A poll token is required")
    return request if token == request.poll_token else refusal(403, "The poll token belongs to another registration")


def approve(world: World, request: Registration, *, now_ms: int) -> Agent:
    """The owner says yes: the agent, its key and its direct conversation exist from here on.

    A ``requestedAgentId`` that belongs to the same owner is given back, with a new key where the old one was revoked;
    any other gets a new identity.
    """
    if request.agent_id is not None:
        return world.agents[request.agent_id]
    wanted = world.agents.get(request.body.get("requestedAgentId", ""))
    if wanted is not None and wanted.owner_id == request.owner_id:
        agent = wanted
        agent.name = request.body["name"]
        if agent.revoked:
            world.renew_key(agent)
    else:
        agent = world.add_agent(request.body["name"], request.owner_id)
        agent.description = request.body["description"]
    if world.direct_conversation(agent.agent_id, request.owner_id) is None:
        world.add_conversation([request.owner_id, agent.agent_id], kind="direct", now_ms=now_ms)
    request.status, request.agent_id, request.approved_at_ms = "approved", agent.agent_id, now_ms
    return agent


def reject(request: Registration) -> None:
    """The owner says no."""
    request.status = "rejected"
