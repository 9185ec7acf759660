"""Which sessions Hermes is busy with, told when it changes: the host's own table, watched.

Hermes keeps a dict of the sessions that it runs something in, and tells nobody when it changes. The adapter puts this
one in its place. A session that ends and begins again within one step of the loop has not changed; so the news is
collected and compared at the step's end.

Source: Borgee 4.6, W6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

__all__ = ["BusySessions"]


class BusySessions(dict[str, Any]):
    """The host's table of busy sessions.

    Args:
        changed: called on the loop with a session and whether it is busy, once for each change.
    """

    def __init__(self, changed: Callable[[str, bool], None]) -> None:
        super().__init__()
        self._changed = changed
        self._known: set[str] = set()
        self._touched: dict[str, None] = {}

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self._touch(key)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._touch(key)

    def pop(self, key: str, *default: Any) -> Any:
        value = super().pop(key, *default)
        self._touch(key)
        return value

    def popitem(self) -> tuple[str, Any]:
        key, value = super().popitem()
        self._touch(key)
        return key, value

    def clear(self) -> None:
        keys = list(self)
        super().clear()
        for key in keys:
            self._touch(key)

    def setdefault(self, key: str, default: Any = None) -> Any:
        value = super().setdefault(key, default)
        self._touch(key)
        return value

    def update(self, *others: Any, **more: Any) -> None:
        new = dict(*others, **more)
        super().update(new)
        for key in new:
            self._touch(key)

    def _touch(self, key: str) -> None:
        if not self._touched:
            try:
                asyncio.get_running_loop().call_soon(self._tell)
            except RuntimeError:  # no loop runs yet: nobody can be busy in earnest
                return
        self._touched[key] = None

    def _tell(self) -> None:
        touched, self._touched = self._touched, {}
        for key in touched:
            is_busy = key in self
            if is_busy == (key in self._known):
                continue
            if is_busy:
                self._known.add(key)
            else:
                self._known.discard(key)
            self._changed(key, is_busy)
