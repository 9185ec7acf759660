"""A loopback Canon server as one object: start it, be its people, look at what happened, stop it.

::

    with CanonSandbox(CanonOptions(auto_approve=True)) as box:
        message_id = box.human.say(None, "hello")
        box.wait("answer", to=message_id)
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from canon_ops.errors import OutsideError
from canon_ops.sandbox.app import CanonApp
from canon_ops.sandbox.audit import Breach, breaches
from canon_ops.sandbox.conditions import condition_for
from canon_ops.sandbox.engine import Engine, SandboxClock
from canon_ops.sandbox.faults import Armed, FaultBook, parse_fault
from canon_ops.sandbox.human import Human
from canon_ops.sandbox.journal import Journal
from canon_ops.sandbox.options import CanonOptions, Endpoints
from canon_ops.sandbox.records import Json
from canon_ops.sandbox.serving import ServerThread, loopback_socket, write_ready_file
from canon_ops.sandbox.state import World

__all__ = ["CanonSandbox", "PortInUse", "SandboxBroken", "listening"]


class SandboxBroken(AssertionError):
    """The sandbox itself failed while it served; what a test saw cannot be trusted."""


class PortInUse(OutsideError):
    """Somebody else listens there."""

    code = "sandbox_port_in_use"


class CanonSandbox:
    """One loopback Canon server with its own thread.

    Attributes:
        endpoints: where it listens and who lives there; set by :meth:`start`.
        human: the people's verbs.
        clock: the server's time; ``clock.advance(seconds)`` moves it.
    """

    endpoints: Endpoints
    human: Human

    def __init__(self, options: CanonOptions | None = None, *, limit_per_occasion: int | None = None) -> None:
        self.options = options or CanonOptions()
        self.clock = SandboxClock()
        seed = self.options.seed or secrets.token_hex(16)
        world = World(self.options, seed=seed, now_ms=self.clock.now_ms())
        faults = FaultBook(limit_per_occasion)
        self.engine = Engine(world, clock=self.clock, faults=faults, journal=Journal(self.options.journal_entries))
        for text in self.options.faults:
            name, settings = parse_fault(text)
            faults.arm(name, **settings)
        self._admin_token = secrets.token_urlsafe(24)
        self._thread: ServerThread | None = None

    def start(self) -> Self:
        """Listen; return when both listeners accept and the ready file, if any, is written.

        Raises:
            PortInUse: a fixed port is taken.
        """
        api = listening(self.options.port)
        try:
            stream = listening(self.options.stream_port)
        except PortInUse:
            api.close()
            raise
        self.endpoints = self._describe(api.getsockname()[1], stream.getsockname()[1])
        owner, room = self.endpoints.owner_id, self.endpoints.conversation_id
        self.human = Human(self.engine, owner_id=owner, agent_id="agent_sandbox", conversation_id=room)
        self.engine.world.base_url = self.endpoints.api
        app = CanonApp(self.engine, self.human, stream_port=stream.getsockname()[1], admin_token=self._admin_token)
        self._thread = ServerThread(
            app,
            [api, stream],
            name="canon-sandbox",
            on_start=lambda: self.engine.attach(asyncio.get_running_loop()),
            on_stop=self.engine.close,
        )
        self._thread.start()
        if self.options.ready_file is not None:
            write_ready_file(self.options.ready_file, self.endpoints.as_dict())
        return self

    def stop(self) -> None:
        """End the streams, close the sockets, join the thread; safe to repeat."""
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

    def _describe(self, api_port: int, stream_port: int) -> Endpoints:
        agent = self.engine.world.agents["agent_sandbox"]
        return Endpoints(
            api=f"http://127.0.0.1:{api_port}",
            stream=f"http://127.0.0.1:{stream_port}",
            admin=f"http://127.0.0.1:{api_port}/_sandbox",
            admin_token=self._admin_token,
            agent_key=agent.api_key,
            environment_id=self.options.environment_id,
            owner_id=agent.owner_id,
            owner_phone=self.engine.world.humans[agent.owner_id].phone,
            conversation_id="conv_direct",
        )

    # Short ways to what tests need most ---------------------------------------------------------------------------

    def fault(self, name: str, **settings: Any) -> Armed:
        """Arm a fault: :meth:`Human.fault`."""
        return self.human.fault(name, **settings)

    def transcript(self, conversation_id: str | None = None, *, after: int = 0) -> list[Json]:
        return self.human.transcript(conversation_id, after=after)

    def node(self, conversation_id: str | None = None) -> Json | None:
        return self.human.node(conversation_id)

    def journal(self, *, after: int = 0) -> list[Json]:
        return self.human.journal(after=after)

    def breaches(self, *, in_peace: bool = False) -> list[Breach]:
        """What the clients did that a well-behaved one never does; empty after a clean run.

        Args:
            in_peace: no client died and no fault met one, so the order of requests counts as well.
        """
        return self.engine.read(lambda world: breaches(world, list(self.engine.journal), in_peace=in_peace))

    def wait(self, what: str | Callable[[World], Any], *, timeout_s: float = 30, **match: Any) -> Any:
        """Block until something has happened, and give the evidence.

        Args:
            what: a name of :data:`~canon_ops.sandbox.conditions.CONDITIONS` with its settings as ``match``, or a
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


def listening(port: int) -> socket.socket:
    """A socket on a loopback port.

    Raises:
        PortInUse: it is taken.
    """
    try:
        return loopback_socket(port)
    except OSError as exc:
        raise PortInUse(f"127.0.0.1:{port} cannot be used: {exc.strerror}", fix="choose another port, or 0") from exc
