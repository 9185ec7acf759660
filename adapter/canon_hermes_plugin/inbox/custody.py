"""Which messages a run of the host covers, and what its end means for each of them. Pure.

A run begins for one message, its *head*. Others may be in it too: the host has merged them into the head while it
waited, or their words were put into the run while it went on. What happens to the run happens to all of them. A crash
in its middle may leave work done for each, so each has *started* and is handed over again with a mark; its end, with
evidence, is the end of each. Only the turn is the head's alone: when they are run again, the others get turns of their
own, because the head's may have been told to be over.

A message is in one run at a time. It leaves a run whose model has not read it, and then it waits like any other.

Source: decisions X1-X3; defects D12, D60; docs/decisions/0051.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from canon_hermes_plugin.inbox.items import Settlement, State

__all__ = ["Covered", "Custody", "after_joined", "begun", "covered", "ended", "joined", "left"]

OVER_WELL = frozenset({Settlement.ANSWER, Settlement.SILENCE, Settlement.RAN})


@dataclass(frozen=True, slots=True)
class Covered:
    """The items of one run; ``head`` is None when the host began it for something that is not in the inbox."""

    head: str | None = None
    joined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Custody:
    """The runs that go on, by their turns."""

    runs: Mapping[str, Covered] = field(default_factory=dict)


def begun(state: Custody, turn_id: str, head: str | None, merged: Iterable[str] = ()) -> Custody:
    """A run begins with these items, wherever they were until now."""
    items = Covered(head, tuple(merged))
    for item_id in (*items.joined, *([head] if head is not None else [])):
        state = left(state, item_id)
    return replace(state, runs={**state.runs, turn_id: items})


def joined(state: Custody, turn_id: str, item_id: str) -> Custody:
    """The words of an item are in a run that goes on."""
    state = left(state, item_id)
    before = covered(state, turn_id)
    return replace(state, runs={**state.runs, turn_id: replace(before, joined=(*before.joined, item_id))})


def left(state: Custody, item_id: str) -> Custody:
    """An item is in no run, or not in that one any more; the head of a run stays its head."""
    runs = {
        turn_id: replace(items, joined=tuple(one for one in items.joined if one != item_id))
        if item_id in items.joined
        else items
        for turn_id, items in state.runs.items()
    }
    return replace(state, runs=runs)


def covered(state: Custody, turn_id: str) -> Covered:
    """What a run covers; nothing when it is not known."""
    return state.runs.get(turn_id, Covered())


def ended(state: Custody, turn_id: str) -> Custody:
    """A run is over."""
    return replace(state, runs={known: items for known, items in state.runs.items() if known != turn_id})


def after_joined(after: State | Settlement) -> State | Settlement:
    """What becomes of those that had joined a run, from what becomes of its head."""
    return Settlement.ABSORBED if after in OVER_WELL else after
