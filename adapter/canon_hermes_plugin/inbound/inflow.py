"""From stream frames to the host: what an event means, in the order of its conversation, and when it counts as done.

The stream's reader decides at once what an event is (:mod:`~canon_hermes_plugin.inbound.gate` does, purely); what takes
time, a lookup and the hand-over, waits in a lane of its conversation, so that one conversation cannot hold up another
or the reader. Every message is recorded in the inbox first, in the order in which it came, and the cursor on the disk
moves with the record; the host gets it only then.

The reader waits for nothing but the disk: a person's stop may be the very next event, and comes through however many
messages wait for whatever (D25). So does a stop that is typed: where something runs, it passes the lane of its
conversation, in which others may wait for their files (arriving.py, docs/decisions/0065), and one with files of its own
has stopped before they are fetched (0072). Of what waits in a lane only
so much is held in memory; the rest is read from the inbox when its turn comes.

In this process an event is done when the host has the message. When the hand-over fails, the stream is asked for a
replay; a message that fails again and again is given up with an error in the log, because one bad message must not make
the agent deaf. What an earlier process left is handed over from the inbox, at the head of its conversation.

How a message reaches the host is the business of handing.py; what is our own, of own_offers.py.

Source: Canon adapter R2.13, R2.14; decisions X1-X4; defects D21, D25, D56.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final

from canon_hermes_plugin.inbound import gate as inbound
from canon_hermes_plugin.inbound import rooms
from canon_hermes_plugin.inbound.arriving import Arriving, InWork
from canon_hermes_plugin.inbound.corrections import Correction
from canon_hermes_plugin.inbound.cursor import Cursor, Ticket
from canon_hermes_plugin.inbound.gate import Request, Suppress, Wake
from canon_hermes_plugin.inbound.handing import Handing
from canon_hermes_plugin.inbound.own_messages import is_own
from canon_hermes_plugin.inbound.own_offers import OwnOffers
from canon_hermes_plugin.inbound.rooms import Rooms
from canon_hermes_plugin.inbox.adoption import Adoption
from canon_hermes_plugin.inbox.cursors import GapKind
from canon_hermes_plugin.inbox.items import Item, Settlement
from canon_hermes_plugin.inbox.keeper import Inbox, Remains
from canon_hermes_plugin.inbox.recovery import Remedy, remedy_for
from canon_hermes_plugin.inbox.store import Receipt
from canon_hermes_plugin.lanes import Job, Lanes
from canon_ops.durable import DurableError
from canon_ops.wire.agents import AgentIdentity
from canon_ops.wire.events import (
    AgentContext,
    ConversationUpdated,
    MessageDeleted,
    MessageEdited,
    ReplayExpired,
    SignalWaiting,
    StreamEvent,
    StreamTrouble,
    parse_event,
)
from canon_ops.wire.messages import MessageCreated
from canon_ops.wire.sse import Frame

__all__ = ["Inflow"]

logger = logging.getLogger(__name__)

UNWRITTEN: Final = 256  # ours: messages that the disk has not taken yet; beyond that the reader waits for it
HELD: Final = 256  # ours: messages in memory that wait for their hand-over; what is beyond waits on the disk
ATTEMPTS: Final = 3
FAILURES_REMEMBERED: Final = 256


class Inflow:
    """The inbound side of one connection.

    Args:
        handing: the way of a message to the host, and what is known of the rooms.
        control: takes a signal of a conversation.
        replay: asks for everything after the cursor once more.
        inbox: where messages are recorded.
        remains: what the last gateway left in it.
        missed: told that a stretch of the stream was missed.
        given_up: tells a conversation that a message of it was given up.
        answered: told that a person has answered an approval; whose, it finds out.
        unheard: told that answers may have passed while nobody listened, now that somebody does.
        permitted: told that the agent may do something else than before.
    """

    def __init__(
        self,
        handing: Handing,
        *,
        control: Callable[[str], Awaitable[None]],
        replay: Callable[[], None],
        inbox: Inbox,
        remains: Remains,
        missed: Callable[[], None],
        given_up: Callable[[str], Awaitable[None]],
        answered: Callable[[str], Awaitable[None]],
        unheard: Callable[[], None],
        permitted: Callable[[], None],
    ) -> None:
        self._control = control
        self._replay = replay
        self._inbox = inbox
        self._missed = missed
        self._given_up = given_up
        self._answered = answered
        self._unheard = unheard
        self._permitted = permitted
        self._opens_blind = False
        self._cursor = Cursor(remains.cursor)
        self._is_first = remains.is_first
        self._failures: OrderedDict[str, int] = OrderedDict()
        self._unwritten = asyncio.Semaphore(UNWRITTEN)
        self._held = 0
        self._lanes = Lanes(lambda error: logger.error("Canon: an event could not be handled", exc_info=error))
        self._handing = handing
        self._arriving = Arriving()
        self.own = OwnOffers(handing, inbox, self._lanes, give_up=self._end_and_tell)

    @property
    def identity(self) -> AgentIdentity:
        """Who we are, as Canon said last."""
        return self._handing.identity

    @property
    def rooms(self) -> Rooms:
        """What is known of the conversations."""
        return self._handing.state.rooms

    @property
    def cursor(self) -> str | None:
        """The last event that is done together with everything before it."""
        return self._cursor.position

    @property
    def in_work(self) -> int:
        """How many events have come and are not done."""
        return len(self._cursor.running)

    def not_with_host(self) -> frozenset[str]:
        """Of what no idle session says that it is done.

        It is on its way to the host, though an earlier gateway may have handed it over; or it is ours, and watched.
        """
        return self._arriving.items | self.own.open

    def resume_from(self) -> str | None:
        """The cursor, for a connection that is about to be opened."""
        self._cursor.rewind()
        position = self._cursor.position
        self._inbox.opens_at(position)
        self._opens_blind = position is None
        if position is None and not self._is_first:
            logger.warning("Canon: the stream ended before its first event; what was said meanwhile is not replayed")
            self._note_gap(GapKind.NO_CURSOR)
        elif position is None:
            self._inbox.missed(GapKind.FIRST)
        self._is_first = False
        return position

    def recover(self, items: tuple[Item, ...], adoption: Adoption) -> None:
        """Take over what an earlier process left, in the order in which it had come; called before the stream opens."""
        for item in items:
            if is_own(item.payload):
                self.own.recover(item, adoption)
                continue
            created = MessageCreated.parse(item.payload)
            verdict = self._handing.admit(created).verdict if created is not None else None
            if isinstance(verdict, Wake):
                self._line_up(verdict, item.item_id, partial(self._again, item, verdict, adoption), is_held=True)
            else:
                logger.info("Canon: message %s, left from before, may start no turn any more", item.item_id)
                self._inbox.settle(item.item_id, Settlement.DROPPED)

    async def adopted(self, item: Item) -> Request | None:
        """What a run of the host that nobody asked for is about: the message whose run died."""
        wake = self.own.adopted(item) if is_own(item.payload) else self._handing.wake_of(item.payload)
        if wake is None:
            if not is_own(item.payload):
                self._inbox.settle(item.item_id, Settlement.DROPPED)
            return None
        request = await self._handing.request(wake, item)
        self._inbox.handed(item.item_id, item.conversation_id, session=item.session, background=request.background)
        return request

    async def refresh_rooms(self) -> None:
        """Ask Canon for the conversations again.

        Raises:
            CanonOpsError: it could not be asked.
        """
        await self._handing.refresh_rooms()

    async def take(self, frame: Frame) -> None:
        """Handle a frame of the stream; waits only while the disk has too much to write.

        Raises:
            CanonOpsError: the rooms could not be refreshed after a gap; the cursor has moved already.
        """
        if self._opens_blind:  # with its first frame the stream stands, and from there on nothing is missed
            self._opens_blind = False
            self._unheard()
        event = parse_event(frame)
        if isinstance(event, ReplayExpired):
            await self._after_gap(event)
            return
        admitted = self._cursor.admit(frame.id)
        if admitted.is_running:
            return
        if isinstance(event, MessageCreated):
            await self._message(event, admitted.ticket, frame.id)
            return
        self._state_event(event)
        self._inbox.passed(frame.id)
        self._done(admitted.ticket)

    async def drain(self) -> None:
        """Return once everything taken has been handed over."""
        await self._lanes.drain()

    async def stop(self) -> None:
        """Drop what has not been handed over; the cursor has not passed it."""
        await self._lanes.stop()

    async def _after_gap(self, event: ReplayExpired) -> None:
        """Canon no longer holds what came after our cursor. Source: R2.13."""
        logger.warning("Canon cannot replay from %s; going on from %s", self._cursor.position, event.cursor or "now")
        before = self._cursor.position
        self._cursor.jump(event.cursor)
        self._note_gap(GapKind.EXPIRED, before, event.cursor)
        self._unheard()
        await self.refresh_rooms()

    def _note_gap(self, kind: GapKind, from_event: str | None = None, to_event: str | None = None) -> None:
        self._inbox.missed(kind, from_event=from_event, to_event=to_event)
        self._missed()

    def _state_event(self, event: StreamEvent | None) -> None:
        match event:
            case StreamTrouble(code=code, message=message):
                logger.warning("Canon stream says: %s (%s)", message, code)
            case AgentContext(identity=identity):
                before, self._handing.identity = self.identity, _merged(self.identity, identity)
                if before.outbound_policy != self.identity.outbound_policy:
                    self._permitted()
            case ConversationUpdated(conversation_id=conversation_id, changes=changes):
                known = rooms.changed(self.rooms, conversation_id, changes)
                self._handing.state = replace(self._handing.state, rooms=known)
            case MessageEdited(message_id=message_id, text=text):
                self._handing.correct(message_id, Correction(text))
            case MessageDeleted(message_id=message_id):
                self._handing.correct(message_id, Correction(None))
            case SignalWaiting(conversation_id=conversation_id):
                self._lanes.add(("control", conversation_id), partial(self._control, conversation_id))

    async def _message(self, created: MessageCreated, ticket: Ticket, event_id: str | None) -> None:
        # The registry knows which approvals are ours; it lies on the disk, so it is asked in a lane.
        admission = self._handing.admit(created, is_our_approval=lambda _: True)
        match admission.verdict:
            case Wake() as wake:
                await self._unwritten.acquire()
                message_id = wake.created.message.id
                item_id = message_id or f"unnamed:{secrets.token_hex(16)}"
                recorded = self._inbox.record(item_id, wake.conversation_id, created.payload, event_id=event_id)
                recorded.add_done_callback(lambda _done: self._unwritten.release())
                held = wake if self._held < HELD else None
                self._held += held is not None
                stop = self._handing.stop_of(wake)
                has_stopped = stop is not None and self._handing.stops_at_once(stop)
                if stop is not None and stop.drops:
                    self._drop(wake.conversation_id, partial(self._handing.is_stopped, stop))
                job = partial(self._wake, held, message_id, ticket, item_id, recorded, has_stopped=has_stopped)
                if stop is None or has_stopped:
                    self._line_up(wake, item_id, job, is_held=held is not None)
                else:
                    self._lanes.add(("stop", wake.conversation_id), job)
                return
            case inbound.Receipt(approval_id=approval_id):
                # Should it be lost with this process: the next one asks Canon about every approval that is open. One
                # that waits hears of all that has come by then.
                if not self._lanes.backlog(("approval", approval_id)):
                    self._lanes.add(("approval", approval_id), partial(self._answered, approval_id))
                self._inbox.passed(event_id)
            case Suppress(conversation_id=conversation_id, reason=reason):
                logger.info("Canon: a message in %s starts no turn: %s", conversation_id, reason)
                kept = self._handing.state.suppressed.entries.get(conversation_id, ())
                self._inbox.keep_background(conversation_id, kept, event_id=event_id)
            case verdict:
                logger.debug("Canon: message dropped: %s", verdict)
                self._inbox.passed(event_id)
        self._done(ticket)

    def drop_arriving(self, conversation_id: str) -> None:
        """A person has cleared the queue of a conversation: nothing that is on its way will run. Source: R5.31."""
        self._drop(conversation_id, lambda _: True)

    def _drop(self, conversation_id: str, concerns: Callable[[str | None], bool]) -> None:
        for one in self._arriving.of(conversation_id):
            if not concerns(one.author):
                continue
            logger.info("Canon: message %s is dropped before its turn, as a person asked", one.item_id)
            if one.is_held and one.message_id is not None:
                self._handing.correct(one.message_id, Correction(None))
            else:  # it is looked up on the disk before it is handed over
                self._inbox.correct(one.item_id, None)

    def _line_up(self, wake: Wake, item_id: str, job: Job, *, is_held: bool) -> None:
        message, conversation_id = wake.created.message, wake.conversation_id
        self._arriving.came(conversation_id, InWork(item_id, message.id, message.responder_id, is_held))

        async def arrive() -> None:
            try:
                await job()
            finally:
                self._arriving.left(conversation_id, item_id)

        self._lanes.add(conversation_id, arrive)

    async def _wake(
        self,
        held: Wake | None,
        message_id: str | None,
        ticket: Ticket,
        item_id: str,
        recorded: asyncio.Future[Receipt],
        *,
        has_stopped: bool,
    ) -> None:
        try:
            if await recorded is not Receipt.KNOWN:
                wake = held or await self._from_disk(item_id)
                if wake is not None:
                    await self._handing.hand(wake, item_id, has_stopped=has_stopped)
        except DurableError as error:
            # Canon has the message, and we have nowhere to put it: it must come again, as often as it takes.
            logger.error("Canon: message %s could not be recorded: %s", item_id, error.what)
            self._release(message_id, ticket)
            return
        except Exception:
            # The outermost edge of a hand-over. The message must come again, unless it is the message that is bad.
            logger.exception("Canon: message %s could not be handed to Hermes", item_id)
            if not self._is_given_up(message_id):
                self._release(message_id, ticket)
                return
            self._give_up(item_id, ATTEMPTS)
        finally:
            self._held -= held is not None
        self._handing.state.seen.settle(message_id)
        self._done(ticket)

    async def _from_disk(self, item_id: str) -> Wake | None:
        """A message that was not held, as it is by now; None when it was taken back, or may start no turn any more."""
        payload = await self._inbox.payload_of(item_id)
        wake = self._handing.wake_of(payload) if payload is not None else None
        if wake is None:
            self._inbox.settle(item_id, Settlement.DROPPED)
        return wake

    async def _again(self, item: Item, wake: Wake, adoption: Adoption) -> None:
        """Hand over what an earlier process left, once it is ours to hand over."""
        remedy = remedy_for(item)
        if remedy is Remedy.HAND_OVER or (remedy is Remedy.AWAIT_ADOPTION and await adoption.is_ours(item.item_id)):
            await self._insist(item.item_id, wake, item)
        elif remedy is Remedy.GIVE_UP:
            await self._end_and_tell(item)
        self._handing.state.seen.settle(wake.created.message.id)

    async def _insist(self, item_id: str, wake: Wake, item: Item | None = None) -> None:
        for _ in range(ATTEMPTS):
            try:
                await self._handing.hand(wake, item_id, item)
            except Exception:  # as in _wake; Canon will not bring this one again
                logger.exception("Canon: message %s could not be handed to Hermes", item_id)
            else:
                return
        self._give_up(item_id, ATTEMPTS)

    def _release(self, message_id: str | None, ticket: Ticket) -> None:
        self._handing.state.seen.release(message_id)
        self._cursor.failed(ticket)
        self._replay()

    def _give_up(self, item_id: str, attempts: int) -> None:
        logger.error("Canon: message %s is given up after %d attempts", item_id, attempts)
        self._inbox.settle(item_id, Settlement.GIVEN_UP)

    async def _end_and_tell(self, item: Item) -> None:
        self._give_up(item.item_id, item.runs)
        await self._given_up(item.conversation_id)

    def _is_given_up(self, message_id: str | None) -> bool:
        key = message_id or ""
        count = self._failures.pop(key, 0) + 1
        self._failures[key] = count
        if len(self._failures) > FAILURES_REMEMBERED:
            self._failures.popitem(last=False)
        return count >= ATTEMPTS

    def _done(self, ticket: Ticket) -> None:
        self._cursor.handled(ticket)


def _merged(known: AgentIdentity, said: AgentIdentity) -> AgentIdentity:
    """The policy is whatever ``agent.context`` says now; the rest stays where it says nothing. Source: R2.13, D56."""
    return AgentIdentity(
        agent_id=said.agent_id or known.agent_id,
        owner_id=said.owner_id or known.owner_id,
        outbound_policy=said.outbound_policy,
        display_name=said.display_name or known.display_name,
        raw=said.raw,
    )
