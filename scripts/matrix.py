"""Running one test selection in many environments, one after the other, and the table of what came of it.

Each row's whole output goes to a file. Why a row is not good is said on the terminal too: in CI nothing else is left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.support.environments import CHECKOUT, Environment, NotInstalled, minor_of

__all__ = [
    "ABSENT",
    "Failure",
    "Outcome",
    "Row",
    "exit_code",
    "hermes_of",
    "home_of",
    "minors",
    "reasons",
    "run",
    "run_all",
    "say",
    "table",
    "total",
]

ABSENT = "no such Python here"
ROW_LIMIT_S = 1800
WORKERS = 2 * (os.cpu_count() or 1)  # as in `make test`: many tests wait
ASK_LIMIT_S = 60
HERE = "here"
REASONS_SHOWN = 10
LINES_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Row:
    """One environment and what runs in it.

    Attributes:
        labels: its cells in the table.
        environment: None when the Python that it needs is not on this machine.
        marker: which tests, as pytest's ``-m`` takes it.
        arguments: more for pytest, such as paths.
        counts: its failure fails the target.
        hermes: what its interpreter must say as ``hermes_cli.__version__``; None when the row is about no host.
        least: fewer tests that passed show nothing: a selection that finds too little must not look like a pass.
        most_skipped: more tests that were skipped show nothing either; None: any number.
    """

    labels: tuple[str, ...]
    environment: Environment | None
    marker: str
    arguments: tuple[str, ...] = ()
    counts: bool = True
    hermes: str | None = None
    least: int = 1
    most_skipped: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed, and what pytest says about it."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row.

    Attributes:
        passed, failed, skipped: tests; errors count as failed.
        trouble: why there are no tests, or why they show nothing, the first line for the table; empty when they do.
        failures: what failed.
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
    failures: tuple[Failure, ...] = ()

    @property
    def is_good(self) -> bool:
        return self.trouble == ABSENT or (not self.trouble and self.failed == 0 and self.passed > 0)

    @property
    def verdict(self) -> str:
        word = self.trouble.splitlines()[0] if self.trouble else "passed" if self.is_good else "FAILED"
        return word if self.counts else f"{word} (does not count)"


def run_all(
    rows: Iterable[Row],
    headings: Sequence[str],
    results: Path,
    extra: Iterable[str] = (),
    *,
    limit_s: float | None = None,
) -> int:
    """Run the rows one at a time, tell each, write ``results`` as JSON, print the table; the exit code.

    Args:
        extra: what a person adds for pytest; it may leave tests out, so no number of tests is asked for then.
        limit_s: what the tests of all rows may take together; more is told, and is for people to judge.
    """
    outcomes, extra = [], tuple(extra)
    for asked in rows:
        row = replace(asked, least=1, most_skipped=None) if extra else asked
        say(f"{' '.join(row.labels)} ...")
        outcomes.append(run(row, extra))
        last = outcomes[-1]
        say(f"{' '.join(row.labels)}: {last.verdict}, {last.passed} passed, {last.seconds:.0f} s")
        for line in reasons(last):
            say(f"    {line}")
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps([asdict(one) for one in outcomes], indent=1), encoding="utf-8")
    say("\n" + table(outcomes, headings))
    say(total(outcomes, limit_s))
    if all(one.trouble == ABSENT for one in outcomes):
        say("Nothing was run: no row's Python is on this machine. PYTHONS=here takes the one of .venv.")
    return exit_code(outcomes)


def total(outcomes: Iterable[Outcome], limit_s: float | None) -> str:
    """What the tests of all rows took, environments not counted, and the limit where there is one."""
    seconds = sum(one.seconds for one in outcomes)
    if limit_s is None:
        return f"{seconds:.0f} s of tests"
    verdict = "within" if seconds <= limit_s else "over"
    return f"{seconds:.0f} s of tests, {verdict} the limit of {limit_s:.0f} s"


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """0 when every row that counts is good, or cannot be run here; 1 when none was run at all."""
    outcomes = tuple(outcomes)
    was_run = any(one.trouble != ABSENT for one in outcomes)
    return 0 if was_run and all(one.is_good or not one.counts for one in outcomes) else 1


def reasons(outcome: Outcome) -> list[str]:
    """Why a row is not good, line by line: what stopped it, then the failures, the first of them with their ends."""
    lines = outcome.trouble.splitlines()[1:]
    for number, failure in enumerate(outcome.failures):
        lines.append(failure.name)
        if number < REASONS_SHOWN:
            lines += textwrap.indent(_end(failure.reason), "  ").splitlines()
    return lines


def minors(wishes: Iterable[str]) -> tuple[str, ...]:
    """The Python minors that are asked for; ``here`` is the one that runs this, the only one that surely is there."""
    here = minor_of(sys.executable) or ""
    return tuple(dict.fromkeys(here if wish == HERE else wish for wish in wishes))


def _end(text: str) -> str:
    return "\n".join(text.rstrip().splitlines()[-LINES_SHOWN:])


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
    if environment.checkout_extra is not None and not (home := home_of(environment)).startswith(f"{CHECKOUT}{os.sep}"):
        return trouble(f"another checkout: canon_ops of {environment.folder} is {home}")
    if row.hermes is not None and (found := hermes_of(environment)) != row.hermes:
        return trouble(f"another Hermes: asked for {row.hermes}, {python} has {found}")
    report, log = environment.folder / "report.xml", environment.folder.with_name(f"{environment.name}.log")
    report.unlink(missing_ok=True)
    command = [
        str(python), "-m", "pytest", "-q", "-n", str(WORKERS), "--dist", "worksteal", "-m", row.marker, "--tb=short",
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
            return trouble(f"not done within {ROW_LIMIT_S} s\n{_end_of(log)}", time.monotonic() - began)
    if not report.exists():
        return trouble(f"no report: see {Path(environment.parent, log.name)}\n{_end_of(log)}")
    return read_report(row, date, report.read_text(encoding="utf-8"), time.monotonic() - began)


def hermes_of(environment: Environment) -> str:
    """``hermes_cli.__version__`` of the environment, as its interpreter says it, or what it said instead."""
    return _asked(environment, "import hermes_cli; print(hermes_cli.__version__)")


def home_of(environment: Environment) -> str:
    """Where its ``canon_ops`` lies: an environment that came from another checkout would test that one."""
    return _asked(environment, "import canon_ops; print(canon_ops.__file__)")


def _asked(environment: Environment, code: str) -> str:
    asked = subprocess.run(
        [str(environment.interpreter), "-c", code],
        cwd=environment.folder, env=entered(os.environ, environment), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=ASK_LIMIT_S, check=False,
    )  # fmt: skip
    lines = (asked.stdout if asked.returncode == 0 else asked.stderr).strip().splitlines()
    return lines[-1] if lines else f"nothing (exit code {asked.returncode})"


def _end_of(log: Path) -> str:
    return _end(log.read_text(encoding="utf-8", errors="replace"))


def entered(environ: Mapping[str, str], environment: Environment) -> dict[str, str]:
    """The process environment that a person has after ``activate``, without what would lead to another Hermes."""
    kept = {name: text for name, text in environ.items() if not name.startswith(("PYTHON", "HERMES_", "CANON_"))}
    kept.pop("VIRTUAL_ENV", None)
    return {**kept, "PATH": f"{environment.folder / 'bin'}{os.pathsep}{environ.get('PATH', os.defpath)}"}


def read_report(row: Row, date: str, report: str, seconds: float) -> Outcome:
    """The counts and what failed, from pytest's own report."""
    cases = list(ElementTree.fromstring(report).iter("testcase"))  # noqa: S314  # written by our own pytest
    failed = {case: what for case in cases for what in (*case.iter("error"), *case.iter("failure"))}
    skipped = [case for case in cases if case.find("skipped") is not None]
    passed = len(cases) - len(failed) - len(skipped)
    return Outcome(
        row.labels,
        row.counts,
        date,
        passed=passed,
        failed=len(failed),
        skipped=len(skipped),
        seconds=seconds,
        trouble="" if failed else _shows_nothing(row, passed, len(skipped)),
        failures=tuple(
            Failure(f"{case.get('classname')}::{case.get('name')}", what.text or what.get("message") or "")
            for case, what in failed.items()
        ),
    )


def _shows_nothing(row: Row, passed: int, skipped: int) -> str:
    """Why a run without a failure is no evidence; empty when it is."""
    if passed < row.least:
        return f"too few tests: {passed} passed, the least is {row.least}"
    if row.most_skipped is not None and skipped > row.most_skipped:
        return f"too many skipped: {skipped}, the most is {row.most_skipped}"
    return ""


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
