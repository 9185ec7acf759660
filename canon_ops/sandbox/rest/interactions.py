"""Questions to people: create one, take its answer. Pure. Source: Canon wire 9.2, 9.3, 9.6, 11.5.

::

    pending ──answer(person)──▶ answered ──consume──▶ gone; an approval leaves a tombstone, readable for 72 h
       │  └─consume(cancel)──▶ gone
       └─expiresAt──consume──▶ "timeout", then gone

Ids are single use for ever, whatever became of the first one.
"""

from __future__ import annotations

import re
from typing import Any, Final

from canon_ops.sandbox.answering import give_standing_answer
from canon_ops.sandbox.cards import envelope_fault, is_interactive
from canon_ops.sandbox.posting import post
from canon_ops.sandbox.records import Conversation, Interaction, Json, Tombstone
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["CAP_CLAMP", "CAP_REJECT", "ID_KEYS", "consume", "create"]

ID_KEYS: Final = {"input": "inputId", "card": "cardId", "approval": "approvalId"}
REPLAY_MS = 72 * 3_600_000
FLOOR_MS = 1_000
GENERAL_CEILING_MS = 30 * 60_000
APPROVAL_CEILING_MS = 72 * 3_600_000
SLACK_MS = 5_000  # the client asks for exactly 72 h by its own clock, Canon wire 11.5
CAP_CLAMP, CAP_REJECT = "approval-cap-clamp", "approval-cap-reject"

_LONG_ID = re.compile(r"[A-Za-z0-9_.:-]{1,160}")
_CARD_ID = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
_INPUT_KINDS = ("clarify", "sudo", "secret")
_NATIVE_KEYS = frozenset(
    [
        "runtime",
        "method",
        "requestId",
        "provider",
        "origin",
        "surface",
        "threadId",
        "turnId",
        "runId",
        "itemId",
        "toolCallId",
        "approvalId",
        "pluginId",
        "sessionKey",
        "nodeId",
        "handles",
    ]
)


# Create ---------------------------------------------------------------------------------------------------------------


def create(world: World, call: Call) -> Reply:
    """``POST /runtime-interaction/request``."""
    room = world.room_for(call, call.body.get("conversationId"))
    if isinstance(room, Reply):
        return room
    kind = call.body.get("interactionKind")
    if not isinstance(kind, str) or kind not in ID_KEYS:
        return refusal(400, f"unknown interactionKind: {kind!r}")
    request_id = _request_id(kind, call.body)
    fault = _fault_of(world, kind, request_id, call.body)
    if fault is not None:
        return refusal(400, fault, "INVALID_RUNTIME_REQUEST")
    if (kind, request_id) in world.interactions:
        return refusal(409, f"This {ID_KEYS[kind]} was used before", "RUNTIME_REQUEST_ID_EXISTS")
    expiry = _expiry(call, kind)
    if isinstance(expiry, Reply):
        return expiry
    responder = _responder(world, call, room)
    if isinstance(responder, Reply):
        return responder
    request_id = request_id if request_id is not None else world.mint("card")
    return _store(world, call, room, kind=kind, request_id=request_id, expires_at_ms=expiry, responder_id=responder)


def _request_id(kind: str, body: Json) -> Any:
    """The id that the client chose; a card may name it in its document, or leave it to the server (None)."""
    given = body.get(ID_KEYS[kind])
    if kind == "card" and given is None and isinstance(body.get("card"), dict):
        given = body["card"].get("cardId")
    return given


def _fault_of(world: World, kind: str, request_id: Any, body: Json) -> str | None:
    """The first thing that is wrong with a request, by itself."""
    pattern = _CARD_ID if kind == "card" else _LONG_ID
    left_to_us = kind == "card" and request_id is None
    if not left_to_us and not (isinstance(request_id, str) and pattern.fullmatch(request_id)):
        return f"{ID_KEYS[kind]} is missing or has the wrong shape"
    if not isinstance(body.get("expiresAt"), int) or isinstance(body.get("expiresAt"), bool):
        return "expiresAt must be an integer"
    match kind:
        case "card":
            return envelope_fault(body.get("card"), media_prefix=f"{world.base_url}/files/")
        case "input":
            if body.get("kind", "clarify") not in _INPUT_KINDS:
                return f"unknown input kind: {body.get('kind')!r}"
            if not any(body.get(key) for key in ("title", "prompt", "questions")):
                return "an input needs a title, a prompt or questions"
        case "approval":
            missing = [key for key in ("toolName", "toolSummary") if not isinstance(body.get(key), str)]
            return f"missing: {', '.join(missing)}" if missing else None
    return None


def _expiry(call: Call, kind: str) -> int | Reply:
    """The effective expiry, by the server's ceilings or by those of an old server that a fault plays."""
    asked: int = call.body["expiresAt"]
    ahead = asked - call.now_ms
    if ahead < FLOOR_MS:
        return refusal(400, "expiresAt must be at least 1 second in the future", "INVALID_EXPIRES_AT")
    if kind == "approval" and ahead > GENERAL_CEILING_MS + SLACK_MS:
        if call.bent == CAP_CLAMP:
            return call.now_ms + GENERAL_CEILING_MS
        if call.bent == CAP_REJECT:
            body = {"error": "expiresAt must be at most 30 minutes in the future", "code": "INVALID_EXPIRES_AT"}
            return Reply(400, body, was_bent=True)
    ceiling, words = (APPROVAL_CEILING_MS, "72 hours") if kind == "approval" else (GENERAL_CEILING_MS, "30 minutes")
    if ahead > ceiling + SLACK_MS:
        return refusal(400, f"expiresAt must be at most {words} in the future", "INVALID_EXPIRES_AT")
    return asked


def _responder(world: World, call: Call, room: Conversation) -> str | Reply:
    """Who may answer: whoever was asked for, or the owner. Source: Canon wire 9.4."""
    people = [member for member in room.member_ids if member in world.humans]
    asked, owner = call.body.get("responseUserId"), call.caller.owner_id
    if asked is not None and not _is_owner_only(call.body):
        return asked if asked in people else refusal(400, "responseUserId is not a human member", "INVALID_RESPONDER")
    if owner in people:
        return owner
    return people[0] if len(people) == 1 else refusal(400, "nobody here may answer", "INVALID_RESPONDER")


def _is_owner_only(body: Json) -> bool:
    questions = body.get("questions")
    questions = questions if isinstance(questions, list) else []
    secret = any(isinstance(item, dict) and item.get("isSecret") for item in questions)
    return body.get("kind") in ("secret", "sudo") or body.get("sensitive") is True or secret


def _store(
    world: World, call: Call, room: Conversation, *, kind: str, request_id: str, expires_at_ms: int, responder_id: str
) -> Reply:
    body, agent = call.body, call.caller
    rule_allowed = kind == "approval" and body.get("allowSessionRule") is True and responder_id == agent.owner_id
    shown = _shortened(body)
    message = post(
        world,
        room,
        sender_id=agent.agent_id,
        sender_type="ai_agent",
        text=str(body.get("prompt") or body.get("toolSummary") or (body.get("card") or {}).get("fallbackText") or ""),
        origin="server",
        now_ms=call.now_ms,
        content_type="interaction",
        extra={"interaction": {"kind": kind, ID_KEYS[kind]: request_id, "responseUserId": responder_id}},
    )
    interaction = Interaction(
        kind,
        request_id,
        room.conversation_id,
        agent.agent_id,
        shown,
        responder_id,
        expires_at_ms,
        rule_allowed,
        message.message_id,
    )
    world.interactions[kind, request_id] = interaction
    give_standing_answer(world, interaction, now_ms=call.now_ms)
    answer: Json = {
        "messageId": message.message_id,
        ID_KEYS[kind]: request_id,
        "expiresAt": expires_at_ms,
        "responseUserId": responder_id,
    }
    if kind == "card":
        answer["interactive"] = is_interactive(body["card"])
    if kind == "approval":
        answer["allowSessionRule"] = rule_allowed
    return Reply(201, answer, was_bent=expires_at_ms != body["expiresAt"])


def _shortened(body: Json) -> Json:
    """The request as it is kept: what is longer than the contract is cut, what it does not know is dropped."""
    kept = dict(body)
    if isinstance(body.get("details"), list):
        kept["details"] = [_cut(row, {"label": 80, "value": 500}) for row in body["details"][:8]]
    if isinstance(body.get("choices"), list):
        kept["choices"] = [_cut(row, {"label": 120, "value": 200, "description": 300}) for row in body["choices"][:12]]
    if isinstance(body.get("native"), dict):
        kept["native"] = {key: value for key, value in body["native"].items() if key in _NATIVE_KEYS}
    return {**kept, **_cut(kept, {"title": 160, "prompt": 4_000, "toolName": 128, "toolSummary": 1_000})}


def _cut(row: Any, limits: dict[str, int]) -> Any:
    """An object's texts cut to their limits; anything else as it is."""
    if not isinstance(row, dict):
        return row
    cut = {key: row[key][:limit] for key, limit in limits.items() if isinstance(row.get(key), str)}
    return {**row, **cut}


# Consume --------------------------------------------------------------------------------------------------------------


def consume(world: World, call: Call) -> Reply:
    """``POST /runtime-interaction/consume``: the answer once, an approval's decision again for 72 hours."""
    kind = call.body.get("interactionKind")
    if not isinstance(kind, str) or kind not in ID_KEYS:
        return refusal(400, f"unknown interactionKind: {kind!r}")
    request_id = str(call.body.get(ID_KEYS[kind]))
    found = world.interactions.get((kind, request_id))
    room = world.conversations.get(str(call.body.get("conversationId")))
    if found is None or room is None or found.conversation_id != room.conversation_id:
        return _not_pending(kind)
    if found.agent_id != call.caller.agent_id or call.caller.agent_id not in room.member_ids:
        return _not_pending(kind)
    if found.state == "gone":
        return _from_tombstone(world, call, found)
    named = {ID_KEYS[kind]: request_id}
    if found.state == "answered":
        return _taken(world, call, found)
    if found.state == "cancelled" or call.body.get("cancel") is True:
        found.state = "gone"
        return Reply(200, {"status": "cancelled", **named, **(found.answer or {})})
    if call.now_ms >= found.expires_at_ms:
        found.state = "gone"
        return Reply(200, {"status": "timeout", **named})
    return Reply(200, {"status": "pending", **named, "expiresAt": found.expires_at_ms})


def _taken(world: World, call: Call, found: Interaction) -> Reply:
    answer = found.answer or {}
    if found.kind == "approval":
        world.tombstones[found.request_id] = Tombstone(
            answer["status"], answer["respondedBy"], found.agent_id, call.now_ms
        )
    found.state, found.answer = "gone", None
    return Reply(200, answer)


def _from_tombstone(world: World, call: Call, found: Interaction) -> Reply:
    left = world.tombstones.get(found.request_id) if found.kind == "approval" else None
    if left is None or call.now_ms - left.first_taken_at_ms > REPLAY_MS:
        return _not_pending(found.kind)
    return Reply(200, {"status": left.decision, "approvalId": found.request_id, "respondedBy": left.responder_id})


def _not_pending(kind: str) -> Reply:
    code = "RUNTIME_APPROVAL_NOT_FOUND" if kind == "approval" else None
    return refusal(404, "Runtime request is no longer pending", code)
