"""What the demo takes, step by step.

Run ``python -m tests.benchmarks.bench_demo`` where a Hermes is installed. The median of three demos with an empty home
of a user; the environment that they run in is there already.

Promise: at most 60 seconds. The exit status is 1 when that is broken.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 3
MOST_S = 60.0


def durations(home: str) -> dict[str, float]:
    """One demo: seconds by the name of its step."""
    script = str(Path(sys.executable).with_name("canon-ops"))
    environ = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"}
    done = subprocess.run([script, "demo", "--json"], env=environ, capture_output=True, check=True, timeout=600)
    return {step["name"]: step["duration_s"] for step in json.loads(done.stdout)["data"]["steps"]}


def main() -> int:
    """Run the demos, print the table, hold it against the promise."""
    with tempfile.TemporaryDirectory() as home:
        runs = [durations(home) for _round in range(ROUNDS)]
    for name in runs[0]:
        print(f"{name:<20} {statistics.median(run[name] for run in runs):6.2f} s")
    totals = [sum(run.values()) for run in runs]
    total = statistics.median(totals)
    print(f"{'in all':<20} {total:6.2f} s ({min(totals):.1f} to {max(totals):.1f}), at most {MOST_S:.0f}")
    return 0 if total <= MOST_S else 1


if __name__ == "__main__":
    sys.exit(main())
