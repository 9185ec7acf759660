"""Where a Canon adapter keeps its state, for those who only want to know whether there is any."""

from __future__ import annotations

from pathlib import Path

__all__ = ["state_path"]


def state_path(hermes_home: Path) -> Path:
    """The database below the Hermes home."""
    return hermes_home / "plugins" / "canon" / "state.sqlite3"
