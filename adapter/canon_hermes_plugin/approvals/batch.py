"""Several events over one registry, as one change: pure, so that the store on the disk and a test's memory do the same.

Source: canon-adapter R10.10; decisions A3; the issue's "concurrent transitions share one durable write".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.events import Event
from canon_hermes_plugin.approvals.machine import Transition, TransitionError, decide

__all__ = ["Changes", "EntryDamaged", "Happening", "Request", "carry_out"]


class EntryDamaged(TransitionError):
    """What stands under that id is no entry; it is kept as it is, and nothing can be done with it."""


@dataclass(frozen=True, slots=True)
class Request:
    """An event for one approval."""

    approval_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class Happening:
    """A transition that changed something, as the audit trail tells it."""

    approval_id: str
    number: str
    before: Entry | None
    after: Entry
    at_ms: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What a batch did: the new book, one answer for each request, and what changed, in order."""

    book: Book
    answers: list[Transition | TransitionError]
    happenings: tuple[Happening, ...]


def carry_out(book: Book, requests: Iterable[Request], *, now_ms: int) -> Changes:
    """Apply the events in order; one that is not possible has its error as its answer and hinders no other."""
    answers: list[Transition | TransitionError] = []
    happenings: list[Happening] = []
    changed: dict[str, Entry] = {}
    for request in requests:
        key = request.approval_id
        before = changed.get(key) or book.get(key)
        try:
            if before is None and key in book.damaged:
                raise EntryDamaged(f"the entry {key} {book.reasons[key]}")
            step = decide(before, request.event, now_ms=now_ms)
        except TransitionError as error:
            answers.append(error)
            continue
        answers.append(step)
        if step.is_change and step.entry is not None:
            changed[key] = step.entry
            happenings.append(Happening(key, step.number, before, step.entry, now_ms))
    return Changes(book.with_entries(changed), answers, tuple(happenings))
