"""One Canon agent in one gateway: connects, listens, and lends the host its voice, until it is told to stop.

It knows no host class; what it needs of the host is :class:`~canon_hermes_plugin.ports.HostPort`. What it owns:

* the way to a connection (:mod:`~canon_hermes_plugin.connection.connecting`) and everything that lives as long as one
  (:mod:`~canon_hermes_plugin.connected`): the stream, what comes in, what goes out, what stands on the disk;
* the turns (:mod:`~canon_hermes_plugin.desk`), and the health file (:mod:`~canon_hermes_plugin.connection.pulse`);
* four loops (:mod:`~canon_hermes_plugin.loops`): the heartbeat, the poll for signals that the stream did not bring
  (:mod:`~canon_hermes_plugin.inbound.signals`), a look around once a second
  (:mod:`~canon_hermes_plugin.connection.pulse`, and the number of messages that wait), and a look into the outbox.

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
from canon_hermes_plugin.acting import Acting, Lost, NotConnected, on_loop
from canon_hermes_plugin.active import ACTIVE, ActiveSet, LiveAuthority
from canon_hermes_plugin.busy.turns import BusyTurns
from canon_hermes_plugin.connected import Connected, Ground, assemble, queue_depth
from canon_hermes_plugin.connection.connecting import Credential, Refusal, Session, open_session, refusal_of
from canon_hermes_plugin.connection.health_report import report_of
from canon_hermes_plugin.connection.pulse import Pulse
from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.inbound.gate import Request
from canon_hermes_plugin.interactions.clarify import HumanWaits
from canon_hermes_plugin.loops import Loops
from canon_hermes_plugin.media.captures import CanonInboundMedia
from canon_hermes_plugin.media.outgoing import FileWish
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.outbound.deliveries import Attempt, Failed, Posted
from canon_hermes_plugin.outbound.drafts import without_cursor
from canon_hermes_plugin.outbox.store import Owed
from canon_hermes_plugin.ports import Arrival, HostPort, Reply
from canon_hermes_plugin.state.kept import Kept, open_kept
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.state.place import approvals_record, state_path
from canon_hermes_plugin.turn.effects import Final as FinalMessage
from canon_hermes_plugin.turn.events import ModelCalled, TurnEvent
from canon_ops.client.api import CanonApi
from canon_ops.client.health import verify_environment
from canon_ops.durable import DurableError
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.platform_health import PlatformHealth, health_file
from canon_ops.hermes.stream_health import Health
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.options import Options, TurnVerbosity, UserAccess
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
        approvals_offload: threads that may wait for another process to let go of the registry; nothing else is kept up.
        home: the Hermes home, for the state file and the health file.
        approvals_file: the registry of approvals, which other gateways may share.
        home_channel: the conversation that hears of messages that may have been missed.
        waits: how long the host's questions wait for people.
    """

    def __init__(
        self,
        port: HostPort,
        *,
        options: Options,
        access: UserAccess,
        find: Callable[[], Awaitable[Credential]],
        offload: Offload,
        approvals_offload: Offload,
        home: Path,
        approvals_file: Path,
        home_channel: str | None = None,
        host_version: str = "unknown",
        waits: HumanWaits | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        active: ActiveSet = ACTIVE,
    ) -> None:
        self._port = port
        self._options = options
        self._find = find
        self._offload = offload
        self._approvals_offload = approvals_offload
        self._home = home
        self._host_version = host_version
        self._clock = clock or SystemClock()
        self._active = active
        self._loops = Loops(self._clock)
        self._errands = Loops(self._clock)  # what may wait for people, or for another process to let go of the registry
        self._farewell: asyncio.Task[None] | None = None
        self._connected: Connected | None = None
        self._owner: Owner | None = None
        self._is_leaving = False
        self._pulse = Pulse(
            port,
            self._report_health,
            file=health_file(home, host_door.PLATFORM_NAME),
            offload=offload,
            clock=self._clock,
        )
        self._desk = TurnDesk(
            self._clock,
            carry=self._carry,
            attempt=self._attempt,
            post=self._post,
            is_quiet=self._is_quiet,
            draft_text=lambda text: without_cursor(text, port.streaming_cursor(), port.close_code_fences),
            has_unread=port.has_unread_steering,
        )
        self.busy = BusyTurns(self._desk)
        self._ground = Ground(
            port=port,
            desk=self._desk,
            pulse=self._pulse,
            loops=self._loops,
            offload=offload,
            approvals_offload=approvals_offload,
            options=options,
            access=access,
            approvals_file=approvals_file,
            approvals_record=approvals_record(home),
            home_channel=home_channel,
            waits=waits or HumanWaits(),
            clock=self._clock,
            rng=rng or random.Random(),  # noqa: S311  # jitter, no secret
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

    async def _until_listening(self, connected: Connected) -> None:
        """Wait a moment for the stream: without a cursor, what is said before it stands would never reach us."""
        try:
            async with asyncio.timeout(LISTENING_S):
                await connected.supervisor.opened()
        except TimeoutError:
            logger.warning("Canon: the stream did not open within %g s; it is tried on", LISTENING_S)

    async def disconnect(self) -> None:
        """Stop listening, say goodbye to what runs, and leave nothing behind; safe at any time and to repeat."""
        self._active.leave(self)
        self._port.tools_changed()
        self._is_leaving = True
        self.busy.disconnect()
        connected = self._connected
        if connected is not None:
            connected.runs.stop()
        errands = asyncio.get_running_loop().create_task(self._errands.end())  # they take the time of the farewell
        if connected is not None:
            await connected.people.stop()
        await self._loops.end()
        if connected is not None:
            await connected.inflow.stop()
        self._desk.close()
        if connected is not None:
            await self._say_farewell(connected)
        self._desk.abandon()
        await errands
        if connected is not None and self._connected is connected:
            await self._count_what_is_owed(connected)
            await self._pulse.close()
            self._connected = None
            connected.intake.close()
            connected.file_threads.close()
            await connected.session.api.aclose()
            self._port.mark_disconnected()
            await connected.kept.file.close()
        self._offload.close()
        self._approvals_offload.close()

    async def _say_farewell(self, connected: Connected) -> None:
        """What ends meanwhile still has something to say, so the way out stays open until here."""
        try:
            async with asyncio.timeout(FAREWELL_S):
                await connected.outbound.drain()
        except TimeoutError:
            logger.warning("Canon: the gateway stops before Canon took everything that was on its way")
        finally:
            await connected.outbound.stop()

    async def _count_what_is_owed(self, connected: Connected) -> None:
        """The last health report outlives the gateway, so what it says of the outbox has to be the end of it."""
        with suppress(DurableError):  # then it says what was known last
            await connected.postbox.count()

    def _start(self, session: Session, kept: Kept) -> Connected:
        """Everything after Canon accepted us, without waiting. Source: R2.4."""
        connected = self._connected = assemble(self._ground, session, kept)
        self._owner = kept.owner
        self.busy.connect(connected.runs, connected.acknowledgements, connected.people)
        self._active.join(self)
        self._port.tools_changed()
        credential = session.credential
        name = session.agent.display_name or credential.resolution.agent_name or session.agent.agent_id
        logger.info("Canon: connected to %s as %s", credential.connection.environment_id, name)
        self._loops.own(kept.adoption.run())
        self._errands.own(connected.approvals.run())
        self._loops.own(self._listen(connected))
        self._loops.own(connected.postbox.tell_gaps())
        self._loops.every(STATUS_EVERY_S, connected.describing.beat)
        self._loops.every(STATUS_EVERY_S, connected.inflow.own.offer_again)
        self._loops.every(SIGNALS_EVERY_S, connected.signals.poll)
        self._loops.every(LOOK_EVERY_S, partial(self._look, connected))
        self._loops.every(OUTBOX_EVERY_S, connected.postbox.look)
        return connected

    def _refuse(self, refusal: Refusal) -> None:
        logger.error("Canon: not connected (%s): %s", refusal.code, refusal.sentence)
        self._port.set_fatal(refusal.code, refusal.sentence, retryable=refusal.retryable)

    async def _listen(self, connected: Connected) -> None:
        refusal = await connected.supervisor.run()
        self._pulse.refused(refusal.sentence)
        self._refuse(refusal)
        # The host answers by disconnecting us, which ends this very task; so telling it is nobody's but its own task.
        self._farewell = asyncio.get_running_loop().create_task(self._port.tell_fatal())

    # --- the conversations ----------------------------------------------------------------------------------------

    async def chat_info(self, conversation_id: str) -> dict[str, Any]:
        """What the host shows of a conversation. Source: R2.16."""
        inflow = self._connected.inflow if self._connected is not None else None
        if inflow is not None and not inflow.rooms.is_known(conversation_id):
            try:
                await inflow.refresh_rooms()
            except CanonOpsError as error:
                logger.warning("Canon did not describe conversation %s: %s", conversation_id, error.what)
        title = inflow.rooms.title(conversation_id) if inflow is not None else None
        kind = "group" if inflow is not None and inflow.rooms.is_group(conversation_id) else "dm"
        return {"id": conversation_id, "name": title or conversation_id, "type": kind}

    async def _look(self, connected: Connected) -> None:
        """What changes without anybody telling us: the stream's age, and the host's queue (D39, D62)."""
        await self._pulse.look(connected.inflow.cursor, connected.inflow.in_work)
        await self._port.serve_waiting()
        for turn in [turn for turn in self._desk.turns.live.values() if turn.is_open and turn.is_lifecycle]:
            if connected.outbound.told_depth(turn.id) != queue_depth(self._desk, self._port, turn.id):
                self._desk.queue_changed(turn.id)

    # --- the host's run -------------------------------------------------------------------------------------------

    async def turn_started(self, arrival: Arrival, session_key: str, *, is_resumed: bool) -> Request | None:
        """The host begins a run in this task; see :meth:`Runs.start`."""
        if self._connected is None or self._is_told_again(arrival, session_key):
            return None
        adopted = await self._connected.runs.start(arrival, session_key, is_resumed=is_resumed)
        if self._port.is_gate_open():  # until then the host only puts it into its queue
            self.busy.accepted(Arrival.of(adopted) if adopted is not None else arrival)
        return adopted

    def _is_told_again(self, arrival: Arrival, session_key: str) -> bool:
        """Whether the session's open turn is this very message's: the host tells of one start by two hooks (R6.3)."""
        turn = self._desk.running(session_key)
        same = turn is not None and arrival.message_id is not None and turn.is_open
        return same and turn is not None and turn.opening.source_message_id == arrival.message_id

    async def turn_completed(self, session_key: str, outcome: str, conversation_id: str) -> None:
        """The host's run has ended with ``success``, ``failure`` or ``cancelled``; afterwards no dots rest (R6.5)."""
        try:
            if self._connected is not None:
                await self._connected.runs.complete(session_key, outcome)
        finally:
            self._port.resume_typing(conversation_id)

    async def send(self, conversation_id: str, text: str, *, reply_to: str | None, metadata: Any) -> Reply:
        """Whatever the host wants to say."""
        if self._connected is not None:
            mark = binding.current_mark()
            session_key = mark.session_key if mark is not None else None
            text, metadata = self._connected.people.as_prompt(conversation_id, text, metadata, session_key)
        way = self._connected.runs if self._connected is not None else self._desk
        return await way.send(conversation_id, text, reply_to=reply_to, metadata=metadata)

    async def edit(self, conversation_id: str, message_id: str, text: str, *, finalize: bool, metadata: Any) -> Reply:
        """The host has more, or the last, of something it began to say."""
        if self._connected is not None and self._connected.people.is_card(message_id):
            return Reply(True, message_id)
        return await self._desk.edit(conversation_id, message_id, text, finalize=finalize, metadata=metadata)

    async def send_file(self, conversation_id: str, wish: FileWish, *, reply_to: str | None, metadata: Any) -> Reply:
        """A file that the host wants to send."""
        connected = self._connected
        if connected is None:
            return Reply(True, raw={"suppressedStaleOutput": True})
        upload = partial(connected.outgoing.upload, conversation_id, wish)
        try:
            return await self._desk.send_file(conversation_id, upload, reply_to=reply_to, metadata=metadata)
        except CanonOpsError as error:
            logger.warning("Canon: a file could not be sent: %s", error.what)
            return Reply(False, error=error.what)

    async def typing(self, conversation_id: str, *, on: bool, metadata: Any = None) -> None:
        """Switch the typing dots; a failure is not worth anybody's attention. Source: R6.10."""
        if on:
            await self._desk.typing_seen()
        if self._connected is not None:
            await self._connected.dots.switch(conversation_id, on=on, metadata=metadata)

    async def clarify(
        self, conversation_id: str, question: str, choices: object, clarify_id: str, session_key: str
    ) -> Reply:
        """The agent asks its human; see :meth:`People.clarify`."""
        if self._connected is None or self._is_leaving:
            return Reply(False, error="Canon is not connected")
        return await self._connected.people.clarify(conversation_id, question, choices, clarify_id, session_key)

    async def command(
        self,
        conversation_id: str,
        command: str,
        session_key: str,
        description: str | None,
        *,
        allow_session: bool,
        smart_denied: bool,
    ) -> Reply:
        """The agent wants to run what somebody has to allow; see :meth:`People.command`."""
        if self._connected is None or self._is_leaving:
            return Reply(False, error="Canon is not connected")
        return await self._connected.people.command(
            conversation_id, command, session_key, description, allow_session=allow_session, smart_denied=smart_denied
        )

    # --- hooks, from any thread -----------------------------------------------------------------------------------

    @property
    def agent(self) -> Owner | None:
        """Which agent this is; None before the first connect."""
        return self._owner

    def live_authority(self) -> LiveAuthority | None:
        """What a tool may act with; None while not connected."""
        connected = self._connected
        if connected is None:
            return None
        credential, policy = connected.session.credential, connected.inflow.identity.outbound_policy
        connection = credential.connection
        return LiveAuthority(credential.api_key, connection.base_url, connection.stream_url, policy)

    async def act(
        self,
        work: Callable[[Acting], Awaitable[T]],
        lost: Lost[T] | None = None,
    ) -> T:
        """Do what a tool asks for, as this agent, on the adapter's loop; called from any loop of any thread.

        Args:
            lost: what is to be done when the work ended well and the caller was cancelled before it heard of that.

        Raises:
            NotConnected: the adapter is not connected any more.
        """
        connected = self._connected
        if connected is None or self._is_leaving or connected.loop.is_closed():
            raise NotConnected("Canon is not connected")

        def make_good(result: T) -> None:
            if lost is not None:
                self._errands.own(lost(connected.acting, result))

        return await on_loop(connected.loop, lambda: self._errands.within(lambda: work(connected.acting)), make_good)

    def inbound_media(self, conversation_id: str, message_id: str) -> tuple[CanonInboundMedia, ...]:
        """What is held of a message for trusted tools."""
        connected = self._connected
        return connected.intake.of(conversation_id, message_id) if connected is not None else ()

    def has_run(self, session_key: str) -> bool:
        """Whether the model was called in the run of this task, or of the session."""
        turn = self._desk.running(session_key)
        return turn is not None and turn.ran

    def has_open_turn(self, conversation_id: str) -> bool:
        """Whether a turn of ours is open there."""
        return self._desk.has_open_turn(conversation_id)

    def note(self, conversation_id: str, session_key: str, event: TurnEvent) -> None:
        """Carry a tool's event to the loop, with the mark of the thread that it came from; order is kept."""
        connected = self._connected
        if connected is not None and not connected.loop.is_closed():
            if isinstance(event, ModelCalled):
                event = ModelCalled(self._port.steering_read(session_key))
            mark = binding.current_mark()
            connected.loop.call_soon_threadsafe(self._desk.note, conversation_id, mark, session_key, event)

    # --- what the parts ask of each other -------------------------------------------------------------------------

    def _replay(self) -> None:
        if self._connected is not None:
            self._connected.supervisor.replay()

    def _carry(self, effects: Any) -> None:
        if self._connected is not None:
            self._connected.outbound.carry(effects)

    async def _attempt(self, final: FinalMessage) -> Attempt:
        if self._connected is None:
            return Failed("Canon is not connected", may_pass=False)
        return await self._connected.deliveries.attempt(final)

    async def _post(self, final: FinalMessage) -> Posted | Failed:
        if self._connected is None:
            return Failed("Canon is not connected", may_pass=False)
        return await self._connected.postbox.post(final)

    def _is_quiet(self, conversation_id: str) -> bool:
        connected = self._connected
        kind = connected.inflow.rooms.kind(conversation_id) if connected is not None else ConversationKind.UNKNOWN
        return resolve_verbosity(self._options.turn_verbosity, kind) is TurnVerbosity.QUIET

    def _report_health(self, health: Health) -> PlatformHealth:
        """What the health file says now. Source: decisions X9."""
        connected = self._connected
        return report_of(
            health,
            host_version=self._host_version,
            environment_id=connected.kept.owner.environment_id if connected is not None else "",
            agent_id=connected.inflow.identity.agent_id if connected is not None else None,
            turns_open=sum(turn.is_open for turn in self._desk.turns.live.values()),
            owed=connected.postbox.owed if connected is not None else Owed(),
            now_ms=self._clock.now_ms(),
        )


def _open_api(credential: Credential, *, clock: Clock) -> CanonApi:
    return CanonApi(credential.connection, credential.api_key, clock=clock)
