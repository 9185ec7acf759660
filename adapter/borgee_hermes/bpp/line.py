"""One connection in the shell: dials, reads and writes until the session or the other end is through with it.

It reports everything to the session under its generation and does nothing on its own: an end that the session has not
ordered is reported, an end that it has ordered is not. A connection that is ended with a close frame is read until
nothing waits, and then until the other end has said goodbye too: what the server had sent by then it will not send
again, and what it still held ready when it heard of the end it does not send at all.

One read can bring more than there is room for, although nobody was slow. So what came is handed over as its receiver
takes it, and meanwhile nothing more is read: the server waits, and nothing is lost.

Source: Borgee 1.13, 1.14, W21; docs/decisions/0043.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from borgee_hermes.bpp.effects import Effect
from borgee_hermes.bpp.errors import ProtocolError
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.session import Session
from borgee_hermes.bpp.wire import Batch, DialFailed, DialRefused, Ended, MessageTooBig, Wire
from canon_ops.client.deadline import within
from canon_ops.runtime.clock import Clock

__all__ = ["Line"]

logger = logging.getLogger(__name__)


class Line:
    """The owner of one socket.

    Args:
        dial: opens it; may be cancelled.
        apply: carries out what the session answers to a report.
        room: returns when an event of that size can be kept, or when it is no use to wait.

    Attributes:
        writable: set when there may be something to write.
        gone: set when nothing comes over it any more.
    """

    def __init__(
        self,
        generation: int,
        session: Session,
        dial: Callable[[], Awaitable[Wire]],
        apply: Callable[[Iterable[Effect]], None],
        *,
        room: Callable[[int], Awaitable[None]],
        clock: Clock,
        limits: Limits,
    ) -> None:
        self.writable = asyncio.Event()
        self.gone = asyncio.Event()
        self._generation = generation
        self._session = session
        self._dial = dial
        self._apply = apply
        self._room = room
        self._clock = clock
        self._limits = limits
        self._wire: Wire | None = None
        self._goodbye: int | None = None
        self._over = asyncio.Event()
        self._came: deque[bytes] = deque()  # read, and not yet handed over

    def hang_up(self, code: int | None) -> None:
        """End it: with a close frame, or at once when ``code`` is None."""
        self._goodbye = code
        self._over.set()

    def ping(self) -> None:
        """Ask the other end for a sign of life."""
        if self._wire is not None:
            self._wire.ping()

    async def run(self) -> None:
        """Return when the socket is gone."""
        living = asyncio.ensure_future(self._live())
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({living, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            living.cancel()
            try:
                await asyncio.wait({living})  # unlike awaiting it, this raises nothing of its
                await self._let_go()
            finally:
                self.gone.set()
        if not living.cancelled():
            living.result()

    async def _let_go(self) -> None:
        wire, end_s = self._wire, self._now_s() + self._limits.farewell_s
        if wire is None:
            return
        try:
            if self._over.is_set() and self._goodbye is not None:
                await self._say_goodbye(wire, self._goodbye, end_s)
            else:
                await self._has_handed_over(end_s)
        finally:
            try:
                while self._came:  # it was received; without room for it, this is more than a bound allows
                    self._hand_over_next()
            finally:
                await wire.let_go()

    async def _say_goodbye(self, wire: Wire, code: int, end_s: float) -> None:
        limits = self._limits
        if await self._read_out(wire, limits.settle_s, end_s - limits.close_s):
            return
        wire.close(code)
        if not await self._read_out(wire, limits.close_s, end_s):
            logger.info("Borgee: the server did not answer our goodbye; what it was still sending is lost")

    async def _read_out(self, wire: Wire, silence_s: float, end_s: float) -> bool:
        """Hand over what comes, until nothing came for ``silence_s`` or it is ``end_s``.

        Returns:
            the connection is over.
        """
        while await self._has_handed_over(end_s) and (left_s := end_s - self._now_s()) > 0:
            try:
                batch = await within(self._clock, min(silence_s, left_s), wire.read())
            except TimeoutError:
                break
            self._came.extend(batch.messages)
            if batch.end is not None:
                await self._has_handed_over(end_s)
                return True
        return False

    async def _has_handed_over(self, end_s: float) -> bool:
        """Hand over what came; false when that was not done by ``end_s``."""
        if not self._came:
            return True
        try:
            await within(self._clock, max(0.0, end_s - self._now_s()), self._hand_over())
        except TimeoutError:
            return False
        return True

    async def _hand_over(self) -> None:
        """Hand over what came, in order, as there is room for it. Cancelled, it has kept the rest."""
        while self._came:
            await self._room(len(self._came[0]))
            self._session.heard(self._generation, self._now_s())  # we do not read: the silence is not the server's
            self._hand_over_next()

    def _hand_over_next(self) -> None:
        self._apply(self._session.received(self._generation, self._came.popleft(), self._now_s()))

    async def _live(self) -> None:
        try:
            self._wire = await self._dial()
        except DialRefused as refused:
            self._apply(self._session.dial_refused(self._generation, refused.status, self._now_s()))
            return
        except DialFailed as failed:
            self._apply(self._session.dial_failed(self._generation, str(failed), self._now_s()))
            return
        self._apply(self._session.opened(self._generation, self._now_s()))
        both = {asyncio.ensure_future(self._read(self._wire)), asyncio.ensure_future(self._write(self._wire))}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.wait(both)
        for task in both:
            if not task.cancelled():
                task.result()

    async def _read(self, wire: Wire) -> None:
        while True:
            batch = await wire.read()
            self._session.heard(self._generation, self._now_s())
            self._came.extend(batch.messages)
            await self._hand_over()
            if batch.end is not None:
                self._apply(self._ended(batch))
                return

    def _ended(self, batch: Batch) -> Iterable[Effect]:
        match batch.end:
            case Ended(code):
                return self._session.closed(self._generation, code, self._now_s())
            case MessageTooBig():
                return self._session.too_big(self._generation)
            case ProtocolError() as error:
                return self._session.broken(self._generation, error, self._now_s())
            case None:
                return ()

    async def _write(self, wire: Wire) -> None:
        while True:
            taken = self._session.take(self._generation)
            if taken is None:
                self.writable.clear()
                await self.writable.wait()
                continue
            key, data = taken
            wire.write(data)
            self._apply(self._session.wrote(self._generation, key, self._now_s()))
            if wire.has_unsent:
                try:
                    await within(self._clock, self._limits.write_s, wire.drain())
                except TimeoutError:
                    self._apply(self._session.stalled(self._generation, self._now_s()))
                    return

    def _now_s(self) -> float:
        return self._clock.monotonic_s()
