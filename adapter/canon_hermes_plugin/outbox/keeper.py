"""The outbox of one adapter on disk: an operation stands there from before its first attempt until Canon has it all.

With a turn's answer its messages are settled, in the same transaction: from then on the answer is repeated, never made
again. Source: decisions X1, X2; defects D6, D54.
"""

from __future__ import annotations

from collections.abc import Callable

from canon_hermes_plugin.inbox import cursors
from canon_hermes_plugin.inbox import store as inbox
from canon_hermes_plugin.inbox.custody import Covered
from canon_hermes_plugin.inbox.items import Settlement
from canon_hermes_plugin.outbox import store
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.outbox.store import Owed, State
from canon_hermes_plugin.state.file import StateFile
from canon_hermes_plugin.state.owner import Owner
from canon_ops.durable import DurableError, Transaction
from canon_ops.runtime.clock import Clock

__all__ = ["Outbox"]


class Outbox:
    """The operations of one agent.

    Args:
        covered: the messages that a turn answers.
    """

    def __init__(self, file: StateFile, owner: Owner, clock: Clock, *, covered: Callable[[str], Covered]) -> None:
        self._file = file
        self._owner = owner
        self._clock = clock
        self._covered = covered
        self._unrecorded: set[str] = set()  # turns whose message the disk did not take

    async def pending(self) -> tuple[Operation, ...]:
        """What is owed, oldest first.

        Raises:
            DurableError: the file cannot be read.
        """
        return tuple(await self._file.read(store.pending, self._owner))

    async def owed(self) -> Owed:
        """How much that is.

        Raises:
            DurableError: the file cannot be read.
        """
        return await self._file.read(store.owed, self._owner)

    async def record(self, operation: Operation, *, told_gap: int | None = None) -> Operation | None:
        """Write an operation down before its first attempt.

        Args:
            told_gap: the gap of which it tells the home channel; nothing is written when that was told before.

        Returns:
            What stands on the disk now, and is to be sent: as a rule the operation itself, else what
            :func:`~canon_hermes_plugin.outbox.store.keep` or :func:`~canon_hermes_plugin.outbox.store.repeated` found.
            None when a gap was told before. A disk that takes nothing is logged and does not hold the message up: it is
            sent, and only its repetition after a crash is lost.
        """
        items = self._covered(operation.turn_id)
        now_ms = self._clock.now_ms()

        def write(transaction: Transaction) -> Operation | None:
            if told_gap is not None and not cursors.tell_gap(transaction, self._owner, told_gap):
                return None
            again = store.repeated(transaction, self._owner, operation, now_ms=now_ms)
            stands = again or store.keep(transaction, self._owner, operation, now_ms=now_ms)
            if stands.contents == operation.contents:
                if items.head is not None:
                    inbox.settle(transaction, self._owner, items.head, Settlement.ANSWER, now_ms=now_ms)
                for item_id in items.joined:
                    inbox.settle(transaction, self._owner, item_id, Settlement.ABSORBED, now_ms=now_ms)
            return stands

        try:
            stands = await self._file.write(write)
        except DurableError:
            self._unrecorded.add(operation.turn_id)
            return operation
        self._unrecorded.discard(operation.turn_id)
        return stands

    def confirm(self, operation: Operation) -> None:
        """Canon has one more part."""
        self._file.write(store.confirm, self._owner, operation, now_ms=self._clock.now_ms())

    def settle(self, operation: Operation) -> None:
        """Canon has all of it."""
        self._unrecorded.discard(operation.turn_id)
        self._file.write(store.settle, self._owner, operation)

    def note_failure(self, operation: Operation, error: str) -> None:
        """An attempt failed, and there will be another."""
        self._file.write(store.note_failure, self._owner, operation, error, now_ms=self._clock.now_ms())

    def put_aside(self, operation: Operation, state: State, error: str, *, in_doubt: bool) -> None:
        """Nobody tries any more, until somebody says so; ``in_doubt``: something of it may be on Canon."""
        now_ms = self._clock.now_ms()
        self._file.write(store.put_aside, self._owner, operation, state, error, in_doubt=in_doubt, now_ms=now_ms)

    async def is_wanted(self, operation: Operation) -> bool:
        """Whether nobody has discarded it meanwhile; what the disk did not take is offered to it again."""
        if operation.turn_id in self._unrecorded:
            return await self.record(operation) is not None
        try:
            return await self._file.read(store.state_of, self._owner, operation) is State.PENDING
        except DurableError:
            return True
