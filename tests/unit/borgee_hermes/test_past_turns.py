"""What passes the turns that run, and what does not; on the real host's base class. Borgee 4.6, 9.5."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.inbox.records import DispatchClass, Outcome, Status
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
