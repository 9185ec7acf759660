"""One Borgee agent in one gateway: from its locks to its last turn.

It knows no host class; what it needs of the host is :class:`~borgee_hermes.ports.HostPort`. Starting goes: checks,
locks, inbox, what a crash left behind, client, turns. Whatever fails on the way is undone and told; whatever is told
later (a dead client, an agent that was switched off, a disk that fails) ends in the same stop. An object connects once:
the host makes a fresh adapter for another attempt.

Source: Borgee 8.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from borgee_hermes.announcing import Announcer
from borgee_hermes.bpp import actions
from borgee_hermes.bpp.errors import ProtocolCapacity
from borgee_hermes.bpp.events import AgentToggle
from borgee_hermes.bpp.port import BppSession, Handlers
from borgee_hermes.bpp.state import Status as Connection
from borgee_hermes.control.protocol import Answer, Request
from borgee_hermes.control.server import ControlServer
from borgee_hermes.health import Vitals
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.records import OpenReceipt
from borgee_hermes.intake import Intake
from borgee_hermes.lanes.dispatch import Dispatcher
from borgee_hermes.lanes.scheduler import Scheduler
from borgee_hermes.locks.identity import identities
from borgee_hermes.locks.ownership import Lease
from borgee_hermes.outbound import Outbound
from borgee_hermes.parts import Parts
from borgee_hermes.ports import HostPort, Reply
from borgee_hermes.recovery import HostSessions, recover
from borgee_hermes.remedy import remedy
from borgee_hermes.standing import Standing
from borgee_hermes.starting import NotReady, another_may_succeed, stranger
from borgee_hermes.tools.bridge import Live
from canon_ops.durable import DurableError
from canon_ops.durable.settle import settle
from canon_ops.errors import CanonOpsError
from canon_ops.files.lock import FileLock
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.borgee import BorgeeOptions
from canon_ops.settings.secret import Secret, redact

__all__ = ["BorgeeRuntime", "Refusal"]

logger = logging.getLogger(__name__)

SHOWN_CHARS: Final = 300  # of an error, in the host's state file; Borgee 2.4
PRUNE_EVERY_S: Final = 3_600.0
DECISION_S: Final = 10.0  # a command may have the inbox for one decision; Hermes repeats a start much later
STORE_S: Final = 10.0  # for what was received and not yet stored at a stop; a disk takes less for a full buffer
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the platform is down, for the host's state."""

    code: str
    sentence: str
    retryable: bool


class BorgeeRuntime:
    """The adapter's life."""

    def __init__(
        self, port: HostPort, parts: Parts, *, clock: Clock | None = None, host_version: str = "unknown"
    ) -> None:
        self._port = port
        self._host_version = host_version
        self._parts = parts
        self._clock = clock or SystemClock()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="borgee")
        self._sessions = HostSessions(port, self._off_loop)
        self._secrets: list[Secret] = []
        self._options: BorgeeOptions | None = None
        self._guard: FileLock | None = None
        self._lease: Lease | None = None
        self._inbox: Inbox | None = None
        self._session: BppSession | None = None
        self._vitals: Vitals | None = None
        self._dispatcher: Dispatcher | None = None
        self._announcer: Announcer | None = None
        self._outbound: Outbound | None = None
        self._control: ControlServer | None = None
        self._live: Live | None = None
        self._deciding = asyncio.Lock()
        self._is_ready = False
        self._is_undone = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._intake: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._farewell: asyncio.Task[None] | None = None

    # -- starting -----------------------------------------------------------------------------------------------------

    async def connect(self) -> bool:
        """Connect and begin to work; False with a recorded reason when that is not possible."""
        if self._is_ready:
            return True
        starting = self._starting = asyncio.get_running_loop().create_task(self._start(), name="borgee start")
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            if self._stopping is None:
                starting.cancel()
                await settle(asyncio.ensure_future(self.disconnect() if self._is_ready else self._end_start()))
                raise
            await settle(self._stopping)  # it has cancelled the start, and leaves nothing behind
            if (caller := asyncio.current_task()) is not None and caller.cancelling():
                raise
            return False
        except Exception as error:
            if self._farewell is not None or self._stopping is not None:  # why is told; the start fails with it
                await settle(asyncio.ensure_future(self.disconnect()))
                return False
            logger.error("Borgee: not connected: %s", self._shown(error), exc_info=not isinstance(error, CanonOpsError))
            if self._vitals is not None:
                self._vitals.failed(error)
            await settle(asyncio.ensure_future(self._undo()))
            self._port.set_fatal("borgee_startup", self._shown(error), retryable=another_may_succeed(error))
            return False
        return True

    async def _end_start(self) -> None:
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._undo()

    async def _unless_over(self) -> None:
        """Go on, unless something has ended the adapter already: its stop then cancels this start."""
        if self._farewell is not None:
            await asyncio.shield(self._farewell)

    async def _start(self) -> None:
        options = self._options = self._parts.check()
        if sentence := self._port.unready():
            raise NotReady(sentence)
        self._port.force_queue_mode()
        key = await self._off_loop(self._parts.find_key)
        self._secrets.append(key)
        await self._off_loop(lambda: self._take_ownership(options, key))
        inbox = self._inbox = self._parts.inbox(self._parts.home)
        for notice in await inbox.open():
            logger.warning("Borgee: %s", notice.message)
        await recover(inbox, self._sessions)
        waiting = await inbox.open_receipts()  # before anything can come in: from then on there is no pause
        session = self._session = self._parts.open_session(options, key, Handlers(toggle=self._toggled))
        vitals = self._vitals = Vitals(
            self._parts.home,
            inbox,
            session,
            origin=options.origin,
            host_version=self._host_version,
            off_loop=self._off_loop,
            shown=self._shown,
            clock=self._clock,
        )
        vitals.start()
        await session.connect()
        await self._check_identity(session, options)
        await self._unless_over()
        await self._begin(session, inbox, vitals, options, waiting)

    def _take_ownership(self, options: BorgeeOptions, key: Secret) -> None:
        self._secrets.append(Secret(identities(self._parts.home, options.origin, key).resource))  # made of the key
        self._lease = self._parts.ownership.acquire(self._parts.locks, self._parts.home, options.origin, key)
        guard = FileLock(self._parts.inbox(self._parts.home).path.with_name("inbox.lock"), DECISION_S)
        guard.__enter__()
        self._guard = guard

    async def _check_identity(self, session: BppSession, options: BorgeeOptions) -> None:
        user = session.identity
        if user is None:
            user = await session.act(actions.get_me())
        if refusal := stranger(user, options):
            raise refusal

    async def _begin(
        self,
        session: BppSession,
        inbox: Inbox,
        vitals: Vitals,
        options: BorgeeOptions,
        waiting: Sequence[OpenReceipt],
    ) -> None:
        announcer = self._announcer = Announcer(session, self._clock)
        announcer.start()
        dispatcher = self._dispatcher = Dispatcher(
            inbox,
            self._port,
            Scheduler(options.max_concurrent_dispatches),
            sessions=self._sessions,
            reports=announcer,
            clock=self._clock,
            fail=self._fail_closed,
        )
        self._outbound = Outbound(self._usable_session, inbox, self._clock, fail=self._fail_closed)
        self._is_ready = True
        self._take_in(
            Intake(session, inbox, self._port, heard=vitals.heard, arrived=dispatcher.arrived, fail=self._fail_closed)
        )
        self._own(self._watch(session, vitals), "watch")
        self._own(self._prune(inbox), "prune")
        await self._listen_for_commands(inbox)
        await self._unless_over()
        live = self._live = Live(session, asyncio.get_running_loop())
        self._parts.active.join(live)
        self._port.tools_changed()
        self._port.mark_connected()
        logger.info("Borgee: connected to %s as %s", options.origin, session.agent_id)
        dispatcher.start(waiting, self._port.busy_sessions())  # last: the host lists an adapter that is connected

    def _take_in(self, intake: Intake) -> None:
        self._intake = asyncio.get_running_loop().create_task(intake.run(), name="borgee intake")

    def _take_in_at_the_end(self) -> None:
        """A start that ended between its connection and its intake: what the agent was sent meanwhile is stored for the
        next one. Before the server has said who we are nothing is, since it may be somebody else's.
        Source: docs/decisions/0067."""
        session, inbox, options = self._session, self._inbox, self._options
        if self._intake is not None or session is None or inbox is None or options is None:
            return
        user = session.identity
        if user is not None and stranger(user, options) is None:
            self._take_in(
                Intake(session, inbox, self._port, heard=_nothing, arrived=_nothing, fail=_nothing)  # it is over anyway
            )

    # -- while it runs ------------------------------------------------------------------------------------------------

    @property
    def dispatcher(self) -> Dispatcher | None:
        """The turns, while there are any."""
        return self._dispatcher

    @property
    def is_ready(self) -> bool:
        """Whether messages are taken and sent."""
        return self._is_ready

    async def send(self, channel_id: str, text: str, *, reply_to: str | None) -> Reply:
        """Write a message."""
        outbound = self._outbound
        return await outbound.send(channel_id, text, reply_to=reply_to) if outbound else Reply(False, error=_DOWN)

    async def edit(self, message_id: str, text: str) -> Reply:
        """Replace a message of ours."""
        return await self._outbound.edit(message_id, text) if self._outbound else Reply(False, error=_DOWN)

    async def delete(self, message_id: str) -> bool:
        """Take a message of ours away."""
        return await self._outbound.delete(message_id) if self._outbound else False

    async def channel_type(self, channel_id: str) -> str:
        """What kind of channel that is, as its newest receipt says."""
        if self._inbox is None or not self._is_ready:
            return "unknown"
        try:
            return await self._inbox.channel_type(channel_id) or "unknown"
        except DurableError as error:
            self._fail_closed(error)
            return "unknown"

    async def terminal_watermark(self) -> int:
        """The highest number up to which every receipt is settled."""
        return await self._open_inbox().terminal_watermark()

    async def remediate(self, seq: int, action: str, *, confirm_risk: bool = False) -> bool:
        """Carry a person's decision about a quarantined receipt out; false when it is none. Source: Borgee 4.10.

        To its end also when whoever asked is cancelled: a row that moves without the dispatcher blocks its session.

        Raises:
            ValueError: another action than ``discard`` or ``requeue``.
            RiskNotConfirmed, SessionNotReset: nothing was decided.
        """
        return await settle(asyncio.ensure_future(self._decide(seq, action, confirm_risk=confirm_risk)))

    async def _decide(self, seq: int, action: str, *, confirm_risk: bool) -> bool:
        async with self._deciding:  # a second one would reset the session under the turn that the first sets free
            inbox = self._open_inbox()
            decided = await remedy(inbox, self._sessions, seq, action, confirm_risk=confirm_risk)
            if decided is not None and self._dispatcher is not None:
                again = decided.dispatch_class if action == "requeue" else None
                self._dispatcher.remedied(seq, decided.session_key, again=again)
        return decided is not None

    async def _listen_for_commands(self, inbox: Inbox) -> None:
        """Offer decisions to this user's commands; without a socket the gateway works on."""
        control = ControlServer(inbox.path.parent, self._commanded)
        try:
            await control.start()
        except OSError as error:
            logger.warning("Borgee: commands cannot reach this gateway (%s): %s", control.path, error)
            return
        self._control = control

    async def _commanded(self, request: Request) -> Answer:
        if request.op == "ping":
            return Answer(changed=False)
        return Answer(await self.remediate(request.ingest_seq, request.op, confirm_risk=request.confirm))

    def _open_inbox(self) -> Inbox:
        if self._inbox is None:
            raise NotReady("Borgee's inbox is not open")
        return self._inbox

    def _usable_session(self) -> BppSession | None:
        session = self._session
        return session if self._is_ready and session is not None and not session.state.is_final else None

    async def _prune(self, inbox: Inbox) -> None:
        while True:
            try:
                while await inbox.prune():
                    await self._clock.sleep(0.05)
            except DurableError as error:
                logger.warning("Borgee: old receipts stay: %s", error.what)
            await self._clock.sleep(PRUNE_EVERY_S)

    # -- what ends it -------------------------------------------------------------------------------------------------

    async def _watch(self, session: BppSession, vitals: Vitals) -> None:
        """Notice when the client has given up: nothing would come any more, and nothing could be said."""
        standing = Standing(self._port, self._clock)
        try:
            await self._watch_states(session, standing, vitals)
        finally:
            standing.close()

    async def _watch_states(self, session: BppSession, standing: Standing, vitals: Vitals) -> None:
        async for state in session.state_changes():
            standing.see(state.status)
            vitals.see(state, session.failure)
            if state.status is Connection.ERROR:
                failure = session.failure
                sentence = (
                    self._shown(failure) if failure is not None else f"Borgee's connection has ended ({state.code})"
                )
                retryable = failure is None or failure.retryable or isinstance(failure, ProtocolCapacity)
                self._go_down(Refusal("borgee_connection", sentence, retryable))

    def _toggled(self, toggle: AgentToggle) -> None:
        session = self._session
        if toggle.action != "disable" or session is None or toggle.agent_id not in ("", session.agent_id):
            return
        session.stop_deliveries()  # now: what came before is stored, what comes after is not
        sentence = "The agent was switched off in Borgee; running turns end, nothing new is taken"
        self._go_down(Refusal("borgee_agent_disabled", sentence, False), hang_up=True)

    def _fail_closed(self, error: BaseException) -> None:
        """A promise cannot be kept any more: take nothing, and say so. Never for a cancellation."""
        self._go_down(Refusal("borgee_durable_inbox", self._shown(error), False))

    def _go_down(self, refusal: Refusal, *, hang_up: bool = False) -> None:
        """Record why, stop, and tell the host when that is done; once."""
        if self._farewell is not None or self._stopping is not None:
            return
        logger.error("Borgee: down (%s): %s", refusal.code, refusal.sentence)
        if self._dispatcher is not None:
            self._dispatcher.close()
        if self._vitals is not None:
            self._vitals.gave_up(refusal.sentence)
        self._port.set_fatal(refusal.code, refusal.sentence, retryable=refusal.retryable)
        self._farewell = asyncio.get_running_loop().create_task(self._say_farewell(hang_up), name="borgee farewell")

    async def _say_farewell(self, hang_up: bool) -> None:
        if hang_up and self._session is not None:
            self._is_ready = False
            await self._session.close()
        await self.disconnect()
        await self._port.tell_fatal()

    # -- stopping -----------------------------------------------------------------------------------------------------

    async def disconnect(self) -> None:
        """Begin nothing new, let turns end for a while, and leave nothing behind. What comes in until the connection is
        closed is stored, for the next start. Safe to repeat and to cancel: a stop that has begun goes on to its end."""
        if self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_task(self._stop(), name="borgee stop")
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if not self._is_undone:  # a start that failed has done that itself
            await self._stop_working()
        self._port.mark_disconnected()

    async def _stop_working(self) -> None:
        options, dispatcher = self._options, self._dispatcher
        self._parts.active.leave(self._live)
        self._port.tools_changed()
        if dispatcher is not None:
            dispatcher.close()
        await self._attempt("the tasks", self._end_tasks)
        if dispatcher is not None and options is not None:
            await self._attempt("the turns", lambda: dispatcher.drain(options.drain_timeout_s))
        self._is_ready = False
        inbox = self._inbox
        if inbox is not None:
            await self._attempt("what was not finished", inbox.recover_processing)
        await self._undo()

    async def _undo(self) -> None:
        """Give back whatever is held, in the reverse order, each also when another one fails."""
        self._is_ready = False
        announcer, session, inbox, control = self._announcer, self._session, self._inbox, self._control
        await self._attempt("the tasks", self._end_tasks)
        if control is not None:
            await self._attempt("the commands' socket", control.stop)
        if announcer is not None:
            await self._attempt("the reports", announcer.stop)
        if session is not None:
            await self._attempt("the connection", session.close)
        self._take_in_at_the_end()
        await self._attempt("what has come in", self._end_intake)
        if self._vitals is not None:
            await self._attempt("the health file", self._vitals.close)
        if inbox is not None:
            await self._attempt("the inbox", inbox.close)
        await self._attempt("the locks", lambda: self._off_loop(self._give_ownership_back))
        self._threads.shutdown(wait=False)
        self._is_undone = True

    def _give_ownership_back(self) -> None:
        guard, self._guard = self._guard, None
        lease, self._lease = self._lease, None
        try:
            if guard is not None:
                guard.__exit__(None, None, None)
        finally:
            self._parts.ownership.release(self._parts.locks, lease)

    async def _attempt(self, what: str, step: Callable[[], Awaitable[object]]) -> None:
        try:
            await step()
        except Exception as error:  # the steps behind it still have to be taken
            logger.error("Borgee: stopping %s failed: %s", what, self._shown(error))

    async def _end_tasks(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end_intake(self) -> None:
        """Wait until everything that was received is stored: the client is closed, so the intake ends by itself."""
        intake = self._intake
        if intake is None:
            return
        alarm = asyncio.ensure_future(self._clock.sleep(STORE_S))
        try:
            await asyncio.wait({intake, alarm}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            intake.cancel()
        await asyncio.gather(intake, return_exceptions=True)

    def _own(self, body: Awaitable[None], name: str) -> None:
        async def run() -> None:
            try:
                await body
            except Exception as error:  # the task's outermost edge: nobody would miss it
                self._fail_closed(error)

        task = asyncio.get_running_loop().create_task(run(), name=f"borgee {name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _off_loop(self, function: Callable[[], T]) -> T:
        """Call what blocks on a thread of ours (the host's own may all be waiting for models), to its end also when
        the caller is cancelled: what it takes has to be known, to be given back."""
        return await settle(asyncio.get_running_loop().run_in_executor(self._threads, function))

    def _shown(self, error: BaseException) -> str:
        """An error as text for people: without secrets, then cut."""
        text = str(error) if isinstance(error, CanonOpsError) else f"{type(error).__name__}: {error}"
        return redact(text, self._secrets)[:SHOWN_CHARS]


_DOWN: Final = "Borgee: the connection is unavailable"


def _nothing(*_: object) -> None:
    """What a start that has ended does with the news."""
