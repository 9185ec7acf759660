"""What a durable write costs, beside plain ``sqlite3`` with the same settings.

Run ``python -m tests.benchmarks.bench_durable``. The first table counts, through strace, how often a process waits for
the disk (fsync and fdatasync, a checkpoint's included) and how many bytes it writes, for a thousand small writes that
are submitted at once. The peer is what one would write by hand: the standard library's ``sqlite3`` on a thread, WAL,
FULL, one transaction a write. The second table times the same, and the third one write after the other, where sharing
cannot help and the way to the thread and back is the whole difference; there a bare ``sqlite3`` without any thread is
the second peer. Five interleaved pairs after one warm-up, medians with their range.

One promise: the thousand writes cost at most 50 pairs of synchronisation, that is 100 calls, whatever the machine's
speed: what is submitted in one turn of the event loop is one commit. The exit status is 1 when it is broken, or when
strace is missing and nothing was counted.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from canon_ops.durable import Database
from canon_ops.durable.statements import Transaction
from tests.support import letters
from tests.support.crashing import has_strace, trace

WRITES, ONE_BY_ONE, PAIRS = 1_000, 200, 5
MOST_PAIRS = 50
BODIES = [f"letter {serial}: {'x' * 200}" for serial in range(WRITES)]

Write = Callable[[int], Awaitable[object]]


class Ours:
    """The room under test."""

    name = "durable"

    async def open(self, path: Path) -> Write:
        self.database = Database(path, letters.SCHEMA)
        await self.database.open()
        return lambda serial: self.database.write(letters.post, "ada", serial, [BODIES[serial]])

    async def close(self) -> None:
        await self.database.close()


class Plain:
    """``sqlite3`` by hand: same file, same tables, same settings; one transaction a write, on a thread of its own."""

    name = "sqlite3 on a thread"

    async def open(self, path: Path) -> Write:
        async with Database(path, letters.SCHEMA):
            pass  # makes the tables
        self.thread = ThreadPoolExecutor(1)
        loop = asyncio.get_running_loop()
        self.connection = await loop.run_in_executor(self.thread, connect, path)
        return lambda serial: loop.run_in_executor(self.thread, self.write, serial)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self.thread, self.connection.close)
        self.thread.shutdown()

    def write(self, serial: int) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        letters.post(Transaction(self.connection), "ada", serial, [BODIES[serial]])
        self.connection.execute("COMMIT")


class Bare(Plain):
    """The same without a thread: it blocks the event loop, which no gateway may; the floor for one write."""

    name = "sqlite3, blocking"

    async def open(self, path: Path) -> Write:
        async with Database(path, letters.SCHEMA):
            pass
        self.connection = connect(path)

        async def write(serial: int) -> None:
            self.write(serial)

        return write

    async def close(self) -> None:
        self.connection.close()


SIDES: dict[str, type[Ours] | type[Plain]] = {each.name: each for each in (Ours, Plain, Bare)}


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")
    connection.row_factory = sqlite3.Row
    return connection


async def all_at_once(name: str, path: Path) -> float:
    """Seconds for a thousand writes submitted together."""
    side = SIDES[name]()
    write = await side.open(path)
    os.write(1, b"begin\n") if counting() else None
    start = time.perf_counter()
    await asyncio.gather(*(write(serial) for serial in range(WRITES)))
    seconds = time.perf_counter() - start
    os.write(1, b"end\n") if counting() else None
    await side.close()
    return seconds


async def one_by_one(name: str, path: Path) -> float:
    """Seconds for one write of two hundred that wait for each other."""
    side = SIDES[name]()
    write = await side.open(path)
    start = time.perf_counter()
    for serial in range(ONE_BY_ONE):
        await write(serial)
    seconds = time.perf_counter() - start
    await side.close()
    return seconds / ONE_BY_ONE


def counting() -> bool:
    return len(sys.argv) == 3


def count(name: str, folder: Path) -> int:
    """Print one line of the first table; return the number of synchronisations."""
    run = trace("tests.benchmarks.bench_durable", [name, str(folder / name.replace(" ", "-") / "db")], [])
    assert run.code == 0, run.complained
    marks = [place for place, call in enumerate(run.calls) if call.name == "write" and call.arguments.startswith("1<")]
    between = run.calls[marks[0] : marks[1]]
    syncs = sum(call.name in ("fsync", "fdatasync") for call in between)
    written = sum(int(call.result) for call in between if call.name == "pwrite64")
    print(f"{name:<22} {syncs:>6,} synchronisations {written:>12,} bytes written")
    return syncs


def compare(
    title: str, measure: Callable[[str, Path], Coroutine[Any, Any, float]], unit: float, names: list[str]
) -> None:
    print(f"\n# {title}")
    times: dict[str, list[float]] = {name: [] for name in names}
    for pair in range(PAIRS + 1):
        for name in names:
            with tempfile.TemporaryDirectory(dir=".") as folder:
                seconds = asyncio.run(measure(name, Path(folder) / "state" / "db"))
            if pair:
                times[name].append(seconds * unit)
    ours = times[names[0]]
    for name, mine in times.items():
        ratios = sorted(other / own for other, own in zip(mine, ours, strict=True))
        print(
            f"{name:<22} {statistics.median(mine):9.2f} ({min(mine):.2f}…{max(mine):.2f})"
            f"   x{statistics.median(ratios):.2f} of ours ({ratios[0]:.2f}…{ratios[-1]:.2f})"
        )


def main() -> int:
    """Print the tables and the verdict."""
    if counting():
        asyncio.run(all_at_once(sys.argv[1], Path(sys.argv[2])))
        return 0
    digest = hashlib.sha256("".join(BODIES).encode()).hexdigest()[:16]
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {WRITES:,} letters of "
        f"{len(BODIES[0])} bytes, sha256 {digest}; {PAIRS} interleaved pairs after one warm-up"
    )
    syncs = None
    if has_strace():
        print(f"\n# counted: {WRITES:,} writes submitted at once")
        with tempfile.TemporaryDirectory(dir=".") as folder:
            syncs = count("durable", Path(folder))
            count("sqlite3 on a thread", Path(folder))
    compare(
        f"milliseconds for {WRITES:,} writes submitted at once", all_at_once, 1e3, ["durable", "sqlite3 on a thread"]
    )
    compare("milliseconds for one write, one after the other", one_by_one, 1e3, list(SIDES))
    if syncs is None:
        print("\nstrace is missing: nothing was counted")
        return 1
    kept = syncs <= 2 * MOST_PAIRS
    print(f"\n{syncs} synchronisations (promised: at most {MOST_PAIRS} pairs)\n{'kept' if kept else 'BROKEN'}")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
