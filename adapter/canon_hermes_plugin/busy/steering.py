"""Words that were put into a running turn and that its model has not read. Pure, but for the list itself.

A host takes such words at once and gives them to the model with its next request. It may not come to that: the model
was writing its last words already. Then the host either answers them in the same run, as if they had been said
afterwards, or it loses them: when another message is taken first, when they came after the run was wrapped up, when it
failed. So each message is remembered until a request that follows it has ended, and what is left at the end of a run is
sorted: what the host answers itself, and what has to wait like any other message.

Source: Canon adapter R6.34 (a left-over steer), R8.11; D12.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

__all__ = ["Steered", "Steering", "late_ones"]


@dataclass(frozen=True, slots=True)
class Steered:
    """One message in a running turn.

    Attributes:
        number: its place among all of the adapter's.
        event: the host's event, should it have to wait after all.
        agent: the host's agent that took the words.
    """

    number: int
    words: str
    event: Any
    agent: Any


class Steering:
    """What was put into the turns of one adapter, by session, until it is known to be read or taken back."""

    def __init__(self) -> None:
        self._unread: dict[str, tuple[Steered, ...]] = {}

    def put(self, session_key: str, one: Steered) -> None:
        """The agent has taken the words."""
        self._unread[session_key] = (*self._unread.get(session_key, ()), one)

    def take(self, session_key: str, unread: Collection[int]) -> tuple[Steered, ...]:
        """What of the session is unread, in order; it is forgotten, like everything else of the session."""
        return tuple(one for one in self._unread.pop(session_key, ()) if one.number in unread)


def late_ones(steered: tuple[Steered, ...], waiting: str | None) -> int:
    """How many of the last ones are the words that wait in the agent still; the host joins them with line ends.

    Returns:
        All of them when the words are others' too: then none is known to be answered by the host.
    """
    if not waiting:
        return 0
    words = [one.words for one in steered]
    for count in range(1, len(words) + 1):
        if "\n".join(words[-count:]) == waiting:
            return count
    return len(words)
