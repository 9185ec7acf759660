"""Who holds one of Hermes' locks between gateways: read, never taken.

A gateway that holds such a lock notes its process in a file; what a dead or a recycled process left behind counts for
nothing, as it does for Hermes. Source: hermes-host 9.9.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from canon_ops.errors import CanonOpsError
from canon_ops.files.reading import read_optional
from canon_ops.hermes.gateway import is_the_process
from canon_ops.hermes.homes import user_home

__all__ = ["LockOwner", "lock_file", "lock_owner"]


@dataclass(frozen=True, slots=True)
class LockOwner:
    """Whoever is named in a lock.

    Attributes:
        is_alive: that process runs, and is the one that took the lock.
    """

    pid: int
    is_alive: bool


def lock_file(scope: str, identity: str, environ: Mapping[str, str]) -> Path:
    """Where the lock of ``identity`` lies for the gateways of this user."""
    told = environ.get("HERMES_GATEWAY_LOCK_DIR")
    if told:
        folder = Path(told)
    else:
        state = environ.get("XDG_STATE_HOME")
        folder = (Path(state) if state else user_home(environ) / ".local" / "state") / "hermes" / "gateway-locks"
    return folder / f"{scope}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.lock"


def lock_owner(scope: str, identity: str, environ: Mapping[str, str]) -> LockOwner | None:
    """Who is named in the lock; None when there is none, or it says nothing that can be read."""
    try:
        record = json.loads(read_optional(lock_file(scope, identity, environ)) or b"null")
    except (CanonOpsError, ValueError, RecursionError):
        return None
    pid = record.get("pid") if isinstance(record, Mapping) else None
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return None
    return LockOwner(pid, is_the_process(pid, record.get("start_time")))
