"""What a command answers, as data: a JSON value for scripts and a view for people. Printing is elsewhere.

A view is a sequence of blocks. The three renderers read the same answer: terminal.py draws it, plain.py writes one
record a line, envelope.py wraps ``data``. A command never prints, and no renderer decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from canon_ops.errors import ExitCode
from canon_ops.lean import dataclass
from canon_ops.unseen import TURNING

__all__ = ["COMMANDS", "Block", "Diff", "Fields", "Item", "Line", "Mark", "Problem", "Raw", "Result", "Row", "Table"]

COMMANDS = rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{TURNING}]"
"""A pattern: what a terminal obeys, or what turns the order of the characters around it, beside tab and line end."""


class Mark(Enum):
    """How one line stands; the value is the word in plain output."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence; ``for_people_only`` keeps it out of records."""

    text: str
    mark: Mark | None = None
    for_people_only: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """Names and values, one pair a line."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """Records under headings; plain output leaves the headings out.

    Attributes:
        right: the columns that hold numbers, by index.
        whole: the columns that are never broken over lines, since they are there to be copied.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a report (mark, name, sentence), with the cure below it."""

    mark: Mark
    name: str
    text: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One record by itself, for answers that follow each other: a table would have to wait for its last row."""

    cells: Sequence[str]
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff, as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Raw:
    """A text that is the answer itself, line ends and all: ``$(canon-ops config get …)`` receives it unchanged."""

    text: str


Block = Line | Fields | Table | Item | Row | Diff | Raw


@dataclass(frozen=True, slots=True)
class Problem:
    """One entry of ``errors`` in the envelope; the same words go to stderr for people."""

    code: str
    message: str
    fix: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of one command.

    Attributes:
        data: what ``--json`` prints: a dataclass, a mapping or a sequence of plain values.
        view: what people read, in order; empty when there is nothing to say.
        exit_code: other than DONE for findings and for "not present".
        problems: why it is not DONE, where that is not an exception.
        canon_profile: the Canon profile that the command worked on.
        reveals: the view holds a secret that was asked for by name, and leaves unredacted; ``data`` never does.
    """

    data: object
    view: Sequence[Block] = ()
    exit_code: ExitCode = ExitCode.DONE
    problems: tuple[Problem, ...] = ()
    canon_profile: str | None = None
    reveals: bool = False
