"""Whose call is this? What becomes of each ``send`` and ``edit_message`` of the host.

The host marks what it sends: ``expect_edits`` begins a draft, ``notify`` is an answer or a reply, and no mark means
progress, heartbeat or notice. It never says to which turn something belongs; the task from which the call comes does.

===========================  ==========================================  ================================
send                         a turn is open in the conversation          none is open
===========================  ==========================================  ================================
host's approval prompt       its own message, ``control``                its own message, ``control``
from a turn that is over     stale; after a failure an unmarked one is a notice: its own message
unmarked                     acknowledged, not written                   a plain message
``expect_edits``, own run    staged                                      -
``expect_edits``, other      a draft beside the turn, not shown          a loose turn, shown
``notify``, own run          staged as finished                          -
``notify``, other            its own message, at once                    a loose turn, at once
===========================  ==========================================  ================================

With both marks a send is an answer: ``notify`` decides. The report of a job (``job_id``) is a plain message where no
turn is open, whether a host marks it or not.

While a follow-up is announced, its run has not begun: the host first waits for the stream of the first answer, which
lags behind, or sends that answer whole and without a mark. So everything from the own run is still the first turn's,
an unmarked send included while nothing is finished. Only an answer beside a finished one is the follow-up's.

An edit names what it edits. A segment of an open turn is staged; anything of a turn that is over is stale; a draft or a
loose turn is finished once, and finishing it again is a duplicate.

Every route knows the ``raw`` object that goes into the host's result.

Source: canon-adapter R6.8, R6.9, R6.34, R7.1-R7.6, R9.19; defects D3, D4, D5, D7, D53.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from canon_hermes_plugin.turn.events import Kind, Outcome
from canon_hermes_plugin.turn.machine import Phase
from canon_hermes_plugin.turn.registry import Caller, Turns
from canon_ops.wire.dispatch import TurnSemantics
from canon_ops.wire.ids import ConversationId, TurnId, turn_of

__all__ = [
    "Attach",
    "Auxiliary",
    "Duplicate",
    "Hushed",
    "Marks",
    "Open",
    "Plain",
    "Replay",
    "Route",
    "Stage",
    "Stale",
    "route_edit",
    "route_file",
    "route_send",
]


@dataclass(frozen=True, slots=True)
class Marks:
    """How the host marked a send; build it with :meth:`read`."""

    expect_edits: bool = False
    notify: bool = False
    approval_prompt: bool = False
    scheduled: bool = False

    @classmethod
    def read(cls, metadata: object) -> Marks:
        """Read the host's metadata; anything but an object has no marks."""
        marks = metadata if isinstance(metadata, dict) else {}
        named = (bool(marks.get(name)) for name in ("expect_edits", "notify", "is_approval_prompt", "job_id"))
        return cls(*named)

    @property
    def is_unmarked(self) -> bool:
        return not self.expect_edits and not self.notify


@dataclass(frozen=True, slots=True)
class Stale:
    """Answer success, write nothing: the turn behind the call is over, or the adapter is disconnected."""

    @property
    def raw(self) -> dict[str, Any]:
        return {"suppressedStaleOutput": True}


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """Answer success without a message id, write nothing: progress of a running turn."""

    turn_id: TurnId | None

    @property
    def raw(self) -> dict[str, Any]:
        return {"suppressedAuxiliary": True, "turnId": self.turn_id}


@dataclass(frozen=True, slots=True)
class Stage:
    """Feed a ``Staged`` to ``turn_id`` through ``registry.apply``.

    Attributes:
        segment: the stream message id to put into the event. None for a send: make one with ``stream_message_id`` from
            ``turn_id`` and answer with it. For an edit of the turn itself it stays None.
        is_new: the call was a send.
    """

    turn_id: TurnId
    finalized: bool
    segment: str | None = None
    is_new: bool = False

    @property
    def raw(self) -> dict[str, Any]:
        return {"streaming": True, "turnId": self.turn_id, "finalPending": self.finalized}


@dataclass(frozen=True, slots=True)
class Open:
    """Open a turn of this kind with ``registry.open_turn``, then feed it the text.

    Attributes:
        turn_id: the id to give it; None asks for a fresh one: ``turn_id`` for a loose turn, ``own_message_id`` for an
            own one. The host gets it as the message id, except for an own message that is delivered at once.
        finalized: the text is final; the call's result waits for its delivery.
    """

    kind: Kind
    finalized: bool
    turn_id: TurnId | None = None
    semantics: TurnSemantics = TurnSemantics.TURN_COMPLETE

    def raw_of(self, turn_id: TurnId) -> dict[str, Any]:
        """What the host is told of the turn that was opened: a draft that is shown, or nothing. Source: R7.3."""
        is_shown = self.kind is Kind.LOOSE and not self.finalized
        return {"streaming": True, "turnId": turn_id} if is_shown else {}


@dataclass(frozen=True, slots=True)
class Replay:
    """The conversation's loose turn has a final that is not settled: hand this text to the outbox under its id.

    An equal text repeats that very operation, another is refused (operations.py).
    """

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class Plain:
    """Deliver as a message of no turn, under an id of its own, as an answer is delivered."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Answer success with the turn's id, write nothing: this text has been delivered."""

    turn_id: TurnId

    @property
    def raw(self) -> dict[str, Any]:
        return {"duplicateFinal": True, "turnId": self.turn_id}


@dataclass(frozen=True, slots=True)
class Attach:
    """Feed a ``FileStaged`` to ``turn_id``."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class Hushed:
    """Answer success, write nothing: the turn has chosen to say nothing. Source: R7.31."""

    turn_id: TurnId

    @property
    def raw(self) -> dict[str, Any]:
        return {"silenced": True, "turnId": self.turn_id}


Route: TypeAlias = Stale | Auxiliary | Stage | Open | Replay | Plain | Duplicate


def route_send(turns: Turns, conversation: ConversationId, caller: Caller, marks: Marks, *, connected: bool) -> Route:
    """Decide about a ``send``. Source: the table above."""
    if not connected:
        return Stale()
    if marks.approval_prompt and marks.is_unmarked:
        return Open(Kind.OWN, finalized=True, semantics=TurnSemantics.CONTROL)
    own = turns.current(caller.bound) if caller.bound is not None else None
    if own is not None and _is_over(turns, own, conversation):
        past = turns.past.get(own)
        is_notice = marks.is_unmarked and past is not None and past.outcome is Outcome.FAILURE
        return Open(Kind.OWN, finalized=True) if is_notice else Stale()
    running = turns.open_in(conversation)
    if not running:
        return _out_of_turn(turns, conversation, marks)
    mine = next((turn for turn in running if turn.id == own), None)
    if mine is None:
        if marks.is_unmarked:
            return Auxiliary(running[0].id if len(running) == 1 else None)
        return Open(Kind.OWN, finalized=marks.notify)
    follow_up = turns.announced.get(mine.id)
    has_answer = mine.candidate is not None and mine.candidate.is_deliverable
    if marks.is_unmarked:
        if follow_up is None or has_answer:
            return Auxiliary(mine.id)
        return Stage(mine.id, finalized=True, is_new=True)
    if follow_up is not None and marks.notify and has_answer:
        return Stage(follow_up.turn_id, finalized=True, is_new=True)
    return Stage(mine.id, finalized=marks.notify, is_new=True)


def route_file(
    turns: Turns, conversation: ConversationId, caller: Caller, *, connected: bool
) -> Stale | Hushed | Attach | Open:
    """Decide about a file: it belongs to the run that sends it, whatever its marks; anybody else's is its own message.

    Source: R7.31, X5; defect D14.
    """
    if not connected:
        return Stale()
    own = turns.current(caller.bound) if caller.bound is not None else None
    if own is not None and _is_over(turns, own, conversation):
        return Stale()
    mine = next((turn for turn in turns.open_in(conversation) if turn.id == own), None)
    if mine is None:
        return Open(Kind.OWN, finalized=True)
    return Hushed(mine.id) if mine.silenced else Attach(mine.id)


def route_edit(
    turns: Turns, conversation: ConversationId, caller: Caller, message_id: str, *, finalize: bool, connected: bool
) -> Route:
    """Decide about an ``edit_message`` of ``message_id``: a stream message, or the id that an earlier send answered."""
    own = turns.current(caller.bound) if caller.bound is not None else None
    if not connected or (own is not None and _is_over(turns, own, conversation)):
        return Stale()
    streamed = turn_of(message_id)
    edited = streamed or TurnId(message_id)
    turn = turns.live.get(edited)
    if turn is not None and turn.is_open:
        return Stage(edited, finalize, segment=message_id if streamed else None)
    if streamed:
        return Stale()
    if turn is not None and not turn.is_lifecycle and turn.phase is Phase.DELIVERING and finalize:
        return Replay(edited)
    past = turns.past.get(edited)
    if turn is not None or past is not None:
        is_lifecycle = turn.is_lifecycle if turn is not None else past is not None and past.kind is Kind.LIFECYCLE
        if is_lifecycle:
            return Stale()
        if past is None or past.delivered or not finalize:
            return Duplicate(edited)
    if any(running.id == own for running in turns.open_in(conversation)):
        return Auxiliary(own)
    kind = Kind.OWN if turns.open_in(conversation) else Kind.LOOSE
    return Open(kind, finalized=finalize, turn_id=edited)


def _out_of_turn(turns: Turns, conversation: ConversationId, marks: Marks) -> Route:
    if marks.is_unmarked or marks.scheduled:  # some hosts mark the report of a job to be noticed, others do not
        return Plain()
    if marks.notify:
        for turn in turns.live.values():
            is_here = turn.conversation_id == conversation and turn.opening.kind is Kind.LOOSE
            if is_here and turn.phase is Phase.DELIVERING:
                return Replay(turn.id)
    return Open(Kind.LOOSE, finalized=marks.notify)


def _is_over(turns: Turns, turn_id: TurnId, conversation: ConversationId) -> bool:
    """Whether this was a turn of the conversation and no longer is; one that nobody remembers counts as over."""
    turn = turns.live.get(turn_id)
    if turn is not None and turn.is_open:
        return False
    return turns.conversation_of(turn_id) in (conversation, None)
