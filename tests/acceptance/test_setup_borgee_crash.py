"""``setup borgee`` killed at each step by which it changes a disk: nothing half-written, and the next run finishes.

That every file is old or new, and all of them alike, :mod:`tests.acceptance.test_commands_crash` shows of this command
as of the others. Here the same command is given again after each kill, with the key in ``.env`` and in the keyring.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from borgee_hermes.loopback.server import BorgeeSandbox
from tests.support.borgee_boxes import borgee_box
from tests.support.crash_commands import SERVED
from tests.support.keyring_backend import keyring_variables

REFERENCE = "BORGEE_API_KEY_REF="


@pytest.fixture
def server() -> Iterator[BorgeeSandbox]:
    with borgee_box() as box:
        yield box


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one, as in the tests of the other commands."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as name:
        yield Path(name)


def kills(folder: Path, box: BorgeeSandbox, case: str, every: int, **variables: str) -> list[dict[str, Any]]:
    """Each kill, what it left, and what is there when the command was given once more."""
    served = dict(zip(SERVED, (box.endpoints.base_url, box.endpoints.agent_key), strict=False))
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.crash_again", case, str(folder), str(every)],
        env={**os.environ, **served, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3_000:]
    assert box.endpoints.agent_key not in run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


EVERY = [pytest.param(9, id="a slice"), pytest.param(1, id="each", marks=[pytest.mark.long, pytest.mark.timeout(900)])]


@pytest.mark.parametrize("every", EVERY)
def test_the_next_run_finishes_what_a_kill_began(server: BorgeeSandbox, folder: Path, every: int) -> None:
    """All old or all new at once, all new after the second run; one key, and no litter."""
    first, *rows = kills(folder, server, "setup borgee", every)

    assert len(rows) == len(range(0, first["steps"], every)) >= 5
    assert [row for row in rows if row["how"] != "killed" or row["left"] not in ("old", "new")] == []
    assert [row for row in rows if row["again"] != "done" or row["after"] != "new" or row["stale"]] == []
    if every == 1:
        assert {row["left"] for row in rows} == {"old", "new"}


@pytest.mark.parametrize("every", EVERY)
def test_a_key_for_the_keyring_is_there_before_a_file_names_it(
    server: BorgeeSandbox, folder: Path, tmp_path: Path, every: int
) -> None:
    """decisions C1: a reference always leads to the key; an entry without one is used by the next run, not doubled."""
    key, variables = server.endpoints.agent_key, keyring_variables(tmp_path / "entries.json")

    first, *rows = kills(folder, server, "setup borgee keyring", every, **variables)

    assert len(rows) == len(range(0, first["steps"], every)) >= 5
    assert [row for row in rows if row["how"] != "killed" or row["again"] != "done" or row["stale"]] == []
    for row in rows:
        for moment in ("env_left", "env_after"):
            assert key not in row[moment], row
        if REFERENCE in row["env_left"]:
            assert key in row["entries_left"].values(), row
        assert list(row["entries_after"].values()) == [key], row
        (name,) = row["entries_after"]
        assert f"{REFERENCE}{name}\n" in row["env_after"]
        assert yaml.safe_load(row["config_after"])["borgee"]["base_url"] == server.endpoints.base_url
