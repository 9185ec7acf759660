"""A demo's folder goes with its demo; what killed ones left, the next one removes, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from canon_ops.demo.folder import demo_folder
from canon_ops.demo.tether import LOCK_NAME, remove_folder

HOLDER = """
import sys
from canon_ops.demo.folder import demo_folder
with demo_folder(keep=sys.argv[1] == "keep") as folder:
    (folder.path / "something").mkdir()
    print(folder.path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def a_demo(temporary: Path, *, keep: bool = False) -> tuple[subprocess.Popen[str], Path]:
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


def test_what_a_killed_demo_left_goes_with_the_next_one(temporary: Path) -> None:
    """Its lock is free, so nobody will ever clear it away; one that was to be kept has none and stays."""
    child, left = a_demo(temporary)
    keeper, kept = a_demo(temporary, keep=True)
    end(child)
    end(keeper)
    assert (left / "something").exists()

    with demo_folder() as folder:
        assert {path.name for path in temporary.iterdir()} == {kept.name, folder.path.name}

    assert [path.name for path in temporary.iterdir()] == [kept.name]


def test_a_demo_at_work_is_left_alone(temporary: Path) -> None:
    child, at_work = a_demo(temporary)
    try:
        with demo_folder() as folder:
            assert {path.name for path in temporary.iterdir()} == {at_work.name, folder.path.name}
    finally:
        end(child)


def test_what_is_not_provably_ours_is_left_alone(temporary: Path) -> None:
    """A folder of the name without a lock, a link to a folder, a file, and a lock that is a link."""
    (temporary / "canon-ops-demo-by-hand").mkdir()
    (temporary / "canon-ops-demo-file").write_text("mine")
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK_NAME).write_text("")
    (temporary / "canon-ops-demo-link").symlink_to(elsewhere)
    (temporary / "canon-ops-demo-linked-lock").mkdir()
    (temporary / "canon-ops-demo-linked-lock" / LOCK_NAME).symlink_to(elsewhere / LOCK_NAME)
    before = sorted(temporary.rglob("*"))

    with demo_folder():
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
        with demo_folder():
            raise AssertionError("never reached")
    assert list(temporary.iterdir()) == []

    with pytest.raises(KeyboardInterrupt), demo_folder() as folder:
        monkeypatch.setattr("canon_ops.demo.folder.remove_folder", lambda path: _slowly(path))
        (folder.path / "a").mkdir()
    assert list(temporary.iterdir()) == []


def _slowly(folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    remove_folder(folder)
