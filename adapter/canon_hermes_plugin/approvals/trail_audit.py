"""Whether audit trail, registry and what is kept of both elsewhere can be what our own programs left. Pure.

The trail is followed once. For each approval there is a stack of its lines; a ``void`` takes the topmost away. The
registry names, in each entry, the line of its stack that tells how it stands. Lines above that one were told and did
not get into the registry. That is a crash, if they are the very last that were written, all of them, and nothing is
kept elsewhere that says that the change was finished; otherwise somebody put an older registry back.

What was found before and told by a foreign line is not found again; the foreign line itself is a trouble until a person
has acknowledged it.

Source: the issue's item 3; command-line contract, approvals audit; decision 0040.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import RETENTION_MS, Entry
from canon_hermes_plugin.approvals.heads import Head, Kept
from canon_hermes_plugin.approvals.trail import (
    ACKNOWLEDGED,
    CUT,
    DIGEST_FIELD,
    FOREIGN,
    KEPT,
    START,
    STILL,
    VOID,
    Line,
    Row,
    fits,
    head_of,
    key_of,
    read_rows,
    state_word,
)

__all__ = ["KEPT_MS", "Examined", "Trouble", "examine"]

KEPT_MS: Final = RETENTION_MS + 4 * 86_400_000  # an approval lives three days; so its lines go together, after it
DAMAGED: Final = "damaged"  # what stands under an approval's id and cannot be understood, as a state
_NOTES: Final = frozenset({ACKNOWLEDGED, FOREIGN, KEPT, STILL, VOID})  # what changes no entry but in its trail
_ENDS: Final = frozenset({"resolved", "resolved/delivered", "expired", "orphaned"})


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that cannot be right.

    Attributes:
        line: of the trail, from 1; 0 when it is about the registry.
        what: the end of a sentence about the line or the approval.
        is_told: a foreign line tells it, ``line``, and nobody has acknowledged it.
        expected, found: see :class:`~canon_hermes_plugin.approvals.trail.Line`, ``before`` and ``after``.
    """

    line: int
    what: str
    approval_id: str = ""
    expected: str = ""
    found: str = ""
    is_told: bool = False

    @property
    def is_about_the_trail(self) -> bool:
        return self.line > 0 or not self.approval_id


@dataclass(frozen=True, slots=True)
class Examined:
    """What an examination found.

    Attributes:
        rows: the trail.
        torn_bytes: of its end, half a line that a crash left.
        fresh: what cannot be right and has not been told.
        open: what has been told in foreign lines and acknowledged by nobody.
        undone: lines whose change a crash kept from the registry, in the order of the trail.
    """

    rows: Sequence[Row]
    torn_bytes: int
    fresh: Sequence[Trouble]
    open: Sequence[Trouble]
    undone: Sequence[Line]

    @property
    def lines(self) -> list[Line]:
        return [row.line for row in self.rows if row.line is not None]

    @property
    def has_record(self) -> bool:
        """Whether a line was written by a version that keeps a record of the end."""
        return any(line.batch for line in self.lines)

    @property
    def troubles(self) -> list[Trouble]:
        """Everything that a person has to look into."""
        return [*self.open, *self.fresh]


@dataclass(frozen=True, slots=True)
class _Place:
    """A line of an approval and where in the file it stands."""

    at: int
    line: Line


def examine(data: bytes, book: Book, kept: Sequence[Kept] = ()) -> Examined:
    """Follow the chain, and compare its end with the registry and with what is kept elsewhere.

    Args:
        kept: what is kept beside the registry, then what is kept in other places.
    """
    rows, torn_bytes = read_rows(data)
    return _Examination(rows, book, kept).result(torn_bytes)


class _Examination:
    """One examination; each part of it looks at the whole file."""

    def __init__(self, rows: Sequence[Row], book: Book, kept: Sequence[Kept]) -> None:
        self._rows = rows
        self._book = book
        self._lines = [row.line for row in rows if row.line is not None]
        self._stacks: dict[str, list[_Place]] = {}
        self._broken: set[str] = set()  # lines that were edited: what they say is nobody's word
        self._undone: list[_Place] = []
        self._of_the_trail = [*self._follow(), *self._compare_kept(kept)]
        self._done_at = self._settled(kept)
        # Lines that take a batch back come before those of the next one, and a crash may have torn them off.
        self._last_batch = _batch(next((line for line in reversed(self._lines) if line.number not in _NOTES), None))
        self._is_unfinished = self._is_last_batch_unfinished()

    def result(self, torn_bytes: int) -> Examined:
        told = {line.after for line in self._lines if line.number in (FOREIGN, STILL) and not line.approval_id}
        fresh = [trouble for trouble in self._of_the_trail if trouble.found not in told]
        fresh += [*self._of_entries(), *self._of_damaged(), *self._of_missing()]
        undone = [place.line for place in sorted(self._undone, key=lambda place: place.at)]
        return Examined(self._rows, torn_bytes, fresh, self._unacknowledged(), undone)

    # The chain

    def _follow(self) -> Iterator[Trouble]:
        head: str | None = None
        for at, row in enumerate(self._rows):
            line = row.line
            if line is None:
                yield Trouble(row.number, "is no line of the trail", found=key_of("strange", row.raw))
                continue
            yield from self._of_line(row, line, head)
            head = line.previous if line.number == CUT else line.digest
            stack = self._stacks.setdefault(line.approval_id, [])
            if line.number == VOID:
                del stack[-1:]
            elif line.approval_id and line.number != STILL:
                stack.append(_Place(at, line))

    def _of_line(self, row: Row, line: Line, head: str | None) -> Iterator[Trouble]:
        def trouble(kind: str, what: str) -> Trouble:
            return Trouble(row.number, what, line.approval_id, expected=head or START, found=key_of(kind, row.raw))

        stack = self._stacks.get(line.approval_id, []) if line.approval_id and line.number != STILL else []
        if not line.is_whole:
            self._broken.add(line.digest)
            yield trouble("edited", "was changed after it was written")
        elif head is not None and line.previous != head:
            yield trouble("moved", "does not follow the line before it: lines are missing or moved")
        elif head is None and line.previous != START and line.number != CUT:
            yield trouble("first", "is not the first line that was written")
        elif stack and stack[-1].line.after != line.before and stack[-1].line.digest not in self._broken:
            what = f"begins at {line.before or 'nothing'}, and the line before it ended at {stack[-1].line.after}"
            yield trouble("begins", what)

    # What is kept elsewhere

    def _compare_kept(self, kept: Sequence[Kept]) -> Iterator[Trouble]:
        end = head_of(self._lines)
        for number, place in enumerate(kept):
            if place.head is None:
                if number == 0 and any(line.batch for line in self._lines):
                    what = "the record of its end cannot be read" if place.is_there else "the record of its end is gone"
                    yield Trouble(0, f"the audit trail: {what}", expected=end, found=f"record:{end}")
            elif self._position(place.head) is None:
                what = "the audit trail lacks the line that was its last one: its end was cut off, or it was replaced"
                yield Trouble(0, what, expected=place.head.line, found=f"end:{place.head.line}")

    def _position(self, head: Head) -> int | None:
        """Where the line stands that was the last one then; -1: before the first; None: it is missing."""
        if head.line == START:
            return -1
        for at in range(len(self._rows) - 1, -1, -1):
            line = self._rows[at].line
            if line is not None and (line.digest == head.line or (line.number == CUT and line.previous == head.line)):
                return at
        newest_ms = max((line.at_ms for line in self._lines), default=0)
        was_dropped = any(line.number == CUT for line in self._lines) and newest_ms - head.at_ms > KEPT_MS
        return -1 if was_dropped else None

    def _settled(self, kept: Sequence[Kept]) -> int:
        """Up to where every line is known to have got into the registry: records are written after it."""
        return max((at for place in kept if place.head and (at := self._position(place.head)) is not None), default=-1)

    # The registry

    def _of_entries(self) -> Iterator[Trouble]:
        for entry in self._book:
            found = self._of_entry(entry, self._stacks.get(entry.approval_id, []))
            if found:
                what, expected = found
                yield Trouble(0, what, entry.approval_id, expected, state_word(entry))

    def _of_entry(self, entry: Entry, stack: Sequence[_Place]) -> tuple[str, str] | None:
        """What is wrong with it, and how it stands in the trail."""
        digest, top = entry.fields.get(DIGEST_FIELD), stack[-1].line.after if stack else ""
        if digest is None:  # another program's entry, which has no trail; unless we have told of it
            return ("has lost the name of its last line in the trail", top) if top else None
        at = next((at for at in range(len(stack) - 1, -1, -1) if stack[at].line.digest == digest), None)
        if at is None:
            return "the trail lacks its last line: the end was cut off", top
        above = [place for place in stack[at + 1 :] if place.line.number not in (KEPT, FOREIGN)]
        if above and not (self._is_unfinished and all(self._may_be_open(place) for place in above)):
            return "the registry is behind the trail: an older one was put back", top
        self._undone += above  # a crash: the next change says so in the trail
        base = next(place.line for place in reversed(stack) if place not in above)
        if base.digest in self._broken:
            return None
        if base.after != state_word(entry):
            known = f"{base.after or 'gone'} in the trail"
            return f"is {state_word(entry)} in the registry and {known}: another program changed it", base.after
        if not fits(base, entry):
            what = "was changed by another program: who was asked, who answered what, or where, is not what it was"
            return what, base.after
        return None

    def _is_last_batch_unfinished(self) -> bool:
        """No entry names a line of it: a change gets into the registry as a whole or not at all."""
        tops = ((entry, self._stacks.get(entry.approval_id, [])[-1:]) for entry in self._book)
        return not any(
            place.line.digest == entry.fields.get(DIGEST_FIELD) and self._may_be_open(place)
            for entry, top in tops
            for place in top
        )

    def _may_be_open(self, place: _Place) -> bool:
        return place.at > self._done_at and _batch(place.line) == self._last_batch

    def _of_damaged(self) -> Iterator[Trouble]:
        for approval_id in self._book.damaged:
            stack = self._stacks.get(approval_id, [])
            if stack and stack[-1].line.after != DAMAGED:
                what = f"cannot be understood any more in the registry, and is {stack[-1].line.after} in the trail"
                yield Trouble(0, what, approval_id, stack[-1].line.after, DAMAGED)

    def _of_missing(self) -> Iterator[Trouble]:
        """Approvals of the trail that the registry should still have: only old ends are ever dropped (R10.7)."""
        newest_ms = max((line.at_ms for line in self._lines), default=0)
        for approval_id, stack in self._stacks.items():
            if self._book.is_taken(approval_id) or not stack or not stack[-1].line.after:
                continue
            last = stack[-1].line
            if self._is_unfinished and all(self._may_be_open(place) for place in stack):
                self._undone += stack  # its reservation was told, and then a crash came
            elif not (newest_ms - last.at_ms > RETENTION_MS and last.after in _ENDS):
                what = f"is {last.after} in the trail, and the registry does not have it"
                yield Trouble(0, what, approval_id, last.after, "")

    # What was told

    def _unacknowledged(self) -> list[Trouble]:
        found: dict[tuple[Any, ...], Trouble] = {}
        for row in self._rows:
            line = row.line
            if line is not None and line.number == ACKNOWLEDGED and line.is_whole:
                found.clear()
            elif line is not None and line.number in (FOREIGN, STILL):
                key = (line.approval_id, line.at_ms, line.before, line.after, line.why)
                found[key] = Trouble(row.number, line.why, line.approval_id, line.before, line.after, is_told=True)
        return list(found.values())


def _batch(line: Line | None) -> Any:
    """What the lines that were written together have in common; those of earlier versions, their time and process."""
    if line is None:
        return None
    return line.batch or (line.at_ms, line.process)
