"""Reconnecting: from where, after which pause, and when to stop."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from canon_hermes_plugin.connection.connecting import Refusal
from canon_hermes_plugin.connection.supervisor import ASKED_MAX_S, StreamSupervisor
from canon_ops.client.errors import Forbidden, ServiceTrouble, TransportFailure, Unauthorized
from canon_ops.client.stream import StreamIdle
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.retry import TransportKind
from canon_ops.wire.sse import Frame

GREETING = Frame("connected", None, "{}")
CONTEXT = Frame("agent.context", None, "{}")
Script = Callable[[], AsyncIterator[Frame]]


class Stream:
    """One scripted connection."""

    def __init__(self, frames: AsyncIterator[Frame], retry_s: float | None) -> None:
        self.retry_s = retry_s
        self._frames = frames

    def __aiter__(self) -> AsyncIterator[Frame]:
        return self._frames


class Server:
    """Connections by script, the last one repeated; remembers when each was opened, from where, and which are open."""

    def __init__(self, clock: ManualClock, *scripts: Script, retry_s: float | None = None) -> None:
        self.opened: list[tuple[float, str | None]] = []
        self.open_now = 0
        self._clock = clock
        self._scripts = list(scripts)
        self._retry_s = retry_s

    @asynccontextmanager
    async def __call__(self, *, last_event_id: str | None) -> AsyncIterator[Stream]:
        self.opened.append((self._clock.monotonic_s(), last_event_id))
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        self.open_now += 1
        try:
            yield Stream(script(), self._retry_s)
        finally:
            self.open_now -= 1


def says(*frames: Frame, then: Exception | None = None, stays: bool = False) -> Script:
    """A connection that sends ``frames`` and ends, breaks with ``then``, or stays open."""

    async def script() -> AsyncIterator[Frame]:
        for frame in frames:
            yield frame
        if stays:
            await asyncio.Event().wait()
        if then is not None:
            raise then

    return script


def event(event_id: str) -> Frame:
    return Frame("message.created", event_id, "{}")


class Notes:
    """A watcher that takes notes."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def opened(self) -> None:
        self.told.append("opened")

    def lost(self, trouble: str) -> None:
        self.told.append(trouble)


def supervisor(
    server: Server,
    clock: ManualClock,
    take: Callable[[Frame], None],
    cursor: Sequence[str | None],
    watcher: Notes | None = None,
) -> StreamSupervisor:
    async def taking(frame: Frame) -> None:
        take(frame)

    return StreamSupervisor(
        server, taking, lambda: cursor[-1], clock=clock, rng=random.Random(7), watcher=watcher or Notes()
    )


async def run_for(watch: StreamSupervisor, clock: ManualClock, seconds: float) -> None:
    task = asyncio.ensure_future(watch.run())
    await clock.advance(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def gaps(server: Server) -> list[float]:
    times = [time for time, _ in server.opened]
    return [later - earlier for earlier, later in itertools.pairwise(times)]


async def test_a_server_that_closes_at_once_is_not_called_in_a_loop() -> None:
    """S2.18: after each clean end the pause grows from a second to half a minute, each cut by at most a half."""
    clock = ManualClock()
    server = Server(clock, says(GREETING, CONTEXT))

    await run_for(supervisor(server, clock, lambda _: None, [None]), clock, 120)

    schedule = [1, 2, 4, 8, 16, 30, 30]
    assert 6 <= len(gaps(server)) <= 12
    for gap, planned in zip(gaps(server), schedule, strict=False):
        assert planned / 2 <= gap <= planned


async def test_two_gateways_do_not_call_in_step() -> None:
    """D22: the pauses are cut at random, so two supervisors drift apart."""
    series = []
    for seed in (1, 2):
        clock = ManualClock()
        server = Server(clock, says(then=TransportFailure(TransportKind.REFUSED, request="x")))

        async def nothing(_frame: Frame) -> None: ...

        watch = StreamSupervisor(server, nothing, lambda: None, clock=clock, rng=random.Random(seed), watcher=Notes())
        await run_for(watch, clock, 20)
        series.append(gaps(server))

    assert series[0] != series[1]


async def test_a_connection_that_delivered_starts_the_pauses_over() -> None:
    """After an event beyond the greeting the next pause is the first of the schedule again."""
    clock = ManualClock()
    server = Server(clock, says(), says(), says(), says(GREETING, event("e1")), says(stays=True))

    await run_for(supervisor(server, clock, lambda _: None, [None]), clock, 60)

    assert gaps(server)[3] <= 1


async def test_a_quiet_connection_that_lived_starts_the_pauses_over() -> None:
    """Half a minute without an event is a healthy connection too."""
    clock = ManualClock()

    async def quiet_for_a_while() -> AsyncIterator[Frame]:
        yield GREETING
        await clock.sleep(31)

    server = Server(clock, says(), says(), says(), quiet_for_a_while, says(stays=True))

    await run_for(supervisor(server, clock, lambda _: None, [None]), clock, 90)

    assert gaps(server)[3] - 31 <= 1


async def test_each_connection_starts_at_the_cursor() -> None:
    """R2.10, D21: what the cursor has not passed is asked for again."""
    clock = ManualClock()
    cursor: list[str | None] = [None]
    server = Server(clock, says(event("e1"), event("e2")), says(stays=True))

    def take(frame: Frame) -> None:
        if frame.id == "e1":
            cursor.append(frame.id)

    await run_for(supervisor(server, clock, take, cursor), clock, 5)

    assert [start for _, start in server.opened] == [None, "e1"]


@pytest.mark.parametrize("error", [Unauthorized, Forbidden])
async def test_a_refused_key_ends_the_stream_for_good(error: type[Unauthorized | Forbidden]) -> None:
    """D22: 401 and 403 are not retried; they end the run with a fatal refusal."""
    clock = ManualClock()
    server = Server(clock, says(GREETING), says(then=error(401, None, "no")))
    run = asyncio.ensure_future(supervisor(server, clock, lambda _: None, [None]).run())

    await clock.advance(5)

    assert run.done()
    refusal = run.result()
    assert (refusal.code, refusal.retryable) == ("auth_failed", False) and isinstance(refusal, Refusal)


async def test_the_server_may_ask_for_a_longer_pause() -> None:
    """A Retry-After beyond our own pause is granted."""
    clock = ManualClock()
    server = Server(clock, says(then=ServiceTrouble(503, None, "busy", 12.0)), says(stays=True))

    await run_for(supervisor(server, clock, lambda _: None, [None]), clock, 30)

    assert gaps(server) == [12.0]


async def test_the_server_may_not_ask_for_silence_for_ever() -> None:
    """A pause of years is one of our longest instead: who answers for Canon once must not switch the agent off."""
    clock = ManualClock()
    server = Server(clock, says(then=ServiceTrouble(503, None, "busy", 1e9)), says(stays=True))

    await run_for(supervisor(server, clock, lambda _: None, [None]), clock, ASKED_MAX_S + 30)

    assert gaps(server) == [ASKED_MAX_S]


ENDS = {
    "the server": None,
    "the network": TransportFailure(TransportKind.PROTOCOL, request="x"),
    "silence": StreamIdle(60.0),
}


@pytest.mark.parametrize("retry_s", [12.0, 1e9])
@pytest.mark.parametrize("ended", ENDS.values(), ids=ENDS)
async def test_the_pause_that_the_stream_asked_for_is_granted(ended: Exception | None, retry_s: float) -> None:
    """BR-50: ``retry:`` counts however the connection ends, and within the bound of every wish."""
    clock = ManualClock()
    server = Server(clock, says(event("e1"), then=ended), says(stays=True), retry_s=retry_s)

    await run_for(supervisor(server, clock, lambda _: None, [None]), clock, ASKED_MAX_S + 30)

    assert gaps(server) == [min(retry_s, ASKED_MAX_S)]


async def test_a_wish_behind_the_last_frame_is_heard() -> None:
    """BR-50: a server that goes down says ``retry:`` last, with no event behind it."""
    clock = ManualClock()
    server = Server(clock, says(), says(stays=True), retry_s=12.0)

    await run_for(supervisor(server, clock, lambda _: None, [None]), clock, 30)

    assert gaps(server) == [12.0]


async def test_a_failing_handler_breaks_the_connection_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """What the handler raises is logged, the connection is closed, and the next one begins at the cursor."""
    clock = ManualClock()
    server = Server(clock, says(event("e1"), stays=True))

    def take(_frame: Frame) -> None:
        raise ValueError("no")

    task = asyncio.ensure_future(supervisor(server, clock, take, [None]).run())
    await clock.advance(2)

    assert len(server.opened) >= 2
    assert "handling an event failed" in caplog.text
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert server.open_now == 0


async def test_replay_breaks_a_healthy_connection() -> None:
    """S2.17: asked for a replay, the supervisor reconnects from the cursor although nothing was wrong."""
    clock = ManualClock()
    server = Server(clock, says(event("e1"), stays=True))
    watch = supervisor(server, clock, lambda _: None, ["e0"])
    task = asyncio.ensure_future(watch.run())
    await clock.advance(0)

    watch.replay()
    await clock.advance(2)

    assert [start for _, start in server.opened] == ["e0", "e0"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_whoever_watches_is_told_when_the_stream_stands_and_falls() -> None:
    """D62: open with the first frame, lost with its reason, also when a connection was refused before any frame."""
    clock, notes = ManualClock(), Notes()
    server = Server(
        clock, says(then=ServiceTrouble(503, None, "busy")), says(GREETING, event("e1")), says(GREETING, stays=True)
    )

    await run_for(supervisor(server, clock, lambda _: None, [None], notes), clock, 60)

    first, *rest = notes.told
    assert "503" in first or "busy" in first
    assert list(dict.fromkeys(rest)) == ["opened", "the connection ended"]
    assert rest[-1] == "opened"


async def test_cancelling_leaves_nothing_open() -> None:
    """Cancelling the run closes the connection and leaves no task."""
    clock = ManualClock()
    server = Server(clock, says(event("e1"), stays=True))
    before = asyncio.all_tasks()

    await run_for(supervisor(server, clock, lambda _: None, [None]), clock, 1)

    assert (server.open_now, asyncio.all_tasks()) == (0, before)
