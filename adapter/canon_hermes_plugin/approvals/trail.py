"""The audit trail: one line for every transition, each bound to the line before, so that none can change unnoticed.

A line tells when, which process, which approval, from where to where, and why. Its digest covers the line and the
digest of the line before; so an edited line breaks at itself, a deleted or swapped one at its neighbour. What a chain
cannot show by itself is that its end was cut off: so the registry keeps, in each entry, the digest of the entry's own
last line, and the last digest of all is kept elsewhere (:mod:`canon_hermes_plugin.approvals.heads`).

What an entry says, all but its leases and reminders, has a digest of its own in each line, so that a registry that was
edited by hand does not fit its trail.

Not every line is a transition. ``void`` takes the last line of its approval back: a crash came before the registry.
``dropped``: the approval has left the registry, long after its end. ``kept`` stands for the dropped lines of an
approval that is still there, ``cut`` for all dropped lines together. ``foreign`` says for ever what somebody else did
to registry or trail, ``still`` repeats it when its own line is about to be dropped, and ``acknowledged`` says who has
looked into all of these that stand before it.

Pure. What cannot be right is found by :mod:`canon_hermes_plugin.approvals.trail_audit`; the lines are made by
:mod:`canon_hermes_plugin.approvals.trail_writer`, and written by :mod:`canon_hermes_plugin.approvals.trail_file`.

Source: the issue's item 3; command-line contract, approvals audit; decisions 0024 and 0040.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canon_hermes_plugin.approvals.entry import Entry

__all__ = [
    "ACKNOWLEDGED",
    "CUT",
    "DIGEST_FIELD",
    "DROPPED",
    "FOREIGN",
    "KEPT",
    "START",
    "STILL",
    "VOID",
    "Line",
    "Row",
    "fits",
    "gist",
    "head_of",
    "key_of",
    "read_rows",
    "sealed",
    "state_word",
]

DIGEST_FIELD: Final = "auditDigest"
START: Final = "0" * 32
CUT: Final = "cut"
VOID: Final = "void"
DROPPED: Final = "dropped"
KEPT: Final = "kept"
FOREIGN: Final = "foreign"
STILL: Final = "still"
ACKNOWLEDGED: Final = "acknowledged"
# What a line of an earlier version had a digest of.
DECIDING: Final = (
    "conversationId", "environmentId", "agentId", "requestingSessionKey", "responseUserId", "summary", "decision",
    "respondedBy", "identityMismatch",
)  # fmt: skip
# What the published plugin changes without a transition of ours, and what decides nothing: leases and reminders.
PASSING: Final = frozenset(
    {DIGEST_FIELD, "receiptPending", "receiptSeenAt", "reconcilePending", "wakeError"}
    | {f"{kind}Claim{part}" for kind in ("create", "consume", "wake") for part in ("Id", "ExpiresAt", "Owner")}
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the trail.

    Attributes:
        number: which of the machine's transitions, or one of the words that the module tells.
        before, after: the status, and the wake's after a slash where there is one; ``before`` is empty at the start.
            Of a foreign line: what the trail said and what was found; digests where it is about no approval.
        batch: the digest of the last line before all those that were written together with this one; empty in lines of
            earlier versions, as the gist is, which a line that changed no entry does not have either.
    """

    at_ms: int
    process: str
    approval_id: str
    number: str
    before: str
    after: str
    why: str
    previous: str
    digest: str = ""
    gist: str = ""
    batch: str = ""

    @property
    def text(self) -> str:
        return json.dumps(_body(self) | {"digest": self.digest}, ensure_ascii=True)

    @property
    def is_whole(self) -> bool:
        return sealed(self).digest == self.digest


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the file as it stands there; ``line`` is None when it is no line of a trail.

    Attributes:
        number: from 1.
    """

    number: int
    raw: bytes
    line: Line | None


def head_of(lines: Sequence[Line]) -> str:
    """What the next line is bound to."""
    if not lines:
        return START
    return lines[-1].previous if lines[-1].number == CUT else lines[-1].digest


def read_rows(data: bytes) -> tuple[list[Row], int]:
    """What stands in the file, and of how many bytes its end is that a crash tore off in the middle of a line."""
    raws = data.split(b"\n")
    rows = [Row(number, raw, _parsed(raw)) for number, raw in enumerate(raws, start=1) if raw]
    if raws[-1] and rows[-1].line is None:
        return rows[:-1], len(raws[-1])
    return rows, 0


def _parsed(raw: bytes) -> Line | None:
    try:
        fields = json.loads(raw)
        return Line(
            int(fields["at"]), str(fields["process"]), str(fields["approval"]), str(fields["transition"]),
            str(fields["from"]), str(fields["to"]), str(fields["why"]), str(fields["previous"]),
            str(fields["digest"]), str(fields.get("gist", "")), str(fields.get("batch", "")),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):  # what is no mapping is a TypeError
        return None


def key_of(kind: str, raw: bytes) -> str:
    """Names something that is wrong with a line of the file, so that it is told once."""
    return f"{kind}:{hashlib.blake2b(raw, digest_size=16).hexdigest()}"


def gist(entry: Entry) -> str:
    """A digest of what an entry says."""
    return _digest_of({name: value for name, value in entry.fields.items() if name not in PASSING}, 12)


def fits(line: Line, entry: Entry) -> bool:
    """Whether the entry says what it said when the line was written."""
    if len(line.gist) == 16:  # of an earlier version
        return line.gist == _digest_of([entry.fields.get(name) for name in DECIDING], 8)
    return not line.gist or line.gist == gist(entry)


def _digest_of(value: Any, size: int) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode("ascii"), digest_size=size).hexdigest()


def _body(line: Line) -> dict[str, Any]:
    more = {name: value for name, value in (("gist", line.gist), ("batch", line.batch)) if value}
    return {
        "at": line.at_ms,
        "process": line.process,
        "approval": line.approval_id,
        "transition": line.number,
        "from": line.before,
        "to": line.after,
        "why": line.why,
        "previous": line.previous,
        **more,
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
