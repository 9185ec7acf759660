"""One request of the API from arrival to answer: journal, faults, key, handler.

The order: the request is noted, every fault is asked once, the handler runs under the engine's lock, the answer goes
out. Without a fault all of that is one step, so the journal's order is the order in which the world changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from canon_ops.sandbox.engine import Engine
from canon_ops.sandbox.fault_actions import Answer, AnyAction, Bend, Delay, Rename, Reset
from canon_ops.sandbox.faults import Armed, Meeting
from canon_ops.sandbox.http import Arrived, Receive, Scope, Send, answer, read, reset_connection
from canon_ops.sandbox.journal import Entry
from canon_ops.sandbox.rest.routes import Endpoint
from canon_ops.sandbox.state import Call, Reply, World, refusal

__all__ = ["Exchange", "NotServed", "authenticated"]

IDENTITY_HEADER = "x-canon-environment-id"


def authenticated(world: World, arrived: Arrived) -> Any:
    """The agent of the bearer key, or the refusal. Source: Canon wire 11.3."""
    key = arrived.bearer
    agent = world.agent_by_key.get(key) if key else None
    if agent is None:
        return refusal(401, "A valid API key is required", "UNAUTHORIZED")
    return refusal(403, "This API key has been revoked", "KEY_REVOKED") if agent.revoked else agent


@dataclass(slots=True)
class _Work:
    """A noted request on its way through."""

    arrived: Arrived
    endpoint: Endpoint
    entry: Entry
    fault: Armed | None
    reply: Reply | None = None

    @property
    def action(self) -> AnyAction | None:
        return self.fault.kind.action if self.fault else None


class Exchange:
    """The ASGI application of one path: its methods and what they do."""

    def __init__(self, engine: Engine, listener: str, methods: Mapping[str, Endpoint]) -> None:
        self._engine = engine
        self._listener = listener
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived = await read(scope, receive)
        if arrived is None:
            return
        endpoint = self._methods.get(arrived.method)
        if endpoint is None:
            await NotServed(self._engine, self._listener).refuse(arrived, send)
            return
        with self._engine.changing() as world:
            work = self._note(arrived, endpoint)
            if work.fault is None:
                self._handle(world, work)
        reply = work.reply
        if work.fault is not None:
            reply = await self._spoil(work)
        if reply is None:
            await reset_connection(scope, receive)
            return
        await answer(send, reply.status, reply.body, self._headers(work, reply))

    def _note(self, arrived: Arrived, endpoint: Endpoint) -> _Work:
        engine = self._engine
        entry = engine.journal.add(
            at_ms=engine.clock.now_ms(),
            listener=self._listener,
            method=arrived.method,
            path=arrived.path,
            query=arrived.query,
            headers=arrived.headers,
            body=arrived.body,
        )
        body = arrived.body if isinstance(arrived.body, dict) else {}
        occasion = body.get("messageId")
        meeting = Meeting(
            point="request",
            occasion=occasion if isinstance(occasion, str) else f"request {entry.number}",
            method=arrived.method,
            path=arrived.path,
            listener=self._listener,
            body=body,
        )
        fault = engine.faults.meet(meeting)
        entry.fault = fault.kind.name if fault else None
        return _Work(arrived, endpoint, entry, fault)

    def _handle(self, world: World, work: _Work) -> Reply:
        """Judge the request; it leaves its mark in the world and its status in the journal."""
        arrived, agent = work.arrived, None
        if not isinstance(arrived.body, dict | None):
            reply = refusal(400, "The body must be a JSON object")
        else:
            if work.endpoint.keyed:
                agent = authenticated(world, arrived)
            if isinstance(agent, Reply):
                reply = agent
            else:
                work.entry.agent_id = agent.agent_id if agent else None
                call = Call(
                    arrived.method,
                    arrived.path,
                    arrived.params,
                    arrived.query,
                    arrived.headers,
                    arrived.body or {},
                    self._engine.clock.now_ms(),
                    agent,
                    work.action.rule if isinstance(work.action, Bend) else None,
                )
                reply = work.endpoint.handle(world, call)
        work.reply = reply
        work.entry.status = reply.status
        return reply

    async def _spoil(self, work: _Work) -> Reply | None:
        """Let the fault have its way; None means that the socket is to be reset."""
        match work.action:
            case Answer(status, body, _, commit):
                if commit:
                    self._commit(work)
                reply: Reply | None = Reply(status, body)
            case Reset(commit):
                if commit:
                    self._commit(work)
                reply = None
            case Delay(seconds, commit):
                reply = self._commit(work) if commit else None
                await self._engine.pause(seconds)
                reply = reply or self._commit(work)
            case Rename(_, changes, status):
                reply = self._commit(work)
                reply = replace(reply, status=status or reply.status, body=_renamed(reply.body, changes))
            case Bend():
                reply = self._commit(work)
                if not reply.was_bent and work.fault is not None:
                    work.fault.fired -= 1  # it met the request, but its rule did not decide anything
                    work.entry.fault = None
            case other:
                raise TypeError(f"a request cannot be spoiled by {other}")
        with self._engine.changing():
            work.entry.status = reply.status if reply else 0
        return reply

    def _commit(self, work: _Work) -> Reply:
        with self._engine.changing() as world:
            return self._handle(world, work)

    def _headers(self, work: _Work, reply: Reply) -> dict[str, str]:
        """The identity on every answer, what the handler adds, and what the fault wants."""
        headers: dict[str, str | None] = {IDENTITY_HEADER: self._engine.world.options.environment_id, **reply.headers}
        match work.action:
            case Answer(headers=more) | Rename(headers=more):
                headers.update(more)
        return {name: value for name, value in headers.items() if value is not None}


def _renamed(body: Any, changes: Mapping[str, Any]) -> Any:
    """The body with those keys that it has replaced; None removes one."""
    if not isinstance(body, dict):
        return body
    replaced = {key: changes.get(key, value) for key, value in body.items()}
    return {key: value for key, value in replaced.items() if not (key in changes and value is None)}


class NotServed:
    """The answer to every path that is not served: 404, flagged in the journal."""

    def __init__(self, engine: Engine, listener: str) -> None:
        self._engine = engine
        self._listener = listener

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived = await read(scope, receive)
        if arrived is not None:
            await self.refuse(arrived, send)

    async def refuse(self, arrived: Arrived, send: Send) -> None:
        with self._engine.changing():
            entry = self._engine.journal.add(
                at_ms=self._engine.clock.now_ms(),
                listener=self._listener,
                method=arrived.method,
                path=arrived.path,
                query=arrived.query,
                headers=arrived.headers,
                body=arrived.body,
            )
            entry.status, entry.unexpected = 404, True
        await answer(send, 404, {"error": f"Nothing is served at {arrived.method} {arrived.path}"})
