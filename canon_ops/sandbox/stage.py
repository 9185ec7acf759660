"""One locked state that several threads change and wait on: the ground of every loopback server here.

Requests arrive on the server's loop, the Python verbs of a test on any thread: both go through :meth:`Stage.act`, one
step at a time. After a step everybody who waits for a condition is woken, and a server's own :meth:`Stage.collect` says
what else has to happen on its loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

__all__ = ["SandboxClock", "Stage", "WaitTimeout"]

T = TypeVar("T")
W = TypeVar("W")


class WaitTimeout(TimeoutError):
    """The condition did not come true in time; the message says what was waited for."""


class SandboxClock:
    """The server's wall time: the real one plus what was added by hand."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self._ahead_ms

    def advance(self, seconds: float) -> None:
        """Move the server's time forward: expiries, typing marks and authorities age at once."""
        self._ahead_ms += round(seconds * 1000)


class Stage(Generic[W]):
    """A world behind one lock, with those who wait for it to change.

    Attributes:
        failures: what went wrong inside the server itself.
    """

    def __init__(self, world: W, *, clock: SandboxClock) -> None:
        self.world = world
        self.clock = clock
        self.closing = False
        self.failures: list[BaseException] = []
        self._changed = threading.Condition(threading.RLock())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._stopping = asyncio.Event()
        self._waiters: set[asyncio.Event] = set()

    def collect(self) -> Callable[[], None] | None:
        """Called under the lock after each change: what has to be done on the server's loop because of it."""
        return None

    def let_go(self) -> None:
        """Called on the server's loop when it is about to stop."""

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Remember the server's loop; called once on its thread, before the first request."""
        self._loop = loop
        self._loop_thread = threading.get_ident()

    async def pause(self, seconds: float) -> None:
        """Wait on the server's loop; a stop ends it early."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def act(self, step: Callable[[W, int], T]) -> T:
        """Carry out one step under the lock and wake whoever it concerns. Any thread; never blocks for long."""
        with self.changing() as world:
            return step(world, self.clock.now_ms())

    @contextmanager
    def changing(self) -> Iterator[W]:
        """The lock around one change, with the wake-ups at its end."""
        with self._changed:
            yield self.world
            follow = self.collect()
            self._changed.notify_all()
        if follow is not None or self._waiters:
            self.on_loop(lambda: self._wake(follow))

    def read(self, look: Callable[[W], T]) -> T:
        """Look at the world under the lock."""
        with self._changed:
            return look(self.world)

    def on_loop(self, action: Callable[[], None]) -> None:
        """Do something on the server's loop: now, when this is its thread."""
        if threading.get_ident() == self._loop_thread:
            action()
        elif self._loop is not None:
            with suppress(RuntimeError):  # the loop has closed: nobody is left to be woken
                self._loop.call_soon_threadsafe(action)

    def _wake(self, follow: Callable[[], None] | None) -> None:
        if follow is not None:
            follow()
        for waiter in self._waiters:
            waiter.set()

    def close(self) -> None:
        """Let everything that waits end: the server is about to stop."""
        self.closing = True
        with self._changed:
            self._changed.notify_all()
        self.on_loop(self._stop)

    def _stop(self) -> None:
        self._stopping.set()
        self.let_go()
        self._wake(None)

    # Waiting ----------------------------------------------------------------------------------------------------

    def wait(self, condition: Callable[[], T | None], *, timeout_s: float, what: str) -> T:
        """Block until ``condition`` (called under the lock) gives something true. Not for the server's own thread."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                found = condition()
                if found:
                    return found
                left = deadline - time.monotonic()
                if left <= 0 or self.closing:
                    raise WaitTimeout(f"waited {timeout_s:g} s for {what}")
                self._changed.wait(left)

    async def wait_async(self, condition: Callable[[], T | None], *, timeout_s: float, what: str) -> T:
        """The same for coroutines on the server's loop."""
        changed = asyncio.Event()
        self._waiters.add(changed)
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    with self._changed:
                        found = condition()
                    if found:
                        return found
                    if self.closing:
                        raise WaitTimeout(f"the sandbox stopped while something waited for {what}")
                    await changed.wait()
                    changed.clear()
        except TimeoutError as exc:
            if isinstance(exc, WaitTimeout):
                raise
            raise WaitTimeout(f"waited {timeout_s:g} s for {what}") from exc
        finally:
            self._waiters.discard(changed)
