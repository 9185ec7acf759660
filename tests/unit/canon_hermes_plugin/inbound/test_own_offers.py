"""What becomes of a message of ours that the host has: it is watched until a run begins with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canon_hermes_plugin.approvals.waking import message_of
from canon_hermes_plugin.inbound.inflow import Inflow
from canon_hermes_plugin.inbox.adoption import Adoption
from canon_hermes_plugin.inbox.items import Item, State
from canon_hermes_plugin.state.kept import Kept
from canon_ops.runtime.clock import ManualClock
from tests.support.canon_state import opened_state
from tests.unit.canon_hermes_plugin.approvals.test_waking import WAKE
from tests.unit.canon_hermes_plugin.inbound.test_inflow import Host, inflow

SESSION = "session of c1"


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with opened_state(tmp_path) as kept:
        yield kept


async def waiting(host: Host, kept: Kept) -> Inflow:
    """A wake that the host has put behind a running turn."""
    flow = inflow(host, kept)
    await flow.own.take(message_of(WAKE, "user-1"))
    await flow.drain()
    host.held.add(WAKE.key)
    assert host.taken == [WAKE.key]
    return flow


async def test_what_the_host_threw_away_is_handed_over_again(kept: Kept) -> None:
    """D27: a /stop, a new session, a full queue; until then it waits, and an idle session has not absorbed it."""
    host = Host()
    flow = await waiting(host, kept)
    flow.own.look_after(SESSION)
    flow.own.look_after("another")
    await flow.drain()
    meanwhile, watched = list(host.taken), flow.own.waiting_in(SESSION)

    host.held.clear()
    flow.own.look_after(SESSION)
    await flow.drain()

    assert (meanwhile, watched) == ([WAKE.key], (WAKE.key,))
    assert host.taken == [WAKE.key] * 2


async def test_what_has_begun_is_not_watched_any_more(kept: Kept) -> None:
    """A5: its own run, or one of the message into which the host has merged it."""
    host = Host()
    flow = await waiting(host, kept)
    host.held.clear()

    flow.own.begun(["some message", WAKE.key])
    flow.own.look_after(SESSION)
    flow.own.ended(WAKE.key, runs_again=False)
    await flow.own.offer_again()
    await flow.drain()

    assert (host.taken, flow.own.waiting_in(SESSION), flow.own.knows(WAKE.key)) == ([WAKE.key], (), False)


@pytest.mark.parametrize("is_held", [True, False])
async def test_a_run_without_a_trace_begins_again(kept: Kept, is_held: bool) -> None:
    """The host has only queued it, and it is watched on; or lost it, and it is offered with the next look around."""
    host = Host()
    flow = await waiting(host, kept)
    flow.own.begun([WAKE.key])
    if not is_held:
        host.held.clear()

    flow.own.ended(WAKE.key, runs_again=True)
    await flow.drain()
    at_once = list(host.taken)
    await flow.own.offer_again()
    await flow.drain()

    assert at_once == [WAKE.key]
    assert (host.taken, flow.own.waiting_in(SESSION)) == ([WAKE.key] * (1 if is_held else 2), (WAKE.key,))


async def test_what_is_ours_is_open_until_its_own_run_is_over(kept: Kept) -> None:
    """A5: an idle session says nothing of it, whether it waits, has begun, or is to be offered again."""
    host = Host()
    flow = await waiting(host, kept)
    steps = [flow.not_with_host()]
    flow.own.begun([WAKE.key])
    steps.append(flow.not_with_host())
    host.held.clear()
    flow.own.ended(WAKE.key, runs_again=True)
    steps.append(flow.not_with_host())
    await flow.own.offer_again()
    await flow.drain()
    flow.own.begun([WAKE.key])
    steps.append(flow.not_with_host())
    flow.own.ended(WAKE.key, runs_again=False)

    assert steps == [{WAKE.key}] * 4
    assert flow.not_with_host() == frozenset()


async def test_a_run_that_the_host_resumed_and_that_left_no_trace_begins_again(kept: Kept) -> None:
    """A5, X3: the host takes a decision for a session that it resumes, and loses it there."""
    host = Host()
    flow = inflow(host, kept)
    item = Item(WAKE.key, WAKE.conversation_id, State.STARTED, message_of(WAKE, "user-1"), session=SESSION, runs=1)
    adoption = Adoption([item], is_gate_open=lambda: True, clock=ManualClock())
    flow.own.recover(item, adoption)
    adopted = adoption.adopt(SESSION)
    assert adopted is not None and flow.own.adopted(adopted) is not None
    await flow.drain()
    at_once = list(host.taken)

    flow.own.ended(WAKE.key, runs_again=True)
    await flow.own.offer_again()
    await flow.drain()

    assert (at_once, host.taken) == ([], [WAKE.key])
