"""Keeps one event stream open: connects, reads, reconnects after a pause, and gives up only when Canon refuses the key.

Each connection begins where the cursor stands, so what was not handled before a break comes again. Whoever handles a
frame decides when the cursor moves; when handling has failed, :meth:`StreamSupervisor.replay` breaks the connection on
purpose and the frame is delivered once more.

Every reconnect is preceded by a pause that grows and is cut at random, also after a clean end: a server that closes at
once is not called in a loop. The pauses start over once a connection has proved healthy, that is after any event with
an id (the greeting has none), or half a minute of quiet life.

Source: Canon adapter R2.10-R2.12, D21, D22.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from canon_hermes_plugin.connection.connecting import Refusal, refusal_of
from canon_ops.client.errors import Forbidden, RequestFailed, Unauthorized
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.retry import reconnect_delays
from canon_ops.wire.sse import Frame

__all__ = ["FrameStream", "OpenStream", "StreamSupervisor", "Watcher"]

logger = logging.getLogger(__name__)

HEALTHY_AFTER_S: Final = 30.0  # as long as the longest pause of ours
ASKED_MAX_S: Final = 300.0  # the longest pause that we grant to a server that asks for one


class FrameStream(Protocol):
    """An open connection: its iteration ends when the server ends it, and raises when it breaks."""

    @property
    def retry_s(self) -> float | None:
        """The pause that the server wants before the next connection."""
        ...

    def __aiter__(self) -> AsyncIterator[Frame]: ...


class OpenStream(Protocol):
    """Opens one connection and closes it when the block is left."""

    def __call__(self, *, last_event_id: str | None) -> AbstractAsyncContextManager[FrameStream]: ...


class Watcher(Protocol):
    """Who wants to know how the stream stands. Both calls only take note."""

    def opened(self) -> None: ...
    def lost(self, trouble: str) -> None: ...


class StreamSupervisor:
    """The owner of the stream's task.

    Args:
        open_stream: one connection.
        take: handles a frame; it may wait, which slows the reading down. What it raises breaks the connection.
        cursor: the last event id that was handled together with everything before it.
        watcher: told when a connection stands and when there is none.
        rng: cuts the pauses.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        take: Callable[[Frame], Awaitable[None]],
        cursor: Callable[[], str | None],
        *,
        clock: Clock,
        rng: random.Random,
        watcher: Watcher,
    ) -> None:
        self._open_stream = open_stream
        self._take = take
        self._cursor = cursor
        self._clock = clock
        self._rng = rng
        self._watcher = watcher
        self._replay = asyncio.Event()
        self._opened = asyncio.Event()

    async def opened(self) -> None:
        """Return once a first connection brought its greeting: from then on nothing that Canon says is missed."""
        await self._opened.wait()

    def replay(self) -> None:
        """Break the connection, so that Canon sends everything after the cursor again."""
        self._replay.set()

    async def run(self) -> Refusal:
        """Follow the stream until Canon refuses the key for good; that refusal is returned."""
        delays = reconnect_delays(self._rng)
        while True:
            life, ended = await self._one_connection()
            if isinstance(ended, Unauthorized | Forbidden):
                return refusal_of(ended)
            if life.saw_event or self._clock.monotonic_s() - life.opened_s >= HEALTHY_AFTER_S:
                delays = reconnect_delays(self._rng)
            refused_s = ended.retry_after_s if isinstance(ended, RequestFailed) else None
            asked_s = max(refused_s or 0.0, life.wanted_pause_s or 0.0)
            await self._pause(max(next(delays), min(asked_s, ASKED_MAX_S)), ended)

    async def _one_connection(self) -> tuple[_Life, CanonOpsError | None]:
        """Read one connection to its end; says what it has shown of itself, and what ended it (None: nothing wrong)."""
        self._replay.clear()
        life = _Life(self._clock.monotonic_s())
        reading = asyncio.ensure_future(self._read(life))
        replaying = asyncio.ensure_future(self._replay.wait())
        try:
            await asyncio.wait({reading, replaying}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            replaying.cancel()
            reading.cancel()
            await asyncio.wait({reading, replaying})  # unlike awaiting them, this raises nothing of theirs
        ended = None if reading.cancelled() else reading.exception()
        if ended is not None and not isinstance(ended, CanonOpsError):
            logger.error("Canon stream: handling an event failed", exc_info=ended)
            ended = None
        return life, ended

    async def _read(self, life: _Life) -> None:
        async with self._open_stream(last_event_id=self._cursor()) as stream:
            try:
                async for frame in stream:
                    self._opened.set()
                    self._watcher.opened()
                    life.saw_event = life.saw_event or frame.id is not None
                    await self._take(frame)
            finally:  # however it ends, and also when the wish came behind the last frame
                life.wanted_pause_s = stream.retry_s

    async def _pause(self, delay_s: float, ended: CanonOpsError | None) -> None:
        trouble = ended.what if ended else "the connection ended"
        self._watcher.lost(trouble)
        logger.warning("Canon stream: %s; connecting again in %.1f s", trouble, delay_s)
        await self._clock.sleep(delay_s)


class _Life:
    """What one connection has shown of itself."""

    def __init__(self, opened_s: float) -> None:
        self.opened_s = opened_s
        self.saw_event = False
        self.wanted_pause_s: float | None = None
