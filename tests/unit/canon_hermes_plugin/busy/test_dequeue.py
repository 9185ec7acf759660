"""The seam where the host takes the next message: who hears of it, and that nothing of the host's changes."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.busy import dequeue
from tests.support.busy_host import KEY, a_busy_session, a_request, runner_class

pytestmark = pytest.mark.host


def test_the_hosts_method_is_as_we_know_it() -> None:
    """S5.35: three arguments by position."""
    from gateway.run import GatewayRunner

    parameters = inspect.signature(GatewayRunner._promote_queued_event).parameters

    assert list(parameters) == ["self", "session_key", "adapter", "pending_event"]


async def test_a_message_that_begins_is_announced_and_released() -> None:
    """S5.20, S5.21: once, however often the handler is installed."""
    busy = a_busy_session()
    busy.adapter.set_busy_session_handler(busy.runner._handle_active_session_busy_message)
    await busy.say("next")

    event = busy.promote()

    assert event.text == "next"
    assert (busy.notes.accepted, [arrival.message_id for arrival in busy.notes.announced]) == (["m2"], ["m2"])


async def test_each_is_released_when_it_begins() -> None:
    """S5.22, S5.26: the one behind it goes on waiting until the run is over, and has not begun."""
    busy = a_busy_session()
    for number in (2, 3):
        await busy.say(f"waits {number}", message_id=f"m{number}")

    busy.promote()
    first = list(busy.notes.accepted)
    busy.end_run()
    busy.promote()

    assert (first, busy.notes.accepted) == (["m2"], ["m2", "m3"])


async def test_what_stands_behind_an_empty_slot_is_announced_too() -> None:
    """D4: what ``/queue`` puts there the host takes from the list, not from the slot."""
    busy = a_busy_session()
    busy.runner._queued_events[KEY] = [busy.event(a_request("waits", message_id="m3"))]

    assert busy.promote().message_id == "m3"
    assert [arrival.message_id for arrival in busy.notes.announced] == ["m3"]


async def test_a_gateway_that_goes_down_begins_nothing() -> None:
    """S5.23: it throws the message away; the next one has it from the inbox."""
    busy = a_busy_session()
    await busy.say("next")
    busy.runner._draining = True

    event = busy.promote()

    assert (event.text, busy.notes.accepted, busy.notes.announced) == ("next", [], [])


async def test_others_messages_and_none_are_not_ours() -> None:
    """S5.24."""
    busy = a_busy_session()
    nothing = busy.promote()
    await busy.say("next")

    event = busy.promote(adapter=object())

    assert (nothing, event.text, busy.notes.accepted, busy.notes.announced) == (None, "next", [], [])


def test_the_seam_of_a_dead_adapter_is_replaced() -> None:
    """S5.22: the true original stays underneath, and the old one's farewell takes nothing from the new one."""
    heard: list[tuple[str, str]] = []
    old, new = object(), object()
    runner = runner_class()(None)
    original = runner._promote_queued_event

    dequeue.install(runner, old, lambda key, event: heard.append(("old", event)))
    dequeue.install(runner, new, lambda key, event: heard.append(("new", event)))
    dequeue.uninstall(runner, old)
    runner._promote_queued_event("s1", new, "event")
    runner._promote_queued_event(session_key="s1", adapter=old, pending_event="event")
    dequeue.uninstall(runner, new)

    assert heard == [("new", "event")]
    assert runner._promote_queued_event == original


def test_trouble_of_ours_is_not_the_hosts() -> None:
    """R5.20: the result is what the host made it."""
    runner = SimpleNamespace(_promote_queued_event=lambda key, adapter, event: event)
    owner = object()

    def fails(key: str, event: Any) -> None:
        raise RuntimeError("ours")

    assert dequeue.install(runner, owner, fails)
    assert runner._promote_queued_event("s1", owner, "event") == "event"


async def test_without_the_method_queueing_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """S5.27: one warning; a message is announced where the host takes it out of its slot."""
    busy = a_busy_session(wired=False)
    busy.runner._promote_queued_event = None

    busy.adapter.set_busy_session_handler(busy.runner._handle_active_session_busy_message)
    await busy.say("next")
    event = busy.adapter.get_pending_message("agent:main:canon:dm:convo-1")

    assert event.text == "next" and [arrival.message_id for arrival in busy.notes.announced] == ["m2"]
    assert len([record for record in caplog.records if "_promote_queued_event" in record.getMessage()]) == 1
