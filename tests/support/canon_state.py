"""A state file of the Canon adapter for the tests of its stores: one transaction a call."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from canon_hermes_plugin.inbox.items import Owner
from canon_hermes_plugin.state_file import SCHEMA
from canon_ops.durable import Transaction, write_once

__all__ = ["ANOTHER", "NOW", "OWNER", "Rows"]

OWNER = Owner("canon-prod-v1", "agent-1")
ANOTHER = Owner("canon-prod-v1", "agent-2")
NOW = 1_790_000_000_000

P = ParamSpec("P")
R = TypeVar("R")


class Rows:
    """Calls a store's functions on a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, function: Callable[Concatenate[Transaction, P], R], *args: P.args, **more: P.kwargs) -> R:
        return write_once(self.path, SCHEMA, function, *args, **more)

    def table(self, sql: str) -> list[tuple[Any, ...]]:
        """What a plain reader of the file sees."""
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(sql).fetchall()
