"""What a demo starts ends with it, even after SIGKILL, which nobody can catch."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

DEMO = """
import sys
from canon_ops.demo.tether import Lifeline
from canon_ops.runtime.scratch import scratch_folder
with scratch_folder("demo-", keep=sys.argv[1] == "keep") as folder:
    line = Lifeline(None if folder.lock is None else folder.path, folder.lock)
    gateway = line.launch([sys.executable, "-c", sys.argv[2], "gateway run"], start_new_session=True)
    print(gateway.pid, folder.path, flush=True)
    sys.stdin.read()
    gateway.terminate()
    gateway.wait()
    import os, signal
    os.killpg(gateway.pid, signal.SIGKILL)
    line.close()
"""
GATEWAY = "import signal, time; {} ; open('ready', 'w'); time.sleep(600)"
ENDS = "pass"
IGNORES = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


class Playing:
    """A process that has started a gateway in a folder, both as the demo does."""

    def __init__(self, place: Path, gateway: str = ENDS, *, keep: bool = False) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", DEMO, "keep" if keep else "go", GATEWAY.format(gateway)],
            env={"TMPDIR": str(place)}, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        pid, _, folder = self.process.stdout.readline().strip().partition(" ")
        self.gateway, self.folder = int(pid), Path(folder)
        wait_until((place / "ready").exists)

    @property
    def commands(self) -> list[str]:
        """The command lines of the gateway's group."""
        table = subprocess.run(["ps", "-wweo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
        rows = [line.split(maxsplit=2) for line in table.splitlines()]
        return [row[2] for row in rows if row[0] == str(self.gateway) and not row[1].startswith("Z")]

    def end(self, number: signal.Signals | None = None) -> None:
        with self.process:
            if number is not None:
                self.process.send_signal(number)


@pytest.mark.parametrize("gateway", [ENDS, IGNORES], ids=["ends", "ignores SIGTERM"])
def test_a_killed_demo_takes_its_gateway_and_its_folder_along(tmp_path: Path, gateway: str) -> None:
    """The whole group of it, whatever that makes of SIGTERM."""
    demo = Playing(tmp_path, gateway)
    wait_until(lambda: len(demo.commands) == 2)
    assert demo.folder.exists()

    demo.end(signal.SIGKILL)

    wait_until(lambda: demo.commands == [], timeout_s=20)
    assert not demo.folder.exists()


def test_what_is_to_be_kept_is_kept(tmp_path: Path) -> None:
    """Of a demo that was killed, too."""
    demo = Playing(tmp_path, keep=True)

    demo.end(signal.SIGKILL)

    wait_until(lambda: demo.commands == [], timeout_s=20)
    assert demo.folder.exists()


def test_a_demo_that_ends_as_it_should_leaves_no_watcher(tmp_path: Path) -> None:
    """The watcher goes with the group that it stands in."""
    demo = Playing(tmp_path)
    wait_until(lambda: len(demo.commands) == 2)

    demo.end()

    assert demo.process.returncode == 0
    wait_until(lambda: demo.commands == [])
    assert not demo.folder.exists()


def test_the_watcher_is_not_taken_for_a_gateway(tmp_path: Path) -> None:
    """Hermes counts what names ``gateway run`` on its command line; the gateway has no child that it has not made."""
    demo = Playing(tmp_path)
    try:
        wait_until(lambda: len(demo.commands) == 2)

        assert len([one for one in demo.commands if "gateway run" in one]) == 1
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(demo.gateway)], capture_output=True, text=True)
        assert children.stdout.strip() == ""
    finally:
        demo.end()


def test_the_gateway_holds_neither_lifeline_nor_lock(tmp_path: Path) -> None:
    """What it starts in a session of its own could otherwise keep the folder's lock for ever."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not tell what a process holds")
    demo = Playing(tmp_path)
    try:
        held = [str(one.readlink()) for one in Path(f"/proc/{demo.gateway}/fd").iterdir()]

        assert not [one for one in held if "canon-ops.lock" in one]
        assert len([one for one in held if one.startswith("pipe:")]) <= 2  # its own output
    finally:
        demo.end()
