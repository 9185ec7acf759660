"""What ``sandbox canon`` prints is enough to register an agent with it, and to approve that as a person would."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.support.tools import needs

SCRIPT = str(Path(sys.executable).parent / "canon-ops")


@needs("curl")  # the command that is printed is curl's
def test_the_printed_commands_register_and_approve(tmp_path: Path) -> None:
    """Pasted one after the other: the request waits, is approved, and the agent is set up."""
    (tmp_path / ".hermes").mkdir()
    environ = {"HOME": str(tmp_path), "PATH": f"{Path(SCRIPT).parent}{os.pathsep}{os.environ['PATH']}"}

    def paste(command: str, *more: str) -> int:
        words = [*shlex.split(command), *more]
        return subprocess.run(words, env=environ, capture_output=True, check=False, timeout=60).returncode

    with subprocess.Popen([SCRIPT, "sandbox", "canon"], env=environ, stderr=subprocess.PIPE, text=True,
                          stdout=subprocess.DEVNULL) as sandbox:  # fmt: skip
        assert sandbox.stderr is not None
        told = dict(sandbox.stderr.readline().rstrip("\n").split(": ", 1) for _ in range(2))
        try:
            waits = paste(told["Register an agent here"], "--no-input", "--wait", "0")
            approved = paste(told["Approve the oldest request"], "--fail")
            done = paste(told["Register an agent here"], "--no-input")
        finally:
            sandbox.terminate()

    assert (waits, approved, done) == (3, 0, 0)
    assert (tmp_path / ".hermes" / ".env").read_text() == "CANON_AGENT=hermes\n"
