"""Blocking work leaves the gateway's loop through this one door.

The host runs its agents on the loop's default executor, which on a small machine has a handful of threads: a file read
that queued there would wait for a model. So each adapter owns two threads of its own, started on first use and gone
when the adapter closes.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

__all__ = ["Offload"]

P = ParamSpec("P")
R = TypeVar("R")


class Offload:
    """A few threads for file reads, DNS and the keyring.

    Args:
        name: the threads' name, for people who look at a stack dump.
    """

    def __init__(self, name: str, *, threads: int = 2) -> None:
        self._name = name
        self._threads = threads
        self._executor: ThreadPoolExecutor | None = None

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call ``function`` on a thread, in a copy of the caller's context, and return what it returns.

        Cancelling the caller abandons the call; the thread itself finishes, as no thread can be stopped.
        """
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._threads, thread_name_prefix=self._name)
        context = contextvars.copy_context()

        def call() -> R:
            return context.run(function, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        """Let the threads end; the next :meth:`run` would start new ones. It does not wait."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
