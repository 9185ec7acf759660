"""What the end of a run proves about its message, and what a dead gateway's remains get."""

from __future__ import annotations

from dataclasses import replace

import pytest

from canon_hermes_plugin.inbox.items import RUNS, Item, Settlement, State, after_run
from canon_hermes_plugin.inbox.recovery import DeadTurn, Remedy, Rest, continued, remedy_for, rest_of
from canon_hermes_plugin.turn.effects import Evidence
from canon_hermes_plugin.turn.events import Outcome

SUCCESS, FAILURE, CANCELLED = Outcome.SUCCESS, Outcome.FAILURE, Outcome.CANCELLED


@pytest.mark.parametrize(
    ("outcome", "evidence", "stopping", "then"),
    [
        pytest.param(SUCCESS, Evidence.FINAL, False, Settlement.ANSWER, id="answered"),
        pytest.param(SUCCESS, Evidence.SILENCE, False, Settlement.SILENCE, id="silent"),
        pytest.param(SUCCESS, Evidence.RAN, False, Settlement.RAN, id="nothing-to-say"),
        pytest.param(SUCCESS, Evidence.NONE, False, State.HANDED, id="only-queued"),
        pytest.param(SUCCESS, Evidence.NONE, True, State.STARTED, id="cut-off-on-the-way-down"),
        pytest.param(FAILURE, Evidence.NONE, False, Settlement.FAILURE, id="failed"),
        pytest.param(CANCELLED, Evidence.NONE, False, Settlement.CANCELLED, id="stopped-by-a-person"),
        pytest.param(FAILURE, Evidence.NONE, True, State.STARTED, id="taken-down"),
        pytest.param(CANCELLED, Evidence.NONE, True, State.STARTED, id="cancelled-on-the-way-down"),
        pytest.param(CANCELLED, Evidence.FINAL, True, Settlement.ANSWER, id="answered-on-the-way-down"),
    ],
)
def test_a_run_settles_its_message_only_with_evidence(
    outcome: Outcome, evidence: Evidence, stopping: bool, then: State | Settlement
) -> None:
    """X2: success alone proves nothing, and what the gateway takes down with it is not over."""
    assert after_run(outcome, evidence, is_stopping=stopping) == then


def an_item(state: State, *, runs: int = 0, turn: str | None = None) -> Item:
    return Item("m1", "c1", state, {}, turn_id=turn, runs=runs)


@pytest.mark.parametrize(
    ("item", "remedy"),
    [
        pytest.param(an_item(State.RECORDED), Remedy.HAND_OVER, id="recorded"),
        pytest.param(an_item(State.HANDED), Remedy.HAND_OVER, id="handed"),
        pytest.param(an_item(State.STARTED, runs=1), Remedy.AWAIT_ADOPTION, id="started"),
        pytest.param(an_item(State.STARTED, runs=RUNS), Remedy.GIVE_UP, id="started-too-often"),
    ],
)
def test_what_a_dead_gateway_left_is_handed_over_again(item: Item, remedy: Remedy) -> None:
    """X3: what had started waits for the host first; what killed the gateway every time is given up."""
    assert remedy_for(item) is remedy


@pytest.mark.parametrize(
    ("items", "answered", "was_closed", "rest"),
    [
        pytest.param((), frozenset(), False, Rest.INTERRUPTED, id="nobody-goes-on"),
        pytest.param((an_item(State.STARTED, runs=1, turn="t1"),), frozenset(), False, Rest.GOES_ON, id="run-again"),
        pytest.param((an_item(State.HANDED, turn="t1"),), frozenset(), False, Rest.GOES_ON, id="put-off"),
        pytest.param((an_item(State.STARTED, runs=1, turn="t2"),), frozenset(), False, Rest.INTERRUPTED, id="another"),
        pytest.param(
            (an_item(State.STARTED, runs=RUNS, turn="t1"),), frozenset(), False, Rest.INTERRUPTED, id="given-up"
        ),
        pytest.param((), frozenset({"t1"}), False, Rest.AFTER_ANSWER, id="answer-on-its-way"),
        pytest.param((), frozenset({"t1"}), True, Rest.SILENT, id="only-its-node"),
    ],
)
def test_a_dead_turn_is_laid_to_rest(
    items: tuple[Item, ...], answered: frozenset[str], was_closed: bool, rest: Rest
) -> None:
    """D24, D37: what Canon is told last depends on whether the turn goes on, or its answer is still on its way."""
    assert rest_of(DeadTurn("t1", "c1", 1, was_closed), items, answered) is rest


@pytest.mark.parametrize(
    ("turns", "turn_id"),
    [
        pytest.param((DeadTurn("t1", "c1", 1), DeadTurn("t2", "c1", 2, True)), "t1", id="open"),
        pytest.param((DeadTurn("t1", "c1", 1, True),), None, id="closed"),
        pytest.param((DeadTurn("t2", "c1", 1),), None, id="closed-and-its-node-gone"),
    ],
)
@pytest.mark.parametrize("state", [State.HANDED, State.STARTED])
def test_a_message_is_run_again_as_the_same_turn_while_that_is_open(
    turns: tuple[DeadTurn, ...], turn_id: str | None, state: State
) -> None:
    """X3: an answer that came after its turn's end would contradict what people were told."""
    item = an_item(state, runs=1, turn="t1")

    assert continued(item, turns) == replace(item, turn_id=turn_id)
