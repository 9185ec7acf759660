"""What the health file of Borgee says, and when it is written. Decisions X9."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from borgee_hermes.bpp.errors import AuthFailed, BppError, ConnectFailed, PeerProtocolClose
from borgee_hermes.bpp.events import AgentToggle
from borgee_hermes.bpp.port import Handlers
from borgee_hermes.bpp.state import ConnectionState, Status
from borgee_hermes.health import WRITE_EVERY_S, Vitals, changed_by
from borgee_hermes.inbox.records import Progress
from borgee_hermes.inbox.records import Status as Receipt
from canon_ops.hermes.platform_health import PlatformHealth, StreamState, health_file
from canon_ops.hermes.stream_health import Health
from canon_ops.runtime.clock import ManualClock
from tests.support.borgee_adapter import KEY, staged, until
from tests.support.borgee_session import FakeSession, said

pytestmark = pytest.mark.host

BEGAN = Health.connecting(now_ms=1_000)
RESTING = 2  # what waits for the clock: the next write, and the next pruning or the end of a stop's patience
REFUSED = AuthFailed("Borgee does not accept the key")


def read(home: Path) -> PlatformHealth | None:
    file = health_file(home, "borgee")
    return PlatformHealth.parse(file.read_bytes()) if file.exists() else None


def told(home: Path) -> PlatformHealth:
    report = read(home)
    assert report is not None
    return report


async def until_told(home: Path, stream: StreamState) -> PlatformHealth:
    """The report once it says that the stream is in this state."""
    await until(lambda: (report := read(home)) is not None and report.stream is stream)
    return told(home)


def has_written_since(home: Path, at_ms: int) -> bool:
    return told(home).written_at_ms > at_ms


async def let_pass(home: Path, clock: ManualClock, *, times: int) -> None:
    """Half a minute, so often, each with its write."""
    for _ in range(times):
        before = told(home).written_at_ms
        await until(lambda: clock.sleepers == RESTING)
        await clock.advance(WRITE_EVERY_S)
        await until(functools.partial(has_written_since, home, before))


@pytest.mark.parametrize(
    ("course", "stream", "since_ms", "reconnects", "trouble"),
    [
        ([(Status.CONNECTING, "")], StreamState.CONNECTING, 1_000, 0, None),
        ([(Status.ONLINE, "")], StreamState.OPEN, 2_000, 0, None),
        ([(Status.ONLINE, ""), (Status.RECONNECTING, "bpp.x")], StreamState.LOST, 3_000, 0, "(bpp.x)"),
        ([(Status.ONLINE, ""), *[(Status.RECONNECTING, "")] * 3], StreamState.LOST, 3_000, 0, "has ended."),
        ([(Status.ONLINE, ""), (Status.RECONNECTING, ""), (Status.ONLINE, "")], StreamState.OPEN, 4_000, 1, "ended."),
        ([(Status.ONLINE, ""), (Status.CLOSED, "")], StreamState.OPEN, 2_000, 0, None),
    ],
    ids=["begins", "stands", "is away", "attempts are one absence", "is back", "who closes says so"],
)
def test_each_state_of_the_client_is_one_of_the_stream(
    course: list[tuple[Status, str]], stream: StreamState, since_ms: int, reconnects: int, trouble: str | None
) -> None:
    """Since when, how often it came back, and why it was away last."""
    health = BEGAN
    for number, (status, code) in enumerate(course):
        health = changed_by(health, ConnectionState(status, code=code), None, now_ms=2_000 + 1_000 * number)

    assert (health.stream, health.since_ms, health.reconnects) == (stream, since_ms, reconnects)
    assert health.last_trouble is None if trouble is None else trouble in str(health.last_trouble)


@pytest.mark.parametrize(
    ("failure", "stream"),
    [(REFUSED, StreamState.REFUSED), (PeerProtocolClose("1008"), StreamState.LOST), (None, StreamState.LOST)],
)
def test_a_client_that_gave_up_says_why(failure: BppError | None, stream: StreamState) -> None:
    """A refused key is a state of its own, since nobody tries again."""
    online = BEGAN.opened(now_ms=2_000)

    health = changed_by(online, ConnectionState(Status.ERROR), failure, now_ms=3_000)

    assert (health.stream, bool(health.last_trouble)) == (stream, True)


async def test_a_life_is_told_from_its_first_connection_to_its_end(own_home: Path) -> None:
    """Connecting, open with its agent, at work, away, back, closed; each change is on disk at once."""
    gate = asyncio.Event()

    async def agent(event: Any, _adapter: Any) -> None:
        await gate.wait()

    def client(handlers: Handlers) -> FakeSession:
        session = FakeSession(handlers=handlers)

        async def connecting() -> None:
            await until_told(own_home, StreamState.CONNECTING)

        session.connecting = connecting
        return session

    async with staged(own_home, agent, session=client) as stage:
        report = await until_told(own_home, StreamState.OPEN)
        assert (report.platform, report.pid, report.agent_id) == ("borgee", os.getpid(), "agent-1")
        assert (report.environment_id, report.cursor, report.in_work) == ("https://chat.example.com", "0", 0)
        assert report.host_version != "unknown"

        stage.session.deliver(said("one"))
        stage.session.deliver(said("two", message_id="m-2"))
        await stage.until_row(1, Receipt.PROCESSING)
        await stage.until_row(2, Receipt.PENDING)
        stage.session.become(Status.RECONNECTING)
        report = await until_told(own_home, StreamState.LOST)
        assert (report.in_work, report.turns_open, report.outbox_depth) == (2, 1, 0)
        assert report.last_event_at_ms is not None
        assert report.last_trouble is not None

        gate.set()
        await stage.until_row(2, Receipt.COMPLETED)
        stage.session.become(Status.ONLINE)
        report = await until_told(own_home, StreamState.OPEN)
        assert (report.reconnects, report.in_work, report.cursor, report.cursor_age_s) == (1, 0, "2", 0.0)

        await stage.adapter.disconnect()
        assert told(own_home).stream is StreamState.CLOSED


@pytest.mark.parametrize(
    ("failure", "stream"), [(REFUSED, StreamState.REFUSED), (ConnectFailed("it is away"), StreamState.CLOSED)]
)
async def test_a_start_that_fails_leaves_its_reason(own_home: Path, failure: BppError, stream: StreamState) -> None:
    """And no secret that stands in it."""

    def client(handlers: Handlers) -> FakeSession:
        session = FakeSession(handlers=handlers)

        async def connecting() -> None:
            raise type(failure)(f"{failure.what} ({KEY.reveal()})")

        session.connecting = connecting
        return session

    async with staged(own_home, session=client, connect=False) as stage:
        assert not await stage.adapter.connect()

    report = told(own_home)
    assert (report.stream, failure.what in str(report.last_trouble)) == (stream, True)
    assert KEY.reveal() not in health_file(own_home, "borgee").read_text()


async def test_why_it_went_down_outlives_it(own_home: Path) -> None:
    """A refusal stays one after the stop; an agent that was switched off is closed, with the reason."""
    async with staged(own_home) as stage:
        stage.session.become(Status.ERROR, REFUSED)
        await until(lambda: stage.fatal)
    assert told(own_home).stream is StreamState.REFUSED

    async with staged(own_home) as stage:
        toggle = stage.session.handlers.toggle
        assert toggle is not None
        toggle(AgentToggle("agent-1", "disable", "owner"))
        await until(lambda: stage.fatal)
    assert told(own_home).stream is StreamState.CLOSED
    assert "switched off" in str(told(own_home).last_trouble)


async def test_silence_is_a_write_twice_a_minute(own_home: Path) -> None:
    """Nothing happens, and the age of the file still says that somebody is there; the client is not asked for it."""
    clock = ManualClock()
    async with staged(own_home, clock=clock) as stage:
        await until_told(own_home, StreamState.OPEN)
        asked = stage.session.names
        began = told(own_home).written_at_ms
        await let_pass(own_home, clock, times=3)

        assert told(own_home).written_at_ms - began == 3 * WRITE_EVERY_S * 1_000
        assert stage.session.names == asked


async def test_what_changes_while_the_inbox_is_asked_is_told_once(own_home: Path) -> None:
    """The report that is being made tells it already; a second one would say the same, and keep the writer from its
    sleep at a moment when the file looks finished."""
    clock = ManualClock()
    written: list[StreamState] = []

    class Inbox:
        async def progress(self) -> Progress:
            if not written:
                vitals.see(ConnectionState(Status.ONLINE), None)
            return Progress()

    async def off_loop(write: Callable[[], None]) -> None:
        written.append(vitals.health.stream)
        write()

    vitals = Vitals(
        own_home,
        cast(Any, Inbox()),
        FakeSession(),
        origin="https://chat.example.com",
        host_version="0",
        off_loop=off_loop,
        shown=str,
        clock=clock,
    )
    health_file(own_home, "borgee").parent.mkdir(mode=0o700, parents=True)
    vitals.start()
    await until_told(own_home, StreamState.OPEN)
    await clock.advance(WRITE_EVERY_S - 1)
    assert written == [StreamState.OPEN]

    await vitals.close()
    assert (len(written), told(own_home).stream) == (2, StreamState.CLOSED)


async def test_a_stop_that_waits_for_turns_goes_on_writing(own_home: Path) -> None:
    """A long drain is no loop that hangs."""
    clock = ManualClock()
    gate, entered = asyncio.Event(), asyncio.Event()

    async def agent(_event: Any, _adapter: Any) -> None:
        entered.set()
        await gate.wait()

    async with staged(own_home, agent, clock=clock, drain_timeout_seconds=600) as stage:
        stage.session.deliver(said())
        await entered.wait()  # a claim alone is no turn: a stop does not begin one
        await until_told(own_home, StreamState.OPEN)
        began = told(own_home).written_at_ms
        stopping = asyncio.ensure_future(stage.adapter.disconnect())
        await let_pass(own_home, clock, times=3)
        assert told(own_home).written_at_ms - began == 3 * WRITE_EVERY_S * 1_000
        assert not stopping.done()
        gate.set()
        await stopping

    assert told(own_home).stream is StreamState.CLOSED


async def test_a_file_that_cannot_be_written_is_one_warning(own_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Messages are answered all the same."""
    health_file(own_home, "borgee").mkdir(parents=True)
    health_file(own_home, "borgee").parent.chmod(0o700)

    async def agent(event: Any, _adapter: Any) -> str:
        return f"re: {event.text}"

    with caplog.at_level(logging.WARNING):
        async with staged(own_home, agent) as stage:
            stage.session.deliver(said("hello"))
            await stage.until_row(1, Receipt.COMPLETED)
            stage.session.become(Status.RECONNECTING)
            stage.session.become(Status.ONLINE)
            await until(lambda: stage.sent == ["re: hello"])

    assert sum("health file cannot be written" in record.message for record in caplog.records) == 1
