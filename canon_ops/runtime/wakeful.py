"""Running a coroutine so that a signal ends its waiting at once.

Python only notes a signal when it comes, and runs its handler between two steps of the main thread. A loop that is just
about to wait, or whose process had the signal delivered to another thread, would first wait for its next event. The
byte that the interpreter writes at each signal is that event.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["run_wakeful"]

_Result = TypeVar("_Result")
_BYTES = 4096


def run_wakeful(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """``asyncio.run``, for commands that people interrupt; outside of the main thread there is no difference."""
    return asyncio.run(_woken(coroutine))


async def _woken(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    if threading.current_thread() is not threading.main_thread():
        return await coroutine
    with _signals_as_events(asyncio.get_running_loop()):
        return await coroutine


@contextmanager
def _signals_as_events(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.setblocking(False)
        loop.add_reader(ours, ours.recv, _BYTES)
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(ours)
