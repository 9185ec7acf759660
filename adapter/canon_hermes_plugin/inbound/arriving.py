"""The messages that have come and are not with the host yet, in the order of their conversations.

One may wait for its files, or behind another that does. What a person's stop drops has not begun, wherever it waits, so
a stop looks here as well as into the host's own places (hosting/queue.py).

Source: canon-adapter R5.6, R5.31; defects D10, D25.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Arriving", "InWork"]


@dataclass(frozen=True, slots=True)
class InWork:
    """One message on its way.

    Attributes:
        item_id: what the inbox knows it by.
        author: the person who said it; None for anybody else.
        is_held: it is in memory, so that whoever drops it must say so to its hand-over.
    """

    item_id: str
    message_id: str | None
    author: str | None
    is_held: bool


class Arriving:
    """By conversation; a conversation of which nothing is on its way costs nothing."""

    def __init__(self) -> None:
        self._by_conversation: dict[str, dict[str, InWork]] = {}

    def came(self, conversation_id: str, one: InWork) -> None:
        """A message has a place in its lane."""
        self._by_conversation.setdefault(conversation_id, {})[one.item_id] = one

    def left(self, conversation_id: str, item_id: str) -> None:
        """Its hand-over is over, however it ended."""
        waiting = self._by_conversation.get(conversation_id, {})
        waiting.pop(item_id, None)
        if not waiting:
            self._by_conversation.pop(conversation_id, None)

    def of(self, conversation_id: str) -> tuple[InWork, ...]:
        """What is on its way there, the oldest first."""
        return tuple(self._by_conversation.get(conversation_id, {}).values())

    @property
    def items(self) -> frozenset[str]:
        """All that is on its way, by what the inbox knows it by."""
        return frozenset(item_id for waiting in self._by_conversation.values() for item_id in waiting)
