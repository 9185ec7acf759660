"""The messages that wait for a session's running turn to end: one inside the host, the others in a line of our own.

A host that holds many loses some: it drops what is beyond its limit, it writes one over another when it has answered a
few in one run, and ``/stop`` throws away the next one. So it gets the next message when it has none
(docs/decisions/0042), and what its events for itself do is its own matter.

The host keeps them in several places, by version and by mode: one slot a session, a list behind it, a burst that is
still being collected, and the queue of its start. They are looked at by attribute, on objects that the host handed us;
a place that a version lacks is empty. Everything happens between two awaits of the gateway's own loop, so an event that
is found here has not begun.

Source: canon-adapter R6.2, D59; hermes-host 9.3, 12.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from canon_hermes_plugin.hosting.watch import Watch
from canon_hermes_plugin.inbound.corrections import corrected_in
from canon_hermes_plugin.inbound.gate import marked

__all__ = ["ABSORBED", "HostQueue", "carry"]

ABSORBED: Final = "canon_absorbed"  # on an event that swallowed others: their arrivals, which go where it goes

TEXTS_REMEMBERED: Final = 256  # ours: a burst swallows the events that it collects, their texts tell them apart


@dataclass(frozen=True, slots=True)
class _Handed:
    """What a message was when the host got it: its text with the markers behind it, and its files."""

    text: str
    markers: tuple[str, ...]
    files: tuple[str, ...]
    arrival: Any = None


class HostQueue:
    """The waiting events of one adapter.

    Args:
        message_id_of: the Canon message that an event of the host was made of.
    """

    def __init__(self, adapter: Any, message_id_of: Callable[[Any], str | None]) -> None:
        self._adapter = adapter
        self._message_id_of = message_id_of
        self._texts: dict[str, _Handed] = {}  # the oldest in front
        self._look_at = 2 * TEXTS_REMEMBERED
        self._line: dict[str, deque[Any]] = {}  # behind what the host has; no session without an event
        self._watch = Watch()

    def depth(self, session_key: str) -> int:
        """How many messages of the session wait for its turn to end; a burst that is being collected is one."""
        return self._in_host(session_key) + len(self._line.get(session_key, ()))

    def _in_host(self, session_key: str) -> int:
        waiting = (session_key in self._slots) + (session_key in self._bursts)
        return waiting + len(self._behind.get(session_key, ()))

    @property
    def lines(self) -> tuple[str, ...]:
        """The sessions of which something waits with us."""
        return tuple(self._line)

    def has_room(self, session_key: str, event: Any) -> bool:
        """Whether the host gets an event now: it has none of the session, or merges this one into the one it has."""
        if session_key in self._line:
            return False
        head = self._slots.get(session_key)
        merges = head is not None and bool(head.media_urls or event.media_urls)
        return merges or not self._in_host(session_key)

    def keep_next_only(self, session_key: str, event: Any) -> None:
        """Take an event that the host has put behind the next one into our line: some hosts merge only pictures."""
        behind = self._behind.get(session_key, ())
        if any(one is event for one in behind):
            behind.remove(event)
            self.line_up(session_key, event)

    def line_up(self, session_key: str, event: Any) -> None:
        """Let an event wait with us, behind the others."""
        self._line.setdefault(session_key, deque()).append(event)

    def next_in_line(self, session_key: str) -> Any:
        """Take the event out that the host gets next; None while it has one, or nothing waits with us."""
        if session_key not in self._line or self._in_host(session_key):
            return None
        event = self._line[session_key].popleft()
        if not self._line[session_key]:
            del self._line[session_key]
        return event

    def take_back(self, session_key: str) -> None:
        """The host is about to throw away what it has next: if it is ours, it goes to the front of our line instead."""
        head = self._slots.get(session_key)
        if head is not None and self._message_id_of(head) is not None:
            del self._slots[session_key]
            self.put_first(session_key, head)

    def put_first(self, session_key: str, event: Any) -> None:
        """Let an event wait with us, in front of the others."""
        self._line.setdefault(session_key, deque()).appendleft(event)

    def look(self, session_of: Callable[[Any], str]) -> None:
        """Remember what waits by now, with the session of each event."""
        for event, _ in self._waiting():
            if (message_id := self._message_id_of(event)) is not None:
                self._watch.see(session_of(event), message_id, event)

    def begun(self, event: Any) -> None:
        """A run has begun with an event, and with what it has swallowed."""
        self._watch.forget(self._messages_in(event))

    def lost(self, session_key: str, *, taken: Any, is_under_way: Callable[[Any], bool]) -> list[Any]:
        """What has waited in a session, waits nowhere now, is not under way and has not begun.

        Args:
            taken: the event that the host has taken last, or None; what it has swallowed went with it.
        """
        there = set(self._messages_in(taken)) if taken is not None else set()
        return self._watch.lost(
            session_key, lambda message_id, event: message_id in there or self.holds(message_id) or is_under_way(event)
        )

    def is_busy(self, session_key: str) -> bool:
        """Whether the host runs something in the session, so that a message of it waits."""
        return session_key in self._adapter._active_sessions

    def holds(self, message_id: str) -> bool:
        """Whether an event of this message waits, or one that has swallowed it."""
        return any(message_id in self._messages_in(event) for event, _ in self._waiting())

    def has(self, session_key: str, event: Any) -> bool:
        """Whether this very event waits in its session.

        A host that has us not among its platforms, which is so until we have connected, takes an event and keeps it
        nowhere.
        """
        burst = self._bursts.get(session_key)
        places = (self._slots.get(session_key), burst.event if burst is not None else None)
        lists = (self._behind.get(session_key, ()), self._line.get(session_key, ()), self._at_start)
        return any(one is event for one in (*places, *(one for events in lists for one in events)))

    def event_of(self, message_id: str) -> Any:
        """The waiting event of a message; None when none is its own."""
        return next((event for event, _ in self._waiting() if self._message_id_of(event) == message_id), None)

    def swallower(self, session_key: str, event: Any) -> Any:
        """The waiting event into which the host has merged this one; None when it waits itself, or was dropped.

        Hosts merge where attachments are in play, and drop what is beyond the most that may wait. Source: R5.15.
        """
        head = self._slots.get(session_key)
        waiting = (*self._behind.get(session_key, ()), *self._line.get(session_key, ()))
        if head is None or head is event or any(one is event for one in waiting):
            return None
        return head if head.media_urls or event.media_urls else None

    def note_joined(self, message_id: str) -> bool:
        """Whether the host has joined a message to another one that waits; from now on it travels with that one.

        A host does so while it starts and while an agent is being made, and says nothing of it. What tells is the text
        of the one that waits: it holds more than its author wrote, and what we have handed over as whole lines.
        """
        known = self._texts.get(message_id)
        if known is None or known.arrival is None or self.holds(message_id):
            return False
        for event, _ in self._waiting():
            own = self._texts.get(self._message_id_of(event) or "")
            added = corrected_in(event.text or "", own.text, None) if own is not None and own is not known else None
            if added and corrected_in(added, known.text, None) is not None:
                setattr(event, ABSORBED, [*getattr(event, ABSORBED, ()), known.arrival])
                return True
        return False

    def drop(self, session_key: str) -> list[Any]:
        """Take everything out that waits in a session. Source: R5.10."""
        dropped = [] if (head := self._slots.pop(session_key, None)) is None else [head]
        if (burst := self._bursts.get(session_key)) is not None:
            dropped.append(burst.event)
            self._end_burst(session_key)
        behind = self._behind.get(session_key)
        if behind is not None:
            dropped.extend(behind)
            self._behind.pop(session_key, None)
        dropped.extend(self._line.pop(session_key, ()))
        self._watch.forget_session(session_key)
        return dropped

    def waiting_in(self, conversation_id: str) -> list[tuple[str, str | None]]:
        """The sessions of a conversation in which something waits, each with somebody who waits in it."""
        places: list[tuple[str, Any]] = [
            *self._slots.items(),
            *((key, burst.event) for key, burst in self._bursts.items()),
            *(
                (key, event)
                for places in (self._behind, self._line)
                for key, events in places.items()
                for event in events
            ),
        ]
        found: dict[str, str | None] = {}
        for session_key, event in places:
            if str(event.source.chat_id) == conversation_id:
                found.setdefault(session_key, event.source.user_id)
        return list(found.items())

    def handed(
        self,
        message_id: str | None,
        text: str,
        *,
        markers: tuple[str, ...] = (),
        files: tuple[str, ...] = (),
        arrival: Any = None,
    ) -> None:
        """Remember what a message said and had when the host got it.

        Args:
            markers: what ``text`` ends with whatever its author says.
            arrival: what travels with an event that swallows it.
        """
        if message_id is None:
            return
        self._texts[message_id] = _Handed(text, markers, files, arrival)
        if len(self._texts) > self._look_at:
            self._forget()

    def _forget(self) -> None:
        """Let go of the oldest; what still waits can be corrected, however many came behind it."""
        waiting = {each for event, _ in self._waiting() for each in self._messages_in(event)}
        others = [message_id for message_id in self._texts if message_id not in waiting]
        for message_id in others[: max(0, len(others) - TEXTS_REMEMBERED)]:
            del self._texts[message_id]
        self._look_at = 2 * max(TEXTS_REMEMBERED, len(self._texts))

    def _messages_in(self, event: Any) -> Iterator[str | None]:
        yield self._message_id_of(event)
        yield from (one.message_id for one in getattr(event, ABSORBED, ()))

    def amend(self, message_id: str, text: str | None) -> bool:
        """Change the text of a waiting message, or take it away when ``text`` is None; False when it does not wait.

        What is taken away takes its files along; those of others that the host has put into the same event stay.
        """
        old = self._texts.get(message_id)
        if old is None:
            return False
        waiting = list(self._waiting())
        named = [one for one in waiting if self._message_id_of(one[0]) == message_id]
        for event, remove in named or waiting:
            put = marked(text, old.markers) if text is not None else None
            now = corrected_in(event.text or "", old.text, put)
            if now is None:
                continue
            event.text = now
            if put is not None:
                self._texts[message_id] = replace(old, text=put)
                return True
            _take_files(event, old.files)
            if not now and not event.media_urls:
                remove()
                self._watch.forget([message_id])
            return True
        return False

    def _waiting(self) -> Iterator[tuple[Any, Callable[[], None]]]:
        """Each waiting event, and how it is taken out."""
        for key, event in list(self._slots.items()):
            yield event, partial(self._slots.pop, key, None)
        for key, burst in list(self._bursts.items()):
            yield burst.event, partial(self._end_burst, key)
        for events in [*self._behind.values(), self._at_start]:
            for event in list(events):
                yield event, partial(events.remove, event)
        for key, line in list(self._line.items()):
            for event in list(line):
                yield event, partial(self._leave_line, key, event)

    def _leave_line(self, session_key: str, event: Any) -> None:
        self._line[session_key].remove(event)
        if not self._line[session_key]:
            del self._line[session_key]

    def _end_burst(self, session_key: str) -> None:
        burst = self._bursts.pop(session_key, None)
        if burst is not None and burst.task is not None:
            burst.task.cancel()

    @property
    def _runner(self) -> Any:
        return getattr(self._adapter, "gateway_runner", None)

    @property
    def _slots(self) -> Any:
        return self._adapter._pending_messages

    @property
    def _bursts(self) -> Any:
        return getattr(self._adapter, "_text_debounce", None) or {}

    @property
    def _behind(self) -> MutableMapping[str, Any]:
        found: MutableMapping[str, Any] | None = getattr(self._runner, "_queued_events", None)
        return found if found is not None else {}

    @property
    def _at_start(self) -> Any:
        return getattr(self._runner, "_startup_restore_queue", None) or []


def carry(head: Any, arrival: Any) -> bool:
    """Note on an event whom it has swallowed; False when it takes no notes."""
    try:
        carried = vars(head).setdefault(ABSORBED, [])
    except TypeError:
        return False
    carried.append(arrival)
    return True


def _take_files(event: Any, files: tuple[str, ...]) -> None:
    """Take a message's files out of an event; the host holds them in two lists side by side."""
    if files:
        kinds = [*event.media_types, *[""] * len(event.media_urls)]
        rest = [(path, kind) for path, kind in zip(event.media_urls, kinds, strict=False) if path not in files]
        event.media_urls[:] = [path for path, _ in rest]
        event.media_types[:] = [kind for _, kind in rest]
