"""Outgoing bodies: one frozen type for each, with the exact keys, their order, and the rule when a key is left out.

A key without a value is absent; ``null`` is never sent. Bodies are plain dictionaries, :func:`encode_body` makes the
bytes, once for all attempts of a request, so that a retry repeats them exactly.

Source: Canon wire 4.4-4.11; canon-adapter R7.22, Appendix A.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from canon_ops.wire.fields import JsonObject, as_object, text_of
from canon_ops.wire.messages import ReplyAuthority

__all__ = [
    "Disposition",
    "RuntimeStatus",
    "SendMessage",
    "Signal",
    "SignalKind",
    "StreamingClear",
    "StreamingWrite",
    "TurnPhase",
    "TurnState",
    "Typing",
    "encode_body",
    "path_segment",
]

_OWN_SEND_KEYS = frozenset({
    "conversationId", "text", "contentType", "attachments", "replyAuthority", "messageId", "replyTo", "metadata",
})  # fmt: skip


class TurnPhase(StrEnum):
    """The states of a turn that Canon shows."""

    THINKING = "thinking"
    STREAMING = "streaming"
    TOOL = "tool"
    WAITING_INPUT = "waiting_input"
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    IDLE = "idle"

    @property
    def is_open(self) -> bool:
        """Whether the turn goes on in this state."""
        return self in _OPEN_PHASES


_OPEN_PHASES = frozenset({TurnPhase.THINKING, TurnPhase.STREAMING, TurnPhase.TOOL, TurnPhase.WAITING_INPUT})


class Disposition(StrEnum):
    """What became of an inbound message."""

    QUEUED = "queued"
    ACCEPTED_NOW = "accepted_now"
    INTERLEAVED = "interleaved"
    TRIGGER_SUPPRESSED = "trigger_suppressed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


class SignalKind(StrEnum):
    """What a person may ask of a running conversation."""

    INTERRUPT = "interrupt"
    STOP_AND_DROP = "stop_and_drop"
    NEW_SESSION = "new_session"


@dataclass(frozen=True, slots=True)
class SendMessage:
    """A durable message.

    Args:
        message_id: a client id that makes repetition safe; it decides the retry policy (:mod:`canon_ops.wire.retry`).
        options: further keys the host asked for, such as ``mentions``. Keys that have a field of their own here are
            ignored in it: above all a host cannot bring in a message id or a reply authority.
    """

    conversation_id: str
    text: str
    message_id: str | None = None
    reply_to: str | None = None
    metadata: JsonObject = field(default_factory=dict)
    content_type: str | None = None
    attachments: Sequence[JsonObject] = ()
    reply_authority: ReplyAuthority | None = None
    options: JsonObject = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"conversationId": self.conversation_id, "text": self.text}
        body |= {key: value for key, value in self.options.items() if key not in _OWN_SEND_KEYS and value is not None}
        if self.content_type:
            body["contentType"] = self.content_type
        if self.attachments:
            body["attachments"] = [dict(attachment) for attachment in self.attachments]
        if self.reply_authority is not None:
            body["replyAuthority"] = self.reply_authority.body()
        if self.message_id:
            body["messageId"] = self.message_id
        if self.reply_to:
            body["replyTo"] = self.reply_to
        if self.metadata:
            body["metadata"] = dict(self.metadata)
        return body


@dataclass(frozen=True, slots=True)
class StreamingWrite:
    """A write to the conversation's node; the server keeps the fields that are absent.

    ``text`` is the whole text so far. ``blocks`` None leaves the node's blocks alone, an empty list removes them.
    """

    conversation_id: str
    status: str = "streaming"
    text: str | None = None
    turn_id: str | None = None
    blocks: Sequence[JsonObject] | None = None

    @classmethod
    def blank(cls, conversation_id: str, turn_id: str | None) -> StreamingWrite:
        """The write that leaves nothing in the node worth keeping."""
        return cls(conversation_id, "thinking", "", turn_id, ())

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"conversationId": self.conversation_id, "status": self.status}
        if self.text is not None:
            body["text"] = self.text
        if self.turn_id:
            body["messageId"] = self.turn_id
            body["turnId"] = self.turn_id
        if self.blocks is not None:
            body["blocks"] = [dict(block) for block in self.blocks]
        return body


@dataclass(frozen=True, slots=True)
class StreamingClear:
    """Removes the conversation's node."""

    conversation_id: str

    def body(self) -> dict[str, Any]:
        return {"conversationId": self.conversation_id, "streaming": False}


@dataclass(frozen=True, slots=True)
class TurnState:
    """The turn as people see it.

    Args:
        active_message_ids: on the opening write only, the message that opened the turn.
        supports_interleave: whether the host offers steering at this moment.
    """

    conversation_id: str
    state: TurnPhase
    updated_at_ms: int
    queue_depth: int = 0
    turn_id: str | None = None
    active_message_ids: Sequence[str] = ()
    supports_interleave: bool = False
    opened_at_ms: int | None = None

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "conversationId": self.conversation_id,
            "state": str(self.state),
            "queueDepth": max(0, self.queue_depth),
        }
        if self.turn_id:
            body["turnId"] = self.turn_id
        if self.active_message_ids:
            body["activeMessageIds"] = list(self.active_message_ids)
        body["capabilities"] = {
            "supportsInterrupt": True,
            "supportsQueue": True,
            "supportsInterleave": self.supports_interleave,
            "supportsInputInterrupt": self.state is not TurnPhase.WAITING_INPUT,
            "supportsNonFinalPermanentMessages": False,
        }
        if self.opened_at_ms is not None:
            body["openedAt"] = self.opened_at_ms
        body["turnUpdatedAt"] = self.updated_at_ms
        return body


@dataclass(frozen=True, slots=True)
class Typing:
    """The typing dots; ``status`` is ``typing`` or ``thinking`` and only said while they are on."""

    conversation_id: str
    typing: bool
    status: str = "thinking"

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"conversationId": self.conversation_id, "typing": self.typing}
        if self.typing and self.status in ("typing", "thinking"):
            body["status"] = self.status
        return body


@dataclass(frozen=True, slots=True)
class RuntimeStatus:
    """The heartbeat, with what the runtime offers when there is something to say."""

    descriptor: JsonObject = field(default_factory=dict)
    runtime: str = "hermes"
    host_mode: bool = True

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"runtime": self.runtime, "hostMode": self.host_mode}
        if self.descriptor:
            body["runtimeDescriptor"] = dict(self.descriptor)
        return body


@dataclass(frozen=True, slots=True)
class Signal:
    """A control that was taken from the server: it will not be given again."""

    kind: SignalKind
    updated_by: str | None = None

    @classmethod
    def parse(cls, answer: object) -> Signal | None:
        """Read the answer of ``/runtime/signal/consume``; None when there was no signal, or one we do not know."""
        source = as_object(answer)
        kind = text_of(source, "signal")
        if text_of(source, "status") != "signal" or kind not in set(SignalKind):
            return None
        return cls(SignalKind(kind), text_of(source, "updatedBy") or None)


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Compact JSON in UTF-8; a lone surrogate, which UTF-8 cannot carry, goes out escaped instead of raising.

    Raises:
        ValueError: a number is NaN or infinite. TypeError: a value has no JSON form.
    """
    try:
        return _dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return _dumps(body, ensure_ascii=True).encode("ascii")


def _dumps(body: Mapping[str, Any], *, ensure_ascii: bool) -> str:
    return json.dumps(body, ensure_ascii=ensure_ascii, allow_nan=False, separators=(",", ":"))


def path_segment(identifier: str) -> str:
    """``identifier`` inside a URL path: unchanged when it has Canon's shape, otherwise with its odd characters escaped.

    Raises:
        ValueError: it is empty or a relative step, and would name another resource.
    """
    if identifier in ("", ".", ".."):
        raise ValueError(f"not an id for a URL path: {identifier!r}")
    return quote(identifier, safe=":@!$&'()*+,;=~", errors="replace")
