"""The heartbeat with what the runtime offers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from canon_hermes_plugin.describing import Describing
from canon_hermes_plugin.offload import Offload
from canon_ops.runtime.clock import ManualClock
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
