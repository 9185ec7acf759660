"""Brings final messages to Canon, each exactly once, in the order of their conversation.

A message is an operation of the outbox (:mod:`~canon_hermes_plugin.outbox.operations`): its parts, ids and metadata are
fixed, and on the disk, before the first attempt. Every later attempt repeats them, so a repetition of what has landed
changes nothing. While Canon cannot take a message now, the lane of its conversation waits and tries again, for as long
as the adapter lives; the next adapter goes on with what it finds. Those behind it are on the disk too, and hear at once
that they have to wait. A message of a loose turn is different: the host was
told of the failure and repeats it itself, so it is held and left alone until then. A message of no turn, like what a
cron job has to say, is on the disk before the host hears anything and then ours like an answer: a host that is told of
a failure says it again by another way. What Canon refuses for good stays in the outbox, for a person to see. Of what is
held or refused only the disk knows: it is asked whenever something is recorded, so that a repetition is known as one
after any time and any restart.

Source: Canon adapter R7.15-R7.21; decisions X1, X9; defects D6, D54.
"""

from __future__ import annotations

import logging
import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

from canon_hermes_plugin.lanes import Job
from canon_hermes_plugin.outbound.unasked import NotAdmitted
from canon_hermes_plugin.outbox import operations
from canon_hermes_plugin.outbox.operations import Book, Operation, Refused, Reserved
from canon_hermes_plugin.outbox.store import State
from canon_hermes_plugin.turn.effects import Final
from canon_hermes_plugin.turn.events import FinalDeferred, FinalRejected, FinalSettled, TurnEvent
from canon_ops.client.errors import RequestFailed
from canon_ops.runtime.clock import Clock
from canon_ops.wire.ids import ConversationId, TurnId, own_message_id
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.retry import Policy, is_retryable, reconnect_delays
from canon_ops.wire.verbs import MalformedVerbAnswer

__all__ = ["Deliveries", "Failed", "OutboxRows", "Posted", "Sent"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sent:
    """Canon has the whole message; ``message_id`` is the last part's."""

    message_id: str | None


@dataclass(frozen=True, slots=True)
class Failed:
    """This attempt is over.

    Attributes:
        may_pass: the same attempt may succeed later.
        after_s: the pause that the server asked for.
        in_doubt: something of the message may be on Canon.
    """

    reason: str
    may_pass: bool
    after_s: float | None = None
    in_doubt: bool = True


Attempt: TypeAlias = Sent | Failed


@dataclass(frozen=True, slots=True)
class Posted:
    """The message is in the outbox and will be on Canon; ``message_id`` is the last part's."""

    message_id: str | None


class OutboxRows(Protocol):
    """The operations on disk; :class:`~canon_hermes_plugin.outbox.keeper.Outbox` is one."""

    async def record(self, operation: Operation, *, told_gap: int | None = None) -> Operation | None: ...
    async def is_wanted(self, operation: Operation) -> bool: ...
    def confirm(self, operation: Operation) -> None: ...
    def settle(self, operation: Operation) -> None: ...
    def note_failure(self, operation: Operation, error: str) -> None: ...
    def put_aside(self, operation: Operation, state: State, error: str, *, in_doubt: bool) -> None: ...


class Deliveries:
    """The outbox of one adapter.

    Args:
        send: stores one message and returns its id, with the few quick attempts of its retry policy.
        send_unasked: the same for a part of a message that nobody asked for, left half sent by another process.
        rows: the operations on disk.
        report: takes what became of a turn's final message.
        is_left_to_host: whether a failed message of this turn is repeated by the host.
    """

    def __init__(
        self,
        send: Callable[[SendMessage], Awaitable[str | None]],
        *,
        send_unasked: Callable[[SendMessage], Awaitable[str | None]],
        rows: OutboxRows,
        report: Callable[[TurnId, TurnEvent], None],
        is_left_to_host: Callable[[TurnId], bool],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._send = send
        self._send_unasked = send_unasked
        self._rows = rows
        self._report = report
        self._is_left_to_host = is_left_to_host
        self._clock = clock
        self._rng = rng
        self._book = Book()
        self._carried: set[TurnId] = set()
        self._behind: dict[ConversationId, list[TurnId]] = {}  # whose message waits in its lane, in order
        self._late: set[ConversationId] = set()  # where Canon has not taken the first of the lane at once

    def claim(self, operation: Operation) -> bool:
        """Whether nobody brings the operation to Canon yet; whoever is told so puts :meth:`resume` into its lane.

        Only once for each: a job behind another one of the same operation would only wait.
        """
        if operation.turn_id in self._carried:
            return False
        self._carried.add(operation.turn_id)
        return True

    async def take(self, final: Final, in_lane: Callable[[Job], None]) -> Posted | Failed:
        """Take a message over; what becomes of it is reported to its turn, or to whoever waits under its id.

        Args:
            in_lane: puts a job behind the final messages of its conversation.

        Returns:
            When it is on the disk, which is before its first attempt and however long Canon takes with others.
        """
        turn_id, conversation_id = final.turn_id, final.conversation_id
        reserved = await self._reserve(final)
        if isinstance(reserved, Refused):
            self._report(turn_id, FinalRejected(reserved.sentence))
            return Failed(reserved.sentence, may_pass=False)
        assert reserved is not None  # noqa: S101  # it tells of no gap
        operation = reserved.operation
        self._carried.add(operation.turn_id)
        self._behind.setdefault(conversation_id, []).append(turn_id)
        in_lane(partial(self._bring, final, operation, in_doubt=reserved.is_replay))
        if conversation_id in self._late:
            self._put_off(turn_id)
        return Posted(operation.messages[-1].message_id)

    async def _bring(self, final: Final, operation: Operation, *, in_doubt: bool) -> None:
        behind = self._behind[final.conversation_id]
        behind.remove(final.turn_id)
        if not behind:
            del self._behind[final.conversation_id]
        await self._see_through(final.turn_id, operation, in_doubt=in_doubt)

    def _put_off(self, turn_id: TurnId) -> None:
        """Tell a turn that its message waits; a host that repeats it itself must not do so before it was tried."""
        if not self._is_left_to_host(turn_id):
            self._report(turn_id, FinalDeferred("Canon has not taken the message before it yet"))

    async def resume(self, operation: Operation) -> bool:
        """Go on with an operation of the outbox that was claimed; runs in the lane of its conversation.

        Returns:
            Whether Canon has it.
        """
        if not await self._rows.is_wanted(operation):
            self._carried.discard(operation.turn_id)
            return False
        self._book = operations.recall(self._book, operation)
        return await self._see_through(operation.turn_id, operation, in_doubt=True)

    async def say(self, conversation_id: str, text: str, *, told_gap: int | None = None) -> None:
        """Say something of our own, outside of any turn.

        Args:
            told_gap: the gap of the stream that it tells of; nothing is said when that was told before.
        """
        own_id = own_message_id(secrets.token_hex(16))
        final = Final(own_id, ConversationId(conversation_id), text, names_turn=False)
        reserved = await self._reserve(final, told_gap=told_gap)
        if isinstance(reserved, Reserved):
            await self._see_through(own_id, reserved.operation, in_doubt=reserved.is_replay)

    async def attempt(self, final: Final) -> Attempt:
        """Send what is still missing of a message, once."""
        reserved = await self._reserve(final)
        if isinstance(reserved, Refused):
            return Failed(reserved.sentence, may_pass=False)
        assert reserved is not None  # noqa: S101  # it tells of no gap
        attempt = await self._attempt(reserved.operation)
        if isinstance(attempt, Failed):
            in_doubt = attempt.in_doubt or reserved.is_replay
            self._put_aside(reserved.operation, State.HELD, attempt.reason, in_doubt=in_doubt)
        return attempt

    async def _see_through(self, turn_id: TurnId, operation: Operation, *, in_doubt: bool) -> bool:
        """Try until Canon has it, has refused it, or it is somebody else's; whether Canon has it.

        Args:
            turn_id: hears of it; the operation is another turn's when it was that turn's before.
            in_doubt: an earlier attempt may have landed, whatever becomes of the next ones.
        """
        self._carried.add(operation.turn_id)
        try:
            return await self._try_on(turn_id, operation, in_doubt=in_doubt)
        finally:
            self._carried.discard(operation.turn_id)
            self._late.discard(ConversationId(operation.messages[-1].conversation_id))

    async def _try_on(self, turn_id: TurnId, operation: Operation, *, in_doubt: bool) -> bool:
        delays = reconnect_delays(self._rng)
        while True:
            attempt = await self._attempt(operation)
            if isinstance(attempt, Sent):
                self._report(turn_id, FinalSettled(attempt.message_id))
                return True
            in_doubt = in_doubt or attempt.in_doubt
            if not attempt.may_pass:
                self._put_aside(operation, State.REFUSED, attempt.reason, in_doubt=in_doubt)
                self._report(turn_id, FinalRejected(attempt.reason))
                return False
            self._report(turn_id, FinalDeferred(attempt.reason))
            self._rows.note_failure(operation, attempt.reason)
            if self._is_left_to_host(turn_id):
                self._put_aside(operation, State.HELD, attempt.reason, in_doubt=in_doubt)
                return False
            self._is_late(ConversationId(operation.messages[-1].conversation_id))
            await self._clock.sleep(max(next(delays), attempt.after_s or 0.0))
            operation = self._book.unsettled.get(operation.turn_id, operation)
            if not await self._rows.is_wanted(operation):
                self._book = operations.settle(self._book, operation)
                self._report(turn_id, FinalRejected("it was discarded from the outbox"))
                return False

    def _is_late(self, conversation_id: ConversationId) -> None:
        """Nobody's run waits for a message of another one."""
        if conversation_id not in self._late:
            self._late.add(conversation_id)
            for turn_id in tuple(self._behind.get(conversation_id, ())):
                self._put_off(turn_id)

    async def _reserve(self, final: Final, *, told_gap: int | None = None) -> Reserved | Refused | None:
        """Fix an operation in the book and on the disk; None when the gap that it tells of was told before."""
        reserved = operations.reserve(self._book, final)
        if isinstance(reserved, Refused):
            return reserved
        self._book = reserved.book
        stands = await self._rows.record(reserved.operation, told_gap=told_gap)
        if stands is reserved.operation:  # itself, not its equal: that would be an earlier attempt
            return reserved
        self._book = operations.put_aside(self._book, reserved.operation)
        if stands is None:
            return None
        if stands.contents != reserved.operation.contents:
            return Refused(stands)
        self._book = operations.recall(self._book, stands)
        return Reserved(self._book, stands, is_replay=True)

    def _put_aside(self, operation: Operation, state: State, reason: str, *, in_doubt: bool) -> None:
        """Leave the operation to the disk, and to whoever decides about it."""
        self._rows.put_aside(operation, state, reason, in_doubt=in_doubt)
        self._book = operations.put_aside(self._book, operation)

    async def _attempt(self, operation: Operation) -> Attempt:
        message_id: str | None = None
        send = self._send_unasked if operation.is_unasked else self._send
        for message in operation.remaining:
            try:
                message_id = await send(message)
            except RequestFailed as error:
                return self._failed(operation, error)
            except (NotAdmitted, MalformedVerbAnswer) as error:
                is_unclear = isinstance(error, MalformedVerbAnswer)
                return Failed(error.what, may_pass=is_unclear, in_doubt=is_unclear or operation.confirmed > 0)
            self._book, operation = operations.sent(self._book, operation)
            if not operation.is_complete:
                self._rows.confirm(operation)
        self._book = operations.settle(self._book, operation)
        self._rows.settle(operation)
        return Sent(message_id or operation.messages[-1].message_id)

    def _failed(self, operation: Operation, error: RequestFailed) -> Failed:
        kept = operations.release(self._book, operation, may_have_landed=error.may_have_landed)
        self._book = kept.book
        # An answer that nobody can read (neither status nor transport) leaves open whether the message landed; its id
        # makes asking again harmless.
        unreadable = error.outcome.status is None and error.outcome.transport is None
        may_pass = unreadable or is_retryable(Policy.IDEMPOTENT, error.outcome)
        return Failed(error.what, may_pass, error.retry_after_s, kept.is_kept)
