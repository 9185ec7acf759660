"""The table of audited hosts in docs/hosts.md: what a run of the whole end-to-end set writes into it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["HEADING", "PageRow", "Run", "recorded", "rows_of"]

HEADING = "| Hermes | Python | platform | evidence | day | tests passed |"


@dataclass(frozen=True, slots=True)
class Run:
    """The whole set passed on a row.

    Attributes:
        day: as ``2026-01-31``, in UTC.
        passed: how many tests that were.
    """

    hermes: str
    python: str
    day: str
    passed: int


@dataclass(frozen=True, slots=True)
class PageRow:
    """One line of the table; ``day`` and ``passed`` are dashes where nothing was run."""

    hermes: str
    python: str
    platform: str
    evidence: str
    day: str
    passed: str

    @property
    def line(self) -> str:
        cells = (self.hermes, self.python, self.platform, self.evidence, self.day, self.passed)
        return f"| {' | '.join(cells)} |"


def rows_of(page: str) -> list[PageRow]:
    """The lines of the table, in its order.

    Raises:
        ValueError: the page has no such table, or a line has not six cells.
    """
    _before, found, after = page.partition(HEADING)
    if not found:
        raise ValueError("the page has no table of audited hosts")
    lines = after.partition("\n\n")[0].splitlines()[2:]
    return [_row(line) for line in lines]


def recorded(page: str, runs: Iterable[Run], platform: str) -> str:
    """The page with the day and the count of each run in the line of its host; lines for new hosts are people's."""
    by_host = {(run.hermes, run.python, platform): run for run in runs}
    for row in rows_of(page):
        if run := by_host.get((row.hermes, row.python, row.platform)):
            new = PageRow(row.hermes, row.python, row.platform, row.evidence, run.day, str(run.passed))
            page = page.replace(row.line, new.line)
    return page


def _row(line: str) -> PageRow:
    cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
    if len(cells) != 6:
        raise ValueError(f"not a line of the table of audited hosts: {line}")
    return PageRow(*cells)
