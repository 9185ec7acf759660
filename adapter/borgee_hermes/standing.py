"""Whether the connection stands, as the host's state file tells it to ``status``, ``doctor`` and people.

A client that is making its connection anew looks connected from outside: the adapter lives, turns run, actions wait.
A second or two of that is nobody's concern; after :data:`GRACE_S` the host is told, and again when it stands.

Source: Borgee 8.6; W3.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol

from borgee_hermes.bpp.state import Status
from canon_ops.runtime.clock import Clock

__all__ = ["GRACE_S", "Standing"]

logger = logging.getLogger(__name__)

GRACE_S: Final = 10.0  # ours: the first four reconnects are over by then; Borgee 1.14


class Marks(Protocol):
    """What the host shows of a platform."""

    def mark_connected(self) -> None: ...
    def mark_disconnected(self) -> None: ...


class Standing:
    """Told each state of the client, in order; it runs on the loop, and its owner closes it."""

    def __init__(self, marks: Marks, clock: Clock) -> None:
        self._marks = marks
        self._clock = clock
        self._waiting: asyncio.Task[None] | None = None
        self._is_told = False

    def see(self, status: Status) -> None:
        """The client is in this state now."""
        if status is Status.RECONNECTING:
            if self._waiting is None and not self._is_told:
                self._waiting = asyncio.get_running_loop().create_task(self._tell(), name="borgee standing")
            return
        self.close()
        if status is Status.ONLINE and self._is_told:
            self._is_told = False
            logger.info("Borgee: the connection stands again")
            self._marks.mark_connected()

    def close(self) -> None:
        """Wait for nothing any more."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()

    async def _tell(self) -> None:
        await self._clock.sleep(GRACE_S)
        self._waiting, self._is_told = None, True
        logger.warning("Borgee: the connection has been away for %g s; it is made anew until it stands", GRACE_S)
        self._marks.mark_disconnected()
