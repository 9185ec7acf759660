"""Makes the lines of the audit trail, and says which ones go. Pure.

What somebody else did to registry or trail is told in a ``foreign`` line before the next change is, so that the change
does not cover it; the registry then names that line, and the approval goes on from what was found. Such a line never
goes while nobody has acknowledged it: before its time is over it is told again. Everything else goes after its
retention; a ``cut`` line says how much went and to which digest the rest is bound. An approval that is older than that
and still in the registry gets a new last line first.

Source: the issue's item 3; decisions 0024 and 0040.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from canon_hermes_plugin.approvals.batch import Happening
from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.trail import (
    ACKNOWLEDGED,
    CUT,
    DIGEST_FIELD,
    DROPPED,
    FOREIGN,
    KEPT,
    STILL,
    VOID,
    Line,
    Row,
    gist,
    sealed,
    state_word,
)
from canon_hermes_plugin.approvals.trail_audit import Trouble

__all__ = ["Writer", "shortened"]

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


class Writer:
    """Makes the lines of one batch, each bound to the one before.

    Args:
        head: the digest of the trail's last line.
    """

    def __init__(self, head: str, *, at_ms: int, process: str) -> None:
        self.lines: list[Line] = []
        self._head = self._batch = head
        self._at_ms = at_ms
        self._process = process

    def add(self, line: Line) -> None:
        """Bind a line to those before it."""
        self.lines.append(sealed(replace(line, previous=self._head, batch=self._batch)))
        self._head = self.lines[-1].digest

    def happened(self, happenings: Iterable[Happening]) -> None:
        """Transitions."""
        for one in happenings:
            before, after, why = state_word(one.before), state_word(one.after), _why(one.number, one.after)
            self.add(
                Line(
                    one.at_ms, self._process, one.approval_id, one.number, before, after, why, "", gist=gist(one.after)
                )
            )

    def void(self, undone: Iterable[Line]) -> None:
        """Those changes were not carried out, the last first."""
        for line in reversed(tuple(undone)):
            why = "a crash came between the trail and the registry: the change above was not carried out"
            self._say(VOID, line.approval_id, line.after, line.before, why)

    def foreign(self, troubles: Iterable[Trouble], book: Book) -> None:
        """What somebody else did to the registry, as it is in ``book``, or to the trail."""
        for trouble in troubles:
            if trouble.is_about_the_trail:
                where = f"line {trouble.line} " if trouble.line else ""
                whose = f" (of {trouble.approval_id})" if trouble.approval_id else ""
                self._say(FOREIGN, "", trouble.expected, trouble.found, f"{where}{trouble.what}{whose}")
                continue
            entry = book.get(trouble.approval_id)
            self._say(
                FOREIGN,
                trouble.approval_id,
                trouble.expected,
                trouble.found,
                trouble.what,
                gist(entry) if entry else "",
            )

    def dropped(self, entries: Iterable[Entry]) -> None:
        """These have ended so long ago that the registry does not keep them."""
        for entry in entries:
            self._say(DROPPED, entry.approval_id, state_word(entry), "", "it ended more than 14 days ago")

    def acknowledged(self, why: str) -> None:
        """Somebody has looked into every foreign line that stands above."""
        self._say(ACKNOWLEDGED, "", "", "", why)

    def still(self, lines: Sequence[Line], *, before_ms: int) -> None:
        """Foreign lines that would be dropped, and that nobody has acknowledged."""
        old = list(_old(lines, before_ms))
        seen_to = max((at for at, line in enumerate(lines) if line.number == ACKNOWLEDGED), default=-1)
        said = {_said(line) for line in lines[len(old) :] if line.number == STILL}
        for at, line in enumerate(old):
            if at > seen_to and line.number in (FOREIGN, STILL) and _said(line) not in said:
                said.add(_said(line))
                self.add(replace(line, number=STILL, gist=""))

    def kept(self, lines: Sequence[Line], book: Book, *, before_ms: int) -> None:
        """New last lines for the approvals of ``book`` whose last line is so old that it holds up the others."""
        last = {entry.fields.get(DIGEST_FIELD): entry for entry in book}
        why = "it is still there while its older lines are dropped"
        for old in _old(lines, before_ms):
            entry = last.get(old.digest)
            if entry is not None:
                state = state_word(entry)
                self.add(
                    Line(old.at_ms, self._process, entry.approval_id, KEPT, state, state, why, "", gist=gist(entry))
                )

    def _say(self, number: str, approval_id: str, before: str, after: str, why: str, gist: str = "") -> None:
        self.add(Line(self._at_ms, self._process, approval_id, number, before, after, why, "", gist=gist))


def _said(line: Line) -> tuple[str | int, ...]:
    return (line.approval_id, line.at_ms, line.before, line.after, line.why)


def _old(lines: Sequence[Line], before_ms: int) -> Iterable[Line]:
    return itertools.takewhile(lambda line: line.at_ms < before_ms, lines)


def shortened(rows: Sequence[Row], book: Book, *, before_ms: int) -> bytes | None:
    """The file without its oldest lines, those before ``before_ms``, up to the first that an entry names; None when
    nothing goes. What stays is not touched."""
    named = {entry.fields.get(DIGEST_FIELD) for entry in book}
    gone = list(
        itertools.takewhile(
            lambda row: row.line is None or (row.line.at_ms < before_ms and row.line.digest not in named), rows
        )
    )
    last = next((row.line for row in reversed(gone) if row.line is not None), None)
    while gone and gone[-1].line is None:
        gone.pop()
    if last is None or len(gone) < 2:
        return None
    cut = sealed(Line(last.at_ms, "", "", CUT, "", "", f"{len(gone)} older lines were dropped", last.digest))
    return b"".join(raw + b"\n" for raw in [cut.text.encode("ascii"), *(row.raw for row in rows[len(gone) :])])


def _why(number: str, after: Entry) -> str:
    why = WHY.get(number, "")
    if number == "T8":
        return f"{why}: {after.decision} by {after.responded_by}"
    if number == "T25":
        return f"{why}: {after.fields.get('abandonReason', '')}"
    if number == "T19":
        return "the agent has been told" if after.wake_status == "delivered" else "the agent could not be told"
    return why
