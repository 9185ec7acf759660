"""The host's own locks under ours: another process has them, lives, and is killed. Borgee 9.2.

The host believes an owner only when it lives and its command line is a gateway's, so the other process is started with
the words of one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from borgee_hermes.host import HostLocks
from borgee_hermes.locks.ownership import InUse, Ownership
from canon_ops.settings.secret import Secret

pytestmark = pytest.mark.host

ORIGIN = "https://chat.example.com"
A, B = Secret("bgr_a"), Secret("bgr_b")
HOLD = """\
import sys
from pathlib import Path
from borgee_hermes.host import HostLocks
from borgee_hermes.locks.ownership import Ownership
from canon_ops.settings.secret import Secret
Ownership().acquire(HostLocks(), Path(sys.argv[-1]), "https://chat.example.com", Secret(sys.stdin.readline().strip()))
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held_elsewhere(home: Path, key: Secret) -> Iterator[subprocess.Popen[str]]:
    """Another gateway process that has the home and the key, until the end of the block or its own."""
    program = home.parent / f"{home.name}-program" / "hermes_cli" / "main.py"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(HOLD, encoding="utf-8")
    words = [sys.executable, str(program), "gateway", "run", str(home)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{key.reveal()}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_living_process_keeps_others_out(tmp_path: Path) -> None:
    """L3, L4, L6: its home under any name, and its key from any home; another home with another key is free."""
    home, link = tmp_path / "home", tmp_path / "link"
    home.mkdir()
    link.symlink_to(home)
    with held_elsewhere(home, A) as process:
        for place, key in ((link, B), (tmp_path / "other", A)):
            with pytest.raises(InUse, match=f"in use by process {process.pid}"):
                Ownership().acquire(HostLocks(), place, ORIGIN, key)

        ours = Ownership()
        ours.release(HostLocks(), ours.acquire(HostLocks(), tmp_path / "other", ORIGIN, B))


def test_what_a_killed_process_held_is_taken_over(tmp_path: Path) -> None:
    """L5: its home is granted at once, with another key and with its own."""
    with held_elsewhere(tmp_path, A) as process:
        with pytest.raises(InUse):
            Ownership().acquire(HostLocks(), tmp_path, ORIGIN, B)
        process.kill()
        process.wait()

        for key in (B, A):
            ours = Ownership()
            ours.release(HostLocks(), ours.acquire(HostLocks(), tmp_path, ORIGIN, key))
