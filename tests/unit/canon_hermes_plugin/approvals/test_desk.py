"""The store as a gateway uses it: nothing that it waits for stops the loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.events import Reserve
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.files.lock import FileLock

RESERVE = Reserve("hermes-1", "convo-1", "c", 9e12, Owner("env", "agent_1"))


@pytest.mark.parametrize("call", ["apply", "read"])
async def test_another_process_at_the_registry_does_not_stop_the_loop(tmp_path: Path, call: str) -> None:
    """D28: while somebody else keeps the lock, everything but the approvals goes on; then they do, too."""
    store = ApprovalStore(tmp_path / "detached-approvals.json", lock_s=5)
    desk, turns = ApprovalDesk(store, asyncio.to_thread), 0

    with FileLock(tmp_path / ".detached-approvals.lock"):
        waiting = asyncio.create_task(desk.apply("hermes-1", RESERVE) if call == "apply" else desk.read())
        for _ in range(20):
            await asyncio.sleep(0.002)
            turns += 1
        assert (turns, waiting.done()) == (20, False)
    await waiting

    assert (await desk.get("hermes-1") is not None) == (call == "apply")


@pytest.mark.parametrize("turns", range(4))
async def test_nobody_waits_for_a_write_that_is_cancelled(tmp_path: Path, turns: int) -> None:
    """A loop that ends cancels the writer, perhaps before it took its batch: its callers are cancelled with it."""
    desk = ApprovalDesk(ApprovalStore(tmp_path / "detached-approvals.json"), asyncio.to_thread)
    before = asyncio.all_tasks()
    caller = asyncio.create_task(desk.apply("hermes-1", RESERVE))
    await asyncio.sleep(0)
    (writer,) = asyncio.all_tasks() - before - {caller}
    for _ in range(turns):
        await asyncio.sleep(0)

    writer.cancel()

    assert (await asyncio.wait({caller}, timeout=5))[0] == {caller}
    assert caller.cancelled()
