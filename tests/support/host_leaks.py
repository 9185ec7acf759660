"""What a host forgets to close and a test process would be blamed for.

Hermes 0.19.0 opens its ledgers with ``with _connect() as conn``, which ends a transaction and closes
nothing: Python 3.13 warns when such a connection is collected, in whatever test that happens to be.
"""

from __future__ import annotations

import importlib
import sqlite3
from functools import partial
from types import ModuleType, SimpleNamespace, TracebackType
from typing import Literal

import pytest

__all__ = ["close_ledgers"]

LEDGERS = ("gateway.delivery_ledger", "tools.async_delegation")


class _Closing(sqlite3.Connection):
    """A connection that the end of its ``with`` closes."""

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None, /
    ) -> Literal[False]:
        try:
            return super().__exit__(kind, exc, trace)
        finally:
            self.close()


def close_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the ledgers of a host that never closes them close themselves; without such a host nothing happens."""
    for name in LEDGERS:
        try:
            ledger: ModuleType = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if hasattr(ledger, "_connect") and not hasattr(ledger, "_transaction"):  # with that, later ones close theirs
            closing = SimpleNamespace(**{**vars(sqlite3), "connect": partial(sqlite3.connect, factory=_Closing)})
            monkeypatch.setattr(ledger, "sqlite3", closing)
