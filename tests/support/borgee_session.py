"""A Borgee client for tests of what stands on it: what was asked of it is kept, what it answers is the test's."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from borgee_hermes.bpp.actions import Action
from borgee_hermes.bpp.errors import BppError, NotOnline, StaleDelivery
from borgee_hermes.bpp.events import ConversationContext, InboundEvent, Kind, Reaction
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.port import Handlers
from borgee_hermes.bpp.state import ConnectionState, Status
from borgee_hermes.bpp.values import User

__all__ = ["AGENT", "BURST", "Done", "FakeBurst", "FakeDelivery", "FakeSession", "said"]

T = TypeVar("T")
BURST = Limits().burst_events
AGENT = User("agent-1", "Aide", "agent", ("message.send:*",), {})


def said(
    body: str = "hello",
    channel_id: str = "channel-1",
    message_id: str = "m-1",
    *,
    kind: Kind = Kind.MESSAGE,
    author_id: str = "u-1",
    author_name: str = "Ada",
    channel_type: str = "channel",
    created_at_ms: int = 1_700_000_000_000,
    reaction: Reaction | None = None,
    context: ConversationContext | None = None,
) -> InboundEvent:
    """What the wire brings when somebody says something."""
    return InboundEvent(
        kind, channel_id, channel_type, message_id, author_id, author_name, body, created_at_ms, reaction, context
    )


class FakeBurst:
    """What was delivered at once."""

    def __init__(self, deliveries: list[FakeDelivery]) -> None:
        self.deliveries = deliveries
        self.events = tuple(each.event for each in deliveries)

    async def checkpoint(self) -> None:
        stale = [each.is_stale for each in self.deliveries]
        for each in self.deliveries:
            each.settled.set_result(True)
        if any(stale):
            raise StaleDelivery("the connection has ended")

    async def fail(self, error: BaseException) -> None:
        if any(each.is_stale for each in self.deliveries):
            raise StaleDelivery("gone")
        for each in self.deliveries:
            each.settled.set_result(error)
        if any(each.fail_hangs for each in self.deliveries):
            await asyncio.Event().wait()


class FakeDelivery:
    """One event; ``settled`` is True after a checkpoint, the error after a failure."""

    def __init__(self, event: InboundEvent, *, is_stale: bool = False) -> None:
        self.event = event
        self.is_stale = is_stale
        self.settled: asyncio.Future[bool | BaseException] = asyncio.get_running_loop().create_future()
        self.fail_hangs = False


@dataclass(frozen=True)
class Done:
    """One thing that the client was asked to do."""

    name: str
    payload: dict[str, Any] = field(default_factory=dict)


class FakeSession:
    """Implements :class:`~borgee_hermes.bpp.port.BppSession` in memory.

    Attributes:
        done: actions and reports, in order.
        answers: by action name, what to answer: a value, an error to raise, or an async function of the payload.
    """

    def __init__(self, *, identity: User = AGENT, handlers: Handlers | None = None) -> None:
        self.handlers = handlers or Handlers()
        self.identity: User | None = None
        self.failure: BppError | None = None
        self.done: list[Done] = []
        self.connecting: Callable[[], Any] | None = None
        ids = itertools.count(1)
        self.answers: dict[str, Any] = {
            "send_message": lambda _: {"message_id": f"out-{next(ids)}"},
            "list_channels": [],
        }
        self.deliveries_stopped = False
        self._who = identity
        self._state = ConnectionState(Status.IDLE)
        self._news = asyncio.Event()
        self._queue: asyncio.Queue[FakeDelivery | None] = asyncio.Queue()

    # -- for tests ----------------------------------------------------------------------------------------------------

    def deliver(self, event: InboundEvent, **more: Any) -> FakeDelivery:
        """Let the server say something."""
        delivery = FakeDelivery(event, **more)
        if not self.deliveries_stopped:
            self._queue.put_nowait(delivery)
        return delivery

    def become(self, status: Status, failure: BppError | None = None) -> None:
        """Change the connection's state."""
        self.failure = failure
        self._state = ConnectionState(status, code=failure.code if failure else "")
        news, self._news = self._news, asyncio.Event()
        news.set()
        if status in (Status.ERROR, Status.CLOSED):
            self._queue.put_nowait(None)

    def payloads(self, name: str) -> list[dict[str, Any]]:
        """What was asked of one action or report."""
        return [each.payload for each in self.done if each.name == name]

    @property
    def names(self) -> list[str]:
        """The names of everything asked, in order."""
        return [each.name for each in self.done]

    # -- BppSession ---------------------------------------------------------------------------------------------------

    @property
    def state(self) -> ConnectionState:
        return self._state

    @property
    def agent_id(self) -> str:
        return self._who.user_id

    async def connect(self) -> None:
        self.become(Status.CONNECTING)
        if self.connecting is not None:
            await self.connecting()
        self.done.append(Done("get_me"))
        self.identity = self._who
        self.become(Status.ONLINE)

    async def close(self) -> None:
        if not self._state.is_final:
            self.become(Status.CLOSED)

    async def bursts(self) -> AsyncIterator[FakeBurst]:
        while (first := await self._queue.get()) is not None:
            burst = [first]
            while len(burst) < BURST and self._queue.qsize():
                delivery = self._queue.get_nowait()
                if delivery is None:
                    self._queue.put_nowait(None)
                    break
                burst.append(delivery)
            yield FakeBurst(burst)

    def deliveries(self) -> AsyncIterator[Any]:
        raise NotImplementedError("the adapter takes bursts")

    def stop_deliveries(self) -> None:
        self.deliveries_stopped = True
        self._queue.put_nowait(None)

    async def state_changes(self) -> AsyncIterator[ConnectionState]:
        while True:
            news = self._news
            yield self._state
            if self._state.is_final:
                return
            await news.wait()

    async def act(self, action: Action[T]) -> T:
        if self._state.is_final:
            raise NotOnline
        self.done.append(Done(action.name, dict(action.payload)))
        answer = self.answers.get(action.name)
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = answer(dict(action.payload))
        if asyncio.iscoroutine(answer):
            answer = await answer
        return action.read(answer)

    async def report_task_started(self, **report: Any) -> None:
        await self._report("task_started", report)

    async def report_task_finished(self, **report: Any) -> None:
        await self._report("task_finished", report)

    async def _report(self, name: str, report: dict[str, Any]) -> None:
        self.done.append(Done(name, report))
        answer = self.answers.get(name)
        if callable(answer):
            await answer(report)
