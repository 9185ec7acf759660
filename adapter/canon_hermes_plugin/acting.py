"""What a tool may do as the agent of a connected adapter.

Host tools are process-wide functions on threads of their own, each with its own event loop; a client belongs to the
loop that made it. So a tool hands its work to the adapter, which runs it on its own loop, with its own client and key:
nothing is resolved anew, and no call can go out under another agent.

Source: canon-adapter R2.15, R8.3; D9, D51.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from canon_hermes_plugin.approvals.service import ApprovalService
from canon_hermes_plugin.binding import TurnMark
from canon_hermes_plugin.desk import Silence, TurnDesk
from canon_hermes_plugin.interactions.asking import Asking
from canon_hermes_plugin.interactions.cards import CardDesk
from canon_hermes_plugin.turn.events import InputAsked, InputClosed
from canon_ops.client.api import CanonApi
from canon_ops.runtime.clock import Clock
from canon_ops.wire.fields import JsonObject

__all__ = ["Acting", "Lost", "NotConnected", "on_loop"]

T = TypeVar("T")


class NotConnected(RuntimeError):
    """The adapter that should act is gone."""


@dataclass(frozen=True, slots=True)
class Acting:
    """One connected agent; used on its adapter's loop only.

    Attributes:
        home_channel: the conversation for what belongs to no turn.
    """

    api: CanonApi
    approvals: ApprovalService
    cards: CardDesk
    asking: Asking
    _desk: TurnDesk = field(repr=False)
    home_channel: str | None
    clock: Clock

    async def upload(self, body: JsonObject) -> dict[str, Any]:
        """Put bytes behind a link of Canon's."""
        return dict(await self.api.upload_media(body))

    @contextmanager
    def waiting(self, conversation_id: str, mark: TurnMark | None, session_key: str) -> Iterator[None]:
        """The caller's turn waits for a human meanwhile, and Canon shows that it does."""
        self._desk.note(conversation_id, mark, session_key, InputAsked())
        try:
            yield
        finally:
            self._desk.note(conversation_id, mark, session_key, InputClosed())

    def silence(self, conversation_id: str, mark: TurnMark | None, session_key: str) -> Silence:
        """Let the caller's own turn post nothing."""
        return self._desk.silence(conversation_id, mark, session_key)


Lost = Callable[[Acting, T], Coroutine[Any, Any, None]]
"""Makes good that the result of a work reached nobody; runs on the adapter's loop."""


async def on_loop(
    loop: asyncio.AbstractEventLoop, work: Callable[[], Awaitable[T]], lost: Callable[[T], None] | None = None
) -> T:
    """Run ``work`` on ``loop`` and return what it returns; cancelling the caller cancels it there.

    Args:
        lost: called on ``loop`` with what ``work`` returned when the caller was cancelled and will not get it: between
            two loops a result is on its way for a moment, and a cancellation may come after the end of the work.
    """
    if loop is asyncio.get_running_loop():
        return await work()  # nothing stands between its end and the caller
    begun: list[asyncio.Task[T]] = []

    async def there() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # a coroutine runs in one
        begun.append(task)
        return await work()

    def look_for_a_result() -> None:
        for task in begun:
            task.add_done_callback(lambda ended: _tell(ended, lost))

    try:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there(), loop))
    except asyncio.CancelledError:
        if not loop.is_closed():
            loop.call_soon_threadsafe(look_for_a_result)
        raise


def _tell(ended: asyncio.Task[T], lost: Callable[[T], None] | None) -> None:
    if lost is not None and not ended.cancelled() and ended.exception() is None:
        lost(ended.result())
