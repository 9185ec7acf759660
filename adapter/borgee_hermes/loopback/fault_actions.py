"""What a fault of the Borgee server does: the words that its table is written in. Pure data.

``commit`` carries the action out before the trouble starts; without it the action never happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Break", "Close", "Halt", "Late", "Lose", "Refuse", "Reply", "Reshape", "Stall", "Unanswered"]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer an upgrade with a plain HTTP status."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Take the connection and never answer its upgrade."""


@dataclass(frozen=True, slots=True)
class Late:
    """Do it, but later; of an action the answer is late, and ``commit`` says that only the answer is."""

    seconds: float
    commit: bool = True


@dataclass(frozen=True, slots=True)
class Close:
    """Close properly, or in a way that no server should.

    Attributes:
        code: None closes without a code.
        after: what was to be sent goes out first.
    """

    code: int | None = 1012
    how: Literal["proper", "hanging", "talking"] = "proper"
    commit: bool = False
    after: bool = False


@dataclass(frozen=True, slots=True)
class Break:
    """End the connection without a close frame; ``middle`` sends half of what was to be sent."""

    how: Literal["reset", "end"] = "reset"
    commit: bool = False
    middle: bool = False


@dataclass(frozen=True, slots=True)
class Halt:
    """Become half-open: nothing is read or written any more."""

    commit: bool = False


@dataclass(frozen=True, slots=True)
class Stall:
    """Read nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Lose:
    """Never answer, never send."""

    commit: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer an action with an error or a denial instead of carrying it out."""

    error: str = ""
    capability: str = ""


@dataclass(frozen=True, slots=True)
class Reshape:
    """Send something else in its place: a word that ``shapes`` knows, with members to replace; None removes one."""

    how: str
    members: Mapping[str, Any] = field(default_factory=dict)
