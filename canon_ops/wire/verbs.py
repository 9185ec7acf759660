"""The verb wire ``canon.verb-wire.v1``: an agent's acts on people and rooms, each one frame out and one frame back.

Anything in an answer that is not exactly as agreed is an error, never a success: a send that was not admitted must not
look like one that was.

Source: Canon wire 5.1-5.3; canon-adapter R7.45.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from canon_ops.errors import OutsideError
from canon_ops.wire.fields import JsonObject, as_object

__all__ = [
    "VERBS",
    "WIRE",
    "MalformedVerbAnswer",
    "VerbShape",
    "checked_value",
    "verb_request",
    "verb_result",
    "verb_value",
]

WIRE = "canon.verb-wire.v1"


@dataclass(frozen=True, slots=True)
class VerbShape:
    """The envelope keys of a verb; the server refuses any other key."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


def _shape(required: str = "", optional: str = "") -> VerbShape:
    return VerbShape(frozenset(required.split()), frozenset(optional.split()))


VERBS: Mapping[str, VerbShape] = MappingProxyType({
    "send_to": _shape(
        optional="conversationId targetUserId canonContactId sourceConversationId sessionSelection idempotencyKey"
        " replyTo replyToPosition mentions turn"
    ),
    "create_group": _shape("memberIds"),
    "forward": _shape("sourceConversationId conversationId messageId"),
    "share_contact": _shape("conversationId contactUserId", "idempotencyKey"),
    "add_member": _shape("conversationId targetUserId"),
    "remove_member": _shape("conversationId targetUserId"),
    "no_reply": _shape(optional="conversationId messageId"),
})  # fmt: skip
"""The verbs we use; the contract has more."""


class MalformedVerbAnswer(OutsideError):
    """The answer is not what the verb wire promises; what the server did is unknown."""

    code = "malformed_verb_answer"

    def __init__(self, verb: str, why: str) -> None:
        super().__init__(f"Canon's answer to {verb} is malformed: {why}.")
        self.verb = verb


def verb_request(verb: str, envelope: JsonObject, value: JsonObject) -> dict[str, Any]:
    """The body of ``POST /agent/verbs/{verb}``.

    Args:
        envelope: routing data, which the server reads; keys whose value is None are left out.
        value: the content; likewise.

    Raises:
        ValueError: the verb is unknown, or its envelope lacks a required key or has one that the server would refuse.
    """
    shape = VERBS.get(verb)
    if shape is None:
        raise ValueError(f"unknown verb: {verb!r}")
    routing = _without_none(envelope)
    if missing := shape.required - routing.keys():
        raise ValueError(f"{verb} needs {', '.join(sorted(missing))} in its envelope")
    if extra := routing.keys() - shape.required - shape.optional:
        raise ValueError(f"{verb} does not take {', '.join(sorted(extra))} in its envelope")
    content = {"encoding": "json", "value": _without_none(value)}
    return {"wire": WIRE, "verb": verb, "envelope": routing, "body": content}


def verb_value(verb: str, answer: object) -> JsonObject:
    """The value inside a well-formed answer to ``verb``; what the value says is not looked at.

    Raises:
        MalformedVerbAnswer: the frame is not as agreed.
    """
    if not isinstance(answer, Mapping):
        raise MalformedVerbAnswer(verb, "it is not an object")
    if answer.get("wire") != WIRE:
        raise MalformedVerbAnswer(verb, "it speaks another wire version")
    if answer.get("verb") != verb:
        raise MalformedVerbAnswer(verb, "it answers another verb")
    result = answer.get("result")
    if not isinstance(result, Mapping) or result.get("encoding") != "json":
        raise MalformedVerbAnswer(verb, "it has no JSON result")
    value = result.get("value")
    if not isinstance(value, Mapping):
        raise MalformedVerbAnswer(verb, "its result is not an object")
    return value


def verb_result(verb: str, answer: object) -> JsonObject:
    """The value of an answer whose ``status`` and the keys that go with it are as promised.

    For every verb but ``no_reply``, whose value carries no news; use :func:`verb_value` there.

    Raises:
        MalformedVerbAnswer: the frame, the status or a key is not as agreed.
    """
    return checked_value(verb, verb_value(verb, answer))


def checked_value(verb: str, value: JsonObject) -> JsonObject:
    """The same for the value alone, as :func:`verb_value` took it out of its frame."""
    status = value.get("status")
    check = _RESULTS.get(status) if isinstance(status, str) else None
    if check is None:
        raise MalformedVerbAnswer(verb, "its status is unknown")
    if not check(value):
        raise MalformedVerbAnswer(verb, f"its status is {status!r} but a key that goes with it is missing or wrong")
    return value


def _has_strings(*keys: str) -> Callable[[JsonObject], bool]:
    return lambda value: all(isinstance(value.get(key), str) for key in keys)


def _is_messaged(value: JsonObject) -> bool:
    flags = (value.get(key, False) for key in ("created", "reused"))
    return _has_strings("conversationId", "messageId")(value) and all(isinstance(flag, bool) for flag in flags)


def _is_created(value: JsonObject) -> bool:
    added, pending, skipped = (value.get(key) for key in ("added", "pending", "skipped"))
    return (
        isinstance(value.get("conversationId"), str)
        and isinstance(added, list)
        and all(isinstance(member, str) for member in added)
        and isinstance(pending, list)
        and all(_has_strings("userId", "requestId")(as_object(entry)) for entry in pending)
        and isinstance(skipped, list)
        and all(_has_strings("userId", "reason")(as_object(entry)) for entry in skipped)
    )


_RESULTS: Mapping[str, Callable[[JsonObject], bool]] = MappingProxyType({
    "messaged": _is_messaged,
    "requested": _has_strings("requestId"),
    "pending": _has_strings("requestId"),
    "blocked": _has_strings("reason"),
    "unavailable": _has_strings("reason"),
    "created": _is_created,
    "forwarded": _has_strings("messageId", "targetConversationId"),
    "shared": _has_strings("messageId"),
    "added": _has_strings(),
    "removed": _has_strings(),
})  # fmt: skip


def _without_none(source: JsonObject) -> dict[str, Any]:
    return {key: value for key, value in source.items() if value is not None}
