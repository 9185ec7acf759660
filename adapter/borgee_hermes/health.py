"""What this gateway says of its Borgee platform, in ``plugins/borgee/health.json``: for doctor, status and any probe.

The host's state file goes on saying "connected" after a kill, and for as long as a loop hangs. This file is replaced at
every change of the connection and twice a minute besides, so its age says whether anybody is there. Nothing polls: a
change wakes the writer, and so does its own clock. A file that cannot be written costs a warning and nothing else.

Source: decisions X9; Borgee 8.6.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from borgee_hermes.bpp.errors import AuthFailed, BppError
from borgee_hermes.bpp.port import BppSession
from borgee_hermes.bpp.state import ConnectionState, Status
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.records import Progress
from canon_ops import __version__
from canon_ops.durable import DurableError
from canon_ops.errors import CanonOpsError
from canon_ops.files.atomic import replace_file
from canon_ops.hermes.platform_health import PlatformHealth, StreamState, health_file
from canon_ops.hermes.stream_health import Health
from canon_ops.runtime.clock import Clock

__all__ = ["Vitals", "changed_by"]

logger = logging.getLogger(__name__)

WRITE_EVERY_S: Final = 30.0  # ours: a reader calls three of these stale


def changed_by(health: Health, state: ConnectionState, failure: BppError | None, *, now_ms: int) -> Health:
    """The health once the client is in this state. Pure."""
    match state.status:
        case Status.ONLINE:
            return health.opened(now_ms=now_ms)
        case Status.RECONNECTING:
            return health.lost(_trouble(state, failure), now_ms=now_ms)
        case Status.ERROR if isinstance(failure, AuthFailed):
            return health.refused(_trouble(state, failure), now_ms=now_ms)
        case Status.ERROR:
            return health.lost(_trouble(state, failure), now_ms=now_ms)
    return health  # not connected yet, or closed by us: whoever closes says so


def _trouble(state: ConnectionState, failure: BppError | None) -> str:
    if failure is not None:
        return failure.sentence
    why = f" ({state.code})" if state.code else ""
    return f"The connection to Borgee has ended{why}."


class Vitals:
    """The health of one adapter's life, and the file that tells it.

    Args:
        origin: the server.
        off_loop: calls what blocks.
        shown: an error as text for people, without secrets.
    """

    def __init__(
        self,
        home: Path,
        inbox: Inbox,
        session: BppSession,
        *,
        origin: str,
        host_version: str,
        off_loop: Callable[[Callable[[], None]], Awaitable[None]],
        shown: Callable[[BaseException], str],
        clock: Clock,
    ) -> None:
        self._file = health_file(home, "borgee")
        self._inbox = inbox
        self._origin = origin
        self._host_version = host_version
        self._off_loop = off_loop
        self._shown = shown
        self._clock = clock
        self._session = session
        self._progress = Progress()
        self._news = asyncio.Event()
        self._is_writable = True
        self._writing: asyncio.Task[None] | None = None
        self.health = Health.connecting(now_ms=clock.now_ms())

    def see(self, state: ConnectionState, failure: BppError | None) -> None:
        """The client is in this state now."""
        self._become(changed_by(self.health, state, failure, now_ms=self._clock.now_ms()))

    def failed(self, error: BaseException) -> None:
        """The start has failed."""
        if isinstance(error, AuthFailed):
            self._become(self.health.refused(self._shown(error), now_ms=self._clock.now_ms()))
        else:
            self.gave_up(self._shown(error))

    def gave_up(self, told: str) -> None:
        """The adapter goes down, and that is why; a key that was refused stays the reason."""
        if self.health.stream is not StreamState.REFUSED:
            self._become(self.health.lost(told, now_ms=self._clock.now_ms()))

    def heard(self) -> None:
        """A delivery came; the file tells it when it is written next."""
        self.health = self.health.heard(now_ms=self._clock.now_ms())

    def start(self) -> None:
        """Write from now on, also while a stop waits for turns."""
        self._writing = asyncio.get_running_loop().create_task(self._run(), name="borgee health")

    async def close(self) -> None:
        """Say that the adapter has stopped, as the last thing; once."""
        writing, self._writing = self._writing, None
        if writing is None:
            return
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        self.health = self.health.closed(now_ms=self._clock.now_ms())
        await self._write()

    async def _run(self) -> None:
        while True:
            await self._write()
            await self._until_news()

    def _become(self, health: Health) -> None:
        if health != self.health:
            self.health = health
            self._news.set()

    async def _until_news(self) -> None:
        tasks = [
            asyncio.ensure_future(self._news.wait()),
            asyncio.ensure_future(self._clock.sleep(WRITE_EVERY_S)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _write(self) -> None:
        try:
            self._progress = await self._inbox.progress()
        except DurableError as error:  # the inbox's own trouble is told elsewhere; the last counts stay
            logger.debug("Borgee: no counts for the health file: %s", error.what)
        self._news.clear()  # only now: what changed while the inbox was asked is told here, and not again
        data = self._report().data
        try:
            await self._off_loop(lambda: replace_file(self._file, data))
        except CanonOpsError as error:
            if self._is_writable:
                logger.warning("Borgee: the health file cannot be written: %s", error.what)
            self._is_writable = False
        else:
            self._is_writable = True

    def _report(self) -> PlatformHealth:
        health, progress, now_ms = self.health, self._progress, self._clock.now_ms()
        waited_s = now_ms / 1_000 - progress.oldest_s if progress.oldest_s is not None else 0.0
        return PlatformHealth(
            platform="borgee",
            version=__version__,
            host_version=self._host_version,
            pid=os.getpid(),
            written_at_ms=now_ms,
            environment_id=self._origin,
            agent_id=self._session.agent_id or None,
            stream=health.stream,
            stream_since_ms=health.since_ms,
            reconnects=health.reconnects,
            last_trouble=health.last_trouble,
            last_event_at_ms=health.last_event_ms,
            cursor=str(progress.watermark),
            cursor_age_s=max(0.0, waited_s),
            in_work=progress.open,
            turns_open=progress.running,
        )
