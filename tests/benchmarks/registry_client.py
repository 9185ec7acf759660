"""One change after another in a registry of approvals: the published plugin's way, or ours, on the same interpreter.

``python registry_client.py FOLDER ENTRIES [CHECKOUT ADAPTER]``: without the last two the installed plugin is asked by
its public names, a black box; with them our store is. It fills the registry in FOLDER and says ``ready``. Then each
number that it reads is that many changes of one entry each (its receipt was seen), and it answers with the seconds on
the clock and of the processor that they took.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

LATER_MS = 4_000_000_000_000


def theirs(folder: Path, entries: int) -> Callable[[str], object]:
    """The published way; the home is told by the environment."""
    os.environ["CANON_HOME"] = str(folder)
    module = importlib.import_module("canon_hermes_plugin.detached_approvals")
    for number in range(entries):
        module.record_pending(f"a{number}", "conv_1", expires_at=LATER_MS, summary="s", response_user_id="user_owner")
    marked: Callable[[str], object] = module.mark_receipt_pending
    return marked


def ours(folder: Path, entries: int) -> Callable[[str], object]:
    """Our store, as the gateway uses it."""
    from canon_hermes_plugin.approvals.batch import Request
    from canon_hermes_plugin.approvals.events import Activate, Reserve, SeeReceipt
    from canon_hermes_plugin.approvals.store import ApprovalStore
    from canon_hermes_plugin.state.owner import Owner

    store = ApprovalStore(folder / "detached-approvals.json", process="bench")
    owner, names = Owner("env_1", "agent_1"), [f"a{number}" for number in range(entries)]
    store.apply([Request(name, Reserve(name, "conv_1", "c", LATER_MS, owner, "s")) for name in names])
    store.apply([Request(name, Activate("c", LATER_MS, "user_owner")) for name in names])
    return lambda name: store.apply_one(name, SeeReceipt())


def main(folder: Path, entries: int, paths: list[str]) -> None:
    """Fill, then change until stdin ends."""
    sys.path[:0] = paths
    change = (ours if paths else theirs)(folder, entries)
    names = (f"a{number}" for number in itertools.count())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        chosen = list(itertools.islice(names, int(line)))
        began, used = time.perf_counter(), time.process_time()
        for name in chosen:
            change(name)
        found = {"wall_s": time.perf_counter() - began, "processor_s": time.process_time() - used}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
