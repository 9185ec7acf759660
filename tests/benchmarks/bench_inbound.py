"""How fast messages reach the host through the adapter, which records them, beside the published plugin.

Run ``python -m tests.benchmarks.bench_inbound``. A loopback Canon in this process speaks in 200 conversations; the
adapter lives in a process of its own, with a host that only counts what reaches ``handle_message``. The peer is
canon-hermes-plugin 0.14.1 beside the same Hermes 0.19.0, in an environment of its own, as a black box: the same client
program registers and drives both. Five interleaved pairs after one warm-up, medians with their range. The last row is
the limit of the server itself: a bare socket that reads and does nothing.

With ``--memory`` the second part runs too: 100,000 messages in 1,000 conversations, each started, answered and
completed; the memory of the process over the last half may not grow by more than a twentieth.

Promises: at least as fast as the peer; the server at least five times as fast as the peer. The exit status is 1 when
one is broken.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.sandbox.state import World
from tests.support.gateways import direct_key
from tests.support.published import PUBLISHED, published_host

CONVERSATIONS, MESSAGES, PAIRS = 200, 4_000, 5
TEXT = "Please file invoice 42 and tell Dana about it."
LONG_CONVERSATIONS, LONG_MESSAGES = 1_000, 100_000
MOST_GROWTH = 1.05
AT_ONCE = 40  # messages on their way in the long run
CLIENT = str(Path(__file__).with_name("inbound_client.py"))


class Client:
    """The adapter's process, connected to a server."""

    def __init__(self, python: Path, box: CanonSandbox, folder: Path, count: int, *, runs: bool = False) -> None:
        (folder / "hermes").mkdir(parents=True)
        (folder / "user").mkdir()
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "user"),
            "HERMES_HOME": str(folder / "hermes"),
            "NO_PROXY": "*",
            **direct_key(box),
        }
        words = [str(python), CLIENT, "canon_hermes_plugin", str(count), "runs" if runs else "counts"]
        self._process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._lines = self._process.stdout
        if self._lines.readline() != "ready\n":
            raise RuntimeError("the client did not connect")
        box.wait("connected")  # a plugin may call itself connected before its stream stands

    def result(self) -> dict[str, Any]:
        """What it counted, when it has seen everything."""
        found: dict[str, Any] = json.loads(self._lines.readline())
        self._process.wait(60)
        return found


def rate(python: Path, count: int = MESSAGES) -> float:
    """Messages a second from the first that was said to the last that reached the host.

    Not from the first that reached it: who takes half a second for that one has all the others waiting by then.
    """
    with CanonSandbox(CanonOptions(seed="bench")) as box, tempfile.TemporaryDirectory() as folder:
        rooms = open_rooms(box, CONVERSATIONS)
        client = Client(python, box, Path(folder), count)
        begun = time.perf_counter()  # the machine's monotonic clock, which is the client's too
        speak(box, rooms, count)
        found = client.result()
        return count / (float(found["last_s"]) - begun)


def server_rate(count: int = MESSAGES) -> float:
    """Messages a second that a bare socket reads off the stream."""
    with CanonSandbox(CanonOptions(seed="bench")) as box:
        rooms = open_rooms(box, CONVERSATIONS)
        line = socket.create_connection(("127.0.0.1", urlsplit(box.endpoints.stream).port or 0))
        request = f"GET /agents/stream HTTP/1.0\r\nAuthorization: Bearer {box.endpoints.agent_key}\r\n\r\n"
        line.sendall(request.encode())
        times: list[float] = []

        def read() -> None:
            seen, tail = 0, b""
            while seen < count:
                data = tail + line.recv(1 << 20)
                seen += data.count(b"event: message.created")
                tail = data[-21:] if b"event: message.created" not in data[-22:] else b""
                times.append(time.perf_counter())

        reader = threading.Thread(target=read)
        reader.start()
        box.wait("connected")
        begun = time.perf_counter()
        speak(box, rooms, count)
        reader.join()
        line.close()
        return count / (times[-1] - begun)


def open_rooms(box: CanonSandbox, count: int) -> list[str]:
    people = [box.endpoints.owner_id, "agent_sandbox"]
    return [box.human.open_conversation(people, kind="direct") for _ in range(count)]


def speak(box: CanonSandbox, rooms: Sequence[str], count: int) -> None:
    for number in range(count):
        box.human.say(rooms[number % len(rooms)], TEXT)


def memory(python: Path) -> tuple[list[int], float]:
    """Resident bytes after every 5,000 messages, and how many messages a second were answered."""
    with CanonSandbox(CanonOptions(seed="bench")) as box, tempfile.TemporaryDirectory() as folder:
        rooms = open_rooms(box, LONG_CONVERSATIONS)
        client = Client(python, box, Path(folder), LONG_MESSAGES, runs=True)
        begun = time.perf_counter()
        before = box.engine.read(lambda world: world.message_count)
        for number in range(LONG_MESSAGES):
            if number % 10 == 0:  # each message and each answer counts: at most AT_ONCE are not answered yet
                least = before + 2 * number - AT_ONCE
                box.wait(partial(_has, least), timeout_s=120)
            box.human.say(rooms[number % len(rooms)], TEXT)
        found = client.result()
        return found["resident"], LONG_MESSAGES / (time.perf_counter() - begun)


def _has(least: int, world: World) -> bool:
    return world.message_count >= least


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    ours, peer = Path(sys.executable), published_host(PUBLISHED[0])
    digest = hashlib.sha256(TEXT.encode()).hexdigest()[:12]
    print(f"Python {platform.python_version()}, {CONVERSATIONS} conversations, {MESSAGES} messages, input {digest}")
    rate(ours), rate(peer)
    pairs = [(rate(ours), rate(peer)) for _ in range(PAIRS)]
    server = [server_rate() for _ in range(PAIRS)]
    rows = {
        "ours, recorded first": [pair[0] for pair in pairs],
        "canon-hermes-plugin 0.14.1": [pair[1] for pair in pairs],
        "the server alone": server,
    }
    for name, rates in rows.items():
        print(f"{name:28} {statistics.median(rates):8,.0f} a second   ({min(rates):,.0f} to {max(rates):,.0f})")
    mine, theirs, limit = (statistics.median(rates) for rates in rows.values())
    broken = mine < theirs or limit < 5 * theirs
    if arguments.memory:
        resident, answered = memory(ours)
        half = resident[len(resident) // 2 :]
        growth = half[-1] / half[0]
        megabytes = ", ".join(f"{each / 2**20:.0f}" for each in resident)
        print(f"{LONG_MESSAGES:,} messages answered at {answered:,.0f} a second; MB every 5,000: {megabytes}")
        print(f"the last half grew by {growth - 1:+.1%}")
        broken = broken or growth > MOST_GROWTH
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
