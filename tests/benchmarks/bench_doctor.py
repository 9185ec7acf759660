"""How long an operator waits: ``doctor --offline`` against the published plugin's doctor, ``status`` against click.

Whole processes on one home, measured from outside: warm-up first, then interleaved rounds, so that a busy machine slows
all of them alike. The peer is a black box in an environment of its own, beside the same Hermes; both are made below
``.hosts`` on first use. Ours asks every check that needs no network, the peer asks what it asks.

``cold`` has forgotten what it knows of the host, as right after an update of Hermes: told, and held to no limit.
Run it: ``python -m tests.benchmarks.bench_doctor``; it exits 1 when a limit is passed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.canon_files import profile_entry
from tests.support.clinic import CONFIG
from tests.support.environments import Environment
from tests.support.published import PUBLISHED, published_host

PEER = "published doctor"
CLICK = "import click"
IN_THE_HOST, FROM_OUTSIDE, COLD = "doctor, in the host", "doctor, from outside", "doctor, cold"


@dataclass(frozen=True)
class Row:
    """One command; ``limit`` is in times its peer."""

    command: list[str]
    peer: str | None = None
    limit: float | None = None
    forgets: bool = False


def rows() -> dict[str, Row]:
    here = Path(sys.executable)
    outside = Environment("outside", checkout_extra="sandbox").make()
    peer = published_host(PUBLISHED[0]).parent / "canon-hermes"
    doctor = ["doctor", "--offline"]
    return {
        PEER: Row([str(peer), "doctor"]),
        CLICK: Row([str(here), "-c", CLICK]),
        IN_THE_HOST: Row([str(here.parent / "canon-ops"), *doctor], PEER, 1.0),
        FROM_OUTSIDE: Row([str(outside.parent / "canon-ops"), *doctor, "--python", str(here)], PEER, 1.5),
        COLD: Row([str(here.parent / "canon-ops"), *doctor], PEER, forgets=True),
        "status": Row([str(here.parent / "canon-ops"), "status"], CLICK, 10.0),
    }


def furnish(user: Path) -> str:
    """A home in order; the digest of its files."""
    user.joinpath(".hermes").mkdir(parents=True)
    user.joinpath(".canon").mkdir()
    texts = {
        ".hermes/config.yaml": CONFIG,
        ".hermes/.env": "CANON_ALLOW_ALL_USERS=true\n",
        ".canon/agents.json": json.dumps({"ops": profile_entry()}),
    }
    for name, text in texts.items():
        user.joinpath(name).write_text(text)
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:12]


def measure(table: dict[str, Row], user: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds of each command, one value a round."""
    environ = {"HOME": str(user), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "COLUMNS": "80"}
    times: dict[str, list[float]] = {name: [] for name in table}
    for round_number in range(rounds + 1):
        for name, row in table.items():
            cache = user / ".cache"
            if row.forgets and cache.exists():
                cache.rename(user / "forgotten")
            start = time.perf_counter()
            done = subprocess.run(row.command, capture_output=True, env=environ, check=False)
            took_s = time.perf_counter() - start
            if done.returncode not in (0, 1):
                raise RuntimeError(f"{name}: {done.stderr.decode()}")
            if row.forgets and (user / "forgotten").exists():
                shutil.rmtree(cache)
                (user / "forgotten").rename(cache)
            if round_number:  # the first round warms the caches
                times[name].append(took_s)
    return times


def main() -> int:
    """Print the table; 1 when a command is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    table = rows()
    with tempfile.TemporaryDirectory() as folder:
        digest = furnish(Path(folder))
        times = measure(table, Path(folder), rounds)
    print(f"{PUBLISHED[0].requirements[1]} beside {PUBLISHED[0].requirements[0]}, Python {sys.version.split()[0]}, "
          f"home {digest}, {rounds} interleaved rounds after one warm-up")  # fmt: skip
    failed = False
    for name, row in table.items():
        median = statistics.median(times[name])
        ends = f"{min(times[name]) * 1000:.1f}-{max(times[name]) * 1000:.1f}"
        line = f"{name:22} median {median * 1000:7.1f} ms  range {ends}"
        if row.peer is not None:
            ratio = median / statistics.median(times[row.peer])
            limit = "no limit" if row.limit is None else f"limit {row.limit:g}"
            line += f"  {ratio:.2f}x {row.peer} ({limit})"
            failed = failed or (row.limit is not None and ratio > row.limit)
        print(line)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
