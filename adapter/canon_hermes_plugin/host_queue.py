"""The messages that wait inside the host for a session's running turn to end.

The host keeps them in several places, by version and by mode: one slot a session, a list behind it, a burst that is
still being collected, and the queue of its start. They are looked at by attribute, on objects that the host handed us;
a place that a version lacks is empty. Everything happens between two awaits of the gateway's own loop, so an event that
is found here has not begun.

Source: canon-adapter R6.2, D59; hermes-host 9.3, 12.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from canon_hermes_plugin.corrections import corrected_in
from canon_hermes_plugin.inbound import marked

__all__ = ["HostQueue"]

TEXTS_REMEMBERED: Final = 256  # ours: a burst swallows the events that it collects, their texts tell them apart


@dataclass(frozen=True, slots=True)
class _Handed:
    """What a message was when the host got it: its text with the markers behind it, and its files."""

    text: str
    markers: tuple[str, ...]
    files: tuple[str, ...]


class HostQueue:
    """The waiting events of one adapter.

    Args:
        message_id_of: the Canon message that an event of the host was made of.
    """

    def __init__(self, adapter: Any, message_id_of: Callable[[Any], str | None]) -> None:
        self._adapter = adapter
        self._message_id_of = message_id_of
        self._texts: OrderedDict[str, _Handed] = OrderedDict()

    def depth(self, session_key: str) -> int:
        """How many messages of the session wait for its turn to end; a burst that is being collected is one."""
        waiting = (session_key in self._slots) + (session_key in self._bursts)
        return waiting + len(self._behind.get(session_key, ()))

    def holds(self, message_id: str) -> bool:
        """Whether an event of this message waits."""
        return any(self._message_id_of(event) == message_id for event, _ in self._waiting())

    def handed(
        self, message_id: str | None, text: str, *, markers: tuple[str, ...] = (), files: tuple[str, ...] = ()
    ) -> None:
        """Remember what a message said and had when the host got it.

        Args:
            markers: what ``text`` ends with whatever its author says.
        """
        if message_id is None:
            return
        self._texts[message_id] = _Handed(text, markers, files)
        if len(self._texts) > TEXTS_REMEMBERED:
            self._texts.popitem(last=False)

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
    def _behind(self) -> Mapping[str, Any]:
        return getattr(self._runner, "_queued_events", None) or {}

    @property
    def _at_start(self) -> Any:
        return getattr(self._runner, "_startup_restore_queue", None) or []


def _take_files(event: Any, files: tuple[str, ...]) -> None:
    """Take a message's files out of an event; the host holds them in two lists side by side."""
    if files:
        kinds = [*event.media_types, *[""] * len(event.media_urls)]
        rest = [(path, kind) for path, kind in zip(event.media_urls, kinds, strict=False) if path not in files]
        event.media_urls[:] = [path for path, _ in rest]
        event.media_types[:] = [kind for _, kind in rest]
