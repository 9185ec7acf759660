"""A time limit on an awaitable that follows the handed-in clock, so that tests move it instead of waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from canon_ops.runtime.clock import Clock

__all__ = ["within"]

T = TypeVar("T")


async def within(clock: Clock, limit_s: float, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, if it comes within ``limit_s`` seconds; otherwise ``work`` is cancelled and over.

    Raises:
        TimeoutError: the time passed.
    """
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(limit_s))
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()
        timer.cancel()
        await asyncio.gather(task, timer, return_exceptions=True)
