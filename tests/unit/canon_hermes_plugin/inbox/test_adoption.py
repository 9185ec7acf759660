"""Who takes care of a message whose run died: the host, if it resumes the session in time, else we."""

from __future__ import annotations

import asyncio

from canon_hermes_plugin.inbox.adoption import WINDOW_S, Adoption
from canon_hermes_plugin.inbox.items import Item, State
from canon_ops.runtime.clock import ManualClock


def an_item(item_id: str, session: str = "s1") -> Item:
    return Item(item_id, "c1", State.STARTED, {}, session=session, turn_id=f"turn of {item_id}", runs=1)


async def test_a_resumed_session_takes_its_oldest_item() -> None:
    """X3: the host's start says for what it is only by its session; another session has nothing of it."""
    adoption = Adoption([an_item("m1"), an_item("m2")], is_gate_open=lambda: False, clock=ManualClock())

    adopted = [adoption.adopt("s2"), adoption.adopt("s1"), adoption.adopt("s1"), adoption.adopt("s1")]

    assert [item.item_id if item else None for item in adopted] == [None, "m1", "m2", None]
    assert [await adoption.is_ours("m1"), await adoption.is_ours("m2")] == [False, False]


async def test_what_nobody_adopts_is_ours_when_the_hosts_time_is_over() -> None:
    """X3: fifteen seconds, counted from the opening of the host's gate, however late that is."""
    clock, gate = ManualClock(), [False]
    adoption = Adoption([an_item("m1")], is_gate_open=lambda: gate[0], clock=clock)
    running = asyncio.create_task(adoption.run())
    waiting = asyncio.create_task(adoption.is_ours("m1"))

    await clock.advance(60)
    closed = waiting.done()
    gate[0] = True
    await clock.advance(WINDOW_S - 1)
    early = waiting.done()
    await clock.advance(2)

    assert (closed, early, await waiting) == (False, False, True)
    assert adoption.adopt("s1") is None  # too late: it is handed over already
    await running


async def test_without_remains_nothing_waits() -> None:
    """A clean start costs no timer."""
    clock = ManualClock()
    await Adoption([], is_gate_open=lambda: False, clock=clock).run()

    assert clock.sleepers == 0
