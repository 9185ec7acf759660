"""From where the stream is replayed after a break: the last event before which nothing is left to do.

Events arrive in order and are finished in any order, because conversations do not wait for each other. A cursor that
followed the arrivals would skip what had not been finished when the process died. So each event is *admitted* when it
arrives and *handled* when its work is done, and the position moves over the longest finished beginning only.

An event whose work failed is *failed*: it holds the position until the stream is opened again. The shell then calls
:func:`rewind`, and the server sends everything after the position once more. Work that still runs from before the break
is not repeated: :func:`admit` says so, and the old work's end counts for the new delivery.

One event that is stuck holds all that come after it, so no step may cost more with their number: what waits lies in
maps that share what has not changed.

Source: canon-adapter R2.12, R2.13; defect D21; decision X1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from canon_hermes_plugin.inbound.persistent_map import PersistentMap

__all__ = ["Admitted", "Cursor", "Ticket", "admit", "failed", "handled", "jump", "rewind"]

Ticket = str


@dataclass(frozen=True, slots=True, eq=False)
class Cursor:
    """Where to resume, and what is on its way.

    Attributes:
        position: the id for ``Last-Event-ID``; None replays nothing.
        arrived: the events after the position, each under its number; the numbers have no gap.
        first: the number of the first of them.
        copies: how many of them are the same event: the server may send one twice.
        done: those of them that are finished.
        running: everything in work, also from before a break.
        unnamed: how many events without an id have come; it makes their tickets.
    """

    position: str | None = None
    arrived: PersistentMap[int, Ticket] = field(default_factory=PersistentMap)
    first: int = 0
    copies: PersistentMap[Ticket, int] = field(default_factory=PersistentMap)
    done: PersistentMap[Ticket, None] = field(default_factory=PersistentMap)
    running: PersistentMap[Ticket, None] = field(default_factory=PersistentMap)
    unnamed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
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
    admitted = replace(
        cursor,
        arrived=cursor.arrived.with_entry(cursor.first + len(cursor.arrived), ticket),
        copies=cursor.copies.with_entry(ticket, cursor.copies.get(ticket, 0) + 1),
        running=cursor.running.with_entry(ticket, None),
        unnamed=unnamed,
    )
    return Admitted(admitted, ticket, ticket in cursor.running)


def handled(cursor: Cursor, ticket: Ticket) -> Cursor:
    """The event's work is done: move the position as far as everything before it is done too."""
    running = cursor.running.without(ticket)
    if ticket not in cursor.copies:
        return replace(cursor, running=running)
    position, arrived, first = cursor.position, cursor.arrived, cursor.first
    copies, done = cursor.copies, cursor.done.with_entry(ticket, None)
    while first in arrived and arrived[first] in done:
        passed = arrived[first]
        kind, _, event_id = passed.partition(":")
        position = event_id if kind == "id" else position
        arrived, first = arrived.without(first), first + 1
        if copies[passed] > 1:  # it waits once more, and is done there too
            copies = copies.with_entry(passed, copies[passed] - 1)
        else:
            copies, done = copies.without(passed), done.without(passed)
    return Cursor(position, arrived, first, copies, done, running, cursor.unnamed)


def failed(cursor: Cursor, ticket: Ticket) -> Cursor:
    """The event's work failed: the position stays before it until the stream is opened again."""
    return replace(cursor, running=cursor.running.without(ticket))


def rewind(cursor: Cursor) -> Cursor:
    """The stream is about to be opened again at the position: what arrived after it will arrive once more."""
    return Cursor(cursor.position, running=cursor.running, unnamed=cursor.unnamed)


def jump(cursor: Cursor, event_id: str | None) -> Cursor:
    """The server cannot replay from the position (``replay.expired``): go on from what it still has, or from now."""
    return replace(rewind(cursor), position=event_id or None)
