"""The turn machine: its table, and the invariants that stand in its docstring."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from canon_hermes_plugin.turn.effects import (
    ClearNode,
    DeliverFinal,
    Effect,
    Evidence,
    PublishState,
    RetireNode,
    TurnClosed,
    WakeAt,
    Warn,
    WritePreview,
)
from canon_hermes_plugin.turn.events import (
    Due,
    Ended,
    FileStaged,
    FinalDeferred,
    FinalRejected,
    FinalSettled,
    InputAsked,
    InputClosed,
    InterruptAsked,
    Kind,
    ModelCalled,
    ModelFailed,
    Opening,
    Outcome,
    OutgoingFile,
    PreviewEnded,
    QueueChanged,
    RunCut,
    Silenced,
    Staged,
    SteeringAccepted,
    SubagentStopped,
    ToolFinished,
    ToolStarted,
    TurnEvent,
)
from canon_hermes_plugin.turn.machine import (
    ANSWER_MARK,
    FORGOTTEN_MS,
    LINGER_MS,
    Phase,
    Step,
    Turn,
    on_event,
    open_turn,
)
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId
from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import TurnPhase

NOW = 1_790_000_000_000
TURN = TurnId("hermes-turn-1")
C1 = ConversationId("c1")


def opening(**fields: Any) -> Opening:
    return replace(Opening(TURN, C1, quiet=False, session=SessionKey("s1")), **fields)


def play(turn: Turn, *events: TurnEvent, now_ms: int = NOW) -> Step:
    """The turn after all events, and the effects of the last."""
    step = Step(turn)
    for event in events:
        step = on_event(step.turn, event, now_ms=now_ms)
    return step


def a_turn(*events: TurnEvent, **fields: Any) -> Turn:
    return play(open_turn(opening(**fields), now_ms=NOW).turn, *events).turn


FINAL = Staged("answer", finalized=True)
DRAFT = Staged("answ", finalized=False)
DONE = Ended(Outcome.SUCCESS)
FAILED = Ended(Outcome.FAILURE)

LEAVES = [ReplyAuthority(f"m{number}", str(number) * 32, "2030-01-01T00:00:00.000Z") for number in (1, 2, 3)]

PHASES = {
    Phase.FLUSHING: a_turn(FINAL, DONE),  # its first preview is in flight
    Phase.DELIVERING: a_turn(FINAL, PreviewEnded(True), DONE),
    Phase.LINGERING: a_turn(FINAL, PreviewEnded(True), DONE, FinalSettled()),
    Phase.CLOSED: a_turn(FAILED),
}
EVENTS: list[TurnEvent] = [
    FINAL,
    DRAFT,
    ToolStarted("grep"),
    ToolFinished("grep"),
    SubagentStopped("coder"),
    PreviewEnded(True),
    PreviewEnded(False),
    InputAsked(),
    InputClosed(),
    QueueChanged(),
    InterruptAsked(),
    RunCut(),
    Silenced(),
    SteeringAccepted(),
    Due(),
    DONE,
    FAILED,
    FinalSettled(),
    FinalDeferred("x"),
    FinalRejected("x"),
]
HEARD: dict[Phase, set[type]] = {
    Phase.FLUSHING: {PreviewEnded},
    Phase.DELIVERING: {FinalSettled, FinalDeferred, FinalRejected},
    Phase.LINGERING: {Due},
    Phase.CLOSED: set(),
}


@pytest.mark.parametrize("phase", PHASES)
def test_the_samples_are_in_their_phases(phase: Phase) -> None:
    """The table below is asked about real turns."""
    assert PHASES[phase].phase is phase


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("phase", PHASES)
def test_a_late_event_changes_nothing(phase: Phase, event: TurnEvent) -> None:
    """The dashes of the table: the same turn and no effects."""
    turn = PHASES[phase]

    step = on_event(turn, event, now_ms=NOW)

    if type(event) not in HEARD[phase]:
        assert step == Step(turn)
    else:
        assert step != Step(turn)


def test_opening_says_thinking_with_the_message() -> None:
    """R6.1, R6.2: the state carries the message that asked for the turn."""
    step = open_turn(opening(source_message_id="m1"), now_ms=NOW)

    assert step.effects == (PublishState(TURN, C1, TurnPhase.THINKING, NOW, ("m1",)),)


def test_a_quiet_turn_opens_with_an_empty_node() -> None:
    """R6.16: after the state, the node is emptied."""
    step = open_turn(opening(quiet=True), now_ms=NOW)

    assert [type(effect) for effect in step.effects] == [PublishState, RetireNode]


@pytest.mark.parametrize("kind", [Kind.LOOSE, Kind.OWN])
def test_other_kinds_open_silently(kind: Kind) -> None:
    """D53: a message outside of a run does not make the agent look busy."""
    assert open_turn(opening(kind=kind, session=None), now_ms=NOW).effects == ()


def test_a_draft_is_written_and_then_streaming() -> None:
    """R6.17: the state follows the write that shows the text."""
    step = on_event(a_turn(), DRAFT, now_ms=NOW)
    assert step.effects == (WritePreview(TURN, C1, "answ", ()),)

    after = on_event(step.turn, PreviewEnded(True), now_ms=NOW)
    assert after.effects == (PublishState(TURN, C1, TurnPhase.STREAMING, NOW),)


def test_a_tool_is_shown_when_it_starts() -> None:
    """C7, R6.19: blocks without text, and the state after them."""
    step = on_event(a_turn(), ToolStarted("grep", "t1"), now_ms=NOW)
    (write,) = step.effects
    assert isinstance(write, WritePreview)
    assert write.text is None
    assert [block["title"] for block in write.blocks or ()] == ["grep"]

    after = on_event(step.turn, PreviewEnded(True), now_ms=NOW)
    assert after.effects == (PublishState(TURN, C1, TurnPhase.TOOL, NOW),)


def test_a_quiet_tool_is_not_shown() -> None:
    """R6.19: neither blocks nor state."""
    assert on_event(a_turn(quiet=True), ToolStarted("grep"), now_ms=NOW).effects == ()


def test_a_late_edit_of_a_sealed_segment_corrects_its_block() -> None:
    """R6.31: the answer is not touched by what a tool has sealed."""
    turn = a_turn(Staged("before", False, "s1"), ToolStarted("grep"), Staged("answer", True, "s2"))

    step = on_event(turn, Staged("before, corrected", True, "s1"), now_ms=NOW)

    assert step.effects == ()
    assert step.turn.candidate == turn.candidate
    assert [block.text for block in step.turn.activity.blocks if block.text] == ["before, corrected", "answer"]


def test_staging_merges_what_the_parts_say() -> None:
    """R6.30, R6.31: the first reply target stays, metadata and options of later parts win."""
    turn = a_turn(
        Staged("one", True, "s1", None, {"a": 1, "b": 1}, {"o": 1}),
        Staged("two", False, "s2", "m1", {"b": 2}),
        Staged("one!", True, "s1", "m2", {}, {"o": 2}),
    )

    assert turn.candidate is not None
    assert turn.candidate.parts == (("s1", "one!"), ("s2", "two"))
    assert turn.candidate.finalized is False  # an earlier part does not finish the last
    assert (turn.candidate.reply_to, turn.candidate.metadata) == ("m1", {"a": 1, "b": 2})
    assert turn.candidate.options == {"o": 2}


@pytest.mark.parametrize(
    ("events", "state"),
    [((), TurnPhase.THINKING), ((DRAFT, PreviewEnded(True)), TurnPhase.STREAMING), ((InputAsked(),), "waiting_input")],
    ids=str,
)
def test_a_changed_queue_is_told_in_the_state_that_holds(events: tuple[TurnEvent, ...], state: TurnPhase) -> None:
    """D39: the state is published again, whatever it is; the number itself is the shell's."""
    turn = a_turn(*events)

    step = on_event(turn, QueueChanged(), now_ms=NOW)

    assert step == Step(turn, (PublishState(TURN, C1, TurnPhase(state), NOW),))


def test_waiting_for_a_human_is_what_people_see() -> None:
    """R6.11: while a question is open no other state is published; nested ones are counted."""
    turn = a_turn(InputAsked(), InputAsked(), quiet=True)

    hidden = on_event(turn, DRAFT, now_ms=NOW)
    one_closed = on_event(hidden.turn, InputClosed(), now_ms=NOW)
    both_closed = on_event(one_closed.turn, InputClosed(), now_ms=NOW)

    assert (hidden.effects, one_closed.effects) == ((), ())
    assert both_closed.effects == (PublishState(TURN, C1, TurnPhase.TOOL, NOW),)


def test_a_good_end_delivers_and_waits() -> None:
    """R6.32: final message, then 0.75 s, then the node goes and the turn is completed."""
    delivering = play(a_turn(FINAL, PreviewEnded(True)), DONE)
    (deliver,) = delivering.effects
    assert isinstance(deliver, DeliverFinal)
    assert (deliver.final.text, deliver.final.turn_id) == ("answer", TURN)

    lingering = on_event(delivering.turn, FinalSettled(), now_ms=NOW)
    early = on_event(lingering.turn, Due(), now_ms=NOW + LINGER_MS - 1)
    closed = on_event(early.turn, Due(), now_ms=NOW + LINGER_MS)

    wake = WakeAt(TURN, NOW + LINGER_MS)
    assert (lingering.effects, early.effects) == ((wake,), (wake,))
    assert closed.effects == (
        ClearNode(TURN, C1),
        PublishState(TURN, C1, TurnPhase.COMPLETED, NOW),
        TurnClosed(TURN, C1, Outcome.SUCCESS, Evidence.FINAL),
    )


def test_a_clock_set_back_does_not_keep_a_turn_open() -> None:
    """The moment after a final is short on any clock."""
    closed = on_event(PHASES[Phase.LINGERING], Due(), now_ms=NOW - 3_600_000)

    assert closed.turn.phase is Phase.CLOSED


def test_a_failure_is_not_a_completion() -> None:
    """D15: the only other closing word of the wire is used."""
    step = on_event(a_turn(), FAILED, now_ms=NOW)

    assert step.effects == (
        ClearNode(TURN, C1),
        PublishState(TURN, C1, TurnPhase.INTERRUPTED, NOW),
        TurnClosed(TURN, C1, Outcome.FAILURE, Evidence.NONE),
    )


def test_a_closed_turn_holds_nothing_of_its_run() -> None:
    """R6.7: what was staged goes with the turn, though a write that is on its way keeps the turn a moment longer."""
    turn = a_turn(DRAFT, FileStaged(OutgoingFile({"url": "https://h/a"}, "image")))

    closed = on_event(turn, Ended(Outcome.CANCELLED), now_ms=NOW).turn

    assert (closed.phase, closed.is_done) == (Phase.CLOSED, False)
    assert (closed.candidate, closed.files) == (None, ())


def test_an_end_without_anything_is_no_evidence() -> None:
    """X2: the host reports success for messages that it only queued."""
    closed = on_event(a_turn(), DONE, now_ms=NOW).effects[-1]

    assert closed == TurnClosed(TURN, C1, Outcome.SUCCESS, Evidence.NONE)


def test_a_silence_is_evidence() -> None:
    """X2: ``no_reply`` settles the message."""
    closed = play(a_turn(), Silenced(), DONE).effects[-1]

    assert closed == TurnClosed(TURN, C1, Outcome.SUCCESS, Evidence.SILENCE)


def test_a_deferred_final_waits_with_its_node() -> None:
    """D6: nothing is discarded; the outbox reports again, and then the turn closes as usual."""
    deferred = on_event(PHASES[Phase.DELIVERING], FinalDeferred("503"), now_ms=NOW)

    assert [type(effect) for effect in deferred.effects] == [Warn]
    assert on_event(deferred.turn, FinalSettled(), now_ms=NOW).turn.phase is Phase.LINGERING


def test_a_refused_final_is_said_aloud() -> None:
    """D6: the operator is warned, the node goes, and the turn is not called completed."""
    step = on_event(PHASES[Phase.DELIVERING], FinalRejected("400"), now_ms=NOW)

    assert [type(effect) for effect in step.effects] == [Warn, ClearNode, PublishState, TurnClosed]
    assert step.effects[-1] == TurnClosed(TURN, C1, Outcome.FAILURE, Evidence.NONE)


def test_a_handed_over_turn_ends_as_every_other() -> None:
    """R6.34, Canon wire 11.9: answer, end of the node, closing state, also when a follow-up waits."""
    handed = on_event(a_turn(FINAL, PreviewEnded(True)), Ended(Outcome.SUCCESS, handed_over=True), now_ms=NOW)
    assert [type(effect) for effect in handed.effects] == [DeliverFinal]

    settled = on_event(handed.turn, FinalSettled(), now_ms=NOW)
    assert [type(effect) for effect in settled.effects] == [WakeAt]

    late = on_event(settled.turn, Due(), now_ms=NOW + LINGER_MS)
    assert [type(effect) for effect in late.effects] == [ClearNode, PublishState, TurnClosed]


def test_an_interrupted_turn_hands_nothing_over() -> None:
    """R6.34: if this adapter interrupted the run, the first turn's text is discarded."""
    step = play(a_turn(FINAL, PreviewEnded(True)), InterruptAsked(), Ended(Outcome.SUCCESS, handed_over=True))

    assert not any(isinstance(effect, DeliverFinal) for effect in step.effects)
    assert PublishState(TURN, C1, TurnPhase.INTERRUPTED, NOW) in step.effects


def test_a_stopped_run_that_says_nothing_is_interrupted() -> None:
    """S2.10: a run that this adapter stopped and that ends well without an answer is not called completed."""
    silent = play(a_turn(), InterruptAsked(), DONE)
    answered = play(a_turn(FINAL, PreviewEnded(True)), InterruptAsked(), DONE)

    assert silent.effects[-1] == TurnClosed(TURN, C1, Outcome.CANCELLED, Evidence.NONE)
    assert PublishState(TURN, C1, TurnPhase.INTERRUPTED, NOW) in silent.effects
    assert any(isinstance(effect, DeliverFinal) for effect in answered.effects)


def test_a_loose_final_is_delivered_without_a_preview() -> None:
    """R7.5: it notifies at once, and nothing was shown, so nothing needs to be cleared."""
    delivering = on_event(a_turn(kind=Kind.LOOSE, session=None), FINAL, now_ms=NOW)
    settled = on_event(delivering.turn, FinalSettled(), now_ms=NOW)

    assert [type(effect) for effect in delivering.effects] == [DeliverFinal]
    assert [type(effect) for effect in settled.effects] == [TurnClosed]


@pytest.mark.parametrize("delivered", [True, False], ids=["written", "lost"])
def test_a_loose_draft_whose_first_write_is_on_its_way_is_cleared(delivered: bool) -> None:
    """The node may hold what was written while the final text came in, also when nobody knows whether it was."""
    turn = a_turn(DRAFT, FINAL, PreviewEnded(delivered), FinalSettled(), kind=Kind.LOOSE, session=None)

    step = on_event(turn, Due(), now_ms=turn.linger_ms)

    assert [type(effect) for effect in step.effects] == [ClearNode, TurnClosed]


def test_a_loose_draft_is_cleared_after_its_final() -> None:
    """R7.6: what was streamed outside a run ends like a turn does."""
    turn = a_turn(DRAFT, PreviewEnded(True), FINAL, FinalSettled(), kind=Kind.LOOSE, session=None)

    closed = on_event(turn, Due(), now_ms=NOW + LINGER_MS)

    assert [type(effect) for effect in closed.effects] == [ClearNode, PublishState, TurnClosed]


def test_an_own_message_shows_nothing() -> None:
    """D5: a reply beside a running turn leaves the node and the state alone."""
    turn = open_turn(opening(kind=Kind.OWN, session=None), now_ms=NOW).turn
    effects: list[Effect] = []
    for event in (DRAFT, FINAL, FinalSettled()):
        step = on_event(turn, event, now_ms=NOW)
        turn = step.turn
        effects.extend(step.effects)

    watch, deliver, closed = effects
    assert isinstance(watch, WakeAt)
    assert isinstance(deliver, DeliverFinal)
    assert isinstance(closed, TurnClosed)
    assert deliver.final.names_turn is False


def test_a_timer_is_asked_for_once() -> None:
    """Edits that wait for the same moment do not pile up timers."""
    turn = a_turn(Staged("x" * 60_000, False), PreviewEnded(True))

    first = on_event(turn, Staged("x" * 60_001, False), now_ms=NOW + 1)
    second = on_event(first.turn, Staged("x" * 60_002, False), now_ms=NOW + 2)
    assert [type(effect) for effect in (*first.effects, *second.effects)] == [WakeAt]
    (wake,) = first.effects
    assert isinstance(wake, WakeAt)

    woken = on_event(second.turn, Due(), now_ms=wake.at_ms)
    (write,) = woken.effects
    assert isinstance(write, WritePreview)
    assert write.text == "x" * 60_002


@pytest.mark.parametrize(
    ("kind", "ends"), [(Kind.LOOSE, [ClearNode, PublishState, TurnClosed]), (Kind.OWN, [TurnClosed])]
)
def test_a_forgotten_draft_comes_to_an_end(kind: Kind, ends: list[type[Effect]]) -> None:
    """D53: a draft without a run that nobody touches for five minutes does not keep the chat busy for ever."""
    first = on_event(a_turn(kind=kind, session=None), DRAFT, now_ms=NOW)
    assert first.effects[-1] == WakeAt(TURN, NOW + FORGOTTEN_MS)
    shown = on_event(first.turn, PreviewEnded(True), now_ms=NOW).turn
    touched = on_event(shown, Staged("answer, more", False), now_ms=NOW + 1_000).turn
    touched = on_event(touched, PreviewEnded(True), now_ms=NOW + 1_000).turn

    looked = on_event(touched, Due(), now_ms=NOW + FORGOTTEN_MS)
    ended = on_event(looked.turn, Due(), now_ms=NOW + FORGOTTEN_MS + 1_000)

    assert looked.effects == (WakeAt(TURN, NOW + FORGOTTEN_MS + 1_000),)
    assert [type(effect) for effect in ended.effects] == ends


def test_a_message_that_the_host_does_not_repeat_frees_its_conversation() -> None:
    """D54: told that it failed, the host has five minutes to repeat it; then the outbox alone knows of it."""
    step = on_event(a_turn(kind=Kind.LOOSE, session=None), FINAL, now_ms=NOW)
    held = on_event(step.turn, FinalDeferred("lost"), now_ms=NOW)

    early = on_event(held.turn, Due(), now_ms=NOW + FORGOTTEN_MS - 1)
    late = on_event(held.turn, Due(), now_ms=NOW + FORGOTTEN_MS)
    repeated = on_event(held.turn, FinalSettled(), now_ms=NOW + FORGOTTEN_MS - 1)

    assert held.effects[-1] == WakeAt(TURN, NOW + FORGOTTEN_MS)
    assert early == Step(held.turn)
    assert late.turn.phase is Phase.CLOSED
    assert late.effects[-1] == TurnClosed(TURN, C1, Outcome.FAILURE, Evidence.NONE)
    assert repeated.turn.phase is not Phase.DELIVERING


@pytest.mark.parametrize("kind", [Kind.LIFECYCLE, Kind.OWN])
def test_an_answer_that_is_late_is_never_let_go(kind: Kind) -> None:
    """D6: what the gateway brings to Canon by itself has all the time that it takes."""
    turn = a_turn(FINAL, PreviewEnded(True), DONE) if kind is Kind.LIFECYCLE else a_turn(FINAL, kind=kind, session=None)
    late = play(turn, FinalDeferred("busy"), now_ms=NOW)

    assert [type(effect) for effect in late.effects] == [Warn]
    assert on_event(late.turn, Due(), now_ms=NOW + 100 * FORGOTTEN_MS) == Step(late.turn)


def test_speech_that_comes_after_its_tool_is_narration() -> None:
    """The host's drafts lag behind its tools; the marked segment after them is the answer, alone."""
    turn = a_turn(
        ToolStarted("grep", "t1"),
        Staged("I will look.", True, "s1"),
        Staged("The answer.", True, "s2", after_tools=True),
        Staged("I will look!", True, "s1"),
    )

    assert turn.candidate is not None
    assert turn.candidate.text == "The answer."


def test_speech_may_lag_behind_two_rounds_of_tools() -> None:
    """Each round has its own mark, however late its speech comes; the calls of one round count once."""
    turn = a_turn(
        ToolStarted("grep", "t1", request="r1"),
        ToolStarted("read", "t2", request="r1"),
        Staged("I will look.", True, "s1"),
        ToolStarted("grep", "t3", request="r2"),
        Staged("Once more.", True, "s2", after_tools=True),
        Staged("The answer.", True, "s3", after_tools=True),
        Staged("And more.", True, "s4", after_tools=True),
    )

    assert turn.candidate is not None
    assert turn.candidate.text == "The answer.\nAnd more."


@pytest.mark.parametrize("tools", [[], [ToolStarted("grep", "t1"), Staged("After.", True, "s0", after_tools=True)]])
def test_a_mark_without_a_new_tool_drops_nothing(tools: list[TurnEvent]) -> None:
    """A later segment may begin with a blank line that the model wrote: what stands before it is part of the answer."""
    turn = a_turn(*tools, Staged("one", True, "s1"), Staged("two", True, "s2", after_tools=True))

    assert turn.candidate is not None
    assert turn.candidate.text.endswith("one\ntwo")


def test_a_childs_tool_makes_no_mark_meaningful() -> None:
    """D63: only the run's own tools divide its speech."""
    turn = a_turn(
        Staged("one", True, "s1"), ToolStarted("grep", delegated=True), Staged("two", True, "s2", after_tools=True)
    )

    assert turn.candidate is not None
    assert turn.candidate.text == "one\ntwo"


LONG = "x" * 60_000


def test_the_last_text_is_shown_before_the_final_whatever_the_pace() -> None:
    """R6.32: a text that waits for the pace is written when the run ends, and only then the final goes out."""
    turn = a_turn(Staged(LONG, False, "s1"), PreviewEnded(True), Staged(LONG + " The end.", True, "s1"))
    assert not turn.preview.is_idle

    flushing = on_event(turn, DONE, now_ms=NOW)
    delivering = on_event(flushing.turn, PreviewEnded(True), now_ms=NOW)

    assert flushing.effects == (WritePreview(TURN, C1, LONG + " The end.", None),)
    assert [type(effect) for effect in delivering.effects] == [DeliverFinal]


def test_a_loose_final_does_not_wait_for_its_preview() -> None:
    """R7.6: a finished text outside of a run goes out at once; what waits for the node is dropped."""
    turn = a_turn(Staged(LONG, False), PreviewEnded(True), Staged(LONG + "!", False), kind=Kind.LOOSE, session=None)
    assert not turn.preview.is_idle

    assert [type(effect) for effect in on_event(turn, FINAL, now_ms=NOW).effects] == [DeliverFinal]


def test_what_waits_at_a_silence_is_never_shown() -> None:
    """R8.8, D65: neither when the write in flight returns nor when the time has come."""
    turn = a_turn(Staged("one", False, "s1"), Staged("one two", False, "s1"))
    silenced = on_event(turn, Silenced(), now_ms=NOW).turn

    returned = on_event(silenced, PreviewEnded(True), now_ms=NOW)
    woken = on_event(returned.turn, Due(), now_ms=NOW + 10_000)

    assert not any(isinstance(effect, WritePreview) for effect in (*returned.effects, *woken.effects))


def test_a_childs_tool_leaves_the_speech_open() -> None:
    """D63: text without an id goes on in the segment that was open before the child's call."""
    turn = a_turn(Staged("one", False), ToolStarted("grep", delegated=True), Staged("one two", False))

    assert [block.text for block in turn.activity.blocks if block.kind == "text"] == ["one two"]
    assert turn.candidate is not None
    assert turn.candidate.text == "one two"


def test_a_tool_that_never_reported_is_closed_in_the_trail() -> None:
    """D43: a trail shows nothing as running."""
    (deliver,) = play(a_turn(ToolStarted("grep"), PreviewEnded(True), FINAL, PreviewEnded(True)), DONE).effects

    assert isinstance(deliver, DeliverFinal)
    assert [block["status"] for block in deliver.final.trail] == ["completed", "completed"]


def test_a_run_that_the_host_put_off_closes_without_a_word() -> None:
    """X2: while the host only queues the message, Canon is not told that its turn is over; it begins again."""
    turn = open_turn(Opening(TurnId("t1"), ConversationId("c1"), quiet=False), now_ms=1_000).turn

    step = on_event(turn, Ended(Outcome.SUCCESS, put_off=True), now_ms=2_000)

    assert step.effects == (TurnClosed(turn.id, turn.conversation_id, Outcome.SUCCESS, Evidence.NONE, goes_on=True),)


def test_a_run_in_which_the_model_was_called_has_evidence() -> None:
    """X2: a run with nothing to say is over all the same when the model was called, and only then."""
    turn = open_turn(Opening(TurnId("t1"), ConversationId("c1"), quiet=False), now_ms=1_000).turn
    called = on_event(turn, ModelCalled(), now_ms=1_500).turn

    ends = [on_event(each, Ended(Outcome.SUCCESS), now_ms=2_000).effects for each in (turn, called)]

    closings = [effect.evidence for effects in ends for effect in effects if isinstance(effect, TurnClosed)]
    assert closings == [Evidence.NONE, Evidence.RAN]


@pytest.mark.parametrize(
    ("events", "state"),
    [
        pytest.param([ModelFailed()], "interrupted", id="failed"),
        pytest.param([ModelCalled(), ModelFailed(), ModelFailed()], "interrupted", id="failed after a tool"),
        pytest.param([ModelFailed(), ModelCalled()], "completed", id="asked again, and answered"),
        pytest.param([ModelCalled(), ModelFailed(delegated=True)], "completed", id="a child's"),
    ],
)
def test_a_run_whose_model_failed_has_failed(events: list[TurnEvent], state: str) -> None:
    """D15: the host delivers a sentence of its own and calls that a success; people read it once, as no answer."""
    turn = open_turn(Opening(TurnId("t1"), ConversationId("c1"), quiet=True), now_ms=1_000).turn
    effects: list[Effect] = []
    rest: list[TurnEvent] = [
        Staged("The provider refused.", finalized=True),
        Ended(Outcome.SUCCESS),
        FinalSettled("m1"),
        Due(),
    ]
    for event in [*events, *rest]:
        step = on_event(turn, event, now_ms=2_000 if event is not rest[-1] else 9_000)
        turn, effects = step.turn, [*effects, *step.effects]

    assert [effect.final.text for effect in effects if isinstance(effect, DeliverFinal)] == ["The provider refused."]
    assert [effect.state.value for effect in effects if isinstance(effect, PublishState)][-1] == state
    assert [effect.evidence for effect in effects if isinstance(effect, TurnClosed)] == [Evidence.FINAL]


def test_the_answer_of_a_recovered_run_says_so() -> None:
    """X3: people read that something may have been said or done before."""
    opening = Opening(TurnId("t1"), ConversationId("c1"), quiet=True, is_recovered=True)
    turn = open_turn(opening, now_ms=1_000).turn
    turn = on_event(turn, Staged("done", finalized=True), now_ms=1_100).turn

    effects = on_event(turn, Ended(Outcome.SUCCESS), now_ms=1_200).effects

    (delivered,) = [effect.final.text for effect in effects if isinstance(effect, DeliverFinal)]
    assert delivered == ANSWER_MARK + "done"


def test_the_answer_of_a_run_that_got_a_recovered_message_says_so() -> None:
    """X3: words of a message whose run died are put into a running turn, which had none."""
    step = play(a_turn(SteeringAccepted(1, is_recovered=True), SteeringAccepted(2)), FINAL, PreviewEnded(True), DONE)

    (delivered,) = [effect.final.text for effect in step.effects if isinstance(effect, DeliverFinal)]
    assert delivered == ANSWER_MARK + "answer"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([FINAL, PreviewEnded(True)], id="what the host calls its answer"),
        pytest.param([DRAFT, PreviewEnded(True)], id="a draft"),
        pytest.param([ToolStarted("grep")], id="a tool"),
        pytest.param([], id="nothing"),
    ],
)
def test_a_run_that_was_cut_off_leaves_nothing_behind(said: list[TurnEvent]) -> None:
    """X3, D37: half an answer is no answer; the node is emptied before it goes, because it is all said again."""
    turn = a_turn(*said, RunCut())
    assert turn.cut

    effects = play(turn, Ended(Outcome.SUCCESS, cut_off=True)).effects

    assert [type(effect) for effect in effects] == [RetireNode, ClearNode, PublishState, TurnClosed]
    assert [effect.state for effect in effects if isinstance(effect, PublishState)] == [TurnPhase.INTERRUPTED]
    closed = effects[-1]
    assert isinstance(closed, TurnClosed)
    assert (closed.outcome, closed.evidence) == (Outcome.CANCELLED, Evidence.NONE)


def test_a_preview_that_lands_after_a_cut_is_emptied_too() -> None:
    """X3, D37: the write was on its way when the turn closed; its text does not become a message."""
    turn = play(a_turn(DRAFT), Ended(Outcome.SUCCESS, cut_off=True)).turn

    effects = play(turn, PreviewEnded(True)).effects

    assert [type(effect) for effect in effects] == [RetireNode, ClearNode]


@pytest.mark.parametrize(("own", "expected"), [(None, LEAVES[1]), (LEAVES[0], LEAVES[0])], ids=["none", "its own"])
def test_the_leave_of_the_first_words_counts(own: ReplyAuthority | None, expected: ReplyAuthority) -> None:
    """R3.30: a turn answers with its own leave; one that had none, with that of the first words put into it."""
    steered = [SteeringAccepted(number, authority=leave) for number, leave in enumerate(LEAVES[1:], start=1)]

    step = play(a_turn(*steered, authority=own), FINAL, PreviewEnded(True), DONE)

    (delivered,) = [effect.final for effect in step.effects if isinstance(effect, DeliverFinal)]
    assert delivered.authority == expected


def test_the_node_stays_for_as_long_as_the_server_looks() -> None:
    """R6.32: three quarters of a second between the final message and the end of the node."""
    assert (PHASES[Phase.LINGERING].linger_ms - NOW, LINGER_MS) == (750, 750)
