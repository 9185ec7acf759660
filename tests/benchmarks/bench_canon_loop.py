"""How long the gateway's loop stands still while the Canon adapter works, beside an adapter that does nothing.

Run ``python -m tests.benchmarks.bench_canon_loop`` where a Hermes is installed. Canon and its people are a process of
their own, so that the loop which is watched holds the adapter and the host's base class only. The agent streams short
answers in ten conversations, whose people read each for two seconds; the peer is a bare adapter of the same host
with the same agent, which is handed its messages in the process and whose sends go nowhere. Both are measured in turns:
how much longer than one millisecond a sleep of one millisecond takes, the 99.9th percentile of each round and the
median over the rounds.

Promise: with the plugin it is at most 5 ms, or at most half again, longer than without. The exit status is 1 when that
is broken. Where other programs fill the machine, wall time says more about them; then the processor time that the loop
used during each sleep is judged, and the output says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from canon_hermes_plugin.active import ActiveSet
from canon_hermes_plugin.host import load_host
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.hosted_adapter import build, until

CONVERSATIONS = 10
PAUSE_S = 2.0  # a person reads an answer before the next question
EDITS = 10
EDIT_S = 0.1  # as often as a host edits at most
ROUND_S, ROUNDS = 8.0, 5
MOST_MS, MOST_TIMES = 5.0, 1.5


# Canon and its people, in a process of their own ---------------------------------------------------------------------


def serve(ready: Path) -> None:
    """Serve until the process is ended."""
    with CanonSandbox(CanonOptions(journal_entries=1_000)) as box:
        rooms = [
            box.human.open_conversation([box.endpoints.owner_id, "agent_sandbox"], kind="direct")
            for _ in range(CONVERSATIONS)
        ]
        ready.write_text(json.dumps(box.endpoints.as_dict()), encoding="utf-8")
        box.wait("connected", timeout_s=60)
        threading.Thread(target=converse, args=(box, rooms), daemon=True).start()
        sys.stdin.read()
        os._exit(0)


def converse(box: CanonSandbox, rooms: list[str]) -> None:
    """Ask in every room; where the answer has come, and was read, ask again."""
    asked, read_at = dict.fromkeys(rooms, 0), dict.fromkeys(rooms, 0.0)
    while True:
        now = time.monotonic()
        for room in rooms:
            if answers_in(box, room) < asked[room]:
                read_at[room] = now + PAUSE_S
            elif now >= read_at[room]:
                asked[room] += 1
                box.human.say(room, f"question {asked[room]}")
        time.sleep(0.02)


def answers_in(box: CanonSandbox, room: str) -> int:
    return box.engine.read(
        lambda world: sum(message.origin == "agent" for message in world.conversations[room].messages.values())
    )


# What is measured ----------------------------------------------------------------------------------------------------


async def agent(event: Any, adapter: Any) -> None:
    """A short answer, streamed as the host streams."""
    chat_id = event.source.chat_id
    draft = await adapter.send(chat_id, "word", metadata={"expect_edits": True})
    for number in range(1, EDITS + 1):
        await asyncio.sleep(EDIT_S)
        await adapter.edit_message(chat_id, draft.message_id, "word " * 10 * number, finalize=number == EDITS)


async def stalls(seconds: float) -> tuple[list[float], list[float]]:
    """By how many milliseconds each sleep of one was late, and how many of them the loop itself worked."""
    late: list[float] = []
    worked: list[float] = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        used = time.thread_time()
        await asyncio.sleep(0.001)
        late.append((time.perf_counter() - start) * 1_000 - 1)
        worked.append((time.thread_time() - used) * 1_000)
    return late, worked


def worst(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.999))]


@dataclass(frozen=True)
class Round:
    """One side's round: worst lateness and worst work in milliseconds, and runs a second."""

    late_ms: float
    worked_ms: float
    runs: float


@asynccontextmanager
async def with_plugin(folder: Path) -> AsyncIterator[list[int]]:
    """Our adapter at work; the list counts runs."""
    home = Path(tempfile.mkdtemp(dir=folder))  # another Canon each time, so another home too
    ready = home / "ready"
    command = [sys.executable, "-m", "tests.benchmarks.bench_canon_loop", str(ready)]
    server = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE)
    try:
        await until(ready.exists, timeout_s=60)
        adapter = build(config_for(json.loads(ready.read_text(encoding="utf-8"))), active=ActiveSet(), home=home)
        runs = [0]

        async def handler(event: Any) -> None:
            runs[0] += 1
            await agent(event, adapter)

        adapter.set_message_handler(handler)
        assert await adapter.connect(), adapter.fatal_error_message
        yield runs
        await adapter.cancel_background_tasks()
        await adapter.disconnect()
    finally:
        server.kill()
        await server.wait()


def config_for(ends: dict[str, str]) -> Any:
    from gateway.config import PlatformConfig

    return PlatformConfig(
        enabled=True,
        extra={
            "api_key": ends["agent_key"],
            "environment_id": ends["environment_id"],
            "base_url": ends["api"],
            "stream_url": ends["stream"],
            "rtdb_url": ends["api"],
            "firebase_api_key": "sandbox-web-key",
        },
    )


@asynccontextmanager
async def bare(_folder: Path) -> AsyncIterator[list[int]]:
    """An adapter of the same host that has no service behind it."""
    from gateway.config import Platform, PlatformConfig

    host = load_host()
    base: Any = host.base_adapter

    class Bare(base):  # type: ignore[misc]  # the host ships no types
        async def connect(self, *, is_reconnect: bool = False) -> bool:
            return True

        async def disconnect(self) -> None: ...

        async def send(self, chat_id: str, content: str, reply_to: Any = None, metadata: Any = None) -> Any:
            return host.send_result(success=True, message_id="1")

        async def edit_message(self, *_args: Any, **_more: Any) -> Any:
            return host.send_result(success=True, message_id="1")

        async def get_chat_info(self, chat_id: str) -> dict[str, Any]:
            return {"name": chat_id, "type": "dm"}

        async def on_processing_complete(self, event: Any, outcome: Any) -> None:
            ended[event.source.chat_id].set()

    adapter = Bare(PlatformConfig(enabled=True), Platform("telegram"))
    ended = {f"c{number}": asyncio.Event() for number in range(CONVERSATIONS)}
    runs = [0]

    async def handler(event: Any) -> None:
        runs[0] += 1
        await agent(event, adapter)

    async def person(room: str) -> None:
        while True:
            ended[room].clear()
            source = adapter.build_source(chat_id=room, chat_type="dm", user_id="u", user_name="Ann")
            await adapter.handle_message(
                host.message_event(text="question", message_type=host.message_types["text"], source=source)
            )
            await ended[room].wait()
            await asyncio.sleep(PAUSE_S)

    adapter.set_message_handler(handler)
    people = [asyncio.ensure_future(person(room)) for room in ended]
    try:
        yield runs
    finally:
        for one in people:
            one.cancel()
        await asyncio.gather(*people, return_exceptions=True)
        await adapter.cancel_background_tasks()


def has_begun(runs: list[int]) -> bool:
    """Whether every conversation has had its first question."""
    return runs[0] >= CONVERSATIONS


async def measure(folder: Path) -> dict[str, list[Round]]:
    """Rounds in turns; the first pair warms up."""
    measured: dict[str, list[Round]] = {"bare": [], "plugin": []}
    for number in range(ROUNDS + 1):
        for name, side in (("bare", bare), ("plugin", with_plugin)):
            async with side(folder) as runs:
                await until(partial(has_begun, runs), timeout_s=60)
                before, (late, worked) = runs[0], await stalls(ROUND_S)
            if number:
                measured[name].append(Round(worst(late), worst(worked), (runs[0] - before) / ROUND_S))
    return measured


def main() -> int:
    """Print both sides; 1 when the promise is broken."""
    if len(sys.argv) > 1:
        serve(Path(sys.argv[1]))
        return 0
    print(f"Python {platform.python_version()}, Hermes {load_host().version}, {CONVERSATIONS} conversations")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        os.environ["HERMES_HOME"] = os.environ["HOME"] = scratch
        measured = asyncio.run(measure(Path(scratch)))
    is_crowded = os.getloadavg()[0] > (os.cpu_count() or 1)
    print(f"judged by {'processor' if is_crowded else 'wall'} time, load {os.getloadavg()[0]:.1f}")
    judged = {}
    for name, rounds in measured.items():
        late, worked = sorted(one.late_ms for one in rounds), sorted(one.worked_ms for one in rounds)
        judged[name] = statistics.median(worked if is_crowded else late)
        print(
            f"{name:7} p99.9 late {statistics.median(late):7.2f} ms ({late[0]:.2f}-{late[-1]:.2f}), "
            f"at work {statistics.median(worked):6.2f} ms ({worked[0]:.2f}-{worked[-1]:.2f}), "
            f"{statistics.median(one.runs for one in rounds):5.1f} runs a second"
        )
    more_ms, times = judged["plugin"] - judged["bare"], judged["plugin"] / judged["bare"]
    print(f"with the plugin {more_ms:+.2f} ms, {times:.2f}x")
    return int(more_ms > MOST_MS and times > MOST_TIMES)


if __name__ == "__main__":
    sys.exit(main())
