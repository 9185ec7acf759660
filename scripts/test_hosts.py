"""``make test-hosts``: the end-to-end set on every host of the matrix, one environment after the other.

A row is a Hermes release and a Python minor. Its environment lies in ``.hosts/`` and is made once; our package is
installed there editable, with its dependencies beside the host's pins, so a row always tests the checkout as it is.
Rows run one at a time, because a row starts gateways. A release that is to be audited fails the target; the next one
does not. What was run stands in ``.hosts/results.json``, each row's output in ``.hosts/<row>.log``.

Two variables choose rows: ``make test-hosts HOSTS="0.19.0 0.21.0.post1" PYTHONS=3.13``; ``next`` means the next hosts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from canon_ops.hermes.audited import requirement_of
from tests.support.environments import CHECKOUT, Environment, NotInstalled, find_python

RELEASES = ("0.18.2", "0.19.0", "0.21.0.post1")
NEXT_RELEASES = ("0.22.2.post1",)  # must not fail the target; Hermes host, 14
PYTHONS = ("3.11", "3.12", "3.13")
END_TO_END = "host and not long"
ROW_LIMIT_S = 1200
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One host on one Python."""

    hermes: str
    python: str

    @property
    def counts(self) -> bool:
        """Its failure fails the target."""
        return self.hermes not in NEXT_RELEASES

    @property
    def name(self) -> str:
        return f"hermes-{self.hermes}-py{self.python}"

    def environment(self, interpreter: str) -> Environment:
        return Environment(
            self.name, python=interpreter, requirements=(requirement_of(self.hermes),), checkout_extras="test"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row.

    Attributes:
        passed, failed, skipped: tests; errors count as failed.
        trouble: why there are no tests; empty when they ran.
        date: when they ran.
    """

    row: Row
    date: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    trouble: str = ""
    failures: tuple[str, ...] = ()

    @property
    def is_absent(self) -> bool:
        return self.trouble == ABSENT

    @property
    def is_good(self) -> bool:
        return self.is_absent or (not self.trouble and self.failed == 0 and self.passed > 0)

    @property
    def verdict(self) -> str:
        if self.trouble:
            return self.trouble.splitlines()[0]
        return "passed" if self.is_good else "FAILED"


ABSENT = "no such Python here"


def matrix(hosts: Iterable[str], pythons: Iterable[str]) -> list[Row]:
    """The rows that are asked for, in the order of the tables; without wishes all of them.

    Raises:
        SystemExit: a wish that no release or Python fulfils.
    """
    wanted_hosts, wanted_pythons = tuple(hosts), tuple(pythons)
    known = (*RELEASES, *NEXT_RELEASES)
    if unknown := [*({*wanted_hosts} - {*known, "next"}), *({*wanted_pythons} - {*PYTHONS})]:
        raise SystemExit(f"Not in the matrix: {', '.join(sorted(unknown))}. Hosts: {', '.join(known)}; "
                         f"Pythons: {', '.join(PYTHONS)}.")  # fmt: skip
    chosen = [
        release
        for release in known
        if not wanted_hosts or release in wanted_hosts or ("next" in wanted_hosts and release in NEXT_RELEASES)
    ]
    return [Row(release, python) for release in chosen for python in PYTHONS if python in (wanted_pythons or PYTHONS)]


def run(row: Row, extra: Iterable[str] = ()) -> Outcome:
    """Make the row's environment when it is missing, and run the set in it."""
    date = datetime.now(UTC).date().isoformat()
    interpreter = find_python(row.python)
    if interpreter is None:
        return Outcome(row, date, trouble=ABSENT)
    environment = row.environment(interpreter)
    try:
        python = environment.make(say=say)
    except NotInstalled as exc:
        return Outcome(row, date, trouble=f"not installed: {exc}")
    report, log = environment.folder / "report.xml", environment.folder.with_name(f"{row.name}.log")
    report.unlink(missing_ok=True)
    began = time.monotonic()
    command = [str(python), "-m", "pytest", "-n", str(WORKERS), "-m", END_TO_END, "-p", "no:cacheprovider",
               f"--junitxml={report}", "--tb=short", "-q", *extra]  # fmt: skip
    with log.open("wb") as out:
        try:
            subprocess.run(
                command, cwd=CHECKOUT, env=row_environ(os.environ, environment), stdout=out, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, timeout=ROW_LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Outcome(row, date, trouble=f"not done within {ROW_LIMIT_S} s", seconds=time.monotonic() - began)
    if not report.exists():
        return Outcome(row, date, trouble=f"no report: see {log.relative_to(CHECKOUT)}")
    return read_report(row, date, report, time.monotonic() - began)


def row_environ(environ: Mapping[str, str], environment: Environment) -> dict[str, str]:
    """This environment, entered: what a person would have after ``activate``."""
    kept = {name: text for name, text in environ.items() if not name.startswith(("PYTHON", "HERMES_", "CANON_"))}
    kept.pop("VIRTUAL_ENV", None)
    return {**kept, "PATH": f"{environment.folder / 'bin'}{os.pathsep}{environ.get('PATH', os.defpath)}"}


def read_report(row: Row, date: str, report: Path, seconds: float) -> Outcome:
    """The counts and the names of what failed, from pytest's own report."""
    cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314  # written by our own pytest
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None]
    names = tuple(f"{(case.get('classname') or '').replace('tests.', '', 1)}::{case.get('name')}" for case in failed)
    return Outcome(row, date, len(cases) - len(failed) - len(skipped), len(failed), len(skipped), seconds, "", names)


def table(outcomes: Iterable[Outcome]) -> str:
    """The page's table."""
    lines = [
        "| Hermes | Python | result | passed | failed | skipped | seconds | date |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        standing = "" if one.row.counts else " (next host: does not count)"
        lines.append(
            f"| {one.row.hermes} | {one.row.python} | {one.verdict}{standing} | {one.passed} | {one.failed} | "
            f"{one.skipped} | {one.seconds:.0f} | {one.date} |"
        )
    return "\n".join(lines)


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen rows; 0 when every row that counts is good."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="", help="versions, separated by blanks; next means the next hosts")
    parser.add_argument("--pythons", default="", help="minors, separated by blanks")
    parser.add_argument("--make-only", action="store_true", help="make the environments, run nothing")
    options, extra = parser.parse_known_args(arguments)
    outcomes = []
    for row in matrix(options.hosts.split(), options.pythons.split()):
        if options.make_only:
            interpreter = find_python(row.python)
            say(f"{row.name}: {row.environment(interpreter).make(say=say) if interpreter else ABSENT}")
            continue
        say(f"{row.name} ...")
        outcomes.append(run(row, extra))
        say(f"{row.name}: {outcomes[-1].verdict}, {outcomes[-1].passed} passed, {outcomes[-1].seconds:.0f} s")
        for name in outcomes[-1].failures:
            say(f"    {name}")
    if outcomes:
        CHECKOUT.joinpath(".hosts", "results.json").write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
        say("\n" + table(outcomes))
    return 0 if all(one.is_good or not one.row.counts for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
