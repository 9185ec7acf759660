"""``approvals reconcile`` of many open approvals, and what one transition costs in a registry of many.

Reconciling runs as the command does it, over its own clients, against a Canon sandbox that waits 20 ms before each
answer. The peer takes the same steps with one client, one approval after the other: the next is claimed when the answer
of the one before it is on the disk. The two take turns on registries of the same bytes, in a process that holds nothing
else. Each batch of transitions has to be one durable change: the file and its folder are synchronised once, the trail
before it once; that is counted, not timed.

A transition is timed in processor time, without a disk: a claim in a registry of 10 approvals and of 1,000.

Limits: reconciling 8 times as fast as the peer; three synchronisations a batch; a transition among 1,000 entries costs
at most 3 times one among 10.
Run it: ``python -m tests.benchmarks.bench_approvals``; it exits 1 when a limit is passed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import multiprocessing
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from canon_hermes_plugin.approvals.batch import Request
from canon_hermes_plugin.approvals.canon_side import CanonSide
from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.events import Activate, ClaimConsume, FinishConsume, Reserve, StillPending, Unclear
from canon_hermes_plugin.approvals.from_outside import reconcile
from canon_hermes_plugin.approvals.machine import Transition, TransitionError
from canon_hermes_plugin.approvals.steps import Steps
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.cli.commands.approvals_reconcile import JOBS
from canon_ops.client.api import CanonApi
from canon_ops.client.health import verify_environment
from canon_ops.files.disk import Disk
from canon_ops.operate.agent_key import AgentCredential
from canon_ops.runtime.clock import SystemClock
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.environments import Connection
from canon_ops.settings.secret import Secret
from canon_ops.wire.interactions import ApprovalRequest
from tests.support.canon_wire import a_connection

APPROVALS = int(os.environ.get("APPROVALS", "1000"))
PAIRS = int(os.environ.get("PAIRS", "5"))
LATENCY_S = 0.020
FASTER = 8.0
DEARER = 3.0


class CountingDisk(Disk):
    """Counts how often anything is made durable."""

    syncs = 0

    def sync(self, descriptor: int) -> None:
        self.syncs += 1  # a folder's, too
        super().sync(descriptor)


class CountingStore(ApprovalStore):
    """Counts the batches that changed something."""

    batches = 0

    def apply(self, requests: Iterable[Request]) -> list[Transition | TransitionError]:
        answers = super().apply(requests)
        self.batches += any(isinstance(answer, Transition) and answer.is_change for answer in answers)
        return answers


class NoDisk(Disk):
    """Writes, and makes nothing durable."""

    def sync(self, descriptor: int) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


def fill(store: ApprovalStore, owner: Owner, count: int, conversation_id: str = "conv_direct") -> list[str]:
    """A registry of that many pending approvals."""
    ids = [f"hermes-{number:020x}" for number in range(count)]
    until_ms = SystemClock().now_ms() + 86_400_000
    store.apply([Request(one, Reserve(one, conversation_id, "c", until_ms, owner, "Pay?")) for one in ids])
    store.apply([Request(one, Activate("c", until_ms, "user_owner")) for one in ids])
    return ids


async def ask(box: CanonSandbox, ids: Sequence[str]) -> None:
    """Let Canon have these approvals, too, unanswered."""
    until_ms = SystemClock().now_ms() + 80_000_000
    async with CanonApi(connection_to(box), Secret(box.endpoints.agent_key), clock=SystemClock()) as api:
        for approval_id in ids:
            await CanonSide(api).create(ApprovalRequest("conv_direct", approval_id, "Pay", "Pay?", until_ms))


def connection_to(box: CanonSandbox) -> Connection:
    """The sandbox as an environment."""
    return replace(a_connection(box.endpoints.api, box.endpoints.stream), environment_id=box.endpoints.environment_id)


@contextlib.contextmanager
def registry_like(registry: Sequence[bytes]) -> Iterator[tuple[CountingStore, CountingDisk]]:
    """A registry of these bytes."""
    with tempfile.TemporaryDirectory(prefix="bench-approvals-") as folder:
        file, disk = Path(folder) / "detached-approvals.json", CountingDisk()
        file.write_bytes(registry[0])
        file.with_name("detached-approvals.audit").write_bytes(registry[1])
        file.with_name(".detached-approvals.heads").write_bytes(registry[2])
        yield CountingStore(file, disk=disk, process="bench"), disk


# Both run in a process of their own: a server beside them would keep the interpreter from them.


def together(connection: Connection, key: str, registry: Sequence[bytes], owner: Owner) -> tuple[float, float]:
    """Seconds of one reconcile, and synchronisations a batch."""
    with registry_like(registry) as (store, disk):
        ids = {entry.approval_id for entry in store.read()}
        credential = AgentCredential(connection, Secret(key), owner.agent_id)
        began = time.perf_counter()
        done = reconcile(
            store, credential, owner, ids, clock=SystemClock(), timeout_s=30, limit=JOBS, done=lambda entry: None
        )
        seconds = time.perf_counter() - began
        if done.counts != {"pending": len(ids)}:
            raise AssertionError(
                f"not all were asked about: {dict(done.counts)}, {set(map(str, done.failures.values()))}"
            )
        return seconds, disk.syncs / store.batches


def one_after_the_other(
    connection: Connection, key: str, registry: Sequence[bytes], owner: Owner
) -> tuple[float, float]:
    """The same by the peer: each is settled, on the disk too, before the next begins."""

    async def run(store: ApprovalStore) -> int:
        await verify_environment(connection, clock=SystemClock())
        async with CanonApi(connection, Secret(key), clock=SystemClock()) as api:
            conversations = {conversation.id for conversation in await api.conversations()}
            desk = ApprovalDesk(store, asyncio.to_thread)
            steps = Steps(
                desk,
                CanonSide(api),
                None,
                owner,
                clock=SystemClock(),
                new_id=lambda digits: secrets.token_hex(digits // 2 + 1)[:digits],
                process="bench",
                conversations=lambda: conversations,
            )
            entries = [entry for entry in await desk.read() if steps.is_mine(entry)]
            answers = [(await steps.ask(entry, wakes=True))[1] for entry in entries]
            return sum(isinstance(answer, StillPending) for answer in answers)

    with registry_like(registry) as (store, disk):
        began = time.perf_counter()
        asked = asyncio.run(run(store))
        seconds = time.perf_counter() - began
        if asked != APPROVALS or store.batches != 2 * APPROVALS:
            raise AssertionError(f"the peer asked about {asked} in {store.batches} changes")
        return seconds, disk.syncs / store.batches


def transition_cost(count: int) -> float:
    """Processor seconds of one claim and its end among that many approvals."""
    with tempfile.TemporaryDirectory(prefix="bench-approvals-") as folder:
        store = ApprovalStore(Path(folder) / "detached-approvals.json", disk=NoDisk(), process="bench")
        ids = fill(store, Owner("env", "agent_1"), count)
        spent = []
        for number in range(60):
            one, claim = ids[number % count], f"k{number}"
            began = time.process_time()
            store.apply_one(one, ClaimConsume(claim))
            store.apply_one(one, FinishConsume(claim, Unclear(), wakes=True))
            spent.append((time.process_time() - began) / 2)
        return statistics.median(spent[10:])


def main() -> int:
    with (
        CanonSandbox(CanonOptions()) as box,
        tempfile.TemporaryDirectory(prefix="bench-approvals-") as folder,
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as child,
    ):
        owner = Owner(box.endpoints.environment_id, "agent_sandbox")
        store = ApprovalStore(Path(folder) / "detached-approvals.json", process="bench")
        asyncio.run(ask(box, fill(store, owner, APPROVALS)))
        heads = store.file.with_name(".detached-approvals.heads")
        registry = [file.read_bytes() for file in (store.file, store.trail.file, heads)]
        box.fault("delay", path="/runtime-interaction/consume", seconds=LATENCY_S, times=10**9)
        ours, theirs = [], []

        def run(way: Callable[..., tuple[float, float]]) -> tuple[float, float]:
            return child.submit(way, connection_to(box), box.endpoints.agent_key, registry, owner).result()

        run(together)  # warm-up
        for _ in range(PAIRS):
            ours.append(run(together))
            theirs.append(run(one_after_the_other))
    ratio = statistics.median(slow / fast for (fast, _), (slow, _) in zip(ours, theirs, strict=True))
    syncs = max(count for _, count in ours + theirs)
    dear = transition_cost(1_000) / transition_cost(10)
    times = [seconds for seconds, _ in ours]
    print(f"registry of {APPROVALS}: sha256 {hashlib.sha256(registry[0]).hexdigest()[:16]}, {PAIRS} pairs")
    print(f"reconcile, {JOBS} at a time: median {statistics.median(times):.2f} s, {min(times):.2f} to {max(times):.2f}")
    print(f"one after the other: median {statistics.median(seconds for seconds, _ in theirs):.2f} s")
    print(f"ratio {ratio:.1f} (limit {FASTER:g}); synchronisations a batch at most {syncs:g} (limit 3)")
    print(f"a transition among 1,000 costs {dear:.2f} times one among 10 (limit {DEARER:g})")
    return int(ratio < FASTER or syncs > 3 or dear > DEARER)


if __name__ == "__main__":
    sys.exit(main())
