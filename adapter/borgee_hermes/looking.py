"""The inbox at a glance, for ``status`` and ``gateway status``: what waits, what runs, what a person has to settle.

Looking never writes, and a gateway may have the file open. Nothing of SQLite is loaded where there is no file.

Source: command-line contract, status; Borgee 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from borgee_hermes.inbox.place import inbox_file
from canon_ops.errors import CanonOpsError
from canon_ops.operate.status_parts import InboxSeen, ReadInbox

__all__ = ["INBOXES", "read_inbox"]


def read_inbox(home: Path, *, is_owned: bool) -> InboxSeen | None:
    """What the inbox of a home says; None where there is none.

    Args:
        is_owned: a gateway runs. What one that is gone had in work does not run: it is in doubt.
    """
    file = inbox_file(home)
    if not file.exists():
        return None
    from borgee_hermes.inbox.operator import stats
    from borgee_hermes.inbox.records import Status
    from borgee_hermes.inbox.schema import SCHEMA
    from canon_ops.durable import read_once

    try:
        found = read_once(file, SCHEMA, partial(stats, is_owned=is_owned))
    except CanonOpsError as error:
        return InboxSeen(0, 0, 0, 0, error.what)
    counts = found.by_status
    in_doubt, claimed = counts[Status.QUARANTINED] + counts[Status.IN_DOUBT], counts[Status.PROCESSING]
    running = claimed if is_owned else 0
    return InboxSeen(counts[Status.PENDING], running, in_doubt + claimed - running, len(found.blocked))


INBOXES: Final[Mapping[str, ReadInbox]] = MappingProxyType({"borgee": read_inbox})
