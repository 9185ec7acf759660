"""A state file of the Canon adapter for the tests of its stores: one transaction a call."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from canon_hermes_plugin.outbox import operations
from canon_hermes_plugin.outbox.operations import Book, Operation, Reserved
from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.kept import Kept, open_kept
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.state.place import state_path
from canon_hermes_plugin.turn.effects import Final
from canon_ops.durable import Transaction, write_once
from canon_ops.runtime.clock import Clock, ManualClock
from canon_ops.wire.ids import ConversationId, TurnId
from canon_ops.wire.messages import ReplyAuthority

__all__ = ["ANOTHER", "AUTHORITY", "NOW", "OWNER", "Rows", "an_operation", "opened_state"]

OWNER = Owner("canon-prod-v1", "agent-1")
ANOTHER = Owner("canon-prod-v1", "agent-2")
NOW = 1_790_000_000_000

AUTHORITY = ReplyAuthority("m1", "t" * 40, "2027-01-01T00:00:00Z")

P = ParamSpec("P")
R = TypeVar("R")


def an_operation(text: str = "the answer", turn: str = "t1", conversation: str | None = None) -> Operation:
    """The answer of a turn, fixed and not sent; in an invented room it has a leave to answer."""
    room, authority = ConversationId(conversation or "c1"), None if conversation else AUTHORITY
    reply_to = None if conversation else "m1"
    final = Final(TurnId(turn), room, text, reply_to, {"hermes": {"z": 1, "a": [1.5]}}, {}, authority)
    reserved = operations.reserve(Book(), final)
    assert isinstance(reserved, Reserved)
    return reserved.operation


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


@asynccontextmanager
async def opened_state(
    home: Path, *, clock: Clock | None = None, gate: Callable[[], bool] = lambda: True
) -> AsyncIterator[Kept]:
    """What an adapter of ``OWNER`` has on the disk of a Hermes home; closed at the end, as by a gateway that stops."""
    kept = await open_kept(state_path(home), OWNER, clock=clock or ManualClock(), lost=lambda: None, is_gate_open=gate)
    try:
        yield kept
    finally:
        await kept.file.close()
