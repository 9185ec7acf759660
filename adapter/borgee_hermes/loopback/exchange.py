"""What a frame of a client leads to, without any trouble: changes of the world, and perhaps a frame back. Pure.

Source: Borgee 1.3, 1.6, 1.11, 1.16.
"""

from __future__ import annotations

import json
from typing import Any, Final

from borgee_hermes.loopback.actions import perform
from borgee_hermes.loopback.actions.call import Call, Denied, Failed, Ok, Outcome
from borgee_hermes.loopback.records import Json, Report, User
from borgee_hermes.loopback.world import World

__all__ = ["answer", "is_own", "payload_of", "read", "result_frame", "task_refusal"]

OUTCOMES: Final = frozenset({"completed", "failed", "cancelled"})
REASONS: Final = frozenset(
    {
        "api_key_invalid",
        "quota_exceeded",
        "network_unreachable",
        "runtime_crashed",
        "runtime_timeout",
        "unknown",
    }
)


def read(message: str | bytes) -> Json | None:
    """The frame; None for anything that is not one, which a server ignores."""
    try:
        frame = json.loads(message)
    except (ValueError, RecursionError):
        return None
    return frame if isinstance(frame, dict) and isinstance(frame.get("type"), str) else None


def payload_of(frame: Json) -> Json:
    """The payload of a semantic action; empty when it is none."""
    try:
        payload = json.loads(frame.get("payload") or "{}")
    except (TypeError, ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def is_own(frame: Json, agent: User) -> bool:
    """Whether a frame names the agent whose connection it came over; only the opening may leave the name out."""
    named = frame.get("agent_id")
    opening = frame["type"] == "semantic_action" and frame.get("action") == "get_me" and named == ""
    return named == agent.user_id or opening


def answer(world: World, agent: User, frame: Json, *, now_ms: int) -> Json | None:
    """Carry a frame out; the frame that goes back at once, None for none."""
    match frame["type"]:
        case "semantic_action" if is_own(frame, agent):
            return _act(world, agent, frame, now_ms)
        case "task_started" | "task_finished":
            world.reports.append(Report(frame, task_refusal(world, agent, frame)))
        case "agent_config_ack" if is_own(frame, agent):
            world.config_acks.append(frame)
        case "response" if isinstance(frame.get("id"), str):
            world.responses.setdefault(frame["id"], frame)
        case "ping":
            return {"type": "pong"}
    return None


def _act(world: World, agent: User, frame: Json, now_ms: int) -> Json | None:
    nonce = frame.get("nonce")
    if not isinstance(nonce, str) or not nonce:
        return None
    known = world.results.get((agent.user_id, nonce))
    if known is not None:
        return known
    outcome = perform(frame.get("action"), Call(world, agent, payload_of(frame), now_ms))
    result = result_frame(frame, agent, outcome, now_ms=now_ms)
    world.remember_result(agent.user_id, nonce, result)
    return result


def result_frame(frame: Json, agent: User, outcome: Outcome, *, now_ms: int) -> Json:
    """What goes back about an action."""
    if isinstance(outcome, Denied):
        return {
            "type": "permission_denied",
            "agent_id": agent.user_id,
            "request_id": frame["nonce"],
            "attempted_action": frame.get("action", ""),
            "required_capability": outcome.capability,
            "current_scope": outcome.scope,
            "denied_at": now_ms,
        }
    failed = isinstance(outcome, Failed)
    return {
        "type": "semantic_action_result",
        "nonce": frame["nonce"],
        "status": "error" if failed else "ok",
        "payload": _payload(outcome.value) if isinstance(outcome, Ok) else "",
        "error": outcome.code if isinstance(outcome, Failed) else "",
    }


def _payload(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def task_refusal(world: World, agent: User, frame: Json) -> str | None:
    """Why a server drops a task lifecycle frame; None when it takes it."""
    channel = world.channels.get(str(frame.get("channel_id")))
    if frame.get("agent_id") != agent.user_id:
        return "foreign agent"
    if not isinstance(frame.get("task_id"), str) or not frame["task_id"]:
        return "no task id"
    if channel is None or agent.user_id not in channel.member_ids:
        return "not a member"
    if frame["type"] == "task_started":
        subject = frame.get("subject")
        return None if isinstance(subject, str) and subject.strip() else "blank subject"
    outcome, reason = frame.get("outcome"), frame.get("reason")
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        return "unknown outcome"
    fits = isinstance(reason, str) and (reason in REASONS if outcome == "failed" else not reason)
    return None if fits else "reason does not fit"
