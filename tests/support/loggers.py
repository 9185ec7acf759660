"""The loggers of a test process, looked at while threads of a host make new ones.

pytest walks over the table of all loggers at the beginning of each test, without logging's own lock; a host that
still loads its tools in the background adds to that table meanwhile, and the walk raises.
"""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["let_loggers_be_listed"]


class _Listed(dict[str, Any]):
    """A table whose values are those of the moment."""

    def values(self) -> Any:
        return list(super().values())


def let_loggers_be_listed() -> None:
    """Make the table of loggers one that may grow while somebody walks over it."""
    manager = logging.root.manager
    if not isinstance(manager.loggerDict, _Listed):
        manager.loggerDict = _Listed(manager.loggerDict)
