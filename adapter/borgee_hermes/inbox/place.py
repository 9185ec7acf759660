"""Where a Hermes home keeps Borgee's inbox; whoever only asks whether there is one loads nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["FILE", "inbox_file"]

FILE: Final = Path("plugins", "borgee", "inbox.sqlite3")


def inbox_file(home: Path) -> Path:
    """The inbox of a Hermes home."""
    return home / FILE
