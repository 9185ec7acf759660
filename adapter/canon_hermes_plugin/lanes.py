"""Work that keeps its order within a key and runs side by side across keys.

A slow conversation must not hold up another one, and two messages of one conversation must not overtake each other.
Each key with work has one task; the task ends with its last job, so idle conversations cost nothing. Adding never
waits: whoever adds bounds what it adds, and can see how much is waiting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable

__all__ = ["Job", "Lanes"]

Job = Callable[[], Awaitable[object]]


class Lanes:
    """An owner of tasks: it starts them, and :meth:`stop` ends and awaits all of them.

    Args:
        on_error: gets what a job raised; the lane goes on with its next job.
    """

    def __init__(self, on_error: Callable[[Exception], None]) -> None:
        self._on_error = on_error
        self._jobs: dict[Hashable, deque[Job]] = {}
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}

    def add(self, key: Hashable, job: Job) -> None:
        """Put a job behind the others of its key. Only called on the loop."""
        self._jobs.setdefault(key, deque()).append(job)
        if key not in self._tasks:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._run(key))

    def backlog(self, key: Hashable) -> int:
        """How many jobs of a key wait behind the one that runs."""
        return len(self._jobs.get(key, ()))

    def is_busy(self, key: Hashable) -> bool:
        """Whether a job of a key runs or waits."""
        return key in self._tasks

    async def drain(self) -> None:
        """Return once no job waits or runs."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def stop(self) -> None:
        """Forget waiting jobs, cancel running ones, and return once they are gone."""
        for waiting in self._jobs.values():
            waiting.clear()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()  # a task that was cancelled before its first step never reached its own cleanup
        self._jobs.clear()

    async def _run(self, key: Hashable) -> None:
        jobs = self._jobs[key]
        try:
            while jobs:
                job = jobs.popleft()
                try:
                    await job()
                except Exception as exc:  # the outermost edge of a job: one failure is reported, its neighbours run
                    self._on_error(exc)
        finally:
            # No await stands between the last look at the queue and here, so nothing can be put in between.
            self._jobs.pop(key, None)
            self._tasks.pop(key, None)
