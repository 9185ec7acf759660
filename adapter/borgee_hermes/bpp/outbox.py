"""Everything that is on its way out, and everybody who waits for an answer. Pure.

A frame of an action or a report is *held* until a connection is up and the queue has room, *queued* until the writer
takes it, and *written* from then on. Only what was written can have had an effect, so the rest is carried over to the
next connection, and what is withdrawn or runs out of time before it was written never goes out.

Source: Borgee 1.12, 1.13, W21.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from borgee_hermes.bpp.actions import Action
from borgee_hermes.bpp.effects import Settle
from borgee_hermes.bpp.errors import ActionTimeout, BppError, ConnectionLost, ProtocolCapacity
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.send_queue import Lane, SendQueue

__all__ = ["Outbox"]

REPORT = "report"


@dataclass(slots=True)
class _Pending:
    """An action that somebody waits for.

    Attributes:
        room_by_s: it is refused when it found no room in the queue by then; None while there is no connection.
    """

    action: Action[Any]
    deadline_s: float
    written: bool = False
    room_by_s: float | None = None


class Outbox:
    """The queue of one connection after the other, with what is held for it and what waits for answers."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._queue = SendQueue(limits)
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._pending: OrderedDict[str, _Pending] = OrderedDict()
        self._is_up = False
        self._count = 0

    @property
    def has_frames(self) -> bool:
        """Something is there to be written."""
        return len(self._queue) > 0

    # The life of a connection ---------------------------------------------------------------------------------------

    def up(self, now_s: float) -> None:
        """From now on actions and reports may go out."""
        self._is_up = True
        for key in self._held:
            if key in self._pending:
                self._pending[key].room_by_s = now_s + self._limits.room_s
        self._feed()

    def down(self) -> None:
        """The connection is over: hold what was not written and is still of use; answers and heartbeats are not."""
        self._is_up = False
        kept = [(key, data) for key, data in self._queue.clear() if key in self._pending or key.startswith(REPORT)]
        self._held = OrderedDict([*kept, *self._held.items()])
        for pending in self._pending.values():
            pending.room_by_s = None

    def lose_written(self) -> Iterator[Settle]:
        """The actions that were written and cannot be answered any more."""
        for key, pending in list(self._pending.items()):
            if pending.written:
                del self._pending[key]
                what = f"The connection to Borgee ended before {pending.action.name} was answered"
                yield Settle(key, error=ConnectionLost(f"{what}: its outcome is unknown."))

    def settle_all(self, error: BppError) -> Iterator[Settle]:
        """Every action fails; those that never left are known to have had no effect."""
        pending, self._pending = self._pending, OrderedDict()
        self._held.clear()
        for key, one in pending.items():
            own = copy.copy(error)
            own.had_no_effect = not one.written
            yield Settle(key, error=own)

    # Putting in -----------------------------------------------------------------------------------------------------

    def require_room(self) -> None:
        """Raises:
        ProtocolCapacity: too many actions wait already.
        """
        if len(self._pending) >= self._limits.pending_actions:
            raise ProtocolCapacity("Too many actions wait for an answer.", had_no_effect=True)

    def act(self, key: str, action: Action[Any], data: bytes, now_s: float) -> None:
        """Take an action in, behind those that wait already."""
        pending = self._pending[key] = _Pending(action, now_s + self._limits.action_s)
        self._held[key] = data
        if self._is_up:
            self._feed()
            if key in self._held:
                pending.room_by_s = now_s + self._limits.room_s

    def report(self, data: bytes) -> None:
        """Take a frame in that nobody answers.

        Raises:
            ProtocolCapacity: there is no room.
        """
        if self._held or not self._queue.offer(Lane.REGULAR, self._key(REPORT), data):
            raise ProtocolCapacity("The outgoing queue is full.", had_no_effect=True)

    def opening(self, key: str, data: bytes) -> None:
        """Take a frame in that belongs to the opening, or to this connection only; one under the same key is replaced.

        It is dropped when there is no room, which only a heartbeat can meet.
        """
        self._queue.withdraw(key)
        self._queue.offer(Lane.REGULAR, key, data)

    def answer(self, data: bytes) -> bool:
        """Take an answer in that the server waits for; False when it asks faster than it reads."""
        return self._queue.offer(Lane.RESERVED, self._key("answer"), data)

    # Taking out -----------------------------------------------------------------------------------------------------

    def take(self) -> tuple[str, bytes] | None:
        """The next frame to write, with its key; what is taken counts as written."""
        taken = self._queue.take()
        if taken is not None and (pending := self._pending.get(taken[0])) is not None:
            pending.written = True
        self._feed()
        return taken

    def pop(self, key: str) -> Action[Any] | None:
        """The action that an answer belongs to; None when nobody waits for it any more."""
        pending = self._pending.pop(key, None)
        return pending.action if pending else None

    def withdraw(self, key: str) -> None:
        """Nobody waits for this action any more."""
        if self._pending.pop(key, None) is not None:
            self._held.pop(key, None)
            self._queue.withdraw(key)
            self._feed()

    # Time -----------------------------------------------------------------------------------------------------------

    @property
    def next_due_s(self) -> float | None:
        """When :meth:`overdue` may have something. All actions have the same time, so the oldest runs out first."""
        first = next(iter(self._pending.values()), None)
        if first is None:
            return None
        held = self._pending.get(next(iter(self._held))) if self._held else None
        return min(first.deadline_s, first.deadline_s if held is None or held.room_by_s is None else held.room_by_s)

    def overdue(self, now_s: float) -> Iterator[Settle]:
        """The actions whose time is over, for an answer or for room in the queue."""
        for key, pending in list(self._pending.items()):
            if pending.deadline_s > now_s:
                break
            self.withdraw(key)
            yield Settle(key, error=self._timeout(pending))
        for key in list(self._held):
            held = self._pending.get(key)
            if held is None or held.room_by_s is None or held.room_by_s > now_s:
                break
            self.withdraw(key)
            yield Settle(key, error=ProtocolCapacity("The outgoing queue is full.", had_no_effect=True))

    def _timeout(self, pending: _Pending) -> ActionTimeout:
        known = "its outcome is unknown" if pending.written else "it was never sent"
        return ActionTimeout(
            f"{pending.action.name} was not answered within {self._limits.action_s:g} s: {known}.",
            had_no_effect=not pending.written,
        )

    def _key(self, kind: str) -> str:
        self._count += 1
        return f"{kind} {self._count}"

    def _feed(self) -> None:
        """Move what is held into the queue, as far as there is a connection and room."""
        while self._is_up and self._held:
            key, data = next(iter(self._held.items()))
            if not self._queue.offer(Lane.REGULAR, key, data):
                return
            del self._held[key]
            if key in self._pending:
                self._pending[key].room_by_s = None
