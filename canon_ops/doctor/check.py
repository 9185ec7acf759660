"""A check: a question about one installation, and the finding that answers it.

A check never repairs and never raises for what it was made to find. What it cannot find out because something else is
broken is not its finding: it lets :class:`~canon_ops.doctor.examination.FactMissing` pass, and the runner says
``skipped`` and names the check that tells more. Any other error means that the question could not be answered:
``unknown``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from canon_ops.errors import CanonOpsError

if TYPE_CHECKING:
    from canon_ops.doctor.examination import Examination
    from canon_ops.doctor.repair import Repair

HOST_LIMIT_S = 90.0
"""For a check that asks the host's interpreter: longer than finding the host and its slowest answer together.

The question's own limit comes first then, and what it says tells what was asked and what to try.
"""

__all__ = ["HOST_LIMIT_S", "About", "Answer", "Check", "Finding", "Fix", "Place", "Status", "from_error"]


class Status(Enum):
    """How the thing asked about stands."""

    OK = "ok"
    INFO = "info"  # worth knowing, nothing to do
    WARNING = "warning"  # works, but not as it should, or not for long
    ERROR = "error"  # does not work
    SKIPPED = "skipped"  # not asked: something else has to be right first, or the caller said so
    UNKNOWN = "unknown"  # asked, and no answer could be had


@dataclass(frozen=True, slots=True)
class Fix:
    """What mends a finding.

    Attributes:
        command: to paste; or one sentence where no command does it.
        repair: the same as data, which ``--fix`` carries out; None when only a person can.
    """

    command: str
    repair: Repair | None = None

    @property
    def automatic(self) -> bool:
        return self.repair is not None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault stands.

    Attributes:
        file: as text for people.
        line, column: 1-based, where they are known.
        path: the dotted configuration path or the variable at fault.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a check's question.

    Attributes:
        message: one sentence, with the value at fault; never a secret.
        data: the evidence, as plain values for scripts.
    """

    status: Status
    message: str
    fix: Fix | None = None
    at: Place = Place()
    data: Mapping[str, Any] = field(default_factory=dict)


Answer = Finding | tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class About:
    """What ``canon-ops explain`` tells about a check, in whole sentences.

    Attributes:
        cause: how the fault usually comes about.
        matters: what does not work, or will not, while it lasts.
        by_hand: how to repair it without this program.
        related: variables, configuration paths and files that it is about.
    """

    cause: str
    matters: str
    by_hand: str
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One question.

    Attributes:
        id: ``area.name``; it never changes its meaning.
        title: a few words, for lists.
        question: what it asks, as a question.
        run: looks and answers. A plain function runs in a worker thread and may block; a coroutine function runs on
            the loop and may not.
        limit_s: how long it may take before it counts as unanswered.
        network: it reaches out beyond this machine, so ``--offline`` leaves it out.
        live: it does something that people see, so only ``--live`` asks it.
        about: what ``explain`` tells.
    """

    id: str
    title: str
    question: str
    run: Callable[[Examination], Answer | Awaitable[Answer]]
    limit_s: float = 30.0
    network: bool = False
    live: bool = False
    about: About | None = None

    @property
    def area(self) -> str:
        return self.id.partition(".")[0]


def from_error(status: Status, error: CanonOpsError) -> Finding:
    """The finding that an error of ours amounts to: its sentence, its place, its fix."""
    return Finding(
        status,
        error.sentence,
        Fix(error.fix) if error.fix else None,
        Place(error.file, error.line, error.column),
        {"code": error.code},
    )
