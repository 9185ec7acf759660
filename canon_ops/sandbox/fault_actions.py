"""What a fault does and how often: the words that the table of faults is written in. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

__all__ = [
    "Action",
    "Answer",
    "AnyAction",
    "Bend",
    "Delay",
    "DropStream",
    "EndStream",
    "FaultKind",
    "Forget",
    "Mute",
    "Point",
    "Rename",
    "Reset",
    "Reshape",
    "Schedule",
    "Withhold",
]

Point = str
"""Where a fault strikes; Canon's server has ``request``, ``stream`` and ``event``."""


class AnyAction(Protocol):
    """What a fault does, as a dataclass whose fields settings may replace; each server has its own kinds."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


# What can go wrong --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer with this status and body; ``commit`` carries the request out first."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    commit: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the socket instead of answering; ``commit`` carries the request out first."""

    commit: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    """Answer late; ``commit`` carries the request out before the pause, else after it."""

    seconds: float
    commit: bool = False


@dataclass(frozen=True, slots=True)
class Rename:
    """Answer as usual, but with headers and those top-level body keys that are there replaced; None removes one."""

    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Bend:
    """Carry the request out by another rule, one that its handler knows by name; it fires when the rule decided."""

    rule: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Treat the cursor as unknown; ``named`` says whether the newest id is told."""

    named: bool = True


@dataclass(frozen=True, slots=True)
class Withhold:
    """Begin the stream without saying what the agent may send out."""


@dataclass(frozen=True, slots=True)
class DropStream:
    """Reset the stream's socket before the event, in the middle of its frame, or after it."""

    cut: Literal["before", "middle", "after"] = "before"


@dataclass(frozen=True, slots=True)
class EndStream:
    """Finish the stream's response properly, before the event."""


@dataclass(frozen=True, slots=True)
class Mute:
    """Accept the stream and never write a byte of body."""


@dataclass(frozen=True, slots=True)
class Reshape:
    """Write the event in an unusual way: one of the words that ``frames`` knows."""

    how: str


Action = Answer | Reset | Delay | Rename | Bend | Forget | Withhold | DropStream | EndStream | Mute | Reshape


# When it goes wrong -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Which occasions are spoiled.

    Args:
        skip: the first ``skip`` occasions are left alone.
        every: of the others, the first and then each ``every``-th is chosen.
        burst: how many meetings of a chosen occasion fire; None is all of them.
        times: how often the fault fires at most; None is without end.
    """

    skip: int = 0
    every: int = 1
    burst: int | None = 1
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One row of the table: where a fault strikes and what it does.

    ``path`` is a shell pattern; ``event`` is an event name. ``schedule`` is what it is armed with when nothing is said.
    """

    name: str
    point: Point
    action: AnyAction
    says: str
    method: str = "*"
    path: str = "*"
    event: str = "*"
    schedule: Schedule = Schedule()
