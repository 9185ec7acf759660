"""The cursor stands behind the longest finished beginning of the stream."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from canon_hermes_plugin.inbound.cursor import Cursor, Ticket, admit, failed, handled, jump, rewind


def arrive(cursor: Cursor, *event_ids: str | None) -> tuple[Cursor, list[Ticket]]:
    tickets = []
    for event_id in event_ids:
        admitted = admit(cursor, event_id)
        cursor = admitted.cursor
        tickets.append(admitted.ticket)
    return cursor, tickets


def test_the_position_follows_finished_events() -> None:
    """Finishing in order moves it one by one."""
    cursor, (first, second) = arrive(Cursor(), "e1", "e2")

    assert handled(cursor, first).position == "e1"
    assert handled(handled(cursor, first), second).position == "e2"


def test_an_unfinished_event_holds_the_position() -> None:
    """D21: what came after it may be finished, the position stays before it, then jumps over all of them."""
    cursor, (first, second, third) = arrive(Cursor("e0"), "e1", "e2", "e3")

    later = handled(handled(cursor, second), third)

    assert later.position == "e0"
    at_rest = handled(later, first)
    assert at_rest.position == "e3"
    assert [len(kept) for kept in (at_rest.arrived, at_rest.copies, at_rest.done, at_rest.running)] == [0, 0, 0, 0]


def test_an_event_without_an_id_holds_but_is_never_the_position() -> None:
    """It has no place to return to, so the one before it is kept."""
    cursor, (first, nameless, third) = arrive(Cursor(), "e1", None, "e3")

    cursor = handled(handled(cursor, first), third)
    assert cursor.position == "e1"

    assert handled(cursor, nameless).position == "e3"
    only, (ticket,) = arrive(Cursor("e0"), None)
    assert handled(only, ticket).position == "e0"


def test_s2_17_failed_work_is_delivered_again() -> None:
    """S2.17: the position stays before the failed event, and after a rewind its new delivery is work to do."""
    cursor, (first, second) = arrive(Cursor("e0"), "e1", "e2")

    cursor = handled(failed(cursor, first), second)
    assert cursor.position == "e0"
    again = admit(rewind(cursor), "e1")

    assert again.is_running is False
    assert handled(again.cursor, again.ticket).position == "e1"


def test_work_from_before_a_break_counts_for_the_new_delivery() -> None:
    """An event that is still in work is not worked on twice, and its end moves the position."""
    cursor, (first, _) = arrive(Cursor(), "e1", "e2")

    again = admit(rewind(cursor), "e1")

    assert again.is_running is True
    assert handled(again.cursor, first).position == "e1"


def test_work_that_ends_during_the_break_does_not_move_the_position() -> None:
    """Until the stream has delivered it again, its place is not known."""
    cursor, (_, second) = arrive(Cursor("e0"), "e1", "e2")

    cursor = handled(rewind(cursor), second)

    assert cursor.position == "e0"
    assert admit(cursor, "e2").is_running is False


def test_a_gap_moves_the_position_at_once() -> None:
    """``replay.expired``: go on from what the server has; without an id, from now."""
    cursor, (first,) = arrive(Cursor("e0"), "e1")

    assert jump(cursor, "e9").position == "e9"
    assert jump(cursor, None).position is None
    assert handled(jump(cursor, "e9"), first).position == "e9"


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(lambda cursor: admit(cursor, "new"), id="an arrival"),
        pytest.param(lambda cursor: handled(cursor, "id:e9"), id="an end"),
        pytest.param(lambda cursor: failed(cursor, "id:e9"), id="a failure"),
    ],
)
def test_a_step_costs_the_same_behind_any_number_of_events(step: Callable[[Cursor], object]) -> None:
    """One stuck event and thousands behind it: what a step makes anew is counted; a copy of all is 100 KB."""
    cursor, _ = arrive(Cursor(), *(f"e{number}" for number in range(4_000)))

    tracemalloc.start()
    try:
        step(cursor)
        _, made = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert made < 16_000


def test_events_that_end_backwards_are_passed_once_each() -> None:
    """The stuck event ends last: no end before it looks at those that wait, the last passes all of them."""
    cursor, tickets = arrive(Cursor(), *(f"e{number}" for number in range(1_000)))

    for ticket in reversed(tickets[1:]):
        before, cursor = cursor, handled(cursor, ticket)
        assert cursor.arrived is before.arrived and cursor.copies is before.copies

    assert handled(cursor, tickets[0]).position == "e999"
