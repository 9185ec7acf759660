"""One Canon agent in one gateway: connects, listens, and lends the host its voice, until it is told to stop.

It knows no host class; what it needs of the host is :class:`~canon_hermes_plugin.ports.HostPort`. What it owns:

* the connection (:mod:`~canon_hermes_plugin.connecting`) and the stream (:mod:`~canon_hermes_plugin.supervisor`);
* what comes in (:mod:`~canon_hermes_plugin.inflow`) and the turns (:mod:`~canon_hermes_plugin.desk`);
* what goes out (:mod:`~canon_hermes_plugin.outbound`, :mod:`~canon_hermes_plugin.deliveries`);
* what outlives it (:mod:`~canon_hermes_plugin.kept`), and what is left (:mod:`~canon_hermes_plugin.legacy`);
* four loops (:mod:`~canon_hermes_plugin.loops`): the heartbeat, the poll for signals that the stream did not bring
  (:mod:`~canon_hermes_plugin.signals`), a look around once a second (:mod:`~canon_hermes_plugin.pulse`, and the number
  of messages that wait), and a look into the outbox.

An object connects once: the host makes a fresh adapter for another attempt.

Source: Canon adapter section 2.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from canon_hermes_plugin import binding
from canon_hermes_plugin import host as host_door
from canon_hermes_plugin.acting import Acting, NotConnected, on_loop
from canon_hermes_plugin.active import ACTIVE, ActiveSet, LiveAuthority
from canon_hermes_plugin.approvals.gateway import GatewayApprovals, open_approvals
from canon_hermes_plugin.approvals.waking import Waking
from canon_hermes_plugin.connecting import Credential, Refusal, Session, open_session, refusal_of
from canon_hermes_plugin.deliveries import Attempt, Deliveries, Failed
from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.drafts import without_cursor
from canon_hermes_plugin.handing import Handing
from canon_hermes_plugin.health import Health
from canon_hermes_plugin.health_report import report_of
from canon_hermes_plugin.inbound import Request
from canon_hermes_plugin.inflow import Inflow
from canon_hermes_plugin.interactions.cards import CardDesk
from canon_hermes_plugin.kept import Kept, open_kept
from canon_hermes_plugin.legacy import Legacy
from canon_hermes_plugin.loops import Loops
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.outbound import Outbound
from canon_hermes_plugin.outbox.store import Owed
from canon_hermes_plugin.owner import Owner
from canon_hermes_plugin.ports import Arrival, HostPort, Reply
from canon_hermes_plugin.postbox import Postbox
from canon_hermes_plugin.pulse import Pulse
from canon_hermes_plugin.runs import Runs
from canon_hermes_plugin.signals import Signals
from canon_hermes_plugin.state_place import state_path
from canon_hermes_plugin.supervisor import StreamSupervisor
from canon_hermes_plugin.surfaces import NotedSurfaces
from canon_hermes_plugin.turn.effects import Final as FinalMessage
from canon_hermes_plugin.turn.effects import TurnClosed
from canon_hermes_plugin.turn.events import Kind, TurnEvent
from canon_hermes_plugin.typing_dots import TypingDots
from canon_hermes_plugin.unasked import send_unasked
from canon_ops.client.api import CanonApi
from canon_ops.client.health import verify_environment
from canon_ops.client.stream import open_stream
from canon_ops.durable import DurableError
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.platform_health import PlatformHealth, health_file
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.options import Options, TurnVerbosity, UserAccess
from canon_ops.wire.ids import TurnId
from canon_ops.wire.requests import RuntimeStatus
from canon_ops.wire.verbosity import ConversationKind, resolve_verbosity

__all__ = ["CanonRuntime"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

STATUS_EVERY_S: Final = 30.0  # Canon adapter R2.8
SIGNALS_EVERY_S: Final = 15.0
LOOK_EVERY_S: Final = 1.0  # ours
OUTBOX_EVERY_S: Final = 5.0  # ours: how soon a gateway notices that a person had it send something again
LISTENING_S: Final = 5.0  # ours: the host allows a connect 30 s and more
FAREWELL_S: Final = 3.0  # the host gives an adapter a few seconds to disconnect; answers that are on their way use them


class CanonRuntime:
    """The adapter's life.

    Args:
        find: resolves the settings to a credential, off the loop.
        offload: the adapter's own threads; closed with it.
        home: the Hermes home, for the state file and the health file.
        approvals_file: the registry of approvals, which other gateways may share.
        home_channel: the conversation that hears of messages that may have been missed.
    """

    def __init__(
        self,
        port: HostPort,
        *,
        options: Options,
        access: UserAccess,
        find: Callable[[], Awaitable[Credential]],
        offload: Offload,
        home: Path,
        approvals_file: Path,
        home_channel: str | None = None,
        host_version: str = "unknown",
        clock: Clock | None = None,
        rng: random.Random | None = None,
        active: ActiveSet = ACTIVE,
    ) -> None:
        self._port = port
        self._options = options
        self._access = access
        self._find = find
        self._offload = offload
        self._home = home
        self._approvals_file = approvals_file
        self._home_channel = home_channel
        self._host_version = host_version
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()  # noqa: S311  # jitter, no secret
        self._active = active
        self._session: Session | None = None
        self._inflow: Inflow | None = None
        self._supervisor: StreamSupervisor | None = None
        self._pulse = Pulse(
            port,
            self._report_health,
            file=health_file(home, host_door.PLATFORM_NAME),
            offload=offload,
            clock=self._clock,
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._dots: TypingDots | None = None
        self._loops = Loops(self._clock)
        self._farewell: asyncio.Task[None] | None = None
        self._kept: Kept | None = None
        self._runs: Runs | None = None
        self._postbox: Postbox | None = None
        self._deliveries: Deliveries | None = None
        self._outbound: Outbound | None = None
        self._approvals: GatewayApprovals | None = None
        self._acting: Acting | None = None
        self._desk = TurnDesk(
            self._clock,
            carry=self._carry,
            attempt=self._attempt,
            is_quiet=self._is_quiet,
            draft_text=lambda text: without_cursor(text, port.streaming_cursor(), port.close_code_fences),
        )

    # --- life -----------------------------------------------------------------------------------------------------

    async def connect(self) -> bool:
        """Connect and start to listen; False with a recorded reason when that is not possible. Source: R2.2-R2.5."""
        verify = partial(verify_environment, clock=self._clock)
        opened = await open_session(self._find, verify, partial(_open_api, clock=self._clock))
        if isinstance(opened, Refusal):
            self._refuse(opened)
            return False
        owner = Owner(opened.credential.connection.environment_id, opened.agent.agent_id or "")
        try:
            kept = await open_kept(
                state_path(self._home),
                owner,
                clock=self._clock,
                lost=self._replay,
                is_gate_open=self._port.is_gate_open,
            )
        except CanonOpsError as error:
            await opened.api.aclose()
            self._refuse(refusal_of(error))
            return False
        await self._until_listening(self._start(opened, kept))
        return True

    async def _until_listening(self, supervisor: StreamSupervisor) -> None:
        """Wait a moment for the stream: without a cursor, what is said before it stands would never reach us."""
        try:
            async with asyncio.timeout(LISTENING_S):
                await supervisor.opened()
        except TimeoutError:
            logger.warning("Canon: the stream did not open within %g s; it is tried on", LISTENING_S)

    async def disconnect(self) -> None:
        """Stop listening, say goodbye to what runs, and leave nothing behind; safe at any time and to repeat."""
        self._active.leave(self)
        self._acting = None
        if self._runs is not None:
            self._runs.stop()
        await self._loops.end()
        inflow, self._inflow = self._inflow, None
        if inflow is not None:
            await inflow.stop()
        self._desk.close()
        outbound = self._outbound
        if outbound is not None:
            try:  # what ends meanwhile still has something to say, so the way out stays open until here
                async with asyncio.timeout(FAREWELL_S):
                    await outbound.drain()
            except TimeoutError:
                logger.warning("Canon: the gateway stops before Canon took everything that was on its way")
            finally:
                self._outbound = None
                await outbound.stop()
        self._desk.abandon()
        if self._session is not None:
            await self._count_what_is_owed()
            await self._pulse.close()
        self._dots = None
        session, self._session = self._session, None
        if session is not None:
            await session.api.aclose()
            self._port.mark_disconnected()
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.file.close()
        self._offload.close()

    async def _count_what_is_owed(self) -> None:
        """The last health report outlives the gateway, so what it says of the outbox has to be the end of it."""
        if self._postbox is not None:
            with suppress(DurableError):  # then it says what was known last
                await self._postbox.count()

    def _start(self, session: Session, kept: Kept) -> StreamSupervisor:
        """Everything after Canon accepted us, without waiting. Source: R2.4."""
        self._loop = asyncio.get_running_loop()
        self._session = session
        self._kept = kept
        deliveries = self._deliveries = Deliveries(
            session.api.send_message,
            send_unasked=partial(send_unasked, session.api),
            rows=kept.outbox,
            report=self._report,
            is_left_to_host=self._is_left_to_host,
            clock=self._clock,
            rng=self._rng,
        )
        outbound = self._outbound = Outbound(
            NotedSurfaces(session.api, kept.inbox),
            self._clock,
            report=self._report,
            deliver=deliveries.deliver,
            closed=self._closed,
            typing=self._port,
            queue_depth=self._queue_depth,
        )
        postbox = self._postbox = Postbox(outbound, deliveries, kept, self._home_channel)
        credential = session.credential
        supervisor = StreamSupervisor(
            partial(open_stream, credential.connection, credential.api_key, clock=self._clock),
            self._take_frame,
            self._resume_from,
            clock=self._clock,
            rng=self._rng,
            watcher=self._pulse,
        )
        self._supervisor = supervisor
        signals = Signals(
            session.api.consume_signal,
            self._desk,
            hand_over=self._port.hand_over,
            is_group=self._is_group,
            agent_id=session.agent.agent_id,
            clock=self._clock,
        )
        handing = Handing(
            identity=session.agent,
            conversations=session.conversations,
            access=self._access,
            neutralise=self._port.inert_name,
            fetch_rooms=session.api.conversations,
            give=self._port.hand_over,
            amend=self._port.amend_waiting,
            inbox=kept.inbox,
            remains=kept.remains,
            session_of=self._port.session_of,
        )
        inflow = self._inflow = Inflow(
            handing,
            control=signals.consume,
            replay=self._replay,
            inbox=kept.inbox,
            remains=kept.remains,
            missed=self._tell_of_gaps,
            given_up=postbox.tell_given_up,
            answered=self._approval_answered,
            unheard=self._approvals_unheard,
        )
        self._dots = TypingDots(session.api.set_typing)
        approvals = self._approvals = open_approvals(
            self._approvals_file,
            session.api,
            kept.owner,
            Waking(inflow.own, self._port.session_of),
            run=self._offload.run,
            conversations=lambda: inflow.rooms.rooms,
            clock=self._clock,
        )
        cards = CardDesk(kept.file, kept.owner, session.api, self._clock)
        self._acting = Acting(session.api, approvals.service, cards, self._desk, self._home_channel, self._clock)
        self._runs = Runs(self._desk, self._port, kept, inflow)
        legacy = Legacy(
            session.api,
            outbound,
            deliveries,
            kept.inbox,
            has_open_turn=self._desk.has_open_turn,
            clock=self._clock,
            rng=self._rng,
        )
        legacy.take_over(kept.remains.turns, kept.remains.items, kept.owed)
        inflow.recover(kept.remains.items, kept.adoption)
        self._active.join(self)
        name = session.agent.display_name or credential.resolution.agent_name or session.agent.agent_id
        logger.info("Canon: connected to %s as %s", credential.connection.environment_id, name)
        self._loops.own(kept.adoption.run())
        self._loops.own(approvals.run())
        self._loops.own(self._listen(supervisor))
        self._tell_of_gaps()
        self._loops.every(STATUS_EVERY_S, self._publish_status)
        self._loops.every(STATUS_EVERY_S, inflow.own.offer_again)
        self._loops.every(SIGNALS_EVERY_S, signals.poll)
        self._loops.every(LOOK_EVERY_S, self._look)
        self._loops.every(OUTBOX_EVERY_S, postbox.look)
        return supervisor

    def _refuse(self, refusal: Refusal) -> None:
        logger.error("Canon: not connected (%s): %s", refusal.code, refusal.sentence)
        self._port.set_fatal(refusal.code, refusal.sentence, retryable=refusal.retryable)

    async def _listen(self, supervisor: StreamSupervisor) -> None:
        refusal = await supervisor.run()
        self._pulse.refused(refusal.sentence)
        self._refuse(refusal)
        # The host answers by disconnecting us, which ends this very task; so telling it is nobody's but its own task.
        self._farewell = asyncio.get_running_loop().create_task(self._port.tell_fatal())

    # --- coming in ------------------------------------------------------------------------------------------------

    async def _take_frame(self, frame: Any) -> None:
        self._pulse.heard()
        if self._inflow is not None:
            await self._inflow.take(frame)

    def _resume_from(self) -> str | None:
        return self._inflow.resume_from() if self._inflow is not None else None

    async def chat_info(self, conversation_id: str) -> dict[str, Any]:
        """What the host shows of a conversation. Source: R2.16."""
        inflow = self._inflow
        if inflow is not None and not inflow.rooms.is_known(conversation_id):
            try:
                await inflow.refresh_rooms()
            except CanonOpsError as error:
                logger.warning("Canon did not describe conversation %s: %s", conversation_id, error.what)
        title = inflow.rooms.title(conversation_id) if inflow is not None else None
        kind = "group" if self._is_group(conversation_id) else "dm"
        return {"id": conversation_id, "name": title or conversation_id, "type": kind}

    def _is_group(self, conversation_id: str) -> bool:
        return self._inflow is not None and self._inflow.rooms.is_group(conversation_id)

    async def _publish_status(self) -> None:
        if self._session is not None:
            await self._session.api.publish_status(RuntimeStatus())

    async def _look(self) -> None:
        """What changes without anybody telling us: the stream's age, and the host's queue (D39, D62)."""
        outbound, inflow = self._outbound, self._inflow
        if inflow is not None:
            await self._pulse.look(inflow.cursor, inflow.in_work)
        for turn in [turn for turn in self._desk.turns.live.values() if turn.is_open and turn.is_lifecycle]:
            if outbound is not None and outbound.told_depth(turn.id) != self._queue_depth(turn.id):
                self._desk.queue_changed(turn.id)

    async def _approval_answered(self, approval_id: str) -> None:
        if self._approvals is not None:
            await self._approvals.heard(approval_id)

    def _approvals_unheard(self) -> None:
        if self._approvals is not None:
            self._approvals.ask_again()

    def _replay(self) -> None:
        if self._supervisor is not None:
            self._supervisor.replay()

    def _tell_of_gaps(self) -> None:
        if self._postbox is not None:
            self._loops.own(self._postbox.tell_gaps())

    # --- the host's run -------------------------------------------------------------------------------------------

    async def turn_started(self, arrival: Arrival, session_key: str, *, is_resumed: bool) -> Request | None:
        """The host begins a run in this task; see :meth:`Runs.start`."""
        if self._session is None or self._runs is None:
            return None
        return await self._runs.start(arrival, session_key, is_resumed=is_resumed)

    async def turn_completed(self, session_key: str, outcome: str, conversation_id: str) -> None:
        """The host's run has ended with ``success``, ``failure`` or ``cancelled``; afterwards no dots rest (R6.5)."""
        try:
            if self._runs is not None:
                await self._runs.complete(session_key, outcome)
        finally:
            self._port.resume_typing(conversation_id)

    def follow_up_announced(self, session_key: str, arrival: Arrival) -> None:
        """The host has taken the next message of a running session from its queue."""
        if self._runs is not None:
            self._runs.announce(session_key, arrival)

    async def send(self, conversation_id: str, text: str, *, reply_to: str | None, metadata: Any) -> Reply:
        """Whatever the host wants to say."""
        way = self._runs or self._desk
        return await way.send(conversation_id, text, reply_to=reply_to, metadata=metadata)

    async def edit(self, conversation_id: str, message_id: str, text: str, *, finalize: bool, metadata: Any) -> Reply:
        """The host has more, or the last, of something it began to say."""
        return await self._desk.edit(conversation_id, message_id, text, finalize=finalize, metadata=metadata)

    async def typing(self, conversation_id: str, *, on: bool, metadata: Any = None) -> None:
        """Switch the typing dots; a failure is not worth anybody's attention. Source: R6.10."""
        if on:
            await self._desk.typing_seen()
        if self._dots is not None:
            await self._dots.switch(conversation_id, on=on, metadata=metadata)

    # --- hooks, from any thread -----------------------------------------------------------------------------------

    def live_authority(self) -> LiveAuthority | None:
        """What a tool may act with; None while not connected."""
        session, inflow = self._session, self._inflow
        if session is None or inflow is None:
            return None
        connection = session.credential.connection
        return LiveAuthority(
            session.credential.api_key, connection.base_url, connection.stream_url, inflow.identity.outbound_policy
        )

    async def act(self, work: Callable[[Acting], Awaitable[T]]) -> T:
        """Do what a tool asks for, as this agent, on the adapter's loop; called from any loop of any thread.

        Raises:
            NotConnected: the adapter is not connected any more.
        """
        loop, acting = self._loop, self._acting
        if loop is None or acting is None or loop.is_closed():
            raise NotConnected("Canon is not connected")

        return await on_loop(loop, lambda: self._loops.within(lambda: work(acting)))

    def has_open_turn(self, conversation_id: str) -> bool:
        """Whether a turn of ours is open there."""
        return self._desk.has_open_turn(conversation_id)

    def note(self, conversation_id: str, session_key: str, event: TurnEvent) -> None:
        """Carry a tool's event to the loop, with the mark of the thread that it came from; order is kept."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._desk.note, conversation_id, binding.current_mark(), session_key, event)

    # --- what the parts ask of each other -------------------------------------------------------------------------

    def _carry(self, effects: Any) -> None:
        if self._outbound is not None:
            self._outbound.carry(effects)

    def _report(self, turn_id: TurnId, event: TurnEvent) -> None:
        self._desk.apply(turn_id, event)

    def _closed(self, effect: TurnClosed) -> None:
        if self._runs is not None:
            self._runs.closed(effect)

    async def _attempt(self, final: FinalMessage) -> Attempt:
        if self._session is None or self._deliveries is None:
            return Failed("Canon is not connected", may_pass=False)
        return await self._deliveries.attempt(final)

    def _is_left_to_host(self, turn_id: TurnId) -> bool:
        turn = self._desk.turns.live.get(turn_id)
        return turn is not None and turn.opening.kind is Kind.LOOSE

    def _is_quiet(self, conversation_id: str) -> bool:
        inflow = self._inflow
        kind = inflow.rooms.kind(conversation_id) if inflow is not None else ConversationKind.UNKNOWN
        return resolve_verbosity(self._options.turn_verbosity, kind) is TurnVerbosity.QUIET

    def _report_health(self, health: Health) -> PlatformHealth:
        """What the health file says now. Source: decisions X9."""
        session = self._session
        return report_of(
            health,
            host_version=self._host_version,
            environment_id=session.credential.connection.environment_id if session is not None else "",
            agent_id=self._inflow.identity.agent_id if self._inflow is not None else None,
            turns_open=sum(turn.is_open for turn in self._desk.turns.live.values()),
            owed=self._postbox.owed if self._postbox is not None else Owed(),
            now_ms=self._clock.now_ms(),
        )

    def _queue_depth(self, turn_id: TurnId) -> int:
        turn = self._desk.turns.live.get(turn_id)
        session = turn.opening.session if turn is not None else None
        return self._port.queue_depth(session) if session is not None else 0


def _open_api(credential: Credential, *, clock: Clock) -> CanonApi:
    return CanonApi(credential.connection, credential.api_key, clock=clock)
