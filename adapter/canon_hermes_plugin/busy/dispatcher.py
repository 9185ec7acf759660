"""What happens to the messages of busy sessions, on the host's objects.

The host asks :meth:`BusySessions.dispatch` about each message that comes while its session runs. The table in
intents.py decides; here the deed is done on the host's queue and agent, and the turns are told. Between the look at an
agent and the deed on it nothing is awaited, so the two cannot drift apart; a silence is decided on the same loop, so
none can fall between words that are put into a turn and the turn hearing of it (D11).

Source: Canon adapter R5.1-R5.22; D10, D11, D12, D60, D64.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, Protocol

from canon_hermes_plugin.busy import dequeue
from canon_hermes_plugin.busy.early import EarlyStops
from canon_hermes_plugin.busy.intents import Busy, Deed, deed_of, steering_words
from canon_hermes_plugin.busy.steering import Steered, Steering, late_ones
from canon_hermes_plugin.hosting.queue import HostQueue, carry
from canon_hermes_plugin.hosting.runner import HostRunner
from canon_hermes_plugin.interactions.typed import as_command
from canon_hermes_plugin.ports import Arrival
from canon_ops.wire.messages import DeliveryIntent

__all__ = ["BusyListener", "BusySessions", "Handler"]

logger = logging.getLogger(__name__)

Handler = Callable[[Any, str], Awaitable[bool]]

SESSION_ENDS: Final = frozenset({"new", "reset"})  # the host's commands after which nothing of the session runs


class BusyListener(Protocol):
    """Who is told; called on the loop, and nothing of it waits."""

    def author_of(self, session_key: str) -> str | None:
        """The person whose turn runs in the session; None when nobody's does."""
        ...

    def steered(self, session_key: str, arrival: Arrival, number: int) -> None:
        """Words of a message are in the running turn."""
        ...

    def unsteered(self, arrival: Arrival) -> None:
        """They were taken back unread, and the message waits."""
        ...

    def command_steers(self, session_key: str) -> None:
        """Words of a command are in the running turn, or will be."""
        ...

    def unread_steering(self, session_key: str) -> Collection[int]:
        """The numbers of those that its model has not read."""
        ...

    def is_interrupted(self, session_key: str) -> bool:
        """Whether we have stopped the running turn."""
        ...

    def interrupting(self, session_key: str) -> None:
        """The running turn is stopped."""
        ...

    def accepted(self, arrival: Arrival) -> None:
        """The host consumes a message."""
        ...

    def dropped(self, arrivals: tuple[Arrival, ...]) -> None:
        """Messages that waited will not run."""
        ...

    def follow_up_announced(self, session_key: str, arrival: Arrival) -> None:
        """The host answers a message next, in the run that goes on."""
        ...


class BusySessions:
    """The busy sessions of one adapter.

    Args:
        arrival_of: what the runtime must know of a host's event.
        has_blocking_approval: whether the host waits for an approval in a session.
        is_asking: whether it waits for the answer to a question there.
        session_of: the session of a host's event.
    """

    def __init__(
        self,
        adapter: Any,
        queue: HostQueue,
        listener: BusyListener,
        *,
        arrival_of: Callable[[Any], Arrival],
        has_blocking_approval: Callable[[str], bool],
        is_asking: Callable[[str], bool],
        session_of: Callable[[Any], str],
    ) -> None:
        self._adapter = adapter
        self._queue = queue
        self._listener = listener
        self._arrival_of = arrival_of
        self._has_blocking_approval = has_blocking_approval
        self._is_asking = is_asking
        self._session_of = session_of
        self._on_the_way: dict[int, bool] = {}  # events that are being handed over: whether the host asked us about one
        self._delegate: Handler | None = None
        self._host = HostRunner(None)
        self._can_route = False
        self._has_seam = False
        self._ending: list[str] = []  # sessions to which a command that ends them is on its way
        self._steering = Steering()
        self._early = EarlyStops(self._is_made, self._interrupt_made)
        self._serving: set[str] = set()  # sessions of which the host gets one that waited with us
        self._taken: dict[str, Any] = {}  # what the host took last to answer it next, until that has begun
        self._last = 0  # the number of the newest words; they are in their agent before it says so

    # --- wiring ---------------------------------------------------------------------------------------------------

    def wire(self, handler: Handler | None) -> Handler | None:
        """The host hands its own handler over, or None; what to install in its place. Source: R5.1, R5.2, R5.21."""
        dequeue.uninstall(self._host.object, self._adapter)
        self._early.forget_all()
        self._delegate = handler
        self._host = HostRunner(None)
        self._can_route = self._has_seam = False
        if handler is None:
            return None
        runner = getattr(handler, "__self__", None) or getattr(self._adapter, "gateway_runner", None)
        self._host = HostRunner(runner)
        lacks = self._host.lacks
        self._can_route = not lacks
        self._has_seam = dequeue.install(runner, self._adapter, self._dequeued)
        if not self._has_seam:
            lacks = (*lacks, dequeue.METHOD)
        if lacks:
            logger.warning(
                "Canon: this Hermes lacks %s; %s. Fix: canon-ops doctor --only host.contract",
                ", ".join(lacks),
                "a message's own intent is honoured all the same"
                if self._can_route
                else "it decides itself what a message does to a running turn",
            )
        return self.dispatch

    @property
    def can_route(self) -> bool:
        """Whether a message's own intent is honoured, and words can be put into a running turn."""
        return self._delegate is not None and self._can_route

    @property
    def has_seam(self) -> bool:
        """Whether we hear of each message that the host takes from its queue."""
        return self._has_seam

    # --- messages -------------------------------------------------------------------------------------------------

    async def hand_over(self, event: Any, session_key: str) -> None:
        """Give an event to the host; what it consumes without a turn is known only here. Source: R5.19, R8.7."""
        is_lined_up = session_key in self._queue.lines or session_key in self._serving
        if is_lined_up and not self._queue.is_busy(session_key) and not event.is_command():
            self._queue.line_up(session_key, event)  # what came before it has not begun
            await self.serve()
            return
        steers = event.get_command() == "steer" and bool(event.get_command_args().strip())
        steers = steers and self._host.agent(session_key) is not None
        has_no_turn = self._queue.is_busy(session_key) and (event.is_command() or self._is_asking(session_key))
        if steers:
            self._listener.command_steers(session_key)
        self._on_the_way[id(event)] = False
        ends_session = event.get_command() in SESSION_ENDS
        self._ending += [session_key] * ends_session
        try:
            await self._adapter.handle_message(event)
        finally:
            came_to_us = self._on_the_way.pop(id(event))
            if ends_session:
                self._ending.remove(session_key)
        if steers:  # a silence may have been chosen while the command was on its way
            self._listener.command_steers(session_key)
        arrival = self._arrival_of(event)
        if has_no_turn and not came_to_us and not self._queue.holds(arrival.message_id or ""):
            self._listener.accepted(arrival)

    async def dispatch(self, event: Any, session_key: str) -> bool:
        """Decide about a message of a busy session; False leaves it to the host's default. Source: R5.3-R5.8."""
        self.came_to_us(event)
        delegate = self._delegate
        if delegate is None:
            return False
        busy = self._looked_at(event, session_key)
        deed, arrival = deed_of(busy), self._arrival_of(event)
        if deed is Deed.LEAVE:
            if not busy.answers_approval:
                return await delegate(event, session_key)
            handled = await self._decide(_words_of(event), session_key, delegate)
            if handled and busy.has_media:
                self._wait(event, session_key)  # the words are the decision, the files get their own turn
            elif handled:
                self._listener.accepted(arrival)  # it has no turn that would say so, D64
            return handled
        if deed is Deed.INTERRUPT and await self._is_protected(session_key):
            deed = Deed.QUEUE
        if not self._queue.is_busy(session_key):  # its run has ended while we asked
            await self._adapter.handle_message(event)
            return True
        match deed:
            case Deed.STEER:
                if self._steer(event, session_key):
                    return True
            case Deed.STOP:
                self.drop(session_key)
        self._wait(event, session_key)
        if deed in (Deed.INTERRUPT, Deed.STOP):
            self._feed(session_key)  # a host without a next message would make one of the words that interrupt it
            self._interrupt(event.text, session_key, spares=deed is Deed.INTERRUPT)
        return True

    async def _decide(self, words: Any, session_key: str, delegate: Handler) -> bool:
        """Let the host hear a decision about a command, as a command where it does not know the word."""
        if self._host.takes_word(words.text):
            return await delegate(words, session_key)
        words.text = as_command(words.text)
        await self._adapter.handle_message(words)
        return True

    def stop_now(self, event: Any, session_key: str) -> bool:
        """Stop what runs in a session, and drop what waits there, before the message that does so can be handed over.

        Returns:
            False when that cannot be, or is not for the message to decide: whoever holds it hands it over as it is.
        """
        if self._delegate is None or not self._queue.is_busy(session_key) or self._is_asking(session_key):
            return False
        busy = self._looked_at(event, session_key)
        if not busy.is_live or deed_of(busy) is not Deed.STOP:
            return False
        self.drop(session_key)
        self._interrupt(None, session_key)
        return True

    def wait(self, event: Any, session_key: str) -> None:
        """Let a message wait for the session's turn to end, whatever it asks for."""
        self.came_to_us(event)
        self._wait(event, session_key)

    def came_to_us(self, event: Any) -> None:
        """What becomes of an event that is being handed over is known; the host has not consumed it in passing."""
        if id(event) in self._on_the_way:
            self._on_the_way[id(event)] = True

    async def keep_apart(self, event: Any, session_key: str) -> bool:
        """Treat a message as one of a busy session, past what the host would take it for.

        Returns:
            False when it cannot wait: nothing runs in the session, or this host lets nothing wait.
        """
        if not self._can_route or not self._queue.is_busy(session_key):
            return False
        if not await self.dispatch(event, session_key):
            self._wait(event, session_key)
        return True

    def _looked_at(self, event: Any, session_key: str) -> Busy:
        agent = self._host.agent(session_key)
        can_route = self._can_route
        intent = getattr(event, "delivery_intent", None)
        return Busy(
            event.text or "",
            intent=DeliveryIntent(intent) if intent else None,
            can_route=can_route,
            is_internal=bool(getattr(event, "internal", False)),
            is_command=event.message_type.value == "command" or bool(event.is_command()),
            is_draining=self._host.is_draining,
            is_authorized=can_route and self._host.is_authorized(event.source),
            has_blocking_approval=self._has_blocking_approval(session_key),
            is_live=agent is not None,
            can_steer=callable(getattr(agent, "steer", None)),
            has_media=bool(event.media_urls) or self._arrival_of(event).has_attachments,
        )

    async def _is_protected(self, session_key: str) -> bool:
        agent = self._host.agent(session_key)
        return agent is not None and await self._host.is_protected(session_key, agent)

    def _steer(self, event: Any, session_key: str) -> bool:
        """Put a message's words into the running turn, with what belongs to it (D12); False when it would not."""
        agent, arrival = self._host.agent(session_key), self._arrival_of(event)
        author = self._listener.author_of(session_key)
        is_others = event.source.user_id is not None and event.source.user_id != author
        speaker = event.source.user_name if is_others else None
        words = steering_words(event.text, context=event.channel_context, speaker=speaker)
        try:
            if not agent.steer(words):
                return False
        except Exception:  # the host's own code: the message waits instead
            logger.warning("Canon: Hermes could not put a message into the running turn", exc_info=True)
            return False
        self._last += 1
        self._steering.put(session_key, Steered(self._last, words, event, agent))
        self._listener.steered(session_key, arrival, self._last)
        self._listener.accepted(arrival)
        return True

    def _wait(self, event: Any, session_key: str) -> None:
        """Queue a message; one that the host merges into another travels with it. Source: R5.15, D60."""
        if not self._queue.has_room(session_key, event):
            self._queue.line_up(session_key, event)
            return
        self._host.queue(session_key, event)
        self._queue.keep_next_only(session_key, event)
        head = self._queue.swallower(session_key, event)
        if head is not None:
            if not carry(head, self._arrival_of(event)):
                logger.debug("Canon: the host's event takes no notes; a merged message is not acknowledged")
        elif not self._queue.has(session_key, event):  # the host does not count us among its platforms yet
            self._queue.line_up(session_key, event)

    def _feed(self, session_key: str) -> None:
        """The host gets the next message that waits with us, if it has none."""
        if (event := self._queue.next_in_line(session_key)) is not None:
            self._host.queue(session_key, event)
            if not self._queue.has(session_key, event):
                self._queue.put_first(session_key, event)

    async def serve(self) -> None:
        """What waits with us for a session in which nothing runs begins; called from time to time."""
        for session_key in self._queue.lines:
            if self._queue.is_busy(session_key) or self._host.is_draining or session_key in self._serving:
                continue
            if (event := self._queue.next_in_line(session_key)) is not None:
                if event.is_command():
                    self._queue.begun(event)  # not every command is a run
                self._serving.add(session_key)  # the host may look around first; what comes meanwhile is later
                try:
                    await self._adapter.handle_message(event)
                finally:
                    self._serving.discard(session_key)

    def stopping(self, session_key: str) -> None:
        """The host ends the run of a session for a command, and throws away what it would answer next.

        What waits goes on waiting; only the end of the session itself takes it along.
        """
        if session_key in self._ending:
            self.drop(session_key)
        else:
            self._queue.take_back(session_key)
        self._early.forget(session_key)

    def _interrupt(self, text: str | None, session_key: str, *, spares: bool = False) -> None:
        agent = self._host.agent(session_key)
        if agent is None:
            self._early.add(session_key, text, spares=spares)
            return
        self._listener.interrupting(session_key)
        try:
            agent.interrupt(text)
        except Exception:  # the host's own code; the message waits all the same
            logger.warning("Canon: Hermes could not interrupt session %s", session_key, exc_info=True)

    def _is_made(self, session_key: str) -> bool | None:
        return self._host.agent(session_key) is not None if self._queue.is_busy(session_key) else None

    async def _interrupt_made(self, session_key: str, text: str | None, spares: bool) -> None:
        if spares and await self._is_protected(session_key):
            return
        if self._is_made(session_key):  # still, after the host was asked
            self._interrupt(text, session_key)

    def drop(self, session_key: str) -> None:
        """Nothing that waits in the session will run. Source: R5.10."""
        self._taken.pop(session_key, None)
        events = [*self._queue.drop(session_key), *(one.event for one in self._take_back(session_key))]
        self._listener.dropped(tuple(self._arrival_of(event) for event in events))

    # --- words in a running turn ----------------------------------------------------------------------------------

    def has_unread(self, session_key: str) -> bool:
        """Whether words wait in the session's agent; called from any thread."""
        return bool(_waiting_words(self._host.agent(session_key)))

    def read_up_to(self, session_key: str) -> int:
        """The number of the newest words that a request which ends now has brought to the session's model.

        Called from any thread; the order is the point, since words are in their agent before they have their number.
        """
        newest = self._last
        return 0 if self.has_unread(session_key) else newest

    def run_ended(self, session_key: str, unread: Collection[int], *, is_stopped: bool) -> None:
        """A run is over. What its model has not read waits like any other message, unless a person stopped all.

        Called before the host looks into its queue for the last time.
        """
        self._early.forget(session_key)
        taken = self._taken_back(self._steering.take(session_key, unread))
        if not is_stopped:
            self._requeue(session_key, taken)
        self._look_after(session_key)
        if not self._host.is_draining:
            self._feed(session_key)

    def begins(self, event: Any) -> None:
        """The host begins a run with an event."""
        self._queue.begun(event)

    def _look_after(self, session_key: str) -> None:
        """What the host had let wait and has lost waits with us, in front: nothing else would bring it again."""
        if not self._host.is_draining and not self._host.is_restoring and session_key not in self._serving:
            lost = self._queue.lost(
                session_key,
                taken=self._taken.get(session_key),
                is_under_way=lambda event: id(event) in self._on_the_way,
            )
            for event in reversed(lost):
                message_id = self._arrival_of(event).message_id
                logger.warning("Canon: Hermes lost message %s, which waited; it is handed over again", message_id)
                self._queue.put_first(session_key, event)
        self._queue.look(self._session_of)

    def _dequeued(self, session_key: str, event: Any) -> None:
        if self._host.is_draining:  # the host throws it away; the next gateway has it from the inbox
            return
        steered = self._steering.take(session_key, self._listener.unread_steering(session_key))
        if event is not None:
            self._early.forget(session_key)
            self._requeue(session_key, self._taken_back(steered))
            self.announce(session_key, event)
            self._listener.accepted(self._arrival_of(event))
        elif steered and not self._listener.is_interrupted(session_key):
            late = late_ones(steered, _waiting_words(steered[-1].agent))
            answered, rest = steered[: len(steered) - late], steered[len(steered) - late :]
            if answered:
                self.announce(session_key, answered[-1].event)
            self._requeue(session_key, self._taken_back(rest))

    def announce(self, session_key: str, event: Any) -> None:
        """The host has taken an event to answer it next, in the run that goes on."""
        arrival = self._arrival_of(event)
        self._listener.follow_up_announced(session_key, arrival)
        if (before := self._taken.pop(session_key, None)) is not None:
            self._queue.begun(before)  # the host is further, and nobody has said that it waits
        if arrival.item_ids:
            self._taken[session_key] = event
        else:
            self._queue.begun(event)  # nobody says whether it begins

    def follow_up_over(self, session_key: str, *, has_begun: bool) -> bool:
        """What was announced has begun, or never will: the host was stopped before, and has nothing of it any more.

        Returns:
            Whether it waits; what was dropped, or belongs to a session that ends, does not.
        """
        event = self._taken.pop(session_key, None)
        if event is not None and has_begun:
            self._queue.begun(event)
        if event is None or has_begun or session_key in self._ending:
            return False
        if not self._queue.holds(self._arrival_of(event).message_id or ""):
            self._queue.put_first(session_key, event)
        return True

    def _take_back(self, session_key: str) -> tuple[Steered, ...]:
        unread = self._listener.unread_steering(session_key)
        return self._taken_back(self._steering.take(session_key, unread))

    @staticmethod
    def _taken_back(steered: tuple[Steered, ...]) -> tuple[Steered, ...]:
        for one in steered:
            drain = getattr(one.agent, "_drain_pending_steer", None)
            if callable(drain):
                drain()
        return steered

    def _requeue(self, session_key: str, steered: tuple[Steered, ...]) -> None:
        for one in steered:
            self._listener.unsteered(self._arrival_of(one.event))
            self._wait(one.event, session_key)


def _words_of(event: Any) -> Any:
    """An event without its files; the host changes the text of what decides about a command."""
    words = copy.copy(event)
    words.media_urls, words.media_types = [], []
    return words


def _waiting_words(agent: Any) -> str | None:
    words = getattr(agent, "_pending_steer", None)
    return words if isinstance(words, str) else None
