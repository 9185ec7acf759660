"""The one place where the pure parts are kept, locked and waited on.

Requests arrive on the server's loop, the Python verbs of a test on any thread: both go through :meth:`Engine.act`, one
step at a time. After a step, streams of agents with new events and everybody who waits for a condition are woken.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from canon_ops.sandbox.faults import FaultBook
from canon_ops.sandbox.journal import Journal
from canon_ops.sandbox.state import World

__all__ = ["Engine", "OpenStream", "SandboxClock", "WaitTimeout"]

T = TypeVar("T")


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


@dataclass(eq=False, slots=True)
class OpenStream:
    """A connected event stream; ``orders`` is what people ask of it: ``drop`` or ``end``."""

    agent_id: str
    position: int
    orders: list[str] = field(default_factory=list)
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Engine:
    """World, faults and journal behind one lock."""

    def __init__(self, world: World, *, clock: SandboxClock, faults: FaultBook, journal: Journal) -> None:
        self.world = world
        self.clock = clock
        self.faults = faults
        self.journal = journal
        self.streams: list[OpenStream] = []
        self.streams_opened = 0
        self.closing = False
        self.failures: list[BaseException] = []
        self._changed = threading.Condition(threading.RLock())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._stopping = asyncio.Event()
        self._waiters: set[asyncio.Event] = set()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Remember the server's loop; called once on its thread, before the first request."""
        self._loop = loop
        self._loop_thread = threading.get_ident()

    async def pause(self, seconds: float) -> None:
        """Wait on the server's loop; a stop ends it early."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def act(self, step: Callable[[World, int], T]) -> T:
        """Carry out one step under the lock and wake whoever it concerns. Any thread; never blocks for long."""
        with self.changing() as world:
            return step(world, self.clock.now_ms())

    @contextmanager
    def changing(self) -> Iterator[World]:
        """The lock around one change, with the wake-ups at its end."""
        with self._changed:
            yield self.world
            published = self.world.take_published()
            self._changed.notify_all()
        if published or self._waiters:
            self._on_loop(lambda: self._wake(published))

    def read(self, look: Callable[[World], T]) -> T:
        """Look at the world under the lock."""
        with self._changed:
            return look(self.world)

    def _on_loop(self, action: Callable[[], None]) -> None:
        if threading.get_ident() == self._loop_thread:
            action()
        elif self._loop is not None:
            with suppress(RuntimeError):  # the loop has closed: nobody is left to be woken
                self._loop.call_soon_threadsafe(action)

    def _wake(self, agents: set[str]) -> None:
        for stream in self.streams:
            if stream.agent_id in agents:
                stream.wake.set()
        for waiter in self._waiters:
            waiter.set()

    # Streams ----------------------------------------------------------------------------------------------------

    def open_stream(self, stream: OpenStream) -> None:
        with self.changing():
            self.streams.append(stream)
            self.streams_opened += 1

    def close_stream(self, stream: OpenStream) -> None:
        with self.changing():
            self.streams.remove(stream)

    def order_streams(self, order: str, agent_id: str | None = None) -> int:
        """Tell the open streams (of one agent) to ``drop`` or ``end`` now; says how many there were."""
        with self.changing():
            chosen = [stream for stream in self.streams if agent_id in {None, stream.agent_id}]
            for stream in chosen:
                stream.orders.append(order)

        def wake() -> None:
            for stream in chosen:
                stream.wake.set()

        self._on_loop(wake)
        return len(chosen)

    def close(self) -> None:
        """Let every stream and every waiter end: the server is about to stop."""
        self.closing = True
        with self._changed:
            self._changed.notify_all()
        self._on_loop(self._let_go)

    def _let_go(self) -> None:
        self._stopping.set()
        self._wake({stream.agent_id for stream in self.streams})

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
