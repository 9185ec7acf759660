"""One message of a server, from bytes or text to a value. Pure, and total: anything gives a value or a ProtocolError.

Unknown types and unknown kinds are nothing to us (:class:`Ignored`); a known type with a missing or mistyped member is
a broken frame. What breaks raises, because one broken frame puts the whole connection in doubt; what that means decides
``policy``. Source: Borgee 1.4, 1.5; decisions B1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from borgee_hermes.bpp.errors import FrameEncoding, FrameNotJson, FrameShape, ProtocolError
from borgee_hermes.bpp.events import (
    ActionResult,
    AgentToggle,
    ConfigUpdate,
    ConversationContext,
    Denial,
    Ignored,
    InboundEvent,
    Incoming,
    Kind,
    Ping,
    Reaction,
    ServerRequest,
)

__all__ = ["read_frame"]

Json = Mapping[str, Any]
_KINDS: Final = frozenset(kind.value for kind in Kind)


def read_frame(message: str | bytes) -> Incoming:
    """What a message says.

    Args:
        message: the payload of one text or binary message, undecoded where it came as bytes.

    Raises:
        ProtocolError: it says nothing: not UTF-8, not JSON, no typed object, or a known type with a wrong member.
    """
    frame = _object(message)
    kind = frame["type"]
    read = _READERS.get(kind)
    if read is None:
        return Ignored(f"a frame of the type {kind!r}"[:200])
    return read(frame, len(message))


def _object(message: str | bytes) -> Json:
    if isinstance(message, bytes):
        try:
            message = message.decode()
        except UnicodeDecodeError as exc:
            raise FrameEncoding("Borgee sent a message that is not UTF-8.") from exc
    try:
        frame = json.loads(message)
    except (ValueError, RecursionError) as exc:
        raise FrameNotJson("Borgee sent a message that is not JSON.") from exc
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise FrameShape("Borgee sent JSON that is not an object with a type.")
    return frame


def _text(frame: Json, key: str, *, empty: bool = True) -> str:
    value = frame.get(key)
    if not isinstance(value, str) or not (value or empty):
        raise ProtocolError(f"Borgee sent {frame['type']} without a usable {key}.")
    return value


def _number(frame: Json, key: str, *, least: int = 0) -> int:
    value = frame.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ProtocolError(f"Borgee sent {frame['type']} without a usable {key}.")
    return value


def _json(frame: Json, key: str) -> Any:
    try:
        return json.loads(_text(frame, key))
    except (ValueError, RecursionError) as exc:
        raise ProtocolError(f"Borgee sent {frame['type']} with a {key} that is not JSON.") from exc


def _inbound(frame: Json, size: int) -> Incoming:
    kind = _text(frame, "kind")
    if kind not in _KINDS:
        return Ignored(f"an inbound message of the kind {kind!r}"[:200])
    return InboundEvent(
        kind=Kind(kind),
        channel_id=_text(frame, "channel_id"),
        channel_type=_text(frame, "channel_type"),
        message_id=_text(frame, "message_id"),
        author_id=_text(frame, "author_id"),
        author_name=_text(frame, "author_name"),
        body=_text(frame, "body"),
        created_at_ms=_number(frame, "created_at"),
        reaction=_reaction(frame) if kind == Kind.REACTION else None,
        context=_context(frame.get("conversation_context")),
    )


def _reaction(frame: Json) -> Reaction:
    added = frame.get("reaction_added")
    if not isinstance(added, bool):
        raise ProtocolError("Borgee sent a reaction without saying whether it was added.")
    return Reaction(_text(frame, "emoji"), _text(frame, "reactor_id"), added)


def _context(value: object) -> ConversationContext | None:
    """The context when both of its ids are there; it is optional, so a wrong shape is no context."""
    if not isinstance(value, dict):
        return None
    guild_id, top_id = value.get("guild_id"), value.get("top_level_channel_id")
    if not isinstance(guild_id, str) or not isinstance(top_id, str):
        return None
    thread_id, task_id = (
        item if isinstance(item, str) else None for item in (value.get("thread_id"), value.get("task_id"))
    )
    return ConversationContext(guild_id, top_id, thread_id, task_id)


def _result(frame: Json, size: int) -> Incoming:
    nonce, status, payload = _text(frame, "nonce"), _text(frame, "status"), frame.get("payload")
    if status == "error":
        return ActionResult(nonce, error=_text(frame, "error", empty=False))
    if status != "ok":
        raise ProtocolError(f"Borgee answered an action with the status {status!r}."[:200])
    return ActionResult(nonce, value=None if payload == "" else _json(frame, "payload"))


def _denial(frame: Json, size: int) -> Incoming:
    _text(frame, "agent_id")
    _number(frame, "denied_at")
    return Denial(
        _text(frame, "request_id"),
        _text(frame, "attempted_action"),
        _text(frame, "required_capability"),
        _text(frame, "current_scope"),
    )


def _config(frame: Json, size: int) -> Incoming:
    key = _text(frame, "idempotency_key")
    if not key.strip():
        raise ProtocolError("Borgee sent agent_config_update with a blank idempotency_key.")
    return ConfigUpdate(
        cursor=_number(frame, "cursor", least=1),
        agent_id=_text(frame, "agent_id"),
        schema_version=_number(frame, "schema_version"),
        blob=_json(frame, "blob"),
        idempotency_key=key,
        created_at_ms=_number(frame, "created_at"),
    )


def _toggle(frame: Json, size: int) -> Incoming:
    return AgentToggle(_text(frame, "agent_id"), _text(frame, "action"), _text(frame, "reason"))


def _request(frame: Json, size: int) -> Incoming:
    data = frame.get("data")
    if not isinstance(data, dict):
        raise ProtocolError("Borgee sent a request without data.")
    return ServerRequest(_text(frame, "id", empty=False), data, size)


_READERS: Final[Mapping[str, Callable[[Json, int], Incoming]]] = {
    "inbound_message": _inbound,
    "semantic_action_result": _result,
    "permission_denied": _denial,
    "agent_config_update": _config,
    "agent_toggle": _toggle,
    "request": _request,
    "ping": lambda frame, size: Ping(),
    "pong": lambda frame, size: Ignored("a pong"),
}
