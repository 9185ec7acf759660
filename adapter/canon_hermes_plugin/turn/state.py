"""What a turn is at one moment; how it changes stands in machine.py. Everything here is immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from canon_hermes_plugin.streaming.preview import Preview
from canon_hermes_plugin.turn.effects import Effect
from canon_hermes_plugin.turn.events import Ended, FileStaged, Kind, Opening, Staged
from canon_ops.wire.activity import Activity
from canon_ops.wire.ids import ConversationId, TurnId
from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import TurnPhase

__all__ = ["Candidate", "Phase", "Step", "Turn"]


class Phase(StrEnum):
    """How far a turn has come. Source: the table in machine.py."""

    OPEN = "open"  # the host's run goes on
    FLUSHING = "flushing"  # the run is over; the node is being brought up to date, or a last write awaited
    DELIVERING = "delivering"  # the outbox has the final message
    LINGERING = "lingering"  # Canon has it; the node stays for a moment
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Candidate:
    """What would be the final message if the run ended now.

    Attributes:
        parts: (part id, text) in the order in which the host began them; the message joins them with newlines.
        finalized: the host has finished the last part.
    """

    parts: tuple[tuple[str, str], ...] = ()
    finalized: bool = False
    reply_to: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The whole message."""
        return "\n".join(text for _, text in self.parts)

    @property
    def is_deliverable(self) -> bool:
        """Finished, and not blank."""
        return self.finalized and bool(self.text.strip())

    def has_part(self, part_id: str) -> bool:
        """Whether this segment is part of the candidate."""
        return any(part_id == known for known, _ in self.parts)

    def with_segment(self, event: Staged, turn_id: TurnId) -> Candidate:
        """The candidate with this segment's text in it; an edit of the turn itself means its last part.

        Source: R6.31.
        """
        last = self.parts[-1][0] if self.parts else turn_id
        part_id = event.stream_message_id or last
        if self.has_part(part_id):
            parts = tuple((known, event.text if known == part_id else text) for known, text in self.parts)
        else:
            parts = (*self.parts, (part_id, event.text))
        return Candidate(
            parts=parts,
            finalized=event.finalized if parts[-1][0] == part_id else self.finalized,
            reply_to=self.reply_to or event.reply_to,
            metadata={**self.metadata, **event.metadata},
            options={**self.options, **event.options},
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of the agent for one message.

    Attributes:
        opening: what was decided when it opened.
        files: what goes with the final message, in the order in which the host sent it.
        state: the last state published; None when none was.
        doing: the state that the next node write will be followed by.
        rounds_awaited: rounds of tools that have started, less the speech that the host has marked as following one.
        last_request: the model's answer whose tools started last.
        waiting: how many questions and approvals are waiting for a human.
        ran: the model was called; success without it proves nothing, the host may only have queued the message.
        model_failed: the last call of the model failed.
        silenced: ``no_reply`` holds.
        unread: the numbers of words that were put into the turn and that its model has not read.
        steered_authority: the leave that came with the first of them.
        repeats: words that were put into it had a run before, which died with its gateway.
        interrupted: this adapter interrupted the run.
        cut: the host did.
        wake_ms: the earliest timer asked for that has not come.
        linger_ms: when the node may be deleted, in LINGERING; in DELIVERING, when a message that the host was told to
            repeat is left to the outbox, so that the conversation is free for another one (D54). 0 otherwise.
        touched_ms: when the host last edited a draft without a run.
        watch_ms: when to look whether such a draft was forgotten; 0 before its first text.
        ended: how the run ended; None while it is open.
    """

    opening: Opening
    opened_ms: int
    activity: Activity
    phase: Phase = Phase.OPEN
    candidate: Candidate | None = None
    files: tuple[FileStaged, ...] = ()
    preview: Preview = field(default_factory=Preview)
    state: TurnPhase | None = None
    doing: TurnPhase = TurnPhase.STREAMING
    rounds_awaited: int = 0
    last_request: str | None = None
    waiting: int = 0
    ran: bool = False
    model_failed: bool = False
    silenced: bool = False
    unread: tuple[int, ...] = ()
    steered_authority: ReplyAuthority | None = field(default=None, repr=False)
    repeats: bool = False
    interrupted: bool = False
    cut: bool = False
    wake_ms: int | None = None
    linger_ms: int = 0
    touched_ms: int = 0
    watch_ms: int = 0
    ended: Ended | None = None

    @property
    def id(self) -> TurnId:
        return self.opening.turn_id

    @property
    def conversation_id(self) -> ConversationId:
        return self.opening.conversation_id

    @property
    def is_open(self) -> bool:
        """Whether the host's calls still belong to this turn."""
        return self.phase is Phase.OPEN

    @property
    def has_no_trace(self) -> bool:
        """Nothing shows that a run was behind it: the host may only have queued its message."""
        return not (self.ran or self.candidate or self.files or self.silenced)

    @property
    def is_lifecycle(self) -> bool:
        """Whether a run of the agent stands behind it; the other kinds end with their finalised text."""
        return self.opening.kind is Kind.LIFECYCLE

    @property
    def may_hold_node(self) -> bool:
        """Whether its end must delete the node; a message without a run that showed nothing leaves it alone."""
        shown = self.preview
        return self.is_lifecycle or self.state is not None or shown.text is not None or shown.in_flight or shown.dropped

    @property
    def is_narrated(self) -> bool:
        """Whether people see drafts and tools of it while it runs."""
        return not (self.opening.quiet or self.silenced or self.opening.kind is Kind.OWN)

    @property
    def is_done(self) -> bool:
        """Closed, and nothing in flight: it may be forgotten."""
        return self.phase is Phase.CLOSED and not self.preview.in_flight


@dataclass(frozen=True, slots=True)
class Step:
    """The turn after an event, and the effects in the order in which the shell must carry them out."""

    turn: Turn
    effects: tuple[Effect, ...] = ()
