"""Running one test selection in many environments, one after the other, and the table of what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.support.environments import CHECKOUT, Environment, NotInstalled

__all__ = ["ABSENT", "Outcome", "Row", "exit_code", "run", "run_all", "say", "table"]

ABSENT = "no such Python here"
ROW_LIMIT_S = 1800
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One environment and what runs in it.

    Attributes:
        labels: its cells in the table.
        environment: None when the Python that it needs is not on this machine.
        marker: which tests, as pytest's ``-m`` takes it.
        arguments: more for pytest, such as paths.
        counts: its failure fails the target.
    """

    labels: tuple[str, ...]
    environment: Environment | None
    marker: str
    arguments: tuple[str, ...] = ()
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row.

    Attributes:
        passed, failed, skipped: tests; errors count as failed.
        trouble: why there are no tests; empty when they ran.
        failures: the names of what failed.
        date: when they ran, in UTC.
    """

    labels: tuple[str, ...]
    counts: bool
    date: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    trouble: str = ""
    failures: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        return self.trouble == ABSENT or (not self.trouble and self.failed == 0 and self.passed > 0)

    @property
    def verdict(self) -> str:
        word = self.trouble.splitlines()[0] if self.trouble else "passed" if self.is_good else "FAILED"
        return word if self.counts else f"{word} (does not count)"


def run_all(rows: Iterable[Row], headings: Sequence[str], results: Path, extra: Iterable[str] = ()) -> int:
    """Run the rows one at a time, tell each, write ``results`` as JSON, print the table; the exit code."""
    outcomes = []
    for row in rows:
        say(f"{' '.join(row.labels)} ...")
        outcomes.append(run(row, extra))
        last = outcomes[-1]
        say(f"{' '.join(row.labels)}: {last.verdict}, {last.passed} passed, {last.seconds:.0f} s")
        for name in last.failures:
            say(f"    {name}")
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps([asdict(one) for one in outcomes], indent=1), encoding="utf-8")
    say("\n" + table(outcomes, headings))
    return exit_code(outcomes)


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """0 when every row that counts is good, or cannot be run here."""
    return 0 if all(one.is_good or not one.counts for one in outcomes) else 1


def run(row: Row, extra: Iterable[str] = ()) -> Outcome:
    """Make the row's environment when it is missing, and run its tests; the output goes to a file beside it."""
    date = datetime.now(UTC).date().isoformat()

    def trouble(text: str, seconds: float = 0.0) -> Outcome:
        return Outcome(row.labels, row.counts, date, seconds=seconds, trouble=text)

    environment = row.environment
    if environment is None:
        return trouble(ABSENT)
    try:
        python = environment.make(say=say)
    except NotInstalled as exc:
        return trouble(f"not installed: {exc}")
    report, log = environment.folder / "report.xml", environment.folder.with_name(f"{environment.name}.log")
    report.unlink(missing_ok=True)
    command = [
        str(python), "-m", "pytest", "-q", "-n", str(WORKERS), "--dist", "loadscope", "-m", row.marker, "--tb=short",
        "-p", "no:cacheprovider", f"--junitxml={report}", *row.arguments, *extra,
    ]  # fmt: skip
    began = time.monotonic()
    with log.open("wb") as out:
        try:
            subprocess.run(
                command, cwd=CHECKOUT, env=entered(os.environ, environment), stdout=out, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, timeout=ROW_LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return trouble(f"not done within {ROW_LIMIT_S} s", time.monotonic() - began)
    if not report.exists():
        return trouble(f"no report: see {log.relative_to(CHECKOUT)}")
    return read_report(row, date, report.read_text(encoding="utf-8"), time.monotonic() - began)


def entered(environ: Mapping[str, str], environment: Environment) -> dict[str, str]:
    """The process environment that a person has after ``activate``, without what would lead to another Hermes."""
    kept = {name: text for name, text in environ.items() if not name.startswith(("PYTHON", "HERMES_", "CANON_"))}
    kept.pop("VIRTUAL_ENV", None)
    return {**kept, "PATH": f"{environment.folder / 'bin'}{os.pathsep}{environ.get('PATH', os.defpath)}"}


def read_report(row: Row, date: str, report: str, seconds: float) -> Outcome:
    """The counts and the names of what failed, from pytest's own report."""
    cases = list(ElementTree.fromstring(report).iter("testcase"))  # noqa: S314  # written by our own pytest
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None]
    return Outcome(
        row.labels,
        row.counts,
        date,
        passed=len(cases) - len(failed) - len(skipped),
        failed=len(failed),
        skipped=len(skipped),
        seconds=seconds,
        failures=tuple(f"{case.get('classname')}::{case.get('name')}" for case in failed),
    )


def table(outcomes: Iterable[Outcome], headings: Sequence[str]) -> str:
    """The outcomes as a Markdown table: the labels, then what came of them."""
    columns = [*headings, "result", "passed", "failed", "skipped", "seconds", "date"]
    lines = [_line(columns), _line(["---"] * len(columns))]
    for one in outcomes:
        counts = [str(one.passed), str(one.failed), str(one.skipped), f"{one.seconds:.0f}"]
        lines.append(_line([*one.labels, one.verdict, *counts, one.date]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def say(text: str) -> None:
    print(text, flush=True)
