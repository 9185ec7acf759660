"""One table of us and the published plugins: what was measured, who is ahead, which promise is kept. Pure.

A line holds readings taken in turns, so that the n-th of both sides met the same weather; what counts is the ratio of
each pair, above one where ours is the better. A line that we lose stays and says so. Only a broken promise is a
failure, and only a line with a limit has one.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["HEADING", "Line", "Missing", "Setting", "Verdict", "console", "document", "is_broken"]

HEADING = ("what", "beside", "ours", "theirs", "times as good", "promised", "verdict")


class Verdict(StrEnum):
    """How a line stands; ``LEVEL``: the pairs themselves do not agree who is ahead."""

    AHEAD = "ahead"
    LEVEL = "level"
    BEHIND = "BEHIND"
    BROKEN = "PROMISE BROKEN"


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison.

    Attributes:
        what: what was measured.
        peer: name and version of the published package.
        unit: of the readings.
        ours, theirs: one reading a round each, in the order in which they were taken.
        more_is_better: a rate, instead of a time or a size.
        least: the ratio that is promised; None where nothing is.
        note: what was given to both, what differs between them, and why we are behind where we are.
    """

    what: str
    peer: str
    unit: str
    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    more_is_better: bool = False
    least: float | None = None
    note: str = ""

    @property
    def ratios(self) -> tuple[float, ...]:
        """How many times as good ours was, one a pair."""
        pairs = zip(self.ours, self.theirs, strict=True)
        return tuple(own / other if self.more_is_better else other / own for own, other in pairs)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def verdict(self) -> Verdict:
        """A broken promise before everything else; then what all pairs say, if they agree."""
        if self.least is not None and self.ratio < self.least:
            return Verdict.BROKEN
        if min(self.ratios) < 1 < max(self.ratios):
            return Verdict.LEVEL
        return Verdict.BEHIND if self.ratio < 1 else Verdict.AHEAD

    def cells(self) -> tuple[str, ...]:
        """One text for each column of :data:`HEADING`."""
        low, high = min(self.ratios), max(self.ratios)
        return (
            self.what,
            self.peer,
            f"{spread(self.ours)} {self.unit}",
            f"{spread(self.theirs)} {self.unit}",
            f"{self.ratio:.2f} ({low:.2f} to {high:.2f})",
            "–" if self.least is None else f"{self.least:.2g}",
            str(self.verdict),
        )


@dataclass(frozen=True, slots=True)
class Missing:
    """A comparison that could not be made, and why."""

    what: str
    why: str

    note = ""

    def cells(self) -> tuple[str, ...]:
        """A row without numbers."""
        return (self.what, "–", "–", "–", "–", "–", f"not measured: {self.why}")


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and when it was measured, in words that fit any machine.

    Attributes:
        day: as ``2026-01-31``, in UTC.
        commit: which checkout, shortened.
        cores: how many processors the machine has.
        python: of our side where a line says nothing else.
        rounds: pairs that were counted.
    """

    day: str
    commit: str
    cores: int
    python: str
    rounds: int

    def sentence(self) -> str:
        """One line above the table."""
        return (
            f"Measured on {self.day} at {self.commit}: {self.cores} cores, Linux, Python {self.python}; "
            f"{self.rounds} interleaved pairs after a warm-up."
        )


def spread(values: Sequence[float]) -> str:
    """Median and range, with as many digits as there is something to see."""
    digits = max(0, 2 - len(str(int(statistics.median(values)))) + 1)
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def is_broken(lines: Sequence[Line | Missing]) -> bool:
    """Whether any promise was not kept; a lost line without a promise breaks none."""
    return any(isinstance(line, Line) and line.verdict is Verdict.BROKEN for line in lines)


def console(lines: Sequence[Line | Missing], setting: Setting) -> str:
    """The table for a terminal, with the notes below."""
    table = [HEADING, *(line.cells() for line in lines)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADING))]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    rows.insert(1, "-" * len(rows[0]))
    notes = [f"{line.what}: {line.note}" for line in lines if line.note]
    return "\n".join([setting.sentence(), "", *rows, "", *notes, "", _summary(lines)])


def document(lines: Sequence[Line | Missing], setting: Setting) -> str:
    """The page of the documentation."""
    table = [HEADING, ("---",) * len(HEADING), *(line.cells() for line in lines)]
    rows = [f"| {' | '.join(row)} |" for row in table]
    notes = [f"- **{line.what}**: {line.note}" for line in lines if line.note]
    return "\n".join([
        "# Speed beside the published plugins",
        "",
        "Written by `make bench-peers BENCH_ARGS=--write`; do not edit. The published plugins are black boxes in",
        "environments of their own: installed, started and measured from outside. Each number is a median with its",
        "range; the ratio is the median of the ratios of the pairs, above one where ours is the better. *Promised* is",
        "the ratio that the command holds us to. A row is level when its pairs do not agree about who is ahead.",
        "",
        setting.sentence(),
        "",
        *rows,
        "",
        _summary(lines),
        "",
        "What the rows mean:",
        "",
        *notes,
        "",
    ])  # fmt: skip


def _summary(lines: Sequence[Line | Missing]) -> str:
    counts = [(verdict, _named(lines, verdict)) for verdict in Verdict]
    told = [f"{verdict.lower()}: {len(names)}" + _list(verdict, names) for verdict, names in counts if names]
    missing = [line.what for line in lines if isinstance(line, Missing)]
    told += [f"not measured: {', '.join(missing)}"] if missing else []
    return "; ".join(told) + "."


def _named(lines: Sequence[Line | Missing], verdict: Verdict) -> list[str]:
    return [line.what for line in lines if isinstance(line, Line) and line.verdict is verdict]


def _list(verdict: Verdict, names: Sequence[str]) -> str:
    return f" ({'; '.join(names)})" if verdict in (Verdict.BEHIND, Verdict.BROKEN) else ""
