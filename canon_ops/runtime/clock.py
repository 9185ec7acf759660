"""The clock that everything else is given.

No module of ours reads the time or sleeps by itself: it asks the :class:`Clock` it was handed, so that a test moves
time instead of waiting for it.
"""

from __future__ import annotations

import heapq
import itertools
import time

from canon_ops.hints import TYPE_CHECKING, Protocol

# asyncio is loaded by those who sleep: the command line asks for the time, and starts in half the time without it.
if TYPE_CHECKING:
    import asyncio

__all__ = ["Clock", "ManualClock", "SystemClock"]


class Clock(Protocol):
    """Wall time in milliseconds since the epoch, monotonic time in seconds, and an awaitable pause."""

    def now_ms(self) -> int:
        """Wall time: for the wire and for files. It may jump."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary start: for limits and back-off. It never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``; zero or less only yields to the loop."""
        ...


class SystemClock:
    """The real thing."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(max(0.0, seconds))


class ManualClock:
    """A clock that stands still until :meth:`advance` moves it; sleepers wake in the order of their deadlines.

    Args:
        now_ms: wall time at the start; monotonic time starts at zero and advances with it.
    """

    def __init__(self, now_ms: int = 1_790_000_000_000) -> None:
        self._start_ms = now_ms
        self._elapsed_s = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        return self._start_ms + round(self._elapsed_s * 1000)

    def monotonic_s(self) -> float:
        return self._elapsed_s

    @property
    def sleepers(self) -> int:
        """How many callers are asleep."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        import asyncio

        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed_s + seconds, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move time by ``seconds``, letting each sleeper run at its own moment and sleep again."""
        import asyncio

        end = self._elapsed_s + seconds
        while True:
            for _ in range(20):  # let woken tasks run until they sleep again or finish
                await asyncio.sleep(0)
            if not self._sleepers or self._sleepers[0][0] > end:
                break
            deadline, _, future = heapq.heappop(self._sleepers)
            self._elapsed_s = max(self._elapsed_s, deadline)
            if not future.done():
                future.set_result(None)
        self._elapsed_s = end
