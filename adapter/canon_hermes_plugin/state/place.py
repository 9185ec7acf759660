"""Where a Canon adapter keeps its state, for those who only want to know whether there is any."""

from __future__ import annotations

from pathlib import Path

__all__ = ["approvals_record", "approvals_trail", "state_path"]


def state_path(hermes_home: Path) -> Path:
    """The database below the Hermes home."""
    return hermes_home / "plugins" / "canon" / "state.sqlite3"


def approvals_record(hermes_home: Path) -> Path:
    """What is kept here of the end of the approvals' audit trail, away from the Canon home where the trail is."""
    return hermes_home / "plugins" / "canon" / "approvals.heads"


def approvals_trail(registry: Path) -> Path:
    """The approvals' audit trail, beside their registry."""
    return registry.with_name("detached-approvals.audit")
