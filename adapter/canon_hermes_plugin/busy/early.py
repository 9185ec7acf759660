"""Interruptions of a run whose agent the host is still making.

For a moment of each run, and for seconds of the first one of a large home, the host has a placeholder where the agent
will be. Nothing can be interrupted in it yet, and the host does not say when the agent is there: so it is looked for as
often as the host itself looks, until the run is over. Without that a person's "stop" would come after the whole turn.

Source: Canon adapter R5.5, R5.6; hermes-host 9.3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

__all__ = ["EarlyStops"]

LOOK_EVERY_S: Final = 0.05  # the host's own pause between two looks


class EarlyStops:
    """The interruptions that wait for an agent: one a session, the newest.

    Args:
        is_due: whether the session's agent is there; None once the run is over.
        act: interrupts it.
    """

    def __init__(self, is_due: Callable[[str], bool | None], act: Callable[[str, str | None, bool], Awaitable[None]]):
        self._is_due = is_due
        self._act = act
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, session_key: str, text: str | None, *, spares: bool) -> None:
        """Interrupt the session's agent once it is there, if this run still goes on then.

        Args:
            text: what the agent is told.
            spares: work that an interruption would tear down goes on (R5.6).
        """
        self.forget(session_key)
        task = asyncio.get_running_loop().create_task(self._wait(session_key, text, spares))
        self._tasks[session_key] = task
        task.add_done_callback(lambda done: self._gone(session_key, done))

    def forget(self, session_key: str) -> None:
        """The run is over, or something else has ended it: what comes next is not to be interrupted."""
        if (task := self._tasks.pop(session_key, None)) is not None:
            task.cancel()

    def forget_all(self) -> None:
        """The host takes its handler away."""
        for session_key in tuple(self._tasks):
            self.forget(session_key)

    async def _wait(self, session_key: str, text: str | None, spares: bool) -> None:
        while (is_due := self._is_due(session_key)) is False:  # noqa: ASYNC110  # the host has no event for it
            await asyncio.sleep(LOOK_EVERY_S)
        if is_due:
            await self._act(session_key, text, spares)

    def _gone(self, session_key: str, done: asyncio.Task[None]) -> None:
        if self._tasks.get(session_key) is done:
            del self._tasks[session_key]
