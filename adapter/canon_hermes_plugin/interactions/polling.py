"""Asking Canon again and again until there is an answer or the time is over.

Source: canon-adapter R9.3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from canon_hermes_plugin.interactions.answers import is_final
from canon_ops.runtime.clock import Clock
from canon_ops.wire.fields import JsonObject

__all__ = ["await_answer"]

POLL_S: Final = 1.0


async def await_answer(
    consume: Callable[[], Awaitable[JsonObject]], *, until_ms: float, clock: Clock
) -> JsonObject | None:
    """The final response; None when none has come by ``until_ms``. It asks at least once.

    Raises:
        RequestFailed: Canon could not be asked; the request stays open there.
    """
    while True:
        response = await consume()
        if is_final(response):
            return response
        left_s = (until_ms - clock.now_ms()) / 1_000
        if left_s <= 0:
            return None
        await clock.sleep(min(POLL_S, left_s))
