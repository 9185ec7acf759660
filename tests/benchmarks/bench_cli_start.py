"""How fast the program starts: ``canon-ops --version`` and ``--help`` against ``python -c "import click"``.

Whole processes, measured from outside: warm-up first, then interleaved rounds, so that a busy machine slows all of
them alike. Run it: ``python -m tests.benchmarks.bench_cli_start``; it exits 1 when the limit is passed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT = 1.5  # times the peer, whole process

SCRIPT = Path(sys.executable).with_name("canon-ops")
PEER = "import click"
COMMANDS = {
    PEER: [sys.executable, "-c", PEER],
    "--version": [str(SCRIPT), "--version"],
    "--help": [str(SCRIPT), "--help"],
}


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds of each command, one value a round."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for round_number in range(rounds + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env={**os.environ, "COLUMNS": "80"})
            if round_number:  # the first round warms the caches
                times[name].append(time.perf_counter() - start)
    return times


def ratios(times: dict[str, list[float]]) -> dict[str, float]:
    """Median of each command over the median of the peer."""
    peer = statistics.median(times[PEER])
    return {name: statistics.median(values) / peer for name, values in times.items()}


def main() -> int:
    """Print the table; 1 when a command is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    from importlib.metadata import version

    times = measure(rounds)
    over = ratios(times)
    print(f"click {version('click')}, Python {sys.version.split()[0]}, {rounds} interleaved rounds after one warm-up")
    for name, values in times.items():
        print(
            f"{name:14} median {statistics.median(values) * 1000:7.1f} ms  "
            f"range {min(values) * 1000:.1f}-{max(values) * 1000:.1f}  {over[name]:.2f}x"
        )
    return int(any(ratio > LIMIT for ratio in over.values()))


if __name__ == "__main__":
    sys.exit(main())
