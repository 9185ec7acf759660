"""From a frame that came to what the writers of connections are told: journal, faults, world, in one locked step.

``sockets`` reports upgrades, frames and ends; the verbs of ``human`` change the world from any thread. What the world
pushes because of either goes to the newest connection of the agent it is for, and is lost when there is none: this
generation of the protocol has no replay. Source: Borgee 1.8, 1.16.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from borgee_hermes.loopback.actions.call import Denied, Failed
from borgee_hermes.loopback.exchange import answer, payload_of, read, result_frame
from borgee_hermes.loopback.fault_actions import (
    Break,
    Close,
    Halt,
    Late,
    Lose,
    Refuse,
    Reply,
    Reshape,
    Stall,
    Unanswered,
)
from borgee_hermes.loopback.journal import Entry, Journal
from borgee_hermes.loopback.options import PATH
from borgee_hermes.loopback.orders import Cut, Freeze, Goodbye, Order, Pause, Put
from borgee_hermes.loopback.records import Json, User
from borgee_hermes.loopback.shapes import dumped, shaped
from borgee_hermes.loopback.world import World
from canon_ops.sandbox.faults import FaultBook, Meeting
from canon_ops.sandbox.stage import SandboxClock, Stage

__all__ = ["Accept", "Engine", "Socket", "Verdict"]

AUTH_CLOSE = 4004
FIRST_PROTOCOL_BYTES = 400


@dataclass(eq=False, slots=True)
class Socket:
    """A connection of an agent, as the engine sees it.

    Attributes:
        orders: what its writer still has to do.
        has_opened: its ``connect`` has come.
        is_frozen: half-open; it counts as gone for everything but the operating system.
        is_over: nothing is sent any more, because its end was ordered.
    """

    number: int
    agent: User
    orders: deque[Order] = field(default_factory=deque)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    has_opened: bool = False
    is_frozen: bool = False
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Accept:
    """Upgrade; ``first`` is ordered as soon as the connection stands."""

    agent: User | None
    first: Order | None = None


Verdict = Accept | Refuse | Break | Unanswered


class Engine(Stage[World]):
    """World, faults, journal and connections behind one lock."""

    def __init__(self, world: World, *, clock: SandboxClock, faults: FaultBook, journal: Journal) -> None:
        super().__init__(world, clock=clock)
        self.faults = faults
        self.journal = journal
        self.sockets: list[Socket] = []
        self.targets: dict[str, Socket] = {}  # agent -> the connection that is pushed to
        self.accepted = 0
        self.opened = 0
        self.sent = 0
        self.lost_pushes = 0
        self._woken: set[Socket] = set()

    # Stage ----------------------------------------------------------------------------------------------------------

    def collect(self) -> Callable[[], None] | None:
        """Send what the world wants sent; the writers that got something to do are woken on the loop."""
        self._distribute()
        woken, self._woken = self._woken, set()

        def wake() -> None:
            for socket in woken:
                socket.wake.set()

        return wake if woken else None

    def let_go(self) -> None:
        """Wake every writer, so that it sees the end."""
        for socket in self.sockets:
            socket.wake.set()

    # Reports of the listener ----------------------------------------------------------------------------------------

    def upgrade(self, path: str, headers: Mapping[str, str]) -> tuple[Verdict, float]:
        """Whether a connection comes about, and after how many seconds that is told."""
        with self.changing() as world:
            entry = self._note("upgrade", frame={"path": path})
            meeting = Meeting(point="upgrade", occasion=f"upgrade {entry.number}", path=path)
            late_s = 0.0
            verdict: Verdict
            match self._struck(meeting, entry):
                case Late(seconds):
                    late_s, verdict = seconds, self._judge(world, path, headers)
                case Close(code):
                    verdict = Accept(None, Goodbye(code))
                case Refuse() | Break() | Unanswered() as spoiled:
                    verdict = spoiled
                case _:
                    verdict = self._judge(world, path, headers)
            if isinstance(verdict, Accept):
                entry.agent_id = verdict.agent.user_id if verdict.agent else None
            entry.status = _status(verdict)
            return verdict, late_s

    def _judge(self, world: World, path: str, headers: Mapping[str, str]) -> Verdict:
        if path != PATH:
            return Refuse(404, body="Not Found")
        if "origin" in headers:
            return Refuse(403, body="Forbidden")
        scheme, _, key = headers.get("authorization", "").partition(" ")
        agent = _by_key(world, key) if scheme == "Bearer" else None
        if agent is not None and not agent.disabled:
            return Accept(agent)
        return Accept(None, Goodbye(AUTH_CLOSE)) if world.options.refuse_by_close else Refuse(401, body="Unauthorized")

    def open(self, agent: User) -> Socket:
        """A connection is about to stand; from now on it is the one that the agent is pushed to."""
        with self.changing() as world:
            self.accepted += 1
            socket = Socket(self.accepted, agent)
            before = self.targets.get(agent.user_id)
            if before is not None and isinstance(world.options.second_socket, int):
                self.order(before, Goodbye(world.options.second_socket))
            for old in self.sockets:
                if old.agent is agent and old.is_frozen:  # the agent has given it up, so the machine may have it back
                    self.order(old, Cut())
            self.sockets.append(socket)
            self.targets[agent.user_id] = socket
            return socket

    def closed(self, socket: Socket, code: int | None) -> None:
        """A connection is gone; ``code`` is the client's close code."""
        with self.changing():
            self._note("end", socket=socket.number, agent_id=socket.agent.user_id, status=code)
            self.sockets.remove(socket)
            if self.targets.get(socket.agent.user_id) is socket:
                del self.targets[socket.agent.user_id]

    def incoming(self, socket: Socket, message: str | bytes) -> float:
        """A message came; says for how many seconds nothing more is to be read."""
        with self.changing() as world:
            frame = read(message)
            if frame is None:
                self._note("frame", socket=socket.number, agent_id=socket.agent.user_id, frame=_shown(message))
                return 0.0
            entry = self._note(
                "frame", socket=socket.number, agent_id=socket.agent.user_id, type=frame["type"], frame=frame
            )
            meeting = Meeting(
                point="frame", occasion=f"frame {entry.number}", event=frame["type"], body=frame
            )  # fmt: skip
            match self._struck(meeting, entry):
                case Stall(seconds):
                    self._carry_out(world, socket, frame, entry)
                    return seconds
                case None:
                    self._carry_out(world, socket, frame, entry)
                case trouble:
                    self._ruin(socket, trouble)
            return 0.0

    # A frame --------------------------------------------------------------------------------------------------------

    def _carry_out(self, world: World, socket: Socket, frame: Json, entry: Entry) -> None:
        if frame["type"] == "connect":
            socket.has_opened = True
            self.opened += 1
        if frame["type"] != "semantic_action":
            self._reply(socket, answer(world, socket.agent, frame, now_ms=self.clock.now_ms()))
            return
        entry.payload = payload_of(frame)
        occasion = frame.get("nonce")
        meeting = Meeting(
            point="action",
            occasion=occasion if isinstance(occasion, str) else f"frame {entry.number}",
            event=str(frame.get("action")),
            body=entry.payload,
        )
        self._act(world, socket, frame, self._struck(meeting, entry))

    def _act(self, world: World, socket: Socket, frame: Json, trouble: Any) -> None:
        now_ms = self.clock.now_ms()
        match trouble:
            case None:
                self._answer(world, socket, frame)
            case Late(seconds, commit):
                result = answer(world, socket.agent, frame, now_ms=now_ms) if commit else None
                self._later(seconds, lambda: self._answer_late(world, socket, frame, result))
            case Reply(error, capability):
                outcome = Denied(capability, "scripted") if capability else Failed(error)
                self._reply(socket, result_frame(frame, socket.agent, outcome, now_ms=now_ms))
            case Lose(commit):
                if commit:
                    answer(world, socket.agent, frame, now_ms=now_ms)
            case Close(commit=commit) | Break(commit=commit) | Halt(commit=commit):
                if commit:
                    answer(world, socket.agent, frame, now_ms=now_ms)
                self._ruin(socket, trouble)
            case other:
                raise TypeError(f"an action cannot be spoiled by {other}")

    def _answer(self, world: World, socket: Socket, frame: Json) -> None:
        """Act, and answer; the agent's own message comes back where the options want it."""
        self._distribute()
        result = answer(world, socket.agent, frame, now_ms=self.clock.now_ms())
        if world.options.echo_self == "after":
            self._reply(socket, result)
            self._distribute()
        else:
            self._distribute()
            self._reply(socket, result)

    def _answer_late(self, world: World, socket: Socket, frame: Json, result: Json | None) -> None:
        if result is None:
            self._answer(world, socket, frame)
        else:
            self._reply(socket, result)

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()  # frames come in on the server's loop only

        def now() -> None:
            with self.changing():
                act()

        loop.call_later(seconds, now)

    # Sending --------------------------------------------------------------------------------------------------------

    def _reply(self, socket: Socket, frame: Json | None) -> None:
        if frame is not None:
            self.send(socket, frame)

    def _distribute(self) -> None:
        """Put what the world pushes into the queues of the agents' connections."""
        for push in self.world.take_pushes():
            if push.echo and self.world.options.echo_self == "no":
                continue
            socket = self.targets.get(push.agent_id)
            if socket is None:
                self.lost_pushes += 1
            else:
                self.send(socket, push.frame)

    def send(self, socket: Socket, frame: Json) -> None:
        """Put a frame into the queue of a connection, or what a fault makes of it."""
        self.sent += 1
        occasion = frame.get("message_id") or frame.get("nonce") or f"{frame['type']} {self.sent}"
        fault = self.faults.meet(Meeting(point="send", occasion=str(occasion), event=frame["type"], body=frame))
        match fault.kind.action if fault else None:
            case None:
                self.order(socket, Put(dumped(frame)))
            case Reshape(how, members):
                for order in shaped(frame, how, members):
                    self.order(socket, order)
            case Late(seconds):
                self.order(socket, Pause(seconds))
                self.order(socket, Put(dumped(frame)))
            case Lose():
                pass
            case Close(code, how, after=after):
                first = Put(dumped(frame)) if after else None
                self._end(socket, first, Goodbye(code, how))
            case Break(how, middle=middle):
                self._end(socket, Put(dumped(frame), "half") if middle else None, Cut(how))
            case Halt():
                self.order(socket, Freeze())
            case other:
                raise TypeError(f"a frame cannot be spoiled by {other}")

    def _end(self, socket: Socket, first: Order | None, end: Order) -> None:
        talking = isinstance(end, Goodbye) and end.how == "talking"
        for order in (end, first) if talking else (first, end):
            if order is not None:
                self.order(socket, order)
        if talking:
            self.order(socket, Cut("end"))

    def _ruin(self, socket: Socket, trouble: Any) -> None:
        match trouble:
            case Close(code, how):
                self._end(socket, None, Goodbye(code, how))
            case Break(how):
                self.order(socket, Cut(how))
            case Halt():
                self.order(socket, Freeze())
            case other:
                raise TypeError(f"a connection cannot be spoiled by {other}")

    def order(self, socket: Socket, order: Order) -> None:
        """Tell a connection's writer to do something; under the lock."""
        socket.orders.append(order)
        if isinstance(order, Freeze):
            socket.is_frozen = True
        self._woken.add(socket)

    # Small things ---------------------------------------------------------------------------------------------------

    def _note(self, what: Any, **given: Any) -> Entry:
        return self.journal.add(what, at_ms=self.clock.now_ms(), at_s=time.monotonic(), **given)

    def _struck(self, meeting: Meeting, entry: Entry) -> Any:
        fault = self.faults.meet(meeting)
        if fault is None:
            return None
        entry.fault = fault.kind.name
        return fault.kind.action


def _by_key(world: World, key: str) -> User | None:
    agent = world.agent_by_key.get(key)
    return agent if agent is not None and hmac.compare_digest(agent.api_key, key) else None


def _status(verdict: Verdict) -> int:
    return 101 if isinstance(verdict, Accept) else verdict.status if isinstance(verdict, Refuse) else 0


def _shown(message: str | bytes) -> str:
    text = message if isinstance(message, str) else message.decode("utf-8", "replace")
    return text[:FIRST_PROTOCOL_BYTES]
