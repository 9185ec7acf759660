"""What ``status`` shows of the registry of detached approvals: how many are open, and whether somebody has to act.

Most homes have no registry; what reads one is loaded only where there is one, or a trace of one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from canon_hermes_plugin.state.place import approvals_record, approvals_trail
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import canon_paths_from_disk
from canon_ops.operate.status_parts import ApprovalsSeen

__all__ = ["read_approvals"]


def read_approvals(home: HermesHome, environ: Mapping[str, str], now_ms: int) -> ApprovalsSeen | None:
    """The registry at a glance; None where there is none.

    Raises:
        RegistryGone, RegistryDamaged, LockTimeout, DiskError, BrokenLink: it cannot be read now.
    """
    file = canon_paths_from_disk(home.path, environ).detached_approvals_file
    record = approvals_record(home.path)
    if not any(os.path.lexists(one) for one in (file, record, approvals_trail(file))):
        return None
    from canon_hermes_plugin.approvals.needs import is_due
    from canon_hermes_plugin.approvals.store import ApprovalStore

    book = ApprovalStore(file, process="canon-ops", elsewhere=record).read_kept()
    waiting = [entry for entry in book if not entry.status.is_terminal]
    return ApprovalsSeen(
        len(waiting),
        min((entry.expires_at_ms for entry in waiting), default=None),
        sum(is_due(entry, now_ms=now_ms) for entry in book),
        len(book.reasons),
    )
