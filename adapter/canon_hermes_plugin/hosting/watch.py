"""The messages that a host has let wait, until each begins. Pure.

What waits lies in several places of the host, and some of its ways from one to the next lose it: a slot that is written
over, a task that is stopped between taking a message and beginning with it. Nothing says so. But what was seen waiting,
waits nowhere any more and has not begun is lost, and the event itself is still known here.

Source: decisions X1-X2; docs/decisions/0051.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Watch"]


TIMES: Final = 3  # ours: a message that is lost each time it waits is not brought back for ever


@dataclass(slots=True)
class _Waiting:
    session_key: str
    event: Any
    times: int = 0  # it was brought back


class Watch:
    """The events that were seen waiting, by their message, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._seen: dict[str, _Waiting] = {}

    def see(self, session_key: str, message_id: str, event: Any) -> None:
        """A message waits, as an event of its own."""
        known = self._seen.get(message_id)
        self._seen[message_id] = _Waiting(session_key, event, known.times if known is not None else 0)

    def forget(self, message_ids: Iterable[str | None]) -> None:
        """These have begun, or will never run."""
        for message_id in message_ids:
            if message_id is not None:
                self._seen.pop(message_id, None)

    def forget_session(self, session_key: str) -> None:
        """Nothing of a session will run."""
        self.forget([message_id for message_id, one in self._seen.items() if one.session_key == session_key])

    def lost(self, session_key: str, is_there: Callable[[str, Any], bool]) -> list[Any]:
        """The events of a session that wait nowhere and have not begun, to be brought back; each only so often."""
        found = []
        for message_id, one in self._seen.items():
            if one.session_key == session_key and one.times < TIMES and not is_there(message_id, one.event):
                one.times += 1
                found.append(one.event)
        return found
