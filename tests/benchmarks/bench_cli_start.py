"""How fast the program starts: ``--version``, ``--help`` and a completion, against ``python -c "import click"``.

The completion is what a script asks at a key press: the keys of a config.yaml of 400 lines, cold (no cache, and so the
whole file is read) and warm.

Whole processes, measured from outside: warm-up first, then interleaved rounds, so that a busy machine slows all of
them alike. Run it: ``python -m tests.benchmarks.bench_cli_start``; it exits 1 when the limit is passed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMITS = {"--version": 1.5, "--help": 1.5, "completion, warm": 1.5, "completion, cold": 3.0}  # times the peer

SCRIPT = Path(sys.executable).with_name("canon-ops")
PEER = "import click"
COMPLETION = [str(SCRIPT), "__complete", "config-key", "config", "get"]
COMMANDS = {
    PEER: [sys.executable, "-c", PEER],
    "--version": [str(SCRIPT), "--version"],
    "--help": [str(SCRIPT), "--help"],
    "completion, warm": COMPLETION,
    "completion, cold": COMPLETION,
}


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds of each command, one value a round."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "COLUMNS": "80", "HOME": folder, "XDG_CACHE_HOME": f"{folder}/cache"}
        environ.pop("HERMES_HOME", None)
        (Path(folder) / ".hermes").mkdir()
        config = "".join(f"section_{each}:\n  one: 1\n  # a comment\n  two: [a, b]\n" for each in range(100))
        (Path(folder) / ".hermes" / "config.yaml").write_text(config)
        for round_number in range(rounds + 1):
            for name, command in COMMANDS.items():
                if name == "completion, cold":
                    shutil.rmtree(f"{folder}/cache", ignore_errors=True)
                start = time.perf_counter()
                done = subprocess.run(command, check=True, capture_output=True, env=environ, text=True)
                if round_number:  # the first round warms the caches
                    times[name].append(time.perf_counter() - start)
                if command is COMPLETION and "section_99.two" not in done.stdout:
                    raise SystemExit("the completion did not answer")
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
            f"{name:16} median {statistics.median(values) * 1000:7.1f} ms  "
            f"range {min(values) * 1000:.1f}-{max(values) * 1000:.1f}  {over[name]:.2f}x"
        )
    return int(any(over[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
