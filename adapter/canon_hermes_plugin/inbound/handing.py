"""The way of a message to the host: what is known of the rooms, of who said what, and of corrections on the way.

Whoever has a message for the host hands it over here: the stream (inflow.py) and we ourselves (own_offers.py). What the
host gets is built in the last moment before: the room is looked up if nobody has described it, the files are fetched,
the author's corrections are put in, the background that was said before goes with it and comes back when the host does
not take it.

A message whose room nobody has described waits until Canon has been asked: routed as a direct chat, a group would share
one session among its members. It holds up its own conversation only.

A host that goes down answers a new message with a notice, and that would be its answer. So nothing but commands is
handed over from then on: what waits here is on the disk, and the next gateway has it as if it had just come.

Source: Canon adapter R3.1, R3.9; defects D35, D59.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from canon_hermes_plugin import binding
from canon_hermes_plugin.inbound import corrections as corrections_
from canon_hermes_plugin.inbound import gate as inbound
from canon_hermes_plugin.inbound import rooms
from canon_hermes_plugin.inbound.corrections import Correction, Corrections
from canon_hermes_plugin.inbound.dedupe import Seen
from canon_hermes_plugin.inbound.gate import Admission, Inbound, Media, Request, Wake
from canon_hermes_plugin.inbound.inert import Neutraliser
from canon_hermes_plugin.inbound.rooms import Rooms
from canon_hermes_plugin.inbound.suppressed import Suppressed
from canon_hermes_plugin.inbox.items import Item, Settlement
from canon_hermes_plugin.inbox.keeper import Inbox, Remains
from canon_hermes_plugin.inbox.marks import noted
from canon_hermes_plugin.inbox.recovery import Remedy, remedy_for
from canon_ops.client.errors import RequestFailed
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.settings.options import UserAccess
from canon_ops.wire.agents import AgentIdentity, Conversation
from canon_ops.wire.messages import DeliveryIntent, MessageCreated, delivery_intent
from canon_ops.wire.retry import reconnect_delays

__all__ = ["Files", "Handing", "Stop"]

ANYBODY = UserAccess(True, None)
LOOK_EVERY_S: Final = 0.25
logger = logging.getLogger(__name__)


class Files(Protocol):
    """The files of messages; :class:`~canon_hermes_plugin.media.intake.Intake` is one."""

    @property
    def names_files(self) -> bool: ...
    async def take(self, wake: Wake) -> Media: ...
    def handed(self, request: Request) -> None: ...
    def let_go(self, conversation_id: str, message_id: str | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Stop:
    """What a message stops.

    Attributes:
        request: how the host is asked about the session.
        drops: whether what waits in the session is dropped.
        has_files: whether files of its own must be fetched before the host can have it.
    """

    request: Request
    session: str
    drops: bool
    has_files: bool


class Handing:
    """What one connection remembers of messages, and how it hands one over.

    Args:
        identity: who we are, as Canon said at connect; it changes with what Canon says later.
        conversations: the rooms, as Canon listed them at connect.
        access: whose messages start turns.
        fetch_rooms: asks Canon for the rooms again.
        give: gives a message to the host.
        amend: corrects a message that the host has and has not begun with.
        inbox: where messages are recorded.
        remains: what the last gateway left in it.
        session_of: the host's session of a message.
        files: gets what is attached.
        holds: whether a message waits in the host.
        is_busy: whether the host runs something in a session.
        stop_now: stops what a message stops before the host has the message; False when it cannot.
        command_of: the command of the host's own registry that a text is, by its own name.
        is_stopping: whether the gateway is on its way down.
    """

    def __init__(
        self,
        *,
        identity: AgentIdentity,
        conversations: tuple[Conversation, ...],
        access: UserAccess,
        neutralise: Neutraliser,
        fetch_rooms: Callable[[], Awaitable[tuple[Conversation, ...]]],
        give: Callable[[Request], Awaitable[None]],
        amend: Callable[[str, str | None], bool],
        inbox: Inbox,
        remains: Remains,
        session_of: Callable[[Request], str],
        files: Files,
        holds: Callable[[str], bool],
        is_busy: Callable[[str], bool],
        stop_now: Callable[[Request], bool],
        command_of: Callable[[str], str | None],
        is_stopping: Callable[[], bool],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.identity = identity
        self.holds = holds
        self.access = access
        self.state = Inbound(
            Seen(remains.known),
            rooms.listed(Rooms(), conversations),
            Suppressed(remains.background),
            names_files=files.names_files,
        )
        self._neutralise = neutralise
        self._fetch_rooms = fetch_rooms
        self._give = give
        self._amend = amend
        self._inbox = inbox
        self._session_of = session_of
        self._files = files
        self._is_busy = is_busy
        self._stop_now = stop_now
        self._command_of = command_of
        self._is_stopping = is_stopping
        self._clock = clock
        self._rng = rng
        self._corrections = Corrections()

    def admit(self, created: MessageCreated, *, is_our_approval: Callable[[str], bool] = lambda _: False) -> Admission:
        """Decide about a message of the stream, and remember it."""
        admission = self._admitted(self.state, created, is_our_approval, self.access)
        self.state = admission.state
        return admission

    def consider(self, created: MessageCreated, *, is_ours: bool = False) -> Admission:
        """Decide about a message whether it was seen or not; nothing is remembered until the state is taken over.

        Args:
            is_ours: we made it; without a sender it is no person's word, so no list of people applies to it.
        """
        access = ANYBODY if is_ours and created.message.sender_id is None else self.access
        return self._admitted(replace(self.state, seen=Seen()), created, lambda _: False, access)

    def wake_of(self, payload: Any, *, is_ours: bool = False) -> Wake | None:
        """The turn that a recorded message may start as things are."""
        created = MessageCreated.parse(payload)
        verdict = self.consider(created, is_ours=is_ours).verdict if created is not None else None
        return verdict if isinstance(verdict, Wake) else None

    def _admitted(
        self, state: Inbound, created: MessageCreated, is_our_approval: Callable[[str], bool], access: UserAccess
    ) -> Admission:
        return inbound.admit_created(
            state,
            created,
            identity=self.identity,
            access=access,
            is_our_approval=is_our_approval,
            neutralise=self._neutralise,
        )

    async def refresh_rooms(self) -> None:
        """Ask Canon for the conversations again.

        Raises:
            CanonOpsError: it could not be asked.
        """
        listed = await self._fetch_rooms()
        self.state = replace(self.state, rooms=rooms.listed(self.state.rooms, listed))

    def correct(self, message_id: str, correction: Correction) -> None:
        """A message that waits is corrected wherever it is now; one that runs, or ran, is not. Source: D59."""
        self._inbox.correct(message_id, correction.text)
        if self.state.seen.is_running(message_id):
            self._corrections = corrections_.noted(self._corrections, message_id, correction)
        elif self._amend(message_id, correction.text):
            logger.info("Canon: message %s was corrected before its turn", message_id)

    def stop_of(self, wake: Wake) -> Stop | None:
        """The running session that a message stops; None for any other, and when nothing runs there.

        Where nothing runs, a stop means what waits in front of it, and keeps its place behind that.
        """
        is_command = self._command_of(wake.text.strip()) == "stop"
        if not is_command and delivery_intent(wake.created.message.metadata) is not DeliveryIntent.STOP:
            return None
        _, request = inbound.request(self.state, wake, identity=self.identity, neutralise=self._neutralise)
        session = self._session_of(request)
        if not self._is_busy(session):
            return None
        return Stop(request, session, drops=not is_command, has_files=bool(wake.created.message.attachments))

    def stops_at_once(self, stop: Stop) -> bool:
        """Stop what a message with files of its own stops; it is a message like any other afterwards.

        False for any other message, and where only the host can stop: the message itself does it then.
        """
        return stop.drops and stop.has_files and self._stop_now(stop.request)

    def is_stopped(self, stop: Stop, author: str | None) -> bool:
        """Whether what somebody says in the conversation of a stop would wait in the session that it stops."""
        return self._session_of(replace(stop.request, user_id=author)) == stop.session

    async def hand(
        self, wake: Wake, item_id: str, item: Item | None = None, *, has_stopped: bool = False
    ) -> str | None:
        """Give a recorded message to the host and note that; one that was taken back meanwhile is settled instead.

        Args:
            item: what an earlier process left of it.
            has_stopped: what it was to stop has been stopped; what runs by now began later.

        Returns:
            The host's session of the message; None when it was settled.

        Raises:
            Exception: whatever the host raised; the background is back among what was said.
        """
        corrected, media = self._corrected(wake), Media()
        if corrected is not None:
            await self._look_up(corrected)
            media = await self._files.take(corrected)
            await self._while_stopping(corrected)
            corrected = self._corrected(corrected)  # that may have taken a while
        if corrected is None:
            self._files.let_go(wake.conversation_id, wake.created.message.id)
            self._inbox.settle(item_id, Settlement.DROPPED)
            return None
        request = self._request(corrected, media, item, item_id)
        if has_stopped:
            request = replace(request, delivery_intent=DeliveryIntent.QUEUE)
        try:
            with binding.handing(item_id):
                await self._give(request)
        except Exception:
            self.state = inbound.with_lines(self.state, request.conversation_id, request.background)
            raise
        session = self._session_of(request)
        self._inbox.handed(item_id, request.conversation_id, session=session, background=request.background)
        self._files.handed(request)
        self._correct_late(wake.created.message.id)
        return session

    async def request(self, wake: Wake, item: Item) -> Request:
        """What the host gets of a message whose run it begins by itself, in a session that it has chosen already."""
        await self._look_up(wake, insists=False)
        return self._request(wake, await self._files.take(wake), item, item.item_id)

    def _request(self, wake: Wake, media: Media, item: Item | None, item_id: str) -> Request:
        """What the host is handed; of a message whose run died it is the same turn, and marked."""
        if item is not None:
            self.state = inbound.with_lines(self.state, wake.conversation_id, item.background)
        self.state, request = inbound.request(
            self.state,
            wake,
            identity=self.identity,
            media=media,
            neutralise=self._neutralise,
            starts_turn=self._command_of(wake.text.strip()) is None,
        )
        if item is None:
            return replace(request, item_id=item_id)
        died = remedy_for(item) is Remedy.AWAIT_ADOPTION
        text = noted(request.text) if died else request.text
        return replace(request, item_id=item.item_id, turn_id=item.turn_id, is_recovered=died, text=text)

    async def _while_stopping(self, wake: Wake) -> None:
        """Wait as long as the gateway goes down: to the end of this process, unless the host thinks better of it."""
        while self._is_stopping() and self._command_of(wake.text.strip()) is None:
            await self._clock.sleep(LOOK_EVERY_S)

    def _corrected(self, wake: Wake) -> Wake | None:
        """The message as its author left it; None when it was taken back."""
        message_id = wake.created.message.id
        self._corrections, correction = corrections_.taken(self._corrections, message_id)
        if correction is None:
            return wake
        if correction.text is None:
            logger.info("Canon: message %s was taken back before its turn", message_id)
            return None
        return replace(wake, text=correction.text)

    def _correct_late(self, message_id: str | None) -> None:
        """What was corrected during the hand-over itself waits in the host by now."""
        self._corrections, correction = corrections_.taken(self._corrections, message_id)
        if correction is not None and message_id is not None:
            self._amend(message_id, correction.text)

    async def _look_up(self, wake: Wake, *, insists: bool = True) -> None:
        """Ask Canon for a room that nobody has described, until it answers. Source: D35.

        Args:
            insists: whether the message waits for that.
        """
        for pause_s in reconnect_delays(self._rng):
            if wake.is_room_known or self.state.rooms.is_known(wake.conversation_id):
                return
            try:
                await self.refresh_rooms()
            except CanonOpsError as error:
                logger.warning("Canon did not describe conversation %s: %s", wake.conversation_id, error.what)
                if not insists:
                    return
                asked_for_s = error.retry_after_s if isinstance(error, RequestFailed) else None
                await self._clock.sleep(max(pause_s, asked_for_s or 0.0))
            else:
                return  # Canon does not count it among our rooms: nothing is known of it, and nothing is remembered
