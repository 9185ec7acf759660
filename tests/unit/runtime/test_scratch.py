"""A temporary folder goes with the work in it; what killed runs left, the next one removes, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from canon_ops.runtime import scratch
from canon_ops.runtime.scratch import LOCK_NAME, scratch_folder

REMOVE = scratch._remove
HOLDER = """
import sys
from canon_ops.runtime.scratch import scratch_folder
with scratch_folder(keep=sys.argv[1] == "keep") as folder:
    (folder.path / "something").mkdir()
    print(folder.path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def a_run(temporary: Path, *, keep: bool = False) -> tuple[subprocess.Popen[str], Path]:
    """A process at work in its folder."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, "keep" if keep else "go"],
        env={"TMPDIR": str(temporary)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    return child, Path(child.stdout.readline().strip())


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    with child:
        pass


def test_what_a_killed_run_left_goes_with_the_next_one(temporary: Path) -> None:
    """Its lock is free, so nobody will ever clear it away; one that was to be kept has none and stays."""
    child, left = a_run(temporary)
    keeper, kept = a_run(temporary, keep=True)
    end(child)
    end(keeper)
    assert (left / "something").exists()

    with scratch_folder() as folder:
        assert {path.name for path in temporary.iterdir()} == {kept.name, folder.path.name}

    assert [path.name for path in temporary.iterdir()] == [kept.name]


def test_a_run_at_work_is_left_alone(temporary: Path) -> None:
    child, at_work = a_run(temporary)
    try:
        with scratch_folder() as folder:
            assert {path.name for path in temporary.iterdir()} == {at_work.name, folder.path.name}
    finally:
        end(child)


def test_what_is_not_provably_ours_is_left_alone(temporary: Path) -> None:
    """A folder of the name without a lock, a link to a folder, a file, and a lock that is a link."""
    (temporary / "canon-ops-by-hand").mkdir()
    (temporary / "canon-ops-file").write_text("mine")
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK_NAME).write_text("")
    (temporary / "canon-ops-link").symlink_to(elsewhere)
    (temporary / "canon-ops-linked-lock").mkdir()
    (temporary / "canon-ops-linked-lock" / LOCK_NAME).symlink_to(elsewhere / LOCK_NAME)
    before = sorted(temporary.rglob("*"))

    with scratch_folder():
        pass

    assert sorted(temporary.rglob("*")) == before


def test_a_signal_while_the_folder_is_made_or_removed_leaves_nothing(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes effect as soon as the folder is known, and after all of it is gone."""
    make = tempfile.mkdtemp

    def interrupted(prefix: str) -> str:
        made = make(prefix=prefix)
        os.kill(os.getpid(), signal.SIGINT)
        return made

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(tempfile, "mkdtemp", interrupted)
        with scratch_folder():
            raise AssertionError("never reached")
    assert list(temporary.iterdir()) == []

    with pytest.raises(KeyboardInterrupt), scratch_folder() as folder:
        monkeypatch.setattr(scratch, "_remove", _slowly)
        (folder.path / "a").mkdir()
    assert list(temporary.iterdir()) == []


def test_a_thread_that_is_left_behind_leaves_nothing(temporary: Path) -> None:
    """The process ends while a thread of its own is at work: the folder goes with the process."""
    text = """
import threading
from canon_ops.cli.leaving import leave
from canon_ops.runtime.scratch import scratch_folder
inside = threading.Event()
def work():
    with scratch_folder():
        inside.set()
        threading.Event().wait()
threading.Thread(target=work, daemon=True).start()
inside.wait()
leave(7)
"""

    done = subprocess.run([sys.executable, "-c", text], env={"TMPDIR": str(temporary)})

    assert done.returncode == 7
    assert list(temporary.iterdir()) == []


def _slowly(folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    REMOVE(folder)
