"""The cursor stands behind the longest finished beginning of the stream."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from canon_hermes_plugin.inbound.cursor import Cursor, Ticket


def arrive(cursor: Cursor, *event_ids: str | None) -> list[Ticket]:
    return [cursor.admit(event_id).ticket for event_id in event_ids]


def test_the_position_follows_finished_events() -> None:
    """Finishing in order moves it one by one."""
    cursor, found = Cursor(), []
    for ticket in arrive(cursor, "e1", "e2"):
        cursor.handled(ticket)
        found.append(cursor.position)

    assert found == ["e1", "e2"]


def test_an_unfinished_event_holds_the_position() -> None:
    """D21: what came after it may be finished, the position stays before it, then jumps over all of them."""
    cursor = Cursor("e0")
    first, second, third = arrive(cursor, "e1", "e2", "e3")

    cursor.handled(second)
    cursor.handled(third)
    held = cursor.position
    cursor.handled(first)

    assert (held, cursor.position) == ("e0", "e3")
    assert (cursor.weight, cursor.running) == ((0, 0, 0), set())


def test_an_event_without_an_id_holds_but_is_never_the_position() -> None:
    """It has no place to return to, so the one before it is kept."""
    cursor, only = Cursor(), Cursor("e0")
    first, nameless, third = arrive(cursor, "e1", None, "e3")

    cursor.handled(first)
    cursor.handled(third)
    held = cursor.position
    cursor.handled(nameless)
    only.handled(*arrive(only, None))

    assert (held, cursor.position, only.position) == ("e1", "e3", "e0")


def test_s2_17_failed_work_is_delivered_again() -> None:
    """S2.17: the position stays before the failed event, and after a rewind its new delivery is work to do."""
    cursor = Cursor("e0")
    first, second = arrive(cursor, "e1", "e2")

    cursor.failed(first)
    cursor.handled(second)
    held = cursor.position
    cursor.rewind()
    again = cursor.admit("e1")
    cursor.handled(again.ticket)

    assert (held, again.is_running, cursor.position) == ("e0", False, "e1")


def test_work_from_before_a_break_counts_for_the_new_delivery() -> None:
    """An event that is still in work is not worked on twice, and its end moves the position."""
    cursor = Cursor()
    first, _ = arrive(cursor, "e1", "e2")

    cursor.rewind()
    again = cursor.admit("e1")
    cursor.handled(first)

    assert (again.is_running, cursor.position) == (True, "e1")


def test_work_that_ends_during_the_break_does_not_move_the_position() -> None:
    """Until the stream has delivered it again, its place is not known."""
    cursor = Cursor("e0")
    _, second = arrive(cursor, "e1", "e2")

    cursor.rewind()
    cursor.handled(second)

    assert (cursor.position, cursor.admit("e2").is_running) == ("e0", False)


@pytest.mark.parametrize(("to", "then"), [("e9", "e9"), (None, None), ("", None)])
def test_a_gap_moves_the_position_at_once(to: str | None, then: str | None) -> None:
    """``replay.expired``: go on from what the server has; without an id, from now. Old work moves nothing."""
    cursor = Cursor("e0")
    (first,) = arrive(cursor, "e1")

    cursor.jump(to)
    cursor.handled(first)

    assert cursor.position == then


def test_an_event_that_comes_twice_is_passed_twice() -> None:
    """The server may send one again on the same stream: its one end is the end of both."""
    cursor = Cursor()
    first, second, twin = arrive(cursor, "e1", "e2", "e1")

    cursor.handled(first)
    held = cursor.position
    cursor.handled(second)

    assert (twin, held, cursor.position, cursor.weight) == (first, "e1", "e1", (0, 0, 0))


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(lambda cursor: cursor.admit("new"), id="an arrival"),
        pytest.param(lambda cursor: cursor.handled("id:e9"), id="an end"),
        pytest.param(lambda cursor: cursor.failed("id:e9"), id="a failure"),
    ],
)
def test_a_step_costs_the_same_behind_any_number_of_events(step: Callable[[Cursor], object]) -> None:
    """One stuck event and thousands behind it: what a step makes anew is counted; a copy of all is 100 KB."""
    cursor = Cursor()
    arrive(cursor, *(f"e{number}" for number in range(4_000)))

    tracemalloc.start()
    try:
        step(cursor)
        _, made = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert made < 16_000


def test_events_that_end_backwards_are_passed_once_each() -> None:
    """The stuck event ends last: no end before it moves anything, the last passes all of them."""
    cursor = Cursor()
    tickets = arrive(cursor, *(f"e{number}" for number in range(1_000)))

    for ticket in reversed(tickets[1:]):
        cursor.handled(ticket)
        assert (cursor.position, cursor.weight[0]) == (None, 1_000)
    cursor.handled(tickets[0])

    assert (cursor.position, cursor.weight) == ("e999", (0, 0, 0))
