"""All turns of one adapter: which are live, which are past, who follows whom, and whose text the node holds.

Canon keeps one turn state and one streaming node a conversation and agent, while a group may have several turns open.
Two rules keep them apart:

* the node belongs to the turn that wrote it last; another turn's end neither deletes nor empties it;
* when a turn closes while others of the conversation go on, the state of the newest of those is said again, so that
  Canon does not show an idle agent.

A queued follow-up that the host drains inside a finished run has no start hook. It is announced when the host takes it
from its queue, and begins at the first thing that can only be its own: the typing call in the run's own task, which
every audited host makes, its first tool, an answer beside a finished one. Until then everything belongs to the turn
before it: a short first answer may begin to stream only now. After that, whoever is bound to the turn before it means
the successor, because the host's task is still the same (R6.34).

The value is immutable; a :class:`Move` carries the next one. The shell holds the newest, applies one call after the
other, and carries effects out in order.

Source: canon-adapter R6.8, R6.9, R6.17, R6.34; defects D4, D8, D39, D42, D53.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeVar

from canon_hermes_plugin.turn import machine
from canon_hermes_plugin.turn.effects import (
    ClearNode,
    Effect,
    Evidence,
    PublishState,
    RetireNode,
    TurnClosed,
    WritePreview,
)
from canon_hermes_plugin.turn.events import Ended, Kind, Opening, Outcome, ToolStarted, TurnEvent
from canon_hermes_plugin.turn.machine import Step, Turn
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId

__all__ = [
    "Caller",
    "Found",
    "Move",
    "Nobody",
    "Past",
    "Turns",
    "announce",
    "apply",
    "cross",
    "find",
    "hand_over",
    "open_turn",
]

PAST_TURNS: Final = 1_024  # canon-adapter R7.7, D42: the oldest goes, never all of them

K = TypeVar("K")
V = TypeVar("V")
_NOTHING: Mapping[TurnId, TurnId] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: what the task knows about itself.

    Attributes:
        bound: the turn that the start hook bound to the task and, through copied contexts, to its children.
        session: the host's session context; some hosts clear it before they send the final answer.
    """

    bound: TurnId | None = None
    session: SessionKey | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """What is remembered of a closed turn."""

    conversation_id: ConversationId
    kind: Kind
    outcome: Outcome
    delivered: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The turn that is meant."""

    turn_id: TurnId


@dataclass(frozen=True, slots=True)
class Nobody:
    """No turn is meant; ``reason`` is ``none``, ``stale`` or ``ambiguous`` (worth a warning)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of one adapter.

    Attributes:
        live: every turn that can still cause an effect, in the order of their opening.
        past: the newest closed turns.
        successors: turn → the turn that continued its run.
        announced: open turn → the opening of its follow-up.
        node: conversation → the turn whose content the node holds.
    """

    live: Mapping[TurnId, Turn] = field(default_factory=dict)
    past: Mapping[TurnId, Past] = field(default_factory=dict)
    successors: Mapping[TurnId, TurnId] = field(default_factory=dict)
    announced: Mapping[TurnId, Opening] = field(default_factory=dict)
    node: Mapping[ConversationId, TurnId] = field(default_factory=dict)

    def open_in(self, conversation: ConversationId) -> tuple[Turn, ...]:
        """The open lifecycle turns of a conversation, oldest first."""
        return tuple(
            turn
            for turn in self.live.values()
            if turn.is_open and turn.is_lifecycle and turn.conversation_id == conversation
        )

    def open_for(self, session: SessionKey) -> Turn | None:
        """The session's open turn; there is never more than one."""
        return next((turn for turn in self.live.values() if turn.is_open and turn.opening.session == session), None)

    def current(self, turn_id: TurnId) -> TurnId:
        """The turn in which the run of ``turn_id`` is now."""
        while turn_id in self.successors:
            turn_id = self.successors[turn_id]
        return turn_id

    def conversation_of(self, turn_id: TurnId) -> ConversationId | None:
        """Where a live or remembered turn belongs."""
        known = self.live.get(turn_id) or self.past.get(turn_id)
        return known.conversation_id if known else None


@dataclass(frozen=True, slots=True)
class Move:
    """The turns after a call, and the effects in order."""

    turns: Turns
    effects: tuple[Effect, ...] = ()


def open_turn(turns: Turns, opening: Opening, *, now_ms: int) -> Move:
    """Open a turn; a turn that the same session still has open is finished first, as if its run had handed over.

    Raises:
        ValueError: the turn is live already.
    """
    if opening.turn_id in turns.live:
        raise ValueError(f"turn {opening.turn_id} is open already")
    before = turns.open_for(opening.session) if opening.session else None
    move = Move(turns)
    if before is not None:
        move = _event(turns, before.id, Ended(Outcome.SUCCESS, handed_over=True), now_ms=now_ms)
    return _then(move, lambda now: _step(now, machine.open_turn(opening, now_ms=now_ms)))


def announce(turns: Turns, turn_id: TurnId, opening: Opening) -> Turns:
    """The host has taken the next message of this run's session from its queue (or holds a steer it never injected).

    Nothing is flushed yet: the last edits of the first answer, or the whole of it, still come. Announce nothing when
    the queue was empty: an answer that follows would be taken for the follow-up's.
    """
    turn = turns.live.get(turns.current(turn_id))
    if turn is None or not turn.is_open:
        return turns
    return replace(turns, announced={**turns.announced, turn.id: opening})


def cross(turns: Turns, turn_id: TurnId, *, now_ms: int) -> Move:
    """The run of ``turn_id`` is in its follow-up already: end the one and open the other at once.

    Without an announcement nothing happens.
    """
    ended, opening = hand_over(turns, turn_id, now_ms=now_ms)
    return ended if opening is None else _then(ended, lambda now: open_turn(now, opening, now_ms=now_ms))


def hand_over(turns: Turns, turn_id: TurnId, *, now_ms: int) -> tuple[Move, Opening | None]:
    """The run of ``turn_id`` reached its follow-up: call it for each ``send_typing`` in the run's own task.

    Returns:
        The end of the turn before, and what to open once its answer is on Canon or has to wait; None without an
        announcement, and then nothing happens.
    """
    current = turns.current(turn_id)
    opening = turns.announced.get(current)
    if opening is None:
        return Move(turns), None
    turns = replace(turns, successors=_followed(turns, {**turns.successors, current: opening.turn_id}))
    return _event(turns, current, Ended(Outcome.SUCCESS, handed_over=True), now_ms=now_ms), opening


def apply(turns: Turns, turn_id: TurnId, event: TurnEvent, *, now_ms: int) -> Move:
    """Feed an event to the turn that :func:`find` or routing.py named.

    An event for a follow-up that is only announced begins it, and so does the first tool of its run.
    """
    begins = next((before for before, opening in turns.announced.items() if opening.turn_id == turn_id), None)
    if begins is None and isinstance(event, ToolStarted) and not event.delegated and turn_id in turns.announced:
        begins, turn_id = turn_id, turns.announced[turn_id].turn_id
    move = Move(turns) if begins is None else cross(turns, begins, now_ms=now_ms)
    return _then(move, lambda now: _event(now, turn_id, event, now_ms=now_ms))


def find(turns: Turns, conversation: ConversationId, caller: Caller) -> Found | Nobody:
    """Which open turn a call without an explicit turn id means.

    The turn bound to the task wins; then the task's session; then the only open turn. A caller whose own turn is over,
    or whose session has none open, never gets somebody else's.

    Source: R6.8, with defect D8: a session without an open turn does not fall through to the only other one.
    """
    if caller.bound is not None:
        current = turns.current(caller.bound)
        turn = turns.live.get(current)
        if turn is not None and turn.is_open and turn.conversation_id == conversation:
            return Found(current)
        if turns.conversation_of(current) in (conversation, None):
            return Nobody("stale")
    candidates = turns.open_in(conversation)
    if caller.session is not None:
        own = turns.open_for(caller.session)
        if own is None:
            return Nobody("none")
        if own.conversation_id == conversation:
            return Found(own.id)
    if len(candidates) == 1:
        return Found(candidates[0].id)
    return Nobody("ambiguous" if candidates else "none")


def _event(turns: Turns, turn_id: TurnId, event: TurnEvent, *, now_ms: int) -> Move:
    turn = turns.live.get(turn_id)
    return Move(turns) if turn is None else _step(turns, machine.on_event(turn, event, now_ms=now_ms))


def _step(turns: Turns, step: Step) -> Move:
    """Put the turn back, keep what is remembered of closed ones, and let the node rules look at the effects."""
    turn = step.turn
    live = {**turns.live, turn.id: turn}
    if turn.is_done:
        del live[turn.id]
    turns = replace(turns, live=live)
    if not turn.is_open and turn.id in turns.announced:
        turns = replace(turns, announced={key: value for key, value in turns.announced.items() if key != turn.id})
    effects: list[Effect] = []
    for effect in step.effects:
        turns, allowed = _allowed(turns, turn, effect)
        effects.extend(allowed)
    return Move(turns, tuple(effects))


def _allowed(turns: Turns, turn: Turn, effect: Effect) -> tuple[Turns, tuple[Effect, ...]]:
    """The effect, or what becomes of it where turns share a conversation."""
    match effect:
        case WritePreview():
            return replace(turns, node={**turns.node, turn.conversation_id: turn.id}), (effect,)
        case ClearNode() | RetireNode():
            owner = turns.live.get(turns.node.get(turn.conversation_id, turn.id))
            if owner is not None and owner.id != turn.id and owner.phase is not machine.Phase.CLOSED:
                return turns, ()
            node = {key: value for key, value in turns.node.items() if key != turn.conversation_id}
            return replace(turns, node=node), (effect,)
        case PublishState(state=state) if not state.is_open:
            others = [other for other in turns.open_in(turn.conversation_id) if other.id != turn.id and other.state]
            return turns, (effect, *(_again(other) for other in others[-1:]))
        case TurnClosed():
            past = Past(turn.conversation_id, turn.opening.kind, effect.outcome, effect.evidence is Evidence.FINAL)
            remembered = {key: value for key, value in turns.past.items() if key != turn.id}
            return replace(turns, past=_newest({**remembered, turn.id: past})), (effect,)
        case _:
            return turns, (effect,)


def _again(turn: Turn) -> PublishState:
    assert turn.state is not None  # noqa: S101  # chosen for it
    return PublishState(turn.id, turn.conversation_id, turn.state, turn.opened_ms)


def _newest(entries: Mapping[K, V]) -> Mapping[K, V]:
    surplus = len(entries) - PAST_TURNS
    return entries if surplus <= 0 else dict(list(entries.items())[surplus:])


def _followed(turns: Turns, successors: Mapping[TurnId, TurnId]) -> Mapping[TurnId, TurnId]:
    """The newest steps, and all that lead to a turn that is still alive: its run knows itself by the first of them."""
    surplus = len(successors) - PAST_TURNS
    if surplus <= 0:
        return successors
    over = [turn_id for turn_id in successors if turns.current(turn_id) not in turns.live]
    gone = frozenset(over[:surplus])
    return {turn_id: after for turn_id, after in successors.items() if turn_id not in gone}


def _then(move: Move, following: Callable[[Turns], Move]) -> Move:
    after = following(move.turns)
    return Move(after.turns, (*move.effects, *after.effects))
