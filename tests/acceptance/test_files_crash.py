"""A commit that is killed or whose disk fails at any step: the files are old or new, never a part, never a mixture."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_ops.files.transaction import Transaction
from tests.support.crash import CALLS, SCENARIOS, CountingDisk, contents, leftovers, make_home
from tests.support.tools import needs


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: kills do not empty the page cache, and fsync costs nothing there."""
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.mark.parametrize(
    "scenario",
    [
        "one",
        pytest.param("three", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
        pytest.param("undo", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
        pytest.param("mounted", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
    ],
)
def test_every_schedule_ends_old_or_new(scenario: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """T6: kill, torn write, ENOSPC, EIO, EACCES (once, or from then on) at each step; then kills of recovery too."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.crash", scenario, str(folder)], capture_output=True, text=True, check=True
    )

    first, *rows = map(json.loads, run.stdout.splitlines())
    points: list[str] = first["points"]
    with capsys.disabled():
        counts = Counter(row["schedule"].split()[0] + (" twice" if "then" in row["schedule"] else "") for row in rows)
        print(f"\n{scenario}: {len(points)} steps, {len(rows)} schedules {dict(counts)}")  # noqa: T201
    assert [row for row in rows if row["outcome"] == "mixed" or row["leftovers"]] == []
    assert [row for row in rows if row["how"].startswith("unexpected")] == []
    # Each step was killed at, and failed with each error; the kill really happened.
    for number, name in enumerate(points, start=1):
        mine = [row for row in rows if row["schedule"].split()[1:3] == [str(number), name]]
        assert Counter(row["how"] for row in mine)["killed"] >= 1
        assert len(mine) >= 7
    assert all(how_it_ended(row) for row in rows)
    if scenario == "one":
        assert not any(row["mixed_before_recovery"] for row in rows)


def how_it_ended(row: dict[str, Any]) -> bool:
    """What the caller was told is what is there."""
    told = {"disk": {"old"}, "done": {"new"}, "unfinished": {"new"}, "killed": {"old", "new"}}
    return "then" in row["schedule"] or row["outcome"] in told.get(row["how"], set())


# -- against the kernel's view ----------------------------------------------------------------------------------------

SYSTEM_CALLS = {
    "mkdir": "make_folder",
    "openat": "create",
    "fchown": "give_to",
    "fchmod": "set_mode",
    "write": "write",
    "fsync": "sync",
    "rename": "rename",
    "unlink": "unlink",
    "rmdir": "remove_folder",
}
needs_strace = needs("strace")


Seen = list[tuple[str, int, str]]


def under_strace(scenario: str, home: Path, log: Path, *inject: str) -> Seen:
    """Run a scenario in a real process; return (call, its number among calls of that name, line) where it changes."""
    return run_under_strace(scenario, home, log, *inject)[0]


def run_under_strace(scenario: str, home: Path, log: Path, *inject: str) -> tuple[Seen, int]:
    """The same, and how the process ended."""
    calls = ",".join(SYSTEM_CALLS)
    program = [sys.executable, "-B", "-m", "tests.support.crash", scenario, str(home), "run"]
    run = subprocess.run(
        ["strace", "-f", "-y", "-o", str(log), "-e", f"trace={calls}", *inject, *program],
        capture_output=True,
        check=False,
    )
    counts: Counter[str] = Counter()
    found = []
    for line in log.read_text(errors="replace").splitlines():
        match = re.match(r"\d+ +(\w+)\(", line)
        if match is None:
            continue
        counts[match[1]] += 1
        changes = match[1] != "openat" or "O_CREAT|O_EXCL|O_NOFOLLOW" in line or "O_TRUNC" in line
        if str(home) in line and "/lock" not in line and "EEXIST" not in line and changes:
            found.append((match[1], counts[match[1]], line))
    return found, run.returncode


@needs_strace
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_list_of_steps_is_what_the_kernel_sees(scenario: str, folder: Path) -> None:
    """T6: no change reaches the disk past the counted calls, and in the same order."""
    counting = CountingDisk()
    SCENARIOS[scenario](make_home(folder / "counted"), counting)

    seen = under_strace(scenario, make_home(folder / "traced"), folder / "log")

    names = ["overwrite" if "O_TRUNC" in line else SYSTEM_CALLS[call] for call, _, line in seen]
    assert names == counting.points
    assert set(counting.points) <= set(CALLS)


@needs_strace
@pytest.mark.parametrize("scenario", ["one", pytest.param("three", marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_a_real_process_is_killed_at_each_system_call(
    scenario: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """T6: strace kills the process at each system call until the count is exceeded."""
    before = contents(make_home(folder / "before"))
    steps = under_strace(scenario, make_home(folder / "after"), folder / "log")
    after = contents(folder / "after" / "home")
    traces, outcomes = set(), Counter[str]()

    for call, number, _ in steps:
        home = make_home(folder / "try")
        seen = under_strace(scenario, home, folder / "log", "-e", f"inject={call}:signal=SIGKILL:when={number}")
        with Transaction(home):
            pass
        now = contents(home)
        assert now in (before, after), (call, number)
        assert leftovers(home) == []
        traces.add(tuple(name for name, _, _ in seen))
        outcomes["old" if now == before else "new"] += 1
        shutil.rmtree(folder / "try")

    with capsys.disabled():
        print(f"\n{scenario}: {len(steps)} kill points, {len(traces)} distinct traces, {dict(outcomes)}")  # noqa: T201
    assert len(traces) == len(steps)
    assert outcomes["old"] and outcomes["new"]


FAULTS = {
    "EIO": ("fsync", "write", "openat", "rename", "unlink", "mkdir"),
    "ENOSPC": ("fsync", "write", "openat", "rename", "mkdir"),
    "EACCES": ("openat", "rename", "unlink", "mkdir", "fchmod"),
    "EROFS": ("openat", "rename", "mkdir"),
}
SPREAD = {"fsync": "EIO", "write": "ENOSPC", "rename": "EACCES", "openat": "EROFS"}
"""What `make test` meets: the first, the middle and the last call of these names."""


@needs_strace
@pytest.mark.parametrize(
    ("scenario", "error", "calls"),
    [
        *[pytest.param("one", error, (call,), id=f"{call} {error}, a spread") for call, error in SPREAD.items()],
        *[
            pytest.param(
                scenario, error, calls, id=f"{scenario} {error}", marks=[pytest.mark.long, pytest.mark.timeout(600)]
            )
            for scenario in ("one", "three")
            for error, calls in FAULTS.items()
        ],
    ],
)
def test_a_real_disk_error_is_a_sentence_and_changes_nothing(
    scenario: str,
    error: str,
    calls: tuple[str, ...],
    folder: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """T6: the same through the real process, at every call: an error leaves the old files, and no temporary one.

    Once the files are new, what is left is to file the entry: a disk that refuses that is not told as a failure, and
    the next start does it.
    """
    before = contents(make_home(folder / "before"))
    steps, code = run_under_strace(scenario, make_home(folder / "after"), folder / "log")
    after = contents(folder / "after" / "home")
    assert code == 0
    wanted = [(call, number) for call, number, _ in steps if call in calls]
    if request.node.get_closest_marker("long") is None:
        wanted = [wanted[0], wanted[len(wanted) // 2], wanted[-1]]
    ends: Counter[str] = Counter()

    for call, number in wanted:
        home = make_home(folder / "try")
        inject = f"inject={call}:error={error}:when={number}"
        _, code = run_under_strace(scenario, home, folder / "log", "-e", inject)
        right = before if code else after
        assert contents(home) == right, inject
        assert code == 0 or leftovers(home) == [], inject
        with Transaction(home):
            pass
        assert (contents(home), leftovers(home)) == (right, []), inject
        ends["old" if code else "new"] += 1
        shutil.rmtree(folder / "try")

    with capsys.disabled():
        print(f"\n{scenario}, {error}: {len(wanted)} points, {dict(ends)}")  # noqa: T201
    assert ends["old"]
