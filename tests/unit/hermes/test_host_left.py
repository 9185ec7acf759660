"""A process that ends while a host is at work for it leaves nothing: not the host, not the folder that it was given."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import wait_until

# It never answers, and makes folders in its home as a Hermes does, again and again.
HOST = """#!/bin/sh
while :; do mkdir -p "$HERMES_HOME/logs"; echo $$ > "$TMPDIR/host"; sleep 0.02; done
"""
# What a signal makes of a doctor: its thread that asks is left behind, and the process leaves.
ASKING = """
import os, sys, threading, time
from pathlib import Path
from canon_ops.cli.leaving import leave
from canon_ops.hermes.host_call import describe_symbols
folder = Path(os.environ["TMPDIR"])
asking = lambda: describe_symbols(folder / "python", ["a:b"], environ=os.environ)
threading.Thread(target=asking, daemon=True).start()
while not (folder / "host").exists():
    time.sleep(0.01)
leave(143)
"""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_host_ends_with_the_process_that_asked_it(tmp_path: Path) -> None:
    """It would make its folder again behind the one who removes it."""
    (tmp_path / "python").write_text(HOST)
    (tmp_path / "python").chmod(0o755)

    ran = subprocess.run(
        [sys.executable, "-c", ASKING],
        env={"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}, timeout=60, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    host = int((tmp_path / "host").read_text())
    try:
        assert (ran.returncode, ran.stderr) == (143, "")
        wait_until(lambda: not is_alive(host), timeout_s=2)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["host", "python"]
    finally:
        if is_alive(host):
            os.kill(host, 9)
