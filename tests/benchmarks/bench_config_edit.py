"""What it costs to set one key of a commented config.yaml, beside ruamel.yaml and ``hermes config set``.

Run ``python -m tests.benchmarks.bench_config_edit``. The input is written here and named by its hash. Three tables,
each of five interleaved pairs after one to warm up, median and range:

- in process: parse, set, prove; the peer is ruamel.yaml's load, change, dump, which changes other lines too;
- whole process: ``canon-ops config set``; the peer is ``hermes config set``, which drops every comment;
- growth: the same edit in 10,000 lines, a line.

Both programs run as their scripts, with their byte code compiled, as they do once they are installed. Processor time is
measured, since other programs on the machine say nothing about these. Promises: at most a tenth of ruamel's time, at
most a fifth of Hermes' time, and at 10,000 lines at most twice the time a line; the exit status is 1 when one fails.
What a program cannot be without is there to compare: Python with PyYAML, yaml-edit, pathlib and json imported.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import ruamel.yaml

from canon_ops.files.config_editor import ConfigDocument

PAIRS = 5
PROCESS_PAIRS = 15  # a program's start is uneven; each run is compared with the one beside it
RUAMEL_SHARE, HERMES_SHARE, GROWTH = 10, 5, 2
FLOOR = "import yaml, yaml_edit, pathlib, json, typing"


def config(lines: int) -> bytes:
    """A config.yaml of so many lines, one in four of them a comment, as people write it."""
    parts = []
    for section in range(lines // 10):
        parts += [f"# section {section}: see the wiki", f"section{section}:"]
        parts += [
            f"  key{key}: value {key} of many   # note {key}" if key % 2 else f"  key{key}: {key}" for key in range(8)
        ]
    return ("\n".join(parts) + "\n").encode()


def ours(data: bytes) -> None:
    ConfigDocument.parse(data).set(("section3", "key1"), "changed")


def ruamels(data: bytes) -> None:
    yaml = ruamel.yaml.YAML()
    tree = yaml.load(data.decode())
    tree["section3"]["key1"] = "changed"
    yaml.dump(tree, io.StringIO())


def processor_ms(work: Callable[[bytes], None], data: bytes) -> float:
    start = process_time()
    work(data)
    return (process_time() - start) * 1000


def child_ms(command: list[str], environ: dict[str, str]) -> float:
    """Processor time of a program, in its own code and in the kernel for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000


def interleaved(
    one: Callable[[], float], other: Callable[[], float], pairs_wanted: int = PAIRS
) -> tuple[list[float], list[float]]:
    pairs = [(one(), other()) for _ in range(pairs_wanted + 1)][1:]  # the first pair warms up
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def row(name: str, times: list[float]) -> str:
    return f"  {name:<34} {statistics.median(times):9.1f} ms   ({min(times):.1f} to {max(times):.1f})"


def say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")


def whole_process(data: bytes) -> tuple[list[float], list[float]]:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        home.mkdir()
        environ = {**os.environ, "HOME": name, "HERMES_HOME": str(home), "PYTHONPYCACHEPREFIX": f"{name}/compiled"}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)  # installed programs are compiled; the first pair does it here

        def run(script: str) -> float:
            (home / "config.yaml").write_bytes(data)
            program = str(Path(sys.executable).with_name(script))
            return child_ms([program, "config", "set", "section3.key1", "changed"], environ)

        return interleaved(lambda: run("canon-ops"), lambda: run("hermes"), PROCESS_PAIRS)


def main() -> int:
    small, large = config(850), config(10_000)
    say(
        f"ruamel.yaml {importlib.metadata.version('ruamel.yaml')}, hermes-agent "
        f"{importlib.metadata.version('hermes-agent')}, yaml-edit {importlib.metadata.version('yaml-edit')}",
        f"850 lines, SHA-256 {hashlib.sha256(small).hexdigest()[:16]}",
        "in process (processor time):",
    )
    mine, ruamel_times = interleaved(lambda: processor_ms(ours, small), lambda: processor_ms(ruamels, small))
    say(row("canon-ops: parse, set, prove", mine), row("ruamel.yaml: load, change, dump", ruamel_times))
    program, hermes = whole_process(small)
    floor, _ = interleaved(lambda: child_ms([sys.executable, "-c", FLOOR], dict(os.environ)), lambda: 0.0)
    say("whole process (processor time):", row("canon-ops config set", program), row("hermes config set", hermes))
    say(row("Python and the libraries alone", floor))
    long, short = interleaved(lambda: processor_ms(ours, large), lambda: processor_ms(ours, small))
    say("10,000 lines, in process:", row("canon-ops: parse, set, prove", long))
    shares = {
        f"a tenth of ruamel.yaml: 1/{_ratio(ruamel_times, mine):.1f}": _ratio(ruamel_times, mine) >= RUAMEL_SHARE,
        f"a fifth of Hermes: 1/{_paired(hermes, program):.1f}": _paired(hermes, program) >= HERMES_SHARE,
        f"linear to 10,000 lines: {_paired(long, short) * 850 / 10_000:.2f} times a line": _paired(long, short)
        * 850
        / 10_000
        <= GROWTH,
    }
    say(*(f"{'kept  ' if kept else 'BROKEN'} {promise}" for promise, kept in shares.items()))
    return 0 if all(shares.values()) else 1


def _ratio(one: list[float], other: list[float]) -> float:
    return statistics.median(one) / statistics.median(other)


def _paired(one: list[float], other: list[float]) -> float:
    """The median of the ratios: what slows the machine for a while slows both runs of a pair."""
    return statistics.median(mine / theirs for mine, theirs in zip(one, other, strict=True))


if __name__ == "__main__":
    sys.exit(main())
