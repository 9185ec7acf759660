"""The event stream: one open response an agent's connection. Source: Canon wire 6, 11.7.

A connection pulls from its agent's log, so nothing is queued for it. What goes out first: a comment at once, then
``replay.expired`` when the cursor is unknown, then ``connected`` and ``agent.context`` without ids, then the events.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from canon_ops.sandbox.engine import Engine, OpenStream
from canon_ops.sandbox.events import Event, Expired
from canon_ops.sandbox.exchange import authenticated
from canon_ops.sandbox.fault_actions import Answer, AnyAction, DropStream, EndStream, Forget, Mute, Reshape, Withhold
from canon_ops.sandbox.faults import Meeting
from canon_ops.sandbox.frames import HEARTBEAT, bare_frame, chunks
from canon_ops.sandbox.http import Arrived, Receive, Scope, Send, answer, read, reset_connection
from canon_ops.sandbox.journal import Entry
from canon_ops.sandbox.records import Agent
from canon_ops.sandbox.state import Reply, refusal

__all__ = ["EventStream"]

HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class _Over(Exception):
    """The connection has to end; ``reset`` says how."""

    def __init__(self, *, reset: bool) -> None:
        super().__init__()
        self.reset = reset


class EventStream:
    """``GET /agents/stream`` on the stream listener."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived = await read(scope, receive)
        if arrived is None:
            return
        entry, action, agent = self._admit(arrived)
        if isinstance(agent, Reply):
            await answer(send, agent.status, agent.body)
            return
        connection = _Connection(self._engine, agent, send, entry)
        try:
            await connection.run(arrived.headers.get("last-event-id"), action, receive)
        except _Over as over:
            if over.reset:
                with self._engine.changing():
                    entry.status = 0
                await reset_connection(scope, receive)
                return
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b""})

    def _admit(self, arrived: Arrived) -> tuple[Entry, AnyAction | None, Agent | Reply]:
        """Note the request, ask the faults, check the key."""
        engine = self._engine
        with engine.changing() as world:
            entry = engine.journal.add(
                at_ms=engine.clock.now_ms(),
                listener="stream",
                method=arrived.method,
                path=arrived.path,
                query=arrived.query,
                headers=arrived.headers,
                body=arrived.body,
            )
            fault = engine.faults.meet(
                Meeting(
                    point="stream",
                    occasion=f"request {entry.number}",
                    method=arrived.method,
                    path=arrived.path,
                    listener="stream",
                )
            )
            entry.fault = fault.kind.name if fault else None
            action = fault.kind.action if fault else None
            agent = authenticated(world, arrived)
            if arrived.method != "GET":
                agent = refusal(405, "The stream is read with GET")
            if isinstance(action, Answer):
                agent = Reply(action.status, action.body)
            entry.status = agent.status if isinstance(agent, Reply) else 200
            entry.agent_id = None if isinstance(agent, Reply) else agent.agent_id
        return entry, action, agent


class _Connection:
    """One reader: what it has seen, and what still has to be written to it."""

    def __init__(self, engine: Engine, agent: Agent, send: Send, entry: Entry) -> None:
        self._engine = engine
        self._agent = agent
        self._log = engine.world.logs[agent.agent_id]
        self._send = send
        self._entry = entry
        self._stream = OpenStream(agent.agent_id, 0)
        self._held: Event | None = None

    async def run(self, cursor: str | None, action: AnyAction | None, receive: Receive) -> None:
        """Serve until the reader leaves, a fault or a person ends it, or the server stops."""
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        if isinstance(action, EndStream):
            return
        forget = action if isinstance(action, Forget) else None
        greeting = self._greeting(cursor, forget, tells_policy=not isinstance(action, Withhold))
        watcher = asyncio.create_task(self._watch(receive))
        self._engine.open_stream(self._stream)
        try:
            if isinstance(action, Mute):
                await self._wait_mutely()
            await self._write(greeting)
            await self._follow()
        finally:
            self._engine.close_stream(self._stream)
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._stream.orders.append("gone")
        self._stream.wake.set()

    def _greeting(self, cursor: str | None, forget: Forget | None, *, tells_policy: bool) -> bytes:
        """Find the reader's place and say where it stands."""
        with self._engine.changing() as world:
            place = self._log.end if cursor is None else self._log.locate(cursor)
            if forget is not None:
                place = Expired(self._log.last_event_id if forget.named else None)
            expired = b""
            if isinstance(place, Expired):
                expired, place = self._expired(place), self._log.end
            self._stream.position = place
            connected = {"agentId": self._agent.agent_id, "connectionId": world.mint("cx")}
            context: dict[str, Any] = {"agentId": self._agent.agent_id, "ownerId": self._agent.owner_id}
            if self._agent.outbound_policy is not None and tells_policy:
                context["outboundPolicy"] = self._agent.outbound_policy
        return HEARTBEAT + expired + bare_frame("connected", connected) + bare_frame("agent.context", context)

    @staticmethod
    def _expired(gap: Expired) -> bytes:
        return bare_frame("replay.expired", {} if gap.last_event_id is None else {"lastAvailableId": gap.last_event_id})

    async def _follow(self) -> None:
        """Write what the log holds beyond our place, then sleep until there is more."""
        while True:
            self._stream.wake.clear()
            self._obey()
            with self._engine.changing():
                news = self._log.after(self._stream.position)
            if isinstance(news, Expired):
                await self._write(self._expired(news))
                self._stream.position = self._log.end
            elif news:
                await self._write_events(news)
            else:
                await self._idle()

    def _obey(self) -> None:
        if self._engine.closing or self._stream.orders:
            raise _Over(reset="drop" in self._stream.orders)

    async def _wait_mutely(self) -> None:
        while True:
            await self._stream.wake.wait()
            self._stream.wake.clear()
            self._obey()

    async def _idle(self) -> None:
        try:
            async with asyncio.timeout(self._engine.world.options.keep_alive_s):
                await self._stream.wake.wait()
        except TimeoutError:
            await self._release_held()
            await self._write(HEARTBEAT)

    async def _write_events(self, events: list[Event]) -> None:
        if self._engine.faults.is_quiet and self._held is None:
            await self._write("".join(event.frame() for event in events).encode())
            self._stream.position = events[-1].position
            return
        for event in events:
            self._obey()
            await self._write_event(event)
            self._stream.position = event.position

    async def _write_event(self, event: Event) -> None:
        """Write one event, or let a fault have its way with it."""
        match self._spoiler(event):
            case DropStream(cut="before"):
                raise _Over(reset=True)
            case DropStream(cut="middle"):
                frame = event.frame().encode()
                await self._write(frame[: len(frame) // 2])
                raise _Over(reset=True)
            case DropStream():
                await self._write(event.frame().encode())
                raise _Over(reset=True)
            case EndStream():
                raise _Over(reset=False)
            case Reshape(how="swap") if self._held is None:
                self._held = event
                return
            case Reshape(how=how) if how != "swap":
                for chunk in chunks(event, how):
                    await self._write(chunk)
            case _:
                await self._write(event.frame().encode())
        await self._release_held()

    def _spoiler(self, event: Event) -> AnyAction | None:
        payload = event.payload()
        meeting = Meeting(
            point="event",
            occasion=event.occasion,
            event=event.name,
            listener="stream",
            body=payload if isinstance(payload, dict) else {},
        )
        with self._engine.changing():
            fault = self._engine.faults.meet(meeting)
            if fault is not None:
                self._entry.spoiled.append(fault.kind.name)
        return fault.kind.action if fault else None

    async def _release_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            await self._write(held.frame().encode())

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
