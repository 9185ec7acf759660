"""Whole commands that are killed or whose disk fails at any step: every file is old or new, and all of them alike.

What :mod:`tests.acceptance.test_files_crash` shows of the transaction is shown here of the programs that use it:
``.env``, config.yaml, agents.json and settings.toml, one file, two and three. Source: decisions T6.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.sandbox.server import CanonSandbox
from tests.support.borgee_boxes import borgee_box
from tests.support.crash import contents
from tests.support.crash_commands import COMMANDS, SERVED, WITHOUT_A_JOURNAL, environ_of, make_user, stale, words_of
from tests.support.keyring_backend import FILE_VARIABLE
from tests.support.sandboxes import canon_box
from tests.support.tools import needs

SLICED = ("env set", "profile bind")
# What a run says it did, and what may be there then.
TRUTHFUL = {"disk": {"old"}, "done": {"new"}, "unfinished": {"new"}, "killed": {"old", "new"}}
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


TRACED = {"env set", "profile bind", "doctor fix", "setup borgee"}
"""One command of each way to write; ``make crash-files`` traces them all."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: kills do not empty the page cache, and fsync costs nothing there."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def server() -> Iterator[BorgeeSandbox]:
    with borgee_box() as box:
        yield box


@pytest.fixture(scope="module")
def canon() -> Iterator[CanonSandbox]:
    with canon_box() as box:
        yield box


@pytest.fixture(autouse=True)
def served(case: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who answers a command that asks."""
    if case == "setup borgee":
        box: BorgeeSandbox = request.getfixturevalue("server")
        for name, value in zip(SERVED, (box.endpoints.base_url, box.endpoints.agent_key), strict=False):
            monkeypatch.setenv(name, value)
    if case == "creds move to keyring":
        folder: Path = request.getfixturevalue("folder")
        monkeypatch.setenv(FILE_VARIABLE, str(folder / "entries.json"))
    if case == "profile migrate":
        canon: CanonSandbox = request.getfixturevalue("canon")
        ends = canon.endpoints
        for name, value in zip(SERVED, (ends.api, ends.agent_key, ends.stream, ends.environment_id), strict=True):
            monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("case", "slice_of_it"),
    [
        *[pytest.param(case, ["slice"], id=f"a slice of {case}") for case in SLICED],
        *[pytest.param(case, [], id=case, marks=[pytest.mark.long, pytest.mark.timeout(600)]) for case in COMMANDS],
    ],
)
def test_every_schedule_ends_old_or_new(
    case: str, slice_of_it: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """T6: kill, torn write, ENOSPC, EIO, EACCES (once, from then on) at each step; what is told is what is there."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.crash_commands", case, str(folder), *slice_of_it],
        capture_output=True,
        text=True,
        check=True,
    )

    first, *rows = map(json.loads, run.stdout.splitlines())

    points: list[str] = first["points"]
    with capsys.disabled():
        kinds = dict(Counter(row["schedule"].split()[0] for row in rows))
        print(f"\n{case}: {len(points)} steps, {len(rows)} schedules {kinds}")  # noqa: T201
    assert first["how"] == "done"
    assert first["before"] != first["after"]
    assert [row for row in rows if row["outcome"] == "mixed" or row["stale"]] == []
    assert [row for row in rows if row["outcome"] not in told(case, row, points)] == []
    if not slice_of_it:
        killed = {row["schedule"].split()[1] for row in rows if row["how"] == "killed"}
        assert killed == {str(number) for number in range(1, len(points) + 1)}
        assert len(rows) >= 7 * len(points)


def told(case: str, row: dict[str, Any], points: list[str]) -> set[str]:
    """What may be there after what the command said; without a journal the text stands before its disk confirms it."""
    if case in WITHOUT_A_JOURNAL and row["how"] == "disk" and row["schedule"].split()[1] == str(len(points)):
        return {"new"}
    return TRUTHFUL.get(row["how"], set())


@needs("strace")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[] if case in TRACED else pytest.mark.long)
        for case in (*COMMANDS, "creds move to keyring")
    ],
)
def test_no_command_changes_a_disk_past_the_counted_steps(case: str, folder: Path) -> None:
    """T6: the kernel sees the same calls, in the same order, in the real program."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.crash_commands", case, str(folder), "none"],
        capture_output=True,
        text=True,
        check=True,
    )
    points = json.loads(run.stdout.splitlines()[0])["points"]
    home, log = make_user(folder / "traced", case), folder / "log"
    (folder / "entries.json").unlink(missing_ok=True)

    subprocess.run(
        ["strace", "-f", "-y", "-o", str(log), "-e", f"trace={','.join(SYSTEM_CALLS)}",
         sys.executable, "-m", "canon_ops", *words_of(case, home)],
        env=environ_of(home, case), capture_output=True, check=False,
    )  # fmt: skip

    assert list(changes(log.read_text(errors="replace"), home)) == points
    assert contents(home) != contents(make_user(folder / "before", case))
    assert stale(home) == []


def changes(text: str, home: Path) -> Iterator[str]:
    """The calls of a trace that change something below ``home``; locks are no changes."""
    for line in text.splitlines():
        match = re.match(r"\d+ +(\w+)\((\d+<[^>]*>)?", line)
        if (
            match is None
            or str(home) not in (match[2] if match[1] == "write" else line)
            or "/lock" in line
            or "EEXIST" in line
            or line.endswith("ENOENT")
        ):
            continue
        if match[1] == "openat" and "O_CREAT" not in line:
            continue
        yield SYSTEM_CALLS[match[1]]
