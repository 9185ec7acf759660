"""How many messages a second the loopback Canon server carries, and whether it grows.

Run ``python -m tests.benchmarks.bench_sandbox``. The server runs in this process; a client in another one, written on
bare sockets so that it is not what is measured, sends over eight connections into 200 conversations. Three numbers, the
median of five rounds with their range after one round to warm up:

- sends: ``POST /messages/send``, answered;
- round trips: a person's message over the stream to the client, and its answer stored;
- growth: bytes of memory a message, over 100,000 of them, once the journal and the replay window are full.

Promises: at least 2,000 sends a second, and no more than 4 kB a message (its record and its client id; the journal and
the replay window are bounded). The exit status is 1 when one is broken. Where other programs fill the machine, wall
time says more about them than about the server; then its own processor time is judged, and the output says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from urllib.parse import urlsplit

from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox

CONVERSATIONS = 200
CONNECTIONS = 8
ROUND = 4_000
ROUNDS = 5
LONG_RUN = 100_000
LEAST_PER_SECOND = 2_000
PROCESSES = 2  # the server and its client
TOLERATED = 0.2  # of a processor, for what every machine does
MOST_BYTES = 4_096


# The client, in its own process ---------------------------------------------------------------------------------------


def _request(key: str, body: dict[str, Any]) -> bytes:
    raw = json.dumps(body).encode()
    head = (
        f"POST /messages/send HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


class _Line:
    """One connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str) -> None:
        self._reader, self._writer, self._key = reader, writer, key

    async def send(self, number: int, room: str, reply_to: str | None = None) -> None:
        body = {
            "conversationId": room,
            "text": "Invoice 42 is filed.",
            "messageId": f"m-{number}",
            "metadata": {"turnSemantics": "turn_complete", "turnComplete": True, "turnId": f"t-{number}"},
            **({"replyTo": reply_to} if reply_to else {}),
        }
        self._writer.write(_request(self._key, body))
        head = await self._reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await self._reader.readexactly(int(length.split(b":")[1]))

    def close(self) -> None:
        self._writer.close()


async def _lines(url: str, key: str) -> list[_Line]:
    port = urlsplit(url).port
    return [_Line(*await asyncio.open_connection("127.0.0.1", port), key) for _ in range(CONNECTIONS)]


async def _send_all(api: str, key: str, rooms: Sequence[str], first: int, count: int) -> None:
    lines = await _lines(api, key)

    async def share(line: _Line, offset: int) -> None:
        for number in range(first + offset, first + count, CONNECTIONS):
            await line.send(number, rooms[number % len(rooms)])

    await asyncio.gather(*(share(line, offset) for offset, line in enumerate(lines)))
    for line in lines:
        line.close()


async def _answer_all(api: str, stream: str, key: str, first: int, count: int) -> None:
    """Answer ``count`` messages that come over the stream; says ready on stdout once it listens."""
    lines = await _lines(api, key)
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(stream).port, limit=2**20)
    writer.write(f"GET /agents/stream HTTP/1.0\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    work: asyncio.Queue[tuple[int, str, str]] = asyncio.Queue()

    async def listen() -> None:
        seen = 0
        async for line in reader:
            if line.startswith(b"event: agent.context"):
                sys.stdout.write("ready\n")
                sys.stdout.flush()
            elif line.startswith(b'data: {"conversationId"'):
                event = json.loads(line[6:])
                work.put_nowait((first + seen, event["conversationId"], event["message"]["id"]))
                seen += 1
                if seen == count:
                    return

    async def answer(line: _Line) -> None:
        while True:
            number, room, message_id = await work.get()
            await line.send(number, room, message_id)
            work.task_done()

    workers = [asyncio.create_task(answer(line)) for line in lines]
    await listen()
    await work.join()
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    for line in lines:
        line.close()
    writer.close()


def _client(arguments: Sequence[str]) -> None:
    kind, api, stream, key, rooms, first, count = arguments
    if kind == "send":
        asyncio.run(_send_all(api, key, json.loads(rooms), int(first), int(count)))
    else:
        asyncio.run(_answer_all(api, stream, key, int(first), int(count)))


# The server and the measuring -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rate:
    """Messages a second, by the clock on the wall and by the server's processor time."""

    wall: float
    processor: float


class Bench:
    """One server with its conversations."""

    def __init__(self, box: CanonSandbox) -> None:
        self._box = box
        self._rooms = [
            box.human.open_conversation(["user_owner", "agent_sandbox"], kind="direct") for _ in range(CONVERSATIONS)
        ]
        self._sent = 0

    def _start(self, kind: str, count: int) -> subprocess.Popen[str]:
        ends = self._box.endpoints
        arguments = [kind, ends.api, ends.stream, ends.agent_key, json.dumps(self._rooms), str(self._sent), str(count)]
        self._sent += count
        command = [sys.executable, str(Path(__file__)), *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def sends(self, count: int = ROUND) -> Rate:
        """How fast the client's sends are answered, from its first one on."""
        seen = self._box.engine.world.message_count
        client = self._start("send", count)
        self._box.wait(lambda world: world.message_count > seen)
        wall, processor = perf_counter(), process_time()
        _finish(client)
        return Rate(count / (perf_counter() - wall), count / (process_time() - processor))

    def round_trips(self, count: int = ROUND) -> Rate:
        """How fast what a person says is answered by the client."""
        client = self._start("answer", count)
        if client.stdout is None or client.stdout.readline() != "ready\n":
            raise RuntimeError("the client did not connect")
        wall, processor = perf_counter(), process_time()
        for number in range(count):
            self._box.human.say(self._rooms[number % CONVERSATIONS], "file invoice 42")
        _finish(client)
        return Rate(count / (perf_counter() - wall), count / (process_time() - processor))


class Meter:
    """How many processors programs other than server and client have used since it was made."""

    def __init__(self) -> None:
        self._start = perf_counter(), _busy_s(), _own_s()

    def others(self) -> float:
        """Processors, 0 where the machine was ours alone; also where it does not tell (no ``/proc/stat``)."""
        wall, busy, own = self._start
        return max(0.0, (_busy_s() - busy - (_own_s() - own)) / (perf_counter() - wall))


def _busy_s() -> float:
    """Seconds that all processors together have worked, since the machine started."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return _own_s()
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.read_text().split(maxsplit=9)[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    """Seconds that this process and its finished clients have worked."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def _finish(client: subprocess.Popen[str]) -> None:
    client.communicate(timeout=600)
    if client.returncode != 0:
        raise RuntimeError("the client failed")


def _resident_bytes() -> int:
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def main() -> int:
    """Measure, print, judge."""
    sys.stdout.write(f"Python {platform.python_version()}, {CONVERSATIONS} conversations, {CONNECTIONS} connections\n")
    with CanonSandbox(CanonOptions(seed="bench")) as box:
        bench = Bench(box)
        bench.sends()
        meter = Meter()
        sends = [bench.sends() for _ in range(ROUNDS)]
        trips = [bench.round_trips() for _ in range(ROUNDS)]
        others = meter.others()
    for name, rates in (("sends", sends), ("round trips", trips)):
        walls, processors = [rate.wall for rate in rates], [rate.processor for rate in rates]
        sys.stdout.write(
            f"{name:12} {statistics.median(walls):8,.0f} a second   ({min(walls):,.0f} to {max(walls):,.0f});"
            f" {statistics.median(processors):,.0f} a second of the server's processor time\n"
        )
    with CanonSandbox(CanonOptions(seed="bench")) as box:
        bench = Bench(box)
        bench.sends(30_000)  # the journal and the window are full from here on
        before = _resident_bytes()
        bench.sends(LONG_RUN)
        growth = (_resident_bytes() - before) / LONG_RUN
    sys.stdout.write(f"{'growth':12} {growth:8,.0f} bytes a message, over {LONG_RUN:,} messages\n")
    busy = others > (os.cpu_count() or 1) - PROCESSES + TOLERATED
    sys.stdout.write(f"other programs used {others:.1f} of {os.cpu_count()} processors meanwhile\n")
    if busy:
        sys.stdout.write("server and client had no processor each: judged by the server's processor time\n")
    rate = statistics.median(rate.processor if busy else rate.wall for rate in sends)
    return int(rate < LEAST_PER_SECOND or growth > MOST_BYTES)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _client(sys.argv[1:])
    else:
        sys.exit(main())
