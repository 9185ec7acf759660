"""The verb wire: frame, envelope, policy, and what each verb does. Pure. Source: Canon wire 5, 11.6.

A verb that the server takes answers with a frame whose value has a ``status``; one that it refuses is an HTTP error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canon_ops.sandbox.records import Json
from canon_ops.sandbox.rest.groups import add_member, create_group, remove_member
from canon_ops.sandbox.rest.messages import is_client_id
from canon_ops.sandbox.rest.passing import forward, no_reply, send_to, share_contact
from canon_ops.sandbox.rest.reaching import outbound_refusal
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["VERBS", "invoke"]

WIRE: Final = "canon.verb-wire.v1"
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,160}")
_PATTERNED = ("conversationId", "sourceConversationId")
_SELECTIONS = ("new", "continue_latest", "continue_or_create", "specific")


def _never(envelope: Json) -> bool:
    return False


def _always(envelope: Json) -> bool:
    return True


def _to_a_person(envelope: Json) -> bool:
    return "targetUserId" in envelope


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: its envelope, what carries it out (it gives the value, or the refusal), and whether the deployer's
    outbound policy has a say."""

    run: Callable[[World, Call, Json, Json], Json | Reply]
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    reaches_out: Callable[[Json], bool] = _never


def invoke(world: World, call: Call) -> Reply:
    """``POST /agent/verbs/{verb}``."""
    name = call.params["verb"]
    verb = VERBS.get(name)
    if verb is None:
        return refusal(404, f"no such verb: {name}")
    fault = _frame_fault(call.body, name) or _envelope_fault(verb, call.body["envelope"])
    if fault is not None:
        return refusal(400, fault, "INVALID_VERB_FRAME")
    envelope, value = call.body["envelope"], call.body["body"]["value"]
    refused = outbound_refusal(call.caller) if verb.reaches_out(envelope) else None
    result = refused or verb.run(world, call, envelope, value)
    if isinstance(result, Reply):
        return result
    return Reply(200, {"wire": WIRE, "verb": name, "result": {"encoding": "json", "value": result}})


def _frame_fault(body: Json, name: str) -> str | None:
    if set(body) != {"wire", "verb", "envelope", "body"}:
        return "a verb frame has exactly wire, verb, envelope and body"
    if body["wire"] != WIRE:
        return f"wire must be {WIRE}"
    if body["verb"] != name:
        return "the verb of the body is not the verb of the path"
    inner = body["body"]
    if not isinstance(inner, dict) or inner.get("encoding") != "json" or not isinstance(inner.get("value"), dict):
        return "body must be {encoding: json, value: object}"
    return None if isinstance(body["envelope"], dict) else "envelope must be an object"


def _envelope_fault(verb: Verb, envelope: Json) -> str | None:
    if missing := sorted(verb.required - set(envelope)):
        return f"the envelope lacks {', '.join(missing)}"
    if unknown := sorted(set(envelope) - verb.required - verb.optional):
        return f"the envelope has unknown keys: {', '.join(unknown)}"
    for key in _PATTERNED:
        if key in envelope and not _is_id(envelope[key]):
            return f"{key} has the wrong shape"
    for key in ("targetUserId", "contactUserId", "canonContactId", "messageId"):
        if key in envelope and not (isinstance(envelope[key], str) and envelope[key]):
            return f"{key} must be a non-empty text"
    if "idempotencyKey" in envelope and not is_client_id(envelope["idempotencyKey"]):
        return "idempotencyKey has the wrong shape"
    return _selection_fault(envelope.get("sessionSelection", {"mode": "continue_or_create"}))


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _selection_fault(selection: Any) -> str | None:
    if not isinstance(selection, dict) or selection.get("mode") not in _SELECTIONS:
        return "sessionSelection has no known mode"
    if selection["mode"] == "specific" and not _is_id(selection.get("conversationId")):
        return "sessionSelection names no conversation"
    return None


_SEND_KEYS = frozenset(
    [
        "conversationId",
        "targetUserId",
        "canonContactId",
        "sourceConversationId",
        "sessionSelection",
        "idempotencyKey",
        "replyTo",
        "replyToPosition",
        "mentions",
        "turn",
    ]
)

_MEMBER = frozenset({"conversationId", "targetUserId"})
_CONTACT = frozenset({"conversationId", "contactUserId"})

VERBS: Final[Mapping[str, Verb]] = {
    "send_to": Verb(send_to, optional=_SEND_KEYS, reaches_out=_to_a_person),
    "create_group": Verb(create_group, frozenset({"memberIds"}), reaches_out=_always),
    "forward": Verb(forward, frozenset({"sourceConversationId", "conversationId", "messageId"})),
    "share_contact": Verb(share_contact, _CONTACT, frozenset({"idempotencyKey"})),
    "add_member": Verb(add_member, _MEMBER, reaches_out=_always),
    "remove_member": Verb(remove_member, _MEMBER),
    "no_reply": Verb(no_reply, optional=frozenset({"conversationId", "messageId"})),
}
"""The verbs that clients of this line call. Source: Canon wire 5.2."""
