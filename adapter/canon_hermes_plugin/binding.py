"""Which turn the running task belongs to.

The host runs a turn in one task: its start hook, the agent (on threads, in copies of the task's context), the stream
consumer (a child task), the final send and the completion hook. So the start hook leaves a mark in the task's context,
and every later call from that task, its children and its threads carries it. The mark stays when the turn has closed:
that is how a late call of a finished turn is told from a call that belongs to no turn.

A mark never changes. When the host answers a second message inside the same run, the task is marked anew, and what the
first turn left running keeps the first mark.

Source: Canon adapter R6.4, R6.8, R6.34.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["TurnMark", "bind", "current_mark", "handed_item", "handing", "in_own_task"]


@dataclass(frozen=True, slots=True, eq=False)
class TurnMark:
    """The turn a context belongs to, and the task that runs it."""

    turn_id: str
    conversation_id: str
    session_key: str
    task: asyncio.Task[object] | None


_HANDED: ContextVar[str | None] = ContextVar("canon_handed_item", default=None)
_MARK: ContextVar[TurnMark | None] = ContextVar("canon_turn_mark", default=None)


def bind(turn_id: str, conversation_id: str, session_key: str) -> TurnMark:
    """Mark the running task as the one that runs this turn."""
    mark = TurnMark(turn_id, conversation_id, session_key, asyncio.current_task())
    _MARK.set(mark)
    return mark


def current_mark() -> TurnMark | None:
    """The mark of the running task or thread; None outside any turn."""
    return _MARK.get()


@contextmanager
def handing(item_id: str) -> Iterator[None]:
    """What runs inside is the hand-over of this item; the host answers some commands in the middle of it."""
    token = _HANDED.set(item_id)
    try:
        yield
    finally:
        _HANDED.reset(token)


def handed_item() -> str | None:
    """The item whose hand-over the running task is in, before any turn; None elsewhere."""
    return _HANDED.get() if _MARK.get() is None else None


def in_own_task(mark: TurnMark) -> bool:
    """Whether the running task is the one that runs the turn, not a child of it. Only asked on the loop."""
    return mark.task is not None and asyncio.current_task() is mark.task
