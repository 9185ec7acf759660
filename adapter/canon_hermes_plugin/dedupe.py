"""Message ids that have been seen, so that a message which the stream delivers twice opens one turn.

An id is *running* from its admission until somebody says how that went: settled, and it is remembered; or released,
because the work failed, and the next delivery is admitted again. Only settled ids are forgotten, oldest first; ids in
work are never pushed out, or a long queue could be worked through twice.

Source: canon-adapter R2.14; defects D21, D42.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

__all__ = ["REMEMBERED", "Seen", "admit", "release", "settle"]

REMEMBERED: Final = 1_024  # canon-adapter R2.14


@dataclass(frozen=True, slots=True)
class Seen:
    """``settled`` maps ids to nothing, oldest first; ``running`` is what has been admitted and is not finished."""

    settled: Mapping[str, None] = field(default_factory=dict)
    running: frozenset[str] = frozenset()

    def __contains__(self, message_id: str) -> bool:
        return message_id in self.settled or message_id in self.running


def admit(seen: Seen, message_id: str | None) -> tuple[Seen, bool]:
    """Whether this delivery is the one to work on; a message without an id always is."""
    if message_id is None:
        return seen, True
    if message_id in seen:
        return seen, False
    return replace(seen, running=seen.running | {message_id}), True


def settle(seen: Seen, message_id: str | None) -> Seen:
    """The message has been dealt with; further deliveries are dropped while it is among the newest 1,024."""
    if message_id is None:
        return seen
    settled = {**seen.settled, message_id: None}
    if len(settled) > REMEMBERED:
        del settled[next(iter(settled))]
    return Seen(settled, seen.running - {message_id})


def release(seen: Seen, message_id: str | None) -> Seen:
    """The work failed: the next delivery is admitted again."""
    return seen if message_id is None else replace(seen, running=seen.running - {message_id})
