"""A loopback Borgee server as one object: start it, be its people, look at what happened, stop it.

::

    with BorgeeSandbox() as box:
        box.wait("connected")
        message_id = box.human.say(None, "hello")
        box.wait("answer", to=message_id)
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from borgee_hermes.loopback.admin import commands, views
from borgee_hermes.loopback.conditions import condition_for
from borgee_hermes.loopback.engine import Engine
from borgee_hermes.loopback.fault_kinds import KINDS
from borgee_hermes.loopback.human import Human
from borgee_hermes.loopback.journal import Journal
from borgee_hermes.loopback.options import BorgeeEndpoints, BorgeeOptions
from borgee_hermes.loopback.records import Json
from borgee_hermes.loopback.sockets import Listener
from borgee_hermes.loopback.world import World
from canon_ops.sandbox.faults import Armed, FaultBook, parse_fault
from canon_ops.sandbox.server import PortInUse, SandboxBroken, listening
from canon_ops.sandbox.serving import ServerThread, write_ready_file
from canon_ops.sandbox.stage import SandboxClock
from canon_ops.sandbox.verbs import verbs_alone

__all__ = ["BorgeeSandbox"]


class BorgeeSandbox:
    """One loopback Borgee server with its own thread.

    Attributes:
        endpoints: where it listens and who lives there; set by :meth:`start`.
        human: the people's verbs.
        clock: the server's time; ``clock.advance(seconds)`` moves it.
    """

    endpoints: BorgeeEndpoints

    def __init__(self, options: BorgeeOptions | None = None, *, limit_per_occasion: int | None = None) -> None:
        self.options = options or BorgeeOptions()
        self.clock = SandboxClock()
        world = World(self.options, seed=self.options.seed or secrets.token_hex(16))
        faults = FaultBook(limit_per_occasion, kinds=KINDS)
        journal = Journal(self.options.journal_entries)
        self.engine = Engine(world, clock=self.clock, faults=faults, journal=journal)
        for text in self.options.faults:
            name, settings = parse_fault(text, KINDS)
            faults.arm(name, **settings)
        self.human = Human(
            self.engine,
            owner_id="user_owner",
            agent_id="agent_sandbox",
            channel_id="dm_owner",
            guild_id="guild_home",
        )
        self._admin_token = secrets.token_urlsafe(24)
        self._thread: ServerThread | None = None

    def start(self) -> Self:
        """Listen; return when both listeners accept and the ready file, if any, is written.

        Raises:
            PortInUse: a fixed port is taken.
        """
        wire = listening(self.options.port)
        try:
            admin = listening(self.options.admin_port)
        except PortInUse:
            wire.close()
            raise
        self.endpoints = self._describe(wire.getsockname()[1], admin.getsockname()[1])
        listener = Listener(self.engine, wire)

        async def begin() -> None:
            self.engine.attach(asyncio.get_running_loop())
            await listener.start()

        async def end() -> None:
            self.engine.close()
            await listener.stop()

        verbs = verbs_alone(commands(self.human), views(self.engine, self.human), self._admin_token)
        self._thread = ServerThread(verbs, [admin], name="borgee-sandbox", on_start=begin, on_stop=end)
        self._thread.start()
        if self.options.ready_file is not None:
            write_ready_file(self.options.ready_file, self.endpoints.as_dict())
        return self

    def stop(self) -> None:
        """Throw the connections away, close the sockets, join the thread; safe to repeat."""
        if self._thread is not None:
            self._thread.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self.engine.failures and exc is None:
            raise SandboxBroken("the sandbox failed while it served") from self.engine.failures[0]

    def _describe(self, port: int, admin_port: int) -> BorgeeEndpoints:
        return BorgeeEndpoints(
            base_url=f"http://127.0.0.1:{port}",
            admin=f"http://127.0.0.1:{admin_port}/_sandbox",
            admin_token=self._admin_token,
            agent_key=self.engine.world.users["agent_sandbox"].api_key,
            agent_id="agent_sandbox",
            owner_id="user_owner",
            guild_id="guild_home",
            channel_id="channel_lobby",
            dm_id="dm_owner",
        )

    # Short ways to what tests need most -----------------------------------------------------------------------------

    def fault(self, name: str, **settings: Any) -> Armed:
        """Arm a fault: :meth:`Human.fault`."""
        return self.human.fault(name, **settings)

    def transcript(self, channel_id: str | None = None, *, after: int = 0) -> list[Json]:
        return self.human.transcript(channel_id, after=after)

    def journal(self, *, after: int = 0) -> list[Json]:
        return self.human.journal(after=after)

    def wait(self, what: str | Callable[[World], Any], *, timeout_s: float = 30, **match: Any) -> Any:
        """Block until something has happened, and give the evidence.

        Args:
            what: a name of :data:`~borgee_hermes.loopback.conditions.CONDITIONS` with its settings as ``match``, or a
                function of the world that gives something true.

        Raises:
            WaitTimeout: it did not happen.
        """
        if callable(what):
            look = what
            return self.engine.wait(lambda: look(self.engine.world), timeout_s=timeout_s, what=repr(what))
        condition, words = condition_for(self.engine, what, match)
        return self.engine.wait(condition, timeout_s=timeout_s, what=words)

    async def until(self, what: str | Callable[[World], Any], *, timeout_s: float = 30, **match: Any) -> Any:
        """:meth:`wait` for a coroutine: its own loop goes on meanwhile."""
        return await asyncio.to_thread(self.wait, what, timeout_s=timeout_s, **match)
