"""A lock of the host's in the name of the process that runs the test, as a living gateway leaves it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from canon_ops.hermes.scoped_locks import lock_file

__all__ = ["hold_lock"]


def hold_lock(scope: str, identity: str, environ: Mapping[str, str], *, lives: bool = True) -> None:
    """Write the record; when it does not live, another process has this one's number by now."""
    lock = lock_file(scope, identity, environ)
    lock.parent.mkdir(parents=True, exist_ok=True)
    stat = Path("/proc/self/stat")
    start = int(stat.read_text().split()[21]) if stat.exists() else 0
    lock.write_text(json.dumps({"pid": os.getpid(), "start_time": start if lives else 1}))
