"""What an adapter does beside its calls: tasks that belong to it, and end with it.

A periodic task outlives whatever goes wrong in one of its rounds. Nothing here ends by itself unless its body does;
:meth:`Loops.end` cancels the rest and waits for it, so that no task is left behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock

__all__ = ["Loops"]

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Loops:
    """The tasks of one connection."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[Any]] = set()

    def own(self, body: Coroutine[Any, Any, None]) -> None:
        """Run ``body`` until it ends or everything does."""
        task = asyncio.get_running_loop().create_task(body)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def within(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do ``work`` in the caller's task, which ends with the others while it is at it."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # a coroutine runs in one
        self._tasks.add(task)
        try:
            return await work()
        finally:
            self._tasks.discard(task)

    def every(self, pause_s: float, body: Callable[[], Awaitable[None]]) -> None:
        """Run ``body`` now and after each pause; what goes wrong in it is logged and the loop goes on."""
        self.own(self._again_and_again(pause_s, body))

    async def end(self) -> None:
        """Cancel every task and wait until it is gone; safe to repeat."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _again_and_again(self, pause_s: float, body: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await body()
            except CanonOpsError as error:
                logger.warning("Canon: %s", error.what)
            except Exception:  # the loop's outermost edge
                logger.exception("Canon: a periodic task failed")
            await self._clock.sleep(pause_s)
