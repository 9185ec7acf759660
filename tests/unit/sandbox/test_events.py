"""The event log: order, replay, and what falls out of the window."""

from __future__ import annotations

import pytest

from canon_ops.sandbox.events import EventLog, Expired


def filled(count: int, window: int = 100) -> EventLog:
    log = EventLog("evt_x_", window)
    for number in range(1, count + 1):
        log.append("message.created", {"n": number})
    return log


def test_events_come_back_in_order_after_a_position() -> None:
    """A reader gets exactly what follows its place."""
    log = filled(5)

    news = log.after(3)

    assert isinstance(news, list)
    assert [event.payload() for event in news] == [{"n": 4}, {"n": 5}]
    assert log.after(5) == []


def test_an_id_is_a_place() -> None:
    """The id of an event says where its reader goes on."""
    log = filled(5)

    assert log.locate("evt_x_0000000004") == 4


@pytest.mark.parametrize(
    "event_id", ["evt_x_0000000099", "evt_y_0000000004", "0000000004", "evt_x_", "evt_x_four", "evt_x_٤", ""]
)
def test_an_id_from_nowhere_has_expired(event_id: str) -> None:
    """An id of another sandbox, of the future, or of no shape at all gets the newest id instead of a place."""
    assert filled(5).locate(event_id) == Expired("evt_x_0000000005")


def test_what_left_the_window_has_expired() -> None:
    """Places before the window are gone; the one right before its first event still lacks nothing."""
    log = filled(10, window=4)

    assert log.after(5) == Expired("evt_x_0000000010")
    assert log.locate("evt_x_0000000005") == Expired("evt_x_0000000010")
    assert log.locate("evt_x_0000000006") == 6
    assert isinstance(log.after(6), list)


def test_an_empty_log_names_no_newest_event() -> None:
    """Nothing happened, so there is no id to tell."""
    assert filled(0).locate("evt_x_0000000001") == Expired(None)


def test_the_names_of_a_fault_stand_for_the_same_place() -> None:
    """An alias after an event means the event was read, one before it that it was not."""
    log = filled(3)
    news = log.after(1)
    assert isinstance(news, list)
    second = news[0]

    assert log.locate(second.alias("again")) == 2
    assert log.locate(second.alias("broken", before=True)) == 1


def test_a_frame_is_id_name_and_one_line() -> None:
    """The proper form, to the character."""
    log = EventLog("evt_x_", 10)

    event = log.append("typing", {"text": "ä\nb"})

    assert event.frame() == 'id: evt_x_0000000001\nevent: typing\ndata: {"text":"ä\\nb"}\n\n'
