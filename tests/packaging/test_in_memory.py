"""Where the temporary files of a test run lie: in memory where there is plenty, gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.environments import CHECKOUT

pytestmark = pytest.mark.checkout

MEMORY = Path("/dev/shm")  # noqa: S108 - where the script looks
SCRIPT = CHECKOUT / "scripts" / "in_memory.sh"
has_memory = pytest.mark.skipif(
    not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < 2**33, reason="this machine has no memory to spare"
)


def run(words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    outer = {name: value for name, value in os.environ.items() if name not in {"TMPDIR", "TEST_TMP"}}
    return subprocess.run(
        [SCRIPT, "sh", "-c", words], env={**outer, **environ}, capture_output=True, text=True, check=False, timeout=60
    )


@has_memory
def test_temporary_files_lie_in_memory_and_are_gone_afterwards() -> None:
    """Whatever the command's end, which is passed on."""
    done = run('touch "$TMPDIR/kept"; echo "$TMPDIR"; exit 7')

    folder = Path(done.stdout.strip())
    assert (done.returncode, folder.parent) == (7, MEMORY)
    assert not folder.exists()


@has_memory
def test_an_end_from_outside_leaves_nothing_behind() -> None:
    with subprocess.Popen(
        [SCRIPT, "sh", "-c", 'echo "$TMPDIR"; sleep 60'],
        env={name: value for name, value in os.environ.items() if name not in {"TMPDIR", "TEST_TMP"}},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        assert folder.exists()
        os.killpg(run.pid, signal.SIGTERM)  # a worker of a test run may be deaf to the other one
        run.wait(timeout=30)

    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()


def test_a_named_folder_is_taken(tmp_path: Path) -> None:
    """To look at what a test left."""
    folder = tmp_path / "kept"

    done = run('touch "$TMPDIR/left"; echo "$TMPDIR"', TEST_TMP=str(folder))

    assert done.stdout.strip() == str(folder)
    assert (folder / "left").exists()


def test_without_memory_everything_stays_as_it_is(tmp_path: Path) -> None:
    """``df`` that says that there is none: the command runs with the folder that it would have had."""
    df = tmp_path / "df"
    df.write_text("#!/bin/sh\necho header\necho shm 1000 900 100 90% /dev/shm\n")
    df.chmod(0o755)

    done = run("echo ${TMPDIR:-none}", PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    assert (done.returncode, done.stdout.strip()) == (0, "none")
