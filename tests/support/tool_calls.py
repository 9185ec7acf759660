"""Canon's tools as a thread of the host calls them, over a real adapter and a Canon sandbox."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from canon_hermes_plugin.active import ActiveSet
from canon_hermes_plugin.binding import current_mark
from canon_hermes_plugin.communicate.tool import Communicate
from canon_hermes_plugin.tools.runtime_control import RuntimeControl
from canon_hermes_plugin.tools.session import HostSession
from canon_ops.sandbox.server import CanonSandbox
from tests.support.hosted_adapter import Hosted, hosted

T = TypeVar("T")

__all__ = ["Turn", "bind_session", "canon_turn", "control", "no_turn"]

ROOM = "conv_direct"


@dataclass(slots=True)
class Turn:
    """A turn that is open in the host, and what its agent may call.

    Attributes:
        stage: the adapter; None where no adapter is connected.
        session: what the host says of the calling task.
    """

    active: ActiveSet
    session: HostSession
    stage: Hosted | None = None
    is_delegated: bool = False
    context: contextvars.Context = field(default_factory=contextvars.copy_context)

    async def control(self, **args: Any) -> dict[str, Any]:
        """Call ``canon_runtime_control``."""
        tool = RuntimeControl(lambda: self.session, lambda: self.is_delegated, self.active)
        return await self._on_a_thread(tool, args)

    async def domain(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call the functions for domain plugins, as a tool of such a plugin on the host's thread would."""

        def run() -> T:
            bind_session(self.session)
            return asyncio.run(make())

        return await asyncio.get_running_loop().run_in_executor(None, self.context.copy().run, run)

    async def communicate(self, **args: Any) -> dict[str, Any]:
        """Call ``canon_communicate``."""
        return await self._on_a_thread(Communicate(lambda: self.session, self.active), args)

    def may_communicate(self) -> bool:
        """Whether the agent is offered ``canon_communicate``."""
        return Communicate(lambda: self.session, self.active).is_available()

    async def _on_a_thread(self, tool: Any, args: Mapping[str, Any]) -> dict[str, Any]:
        """On a thread with a loop of its own, in a copy of the context of the turn's task, as the host does."""
        context = self.context.copy()
        text = await asyncio.get_running_loop().run_in_executor(
            None, context.run, lambda: asyncio.run(tool(args, task_id="t", session_id="s"))
        )
        return _parsed(text)


def bind_session(session: HostSession) -> None:
    """Let the host say this of the running task."""
    from gateway.session_context import set_session_vars

    set_session_vars(
        platform="canon" if session.is_canon else "",
        chat_id=session.conversation_id or "",
        user_id=session.user_id or "",
        user_name=session.user_name or "",
        session_key=session.session_key or "",
        session_id=session.session_id or "",
        message_id=session.message_id or "",
    )


def _parsed(text: str) -> dict[str, Any]:
    result = json.loads(text)
    assert isinstance(result, dict)
    return result


async def control(args: Mapping[str, Any], *, session: HostSession | None = None) -> dict[str, Any]:
    """Call the tool where no adapter is connected."""
    return await Turn(ActiveSet(), session or HostSession()).control(**args)


@asynccontextmanager
async def canon_turn(
    box: CanonSandbox, *, text: str = "hi", room: str = ROOM, active: ActiveSet | None = None, **more: Any
) -> AsyncIterator[Turn]:
    """A turn for a message of the owner, open until the block ends."""
    entered: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str:
        if not entered.done():
            source = event.source
            mark = current_mark()
            assert mark is not None
            session = HostSession(
                source.chat_id, source.user_id, source.user_name, "s-1", mark.session_key, event.message_id
            )
            assert active is not None
            entered.set_result(Turn(active, session))
            await leave.wait()
        return "done"

    active = active or ActiveSet()
    async with hosted(box, agent, active=active, **more) as stage:
        box.human.say(room, text)
        turn = await asyncio.wait_for(entered, 10)
        turn.stage = stage
        try:
            yield turn
        finally:
            leave.set()


def no_turn(active: ActiveSet, stage: Hosted) -> Turn:
    """A call that belongs to no turn."""
    return Turn(active, HostSession(), stage)
