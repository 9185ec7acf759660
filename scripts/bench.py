"""``make bench``: every benchmark, one after the other; one over its limit does not keep the others from running.

Each is a module of ``tests/benchmarks`` that prints its numbers and ends with 0 when it holds what is promised.
``make bench BENCH="sse durable"`` chooses; ``make bench-memory`` takes 100,000 messages for its verdict.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

__all__ = ["BENCHMARKS", "NoSuchBenchmark", "chosen", "main", "run_all"]

CHECKOUT = Path(__file__).resolve().parents[1]
BENCHMARKS = tuple(sorted(file.stem.removeprefix("bench_") for file in CHECKOUT.glob("tests/benchmarks/bench_*.py")))

Run = Callable[[str, Sequence[str]], int]


class NoSuchBenchmark(Exception):
    """A word that names none; the text names those that there are."""


def chosen(words: Iterable[str]) -> tuple[str, ...]:
    """The benchmarks that are asked for, in their order; without words all of them.

    Raises:
        NoSuchBenchmark: a word is none.
    """
    words = [*words]
    if unknown := {*words} - {*BENCHMARKS}:
        raise NoSuchBenchmark(f"No such benchmark: {', '.join(sorted(unknown))}. There are: {', '.join(BENCHMARKS)}.")
    return tuple(name for name in BENCHMARKS if name in words or not words)


def run_all(names: Iterable[str], run: Run, extra: Sequence[str] = ()) -> list[str]:
    """Run them all, whatever becomes of each; the names of those that failed."""
    failed = []
    for name in names:
        print(f"\n== {name}", flush=True)
        if run(name, extra) != 0:
            failed.append(name)
    return failed


def _run(name: str, extra: Sequence[str]) -> int:
    command = [sys.executable, "-u", "-m", f"tests.benchmarks.bench_{name}", *extra]  # each line when it is said
    return subprocess.run(command, cwd=CHECKOUT, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen benchmarks; 0 when all hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names, separated by blanks")
    options, extra = parser.parse_known_args(arguments)
    try:
        names = chosen(options.only.split())
    except NoSuchBenchmark as error:
        parser.error(str(error))
    failed = run_all(names, _run, extra)
    print(
        f"\n{len(names) - len(failed)} of {len(names)} benchmarks hold."
        + (f" Not: {', '.join(failed)}." if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
