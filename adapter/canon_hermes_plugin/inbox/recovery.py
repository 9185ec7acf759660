"""What a gateway that starts again owes for what the last one left: decided from the rows, in order. Pure.

Three kinds of remains. An *item* that was not settled is handed over again, one that had started marked and only after
the host had its chance: after a crash the host resumes some sessions by itself, and a resumed run adopts the item. A
*turn* that was open may have left a node with half a narration; it is emptied before anything else is said there, so
that no later deletion can make a message of it. An *operation* that was not settled is sent again.

What a dead turn is told last depends on what follows: nothing is published where the same turn goes on, its answer is
delivered first where there is one, and otherwise the turn was interrupted.

Source: decisions X1-X3; defects D24, D37.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from canon_hermes_plugin.inbox.items import Item, State

__all__ = ["DeadTurn", "Remedy", "Rest", "continued", "remedy_for", "rest_of"]


@dataclass(frozen=True, slots=True)
class DeadTurn:
    """A turn that may have something on Canon's live surfaces from before the last gateway ended.

    Attributes:
        was_closed: it was over, and only its node may be left.
    """

    turn_id: str
    conversation_id: str
    opened_ms: int
    was_closed: bool = False


class Remedy(StrEnum):
    """What an unsettled item gets."""

    HAND_OVER = "hand_over"  # it has done nothing yet
    AWAIT_ADOPTION = "await_adoption"  # the host may resume it; else it is handed over again, marked
    GIVE_UP = "give_up"  # it has begun too often


class Rest(StrEnum):
    """How a dead turn is laid to rest, once its node is empty."""

    SILENT = "silent"  # it was closed before; only the node is seen to
    GOES_ON = "goes_on"  # its message will be run again as the same turn
    AFTER_ANSWER = "after_answer"  # its answer is on its way: completed when that has arrived
    INTERRUPTED = "interrupted"


def remedy_for(item: Item) -> Remedy:
    """What to do with an item that the last gateway left."""
    if item.is_exhausted:
        return Remedy.GIVE_UP
    return Remedy.AWAIT_ADOPTION if item.state is State.STARTED else Remedy.HAND_OVER


def rest_of(turn: DeadTurn, items: Sequence[Item], answered: frozenset[str]) -> Rest:
    """How to close a dead turn.

    Args:
        answered: the turns whose answer is in the outbox.
    """
    if turn.was_closed:
        return Rest.SILENT
    if turn.turn_id in answered:
        return Rest.AFTER_ANSWER
    goes_on = any(item.turn_id == turn.turn_id and not item.is_exhausted for item in items)
    return Rest.GOES_ON if goes_on else Rest.INTERRUPTED


def continued(item: Item, turns: Sequence[DeadTurn]) -> Item:
    """The item as it is run again: as the same turn, if that one is still open on Canon.

    A turn that is closed stays closed, by a gateway that stopped or by a run without a trace: an answer of it would
    come after its end. A turn of which nothing is known any more was closed, and its node is gone.
    """
    is_open = any(turn.turn_id == item.turn_id and not turn.was_closed for turn in turns)
    return item if is_open else replace(item, turn_id=None)
