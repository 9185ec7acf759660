"""What a turn wants done. The shell carries effects out in the order of the tuple they come in.

Effects of one conversation go through one ordered lane, because Canon keeps one turn state and one node a conversation
and a state that overtakes another misleads people. :class:`WritePreview` and :class:`DeliverFinal` are answered with an
event; everything else is fire and forget, its failure only logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from canon_hermes_plugin.turn.events import FileStaged, Outcome
from canon_ops.wire.dispatch import TurnSemantics
from canon_ops.wire.ids import ConversationId, TurnId
from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import TurnPhase
from canon_ops.wire.trail import BlockObject

__all__ = [
    "ClearNode",
    "DeliverFinal",
    "Effect",
    "Evidence",
    "Final",
    "PublishState",
    "RetireNode",
    "TurnClosed",
    "WakeAt",
    "Warn",
    "WritePreview",
]


class Evidence(StrEnum):
    """Why the message that asked for a turn counts as answered; NONE means that nothing shows it ran."""

    FINAL = "final"
    SILENCE = "silence"
    RAN = "ran"  # the model was called, and had nothing to say
    NONE = "none"


@dataclass(frozen=True, slots=True)
class PublishState:
    """``POST /runtime/turn``; queue depth, capabilities and the time of the update are the shell's.

    Publishing ``waiting_input`` pauses the host's typing in the chat, every other state resumes it (R6.11).
    """

    turn_id: TurnId
    conversation_id: ConversationId
    state: TurnPhase
    opened_ms: int
    active_message_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WritePreview:
    """``POST /streaming`` with status ``streaming``; None leaves the field out. Answer with ``PreviewEnded``.

    At most one is in flight per turn. Give it a short time limit: the final message waits for it.
    """

    turn_id: TurnId
    conversation_id: ConversationId
    text: str | None
    blocks: tuple[BlockObject, ...] | None


@dataclass(frozen=True, slots=True)
class RetireNode:
    """``POST /streaming`` with status ``thinking``, empty text and no blocks: nothing is left for a salvage."""

    turn_id: TurnId
    conversation_id: ConversationId


@dataclass(frozen=True, slots=True)
class ClearNode:
    """``POST /streaming`` with ``streaming: false``."""

    turn_id: TurnId
    conversation_id: ConversationId


@dataclass(frozen=True, slots=True)
class Final:
    """A durable message, whole; operations.py cuts it and gives each part its id.

    Attributes:
        turn_id: what the ids are made from; a message of no turn has an id of its own in this place.
        names_turn: whether the message says ``turnId``; one that belongs to no turn does not.
        metadata: what the host asked for; semantics, turn id, chunk and trail are added when it is cut.
        options: likewise, without ``messageId``; ``authority`` goes on every part.
        trail: compact blocks, empty for a quiet turn.
        files: messages of their own before the text; without a text the last of them is the final message.
    """

    turn_id: TurnId
    conversation_id: ConversationId
    text: str
    reply_to: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    authority: ReplyAuthority | None = None
    trail: tuple[BlockObject, ...] = ()
    semantics: TurnSemantics = TurnSemantics.TURN_COMPLETE
    names_turn: bool = True
    files: tuple[FileStaged, ...] = ()


@dataclass(frozen=True, slots=True)
class DeliverFinal:
    """Hand the answer to the outbox. Answer with ``FinalSettled``, ``FinalDeferred`` or ``FinalRejected``.

    Finals of one conversation are delivered in the order of these effects.
    """

    final: Final


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send ``Due`` to the turn at ``at_ms``."""

    turn_id: TurnId
    at_ms: int


@dataclass(frozen=True, slots=True)
class Warn:
    """Something an operator should see; ``code`` is stable, ``sentence`` names no content of the conversation."""

    turn_id: TurnId
    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """The turn is over and its node is gone: drop what the shell keeps for it (authority, media, responder).

    Attributes:
        goes_on: only this run of it is over: the host has put its message back into the queue, Canon was told nothing,
            and the next run is the same turn.
        ran: the model was called in it.
    """

    turn_id: TurnId
    conversation_id: ConversationId
    outcome: Outcome
    evidence: Evidence
    goes_on: bool = False
    ran: bool = False


Effect: TypeAlias = PublishState | WritePreview | RetireNode | ClearNode | DeliverFinal | WakeAt | Warn | TurnClosed
