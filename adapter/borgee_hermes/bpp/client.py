"""The shell around the session: tasks, a socket, a clock. It decides nothing.

Every event goes through :meth:`BppClient._apply`: the session is told, its effects are carried out in order, and those
who may have something to do now are woken. All of it runs on the loop that called ``connect``; nothing blocks it.

Three kinds of tasks, all owned by the client and gone when ``close`` or a failed ``connect`` returns: the timekeeper,
one :class:`_Line` a connection (of which only the newest counts), and the two desks that call foreign handlers.

Source: Borgee 1.3, 1.8, 1.12, 1.14.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from borgee_hermes.bpp import outgoing
from borgee_hermes.bpp.actions import Action
from borgee_hermes.bpp.config_desk import ConfigDesk
from borgee_hermes.bpp.deliveries import Handed
from borgee_hermes.bpp.effects import Changed, Configure, Dial, Effect, Hangup, Log, Probe, Serve, Settle, Toggled
from borgee_hermes.bpp.errors import (
    AuthFailed,
    BppError,
    ClientClosed,
    DeliveryFailed,
    DeliveryResolved,
    InternalFailure,
    ProtocolCapacity,
    ProtocolError,
)
from borgee_hermes.bpp.events import InboundEvent
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.line import Line
from borgee_hermes.bpp.port import Handlers
from borgee_hermes.bpp.request_desk import RequestDesk
from borgee_hermes.bpp.session import Session
from borgee_hermes.bpp.state import ConnectionState, Status
from borgee_hermes.bpp.values import User
from borgee_hermes.bpp.wire import Wire, dial
from canon_ops.client.deadline import within
from canon_ops.runtime.clock import Clock
from canon_ops.settings.secret import Secret

__all__ = ["BppClient", "BppOptions"]

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BppOptions:
    """Whom to connect to, and as whom.

    Args:
        base_url: the canonical origin; whether plain ``http`` is allowed has been decided before.
        agent_id: when it is known already; the opening asks otherwise.
        plugin_id: what the server shows as the other end.

    Raises:
        AuthFailed: the key cannot be a key: a header could not carry it.
    """

    base_url: str
    api_key: Secret
    agent_id: str = ""
    plugin_id: str = "hermes-borgee"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        key = self.api_key.reveal()
        if not (key.isascii() and key.isprintable() and key.strip() == key != ""):
            raise AuthFailed(
                "The Borgee key is empty, or holds characters that no key has.",
                fix="copy it again into BORGEE_API_KEY in the .env of this profile",
            )


class BppClient:
    """A :class:`~borgee_hermes.bpp.port.BppSession` over a real websocket."""

    def __init__(
        self,
        options: BppOptions,
        *,
        clock: Clock,
        rng: random.Random | None = None,
        handlers: Handlers | None = None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._handlers = handlers or Handlers()
        self._session = Session(
            plugin_id=options.plugin_id,
            agent_id=options.agent_id,
            limits=options.limits,
            rng=rng or random.Random(),  # noqa: S311  # nonces and pauses are no secrets
        )
        self._configs = ConfigDesk(self._handlers, self._respond, clock=clock, limits=options.limits)
        self._requests = RequestDesk(self._handlers, self._respond, clock=clock, limits=options.limits)
        self._futures: dict[str, asyncio.Future[Any]] = {}
        self._lines: dict[int, Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()  # replaced at each state: whoever waits on the old one is woken
        self._inbound = asyncio.Event()
        self._taken = asyncio.Event()  # likewise, each time that the receiver takes something
        self._has_receiver = False
        self._armed_s: float | None = None
        self._earlier = asyncio.Event()

    # What others see ------------------------------------------------------------------------------------------------

    @property
    def state(self) -> ConnectionState:
        return self._session.state

    @property
    def agent_id(self) -> str:
        return self._session.agent_id

    @property
    def identity(self) -> User | None:
        return self._session.identity

    @property
    def failure(self) -> BppError | None:
        return self._session.failure

    async def connect(self) -> None:
        """See :meth:`BppSession.connect`; cancelled, it closes the client."""
        self._apply(self._session.connect(self._now_s()))
        self._spawn(self._keep_time())
        try:
            async for state in self.state_changes():
                if state.status is Status.ONLINE:
                    return
        except asyncio.CancelledError:
            await self.close()
            raise
        await self._finish()
        raise self._session.failure or ClientClosed("The Borgee client was closed before it came online.")

    async def close(self) -> None:
        """See :meth:`BppSession.close`."""
        self._apply(self._session.close())
        await self._finish()

    async def state_changes(self) -> AsyncIterator[ConnectionState]:
        """See :meth:`BppSession.state_changes`."""
        seen: ConnectionState | None = None
        while seen is None or not seen.is_final:
            if self.state is seen:
                await self._news.wait()
                continue
            seen = self.state
            yield seen

    def deliveries(self) -> AsyncIterator[_Delivery]:
        """See :meth:`BppSession.deliveries`.

        Raises:
            ProtocolError: at the first step: somebody is iterating already.
        """
        return self._received(1)

    def bursts(self) -> AsyncIterator[_Delivery]:
        """See :meth:`BppSession.bursts`; raises like :meth:`deliveries`."""
        return self._received(self._options.limits.burst_events)

    async def _received(self, most: int) -> AsyncIterator[_Delivery]:
        if self._has_receiver:
            raise ProtocolError("What is delivered is for one receiver.")
        self._has_receiver = True
        try:
            while True:
                self._inbound.clear()
                handed = self._session.hand_over(most)
                if handed is not None:
                    self._taken.set()
                    self._taken = asyncio.Event()
                    yield _Delivery(self, handed)
                elif self._is_dry:
                    return
                else:
                    await self._inbound.wait()
        finally:
            self._has_receiver = False

    @property
    def _is_dry(self) -> bool:
        """Nothing waits and nothing comes any more; a connection that says goodbye still brings what was on the way."""
        waiting = self._session.waiting
        return not len(waiting) and (not waiting.is_taking or (self.state.is_final and not self._lines))

    async def _room(self, size: int) -> None:
        """Return when an event of that size can be kept, or its receiver has taken nothing for too long."""
        limits = self._options.limits
        while not self._session.waiting.has_room(size):
            try:
                await within(self._clock, limits.takeover_s, self._taken.wait())
            except TimeoutError:
                return

    def stop_deliveries(self) -> None:
        """See :meth:`BppSession.stop_deliveries`."""
        self._session.waiting.stop()
        self._inbound.set()

    async def act(self, action: Action[T]) -> T:
        """See :meth:`BppSession.act`."""
        nonce = self._session.act(action, self._now_s())
        future = self._futures[nonce] = asyncio.get_running_loop().create_future()
        self._wake()
        try:
            value: T = await future
            return value
        finally:
            del self._futures[nonce]
            self._session.withdraw(nonce)
            if future.done() and not future.cancelled():
                future.exception()  # looked at: a cancellation may have come just after an error

    async def report_task_started(self, *, task_id: str, channel_id: str, subject: str, started_at_ms: int) -> None:
        """See :meth:`BppSession.report_task_started`."""
        self._report(
            outgoing.task_started(
                task_id=task_id,
                agent_id=self.agent_id,
                channel_id=channel_id,
                subject=subject,
                started_at_ms=started_at_ms,
            )
        )

    async def report_task_finished(
        self, *, task_id: str, channel_id: str, outcome: str, reason: str = "", finished_at_ms: int
    ) -> None:
        """See :meth:`BppSession.report_task_finished`."""
        self._report(
            outgoing.task_finished(
                task_id=task_id,
                agent_id=self.agent_id,
                channel_id=channel_id,
                outcome=outcome,
                reason=reason,
                finished_at_ms=finished_at_ms,
            )
        )

    # Carrying out ---------------------------------------------------------------------------------------------------

    def _now_s(self) -> float:
        return self._clock.monotonic_s()

    def _report(self, data: bytes) -> None:
        self._session.report(data)
        self._wake()

    def _respond(self, generation: int, data: bytes) -> None:
        self._apply(self._session.answer(generation, data, self._now_s()))

    def settle(self, number: int, failed: BaseException | None = None) -> None:
        """Close what is open, or end for good because it could not be stored; for :class:`_Delivery`.

        Raises:
            StaleDelivery: its connection has ended.
        """
        try:
            self._session.waiting.settle(number)
        finally:
            self._inbound.set()
        if failed is not None:
            what = f"An event could not be taken over ({type(failed).__name__})."
            self._apply(self._session.fail(DeliveryFailed(what)))

    def _apply(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Dial(generation):
                    self._open_line(generation)
                case Hangup(generation, code):
                    if (line := self._lines.get(generation)) is not None:
                        line.hang_up(code)
                case Probe(generation):
                    if (line := self._lines.get(generation)) is not None:
                        line.ping()
                case Settle(nonce, value, error):
                    self._settle_action(nonce, value, error)
                case Changed():
                    self._news.set()
                    self._news = asyncio.Event()
                case Toggled(toggle):
                    if self._handlers.toggle is not None:
                        self._handlers.toggle(toggle)
                case Configure():
                    try:
                        self._configs.take(effect)
                    except ProtocolCapacity as error:
                        self._apply(self._session.fail(error))
                case Serve():
                    self._requests.take(effect)
                case Log(text, warning):
                    logger.log(logging.WARNING if warning else logging.DEBUG, "Borgee: %s", text)
        self._wake()

    def _wake(self) -> None:
        """After a step: let those go on who may have something to do now."""
        session = self._session
        if session.outbox.has_frames and (line := self._lines.get(session.generation)) is not None:
            line.writable.set()
        self._inbound.set()
        due_s = session.next_wake_s
        is_earlier = due_s is not None and (self._armed_s is None or due_s < self._armed_s)
        if is_earlier or self.state.is_final:
            self._earlier.set()

    def _settle_action(self, nonce: str, value: Any, error: BppError | None) -> None:
        future = self._futures.get(nonce)
        if future is None or future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def _open_line(self, generation: int) -> None:
        options = self._options
        older = list(self._lines.values())

        async def open_in_turn() -> Wire:
            for each in older:  # what still comes over one of those was said before what comes over this one
                await each.gone.wait()
            return await dial(options.base_url, options.api_key)

        line = self._lines[generation] = Line(
            generation,
            self._session,
            open_in_turn,
            self._apply,
            room=self._room,
            clock=self._clock,
            limits=options.limits,
        )

        async def run() -> None:
            try:
                await line.run()
            finally:
                del self._lines[generation]
                self._inbound.set()

        self._spawn(run())

    # Tasks ----------------------------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("Borgee: the client failed", exc_info=error)
            self._apply(self._session.fail(InternalFailure(f"The Borgee client failed: {error!r}")))

    async def _keep_time(self) -> None:
        while not self.state.is_final:
            self._earlier.clear()
            self._armed_s = due_s = self._session.next_wake_s
            await self._until(due_s)
            if due_s is not None and self._now_s() >= due_s:
                self._apply(self._session.tick(self._now_s(), self._clock.now_ms()))

    async def _until(self, due_s: float | None) -> None:
        """Return when it is time, or when the time has become an earlier one."""
        if due_s is None:
            await self._earlier.wait()
            return
        sleeping = asyncio.ensure_future(self._clock.sleep(due_s - self._now_s()))
        earlier = asyncio.ensure_future(self._earlier.wait())
        try:
            await asyncio.wait({sleeping, earlier}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            earlier.cancel()

    async def _finish(self) -> None:
        """Return when every task is over. The state is final, so each of them ends within the time for a close."""
        await self._configs.close()
        await self._requests.close()
        while self._tasks:
            await asyncio.wait(set(self._tasks))


class _Delivery:
    """Events in the hands of their receiver."""

    def __init__(self, client: BppClient, handed: Handed) -> None:
        self._client = client
        self._handed = handed
        self._outcome = ""

    @property
    def event(self) -> InboundEvent:
        return self._handed.event

    @property
    def events(self) -> tuple[InboundEvent, ...]:
        return self._handed.events

    async def checkpoint(self) -> None:
        self._settle("taken over", None)

    async def fail(self, error: BaseException) -> None:
        self._settle("given up", error)

    def _settle(self, outcome: str, error: BaseException | None) -> None:
        if self._outcome == outcome:
            return
        if self._outcome:
            raise DeliveryResolved(f"This event was already {self._outcome}.")
        self._client.settle(self._handed.number, error)
        self._outcome = outcome
