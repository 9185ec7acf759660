"""One claimed receipt in the hands of Hermes: every way in which it can end, and those in which it must not."""

from __future__ import annotations

import pytest

from borgee_hermes.inbox.records import Outcome, Status
from borgee_hermes.lanes.execution import Execution, Phase


def claimed() -> Execution:
    return Execution(7, "0123456789abcdef")


def running() -> Execution:
    execution = claimed()
    execution.started()
    return execution


@pytest.mark.parametrize(
    ("outcome", "status", "word"),
    [
        ("success", Status.COMPLETED, Outcome.HERMES_COMPLETED),
        ("cancelled", Status.FAILED, Outcome.HERMES_CANCELLED),
        ("failure", Status.FAILED, Outcome.HERMES_FAILED),
        ("a word of a later host", Status.FAILED, Outcome.HERMES_FAILED),
    ],
)
def test_a_turn_ends_as_hermes_says(outcome: str, status: Status, word: Outcome) -> None:
    """4.7: success, cancellation, and everything else is a failure."""
    execution = running()

    execution.completed(outcome)

    assert execution.ending is not None
    assert (execution.phase, execution.ending.status, execution.ending.outcome) == (Phase.ENDED, status, word)


@pytest.mark.parametrize(
    ("outcome", "has_answer", "ends"),
    [("success", True, True), ("success", False, False), ("cancelled", False, False), ("failure", True, False)],
)
def test_what_a_stopping_host_says_counts_with_an_answer_only(outcome: str, has_answer: bool, ends: bool) -> None:
    """An interrupted turn is called a success: without an answer nobody knows, and nothing settles it any more."""
    execution = running()
    execution.handler_returned(has_answer=has_answer)

    execution.completed(outcome, is_stopping=True)

    assert execution.phase is (Phase.ENDED if ends else Phase.ABANDONED)
    assert (execution.ending is not None) is ends


def test_a_held_message_is_started_again() -> None:
    """Put aside during the host's start-up, its success is no end; the second start is."""
    execution = running()
    execution.completed("success", is_held=True)

    assert (execution.phase, execution.waits_in_host, execution.session_idle()) == (Phase.HELD, True, False)
    assert execution.started()
    execution.completed("success")
    assert execution.phase is Phase.ENDED


def test_an_inline_command_ends_with_its_handler() -> None:
    """The handler's return or exception decides, once the host has the reply sent."""
    done, failed = claimed(), claimed()
    done.handler_returned(has_answer=True)
    failed.handler_raised()
    for execution in (done, failed):
        execution.handed_over()

    assert done.ending is not None and failed.ending is not None
    assert (done.ending.outcome, failed.ending.outcome) == (Outcome.INLINE_COMPLETED, Outcome.DISPATCH_FAILED)


def test_a_parked_text_is_run_or_dropped() -> None:
    """W6: started later it is a turn like any; when its session goes idle before, it was dropped."""
    run, dropped = claimed(), claimed()
    for execution in (run, dropped):
        execution.handed_over()
        assert execution.phase is Phase.PARKED

    assert run.started() and not run.session_idle()
    assert dropped.session_idle() and not dropped.started()
    assert dropped.phase is Phase.DROPPED


def test_what_is_abandoned_is_settled_by_nothing() -> None:
    """A27: whatever Hermes says afterwards."""
    execution = running()
    execution.abandon()

    execution.completed("success")
    execution.failed("late")

    assert not execution.started()
    assert (execution.phase, execution.ending) == (Phase.ABANDONED, None)


def test_work_is_announced_once() -> None:
    """However often Hermes starts it."""
    execution = claimed()

    assert [execution.announce() for _ in range(3)] == [True, False, False]
    assert execution.task_id == "borgee-7-0123456789ab"


def test_an_end_stays() -> None:
    """A second word of Hermes, an exception or a limit change nothing after the end."""
    execution = running()
    execution.completed("success")

    execution.completed("failure")
    execution.failed("late")
    execution.abandon()

    assert execution.ending is not None
    assert (execution.phase, execution.ending.outcome) == (Phase.ENDED, Outcome.HERMES_COMPLETED)


@pytest.mark.parametrize("outcome", ["success", "cancelled", "failure"])
@pytest.mark.parametrize("is_stopping", [False, True])
def test_what_hermes_has_not_begun_waits_again(outcome: str, is_stopping: bool) -> None:
    """Whatever it calls the end of it; one that nobody waits for any more stays abandoned."""
    execution, late = running(), running()
    execution.refused()
    late.refused()
    late.abandon()

    execution.completed(outcome, is_stopping=is_stopping)
    late.completed(outcome, is_stopping=is_stopping)

    assert (execution.phase, execution.ending) == (Phase.UNREAD, None)
    assert late.phase is Phase.ABANDONED


def test_only_a_turn_can_be_refused() -> None:
    """What has its end, or is a command beside a turn, is not."""
    over, beside = running(), claimed()
    over.completed("success")
    over.refused()
    beside.refused()

    assert (over.was_refused, beside.was_refused, over.phase) == (False, False, Phase.ENDED)
