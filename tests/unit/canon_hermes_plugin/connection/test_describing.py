"""The heartbeat with what the runtime offers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.entry import Decision
from canon_hermes_plugin.approvals.events import Activate, ClaimConsume, Decided, FinishConsume, Reserve
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.connection.describing import Describing
from canon_hermes_plugin.connection.descriptor import Dynamic, describe
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.state.owner import Owner
from canon_ops.runtime.clock import ManualClock, SystemClock
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.wire.requests import RuntimeStatus
from tests.support.hosted_adapter import hosted, until


async def at_once(function: Callable[[], Any]) -> Any:
    return function()


async def test_each_beat_says_what_is_offered_now() -> None:
    """R2.8, S14.4: a change is on Canon with the next beat."""
    told: list[RuntimeStatus] = []
    offered = [{"commands": [1]}, {"commands": [1, 2]}]

    async def publish(status: RuntimeStatus) -> None:
        told.append(status)

    describing = Describing(publish, lambda: offered.pop(0), offloaded=at_once, clock=ManualClock())
    await describing.beat()
    await describing.beat()

    assert [status.body()["runtimeDescriptor"]["commands"] for status in told] == [[1], [1, 2]]


async def test_what_was_told_is_not_changed_afterwards() -> None:
    """S2.11: quick commands and skills of now in each beat; the first body does not learn of what came later."""
    told: list[dict[str, Any]] = []
    brought = [Dynamic("invoice", "A quick command", ""), Dynamic("my-skill", "A skill", "")]

    async def publish(status: RuntimeStatus) -> None:
        told.append(status.body())

    describing = Describing(publish, lambda: describe((), brought), offloaded=at_once, clock=ManualClock())
    await describing.beat()
    first = json.dumps(told[0])
    brought[0] = Dynamic("receipt", "Another quick command", "")
    await describing.beat()

    offered = [{one["label"] for one in body["runtimeDescriptor"]["commands"]} for body in told]
    assert [body["runtime"] for body in told] == ["hermes", "hermes"]
    assert [names & {"/invoice", "/receipt", "/my-skill"} for names in offered] == [
        {"/invoice", "/my-skill"}, {"/receipt", "/my-skill"},
    ]  # fmt: skip
    assert json.dumps(told[0]) == first


async def test_the_heart_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """D49: a skill that breaks the scanner takes nothing from the beat, and is told once."""
    told: list[RuntimeStatus] = []
    broken = False

    def read() -> dict[str, Any]:
        if broken:
            raise KeyError("skill")
        return {"commands": []}

    async def publish(status: RuntimeStatus) -> None:
        told.append(status)

    describing = Describing(publish, read, offloaded=at_once, clock=ManualClock())
    await describing.beat()
    broken = True
    await describing.beat()
    await describing.beat()

    assert [status.descriptor for status in told] == [{"commands": []}] * 3
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_it_is_read_away_from_the_loop() -> None:
    """Nothing of it blocks the gateway: files are read on a thread of the adapter's."""
    readers: list[str] = []

    def read() -> dict[str, Any]:
        readers.append(threading.current_thread().name)
        return {"commands": []}

    async def publish(_: RuntimeStatus) -> None: ...

    offload = Offload("describing")
    await Describing(publish, read, offloaded=offload.run, clock=ManualClock()).beat()
    offload.close()

    assert readers[0].startswith("describing")


@pytest.mark.host
async def test_canon_is_told_at_the_connect() -> None:
    """R2.4, R14.1: the host's own commands stand on Canon as soon as the adapter is connected."""
    with CanonSandbox(CanonOptions()) as box:
        async with hosted(box):
            await until(lambda: box.human.runtime_status() is not None)
            status = box.human.runtime_status()

    assert status is not None
    ids = [one["id"] for one in status["runtimeDescriptor"]["commands"]]
    assert ids[0] == "stop-and-clear-queue" and {"hermes-new", "hermes-approve", "hermes-model"} <= {*ids}
    assert status["runtimeDescriptor"]["streamingTextMode"] == "delta"


@pytest.mark.host
async def test_a_wake_that_is_owed_needs_no_heartbeat(tmp_path: Path) -> None:
    """S2.12: Canon takes no heartbeat; a decision from the gateway's earlier life reaches the agent all the same."""
    with CanonSandbox(CanonOptions()) as box:
        ends = box.endpoints
        heartbeat = box.fault("runtime-status-500")
        store = ApprovalStore(tmp_path / "canon" / "detached-approvals.json", process="gateway of yesterday")
        owner, until_ms = Owner(ends.environment_id, "agent_sandbox"), SystemClock().now_ms() + 3_600_000
        for event in (
            Reserve("hermes-1", ends.conversation_id, "c", until_ms, owner, "Pay invoice 12?", ends.owner_id),
            Activate("c", until_ms, ends.owner_id),
            ClaimConsume("k", "gateway of yesterday"),
            FinishConsume("k", Decided(Decision.ALLOW, ends.owner_id), wakes=True),
        ):
            store.apply_one("hermes-1", event)
        async with hosted(box, home=tmp_path) as stage:
            await until(lambda: stage.events and heartbeat.fired)
            (event,) = stage.events
            await until(lambda: store.read().entries["hermes-1"].wake_status == "delivered")

    assert event.message_id == "canon-detached-approval:hermes-1"
    assert box.human.runtime_status() is None
