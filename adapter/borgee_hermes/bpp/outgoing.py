"""The frames of a client, as the text that goes out. Pure.

Compact separators, everything but lone surrogates raw, no NaN. A lone surrogate has no UTF-8 form, so it goes out as
the JSON escape that it can only have come from. Source: Borgee 1.2, 1.3, 1.6, 1.9-1.11.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from borgee_hermes.bpp.actions import Action
from borgee_hermes.bpp.errors import ProtocolCapacity, ProtocolError
from borgee_hermes.bpp.events import ConfigUpdate
from borgee_hermes.bpp.limits import MAX_OUTGOING_BYTES
from borgee_hermes.bpp.port import Applied, ConfigAnswer

__all__ = [
    "PONG",
    "config_ack",
    "connect",
    "encode",
    "heartbeat",
    "response",
    "response_error",
    "semantic_action",
    "task_finished",
    "task_started",
]

CAPABILITIES = ("semantic_action", "inbound_message", "read_file")
VERSION = "bpp-1"


def encode(frame: Mapping[str, Any]) -> bytes:
    """The bytes of one message.

    Raises:
        ProtocolCapacity: more than the protocol lets through; nothing was sent.
        ProtocolError: not JSON: a NaN, or a value that JSON has no word for.
    """
    data = _dumps(frame).encode("utf-8", "backslashreplace")
    if len(data) > MAX_OUTGOING_BYTES:
        raise ProtocolCapacity(
            f"A {frame['type']} frame would have {len(data):,} bytes; the protocol takes {MAX_OUTGOING_BYTES:,}.",
            had_no_effect=True,
        )
    return data


def _dumps(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise ProtocolError(f"That cannot be sent as JSON: {exc}", had_no_effect=True) from exc


PONG = encode({"type": "pong"})


def connect(plugin_id: str) -> bytes:
    """The first frame of each connection. The key travels on the upgrade, so the token is always empty."""
    return encode(
        {
            "type": "connect",
            "plugin_id": plugin_id,
            "token": "",
            "version": VERSION,
            "capabilities": _dumps(CAPABILITIES),
        }
    )


def semantic_action(action: Action[Any], *, agent_id: str, nonce: str) -> bytes:
    """An act of the agent; the nonce comes back with its answer."""
    return encode(
        {
            "type": "semantic_action",
            "agent_id": agent_id,
            "action": action.name,
            "payload": _dumps(action.payload),
            "nonce": nonce,
        }
    )


def heartbeat(plugin_id: str, agent_id: str, *, now_ms: int) -> bytes:
    """We are here."""
    return encode(
        {
            "type": "heartbeat",
            "plugin_id": plugin_id,
            "agent_id": agent_id,
            "status": "online",
            "reason": "",
            "timestamp": now_ms,
        }
    )


def config_ack(update: ConfigUpdate, answer: ConfigAnswer, *, now_ms: int) -> bytes:
    """What became of an update."""
    applied = isinstance(answer, Applied)
    return encode(
        {
            "type": "agent_config_ack",
            "cursor": update.cursor,
            "agent_id": update.agent_id,
            "schema_version": update.schema_version,
            "idempotency_key": update.idempotency_key,
            "status": "applied" if applied else "rejected",
            "reason": "" if isinstance(answer, Applied) else answer.reason.value,
            "applied_at": now_ms if applied else 0,
        }
    )


def response(request_id: str, data: Any) -> bytes:
    """The answer to a server request; null is an answer."""
    return encode({"type": "response", "id": request_id, "data": data})


def response_error(request_id: str, error: str) -> bytes:
    """Why there is no answer."""
    return encode({"type": "response", "id": request_id, "error": error})


def task_started(*, task_id: str, agent_id: str, channel_id: str, subject: str, started_at_ms: int) -> bytes:
    """Work on something has begun."""
    if not subject.strip():
        raise ProtocolError("A task needs a subject; the server would drop it.", had_no_effect=True)
    return encode(
        {
            "type": "task_started",
            "task_id": task_id,
            "agent_id": agent_id,
            "channel_id": channel_id,
            "subject": subject,
            "started_at": started_at_ms,
        }
    )


def task_finished(
    *, task_id: str, agent_id: str, channel_id: str, outcome: str, reason: str, finished_at_ms: int
) -> bytes:
    """How it ended; only a failure has a reason, and has to have one."""
    if outcome not in {"completed", "failed", "cancelled"} or (outcome == "failed") != bool(reason):
        raise ProtocolError(
            f"The server would drop a task that is {outcome!r} with the reason {reason!r}.", had_no_effect=True
        )
    return encode(
        {
            "type": "task_finished",
            "task_id": task_id,
            "agent_id": agent_id,
            "channel_id": channel_id,
            "outcome": outcome,
            "reason": reason,
            "finished_at": finished_at_ms,
        }
    )
