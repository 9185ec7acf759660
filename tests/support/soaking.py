"""Whether what was measured over a long time stayed where it was. Pure.

A process is measured for its whole life. What it does while it warms up says nothing, so each life is looked at from
``settle_s`` on, in windows of ``window_s``, of which only the medians count: a saw stays a level line. The first
settled window is the level, the line through all windows says how far the life has come away from it, and the level of
every life is held against that of the first one in the same way: what a process leaves to the next shows there.

The line is that of Theil and Sen, the median of the slopes between all pairs, so one bad minute of the machine bends
nothing. A rise is forgiven up to a share of the level, or an absolute amount for what is small.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Judged", "Life", "Measure", "Point", "Verdict", "Windows", "added", "is_flat", "judged", "medians", "rise"]

Point = tuple[float, float]
"""Seconds since the beginning of the whole, and what was measured then."""

FEWEST = 3
"""Through fewer windows, or lives, no line is drawn."""


class Verdict(StrEnum):
    """What is said of a measure."""

    FLAT = "flat"
    RISES = "RISES"
    SHORT = "too short to say"
    CROWDED = "machine too crowded to say"


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, and which rise is forgiven.

    Attributes:
        share: of the level.
        least: in its own unit, where the share is less.
    """

    name: str
    unit: str
    share: float
    least: float

    def allowed(self, level: float) -> float:
        return max(self.share * level, self.least)


@dataclass(frozen=True, slots=True)
class Windows:
    """When a life counts as settled, and how long the windows are, in seconds."""

    settle_s: float
    window_s: float


@dataclass(frozen=True, slots=True)
class Life:
    """One process from when it was ready to when it was told to end, and one measure of it."""

    begin_s: float
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Judged:
    """A measure of one gateway over all its lives.

    Attributes:
        level: the median of the first settled windows.
        in_a_life: the steepest rise within a life, after its first settled window; None where none was long enough.
        over_lives: the rise of the levels from the first life to the last; None where there were too few.
        is_crowded: other programs had so much of the machine that the measure says more of them.
    """

    measure: Measure
    gateway: str
    level: float | None
    in_a_life: float | None
    over_lives: float | None
    is_crowded: bool = False

    @property
    def verdict(self) -> Verdict:
        """Each rise that could be seen is held against what is forgiven."""
        if self.is_crowded:
            return Verdict.CROWDED
        seen = [each for each in (self.in_a_life, self.over_lives) if each is not None]
        if self.level is None or not seen:
            return Verdict.SHORT
        return Verdict.RISES if max(seen) > self.measure.allowed(self.level) else Verdict.FLAT


def medians(points: Sequence[Point], begin_s: float, window_s: float) -> list[Point]:
    """The middle of each window from ``begin_s`` on, with the median of what was measured in it.

    A window in which nothing was measured is left out, and so is the last one if it is shorter than half.
    """
    by_window: dict[int, list[float]] = {}
    for at_s, value in points:
        if at_s >= begin_s:
            by_window.setdefault(int((at_s - begin_s) // window_s), []).append(value)
    if by_window and max(at_s for at_s, _ in points) - (begin_s + max(by_window) * window_s) < window_s / 2:
        del by_window[max(by_window)]
    middle = begin_s + window_s / 2
    return [(middle + number * window_s, statistics.median(values)) for number, values in sorted(by_window.items())]


def rise(points: Sequence[Point]) -> float | None:
    """How far the line through the points comes from the first to the last; None for too few."""
    if len(points) < FEWEST:
        return None
    slopes = [
        (later - earlier) / (there - here)
        for (here, earlier), (there, later) in itertools.combinations(points, 2)
        if there > here
    ]
    return statistics.median(slopes) * (points[-1][0] - points[0][0])


def judged(
    measure: Measure, gateway: str, lives: Sequence[Life], windows: Windows, *, is_crowded: bool = False
) -> Judged:
    """Look at one measure of one gateway."""
    settled = [medians(life.points, life.begin_s + windows.settle_s, windows.window_s) for life in lives]
    levels = [points[0] for points in settled if points]
    rises = [each for each in map(rise, settled) if each is not None]
    return Judged(
        measure,
        gateway,
        level=statistics.median(value for _, value in levels) if levels else None,
        in_a_life=max(rises, default=None),
        over_lives=rise(levels),
        is_crowded=is_crowded,
    )


def is_flat(rows: Sequence[Judged]) -> bool:
    """Whether everything was seen long enough, and nothing rises; what a crowded machine hides is left open."""
    return all(row.verdict in (Verdict.FLAT, Verdict.CROWDED) for row in rows)


def added(ours: Sequence[Point], bare: Sequence[Point], begin_s: float, window_s: float) -> list[Point]:
    """How much more ours took than bare, in the windows from ``begin_s`` on that have both."""
    in_ours, in_bare = (dict(medians(side, begin_s, window_s)) for side in (ours, bare))
    return [(at_s, in_ours[at_s] - in_bare[at_s]) for at_s in sorted(in_ours.keys() & in_bare.keys())]
