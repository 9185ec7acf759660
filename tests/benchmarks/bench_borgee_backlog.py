"""A command behind a hundred thousand waiting messages of its session, through the adapter on the host's base class.

Measured is the adapter's own time, from the delivery of ``/status`` to the moment at which Hermes' handler has it:
processor time of the whole process, the disk's thread included, since the wait for a disk that others use says nothing
about us. The same command without a backlog is the peer. And the cost of scheduling: how long the scheduler takes for
a receipt, from arrival to launch to end, with 1,000 and with 100,000 waiting.

Limits: 10 ms for the command; a scheduler whose cost per receipt grows by less than half.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from borgee_hermes.inbox import store
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import DispatchClass, Status
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.lanes.scheduler import Scheduler
from canon_ops.durable import Snapshot, Transaction, read_once, write_once
from tests.support.borgee_adapter import staged, until
from tests.support.borgee_receipts import a_receipt
from tests.support.borgee_session import said

BACKLOG = 100_000
COMMANDS = 21
LIMIT_S = 0.010
GROWTH = 1.5


def fill(home: Path, count: int) -> None:
    """Waiting messages of one channel, stored as the adapter stores them."""

    def insert_all(transaction: Transaction) -> None:
        for n in range(count):
            store.insert(transaction, a_receipt(f"b-{n}", body=f"text {n}"), now_s=1.0)

    write_once(inbox_file(home), SCHEMA, insert_all)


async def command_costs(home: Path) -> tuple[list[float], list[float]]:
    """Processor and wall seconds of each command."""
    running = asyncio.Event()
    reached: asyncio.Queue[float] = asyncio.Queue()

    async def agent(event: Any, _adapter: Any) -> str | None:
        if event.text.startswith("/"):
            reached.put_nowait(time.process_time())
            return None
        running.set()
        await asyncio.Event().wait()
        return None

    spent, waited = [], []
    async with staged(home, agent, drain_timeout_seconds=0.05) as stage:
        if not await asyncio.to_thread(inbox_file(home).exists):
            raise AssertionError("no inbox")
        stage.session.deliver(said("turn", message_id="turn"))
        await asyncio.wait_for(running.wait(), 30)
        await until(lambda: stage.adapter._active_sessions)
        for n in range(COMMANDS):
            began, began_wall = time.process_time(), time.perf_counter()
            stage.session.deliver(said("/status", message_id=f"c-{n}"))
            spent.append(await reached.get() - began)
            waited.append(time.perf_counter() - began_wall)
            await settled(home, f"c-{n}")
    return spent[1:], waited[1:]


async def settled(home: Path, message_id: str) -> None:
    """Return once the receipt of a message is completed; one indexed question at a time."""

    def status(snapshot: Snapshot) -> str | None:
        found: str | None = snapshot.value("SELECT status FROM receipts WHERE message_id = ?", (message_id,))
        return found

    while await asyncio.to_thread(read_once, inbox_file(home), SCHEMA, status) != Status.COMPLETED:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def scheduling_cost(backlog: int, turns: int = 20_000) -> float:
    """Seconds for one receipt of another session: arrival, launch, busy, end, idle."""
    scheduler = Scheduler(4)
    scheduler.became_busy("a")
    for n in range(1, backlog + 1):
        scheduler.arrived(n, "a", DispatchClass.ORDINARY)
    began = time.process_time()
    for n in range(backlog + 1, backlog + 1 + turns):
        scheduler.arrived(n, "b", DispatchClass.ORDINARY)
        (launch,) = scheduler.launches()
        scheduler.became_busy("b")
        scheduler.ended(launch.ingest_seq, "b")
        scheduler.became_idle("b")
    return (time.process_time() - began) / turns


def main() -> int:
    """Print the numbers; 1 when a limit is broken."""
    results = {}
    for backlog in (0, BACKLOG):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            os.environ.update(HERMES_HOME=folder, HOME=folder)
            if backlog:
                fill(home, backlog)
            spent, waited = asyncio.run(command_costs(home))
        results[backlog] = statistics.median(spent)
        print(
            f"command behind {backlog:>7,} waiting: {statistics.median(spent) * 1000:6.2f} ms of processor time "
            f"(worst {max(spent) * 1000:.2f}), {statistics.median(waited) * 1000:6.2f} ms on the wall"
        )
    small, large = scheduling_cost(1_000), scheduling_cost(BACKLOG)
    print(f"scheduling one receipt: {small * 1e6:.1f} µs with 1,000 waiting, {large * 1e6:.1f} µs with {BACKLOG:,}")
    fine = results[BACKLOG] < LIMIT_S and large < small * GROWTH
    print("within the limits" if fine else "OVER A LIMIT")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
