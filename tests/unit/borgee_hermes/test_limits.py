"""A command that takes too long: its receipt is put aside, its session begins afresh, its slot is free. Borgee 9.6."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import Outcome, Receipt, Status
from borgee_hermes.lanes.scheduler import Lane
from canon_ops.runtime.clock import ManualClock
from tests.support.borgee_adapter import SessionStore, Stage, rows, staged, until
from tests.support.borgee_receipts import S1
from tests.support.borgee_session import said

pytestmark = pytest.mark.host

LIMIT_S = 15.0


class Turns:
    """An agent whose turns run until the test ends; a command runs as the test says."""

    def __init__(self, command: Callable[[Any, Any], Awaitable[str]] | None = None) -> None:
        self.running: list[str] = []
        self.cancelled: list[str] = []
        self._command = command

    async def __call__(self, event: Any, adapter: Any) -> str:
        if event.text.startswith("/") and event.text != "/approve":
            return f"did {event.text}"
        self.running.append(event.text)
        try:
            if event.text == "/approve" and self._command is not None:
                return await self._command(event, adapter)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(event.text)
            raise
        raise AssertionError


class HoldingInbox(Inbox):
    """An inbox in which one call never comes back after it was carried out."""

    def __init__(self, path: Path, *, holds: str, clock: ManualClock) -> None:
        super().__init__(path, clock=clock)
        self.holds = holds
        self.held = asyncio.Event()

    async def claim(self, seq: int, token: str) -> Receipt | None:
        found = await super().claim(seq, token)
        await self._maybe_hold("claim", seq)
        return found

    async def finish(self, seq: int, token: str, status: Status, outcome: Outcome, *, error: str | None = None) -> bool:
        found = await super().finish(seq, token, status, outcome, error=error)
        await self._maybe_hold("finish", seq)
        return found

    async def quarantine_processing(self, seq: int, *, suspended: bool) -> bool:
        if self.holds == "quarantine":
            await self._maybe_hold("quarantine", seq)
        return await super().quarantine_processing(seq, suspended=suspended)

    async def _maybe_hold(self, name: str, seq: int) -> None:
        if self.holds == name and seq == 2:
            self.held.set()
            await asyncio.Event().wait()


@asynccontextmanager
async def busy(
    home: Path, turns: Turns, *, holds: str = "", known: bool = True, **more: Any
) -> AsyncIterator[tuple[Stage, ManualClock]]:
    """A stage with a manual clock, a turn that runs in channel 1, and ``/approve`` sent behind it."""
    clock = ManualClock()
    store = SessionStore(*([S1] if known else []))

    def inbox(folder: Path) -> Inbox:
        return HoldingInbox(inbox_file(folder), holds=holds, clock=clock)

    async with staged(home, turns, clock=clock, sessions=store, inbox=inbox, drain_timeout_seconds=1, **more) as stage:
        stage.session.deliver(said("turn", message_id="m-1"))
        await until(lambda: turns.running == ["turn"])
        stage.session.deliver(said("/approve", message_id="m-2"))
        try:
            yield stage, clock
        finally:
            stopping = asyncio.create_task(stage.adapter.disconnect())
            while not stopping.done():
                await clock.advance(1.0)
                await asyncio.sleep(0.002)
            await stopping


async def never_returns(_event: Any, _adapter: Any) -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def over_the_limit(clock: ManualClock) -> None:
    await clock.advance(LIMIT_S)


async def test_a_command_that_never_returns(own_home: Path) -> None:
    """A21: the handler is cancelled, the row quarantined, the session suspended once, and the lane free for others."""
    turns = Turns(command=never_returns)
    async with busy(own_home, turns) as (stage, clock):
        await until(lambda: "/approve" in turns.running)

        await over_the_limit(clock)

        await stage.until_row(2, Status.QUARANTINED, Outcome.TIMEOUT_SUSPENDED)
        await until(lambda: turns.cancelled == ["/approve"])
        assert stage.store.suspended == [S1]
        stage.session.deliver(said("/status", message_id="m-3"))
        await stage.until_row(3, Status.COMPLETED, Outcome.INLINE_COMPLETED)
        await until(lambda: stage.adapter._borgee.dispatcher._scheduler.used(Lane.CONTROL) == 0)
        assert not stage.adapter.has_fatal_error


async def test_a_session_that_hermes_does_not_know_needs_no_suspension(own_home: Path) -> None:
    """4.4: the outcome says that there was none."""
    turns = Turns(command=never_returns)
    async with busy(own_home, turns, known=False) as (stage, clock):
        await until(lambda: "/approve" in turns.running)

        await over_the_limit(clock)

        await stage.until_row(2, Status.QUARANTINED, Outcome.TIMEOUT_NO_SESSION)
        assert stage.store.suspended == []


async def test_a_reply_that_hangs(own_home: Path) -> None:
    """A22: the handler has returned, its reply never goes out: quarantined, and not told as done."""

    async def quick(_event: Any, _adapter: Any) -> str:
        return "reply"

    turns = Turns(command=quick)
    async with busy(own_home, turns) as (stage, clock):
        stage.session.answers["send_message"] = lambda _: asyncio.Event().wait()
        await until(lambda: stage.session.payloads("send_message"))

        await over_the_limit(clock)

        await stage.until_row(2, Status.QUARANTINED, Outcome.TIMEOUT_SUSPENDED)
        await until(lambda: stage.session.payloads("task_finished"))
        assert [each["outcome"] for each in stage.session.payloads("task_finished")] == ["failed"]
        assert not stage.adapter.has_fatal_error


async def test_a_claim_that_hangs_after_its_commit(own_home: Path) -> None:
    """A23: claimed on disk and never handed over: quarantined all the same."""
    turns = Turns()
    async with busy(own_home, turns, holds="claim") as (stage, clock):
        await until(lambda: stage.inboxes[-1].held.is_set())  # type: ignore[attr-defined]

        await over_the_limit(clock)

        await stage.until_row(2, Status.QUARANTINED, Outcome.TIMEOUT_SUSPENDED)
        assert "/approve" not in turns.running
        assert not stage.adapter.has_fatal_error


async def test_a_host_that_refuses_to_suspend(own_home: Path) -> None:
    """A24: nothing claims a suspension that did not happen: the adapter is down, the row in doubt."""
    turns = Turns(command=never_returns)
    async with busy(own_home, turns) as (stage, clock):
        await until(lambda: "/approve" in turns.running)
        stage.store.refuses = True

        await over_the_limit(clock)
        await until(lambda: stage.adapter.has_fatal_error)

        assert stage.adapter.fatal_error_code == "borgee_durable_inbox"
    row = (await asyncio.to_thread(rows, own_home))[1]
    assert (row.status, row.outcome) == (Status.IN_DOUBT, Outcome.PROCESS_INTERRUPTED)


async def test_a_receipt_that_has_settled_itself_is_left_alone(own_home: Path) -> None:
    """A25, A26: the end is on disk although the caller never heard of it: nothing is suspended or quarantined."""

    async def quick(_event: Any, _adapter: Any) -> str:
        return "reply"

    turns = Turns(command=quick)
    async with busy(own_home, turns, holds="finish") as (stage, clock):
        await until(lambda: stage.inboxes[-1].held.is_set())  # type: ignore[attr-defined]

        await over_the_limit(clock)

        row = await stage.row(2)
        assert (row.status, row.outcome) == (Status.COMPLETED, Outcome.INLINE_COMPLETED)
        assert stage.store.suspended == []
        assert not stage.adapter.has_fatal_error
        await until(lambda: stage.adapter._borgee.dispatcher._scheduler.used(Lane.CONTROL) == 0)


async def test_a_report_that_hangs_is_no_work_that_hangs(own_home: Path) -> None:
    """A25: the receipt is completed and its slot free, however long the server takes to hear of it."""

    async def quick(_event: Any, _adapter: Any) -> str:
        return "reply"

    turns = Turns(command=quick)
    async with busy(own_home, turns) as (stage, clock):
        stage.session.answers["task_finished"] = lambda _report: asyncio.Event().wait()
        await stage.until_row(2, Status.COMPLETED)

        await over_the_limit(clock)

        row = await stage.row(2)
        assert (row.status, row.outcome) == (Status.COMPLETED, Outcome.INLINE_COMPLETED)
        assert stage.store.suspended == []
        assert not stage.adapter.has_fatal_error
        await until(lambda: stage.adapter._borgee.dispatcher._scheduler.used(Lane.CONTROL) == 0)


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_child_of_hermes_cannot_settle_what_is_over(own_home: Path, refuses: bool) -> None:
    """A27, A28: the record is taken away before the store is asked, so a late end changes nothing."""
    turns = Turns(command=never_returns)
    async with busy(own_home, turns) as (stage, clock):
        await until(lambda: "/approve" in turns.running)
        stage.store.refuses = refuses
        dispatcher = stage.adapter._borgee.dispatcher
        event = next(each for each in stage.events if each.text == "/approve")
        asked = stage.store.peek_session_id

        def settles_meanwhile(key: str) -> str | None:
            dispatcher.turn_started(2)
            dispatcher.turn_completed(2, S1, "success", event)
            return asked(key)

        stage.store.peek_session_id = settles_meanwhile  # type: ignore[assignment]
        await over_the_limit(clock)
        if refuses:
            await until(lambda: stage.adapter.has_fatal_error)
        else:
            await stage.until_row(2, Status.QUARANTINED, Outcome.TIMEOUT_SUSPENDED)
        assert stage.adapter.has_fatal_error is refuses
    row = (await asyncio.to_thread(rows, own_home))[1]
    assert row.status is (Status.IN_DOUBT if refuses else Status.QUARANTINED)


async def test_a_stop_in_the_middle_of_it_leaves_the_row_in_doubt(own_home: Path) -> None:
    """A29: suspended, and then the gateway stops: the claim stays for the next start; nothing is fatal."""
    turns = Turns(command=never_returns)
    async with busy(own_home, turns, holds="quarantine") as (stage, clock):
        await until(lambda: "/approve" in turns.running)
        await over_the_limit(clock)
        await until(lambda: stage.inboxes[-1].held.is_set())  # type: ignore[attr-defined]
    assert not stage.adapter.has_fatal_error
    row = (await asyncio.to_thread(rows, own_home))[1]
    assert (row.status, row.outcome) == (Status.IN_DOUBT, Outcome.PROCESS_INTERRUPTED)
