"""What passes the turns that run, and what does not; on the real host's base class. Borgee 4.6, 9.5."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import DispatchClass, Outcome, Receipt, Status
from canon_ops.runtime.clock import ManualClock
from tests.support.borgee_adapter import staged, until
from tests.support.borgee_receipts import S1, session_of
from tests.support.borgee_session import said

pytestmark = pytest.mark.host


class Turns:
    """An agent whose turns run on, and whose ``/approve`` ends when the test says; everything else is answered."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.approved = asyncio.Event()

    async def __call__(self, event: Any, _adapter: Any) -> str:
        if event.text.startswith("turn"):
            self.running.append(event.text)
            await asyncio.Event().wait()
        if event.text == "/approve":
            self.running.append(event.text)
            await self.approved.wait()
        return f"did {event.text}"


@contextmanager
def a_question_in(session_key: str) -> Iterator[None]:
    """The host waits for the answer to a question of that session's turn."""
    from tools import clarify_gateway

    clarify_gateway.register(f"q {session_key}", session_key, "Which colour?", None)
    clarify_gateway.mark_awaiting_text(f"q {session_key}")
    try:
        yield
    finally:
        clarify_gateway.clear_session(session_key)


async def test_a_thousand_waiting_messages_hold_no_command_up(own_home: Path) -> None:
    """A15: behind them a command, an approval and the answer to a question run; a queued text waits like the others."""
    turns = Turns()
    turns.approved.set()
    async with staged(own_home, turns, max_concurrent_dispatches=1, drain_timeout_seconds=0.05) as stage:
        stage.session.deliver(said("turn", message_id="m-0"))
        await until(lambda: turns.running == ["turn"])
        for n in range(1_000):
            last = stage.session.deliver(said(f"behind {n}", message_id=f"b-{n}"))
        assert await last.settled is True

        with a_question_in(S1):
            for number, text in enumerate(("/status", "/approve", "/queue payload", "blue")):
                stage.session.deliver(said(text, message_id=f"c-{number}"))
            for seq in (1_002, 1_003, 1_005):
                await stage.until_row(seq, Status.COMPLETED, Outcome.INLINE_COMPLETED)

        waits, behind = await stage.row(1_004), await stage.row(2)
        assert (waits.status, waits.effective_body, waits.dispatch_class) == (
            Status.PENDING,
            "payload",
            DispatchClass.ORDINARY,
        )
        assert behind.status is Status.PENDING
        assert sorted(stage.sent) == ["did /approve", "did /status", "did blue"]


async def test_full_slots_of_turns_hold_neither_an_approval_nor_an_answer_up(own_home: Path) -> None:
    """A16: each of the two turns waits for a person, and both people are heard."""
    turns = Turns()
    turns.approved.set()
    async with staged(own_home, turns, max_concurrent_dispatches=2, drain_timeout_seconds=0.05) as stage:
        for n in (1, 2):
            stage.session.deliver(said(f"turn {n}", f"channel-{n}", f"m-{n}"))
        await until(lambda: len(turns.running) == 2)

        with a_question_in(session_of("channel-2")):
            stage.session.deliver(said("/approve", "channel-1", "m-3"))
            stage.session.deliver(said("blue", "channel-2", "m-4"))
            for seq in (3, 4):
                await stage.until_row(seq, Status.COMPLETED, Outcome.INLINE_COMPLETED)


async def test_full_slots_of_commands_do_not_hold_a_stop_up(own_home: Path) -> None:
    """A17: eight commands that do not end take every control slot; a ninth waits, and ``/stop`` runs past it."""
    turns = Turns()
    async with staged(own_home, turns, max_concurrent_dispatches=9, drain_timeout_seconds=0.05) as stage:
        for n in range(9):
            stage.session.deliver(said(f"turn {n}", f"channel-{n}", f"m-{n}"))
        await until(lambda: len(turns.running) == 9)
        for n in range(8):
            stage.session.deliver(said("/approve", f"channel-{n}", f"a-{n}"))
        await until(lambda: turns.running.count("/approve") == 8)

        stage.session.deliver(said("/status", "channel-8", "waits"))
        stage.session.deliver(said("/stop", "channel-8", "stop"))
        await stage.until_row(19, Status.COMPLETED, Outcome.INLINE_COMPLETED)

        assert turns.running.count("/approve") == 8
        assert "did /stop" in stage.sent


@pytest.mark.parametrize("flag", ["_draining", "_external_drain_active"])
async def test_a_host_that_drains_is_given_no_turn(own_home: Path, flag: str) -> None:
    """It would answer with a notice and call that a success. When it takes turns again, what has come meanwhile runs.

    What passes a turn that runs still does: that turn may wait for it.
    """
    turns, clock = Turns(), ManualClock()
    async with staged(own_home, turns, clock=clock, drain_timeout_seconds=0.05) as stage:
        stage.session.deliver(said("turn", message_id="m-1"))
        await until(lambda: turns.running == ["turn"])
        runner = stage.adapter.gateway_runner = SimpleNamespace(**{flag: True})

        stage.session.deliver(said("hello", "channel-2", "m-2"))
        stage.session.deliver(said("/status", message_id="m-3"))
        await stage.until_row(3, Status.COMPLETED, Outcome.INLINE_COMPLETED)
        await clock.advance(5.0)
        assert (await stage.row(2)).status is Status.PENDING

        setattr(runner, flag, False)
        await clock.advance(1.0)
        await stage.until_row(2, Status.COMPLETED, Outcome.HERMES_COMPLETED)
        stopping = asyncio.create_task(stage.adapter.disconnect())
        while not stopping.done():
            await clock.advance(0.05)
            await asyncio.sleep(0.001)


async def test_a_text_whose_session_became_busy_during_its_claim_is_not_put_behind(own_home: Path) -> None:
    """W6: the host would keep it in a slot of its own, where it may merge or drop it; here it waits for the session."""
    reached, go = asyncio.Event(), asyncio.Event()

    class Slow(Inbox):
        async def claim(self, seq: int, token: str) -> Receipt | None:
            claimed = await super().claim(seq, token)
            reached.set()
            await go.wait()
            return claimed

    async with staged(own_home, Turns(), inbox=lambda home: Slow(inbox_file(home))) as stage:
        stage.session.deliver(said())
        await reached.wait()
        stage.adapter._active_sessions[S1] = asyncio.Event()
        go.set()

        await stage.until_row(1, Status.PENDING)
        assert stage.texts == []
        assert not stage.adapter._pending_messages
        del stage.adapter._active_sessions[S1]
        await stage.until_row(1, Status.COMPLETED, Outcome.HERMES_COMPLETED)


async def test_a_host_that_begins_to_drain_during_a_claim_gets_nothing(own_home: Path) -> None:
    """The claim is given back, and the next start runs the text."""
    reached, go = asyncio.Event(), asyncio.Event()

    class Slow(Inbox):
        async def claim(self, seq: int, token: str) -> Receipt | None:
            claimed = await super().claim(seq, token)
            reached.set()
            await go.wait()
            return claimed

    async with staged(own_home, Turns(), inbox=lambda home: Slow(inbox_file(home))) as stage:
        stage.session.deliver(said())
        await reached.wait()
        stage.adapter.gateway_runner = SimpleNamespace(_draining=True)
        go.set()

        await stage.until_row(1, Status.PENDING)
        assert stage.texts == []
    async with staged(own_home, Turns()) as again:
        await again.until_row(1, Status.COMPLETED)


NOTICE = "⏳ Gateway is shutting down and is not accepting new work right now."


def a_runner(**state: Any) -> SimpleNamespace:
    """The host's runner, as far as the adapter looks at it."""
    return SimpleNamespace(_draining=False, _external_drain_active=False, _session_run_generation={}, **state)


@pytest.mark.parametrize("flag", ["_draining", "_external_drain_active"])
async def test_a_host_that_begins_to_drain_after_the_hand_over_is_shown_nothing(own_home: Path, flag: str) -> None:
    """W6: between the hand-over and the host's own look its hooks run. The text waits; when the host takes turns again
    it runs once, and Borgee is not left with work that goes on for ever."""
    clock = ManualClock()
    async with staged(own_home, Turns(), clock=clock) as stage:
        runner = stage.adapter.gateway_runner = a_runner()
        started = stage.adapter.on_processing_start

        async def hook(event: Any) -> None:
            await started(event)
            setattr(runner, flag, True)

        stage.adapter.on_processing_start = hook
        stage.session.deliver(said())
        await until(lambda: stage.session.payloads("task_finished"))
        assert (await stage.row(1)).status is Status.PENDING
        assert stage.session.payloads("task_finished")[0]["outcome"] == "cancelled"
        assert (stage.texts, stage.sent) == ([], [])

        stage.adapter.on_processing_start = started
        setattr(runner, flag, False)
        await clock.advance(1.0)
        await stage.until_row(1, Status.COMPLETED, Outcome.HERMES_COMPLETED)
        assert (stage.texts, stage.sent) == (["hello"], ["did hello"])


@pytest.mark.parametrize("flag", ["_draining", "_external_drain_active"])
async def test_what_a_draining_host_refuses_unread_waits_and_is_not_told_so(own_home: Path, flag: str) -> None:
    """W6: the host looks for itself once more; its notice asks people to say it again: it would run twice."""

    async def refuses(_event: Any, adapter: Any) -> str:
        setattr(adapter.gateway_runner, flag, True)
        return NOTICE

    async with staged(own_home, refuses, clock=ManualClock()) as stage:
        stage.adapter.gateway_runner = a_runner()
        stage.session.deliver(said())
        await until(lambda: stage.session.payloads("task_finished"))
        assert (await stage.row(1)).status is Status.PENDING
        assert (stage.texts, stage.sent) == (["hello"], [])
    async with staged(own_home, Turns()) as again:
        await again.until_row(1, Status.COMPLETED)
        assert again.sent == ["did hello"]


@pytest.mark.parametrize(
    ("text", "answer", "runs"),
    [("hello", NOTICE, 1), ("hello", "done before it stopped", 0), ("/quick", NOTICE, 0)],
    ids=["a run had begun", "no notice", "a command needs no run"],
)
async def test_what_a_draining_host_has_read_is_over(own_home: Path, text: str, answer: str, runs: int) -> None:
    """It may have done something: it is not run again, and the person gets what it said."""

    async def agent(event: Any, adapter: Any) -> str:
        adapter.gateway_runner._session_run_generation[S1] = runs
        adapter.gateway_runner._draining = True
        return answer

    async with staged(own_home, agent) as stage:
        stage.adapter.gateway_runner = a_runner()
        stage.session.deliver(said(text))
        await stage.until_row(1, Status.COMPLETED, Outcome.HERMES_COMPLETED)
        assert stage.sent == [answer]
