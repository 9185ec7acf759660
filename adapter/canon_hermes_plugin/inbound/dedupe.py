"""Message ids that have been seen, so that a message which the stream delivers twice opens one turn.

An id is *running* from its admission until somebody says how that went: settled, and it is remembered; or released,
because the work failed, and the next delivery is admitted again. Only settled ids are forgotten, oldest first; ids in
work are never pushed out, or a long queue could be worked through twice.

Unlike the other parts of the inbound state this one changes in place: a copy of 1,024 ids for every message was the
largest single cost of receiving it.

Source: canon-adapter R2.14; defects D21, D42.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["Seen"]

REMEMBERED: Final = 1_024  # canon-adapter R2.14


class Seen:
    """The ids in work, and the newest 1,024 that have been dealt with.

    A message without an id is always new, and nothing is remembered of it.
    """

    __slots__ = ("_running", "_settled")

    def __init__(self, settled: Iterable[str] = ()) -> None:
        self._settled: dict[str, None] = dict.fromkeys(settled)  # oldest first
        self._running: set[str] = set()

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._settled or message_id in self._running

    def __len__(self) -> int:
        return len(self._settled) + len(self._running)

    @property
    def settled(self) -> tuple[str, ...]:
        """What has been dealt with and is remembered, oldest first."""
        return tuple(self._settled)

    def is_running(self, message_id: str) -> bool:
        """Whether the message was admitted and nobody has said yet how it went."""
        return message_id in self._running

    def admit(self, message_id: str | None) -> bool:
        """Whether this delivery is the one to work on."""
        if message_id is None:
            return True
        if message_id in self:
            return False
        self._running.add(message_id)
        return True

    def settle(self, message_id: str | None) -> None:
        """The message has been dealt with; further deliveries are dropped while it is among the newest 1,024."""
        if message_id is None:
            return
        self._running.discard(message_id)
        self._settled[message_id] = None
        if len(self._settled) > REMEMBERED:
            del self._settled[next(iter(self._settled))]

    def release(self, message_id: str | None) -> None:
        """The work failed: the next delivery is admitted again."""
        if message_id is not None:
            self._running.discard(message_id)
