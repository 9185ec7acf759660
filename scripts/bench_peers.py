"""``make bench-peers``: one table of us beside the published plugins, and the page of it.

Each subject of :mod:`tests.benchmarks.peer_rows` gives lines; one that cannot be measured here is a line that says why.
``BENCH="cards sse"`` chooses, ``BENCH_ARGS="--rounds 3"`` is quicker, and ``BENCH_ARGS=--write`` writes
``docs/speed.md``, which only a whole run may. The exit status is 1 when a promise is broken. A line that we lose breaks
none: it is marked.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scripts.peer_table import Line, Missing, Setting, console, document, is_broken
from tests.benchmarks.peer_rows import SUBJECTS, Subject
from tests.support.card_judges import NoPython
from tests.support.environments import NotInstalled

__all__ = ["PAGE", "main", "measured"]

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / "docs" / "speed.md"
ROUNDS = 5

NOT_HERE = (NotInstalled, NoPython, pytest.skip.Exception, pytest.fail.Exception)
"""What an environment says that cannot be made here."""


def measured(subjects: Mapping[str, Subject], rounds: int) -> tuple[list[Line | Missing], list[str]]:
    """The lines of all subjects, whatever becomes of each, and those that could not be measured although they could."""
    lines: list[Line | Missing] = []
    broken: list[str] = []
    for name, measure in subjects.items():
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        try:
            lines += measure(rounds)
        except NOT_HERE as error:
            lines.append(Missing(name, str(error).strip().splitlines()[-1]))
        except Exception as error:  # the others are worth their minutes
            traceback.print_exc()
            lines.append(Missing(name, type(error).__name__))
            broken.append(name)
    return lines, broken


def setting(rounds: int) -> Setting:
    """Now and here."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    ).stdout.strip()
    day = datetime.now(UTC).date().isoformat()
    return Setting(day, commit or "no commit", os.cpu_count() or 1, platform.python_version(), rounds)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write; 1 when a promise is broken or something could not be measured that could be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"subjects, separated by blanks: {' '.join(SUBJECTS)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="pairs (5)")
    parser.add_argument("--write", action="store_true", help="write docs/speed.md")
    options = parser.parse_args(arguments)
    names = options.only.split() or [*SUBJECTS]
    if unknown := {*names} - {*SUBJECTS}:
        parser.error(f"No such subject: {', '.join(sorted(unknown))}. There are: {', '.join(SUBJECTS)}.")
    if options.rounds < 1:
        parser.error("At least one round.")
    if options.write and {*names} != {*SUBJECTS}:
        parser.error("The page holds all subjects: --write goes without --only.")
    now = setting(options.rounds)
    lines, broken = measured({name: SUBJECTS[name] for name in SUBJECTS if name in names}, options.rounds)
    print(console(lines, now))
    if options.write and not broken:
        PAGE.write_text(document(lines, now), encoding="utf-8")
    return int(is_broken(lines) or bool(broken))


if __name__ == "__main__":
    sys.exit(main())
