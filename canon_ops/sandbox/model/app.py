"""The model endpoint over HTTP: ``GET …/models`` and ``POST …/chat/completions``, with and without ``/v1``."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, Protocol

from canon_ops.sandbox.http import Receive, Scope, Send, answer, read, reset_connection
from canon_ops.sandbox.model.completions import DONE, chunk_frames, error_body, listing, usage, whole_answer
from canon_ops.sandbox.model.script import Plan
from canon_ops.sandbox.options import ModelOptions

__all__ = ["Decider", "Decision", "ModelApp", "Pauses"]

Json = dict[str, Any]


class Decision(Protocol):
    """A logged request with its answer."""

    @property
    def number(self) -> int: ...
    @property
    def plan(self) -> Plan: ...


class Decider(Protocol):
    """Who chooses the answers."""

    options: ModelOptions
    pauses: Pauses

    def decide(self, body: Json) -> Decision: ...


class Pauses:
    """Waiting on the server's loop that a stop cuts short."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()

    def end(self) -> None:
        self._ended.set()

    async def pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()


class ModelApp:
    """The ASGI application."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived = await read(scope, receive)
        if arrived is None:
            return
        options = self._decider.options
        match (arrived.method, arrived.path.removeprefix("/v1")):
            case ("GET", "/models"):
                await answer(send, 200, listing(options.model, options.context_length))
            case ("POST", "/chat/completions"):
                if not isinstance(arrived.body, dict) or not isinstance(arrived.body.get("messages"), list):
                    await answer(send, 400, error_body(400))
                    return
                await self._complete(arrived.body, scope, receive, send)
            case _:
                await answer(send, 404, error_body(404))

    async def _complete(self, body: Json, scope: Scope, receive: Receive, send: Send) -> None:
        decision = self._decider.decide(body)
        plan = decision.plan
        if plan.silent_s:
            await self._decider.pauses.pause(plan.silent_s)
        if plan.refuse is not None:
            await answer(send, plan.refuse, error_body(plan.refuse))
            return
        counts = usage(str(body["messages"]), plan)
        facts: Json = {
            "answer_id": f"chatcmpl-{decision.number}",
            "model": str(body.get("model") or self._decider.options.model),
            "created": int(time.time()),
        }
        if not body.get("stream"):
            await self._decider.pauses.pause(plan.spread_s)
            await answer(send, 200, whole_answer(plan, counts=counts, **facts))
            return
        wants_counts = (body.get("stream_options") or {}).get("include_usage")
        frames = list(chunk_frames(plan, counts=counts if wants_counts else None, **facts))
        headers = [(b"content-type", b"text/event-stream"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if plan.broken:
            await send({"type": "http.response.body", "body": b"".join(frames[: len(frames) // 2]), "more_body": True})
            await reset_connection(scope, receive)
            return
        await self._stream(frames, plan.spread_s, send)

    async def _stream(self, frames: list[bytes], spread_s: float, send: Send) -> None:
        """One frame a write, evenly over the time; without a time as fast as the reader takes them."""
        for frame in frames:
            await send({"type": "http.response.body", "body": frame, "more_body": True})
            if spread_s:
                await self._decider.pauses.pause(spread_s / len(frames))
        await send({"type": "http.response.body", "body": DONE})
