"""``creds move`` killed between any two of its steps: the key is always somewhere, and the same command finishes.

A real process runs the command and dies without any clean-up at one call of the keyring, or of the history, or before
or after it: a fork that has the command loaded (tests/support/forking.py), and where the steps are counted an
interpreter of its own. Source: command-line contract, creds; decisions C1, T6.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from canon_ops.files.transaction import Transaction
from tests.support.canon_files import KEY, profile_entry
from tests.support.canon_homes import User, user_at
from tests.support.crash_commands import MOVED_KEY
from tests.support.forking import Forking
from tests.support.keyring_backend import entries_of, keyring_variables

# The program, dying at the N-th of its steps outside the transaction; 0 lets it live and prints how many there were.
PROGRAM = """
import os, sys
from canon_ops.keyring.access import Keyring
from canon_ops.operate import move_key
fatal, when, count = int(sys.argv[1]), sys.argv[2], 0
def deadly(step):
    def carry_out(*arguments, **values):
        global count
        count += 1
        mine = count
        if (mine, when) == (fatal, "before"): os._exit(9)
        result = step(*arguments, **values)
        if (mine, when) == (fatal, "after"): os._exit(9)
        return result
    return carry_out
Keyring._run = deadly(Keyring._run)
move_key.edit_agents = deadly(move_key.edit_agents)
move_key.forget_key = deadly(move_key.forget_key)
from canon_ops.cli.main import run_as
try:
    run_as("canon-ops", "", ["creds", "move", "--to", sys.argv[3]])
finally:
    print(f"steps {count}", file=sys.stderr)
"""
Way = Callable[[str, Sequence[str], Mapping[str, str]], subprocess.CompletedProcess[str]]
STEPS = {"keyring": 4, "file": 3}  # find, put, write, forget; get, write, delete


def moments(steps: int) -> list[Any]:
    """Each step with its kill before it, and the last with one behind; behind another is before the next, near enough
    that it is left to ``make crash-files``."""
    last = [pytest.param(steps, "after")]
    between = [pytest.param(number, "after", marks=pytest.mark.long) for number in range(1, steps)]
    return [pytest.param(number + 1, "before") for number in range(steps)] + between + last


def started(program: str, arguments: Sequence[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """In an interpreter of its own."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def forked() -> Iterator[Way]:
    """In a fork of the loaded command line."""
    with Forking() as loaded:
        yield lambda program, arguments, environ: loaded.run(arguments, environ, program=program)


def run(
    way: Way, user: User, entries: Path, to: str, fatal: int = 0, when: str = "before"
) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(user.home), **keyring_variables(entries)}
    return way(PROGRAM, [str(fatal), when, to], environ)


def in_file(user: User) -> bool:
    return user.agents()["ops"].get("apiKey") == KEY


@pytest.mark.parametrize("to", STEPS)
def test_the_list_of_steps_is_complete(tmp_path: Path, to: str) -> None:
    """A run that lives makes as many steps as the crashes below go through."""
    user, entries = user_at(tmp_path / "home"), tmp_path / "entries.json"
    if to == "file":
        run(started, user, entries, "keyring")

    ran = run(started, user, entries, to)

    assert ran.returncode == 0, ran.stderr
    assert f"steps {STEPS[to]}" in ran.stderr


@pytest.mark.parametrize(
    ("to", "fatal", "when"),
    [pytest.param(to, *moment.values, marks=moment.marks) for to, count in STEPS.items() for moment in moments(count)],
)
def test_a_killed_move_loses_nothing_and_is_finished_by_the_next(
    tmp_path: Path, to: str, fatal: int, when: str, forked: Way
) -> None:
    """After the kill the key is in the file or in the keyring; after the next run it is in the one place asked for."""
    user, entries = user_at(tmp_path / "home"), tmp_path / "entries.json"
    if to == "file":
        assert run(forked, user, entries, "keyring").returncode == 0

    killed = run(forked, user, entries, to, fatal, when)

    assert killed.returncode == 9, killed.stderr
    assert in_file(user) or KEY in entries_of(entries).values()

    finished = run(forked, user, entries, to)

    assert finished.returncode == 0, finished.stderr
    assert in_file(user) is (to == "file")
    assert list(entries_of(entries).values()) == ([KEY] if to == "keyring" else [])
    if to == "keyring":
        holding = [file for file in user.home.rglob("*") if file.is_file() and KEY in file.read_text(errors="replace")]
        assert holding == []
    else:
        assert json.loads(user.agents_file.read_text()) == {"ops": profile_entry()}


# -- at each step by which the command changes a disk -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("to", "every"),
    [
        pytest.param("keyring", 16, id="a slice"),
        *[pytest.param(to, 1, id=to, marks=[pytest.mark.long, pytest.mark.timeout(900)]) for to in STEPS],
    ],
)
def test_a_move_is_killed_at_each_step_of_its_disk(
    tmp_path: Path, to: str, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """T6, C1: the key is always in the file or in the keyring; the same command ends it, and nothing else holds it."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.crash_again", f"creds move to {to}", str(tmp_path), str(every)],
        env={**os.environ, **keyring_variables(tmp_path / "entries.json")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-3_000:]
    first, *rows = map(json.loads, run.stdout.splitlines())
    with capsys.disabled():
        print(f"\ncreds move to {to}: {first['steps']} steps, {len(rows)} kills")  # noqa: T201
    assert len(rows) == len(range(0, first["steps"], every)) >= 3
    assert [row for row in rows if row["how"] != "killed" or row["left"] not in ("old", "new")] == []
    assert [row for row in rows if row["again"] != "done" or row["after"] != "new" or row["stale"]] == []
    file, entry = ".canon/agents.json", [MOVED_KEY]
    for row in rows:
        assert file in row["keys_left"] or list(row["entries_left"].values()) == entry, row
        if row["left"] == "new" and to == "keyring":  # a reference never leads nowhere
            assert list(row["entries_left"].values()) == entry, row
        outside = [name for name in row["keys_after"] if "/history/" not in name]
        assert outside == ([] if to == "keyring" else [file]), row
        assert to == "file" or row["keys_after"] == [], row
        assert list(row["entries_after"].values()) == (entry if to == "keyring" else []), row
    if every == 1:
        assert {row["left"] for row in rows} == {"old", "new"}


# ``creds remove`` dying at the N-th file that it takes out of the history, before or after; 0 lets it live.
REMOVAL = """
import os, sys
from canon_ops.files.disk import Disk
fatal, when, count = int(sys.argv[1]), sys.argv[2], 0
unlink = Disk.unlink
def deadly(self, path):
    global count
    if "/history/" not in str(path): return unlink(self, path)
    count += 1
    mine = count
    if (mine, when) == (fatal, "before"): os._exit(9)
    unlink(self, path)
    if (mine, when) == (fatal, "after"): os._exit(9)
Disk.unlink = deadly
from canon_ops.cli.main import run_as
try:
    code = run_as("canon-ops", "", ["creds", "remove", "--yes", *sys.argv[3:]])
finally:
    print(f"steps {count}", file=sys.stderr)
sys.exit(code)
"""
REMOVED = 9  # three entries hold the key, the removal's own among them; each has two texts and a record


def remove(way: Way, user: User, fatal: int, when: str, *more: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(user.home), "CANON_OPS_KEYRING": "off"}
    return way(REMOVAL, [str(fatal), when, "--canon-profile", "ops", *more], environ)


def user_with_a_past(tmp_path: Path) -> User:
    """A profile whose file was edited twice, so that the key is in the history."""
    user = user_at(tmp_path / "home")
    for name in ("one", "two"):
        with Transaction(user.agents_file.parent, label="profile import") as transaction:
            agents = json.loads(user.agents_file.read_text())
            agents[name] = {"clientType": "other"}
            transaction.stage(user.agents_file, json.dumps(agents).encode())
            transaction.commit()
    return user


def holding(user: User) -> list[Path]:
    """Every file below the home that has the key."""
    return [file for file in user.home.rglob("*") if file.is_file() and KEY in file.read_text(errors="replace")]


def test_the_list_of_removals_is_complete(tmp_path: Path) -> None:
    """A run that lives takes as many files out of the history as the crashes below go through."""
    user = user_with_a_past(tmp_path)

    ran = remove(started, user, 0, "never")

    assert (ran.returncode, holding(user)) == (0, [])
    assert f"steps {REMOVED}" in ran.stderr


@pytest.mark.parametrize("whole", [(), ("--whole-profile",)], ids=["key", "whole"])
@pytest.mark.parametrize(("fatal", "when"), moments(REMOVED))
def test_a_killed_removal_is_finished_by_the_next(
    tmp_path: Path, fatal: int, when: str, whole: tuple[str, ...], forked: Way
) -> None:
    """The key is in the history though in no file: the same command finds and forgets it."""
    user = user_with_a_past(tmp_path)
    killed = remove(forked, user, fatal, when, *whole)
    left = holding(user)

    again = remove(forked, user, 0, "never", *whole)

    assert killed.returncode == 9, killed.stderr
    assert holding(user) == []
    assert again.returncode == (0 if left else 4), again.stderr
    assert remove(forked, user, 0, "never", *whole).returncode == 4  # and then there is nothing left to remove


# ``creds remove`` dying when the file has let go of the key, before the keyring is asked to or right after.
FROM_KEYRING = """
import os, sys
from canon_ops.keyring.access import Keyring
delete, when = Keyring.delete, sys.argv[1]
def deadly(self, reference):
    if when == "before": os._exit(9)
    deleted = delete(self, reference)
    if when == "after": os._exit(9)
    return deleted
Keyring.delete = deadly
from canon_ops.cli.main import run_as
sys.exit(run_as("canon-ops", "", ["creds", "remove", "--yes", *sys.argv[2:]]))
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_removal_that_is_killed_at_the_keyring_is_finished_by_the_next(
    tmp_path: Path, when: str, forked: Way
) -> None:
    """BR-44, T1: the reference is gone from the file; the same command finds the entry by the history, and ends it."""
    user, ring = user_at(tmp_path / "home"), tmp_path / "entries.json"
    environ = {"PATH": os.environ["PATH"], "HOME": str(user.home), **keyring_variables(ring)}

    moved = forked(PROGRAM, ["0", "before", "keyring"], environ)
    killed = forked(FROM_KEYRING, [when, "--canon-profile", "ops"], environ)
    left = entries_of(ring)

    again = forked(FROM_KEYRING, ["never", "--canon-profile", "ops"], environ)

    assert (moved.returncode, killed.returncode) == (0, 9), moved.stderr + killed.stderr
    assert len(left) == (1 if when == "before" else 0)
    assert again.returncode == (0 if left else 4), again.stderr
    assert entries_of(ring) == {}
