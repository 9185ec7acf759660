"""What somebody else has, or nobody: a port that is taken, an interpreter that is none."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Runner


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of loopback on which somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


@pytest.mark.parametrize("words", [("canon",), ("canon", "--stream-port"), ("model",), ("borgee",)])
def test_a_port_that_is_taken_is_exit_3(program: Runner, home: Path, taken: int, words: tuple[str, ...]) -> None:
    """One sentence with the address, the way out, and neither an answer nor a ready file."""
    kind, *option = words
    ready = home / "ready.json"

    ran = program("sandbox", kind, *(option or ["--port"]), str(taken), "--ready-file", str(ready))

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines() == [
        f"Error: 127.0.0.1:{taken} cannot be used: Address already in use.",
        "  fix: choose another port, or 0",
    ]
    assert list(home.iterdir()) == []


def test_a_demo_without_its_interpreter_is_exit_3(program: Runner, home: Path) -> None:
    """L6: nothing is installed; the fix makes an environment and runs the demo in it."""
    ran = program("demo", "--python", "/nonexistent/python")

    error, fix = ran.err.splitlines()[-2:]
    assert (ran.code, error) == (3, "Error: There is no interpreter at /nonexistent/python.")
    assert fix.startswith("  fix: ")
    assert "-m venv" in fix and fix.endswith("canon-ops demo --python demo-venv/bin/python")
    assert list(home.iterdir()) == []
