"""Threads that a process may leave behind: for calls that can block for ever, such as a read from a dead mount.

A thread cannot be stopped. The pools of the standard library therefore wait for theirs, in ``asyncio.run`` and again
when the interpreter ends, so one hung call keeps the process alive, and SIGTERM cannot end it. The threads here are
daemons: who gives up waiting goes on, and a hung call dies with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

__all__ = ["AbandonableThreads"]

P = ParamSpec("P")
R = TypeVar("R")


class AbandonableThreads(ThreadPoolExecutor):
    """An executor with one daemon thread a call; closing it waits for nobody.

    It is a :class:`ThreadPoolExecutor` because an event loop takes nothing else for its default executor, and there it
    also serves the loop's own calls (name look-ups). It is for a bounded number of calls that only read: work that must
    not be torn does not belong on it.

    Args:
        name: the threads' name, for people who look at a stack dump.
    """

    def __init__(self, name: str) -> None:
        super().__init__(max_workers=1, thread_name_prefix=name)
        self._name = name
        self._closed = False

    def submit(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Call on a thread of its own.

        Raises:
            RuntimeError: the executor is closed.
        """
        if self._closed:
            raise RuntimeError("the executor is closed")
        future: Future[R] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(call(*args, **kwargs))
            except BaseException as exc:
                future.set_exception(exc)

        threading.Thread(target=work, name=self._name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; those under way are abandoned, whatever ``wait`` says."""
        self._closed = True
