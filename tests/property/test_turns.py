"""Turns under any sequence of events: one notification at most, one closing state, and no way back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from canon_hermes_plugin.turn import registry
from canon_hermes_plugin.turn.effects import (
    ClearNode,
    DeliverFinal,
    Effect,
    PublishState,
    RetireNode,
    TurnClosed,
    WritePreview,
)
from canon_hermes_plugin.turn.events import (
    Due,
    Ended,
    FinalDeferred,
    FinalRejected,
    FinalSettled,
    InputAsked,
    InputClosed,
    InterruptAsked,
    Kind,
    Opening,
    Outcome,
    PreviewEnded,
    Silenced,
    Staged,
    SteeringAccepted,
    SubagentStopped,
    ToolFinished,
    ToolStarted,
    TurnEvent,
)
from canon_hermes_plugin.turn.machine import Phase, Turn, on_event, open_turn
from canon_hermes_plugin.turn.registry import Turns
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId

NOW = 1_790_000_000_000
C1 = ConversationId("c1")
SEGMENTS = st.sampled_from([None, "s1", "s2", "s3"])
TEXTS = st.sampled_from(["", " ", "hello", "hello world", "long"]).map(lambda text: text.replace("long", "x" * 30_000))

EVENTS: st.SearchStrategy[TurnEvent] = st.one_of(
    st.builds(Staged, TEXTS, st.booleans(), SEGMENTS, after_tools=st.booleans()),
    st.builds(ToolStarted, st.sampled_from(["grep", "bash"]), st.sampled_from([None, "t1"]), delegated=st.booleans()),
    st.builds(ToolFinished, st.sampled_from(["grep", "bash"]), st.sampled_from([None, "t1", "t2"])),
    st.builds(SubagentStopped, st.just("coder")),
    st.builds(PreviewEnded, st.booleans()),
    st.just(Due()),
    st.just(InputAsked()),
    st.just(InputClosed()),
    st.just(InterruptAsked()),
    st.just(Silenced()),
    st.just(SteeringAccepted()),
    st.builds(Ended, st.sampled_from(Outcome), st.booleans()),
    st.just(FinalSettled()),
    st.just(FinalDeferred("x")),
    st.just(FinalRejected("x")),
)
OPENINGS = st.builds(
    Opening,
    st.just(TurnId("t")),
    st.just(C1),
    st.booleans(),
    kind=st.sampled_from(Kind),
    source_message_id=st.sampled_from([None, "m1"]),
)
STEPS = st.lists(st.tuples(EVENTS, st.integers(min_value=0, max_value=2_000)), max_size=40)


def rank(phase: Phase) -> int:
    return list(Phase).index(phase)


@given(opening=OPENINGS, steps=STEPS)
def test_any_sequence_keeps_the_invariants(opening: Opening, steps: list[tuple[TurnEvent, int]]) -> None:
    """Whatever the host, the network and the timers do, in whatever order."""
    step = open_turn(opening, now_ms=NOW)
    turn, now_ms, effects = step.turn, NOW, list(step.effects)
    for event, pause_ms in steps:
        now_ms += pause_ms
        before, started = turn, len(effects)
        step = on_event(turn, event, now_ms=now_ms)
        turn = step.turn
        effects.extend(step.effects)

        assert rank(turn.phase) >= rank(before.phase), "a turn never goes back"
        if before.phase is Phase.CLOSED:
            assert all(isinstance(effect, ClearNode) for effect in effects[started:]), "only a late clear"
        if before.silenced and not isinstance(event, SteeringAccepted):
            assert not any(isinstance(effect, WritePreview | DeliverFinal) for effect in effects[started:])

    check(turn, effects)


def check(turn: Turn, effects: list[Effect]) -> None:
    closing = [effect for effect in effects if isinstance(effect, PublishState) and not effect.state.is_open]
    closed = [index for index, effect in enumerate(effects) if isinstance(effect, TurnClosed)]
    writes = sum(isinstance(effect, WritePreview) for effect in effects)
    assert sum(isinstance(effect, DeliverFinal) for effect in effects) <= 1, "one notification at most"
    assert len(closing) <= 1, "one closing state at most"
    assert len(closed) == (turn.phase is Phase.CLOSED), "closed once, and said so"
    if turn.opening.kind is Kind.OWN or turn.opening.quiet:
        assert writes == 0
    if closed:
        after = effects[closed[0] + 1 :]
        assert all(isinstance(effect, ClearNode) for effect in after), "nothing follows the end but a clear"


@given(opening=OPENINGS, steps=STEPS)
def test_one_write_at_a_time(opening: Opening, steps: list[tuple[TurnEvent, int]]) -> None:
    """A second write is handed out only after the first has come back, and the final only after the last of them."""
    step = open_turn(opening, now_ms=NOW)
    turn, now_ms, in_flight = step.turn, NOW, False
    for event, pause_ms in steps:
        now_ms += pause_ms
        if isinstance(event, PreviewEnded) and not in_flight:
            continue
        in_flight = in_flight and not isinstance(event, PreviewEnded)
        step = on_event(turn, event, now_ms=now_ms)
        turn = step.turn
        for effect in step.effects:
            if isinstance(effect, WritePreview):
                assert not in_flight
                in_flight = True
            if isinstance(effect, DeliverFinal):
                assert not in_flight
                assert turn.preview.waiting is None


class Room(RuleBasedStateMachine):
    """One conversation in which sessions open turns, drain follow-ups and end, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = Turns()
        self.now_ms = NOW
        self.opened = 0
        self.finals: dict[TurnId, int] = {}
        self.clears_of_others = 0
        self.node: TurnId | None = None

    def carry(self, move: registry.Move) -> None:
        self.turns = move.turns
        for effect in move.effects:
            match effect:
                case DeliverFinal(final=final) if final.turn_id is not None:
                    self.finals[final.turn_id] = self.finals.get(final.turn_id, 0) + 1
                case WritePreview():
                    self.node = effect.turn_id
                case ClearNode() | RetireNode():
                    owner = self.turns.live.get(self.node) if self.node else None
                    if owner is not None and owner.id != effect.turn_id and owner.is_open:
                        self.clears_of_others += 1
                    self.node = None

    def fresh(self, session: str) -> Opening:
        self.opened += 1
        return Opening(TurnId(f"t{self.opened}"), C1, quiet=False, session=SessionKey(session))

    @rule(session=st.sampled_from(["a", "b", "c"]))
    def start(self, session: str) -> None:
        self.carry(registry.open_turn(self.turns, self.fresh(session), now_ms=self.now_ms))

    @precondition(lambda self: self.turns.live)
    @rule(data=st.data(), event=EVENTS, pause_ms=st.integers(min_value=0, max_value=1_000))
    def happen(self, data: st.DataObject, event: TurnEvent, pause_ms: int) -> None:
        self.now_ms += pause_ms
        turn = data.draw(st.sampled_from(sorted(self.turns.live)))
        self.carry(registry.apply(self.turns, turn, event, now_ms=self.now_ms))

    @precondition(lambda self: self.turns.live)
    @rule(data=st.data())
    def follow_up(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(sorted(self.turns.live)))
        session = self.turns.live[turn].opening.session
        self.turns = registry.announce(self.turns, turn, self.fresh(session or "a"))

    @precondition(lambda self: self.turns.live)
    @rule(data=st.data())
    def cross(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(sorted(self.turns.live)))
        self.carry(registry.cross(self.turns, turn, now_ms=self.now_ms))

    @invariant()
    def one_final_a_turn(self) -> None:
        assert all(count == 1 for count in self.finals.values())

    @invariant()
    def one_open_turn_a_session(self) -> None:
        sessions = [turn.opening.session for turn in self.turns.open_in(C1)]
        assert len(sessions) == len(set(sessions))

    @invariant()
    def nobody_erases_an_open_turns_bubble(self) -> None:
        assert self.clears_of_others == 0

    @invariant()
    def a_closed_turn_is_not_open(self) -> None:
        assert not any(turn in self.turns.past and state.is_open for turn, state in self.turns.live.items())
        assert all(turn in self.turns.live for turn in self.turns.announced)


TestRoom = Room.TestCase
