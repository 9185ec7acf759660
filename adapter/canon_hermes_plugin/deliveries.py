"""Brings final messages to Canon, each exactly once, in the order of their conversation.

A message is an operation of the outbox (:mod:`~canon_hermes_plugin.outbox.operations`): its parts, ids and metadata are
fixed before the first attempt, and every later attempt repeats them, so a repetition of what has landed changes
nothing. While Canon cannot take a message now, the lane of its conversation waits and tries again, for as long as the
adapter lives. A message of a loose turn is different: the host was told of the failure and repeats it itself, so it is
kept and left alone until then.

Source: Canon adapter R7.15-R7.21; defects D6, D54.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from canon_hermes_plugin.outbox import operations
from canon_hermes_plugin.outbox.operations import Book, Operation
from canon_hermes_plugin.turn.effects import Final
from canon_hermes_plugin.turn.events import FinalDeferred, FinalRejected, FinalSettled, TurnEvent
from canon_ops.client.errors import RequestFailed
from canon_ops.runtime.clock import Clock
from canon_ops.wire.ids import TurnId
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.retry import Policy, is_retryable, reconnect_delays

__all__ = ["Deliveries", "Failed", "Sent"]

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
    """

    reason: str
    may_pass: bool
    after_s: float | None = None


Attempt: TypeAlias = Sent | Failed


class Deliveries:
    """The outbox of one adapter.

    Args:
        send: stores one message and returns its id, with the few quick attempts of its retry policy.
        report: takes what became of a turn's final message.
        is_left_to_host: whether a failed message of this turn is repeated by the host.
    """

    def __init__(
        self,
        send: Callable[[SendMessage], Awaitable[str | None]],
        *,
        report: Callable[[TurnId, TurnEvent], None],
        is_left_to_host: Callable[[TurnId], bool],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._send = send
        self._report = report
        self._is_left_to_host = is_left_to_host
        self._clock = clock
        self._rng = rng
        self._book = Book()

    @property
    def depth(self) -> int:
        """How many messages are not on Canon yet."""
        return len(self._book.unsettled)

    async def deliver(self, final: Final) -> None:
        """Send the final message of a turn and report what became of it; runs in the lane of its conversation."""
        turn_id = final.turn_id
        if turn_id is None:
            raise ValueError("a turn's final message carries its turn")
        delays = reconnect_delays(self._rng)
        while True:
            attempt = await self.attempt(final)
            match attempt:
                case Sent(message_id=message_id):
                    self._report(turn_id, FinalSettled(message_id))
                    return
                case Failed(may_pass=False, reason=reason):
                    self._report(turn_id, FinalRejected(reason))
                    return
            self._report(turn_id, FinalDeferred(attempt.reason))
            if self._is_left_to_host(turn_id):
                return
            await self._clock.sleep(max(next(delays), attempt.after_s or 0.0))

    async def attempt(self, final: Final) -> Attempt:
        """Send what is still missing of a message, once."""
        reserved = operations.reserve(self._book, final)
        if isinstance(reserved, operations.Refused):
            return Failed(reserved.sentence, may_pass=False)
        self._book, operation = reserved.book, reserved.operation
        message_id: str | None = None
        for message in operation.remaining:
            try:
                message_id = await self._send(message)
            except RequestFailed as error:
                return self._failed(operation, error)
            self._book, operation = operations.sent(self._book, operation)
        self._book = operations.settle(self._book, operation)
        return Sent(message_id or operation.messages[-1].message_id)

    def _failed(self, operation: Operation, error: RequestFailed) -> Failed:
        kept = operations.release(self._book, operation, error.outcome)
        self._book = kept.book
        policy = Policy.IDEMPOTENT if operation.turn_id is not None else Policy.READ
        # An answer that nobody can read (neither status nor transport) leaves open whether the message landed; its id
        # makes asking again harmless.
        unreadable = error.outcome.status is None and error.outcome.transport is None and operation.turn_id is not None
        may_pass = unreadable or is_retryable(policy, error.outcome)
        return Failed(error.what, may_pass, error.retry_after_s)
