"""Waiting that a cancellation cannot tear: the answer first, then the cancellation."""

from __future__ import annotations

import asyncio
from typing import TypeVar

__all__ = ["settle"]

T = TypeVar("T")


async def settle(future: asyncio.Future[T]) -> T:
    """Wait for ``future`` to its end, however often the caller is cancelled meanwhile; only then raise that.

    The future's own outcome is dropped when the caller was cancelled.
    """
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait((future,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not future.cancelled():
            future.exception()  # looked at, so that asyncio does not report it as forgotten
        raise cancelled
    return future.result()
