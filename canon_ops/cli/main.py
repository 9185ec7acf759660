"""The entry points of the command line."""

from __future__ import annotations

__all__ = ["canon_hermes", "main"]


def main() -> int:
    """Run ``canon-ops``."""
    raise SystemExit(2)


def canon_hermes() -> int:
    """Run the same program under the name that Canon's documentation uses."""
    raise SystemExit(2)
