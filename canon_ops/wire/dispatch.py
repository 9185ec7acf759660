"""Which message starts a turn: the server's verdict, and the rule for messages that carry none.

The verdict decides alone when there is one; asking in the other order would let a message's own metadata overrule the
server. The fallback is a table whose first matching row counts.

Source: Canon wire 6.5, 7.2; canon-adapter R3.3-R3.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from canon_ops.wire.fields import as_object, integer_of, text_of

__all__ = [
    "RUN_TURN",
    "ReplyBehavior",
    "TurnDecision",
    "TurnSemantics",
    "message_chunk_label",
    "should_trigger_agent_turn",
    "turn_dispatch_kind",
]

RUN_TURN = "run_turn"  # any other verdict means: do not run


class TurnSemantics(StrEnum):
    """What a message is to the turn it belongs to."""

    PROGRESS = "progress"
    TURN_COMPLETE = "turn_complete"
    CONTROL = "control"


class ReplyBehavior(StrEnum):
    """Whether a message asks for an answer."""

    ALLOW_AUTO_REPLY = "allow_auto_reply"
    SUPPRESS_AUTO_REPLY = "suppress_auto_reply"


@dataclass(frozen=True, slots=True)
class TurnDecision:
    """Whether to run a turn, as what the message counts, and why, in words for the log."""

    allow: bool
    semantics: TurnSemantics
    reason: str


def turn_dispatch_kind(payload: object) -> str | None:
    """The server's verdict on a ``message.created`` payload; None when it gave none."""
    return text_of(as_object(as_object(payload).get("turnDispatch")), "kind") or None


def should_trigger_agent_turn(sender_type: str | None, metadata: object) -> TurnDecision:
    """Decide for a message without a verdict.

    Args:
        sender_type: anything but ``human`` is treated as an agent.
        metadata: the message's metadata; anything but an object counts as empty, unknown values as absent.
    """
    fields = as_object(metadata)
    declared = text_of(fields, "turnSemantics")
    explicit = TurnSemantics(declared) if declared in set(TurnSemantics) else None
    is_human = sender_type == "human"
    semantics = explicit or (TurnSemantics.TURN_COMPLETE if is_human else TurnSemantics.PROGRESS)
    if text_of(fields, "replyBehavior") == ReplyBehavior.SUPPRESS_AUTO_REPLY:
        return TurnDecision(False, semantics, "the message asks for no reply")
    if is_human:
        return TurnDecision(True, semantics, "a human wrote it")
    if explicit is None:
        return TurnDecision(False, semantics, "an agent's message does not say that its turn is complete")
    if explicit is TurnSemantics.PROGRESS:
        return TurnDecision(False, semantics, "an agent's message is progress of a running turn")
    if explicit is TurnSemantics.CONTROL:
        return TurnDecision(True, semantics, "an agent's message is a control message")
    return TurnDecision(True, semantics, "an agent's message completes its turn")


def message_chunk_label(metadata: object) -> str | None:
    """``2/3`` for the second of three parts of a split message; None for anything else."""
    chunk = as_object(as_object(metadata).get("messageChunk"))
    index, count = integer_of(chunk, "index"), integer_of(chunk, "count")
    if index is None or count is None or count <= 0:
        return None
    return f"{index}/{count}"
