"""A plugin that looks on from inside a real gateway: when the host got each message, with how many tasks, and how many
objects of the Canon plugin there are.

It writes lines to a file of its own, one a message and one each time that it counts objects; nothing else of the
gateway is touched. Counting goes through all objects of the process, so it is done rarely and on its own thread.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["NAME", "Dispatch", "Gauge", "Objects", "add_gauge"]

NAME = "gauge"
_MANIFEST = f"name: {NAME}\nkind: standalone\nversion: 1.0.0\ndescription: looks on\n"
_PLUGIN = """\
import asyncio
import gc
import json
import os
import threading
import time
from pathlib import Path

FILE = Path(__file__).with_name("seen.jsonl")


def note(**seen):
    line = json.dumps({"pid": os.getpid(), "at_ms": time.time_ns() / 1e6, **seen}) + "\\n"
    with FILE.open("a", encoding="utf-8") as file:
        file.write(line)


def dispatched(event=None, **_more):
    note(text=str(event.text)[-200:], tasks=len(asyncio.all_tasks()))


def count(every_s):
    while True:
        time.sleep(every_s)
        note(objects=sum(str(type(one).__module__).startswith("canon_hermes_plugin") for one in gc.get_objects()))


def register(ctx):
    ctx.register_hook("pre_gateway_dispatch", dispatched)
    threading.Thread(target=count, args=(EVERY_S,), daemon=True).start()
"""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The host got a message, whose text ends so; it had so many tasks then."""

    pid: int
    at_ms: float
    text: str
    tasks: int


@dataclass(frozen=True, slots=True)
class Objects:
    """How many objects of the Canon plugin there were."""

    pid: int
    at_ms: float
    objects: int


class Gauge:
    """What the plugin of one home has written, over all gateways of that home."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "seen.jsonl"

    def read(self) -> tuple[list[Dispatch], list[Objects]]:
        """All of it; a line that a dying gateway did not finish is none."""
        dispatches, objects = [], []
        for line in self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else ():
            try:
                seen: dict[str, Any] = json.loads(line)
            except ValueError:
                continue
            if "objects" in seen:
                objects.append(Objects(**seen))
            else:
                dispatches.append(Dispatch(**seen))
        return dispatches, objects


def add_gauge(hermes_home: Path, *, every_s: float) -> Gauge:
    """Put the plugin into a home whose configuration enables it.

    Args:
        every_s: pause between two counts of the objects.
    """
    folder = hermes_home / "plugins" / NAME
    folder.mkdir(parents=True)
    folder.joinpath("plugin.yaml").write_text(_MANIFEST, encoding="utf-8")
    folder.joinpath("__init__.py").write_text(_PLUGIN.replace("EVERY_S", f"{every_s!r}"), encoding="utf-8")
    return Gauge(folder)
