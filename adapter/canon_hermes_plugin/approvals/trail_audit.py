"""Whether audit trail and registry can be what our own programs wrote: the chain, its end, and each entry. Pure.

Source: the issue's item 3; command-line contract, approvals audit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import RETENTION_MS
from canon_hermes_plugin.approvals.trail import (
    CUT,
    DIGEST_FIELD,
    KEPT,
    START,
    VOID,
    Line,
    Trouble,
    gist,
    read_lines,
    sealed,
    state_word,
    unfinished,
)

__all__ = ["examine"]

_ENDS: Final = frozenset({"resolved", "resolved/delivered", "expired", "orphaned"})


def examine(data: bytes, book: Book) -> tuple[list[Line], list[Trouble]]:
    """Follow the chain and compare its end with the registry."""
    lines, troubles = read_lines(data)
    head: str | None = None
    last: dict[str, Line] = {}
    named = {entry.fields.get(DIGEST_FIELD) for entry in book}
    for number, line in enumerate(lines, start=1):
        troubles += _of_line(number, line, head, last.get(line.approval_id))
        head = line.previous if line.number == CUT else line.digest
        if line.number != KEPT or line.digest in named:  # else a crash came before the registry, and nothing changed
            last[line.approval_id] = line
    troubles += [*_against(book, lines, last), *_missing(book, lines, last)]
    return lines, troubles


def _of_line(number: int, line: Line, head: str | None, before: Line | None) -> Iterator[Trouble]:
    def trouble(what: str) -> Trouble:
        return Trouble(number, what, line.approval_id)

    if sealed(line).digest != line.digest:
        yield trouble("was changed after it was written")
    elif head is not None and line.previous != head:
        yield trouble("does not follow the line before it: lines are missing or moved")
    elif head is None and line.previous != START and line.number != CUT:
        yield trouble("is not the first line that was written")
    elif before is not None and before.after != line.before:
        yield trouble(f"begins at {line.before or 'nothing'}, and the line before it ended at {before.after}")


def _against(book: Book, lines: Sequence[Line], last: dict[str, Line]) -> Iterator[Trouble]:
    digests = {line.digest for line in lines}
    open_end = {line.digest for line in unfinished(lines, book)}
    batches = {(line.at_ms, line.process) for line in lines if line.digest in open_end}
    for entry in book:
        digest, line = entry.fields.get(DIGEST_FIELD), last.get(entry.approval_id)
        if digest is None:
            continue  # another program's entry, which has no trail
        if digest not in digests:
            yield Trouble(0, "the trail lacks its last line: the end was cut off", entry.approval_id)
        elif line is None or line.number == VOID:
            continue
        elif line.digest in open_end and len(batches) == 1:
            continue  # a crash: the next change says so in the trail
        elif line.digest != digest:
            yield Trouble(0, "the registry is behind the trail: an older one was put back", entry.approval_id)
        elif line.after != state_word(entry):
            what = f"is {state_word(entry)} in the registry and {line.after} in the trail: another program changed it"
            yield Trouble(0, what, entry.approval_id)
        elif line.gist and line.gist != gist(entry):
            what = "was changed by another program: who was asked, who answered what, or where, is not what it was"
            yield Trouble(0, what, entry.approval_id)


def _missing(book: Book, lines: Sequence[Line], last: dict[str, Line]) -> Iterator[Trouble]:
    """Approvals of the trail that the registry should still have: only old ends are ever dropped (R10.7)."""
    newest_ms = max((line.at_ms for line in lines), default=0)
    open_end = {line.approval_id for line in unfinished_births(lines, book)}
    for approval_id, line in last.items():
        if book.is_taken(approval_id) or line.number == CUT or not line.after or approval_id in open_end:
            continue
        is_old = newest_ms - line.at_ms > RETENTION_MS
        if not (is_old and line.after in _ENDS):
            yield Trouble(0, f"is {line.after} in the trail, and the registry does not have it", approval_id)


def unfinished_births(lines: Sequence[Line], book: Book) -> Sequence[Line]:
    """Reservations of the very last batch that never got into the registry: a crash came between."""
    last_batch = (lines[-1].at_ms, lines[-1].process) if lines else None
    return [
        line
        for line in lines
        if line.number == "T1" and (line.at_ms, line.process) == last_batch and not book.is_taken(line.approval_id)
    ]
