"""Tells the world how the adapter is doing: the host its state, the health file everything else.

It is looked at once a second. The host hears of a change only; the file is replaced at every change of the stream's
state and twice a minute besides, off the loop. A file that cannot be written costs one warning a minute and nothing
else.

Source: decisions X9; canon-adapter D22, D62.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from canon_hermes_plugin.complaints import Complaints
from canon_hermes_plugin.offload import Offload
from canon_ops.errors import CanonOpsError
from canon_ops.files.atomic import replace_file
from canon_ops.hermes.platform_health import PlatformHealth, StreamState
from canon_ops.hermes.stream_health import Health
from canon_ops.runtime.clock import Clock

__all__ = ["Marks", "Pulse"]

logger = logging.getLogger(__name__)

WRITE_EVERY_S: Final = 30.0  # ours: a reader calls three of these stale


class Marks(Protocol):
    """What the host shows of a platform."""

    def mark_connected(self) -> None: ...
    def mark_disconnected(self) -> None: ...


class Pulse:
    """The health of one connection.

    Args:
        report: everything that the file says, for the health at that moment.
        file: where it is written; None writes none.
    """

    def __init__(
        self,
        marks: Marks,
        report: Callable[[Health], PlatformHealth],
        *,
        file: Path | None,
        offload: Offload,
        clock: Clock,
    ) -> None:
        self._marks = marks
        self._report = report
        self._file = file
        self._offload = offload
        self._clock = clock
        self._complaints = Complaints(logger, clock)
        self._written: tuple[StreamState, float] | None = None
        self._is_marked_up: bool | None = None
        self.health = Health.connecting(now_ms=clock.now_ms())

    def opened(self) -> None:
        """The stream stands; the host hears it at once."""
        self.health = self.health.opened(now_ms=self._clock.now_ms())
        self._mark()

    def lost(self, trouble: str) -> None:
        """The stream broke, or could not be opened."""
        self.health = self.health.lost(trouble, now_ms=self._clock.now_ms())

    def refused(self, trouble: str) -> None:
        """Canon refused the key; the host is told of that in another way."""
        self.health = self.health.refused(trouble, now_ms=self._clock.now_ms())

    def heard(self) -> None:
        """A frame came."""
        self.health = self.health.heard(now_ms=self._clock.now_ms())

    async def look(self, cursor: str | None, in_work: int) -> None:
        """Compare what is with what was told last, and tell what is new."""
        self.health = self.health.looked(cursor, in_work, now_ms=self._clock.now_ms())
        self._mark()
        if self._is_due():
            await self._write()

    async def close(self) -> None:
        """Say that the adapter stopped on purpose."""
        self.health = self.health.closed(now_ms=self._clock.now_ms())
        await self._write()

    def _mark(self) -> None:
        is_up = self.health.is_up(now_ms=self._clock.now_ms())
        if is_up is None or is_up is self._is_marked_up or self.health.stream is StreamState.REFUSED:
            return
        if is_up:
            self._marks.mark_connected()
        else:
            logger.warning("Canon: the platform is down: %s", self.health.last_trouble or "the stream is not open yet")
            self._marks.mark_disconnected()
        self._is_marked_up = is_up

    def _is_due(self) -> bool:
        if self._written is None:
            return True
        state, at_s = self._written
        return state is not self.health.stream or self._clock.monotonic_s() - at_s >= WRITE_EVERY_S

    async def _write(self) -> None:
        self._written = (self.health.stream, self._clock.monotonic_s())
        if self._file is None:
            return
        try:
            await self._offload.run(replace_file, self._file, self._report(self.health).data)
        except CanonOpsError as error:
            self._complaints.say("health", f"Canon: the health file could not be written: {error.what}")
