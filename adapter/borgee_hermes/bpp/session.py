"""A client's whole life as a machine: connections, the opening, actions, deliveries, faults. No I/O, no clock.

States that others see, and what moves them::

    idle ─connect─> connecting ─opening done─> online ─connection lost─> reconnecting ─opening done─> online …
                        │                         │                           │
                        └── any failure ──────────┴── a failure for good ─────┴──> error       close() ──> closed

A *connection* has a generation and goes ``DIALLING -> OPENING -> UP``. Its end is a step like any other: the outbox
says which actions are lost with it and which wait for the next one, and ``policy`` says whether there is a next one.
Reports about a generation that is over are ignored, so a shell may report late and in any order. One thing of it still
counts: an inbound event, since nobody sends it again.

The shell calls, with the monotonic time: :meth:`connect` once; for each ``Dial`` it is told then either
:meth:`dial_failed`, :meth:`dial_refused`, or :meth:`opened` and afterwards :meth:`heard` for each piece of bytes,
:meth:`received` for each message and one of :meth:`closed`, :meth:`broken`, :meth:`stalled`. Beside it, :meth:`take`
as long as it gives frames, with :meth:`wrote` after each, and :meth:`tick` at :attr:`next_wake_s`. Every step gives the
effects that the shell carries out in order.

Source: Borgee 1.2, 1.3, 1.7-1.14, W2, W3b, W5, W19-W21, W25; decisions B1.
"""

from __future__ import annotations

import copy
import random
import uuid
from enum import Enum
from typing import Any

from borgee_hermes.bpp import outgoing
from borgee_hermes.bpp.actions import Action, get_me
from borgee_hermes.bpp.deliveries import Handed, Waiting
from borgee_hermes.bpp.effects import Changed, Configure, Dial, Effect, Hangup, Log, Probe, Serve, Settle, Toggled
from borgee_hermes.bpp.errors import (
    ActionRefused,
    AuthFailed,
    BppError,
    ClientClosed,
    ConnectFailed,
    ConnectionLost,
    DeliveryFailed,
    HandshakeClosed,
    HandshakeFailed,
    HandshakeTimeout,
    IdentityInvalid,
    NotOnline,
    PermissionDenied,
    ProtocolCapacity,
    ProtocolError,
)
from borgee_hermes.bpp.events import (
    ActionResult,
    AgentToggle,
    ConfigUpdate,
    Denial,
    Ignored,
    InboundEvent,
    Ping,
    ServerRequest,
)
from borgee_hermes.bpp.incoming import read_frame
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.outbox import Outbox
from borgee_hermes.bpp.policy import Backoff, MalformedBudget, fault_reason, final_close, refused_upgrade
from borgee_hermes.bpp.state import ConnectionState, Status
from borgee_hermes.bpp.values import User

__all__ = ["Session"]

NORMAL_CLOSE = 1000
PROTOCOL_CLOSE = 1002
TOO_BIG_CLOSE = 1009

Effects = list[Effect]


class _Phase(Enum):
    """How far a connection has come."""

    NONE = "none"  # there is none; perhaps the time for the next one is set
    DIALLING = "dialling"
    OPENING = "opening"  # upgraded; connect, and perhaps get_me, are on their way
    UP = "up"


class Session:
    """The machine.

    Args:
        plugin_id: what ``connect`` and heartbeats call us.
        agent_id: given: online as soon as ``connect`` is written. Empty: the opening asks who we are.
        rng: nonces and the cut of the pauses.
    """

    def __init__(self, *, plugin_id: str, agent_id: str, limits: Limits, rng: random.Random) -> None:
        self.state = ConnectionState(Status.IDLE)
        self.agent_id = agent_id
        self.identity: User | None = None
        self.failure: BppError | None = None
        self.waiting = Waiting(limits)
        self.generation = 0
        self._plugin_id = plugin_id
        self._limits = limits
        self._rng = rng
        self._phase = _Phase.NONE
        self.outbox = Outbox(limits)
        self._identity_nonce: str | None = None
        self._backoff = Backoff(limits, rng)
        self._malformed = MalformedBudget(limits)
        self._dial_at_s: float | None = None
        self._opening_by_s = 0.0
        self._online_s: float | None = None
        self._heartbeat_s = 0.0
        self._heard_s = 0.0
        self._probed_s: float | None = None

    # Starting and ending ------------------------------------------------------------------------------------------

    def connect(self, now_s: float) -> Effects:
        """Make the first connection.

        Raises:
            ClientClosed, BppError: the client is over.
        """
        if self.state.status is Status.CLOSED:
            raise ClientClosed("This client was closed; make a new one.")
        if self.failure is not None:
            raise copy.copy(self.failure)
        if self.state.status is not Status.IDLE:
            raise ProtocolError("connect() is called once.")
        return [*self._enter(ConnectionState(Status.CONNECTING, attempt=1)), *self._dial(now_s)]

    def close(self) -> Effects:
        """End for good, on our own wish; what was said until the other end has heard of it is still handed over."""
        if self.state.is_final:
            return []
        effects = self._end_connection(NORMAL_CLOSE)
        effects += self.outbox.settle_all(ClientClosed("The Borgee client was closed."))
        return [*effects, *self._enter(ConnectionState(Status.CLOSED))]

    def fail(self, error: BppError, *, close_code: int | None = NORMAL_CLOSE) -> Effects:
        """End for good because of ``error``."""
        if self.state.is_final:
            return []
        self.failure = error
        effects = self._end_connection(close_code)
        effects += self.outbox.settle_all(error)
        if isinstance(error, AuthFailed | DeliveryFailed):
            self.waiting.stop()
        return [*effects, *self._enter(self._fault(Status.ERROR, error, self.state.attempt))]

    # Reports of the shell -----------------------------------------------------------------------------------------

    def dial_failed(self, generation: int, why: str, now_s: float) -> Effects:
        """No connection came about."""
        if not self._is_current(generation):
            return []
        return self._lost(ConnectFailed(f"Borgee could not be reached: {why}."), now_s)

    def dial_refused(self, generation: int, status: int, now_s: float) -> Effects:
        """The server answered the upgrade with a plain HTTP status."""
        if not self._is_current(generation):
            return []
        error = refused_upgrade(status)
        return self._lost(error, now_s, for_good=isinstance(error, AuthFailed))

    def opened(self, generation: int, now_s: float) -> Effects:
        """The connection is upgraded: open the session on it."""
        if not self._is_current(generation):
            return []
        self._phase = _Phase.OPENING
        self._heard_s, self._probed_s = now_s, None
        self.outbox.opening("connect", outgoing.connect(self._plugin_id))
        if not self.agent_id:
            self._identity_nonce = self._nonce()
            asking = outgoing.semantic_action(get_me(), agent_id="", nonce=self._identity_nonce)
            self.outbox.opening(self._identity_nonce, asking)
        return []

    def heard(self, generation: int, now_s: float) -> None:
        """Some bytes came: the other end is alive."""
        if self._is_current(generation):
            self._heard_s, self._probed_s = now_s, None

    def received(self, generation: int, message: str | bytes, now_s: float) -> Effects:
        """A whole message came; of a connection that is over only what was said is of interest."""
        try:
            frame = read_frame(message)
        except ProtocolError as error:
            return self.broken(generation, error, now_s)
        if not self._is_current(generation):
            return self._take_in(frame, len(message)) if isinstance(frame, InboundEvent) else []
        match frame:
            case InboundEvent():
                return self._take_in(frame, len(message))
            case ActionResult() | Denial():
                return self._answered(frame, now_s)
            case Ping():
                return self.answer(generation, outgoing.PONG, now_s)
            case ConfigUpdate():
                return [Configure(generation, frame, len(message))]
            case ServerRequest():
                return [Serve(generation, frame)]
            case AgentToggle():
                return [Toggled(frame)]
            case Ignored(why):
                return [Log(f"ignored {why}")]

    def closed(self, generation: int, code: int | None, now_s: float) -> Effects:
        """The connection ended; ``code`` is the server's, None when it sent none."""
        if not self._is_current(generation):
            return []
        final = final_close(code)
        if self.state.status is Status.CONNECTING and not isinstance(final, AuthFailed):
            said = "without a word" if code is None else f"with {code}"
            return self.fail(HandshakeClosed(f"Borgee closed the connection {said} before it was open."))
        if final is not None:
            return self.fail(final)
        return self._lost(ConnectionLost(f"The connection to Borgee ended ({code or 'no close code'})."), now_s)

    def broken(self, generation: int, error: ProtocolError, now_s: float) -> Effects:
        """What came is not the protocol: connect anew, but not for ever."""
        if not self._is_current(generation):
            return []
        for_good = not self._malformed.allows(now_s)
        return self._lost(error, now_s, for_good=for_good, close_code=PROTOCOL_CLOSE)

    def too_big(self, generation: int) -> Effects:
        """A message over the bound came in, or started to."""
        if not self._is_current(generation):
            return []
        return self.fail(ProtocolCapacity("Borgee sent a message over the bound."), close_code=TOO_BIG_CLOSE)

    def stalled(self, generation: int, now_s: float) -> Effects:
        """Writing makes no progress."""
        if not self._is_current(generation):
            return []
        return self._lost(ConnectionLost("Writing to Borgee made no progress."), now_s, close_code=None)

    # Writing ------------------------------------------------------------------------------------------------------

    def take(self, generation: int) -> tuple[str, bytes] | None:
        """The next frame for this connection, with its key; what is taken counts as sent."""
        return self.outbox.take() if self._is_current(generation) else None

    def wrote(self, generation: int, key: str, now_s: float) -> Effects:
        """A frame has been handed to the transport."""
        if self._is_current(generation) and key == "connect" and self.agent_id:
            return self._go_up(now_s)
        return []

    def answer(self, generation: int, data: bytes, now_s: float) -> Effects:
        """Queue an answer that the server waits for; one of an older connection is dropped."""
        if not self._is_current(generation):
            return []
        if self.outbox.answer(data):
            return []
        return self._lost(ProtocolCapacity("Borgee asks faster than it reads the answers."), now_s, close_code=None)

    # Actions and reports ------------------------------------------------------------------------------------------

    def act(self, action: Action[Any], now_s: float) -> str:
        """Take an action in; its nonce names it until it is settled.

        Raises:
            BppError: it cannot go out, now or ever; it had no effect.
        """
        self._require_session()
        self.outbox.require_room()
        nonce = self._nonce()
        data = outgoing.semantic_action(action, agent_id=self.agent_id, nonce=nonce)
        self.outbox.act(nonce, action, data, now_s)
        return nonce

    def withdraw(self, nonce: str) -> None:
        """Nobody waits for this action any more; unwritten, it never goes out."""
        self.outbox.withdraw(nonce)

    def report(self, data: bytes) -> None:
        """Send a frame that nobody answers; over a loss of the connection it waits for the next one.

        Raises:
            NotOnline, ProtocolCapacity: it cannot go out.
        """
        if self.state.status is not Status.ONLINE:
            raise NotOnline()
        self.outbox.report(data)

    # Deliveries ---------------------------------------------------------------------------------------------------

    def hand_over(self, most: int = 1) -> Handed | None:
        """The next inbound events for their receiver, if it may have any now."""
        return self.waiting.hand_over(most)

    # Time ---------------------------------------------------------------------------------------------------------

    @property
    def next_wake_s(self) -> float | None:
        """When :meth:`tick` is due; it may have become earlier with each step."""
        due = [self._dial_at_s, self.outbox.next_due_s]
        if self._phase in {_Phase.DIALLING, _Phase.OPENING}:
            due.append(self._opening_by_s)
        if self._phase in {_Phase.OPENING, _Phase.UP}:
            due.append(self._silent_at_s)
        if self._phase is _Phase.UP:
            due.append(self._heartbeat_s)
        return min((moment for moment in due if moment is not None), default=None)

    def tick(self, now_s: float, now_ms: int) -> Effects:
        """Do what is due."""
        effects: Effects = []
        if self._dial_at_s is not None and self._dial_at_s <= now_s:
            self._dial_at_s = None
            effects += self._dial(now_s)
        if self._phase in {_Phase.DIALLING, _Phase.OPENING} and self._opening_by_s <= now_s:
            timeout = HandshakeTimeout(f"Borgee did not open the session within {self._limits.opening_s:g} s.")
            effects += self._lost(timeout, now_s, close_code=None)
        if self._phase in {_Phase.OPENING, _Phase.UP} and self._silent_at_s <= now_s:
            effects += self._mind_silence(now_s)
        if self._phase is _Phase.UP and self._heartbeat_s <= now_s:
            self._heartbeat_s = now_s + self._limits.heartbeat_s
            beat = outgoing.heartbeat(self._plugin_id, self.agent_id, now_ms=now_ms)
            self.outbox.opening("heartbeat", beat)
        return [*effects, *self.outbox.overdue(now_s)]

    # Inside -------------------------------------------------------------------------------------------------------

    def _is_current(self, generation: int) -> bool:
        return generation == self.generation and self._phase is not _Phase.NONE

    def _nonce(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def _enter(self, state: ConnectionState) -> Effects:
        self.state = state
        return [Changed(state)]

    @staticmethod
    def _fault(status: Status, error: BppError, attempt: int) -> ConnectionState:
        return ConnectionState(status, attempt, fault_reason(error), error.code)

    def _dial(self, now_s: float) -> Effects:
        self.generation += 1
        self._phase = _Phase.DIALLING
        self._opening_by_s = now_s + self._limits.opening_s
        return [Dial(self.generation)]

    def _go_up(self, now_s: float) -> Effects:
        self._phase = _Phase.UP
        self._online_s = now_s
        self._heartbeat_s = now_s + self._limits.heartbeat_s
        self.outbox.up(now_s)
        return self._enter(ConnectionState(Status.ONLINE))

    def _lost(
        self, error: BppError, now_s: float, *, for_good: bool = False, close_code: int | None = NORMAL_CLOSE
    ) -> Effects:
        """The connection is over, or never came about."""
        if for_good or self.state.status is Status.CONNECTING:
            return self.fail(error, close_code=close_code)
        lived_s = 0.0 if self._online_s is None else now_s - self._online_s
        effects = self._end_connection(close_code)
        effects += self.outbox.lose_written()
        pause_s = self._backoff.after(lived_s)
        self._dial_at_s = now_s + pause_s
        effects += self._enter(self._fault(Status.RECONNECTING, error, self._backoff.attempt))
        effects.append(Log(f"{error.what} Connecting again in {pause_s:.1f} s.", warning=True))
        return effects

    def _end_connection(self, close_code: int | None) -> Effects:
        """Forget the connection; what has not been written is held for the next one, if it is still of use."""
        effects: Effects = [] if self._phase is _Phase.NONE else [Hangup(self.generation, close_code)]
        self._phase = _Phase.NONE
        self._dial_at_s = None
        self._online_s = None
        self._identity_nonce = None
        self.outbox.down()
        self.waiting.connection_ended()
        return effects

    def _require_session(self) -> None:
        if self.failure is not None:
            error = copy.copy(self.failure)
            error.had_no_effect = True
            raise error
        if self.state.status not in {Status.ONLINE, Status.RECONNECTING}:
            raise NotOnline()

    def _take_in(self, event: InboundEvent, size: int) -> Effects:
        try:
            self.waiting.add(event, size)
        except ProtocolCapacity as error:
            self.waiting.stop()  # one that came later must not stand in for the one that had no room
            return self.fail(error, close_code=TOO_BIG_CLOSE)
        return []

    def _answered(self, frame: ActionResult | Denial, now_s: float) -> Effects:
        if frame.nonce == self._identity_nonce:
            return self._identified(frame, now_s)
        action = self.outbox.pop(frame.nonce)
        if action is None:
            return []  # withdrawn, timed out, or not ours
        if isinstance(frame, Denial):
            return [Settle(frame.nonce, error=PermissionDenied(frame.action, frame.capability, frame.scope))]
        if frame.error is not None:
            return [Settle(frame.nonce, error=ActionRefused(action.name, frame.error))]
        try:
            return [Settle(frame.nonce, action.read(frame.value))]
        except ProtocolError as error:
            return [Settle(frame.nonce, error=error)]

    def _identified(self, frame: ActionResult | Denial, now_s: float) -> Effects:
        self._identity_nonce = None
        if isinstance(frame, Denial) or frame.error is not None:
            said = frame.capability if isinstance(frame, Denial) else frame.error
            return self.fail(HandshakeFailed(f"Borgee does not say who this key belongs to: {said}"))
        try:
            self.identity = User.read(frame.value)
        except ProtocolError as error:
            return self.fail(IdentityInvalid(error.what))
        self.agent_id = self.identity.user_id
        return self._go_up(now_s)

    @property
    def _silent_at_s(self) -> float:
        """When silence has to be minded: asked about, or taken for the end."""
        if self._probed_s is None:
            return self._heard_s + self._limits.quiet_s
        return self._probed_s + self._limits.dead_s

    def _mind_silence(self, now_s: float) -> Effects:
        if self._probed_s is None:
            self._probed_s = now_s
            return [Probe(self.generation)]
        silent_s = now_s - self._heard_s
        lost = ConnectionLost(f"Borgee was silent for {silent_s:.0f} s and did not answer a ping.")
        return self._lost(lost, now_s, close_code=None)
