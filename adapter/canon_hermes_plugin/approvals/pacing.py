"""How much of a pass is under way at Canon at the same time, and when nothing may be.

A pass over a thousand approvals is a thousand times the same: claim, ask, write the answer down. Only asking burdens
Canon, so only from the claim to the answer a slot is held. Whoever has an answer gives the slot back before it is on
the disk: then the next claims come together with these answers in one durable write, instead of one after them.

Source: the issue's numbers for reconcile; canon-adapter R10.43; decision 0070.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from canon_ops.runtime.clock import Clock

__all__ = ["Brake", "Slot"]


class Brake:
    """Canon's wish for a pause: whoever hears it stops everybody of the pass from asking, not only itself."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until_s = 0.0

    async def wait(self) -> None:
        while (left_s := self._until_s - self._clock.monotonic_s()) > 0:
            await self._clock.sleep(left_s)

    def pull(self, pause_s: float) -> None:
        self._until_s = max(self._until_s, self._clock.monotonic_s() + pause_s)


class Slot:
    """A place among those that ask at the same time: held from the start of the block, given back at its end at the
    latest; in between it may be given back and taken again."""

    def __init__(self, gate: asyncio.Semaphore) -> None:
        self._gate = gate
        self._is_held = False

    async def take(self) -> None:
        """Wait for a place, unless it is held already."""
        if not self._is_held:
            await self._gate.acquire()
            self._is_held = True

    def give_back(self) -> None:
        """Let somebody else ask; nothing, when it was given back before."""
        if self._is_held:
            self._is_held = False
            self._gate.release()

    async def __aenter__(self) -> Slot:
        await self.take()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()
