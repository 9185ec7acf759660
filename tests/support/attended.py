"""An adapter on the host's base class with an agent that is a function of the test, from its connection to its end.

The host's part is kept small: it hands each event to the agent, notes what is fatal, and disconnects then, as a gateway
does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

__all__ = ["Agent", "Attended", "attended"]

Agent = Callable[[Any, Any], Awaitable[Any]]


class Attended(Protocol):
    """What a test sees of it."""

    adapter: Any
    events: list[Any]
    fatal: list[tuple[str, bool]]


@asynccontextmanager
async def attended(stage: Attended, agent: Agent | None, *, connect: bool) -> AsyncIterator[None]:
    """Give the adapter its handlers, connect it when asked to, and end it whatever happened."""
    adapter = stage.adapter

    async def handler(event: Any) -> Any:
        stage.events.append(event)
        return await agent(event, adapter) if agent is not None else None

    async def on_fatal(failed: Any) -> None:
        stage.fatal.append((failed.fatal_error_code, failed.fatal_error_retryable))
        await failed.disconnect()

    adapter.set_message_handler(handler)
    adapter.set_fatal_error_handler(on_fatal)
    try:
        if connect:
            assert await adapter.connect(), adapter.fatal_error_message
        yield
    finally:
        await adapter.cancel_background_tasks()
        await adapter.disconnect()
