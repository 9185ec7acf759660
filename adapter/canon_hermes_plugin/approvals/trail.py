"""The audit trail: one line for every transition, each bound to the line before, so that none can change unnoticed.

A line tells when, which process, which approval, from where to where, and why. Its digest covers the line and the
digest of the line before; so an edited line breaks at itself, a deleted or swapped one at its neighbour. What a chain
cannot show by itself is that its end was cut off: so the registry keeps, in each entry, the digest of the entry's own
last line. Whoever cuts the trail has to change the registry, too, whose every change leaves a line.

Lines of approvals that the registry has dropped go after their retention; a first line then says how many went and to
which digest the rest is bound. Pure; :mod:`canon_hermes_plugin.approvals.store` writes the file.

Source: the issue's item 3; command-line contract, approvals audit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canon_hermes_plugin.approvals.batch import Happening
from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import RETENTION_MS, Entry

__all__ = [
    "DIGEST_FIELD",
    "Line",
    "Trouble",
    "appended",
    "examine",
    "head_of",
    "read_lines",
    "shortened",
    "unfinished",
    "voided",
]

DIGEST_FIELD: Final = "auditDigest"
START: Final = "0" * 32
CUT: Final = "cut"
VOID: Final = "void"
_ENDS: Final = frozenset({"resolved", "resolved/delivered", "expired", "orphaned"})
WHY: Final = {
    "T1": "asked for by the agent",
    "T2": "Canon has it",
    "T2a": "Canon named no responder, or another one",
    "T3": "Canon refused it",
    "T4": "its creation was abandoned; asking Canon",
    "T5": "asking Canon for the answer",
    "T6": "the last asking was abandoned; asking again",
    "T8": "a human decided",
    "T9": "nobody has answered yet",
    "T10": "nobody answered in time",
    "T11": "Canon does not know it, or the wrong human answered",
    "T12": "Canon could not be asked; it will be asked again",
    "T14": "Canon says that it was answered",
    "T15": "Canon says that it was answered",
    "T17": "telling the agent",
    "T18": "the last telling was abandoned; telling the agent",
    "T19": "the telling ended",
    "T20": "taken back at Canon",
    "T22": "the check that had the decision was given up; the agent is to be told",
    "T21": "Canon had it after others took it over",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One transition, as the trail has it.

    Attributes:
        number: which of the machine's transitions; ``cut`` for the line that stands for older ones, ``void`` for one
            that takes the last line of its approval back.
        before, after: the status, and the wake's after a slash where there is one; ``before`` is empty at the start.
    """

    at_ms: int
    process: str
    approval_id: str
    number: str
    before: str
    after: str
    why: str
    previous: str
    digest: str

    @property
    def text(self) -> str:
        return json.dumps(_body(self) | {"digest": self.digest}, ensure_ascii=True)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something about the trail that cannot be right; ``line`` counts from 1, 0 when it is about the registry."""

    line: int
    what: str
    approval_id: str = ""


def appended(head: str, happenings: Iterable[Happening], process: str) -> tuple[Line, ...]:
    """The lines that tell of these changes, bound to ``head``, the digest of the last line before them."""
    lines = []
    for one in happenings:
        line = _sealed(
            Line(
                one.at_ms, process, one.approval_id, one.number, _state(one.before), _state(one.after),
                _why(one.number, one.after), head, "",
            )
        )  # fmt: skip
        lines.append(line)
        head = line.digest
    return tuple(lines)


def head_of(lines: Sequence[Line]) -> str:
    """What the next line is bound to."""
    return lines[-1].digest if lines else START


def read_lines(data: bytes) -> tuple[list[Line], list[Trouble]]:
    """The lines that can be read, and what stands there instead of the others."""
    lines, troubles = [], []
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw:
            continue
        try:
            fields = json.loads(raw)
            lines.append(
                Line(
                    int(fields["at"]), str(fields["process"]), str(fields["approval"]), str(fields["transition"]),
                    str(fields["from"]), str(fields["to"]), str(fields["why"]), str(fields["previous"]),
                    str(fields["digest"]),
                )
            )  # fmt: skip
        except (ValueError, KeyError, TypeError, RecursionError):
            troubles.append(Trouble(number, "is no line of the trail"))
    return lines, troubles


def unfinished(lines: Sequence[Line], book: Book) -> Sequence[Line]:
    """The lines at the end whose changes are not in the registry.

    The trail is written first. So a crash between the two writes leaves one batch: the next change voids it. More than
    one batch means that somebody put an older registry back.
    """
    known = {entry.fields.get(DIGEST_FIELD) for entry in book}
    count = next((count for count, line in enumerate(reversed(lines)) if line.digest in known), len(lines))
    tail = lines[len(lines) - count :]
    last = {line.approval_id: line for line in lines}
    return [
        line
        for line in tail
        if line.number not in (CUT, VOID)
        # An approval that is not there was dropped with its old end, unless its last line is its birth.
        and (book.is_taken(line.approval_id) or (line.number == "T1" and last[line.approval_id] is line))
    ]


def voided(head: str, lines: Iterable[Line], *, at_ms: int, process: str) -> tuple[Line, ...]:
    """Lines that say that those changes were not carried out, the last first."""
    fresh = []
    for line in reversed(tuple(lines)):
        why = "a crash came between the trail and the registry: the change above was not carried out"
        void = _sealed(Line(at_ms, process, line.approval_id, VOID, line.after, line.before, why, head, ""))
        fresh.append(void)
        head = void.digest
    return tuple(fresh)


def examine(data: bytes, book: Book) -> tuple[list[Line], list[Trouble]]:
    """Follow the chain and compare its end with the registry."""
    lines, troubles = read_lines(data)
    head: str | None = None
    last: dict[str, Line] = {}
    for number, line in enumerate(lines, start=1):
        troubles += _of_line(number, line, head, last.get(line.approval_id))
        head = line.previous if line.number == CUT else line.digest
        last[line.approval_id] = line
    troubles += [*_against(book, lines, last), *_missing(book, lines, last)]
    return lines, troubles


def _of_line(number: int, line: Line, head: str | None, before: Line | None) -> Iterator[Trouble]:
    def trouble(what: str) -> Trouble:
        return Trouble(number, what, line.approval_id)

    if _sealed(line).digest != line.digest:
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
        elif line.after != _state(entry):
            what = f"is {_state(entry)} in the registry and {line.after} in the trail: another program changed it"
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


def shortened(lines: Sequence[Line], book: Book, *, before_ms: int) -> tuple[Line, ...]:
    """The trail without its oldest lines: those before ``before_ms``, up to the first whose approval is still there."""
    count = 0
    for line in lines:
        if line.at_ms >= before_ms or book.is_taken(line.approval_id):
            break
        count += 1
    if count < 2:
        return tuple(lines)
    gone = lines[count - 1]
    why = f"{count} older lines were dropped"
    return (_sealed(Line(gone.at_ms, "", "", CUT, "", "", why, gone.digest, "")), *lines[count:])


def _body(line: Line) -> dict[str, Any]:
    return {
        "at": line.at_ms,
        "process": line.process,
        "approval": line.approval_id,
        "transition": line.number,
        "from": line.before,
        "to": line.after,
        "why": line.why,
        "previous": line.previous,
    }


def _sealed(line: Line) -> Line:
    data = json.dumps(_body(line), sort_keys=True, separators=(",", ":")).encode("ascii")
    return replace(line, digest=hashlib.blake2b(data, digest_size=16).hexdigest())


def _state(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return f"{entry.status}/{entry.wake_status}" if entry.wake_status else str(entry.status)


def _why(number: str, after: Entry) -> str:
    why = WHY.get(number, "")
    if number == "T8":
        return f"{why}: {after.decision} by {after.responded_by}"
    if number == "T19":
        return "the agent has been told" if after.wake_status == "delivered" else "the agent could not be told"
    return why
