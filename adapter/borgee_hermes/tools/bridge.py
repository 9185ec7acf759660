"""From a thread of the agent to the gateway's loop and back: how a tool call reaches the connected adapter.

Hermes calls a tool on a worker thread. The action runs on the loop that the client lives on, and there is no other way
for it: without a connected adapter the call fails at once. The thread waits a little longer than an action can take;
when even that is over, the action is cancelled, and the model is told that nobody knows.

Source: Borgee 7.1; W11, W22.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from borgee_hermes.bpp.actions import Action
from borgee_hermes.bpp.port import BppSession
from borgee_hermes.inbox.identity import storable
from borgee_hermes.tools.calls import CALLS, Answer
from borgee_hermes.tools.schemas import SCHEMAS
from canon_ops.errors import OutsideError
from canon_ops.settings.borgee_key import BORGEE_KEY, BORGEE_REFERENCE

__all__ = ["ACTIVE", "TOOLSET", "WAIT_S", "Active", "Live", "ToolsUnavailable", "register_tools"]

TOOLSET: Final = "borgee"
WAIT_S: Final = 35.0  # an action has 30


class ToolsUnavailable(OutsideError):
    """No adapter is connected, or it did not answer."""

    code = "borgee_tools_unavailable"


@dataclass(frozen=True, slots=True)
class Live:
    """A connected client and the loop that it lives on."""

    session: BppSession
    loop: asyncio.AbstractEventLoop


class Active:
    """The connected adapter of this process: there when it is ready, gone when it disconnects."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._live: Live | None = None

    @property
    def live(self) -> Live | None:
        return self._live

    def join(self, live: Live) -> None:
        """An adapter is ready."""
        with self._guard:
            self._live = live

    def leave(self, live: Live | None) -> None:
        """It is so no more; another that has joined since is not touched."""
        with self._guard:
            if live is not None and self._live is live:
                self._live = None

    def run(self, action: Action[Any], *, wait_s: float = WAIT_S) -> Any:
        """Carry an action out from another thread.

        Raises:
            ToolsUnavailable: no adapter is connected, or the answer did not come; or this is the loop's own thread.
            BppError: what the server or the connection said.
        """
        live = self._live
        if live is None or live.loop.is_closed():
            raise ToolsUnavailable("Borgee is not connected")
        if _runs_here(live.loop):
            raise ToolsUnavailable("A Borgee tool was called on the gateway's own loop, which would wait for itself")
        future = asyncio.run_coroutine_threadsafe(live.session.act(action), live.loop)
        try:
            return future.result(wait_s)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise  # the action's own time-out, not ours
            future.cancel()
            raise ToolsUnavailable(
                f"Borgee did not answer {action.name}; whether it was carried out is unknown"
            ) from None


ACTIVE: Final = Active()


def is_available(active: Active = ACTIVE, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the model is offered the tools: an adapter is connected, and the key is set."""
    has_key = any(environ.get(name, "").strip() for name in (BORGEE_KEY, BORGEE_REFERENCE))
    return active.live is not None and has_key


def handler_of(name: str, active: Active = ACTIVE) -> Callable[..., str]:
    """What Hermes calls; the result is JSON, and what goes wrong is raised."""
    call = CALLS[name]

    def handle(arguments: Mapping[str, Any] | None = None, **beside: Any) -> str:
        plan = call(arguments or {}, beside)
        result = plan.result if isinstance(plan, Answer) else plan.result(active.run(plan.action))
        return storable(json.dumps(result, ensure_ascii=False))

    handle.__name__ = name
    return handle


def register_tools(register: Callable[..., Any], active: Active = ACTIVE) -> None:
    """Register every tool with the host's ``register_tool``."""
    for name, schema in SCHEMAS.items():
        register(
            name=name,
            toolset=TOOLSET,
            schema=dict(schema),
            handler=handler_of(name, active),
            check_fn=lambda: is_available(active),
            requires_env=[BORGEE_KEY],
            is_async=False,
            description=schema["description"],
        )


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
