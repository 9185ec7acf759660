"""From where the stream is replayed after a break: the last event before which nothing is left to do.

Events arrive in order and are finished in any order, because conversations do not wait for each other. A cursor that
followed the arrivals would skip what had not been finished when the process died. So each event is *admitted* when it
arrives and *handled* when its work is done, and the position moves over the longest finished beginning only.

An event whose work failed is *failed*: it holds the position until the stream is opened again. The shell then calls
:meth:`Cursor.rewind`, and the server sends everything after the position once more. Work that still runs from before
the break is not repeated: :meth:`Cursor.admit` says so, and the old work's end counts for the new delivery.

One event that is stuck holds all that come after it, so no step may cost more with their number. It is changed in
place: it has one owner, and a message passes it twice.

Source: canon-adapter R2.12, R2.13; defect D21; decision X1.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

__all__ = ["Admitted", "Cursor", "Ticket"]

Ticket = str


class Admitted(NamedTuple):
    """Hand ``ticket`` to :meth:`Cursor.handled` or :meth:`Cursor.failed` when the work has ended.

    Attributes:
        is_running: this event is in work already; do nothing with it, its work's end is awaited by both deliveries.
    """

    ticket: Ticket
    is_running: bool


class Cursor:
    """Where to resume, and what is on its way.

    Attributes:
        position: the id for ``Last-Event-ID``; None replays nothing.
        running: everything in work, also from before a break.
    """

    __slots__ = ("_arrived", "_copies", "_done", "_unnamed", "position", "running")

    def __init__(self, position: str | None = None) -> None:
        self.position = position
        self.running: set[Ticket] = set()
        self._arrived: deque[Ticket] = deque()  # the events after the position
        self._copies: dict[Ticket, int] = {}  # how many of them are the same event: the server may send one twice
        self._done: set[Ticket] = set()  # those of them that are finished
        self._unnamed = 0  # how many events without an id have come; it makes their tickets

    def admit(self, event_id: str | None) -> Admitted:
        """Take note of an arrival; an event without an id holds the position like any other, but never becomes it."""
        if event_id:
            ticket = f"id:{event_id}"
        else:
            self._unnamed += 1
            ticket = f"unnamed:{self._unnamed}"
        is_running = ticket in self.running
        self._arrived.append(ticket)
        self._copies[ticket] = self._copies.get(ticket, 0) + 1
        self.running.add(ticket)
        return Admitted(ticket, is_running)

    def handled(self, ticket: Ticket) -> None:
        """The event's work is done: move the position as far as everything before it is done too."""
        self.running.discard(ticket)
        if ticket not in self._copies:
            return
        arrived, copies, done = self._arrived, self._copies, self._done
        done.add(ticket)
        while arrived and arrived[0] in done:
            passed = arrived.popleft()
            kind, _, event_id = passed.partition(":")
            if kind == "id":
                self.position = event_id
            if copies[passed] > 1:  # it waits once more, and is done there too
                copies[passed] -= 1
            else:
                del copies[passed]
                done.discard(passed)

    def failed(self, ticket: Ticket) -> None:
        """The event's work failed: the position stays before it until the stream is opened again."""
        self.running.discard(ticket)

    def rewind(self) -> None:
        """The stream is about to be opened again at the position: what arrived after it will arrive once more."""
        self._arrived.clear()
        self._copies.clear()
        self._done.clear()

    def jump(self, event_id: str | None) -> None:
        """The server cannot replay from the position (``replay.expired``): go on from what it still has, or now."""
        self.rewind()
        self.position = event_id or None

    @property
    def weight(self) -> tuple[int, int, int]:
        """The sizes of what it keeps: arrivals, distinct ones, finished ones."""
        return len(self._arrived), len(self._copies), len(self._done)
