"""Identifiers of turns, stream messages and durable messages: their shapes, and how a message id is derived.

A durable message of a turn has an id that anyone can recompute from (conversation, turn, ordinal), so that a retry
after a crash, over another path, or by another process names the same message and Canon stores it once. The derivation
frames each field with its length; without that, ``("a", "bc")`` and ``("ab", "c")`` would share an id.

Random digits come from the caller: this module computes only.

Source: Canon wire 0.1, 7.8; canon-adapter 0.3, R7.12, R7.16.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NewType

__all__ = [
    "MESSAGE_ID_CHARS",
    "ConversationId",
    "SessionKey",
    "TurnId",
    "is_unasked",
    "message_id",
    "own_message_id",
    "part_id",
    "stream_message_id",
    "turn_id",
    "turn_of",
    "unasked_message_id",
]

ConversationId = NewType("ConversationId", str)
TurnId = NewType("TurnId", str)
SessionKey = NewType("SessionKey", str)
"""The host's name for a session: in a group there is one per person by default, so a conversation can have several."""

MESSAGE_ID_CHARS: Final = 160  # server cap on messageId, canon-adapter R7.10

_DOMAIN: Final = "canon-hermes-final-v2"
_STREAM_PREFIX: Final = "canon-stream:"
_HEX_20: Final = re.compile(r"[0-9a-f]{20}")
_UNASKED_PREFIX: Final = "unasked:"
_HEX_32: Final = re.compile(r"[0-9a-f]{32}")


def turn_id(random_hex: str) -> TurnId:
    """Name a new turn.

    Args:
        random_hex: 20 lowercase hex digits, fresh.
    """
    return TurnId(f"hermes-{_checked(random_hex, _HEX_20)}")


def stream_message_id(turn: TurnId, random_hex: str) -> str:
    """Name one streamed segment of ``turn``: what the host gets back from a send and passes to its edits.

    Args:
        random_hex: 32 lowercase hex digits, fresh.
    """
    return f"{_STREAM_PREFIX}{turn}:{_checked(random_hex, _HEX_32)}"


def turn_of(stream_message: str) -> TurnId | None:
    """The turn inside a stream message id; None when it is another kind of id."""
    if not stream_message.startswith(_STREAM_PREFIX):
        return None
    turn, colon, digits = stream_message[len(_STREAM_PREFIX) :].rpartition(":")
    return TurnId(turn) if colon and turn and digits else None


def own_message_id(random_hex: str) -> TurnId:
    """Stand in for a turn id where a message belongs to no turn: a command reply, a notice, a cron message.

    The value takes the turn's place in :func:`message_id`, so such a message is as repeatable as an answer while two of
    them never meet. It is never sent as ``turnId``.

    Args:
        random_hex: 32 lowercase hex digits, fresh.
    """
    return TurnId(f"standalone:{_checked(random_hex, _HEX_32)}")


def unasked_message_id(random_hex: str) -> TurnId:
    """The same for a message that nobody asked for: it goes another way than answers, also when it is sent again.

    Args:
        random_hex: 32 lowercase hex digits, fresh.
    """
    return TurnId(f"{_UNASKED_PREFIX}{_checked(random_hex, _HEX_32)}")


def is_unasked(turn: TurnId | None) -> bool:
    """Whether :func:`unasked_message_id` made it."""
    return turn is not None and turn.startswith(_UNASKED_PREFIX)


def message_id(conversation: ConversationId, turn: TurnId | None, ordinal: int) -> str | None:
    """The id of durable operation number ``ordinal`` of ``turn``; None when it belongs to no turn.

    Args:
        turn: a turn's id, or what :func:`own_message_id` puts in its place.
        ordinal: 1 for the first operation of the turn; it advances only when the operation before it is settled.

    Raises:
        TypeError: ``ordinal`` is not an integer (a boolean is not one).
        ValueError: ``ordinal`` is below 1.
    """
    if isinstance(ordinal, bool) or not isinstance(ordinal, int):
        raise TypeError(f"ordinal must be an integer, not {ordinal!r}")
    if ordinal < 1:
        raise ValueError(f"ordinal must be 1 or more, not {ordinal}")
    if not turn:
        return None
    digest = hashlib.sha256()
    for field in (_DOMAIN, conversation, turn, str(ordinal)):
        data = field.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return f"hermes-final-{digest.hexdigest()[:32]}"


def part_id(base: str, index: int) -> str:
    """The id of part ``index`` (from 1) of a message in several parts; ``base`` is cut so that the id fits."""
    suffix = f"-part-{index}"
    return base[: MESSAGE_ID_CHARS - len(suffix)] + suffix


def _checked(random_hex: str, shape: re.Pattern[str]) -> str:
    if not shape.fullmatch(random_hex):
        raise ValueError(f"not {shape.pattern}: {random_hex!r}")
    return random_hex
