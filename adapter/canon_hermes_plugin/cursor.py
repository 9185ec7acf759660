"""From where the stream is replayed after a break: the last event before which nothing is left to do.

Events arrive in order and are finished in any order, because conversations do not wait for each other. A cursor that
followed the arrivals would skip what had not been finished when the process died. So each event is *admitted* when it
arrives and *handled* when its work is done, and the position moves over the longest finished beginning only.

An event whose work failed is *failed*: it holds the position until the stream is opened again. The shell then calls
:func:`rewind`, and the server sends everything after the position once more. Work that still runs from before the break
is not repeated: :func:`admit` says so, and the old work's end counts for the new delivery.

Source: canon-adapter R2.12, R2.13; defect D21; decision X1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Admitted", "Cursor", "Ticket", "admit", "failed", "handled", "jump", "rewind"]

Ticket = str


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where to resume, and what is on its way.

    Attributes:
        position: the id for ``Last-Event-ID``; None replays nothing.
        arrived: the events after the position, in order.
        done: those of them that are finished.
        running: everything in work, also from before a break.
        unnamed: how many events without an id have come; it makes their tickets.
    """

    position: str | None = None
    arrived: tuple[Ticket, ...] = ()
    done: frozenset[Ticket] = frozenset()
    running: frozenset[Ticket] = frozenset()
    unnamed: int = 0


@dataclass(frozen=True, slots=True)
class Admitted:
    """Hand ``ticket`` to :func:`handled` or :func:`failed` when the work has ended.

    Attributes:
        is_running: this event is in work already; do nothing with it, its work's end is awaited by both deliveries.
    """

    cursor: Cursor
    ticket: Ticket
    is_running: bool


def admit(cursor: Cursor, event_id: str | None) -> Admitted:
    """Take note of an arrival; an event without an id holds the position like any other, but never becomes it."""
    unnamed = cursor.unnamed
    if event_id:
        ticket = f"id:{event_id}"
    else:
        unnamed += 1
        ticket = f"unnamed:{unnamed}"
    admitted = Cursor(cursor.position, (*cursor.arrived, ticket), cursor.done, cursor.running | {ticket}, unnamed)
    return Admitted(admitted, ticket, ticket in cursor.running)


def handled(cursor: Cursor, ticket: Ticket) -> Cursor:
    """The event's work is done: move the position as far as everything before it is done too."""
    done = cursor.done | {ticket} if ticket in cursor.arrived else cursor.done
    position, arrived = cursor.position, cursor.arrived
    reached = 0
    while reached < len(arrived) and arrived[reached] in done:
        kind, _, event_id = arrived[reached].partition(":")
        position = event_id if kind == "id" else position
        reached += 1
    waiting = arrived[reached:]
    return Cursor(
        position,
        waiting,
        done.difference(passed for passed in arrived[:reached] if passed not in waiting),  # an event may come twice
        cursor.running - {ticket},
        cursor.unnamed,
    )


def failed(cursor: Cursor, ticket: Ticket) -> Cursor:
    """The event's work failed: the position stays before it until the stream is opened again."""
    return replace(cursor, running=cursor.running - {ticket})


def rewind(cursor: Cursor) -> Cursor:
    """The stream is about to be opened again at the position: what arrived after it will arrive once more."""
    return replace(cursor, arrived=(), done=frozenset())


def jump(cursor: Cursor, event_id: str | None) -> Cursor:
    """The server cannot replay from the position (``replay.expired``): go on from what it still has, or from now."""
    return replace(rewind(cursor), position=event_id or None)
