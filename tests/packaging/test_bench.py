"""``make bench`` runs every benchmark, and fails at its end when one did not hold."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import bench
from tests.support.environments import CHECKOUT

pytestmark = pytest.mark.checkout


def test_one_that_fails_does_not_keep_the_others_from_running() -> None:
    """All are run, in their order, and those that failed are named."""
    ran: list[str] = []

    def run(name: str, extra: Sequence[str]) -> int:
        ran.append(f"{name} {' '.join(extra)}")
        return {"a": 1, "b": 0, "c": -9}[name]

    assert bench.run_all("abc", run, ["--memory"]) == ["a", "c"]
    assert ran == ["a --memory", "b --memory", "c --memory"]


@pytest.mark.parametrize(("failing", "code"), [((), 0), (("sse",), 1)])
def test_the_exit_code(
    failing: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that does not hold is enough, and is told last."""
    monkeypatch.setattr(bench, "_run", lambda name, extra: int(name in failing))

    assert bench.main(["--only", "sse durable"]) == code

    last = capsys.readouterr().out.splitlines()[-1]
    assert last == ("1 of 2 benchmarks hold. Not: sse." if code else "2 of 2 benchmarks hold.")


def test_what_a_benchmark_says_is_seen_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also through a pipe: one that is stopped half-way has told how far it came."""
    folder = tmp_path / "tests" / "benchmarks"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        package.joinpath("__init__.py").touch()
    folder.joinpath("bench_stopped.py").write_text("import os\nprint('half')\nos._exit(3)\n")
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)

    assert bench._run("stopped", []) == 3
    assert capfd.readouterr().out == "half\n"


def test_benchmarks_are_chosen() -> None:
    """By name; a word that is none is refused with those that there are."""
    assert bench.chosen([]) == bench.BENCHMARKS
    assert bench.chosen(["sse", "durable"]) == ("durable", "sse")
    with pytest.raises(bench.NoSuchBenchmark, match="nothing"):
        bench.chosen(["nothing"])
    with pytest.raises(SystemExit):
        bench.main(["--only", "nothing"])


def test_the_targets_run_what_they_say() -> None:
    """The memory of a hundred thousand messages has a target, and `make bench` every file."""
    said = {
        target: subprocess.run(
            ["make", "-n", target, "BENCH=sse"], cwd=CHECKOUT, capture_output=True, text=True, check=True
        ).stdout
        for target in ("bench", "bench-memory")
    }

    assert '-m scripts.bench --only "sse"' in said["bench"]
    assert "-m scripts.bench --only inbound --memory" in said["bench-memory"]
    assert len(bench.BENCHMARKS) == len([*CHECKOUT.glob("tests/benchmarks/bench_*.py")]) > 15


def test_every_benchmark_stands_in_the_page() -> None:
    """docs/testing.md says what each holds, and names none that is gone."""
    page = CHECKOUT.joinpath("docs", "testing.md").read_text(encoding="utf-8")
    table = page.partition("## Benchmarks")[2].partition("\n## ")[0]

    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == bench.BENCHMARKS
