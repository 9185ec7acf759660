"""What is news between two looks at the registry. Pure.

Source: decisions L9; command-line contract, approvals watch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from canon_hermes_plugin.approvals.entry import Entry, Status
from canon_hermes_plugin.approvals.needs import Action, need_of

__all__ = ["Event", "News", "Watched", "look", "state_of"]

OPEN: Final = frozenset({Status.CREATING, Status.PENDING, Status.CONSUMING})


class Event(StrEnum):
    """What happened to an approval."""

    OPEN = "open"  # it was there at the first look, and is not settled
    REQUESTED = "requested"
    CHANGED = "changed"
    EXPIRING = "expiring"  # told once for each expiry
    DAMAGED = "damaged"  # what stands under its id can no longer be read as an approval; told once, until it can
    GONE = "gone"  # it is in the registry no more


@dataclass(frozen=True, slots=True)
class News:
    """One thing to tell. ``before``: the state that it had; None when it is new."""

    event: Event
    entry: Entry
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """What was seen at the last look.

    Attributes:
        entries: as they were read last; None before the first look.
        damaged: which of them cannot be read any more.
        warned: which expiry of which approval was told.
    """

    entries: Mapping[str, Entry] | None = None
    damaged: frozenset[str] = frozenset()
    warned: frozenset[tuple[str, float]] = field(default_factory=frozenset)


def look(
    watched: Watched, entries: Mapping[str, Entry], *, damaged: Collection[str] = (), now_ms: float, within_ms: float
) -> tuple[Watched, tuple[News, ...]]:
    """Compare, and say what is news, in the order of the ids; the end of an approval that nears comes last.

    Args:
        damaged: the ids under which something stands that is no approval; one that was read before is not gone.
        within_ms: how long before its expiry an open approval counts as expiring.
    """
    news = [one for key in sorted(entries) if (one := _of_one(watched, key, entries[key], now_ms=now_ms)) is not None]
    before = watched.entries or {}
    lost = {key: before[key] for key in sorted(before.keys() - entries.keys())}
    spoiled = {key: entry for key, entry in lost.items() if key in damaged}
    news += [
        News(Event.DAMAGED, entry, state_of(entry)) for key, entry in spoiled.items() if key not in watched.damaged
    ]
    news += [News(Event.GONE, entry, state_of(entry)) for key, entry in lost.items() if key not in spoiled]
    near = [entry for entry in entries.values() if _is_near(entry, now_ms=now_ms, within_ms=within_ms)]
    near = sorted(near, key=lambda entry: (entry.expires_at_ms, entry.approval_id))
    untold = [entry for entry in near if (entry.approval_id, entry.expires_at_ms) not in watched.warned]
    news += [News(Event.EXPIRING, entry, state_of(entry)) for entry in untold]
    warned = frozenset((entry.approval_id, entry.expires_at_ms) for entry in near)
    return Watched({**entries, **spoiled}, frozenset(spoiled), warned), tuple(news)


def state_of(entry: Entry) -> str:
    """The state for people and scripts: with the decision, and how far the agent has been told."""
    words = [entry.status.value, *([entry.decision.value] if entry.decision else [])]
    return ":".join([*words, *([f"wake-{entry.wake_status}"] if entry.wake_status else [])])


def _of_one(watched: Watched, key: str, entry: Entry, *, now_ms: float) -> News | None:
    if watched.entries is None:
        is_settled = entry.status not in OPEN and need_of(entry, now_ms=now_ms).action is Action.NOTHING
        return None if is_settled else News(Event.OPEN, entry)
    known = watched.entries.get(key)
    if known is None:
        return News(Event.REQUESTED, entry)
    before = state_of(known)
    return None if before == state_of(entry) else News(Event.CHANGED, entry, before)


def _is_near(entry: Entry, *, now_ms: float, within_ms: float) -> bool:
    return entry.status in OPEN and 0 < entry.expires_at_ms - now_ms <= within_ms
