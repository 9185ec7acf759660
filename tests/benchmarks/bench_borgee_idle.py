"""What a connected Borgee adapter costs while nothing happens: processor time over two minutes.

Run ``python -m tests.benchmarks.bench_borgee_idle``; ``IDLE_S`` shortens it. The adapter runs on the host's base class
in a process of its own, with the real client, the inbox and the locks, and without the rest of a gateway, whose own
timers would drown it. The server is the loopback one, in this process. The clock starts five seconds after the
connection stands, so that what a start loads is not counted.

Limit: less than 0.1 % of one processor. The peer is the same interpreter asleep on an empty event loop.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.borgee_boxes import borgee_box

IDLE_S = float(os.environ.get("IDLE_S", "120"))
SETTLE_S = 5.0
LIMIT = 0.001
ASLEEP = "import asyncio; print('ready', flush=True); asyncio.run(asyncio.sleep(3600))"


def spent_s(pid: int) -> float:
    """Processor time of a process with all its threads, in user and in kernel mode."""
    text = Path(f"/proc/{pid}/stat").read_text()
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Print the numbers; 1 when the limit is broken."""
    with tempfile.TemporaryDirectory(prefix="canon-ops-", dir="/tmp") as folder, borgee_box() as box:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "HERMES_HOME": folder,
            "HERMES_GATEWAY_LOCK_DIR": f"{folder}/locks",
            "BORGEE_API_KEY": box.endpoints.agent_key,
        }
        sides = {
            "adapter": [sys.executable, "-m", "tests.support.borgee_victim", folder, box.endpoints.base_url],
            "empty loop": [sys.executable, "-c", ASLEEP],
        }
        started = {
            name: subprocess.Popen(words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for name, words in sides.items()
        }
        try:
            for process in started.values():
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            time.sleep(SETTLE_S)
            before = {name: spent_s(process.pid) for name, process in started.items()}
            began = time.monotonic()
            time.sleep(IDLE_S)
            took = time.monotonic() - began
            shares = {name: (spent_s(process.pid) - before[name]) / took for name, process in started.items()}
        finally:
            for process in started.values():
                process.kill()
                process.communicate()
        beats = sum(each["what"] == "frame" for each in box.journal())
    for name, share in shares.items():
        print(f"{name:12} {share * took * 1000:6.0f} ms of processor time in {took:.0f} s: {share:.4%}")
    print(f"{beats} frames met the server meanwhile, heartbeats among them")
    fine = shares["adapter"] < LIMIT
    print("within the limit" if fine else "OVER THE LIMIT")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
