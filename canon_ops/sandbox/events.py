"""The event log of one agent: what its streams have said, and what can be said again.

A stream does not own a queue. It remembers the position of the last event it wrote and asks for what follows, so a slow
reader costs nothing and a reader that is too slow is told so (:class:`Expired`) instead of growing a buffer.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from typing import Any

__all__ = ["Event", "EventLog", "Expired", "compact"]


DIGITS = 10


def compact(value: Any) -> str:
    """JSON the way the wire carries it: no spaces, real characters."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode()  # half a character is escaped, as JSON has it


@dataclass(frozen=True, slots=True)
class Event:
    """One event, ready to be written.

    Attributes:
        position: 1 for the first event of this log; never reused.
        event_id: what the stream sends as ``id``.
        name: what the stream sends as ``event``.
        data: one line of compact JSON.
        occasion: what the event is about, a message id for messages; fault schedules count these.
    """

    position: int
    event_id: str
    name: str
    data: str
    occasion: str

    def payload(self) -> Any:
        return json.loads(self.data)

    def alias(self, word: str, *, before: bool = False) -> str:
        """Another id for the place right after this event, or right before it: a reader may resume from it."""
        prefix, position = self.event_id[:-DIGITS], self.position - before
        return f"{prefix}{position:0{DIGITS}d}-{word}"

    def frame(self) -> str:
        """The bytes of the stream, as text. Source: Canon wire 6.2, 11.7."""
        return f"id: {self.event_id}\nevent: {self.name}\ndata: {self.data}\n\n"


@dataclass(frozen=True, slots=True)
class Expired:
    """The asked-for event is unknown here or no longer held; ``last_event_id`` is the newest one, if any."""

    last_event_id: str | None


class EventLog:
    """Events of one agent in order, with a window for replay.

    Args:
        prefix: starts every event id; it differs between two sandboxes, so that a cursor of another one is unknown.
        window: how many events are held.
    """

    def __init__(self, prefix: str, window: int) -> None:
        self._prefix = prefix
        self._held: deque[Event] = deque(maxlen=window)
        self._count = 0

    @property
    def end(self) -> int:
        """The position of the newest event; 0 when nothing happened yet."""
        return self._count

    @property
    def last_event_id(self) -> str | None:
        return self._held[-1].event_id if self._held else None

    def append(self, name: str, payload: Any, *, occasion: str = "") -> Event:
        """Add an event at the end."""
        self._count += 1
        event_id = f"{self._prefix}{self._count:0{DIGITS}d}"
        event = Event(self._count, event_id, name, compact(payload), occasion or event_id)
        self._held.append(event)
        return event

    def after(self, position: int) -> list[Event] | Expired:
        """Everything after ``position``; :class:`Expired` when the window has moved past it."""
        if position >= self._count:
            return []
        first = self._count - len(self._held) + 1
        if position + 1 < first:
            return Expired(self.last_event_id)
        return [self._held[index] for index in range(position + 1 - first, len(self._held))]

    def locate(self, event_id: str) -> int | Expired:
        """The position from which a reader that holds ``event_id`` goes on, the way a ``Last-Event-ID`` is read.

        What stands behind a dash is a name that a fault gave to the same position.
        """
        digits = event_id.removeprefix(self._prefix).partition("-")[0]
        if not event_id.startswith(self._prefix) or not re.fullmatch(rf"[0-9]{{{DIGITS}}}", digits):
            return Expired(self.last_event_id)
        position = int(digits)
        if not self._count - len(self._held) <= position <= self._count:
            return Expired(self.last_event_id)
        return position
