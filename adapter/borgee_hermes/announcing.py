"""Telling Borgee what the agent works on: best effort, in order, and never in a turn's way.

Source: Borgee 1.11.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from borgee_hermes.bpp.port import BppSession
from borgee_hermes.inbox.records import Outcome, Receipt, Status
from borgee_hermes.lanes.execution import Ending
from canon_ops.runtime.clock import Clock

__all__ = ["SUBJECT", "Announcer"]

logger = logging.getLogger(__name__)

SUBJECT: Final = "Working on a message"
WAITING: Final = 1_024  # reports; beyond that the oldest are lost, since nobody may wait for them
FAREWELL_S: Final = 1.0


class Announcer:
    """One task that reports."""

    def __init__(self, session: BppSession, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._queue: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue(WAITING)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to report."""
        self._task = asyncio.get_running_loop().create_task(self._report())

    def began(self, task_id: str, receipt: Receipt) -> None:
        """Hermes begins with a receipt."""
        report = partial(
            self._session.report_task_started,
            task_id=task_id,
            channel_id=receipt.channel_id,
            subject=SUBJECT,
            started_at_ms=self._clock.now_ms(),
        )
        self._put(report)

    def ended(self, task_id: str, receipt: Receipt, ending: Ending) -> None:
        """A receipt has its end."""
        if ending.status is Status.COMPLETED:
            outcome, reason = "completed", ""
        elif ending.outcome is Outcome.HERMES_CANCELLED:
            outcome, reason = "cancelled", ""
        else:
            outcome, reason = "failed", "unknown"
        report = partial(
            self._session.report_task_finished,
            task_id=task_id,
            channel_id=receipt.channel_id,
            outcome=outcome,
            reason=reason,
            finished_at_ms=self._clock.now_ms(),
        )
        self._put(report)

    async def stop(self) -> None:
        """Report what is waiting, for a moment, and end."""
        task, self._task = self._task, None
        if task is None:
            return
        try:
            async with asyncio.timeout(FAREWELL_S):
                await self._queue.join()
        except TimeoutError:
            logger.debug("Borgee: some reports about finished work were not sent")
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _put(self, report: Callable[[], Awaitable[None]]) -> None:
        if self._queue.full():
            self._queue.get_nowait()
            self._queue.task_done()
        self._queue.put_nowait(report)

    async def _report(self) -> None:
        while True:
            report = await self._queue.get()
            try:
                await report()
            except Exception as error:  # a report that fails changes nothing
                logger.debug("Borgee: a report about work was not sent: %s", error)
            finally:
                self._queue.task_done()
