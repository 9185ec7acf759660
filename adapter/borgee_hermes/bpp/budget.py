"""Foreign coroutines under a time limit, left behind when they do not stop.

A handler of somebody else may swallow its cancellation. Nothing here waits for such a one: it is told, counted as alive
until it ends, and forgotten. Source: Borgee 1.9, 1.10.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from canon_ops.runtime.clock import Clock

__all__ = ["Foreign"]

T = TypeVar("T")


class Foreign:
    """The handler tasks of one owner."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._alive: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        """How many are alive, those left behind included."""
        return len(self._alive)

    async def run(self, work: Coroutine[Any, Any, T], limit_s: float) -> T:
        """The result of ``work``.

        Raises:
            TimeoutError: it took longer; it has been cancelled and may still be running.
        """
        task = asyncio.ensure_future(work)
        self._alive.add(task)
        task.add_done_callback(self._over)
        timer = asyncio.ensure_future(self._clock.sleep(limit_s))
        try:
            await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            task.cancel()
            timer.cancel()

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._alive.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, so that nobody complains about one that was left behind

    def cancel(self) -> None:
        """Tell all of them to stop."""
        for task in self._alive:
            task.cancel()
