"""The client of bench_inbound: a Canon adapter of this interpreter, whichever plugin gives it, with a host that counts.

It is run by the interpreter of a host and imports nothing of ours: ``python inbound_client.py MODULE COUNT RUNS``, with
the plugin's settings in the environment. It registers the plugin as a host would, builds its adapter, connects, says
``ready`` and reads how many messages reach ``handle_message``. With RUNS each message is also run: started, answered,
completed, as the host does it. At the end it prints one JSON object.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import resource
import sys
import time
from typing import Any

SAMPLE_EVERY = 5_000


class Context:
    """A plugin context that keeps the platform and ignores the rest."""

    def __init__(self) -> None:
        self.platform: dict[str, Any] = {}

    def register_platform(self, name: str, label: str, adapter_factory: Any, check_fn: Any = None, **more: Any) -> None:
        self.platform = {"name": name, "adapter_factory": adapter_factory, **more}

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **more: None


class Count:
    """What the host's ``handle_message`` is replaced by."""

    def __init__(self, adapter: Any, wanted: int, *, runs: bool) -> None:
        self.adapter = adapter
        self.wanted = wanted
        self.runs = runs
        self.handled = 0
        self.done = 0
        self.first_s = self.last_s = 0.0
        self.resident: list[int] = []
        self.finished = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()

    async def handle_message(self, event: Any) -> None:
        self.handled += 1
        self.last_s = time.perf_counter()
        self.first_s = self.first_s or self.last_s
        if self.runs:
            task = asyncio.get_running_loop().create_task(self.run(event))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        else:
            self.ended()

    async def run(self, event: Any) -> None:
        from gateway.platforms.base import ProcessingOutcome

        await self.adapter.on_processing_start(event)
        await self.adapter.send(event.source.chat_id, "Invoice 42 is filed.", metadata={"notify": True})
        await self.adapter.on_processing_complete(event, ProcessingOutcome.SUCCESS)
        self.ended()

    def ended(self) -> None:
        self.done += 1
        if self.done % SAMPLE_EVERY == 0:
            self.resident.append(resident_bytes())
        if self.done == self.wanted:
            self.finished.set()


def resident_bytes() -> int:
    """What the process has in memory now."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()


async def main(module: str, wanted: int, *, runs: bool) -> None:
    from gateway.config import PlatformConfig

    context = Context()
    importlib.import_module(module).register(context)
    adapter = context.platform["adapter_factory"](PlatformConfig(enabled=True, extra={}))
    count = Count(adapter, wanted, runs=runs)
    adapter.handle_message = count.handle_message
    if not await adapter.connect():
        raise SystemExit(f"not connected: {adapter.fatal_error_message}")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    processor_s = time.process_time()
    await count.finished.wait()
    found = {
        "handled": count.handled,
        "first_s": count.first_s,
        "last_s": count.last_s,
        "processor_s": time.process_time() - processor_s,
        "resident": count.resident,
    }
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    await adapter.disconnect()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), runs=sys.argv[3] == "runs"))
