"""The one place that holds the turns: every call of the host becomes one call of the pure core and its effects.

The core decides (:mod:`~canon_hermes_plugin.turn`), :mod:`~canon_hermes_plugin.outbound.effects` carries out. This
class only keeps the newest value, hands in what the core must not know by itself (time, fresh ids, the caller's mark),
and turns the route of a ``send`` or an ``edit_message`` into the host's answer. It lives on the gateway's loop; only
:meth:`TurnDesk.has_open_turn` may be asked from another thread.

Source: Canon adapter sections 6 and 7; the tables stand in turn/machine.py and turn/routing.py.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from canon_hermes_plugin.binding import TurnMark, bind, current_mark, in_own_task
from canon_hermes_plugin.outbound.deliveries import Attempt, Failed, Posted, Sent
from canon_hermes_plugin.outbound.drafts import AFTER_TOOLS
from canon_hermes_plugin.outbox.host_metadata import split_metadata
from canon_hermes_plugin.ports import Arrival, Reply
from canon_hermes_plugin.turn import registry
from canon_hermes_plugin.turn.effects import Effect, Final, TurnClosed
from canon_hermes_plugin.turn.events import (
    Ended,
    FileStaged,
    FinalDeferred,
    FinalRejected,
    FinalSettled,
    InterruptAsked,
    Kind,
    Opening,
    Outcome,
    OutgoingFile,
    QueueChanged,
    Silenced,
    Staged,
    TurnEvent,
)
from canon_hermes_plugin.turn.machine import Phase, Turn
from canon_hermes_plugin.turn.registry import Caller, Found, Move, Turns
from canon_hermes_plugin.turn.routing import (
    Attach,
    Auxiliary,
    Duplicate,
    Hushed,
    Marks,
    Open,
    Plain,
    Replay,
    Route,
    Stage,
    Stale,
    route_edit,
    route_file,
    route_send,
)
from canon_hermes_plugin.turnstile import Turnstile
from canon_ops.client.deadline import within
from canon_ops.runtime.clock import Clock
from canon_ops.wire import ids
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId

__all__ = ["Silence", "TurnDesk"]


class Silence(StrEnum):
    """What became of the wish to say nothing."""

    KEPT = "kept"
    NO_TURN = "no_turn"  # the caller has no turn that is open
    UNREAD = "unread"  # somebody has put words into it that its model has not read


Answer: TypeAlias = FinalSettled | FinalDeferred | FinalRejected | TurnClosed | None
"""What became of a turn's final message; TurnClosed when there was none, None when the adapter closed first."""

HAND_OVER_S = 5.0  # ours: a follow-up does not wait longer for the end of the turn before it
POSTED_S = 15.0  # ours: a host whose cron job hears nothing for 60 s sends it again by another way
STILL_TRYING = "Canon timed out on the message; its delivery continues"  # "timed out" keeps the host from repeating it


class TurnDesk:
    """The turns of one adapter.

    Args:
        carry: takes effects over, in order, without waiting.
        attempt: repeats a message of a loose turn that is not settled, once.
        post: takes a message of no turn over; what becomes of it is told to :meth:`apply` under its id.
        is_quiet: whether a turn of the conversation shows only its answer.
        draft_text: the text of an unfinished draft without the host's cursor.
        has_unread: whether words wait for the model of a session's turn.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        carry: Callable[[Iterable[Effect]], None],
        attempt: Callable[[Final], Awaitable[Attempt]],
        post: Callable[[Final], Awaitable[Posted | Failed]],
        is_quiet: Callable[[str], bool],
        draft_text: Callable[[str], str],
        has_unread: Callable[[str], bool] = lambda session_key: False,
    ) -> None:
        self._clock = clock
        self._carry = carry
        self._attempt = attempt
        self._post = post
        self._is_quiet = is_quiet
        self._draft_text = draft_text
        self._has_unread = has_unread
        self._turns = Turns()
        self._waiting: dict[TurnId, list[asyncio.Future[Answer]]] = {}
        self._loose = Turnstile()
        self._is_open = True

    @property
    def turns(self) -> Turns:
        """The newest value."""
        return self._turns

    def has_open_turn(self, conversation_id: str) -> bool:
        """Whether a turn of the conversation is open; callable from any thread, the value never changes in place."""
        return bool(self._turns.open_in(ConversationId(conversation_id)))

    # --- the host's run ------------------------------------------------------------------------------------------

    def fresh_turn_id(self, arrival: Arrival) -> TurnId:
        """The id of the turn that an arrival opens: its own when it continues one, unless that is still alive."""
        known = TurnId(arrival.turn_id) if arrival.turn_id else None
        return known if known is not None and known not in self._turns.live else ids.turn_id(secrets.token_hex(10))

    def start(self, arrival: Arrival, session_key: str) -> None:
        """A run begins in this task. Source: R6.4."""
        opening = self._opening(arrival, session_key)
        self._take(registry.open_turn(self._turns, opening, now_ms=self._clock.now_ms()))
        bind(opening.turn_id, opening.conversation_id, session_key)

    def announce(self, session_key: str, arrival: Arrival) -> None:
        """The host took the session's next message from its queue; it answers it in the same run."""
        turn = self._turns.open_for(SessionKey(session_key))
        if turn is not None:
            self._turns = registry.announce(self._turns, turn.id, self._opening(arrival, session_key))

    async def typing_seen(self) -> None:
        """The host says that it types: in the run's own task, that is where an announced follow-up begins.

        The host waits for this call, so the first turn is over on Canon, its node gone, before the follow-up says that
        it thinks; where Canon takes its time, or the answer has to wait, the follow-up does not.
        """
        mark = current_mark()
        if mark is None or not in_own_task(mark):
            return
        before = self._turns.current(TurnId(mark.turn_id))
        ended, opening = registry.hand_over(self._turns, before, now_ms=self._clock.now_ms())
        if opening is None:
            return
        self._take(ended)
        try:
            await within(self._clock, HAND_OVER_S, self._over(before))
        except TimeoutError:
            pass
        finally:  # a run that is stopped in this very moment still owes its message an end
            self._take(registry.open_turn(self._turns, opening, now_ms=self._clock.now_ms()))

    async def complete(self, session_key: str, outcome: str, *, put_off: bool = False, cut_off: bool = False) -> None:
        """The run ended; returns once Canon has the answer, or cannot take it now, or there is none."""
        turn = self.running(session_key)
        if turn is None:
            return
        answered = self._answer_of(turn.id)
        self.apply(turn.id, Ended(Outcome(outcome), put_off=put_off, cut_off=cut_off))
        await answered

    def knows(self, turn_id: TurnId) -> bool:
        """Whether a turn has begun, as far as that is remembered."""
        return turn_id in self._turns.live or turn_id in self._turns.past

    def running(self, session_key: str) -> Turn | None:
        """The turn in which the run of this task, or of this session, is now."""
        mark = current_mark()
        if mark is not None and mark.session_key == session_key:
            turn = self._turns.live.get(self._turns.current(TurnId(mark.turn_id)))
            if turn is not None and turn.is_open:
                return turn
        return self._turns.open_for(SessionKey(session_key))

    # --- events ---------------------------------------------------------------------------------------------------

    def apply(self, turn_id: TurnId, event: TurnEvent) -> None:
        """Feed an event to a turn."""
        if isinstance(event, FinalSettled | FinalDeferred | FinalRejected):
            self._tell(turn_id, event)  # before its effects: they may close the turn, and this says more than that
        self._take(registry.apply(self._turns, turn_id, event, now_ms=self._clock.now_ms()))

    def note(self, conversation_id: str, mark: TurnMark | None, session_key: str, event: TurnEvent) -> None:
        """Feed an event of a tool to the turn whose task, or session, it came from; nobody's is dropped."""
        caller = Caller(TurnId(mark.turn_id) if mark else None, SessionKey(session_key) if session_key else None)
        found = registry.find(self._turns, ConversationId(conversation_id), caller)
        if isinstance(found, Found):
            self.apply(found.turn_id, event)

    def silence(self, conversation_id: str, mark: TurnMark | None, session_key: str) -> Silence:
        """The agent says nothing in its own turn. Source: R8.3, R8.11, D11.

        Nothing is awaited here, nor where words are put into a turn: one comes after the other, and whoever comes last
        decides, but for a silence that was chosen before its model had read what people had said by then.
        """
        caller = Caller(TurnId(mark.turn_id) if mark else None, SessionKey(session_key) if session_key else None)
        found = registry.find(self._turns, ConversationId(conversation_id), caller)
        if not isinstance(found, Found) or not self._turns.live[found.turn_id].is_open:
            return Silence.NO_TURN
        turn = self._turns.live[found.turn_id]
        if turn.unread or self._has_unread(turn.opening.session or ""):
            return Silence.UNREAD
        self.apply(found.turn_id, Silenced())
        return Silence.KEPT

    def queue_changed(self, turn_id: TurnId) -> None:
        """Another number of messages waits behind a turn than Canon was last told."""
        self.apply(turn_id, QueueChanged())

    def interrupted(self, conversation_id: str) -> None:
        """A person stops whatever runs in the conversation."""
        for turn in self._turns.open_in(ConversationId(conversation_id)):
            self.apply(turn.id, InterruptAsked())

    def closed(self, effect: TurnClosed) -> None:
        """A turn is over."""
        self._tell(effect.turn_id, effect)

    # --- the host's texts -----------------------------------------------------------------------------------------

    async def send(self, conversation_id: str, text: str, *, reply_to: str | None, metadata: Any) -> Reply:
        """Answer a ``send``. Source: R7.1-R7.5; the table in turn/routing.py."""
        conversation, caller, marks = ConversationId(conversation_id), _caller(), Marks.read(metadata)

        def route() -> Route:
            return route_send(self._turns, conversation, caller, marks, connected=self._is_open)

        first = route()
        if not _delivers_loosely(first):
            return await self._follow(first, conversation, text, reply_to=reply_to, metadata=metadata)
        async with self._loose.through(conversation):  # whose turn it is depends on what became of the one before
            return await self._follow(route(), conversation, text, reply_to=reply_to, metadata=metadata)

    async def edit(self, conversation_id: str, message_id: str, text: str, *, finalize: bool, metadata: Any) -> Reply:
        """Answer an ``edit_message``; it succeeds under the id that it edits. Source: R7.6."""
        conversation = ConversationId(conversation_id)
        route = route_edit(self._turns, conversation, _caller(), message_id, finalize=finalize, connected=self._is_open)
        reply = await self._follow(route, conversation, text, reply_to=None, metadata=metadata)
        known = reply.message_id if isinstance(route, Duplicate) else message_id
        if finalize and isinstance(route, Stage) and _is_silenced(reply):
            known = route.turn_id
        return Reply(reply.success, known, reply.error, reply.raw, reply.retryable)

    async def send_file(
        self,
        conversation_id: str,
        upload: Callable[[], Awaitable[OutgoingFile]],
        *,
        reply_to: str | None,
        metadata: Any,
    ) -> Reply:
        """Answer a ``send_image`` and its like. Source: R7.30, R7.31; decisions X5.

        Args:
            upload: brings the file to Canon; not called when nobody wants it.

        Raises:
            CanonOpsError: what ``upload`` raised.
        """
        conversation, caller = ConversationId(conversation_id), _caller()

        def route() -> Stale | Hushed | Attach | Open:
            return route_file(self._turns, conversation, caller, connected=self._is_open)

        first = route()
        if isinstance(first, Stale | Hushed):
            return Reply(True, raw=first.raw)
        file = await upload()
        now = route()  # the run may have ended, or chosen silence, meanwhile
        split = split_metadata(metadata)
        staged = FileStaged(file, reply_to, split.metadata, split.options)
        match now:
            case Stale() | Hushed():
                return Reply(True, raw=now.raw)
            case Attach(turn_id=turn_id):
                self.apply(turn_id, staged)
                return Reply(True, raw={"staged": True, "turnId": turn_id})
            case Open():
                opened = self._open(now, conversation)
                answered = self._answer_of(opened)
                self.apply(opened, staged)
                return self._settled(Kind.OWN, await answered)

    async def _follow(
        self, route: Route, conversation: ConversationId, text: str, *, reply_to: str | None, metadata: Any
    ) -> Reply:
        split = split_metadata(metadata)
        match route:
            case Stale() | Auxiliary():
                return Reply(True, raw=route.raw)
            case Duplicate(turn_id=turn_id):
                return Reply(True, turn_id, raw=route.raw)
            case Plain():
                own_id = ids.own_message_id(secrets.token_hex(16))
                final = Final(own_id, conversation, text, reply_to, split.metadata, split.options, names_turn=False)
                return await self._posted(own_id, final)
            case Replay(turn_id=turn_id):
                return await self._replay(turn_id, conversation, text, reply_to, split.metadata, split.options)
            case Open():
                opened = self._open(route, conversation)
                staged = Staged(text, route.finalized, None, reply_to, split.metadata, split.options)
                reply = await self._stage(opened, staged)
                is_own = route.kind is Kind.OWN and route.finalized
                raw = {**route.raw_of(opened), **(reply.raw or {})}
                return Reply(reply.success, reply.message_id if is_own else opened, reply.error, raw, reply.retryable)
            case Stage():
                segment = route.segment
                if route.is_new:
                    segment = ids.stream_message_id(route.turn_id, secrets.token_hex(16))
                authored, after_tools = self._authored(route, text)
                staged = Staged(
                    authored, route.finalized, segment, reply_to, split.metadata, split.options, after_tools
                )
                reply = await self._stage(route.turn_id, staged)
                turn = self._turns.live.get(route.turn_id)
                if turn is not None and turn.silenced:
                    is_message = route.is_new and route.finalized
                    silent = {"silenced": True, "turnId": route.turn_id}
                    return Reply(True, None if is_message else segment or route.turn_id, raw=silent)
                raw = {**route.raw, **(reply.raw or {})}
                return Reply(reply.success, segment or route.turn_id, reply.error, raw, reply.retryable)

    def _authored(self, route: Stage, text: str) -> tuple[str, bool]:
        """The text as its author wrote it, and whether the host marked it as the first speech after tools.

        Only what a run says carries the host's marks. Source: R6.18.
        """
        turn = self._turns.live.get(route.turn_id)
        if turn is not None and not turn.is_lifecycle:
            return text, False
        draft = text if route.finalized else self._draft_text(text)
        return draft.removeprefix(AFTER_TOOLS), draft.startswith(AFTER_TOOLS)

    def _open(self, route: Open, conversation: ConversationId) -> TurnId:
        fresh = {
            Kind.LOOSE: lambda: ids.turn_id(secrets.token_hex(10)),
            Kind.OWN: lambda: ids.own_message_id(secrets.token_hex(16)),
        }
        turn_id = route.turn_id or fresh[route.kind]()
        opening = Opening(
            turn_id,
            conversation,
            quiet=self._is_quiet(conversation),
            kind=route.kind,
            semantics=route.semantics,
        )
        self._take(registry.open_turn(self._turns, opening, now_ms=self._clock.now_ms()))
        return turn_id

    async def _stage(self, turn_id: TurnId, staged: Staged) -> Reply:
        """Stage a text; when that ends a turn without a run, its delivery is the answer."""
        turn = self._turns.live.get(turn_id)
        if turn is None or turn.is_lifecycle or not staged.finalized:
            self.apply(turn_id, staged)
            after = self._turns.live.get(turn_id)
            dropped = after is not None and after.preview.dropped
            return Reply(True, turn_id, raw={"previewDropped": True} if dropped else {})
        answered = self._answer_of(turn_id)
        self.apply(turn_id, staged)
        return self._settled(turn.opening.kind, await answered)

    async def _posted(self, own_id: TurnId, final: Final) -> Reply:
        """Say something of no turn. Source: R7.5; docs/decisions/0047.

        Once it stands in the outbox it is delivered, whatever happens: told otherwise, the host would say it again.
        """
        answered = self._answer_of(own_id)
        posted = await self._post(final)
        if isinstance(posted, Failed):
            return _reply(posted)
        pending = Reply(True, posted.message_id, raw={"deliveryPending": True})
        try:
            answer = await within(self._clock, POSTED_S, _heard(answered))
        except TimeoutError:
            return pending
        if answer is None or isinstance(answer, FinalDeferred):
            return pending
        return self._settled(Kind.OWN, answer)

    def _settled(self, kind: Kind, answer: Answer) -> Reply:
        match answer:
            case FinalSettled(message_id=message_id):
                return Reply(True, message_id)
            case FinalDeferred(reason=reason) if kind is Kind.LOOSE:
                return Reply(False, error=reason, retryable=True)
            case FinalDeferred():
                return Reply(False, error=STILL_TRYING)
            case FinalRejected(reason=reason):
                return Reply(False, error=reason)
        return Reply(True, raw={"suppressedStaleOutput": True} if answer is None else {})

    async def _replay(
        self,
        turn_id: TurnId,
        conversation: ConversationId,
        text: str,
        reply_to: str | None,
        metadata: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Reply:
        """Repeat the unsettled message of a loose turn. Source: R7.17."""
        attempt = await self._attempt(Final(turn_id, conversation, text, reply_to, metadata, options))
        if isinstance(attempt, Sent):
            self.apply(turn_id, FinalSettled(attempt.message_id))
            return Reply(True, turn_id)
        return _reply(attempt)

    # --- the end --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """The adapter disconnects: what runs is interrupted on Canon, and later texts of the host are stale."""
        self._is_open = False
        for turn in [turn for turn in self._turns.live.values() if turn.is_open]:
            self.apply(turn.id, Ended(Outcome.CANCELLED))

    def abandon(self) -> None:
        """Nothing will be carried out any more: let everybody go who waits for it."""
        for turn_id in list(self._waiting):
            self._tell(turn_id, None)

    # --- bookkeeping ----------------------------------------------------------------------------------------------

    def _opening(self, arrival: Arrival, session_key: str) -> Opening:
        return Opening(
            turn_id=self.fresh_turn_id(arrival),
            conversation_id=ConversationId(arrival.conversation_id),
            quiet=self._is_quiet(arrival.conversation_id),
            session=SessionKey(session_key),
            source_message_id=arrival.message_id,
            authority=next((one.authority for one in (arrival, *arrival.absorbed) if one.authority), None),
            responder_id=arrival.responder_id,
            is_recovered=arrival.repeats,
            merged_ids=arrival.message_ids[1:] if arrival.message_id is not None else arrival.message_ids,
        )

    def _take(self, move: Move) -> None:
        self._turns = move.turns
        self._carry(move.effects)

    def _answer_of(self, turn_id: TurnId) -> asyncio.Future[Answer]:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(turn_id, []).append(answered)
        return answered

    async def _over(self, turn_id: TurnId) -> None:
        """Until a turn that ended is closed on Canon, or it is known that its answer comes later."""
        answer: Answer = FinalSettled()
        while isinstance(answer, FinalSettled) and not self._is_closed(turn_id):
            answer = await self._answer_of(turn_id)

    def _is_closed(self, turn_id: TurnId) -> bool:
        turn = self._turns.live.get(turn_id)
        return turn is None or turn.phase is Phase.CLOSED

    def _tell(self, turn_id: TurnId, answer: Answer) -> None:
        for waiting in self._waiting.pop(turn_id, ()):
            if not waiting.done():
                waiting.set_result(answer)


async def _heard(answered: asyncio.Future[Answer]) -> Answer:
    return await answered


def _is_silenced(reply: Reply) -> bool:
    return bool((reply.raw or {}).get("silenced"))


def _caller() -> Caller:
    mark = current_mark()
    return Caller(TurnId(mark.turn_id) if mark else None)


def _delivers_loosely(route: Route) -> bool:
    """Whether a finished text outside of any run is delivered: of those a conversation has one at a time (R7.15)."""
    return isinstance(route, Replay) or (isinstance(route, Open) and route.kind is Kind.LOOSE and route.finalized)


def _reply(attempt: Attempt) -> Reply:
    if isinstance(attempt, Sent):
        return Reply(True, attempt.message_id)
    return Reply(False, error=attempt.reason, retryable=attempt.may_pass)
