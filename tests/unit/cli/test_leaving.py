"""The quick end of a process leaves nothing undone that the slow one does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit, sys, threading
from canon_ops.cli.leaving import leave

atexit.register(lambda: print("asked for at the end", end=""))
{before}
print("buffered, ", end="")
sys.exit(leave(7))
"""


def ended(before: str = "pass", stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        text=True,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={},  # buffering as Python has it by itself
        timeout=30,
    )


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("pass", id="plain"),
        pytest.param("threading.Thread(target=threading.Event().wait, daemon=True).start()", id="a thread that hangs"),
        pytest.param("sys.stderr = None", id="a closed stream"),
    ],
)
def test_what_is_buffered_arrives(before: str) -> None:
    """Into a pipe, where Python buffers: the text, what was registered for the end, and the exit code."""
    done = ended(before)

    assert (done.returncode, done.stdout) == (7, "buffered, asked for at the end")


def test_a_thread_that_is_waited_for_ends_first() -> None:
    """The ordinary end takes its course where somebody is still at work."""
    thread = "threading.Timer(0.05, lambda: print('work is done')).start()"

    done = ended(thread)

    assert done.returncode == 7
    assert "work is done" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_answer_that_cannot_be_written_is_not_a_success() -> None:
    """A full disk behind a redirection is told as Python tells it."""
    with Path("/dev/full").open("w") as full:
        done = ended(stdout=full.fileno())

    assert done.returncode == 120
    assert "No space left" in done.stderr
