"""The audit trail: one line for every transition, each bound to the line before, so that none can change unnoticed.

A line tells when, which process, which approval, from where to where, and why. Its digest covers the line and the
digest of the line before; so an edited line breaks at itself, a deleted or swapped one at its neighbour. What a chain
cannot show by itself is that its end was cut off: so the registry keeps, in each entry, the digest of the entry's own
last line. Whoever cuts the trail has to change the registry, too, whose every change leaves a line.

What decides something in an entry, who was asked, who answered what, has a digest of its own in each line, so that a
registry that was edited by hand does not fit its trail.

Lines go after their retention; a first line then says how many went and to which digest the rest is bound. An approval
that is older than that and still in the registry gets a new last line first. Pure; examined by
:mod:`canon_hermes_plugin.approvals.trail_audit`, written by :mod:`canon_hermes_plugin.approvals.trail_file`.

Source: the issue's item 3; command-line contract, approvals audit.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canon_hermes_plugin.approvals.batch import Happening
from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import Entry

__all__ = [
    "DIGEST_FIELD",
    "Line",
    "Trouble",
    "appended",
    "carried",
    "gist",
    "head_of",
    "read_lines",
    "sealed",
    "shortened",
    "state_word",
    "unfinished",
    "voided",
]

DIGEST_FIELD: Final = "auditDigest"
START: Final = "0" * 32
CUT: Final = "cut"
VOID: Final = "void"
KEPT: Final = "kept"
DECIDING: Final = (
    "conversationId", "environmentId", "agentId", "requestingSessionKey", "responseUserId", "summary", "decision",
    "respondedBy", "identityMismatch",
)  # fmt: skip
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
    "T21": "Canon had it after others took it over",
    "T22": "the check that had the decision was given up; the agent is to be told",
    "T23": "still telling the agent",
    "T24": "a wrong clock had put the end of its lease out of reach",
    "T25": "an operator gave it up",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One transition, as the trail has it.

    Attributes:
        number: which of the machine's transitions; ``cut`` for the line that stands for older ones, ``void`` for one
            that takes the last line of its approval back, ``kept`` for one that stands for the dropped lines of an
            approval that is still there.
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
    gist: str = ""  # of the entry afterwards; empty in lines that changed none, and in those of earlier versions

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
        line = sealed(
            Line(
                one.at_ms, process, one.approval_id, one.number, state_word(one.before), state_word(one.after),
                _why(one.number, one.after), head, "", gist(one.after),
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
                    str(fields["digest"]), str(fields.get("gist", "")),
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
        if line.number not in (CUT, VOID, KEPT)
        # An approval that is not there was dropped with its old end, unless its last line is its birth.
        and (book.is_taken(line.approval_id) or (line.number == "T1" and last[line.approval_id] is line))
    ]


def voided(head: str, lines: Iterable[Line], *, at_ms: int, process: str) -> tuple[Line, ...]:
    """Lines that say that those changes were not carried out, the last first."""
    fresh = []
    for line in reversed(tuple(lines)):
        why = "a crash came between the trail and the registry: the change above was not carried out"
        void = sealed(Line(at_ms, process, line.approval_id, VOID, line.after, line.before, why, head, ""))
        fresh.append(void)
        head = void.digest
    return tuple(fresh)


def carried(head: str, lines: Sequence[Line], book: Book, *, before_ms: int, process: str) -> tuple[Line, ...]:
    """New last lines for the approvals of ``book`` whose last line is so old that it holds up :func:`shortened`."""
    last = {entry.fields.get(DIGEST_FIELD): entry for entry in book}
    fresh = []
    for old in itertools.takewhile(lambda line: line.at_ms < before_ms, lines):
        entry = last.get(old.digest)
        if entry is None:
            continue
        state, why = state_word(entry), "it is still there while its older lines are dropped"
        kept = Line(old.at_ms, process, entry.approval_id, KEPT, state, state, why, head, "", gist(entry))
        fresh.append(sealed(kept))
        head = fresh[-1].digest
    return tuple(fresh)


def shortened(lines: Sequence[Line], book: Book, *, before_ms: int) -> tuple[Line, ...]:
    """The trail without its oldest lines: those before ``before_ms``, up to the first that an entry names."""
    named = {entry.fields.get(DIGEST_FIELD) for entry in book}
    count = 0
    for line in lines:
        if line.at_ms >= before_ms or line.digest in named:
            break
        count += 1
    if count < 2:
        return tuple(lines)
    gone = lines[count - 1]
    why = f"{count} older lines were dropped"
    return (sealed(Line(gone.at_ms, "", "", CUT, "", "", why, gone.digest, "")), *lines[count:])


def gist(entry: Entry) -> str:
    """A digest of what decides something in an entry."""
    said = [entry.fields.get(name) for name in DECIDING]
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode("ascii"), digest_size=8).hexdigest()


def _body(line: Line) -> dict[str, Any]:
    gist_of_it = {"gist": line.gist} if line.gist else {}
    return {
        "at": line.at_ms,
        "process": line.process,
        "approval": line.approval_id,
        "transition": line.number,
        "from": line.before,
        "to": line.after,
        "why": line.why,
        "previous": line.previous,
        **gist_of_it,
    }


def sealed(line: Line) -> Line:
    """The line with its digest."""
    data = json.dumps(_body(line), sort_keys=True, separators=(",", ":")).encode("ascii")
    return replace(line, digest=hashlib.blake2b(data, digest_size=16).hexdigest())


def state_word(entry: Entry | None) -> str:
    """The status, and the wake's after a slash; empty for no entry."""
    if entry is None:
        return ""
    return f"{entry.status}/{entry.wake_status}" if entry.wake_status else str(entry.status)


def _why(number: str, after: Entry) -> str:
    why = WHY.get(number, "")
    if number == "T8":
        return f"{why}: {after.decision} by {after.responded_by}"
    if number == "T25":
        return f"{why}: {after.fields.get('abandonReason', '')}"
    if number == "T19":
        return "the agent has been told" if after.wake_status == "delivered" else "the agent could not be told"
    return why
