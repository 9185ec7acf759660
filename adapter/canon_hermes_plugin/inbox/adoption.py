"""Who takes care of a message whose run died with the last gateway: the host, by resuming the session, or we.

After a crash the host starts some sessions anew, without a text and without saying for what. Such a start takes the
oldest waiting item of its session. What nobody has taken when the host has had its time is ours to hand over again. The
host's time begins when it opens its inbound gate: until then it may still be busy with resuming.

Source: decisions X3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from canon_hermes_plugin.inbox.items import Item
from canon_ops.runtime.clock import Clock

__all__ = ["Adoption"]

WINDOW_S: Final = 15.0  # decisions X3
LOOK_EVERY_S: Final = 0.25


class Adoption:
    """The items that wait for the host.

    Args:
        is_gate_open: whether the host takes messages by now.
    """

    def __init__(self, items: Iterable[Item], *, is_gate_open: Callable[[], bool], clock: Clock) -> None:
        self._waiting = {item.item_id: item for item in items}
        self._decided = {item_id: asyncio.Event() for item_id in self._waiting}
        self._is_gate_open = is_gate_open
        self._clock = clock

    def adopt(self, session: str) -> Item | None:
        """The host resumes a session: the item that this run is for; None when none of it waits."""
        item = next((item for item in self._waiting.values() if item.session == session), None)
        if item is not None:
            del self._waiting[item.item_id]
            self._decided[item.item_id].set()
        return item

    async def is_ours(self, item_id: str) -> bool:
        """Wait until the item is adopted (False), or the host's time is over (True)."""
        await self._decided[item_id].wait()
        return self._waiting.pop(item_id, None) is not None

    async def run(self) -> None:
        """Give the host its time, then let everybody go who waits."""
        if not self._waiting:
            return
        while not self._is_gate_open():
            await self._clock.sleep(LOOK_EVERY_S)
        await self._clock.sleep(WINDOW_S)
        for decided in self._decided.values():
            decided.set()
