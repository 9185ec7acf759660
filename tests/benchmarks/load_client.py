"""What a plugin costs the process that loads it: run by a host's interpreter, imports nothing of ours by name.

``python load_client.py ENTRY`` imports the host's gateway first, as it is when a plugin's turn comes, then the plugin
behind the entry point, and registers it. It prints one JSON object: milliseconds of processor time, megabytes of
resident memory, and how many modules came with it.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from importlib.metadata import entry_points
from typing import Any

neighbour: Any = importlib.import_module("inbound_client")  # a script's folder is where Python looks first


def main(entry: str) -> None:
    """Load, register, tell."""
    importlib.import_module("gateway.run")
    importlib.import_module("gateway.platforms.base")
    (point,) = entry_points(group="hermes_agent.plugins", name=entry)
    gc.collect()
    modules, memory, began = len(sys.modules), neighbour.resident_bytes(), time.process_time()
    context = neighbour.Context()
    plugin = point.load()
    getattr(plugin, "register", plugin)(context)
    took_s = time.process_time() - began
    if not context.platform:
        raise SystemExit("the plugin registered no platform")
    found = {
        "ms": took_s * 1e3,
        "megabytes": (neighbour.resident_bytes() - memory) / 2**20,
        "modules": len(sys.modules) - modules,
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
