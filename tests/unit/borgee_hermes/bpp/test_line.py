"""The end of a connection: what is still handed over, and how long that may take (Borgee 1.14; decision 0043)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

import pytest

from borgee_hermes.bpp.effects import Effect
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.line import Line
from borgee_hermes.bpp.session import Session
from borgee_hermes.bpp.wire import Batch, Ended, Wire
from canon_ops.runtime.clock import ManualClock

LIMITS = Limits()
OVER = Ended(1000)


class SlowWire:
    """A connection whose other end says ``before`` while it is open and ``after`` once it was told goodbye: pauses in
    seconds, and what comes then."""

    has_unsent = False

    def __init__(self, clock: ManualClock, before: Iterable[tuple[float, Batch]], after: Iterable[tuple[float, Batch]]):
        self._clock = clock
        self._coming, self._after = list(before), list(after)
        self._due_s: float | None = None
        self.told_s: float | None = None
        self.gone_s: float | None = None

    async def read(self) -> Batch:
        if not self._coming:
            await asyncio.Event().wait()
        pause_s, batch = self._coming[0]
        if self._due_s is None:
            self._due_s = self._clock.monotonic_s() + pause_s
        await self._clock.sleep(self._due_s - self._clock.monotonic_s())
        del self._coming[0]
        self._due_s = None
        return batch

    def close(self, code: int) -> None:
        assert code == 1000
        self.told_s = self._clock.monotonic_s()
        self._coming, self._due_s = list(self._after), None

    async def let_go(self) -> None:
        self.gone_s = self._clock.monotonic_s()


class Hearing:
    """As much of a session as a line needs."""

    def __init__(self) -> None:
        self.heard_messages: list[bytes] = []

    def opened(self, generation: int, now_s: float) -> Iterable[Effect]:
        return ()

    def take(self, generation: int) -> None:
        return None

    def heard(self, generation: int, now_s: float) -> None:
        pass

    def received(self, generation: int, message: bytes, now_s: float) -> Iterable[Effect]:
        self.heard_messages.append(message)
        return ()


async def always_room(_size: int) -> None:
    """A receiver that is never behind."""


def line_over(
    wire: SlowWire, session: Hearing, clock: ManualClock, room: Callable[[int], Awaitable[None]] = always_room
) -> Line:
    async def dial() -> Wire:
        return cast(Wire, wire)

    def apply(effects: Iterable[Effect]) -> None:
        assert not list(effects)

    return Line(1, cast(Session, session), dial, apply, room=room, clock=clock, limits=LIMITS)


async def ended(
    before: Iterable[tuple[float, Batch]] = (), after: Iterable[tuple[float, Batch]] = ()
) -> tuple[SlowWire, list[bytes]]:
    """A connection after its end was ordered, at second 0 of its clock, and a minute has gone by."""
    clock, session = ManualClock(), Hearing()
    wire = SlowWire(clock, before, after)
    line = line_over(wire, session, clock)
    running = asyncio.ensure_future(line.run())
    await clock.advance(0)
    line.hang_up(1000)
    await clock.advance(60)
    await running
    return wire, session.heard_messages


def said(*pauses_s: float) -> list[tuple[float, Batch]]:
    """A message after each pause."""
    return [(pause_s, Batch((str(n).encode(),))) for n, pause_s in enumerate(pauses_s)]


def named(pieces: list[tuple[float, Batch]]) -> list[bytes]:
    return [message for _, batch in pieces for message in batch.messages]


async def test_a_silent_line_ends_soon() -> None:
    """Nothing is on its way: a moment of listening, the goodbye, its answer."""
    wire, heard = await ended(after=[(0.02, Batch((), OVER))])

    assert heard == []
    assert wire.told_s == pytest.approx(LIMITS.settle_s)
    assert wire.gone_s == pytest.approx(LIMITS.settle_s + 0.02)


async def test_a_server_that_has_more_to_say_is_heard_before_it_is_told_goodbye() -> None:
    """What it holds ready it throws away when it hears of the end, so it is told when it has nothing more."""
    before = said(*[0.09] * 12)

    wire, heard = await ended(before, [(0.0, Batch((), OVER))])

    assert heard == named(before)
    assert wire.told_s == pytest.approx(12 * 0.09 + LIMITS.settle_s)


async def test_what_comes_slowly_after_the_goodbye_is_handed_over() -> None:
    """Silence ends the wait, and not a second that has passed in all."""
    after = [*said(0.7, 0.7), (0.4, Batch((b"last",), OVER))]

    wire, heard = await ended(after=after)

    assert heard == named(after)
    assert wire.gone_s == pytest.approx(LIMITS.settle_s + 1.8)


async def test_a_server_that_never_falls_silent_is_left(caplog: pytest.LogCaptureFixture) -> None:
    """Hermes gives a platform five seconds; the goodbye is said into its talk, and the log says so."""
    caplog.set_level(logging.INFO)

    wire, heard = await ended(said(*[0.05] * 1_000), said(*[0.05] * 1_000))

    assert wire.told_s == pytest.approx(LIMITS.farewell_s - LIMITS.close_s, abs=0.06)
    assert wire.gone_s == pytest.approx(LIMITS.farewell_s, abs=0.06)
    assert len(heard) > 50
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "did not answer our goodbye" in caplog.text


async def test_a_server_that_does_not_answer_is_left() -> None:
    """After the wait for its goodbye."""
    wire, heard = await ended()

    assert heard == []
    assert wire.gone_s == pytest.approx(LIMITS.settle_s + LIMITS.close_s)


async def test_a_server_that_ends_by_itself_meanwhile_is_told_nothing() -> None:
    """It is over: there is nobody to say goodbye to."""
    before: list[tuple[float, Any]] = [(0.05, Batch((b"last",), OVER))]

    wire, heard = await ended(before)

    assert heard == [b"last"]
    assert wire.told_s is None
    assert wire.gone_s == pytest.approx(0.05)


BURST = tuple(b"%d" % number for number in range(5))


@pytest.mark.parametrize("code", [1000, None])
@pytest.mark.parametrize("after_s", [0.25, 100.0])
async def test_what_one_read_brought_is_handed_over_as_there_is_room(code: int | None, after_s: float) -> None:
    """All of it and in order, also when the connection is ended, properly or at once, while the receiver is behind."""
    clock, session = ManualClock(), Hearing()
    wire = SlowWire(clock, [(0.0, Batch(BURST))], [(0.0, Batch((b"late",), OVER))])

    async def room(_size: int) -> None:
        await clock.sleep(0.1)

    running = asyncio.ensure_future((line := line_over(wire, session, clock, room)).run())
    await clock.advance(after_s)
    assert (len(session.heard_messages) < len(BURST)) == (after_s < 1)

    line.hang_up(code)
    await clock.advance(60)
    await running

    assert session.heard_messages == [*BURST, *([b"late"] if code else [])]


async def test_a_receiver_that_takes_nothing_does_not_hold_up_an_end() -> None:
    """What was received goes to the session when the time for an end is over, whether there is room or not."""
    clock, session = ManualClock(), Hearing()
    wire = SlowWire(clock, [(0.0, Batch(BURST))], [])

    async def room(_size: int) -> None:
        await asyncio.Event().wait()

    running = asyncio.ensure_future((line := line_over(wire, session, clock, room)).run())
    await clock.advance(1)
    line.hang_up(1000)
    await clock.advance(60)
    await running

    assert session.heard_messages == [*BURST]
    assert wire.gone_s == pytest.approx(1 + LIMITS.farewell_s, abs=0.01)
