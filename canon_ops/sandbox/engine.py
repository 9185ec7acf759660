"""The one place where the pure parts of the Canon server are kept, locked and waited on.

A step that published events wakes the streams of the agents that they are for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from canon_ops.sandbox.faults import FaultBook
from canon_ops.sandbox.journal import Journal
from canon_ops.sandbox.stage import SandboxClock, Stage, WaitTimeout
from canon_ops.sandbox.state import World

__all__ = ["Engine", "OpenStream", "SandboxClock", "WaitTimeout"]


@dataclass(eq=False, slots=True)
class OpenStream:
    """A connected event stream; ``orders`` is what people ask of it: ``drop`` or ``end``."""

    agent_id: str
    position: int
    orders: list[str] = field(default_factory=list)
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Engine(Stage[World]):
    """World, faults and journal behind one lock."""

    def __init__(self, world: World, *, clock: SandboxClock, faults: FaultBook, journal: Journal) -> None:
        super().__init__(world, clock=clock)
        self.faults = faults
        self.journal = journal
        self.streams: list[OpenStream] = []
        self.streams_opened = 0

    def collect(self) -> Callable[[], None] | None:
        """Wake the streams of the agents for whom something was published."""
        published = self.world.take_published()
        return (lambda: self._wake_streams(published)) if published else None

    def let_go(self) -> None:
        """Wake every stream, so that it sees the end."""
        self._wake_streams({stream.agent_id for stream in self.streams})

    def _wake_streams(self, agents: set[str]) -> None:
        for stream in self.streams:
            if stream.agent_id in agents:
                stream.wake.set()

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

        self.on_loop(wake)
        return len(chosen)
