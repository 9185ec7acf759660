"""The two tables of docs/hosts.md that runs of the end-to-end set write: audited hosts, and refused ones. Pure.

A line of the first is an audited host, which people decide on; a run writes its day, its commit and its counts into it.
A line of the second is what a refused host made of the same tests, good or bad, so that it shows how far its row is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "HEADING",
    "NAMED",
    "REFUSED_HEADING",
    "PageRow",
    "RefusedRow",
    "Run",
    "recorded",
    "refused_rows_of",
    "rows_of",
]

HEADING = "| Hermes | Python | platform | evidence | day | commit | passed | skipped |"
REFUSED_HEADING = "| Hermes | Python | platform | day | commit | passed | skipped | failed |"
NOTHING = "–"
NAMED = 12  # more names than that tell less than their modules


@dataclass(frozen=True, slots=True)
class Run:
    """What a set of tests came to on a host.

    Attributes:
        day: as ``2026-01-31``, in UTC.
        commit: which checkout was tested, shortened.
        failed: the names of the tests that failed.
    """

    hermes: str
    python: str
    day: str
    commit: str
    passed: int
    skipped: int
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageRow:
    """One line of the audited hosts; ``day`` and what follows are dashes where nothing was run, or was not noted."""

    hermes: str
    python: str
    platform: str
    evidence: str
    day: str
    commit: str
    passed: str
    skipped: str

    @property
    def line(self) -> str:
        return _line(
            self.hermes, self.python, self.platform, self.evidence, self.day, self.commit, self.passed, self.skipped
        )


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """One line of the refused hosts; ``failed`` are names in code, separated by breaks."""

    hermes: str
    python: str
    platform: str
    day: str
    commit: str
    passed: str
    skipped: str
    failed: str

    @property
    def line(self) -> str:
        return _line(
            self.hermes, self.python, self.platform, self.day, self.commit, self.passed, self.skipped, self.failed
        )


def rows_of(page: str) -> list[PageRow]:
    """The lines of the audited hosts, in their order.

    Raises:
        ValueError: the page has no such table, or a line has not eight cells.
    """
    return [PageRow(*cells) for cells in _cells(page, HEADING)]


def refused_rows_of(page: str) -> list[RefusedRow]:
    """The lines of the refused hosts, in their order.

    Raises:
        ValueError: as :func:`rows_of`.
    """
    return [RefusedRow(*cells) for cells in _cells(page, REFUSED_HEADING)]


def recorded(page: str, runs: Iterable[Run], platform: str) -> str:
    """The page with each run in the line of its host; lines for new hosts are people's."""
    by_host = {(run.hermes, run.python, platform): run for run in runs}
    for row in rows_of(page):
        if (run := by_host.get((row.hermes, row.python, row.platform))) and not run.failed:
            counts = (run.day, f"`{run.commit}`", str(run.passed), str(run.skipped))
            page = page.replace(row.line, PageRow(row.hermes, row.python, row.platform, row.evidence, *counts).line)
    for refused in refused_rows_of(page):
        if run := by_host.get((refused.hermes, refused.python, refused.platform)):
            counts = (run.day, f"`{run.commit}`", str(run.passed), str(run.skipped))
            failed = _told(run.failed)
            page = page.replace(refused.line, RefusedRow(run.hermes, run.python, platform, *counts, failed).line)
    return page


def _told(failed: Sequence[str]) -> str:
    """The tests that failed by name; where they are many, how many of each module."""
    if len(failed) <= NAMED:
        return "<br>".join(f"`{name}`" for name in failed) or "none"
    modules = Counter(name.partition("::")[0] for name in failed)
    return "<br>".join(f"`{module}` {count}" for module, count in sorted(modules.items()))


def _cells(page: str, heading: str) -> list[list[str]]:
    _before, found, after = page.partition(heading)
    if not found:
        raise ValueError(f"the page has no table that begins with {heading}")
    lines = after.partition("\n\n")[0].splitlines()[2:]
    return [_split(line) for line in lines]


def _split(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
    if len(cells) != 8:
        raise ValueError(f"not a line of a table of hosts: {line}")
    return cells


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
