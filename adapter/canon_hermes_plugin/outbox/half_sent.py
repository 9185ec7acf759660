"""The outbox, as a process without a gateway uses it: a message is there while it is being sent.

One in several parts may be cut off between two of them, and people would wait for a rest that never comes. One in a
single part may be on Canon without anybody knowing, or be gone with the process that sent it. So each is written down
before its first part, and crossed out when Canon has the last, or has certainly nothing of it and the host is told so.
While a gateway runs beside us it may send the same parts too; their ids make that harmless. A disk that takes nothing
is logged, and the message is sent all the same.

Source: Canon adapter D44; decisions X1; docs/decisions/0064.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.outbound.unasked import NotAdmitted
from canon_hermes_plugin.outbox import store
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.state.place import state_path
from canon_ops.client.errors import RequestFailed
from canon_ops.durable import DurableError, Snapshot, Transaction, read_once, write_once
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.retry import Outcome, Policy, is_retryable

__all__ = ["HalfSent"]

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


class HalfSent:
    """The notes of one call."""

    def __init__(self, home: Path, offload: Offload, clock: Clock) -> None:
        self.clock = clock
        self._file = state_path(home)
        self._offload = offload

    async def left_by(self, owner: Owner) -> tuple[Operation, ...]:
        """What an earlier process of this agent left half sent."""

        def look(snapshot: Snapshot) -> list[Operation]:
            return [one for one in store.pending(snapshot, owner) if one.is_unasked]

        try:
            return tuple(await self._offload.run(read_once, self._file, SCHEMA, look))
        except DurableError:  # no file yet is the usual case, and a damaged one is the gateway's and the doctor's
            return ()

    async def begun(self, owner: Owner, operation: Operation) -> None:
        """A message is about to be sent."""
        await self._write(store.keep, owner, operation, now_ms=self.clock.now_ms())

    async def confirmed(self, owner: Owner, operation: Operation) -> None:
        """Canon has one more part, or all of them."""
        if operation.is_complete:
            await self._write(store.settle, owner, operation)
        else:
            await self._write(store.confirm, owner, operation, now_ms=self.clock.now_ms())

    async def failed(self, owner: Owner, operation: Operation, error: CanonOpsError, *, is_left: bool = False) -> bool:
        """Sending stopped here; whether the rest is left for later.

        A message of which certainly nothing is on Canon is crossed out: the host is told that it failed. One that Canon
        refuses for good, when something of it may be there, is for a person to decide about.

        Args:
            is_left: an earlier process has begun with it; nobody is told of this failure.
        """
        is_refused, may_have_landed = _read(error)
        if not operation.confirmed and not may_have_landed and not is_left:
            await self._write(store.settle, owner, operation)
            return False
        if is_refused:
            aside = store.State.REFUSED
            await self._write(store.put_aside, owner, operation, aside, error.what, now_ms=self.clock.now_ms())
            return False
        await self._write(store.note_failure, owner, operation, error.what, now_ms=self.clock.now_ms())
        return True

    async def _write(self, function: Callable[Concatenate[Transaction, P], R], *args: P.args, **more: P.kwargs) -> None:
        try:
            await self._offload.run(lambda: write_once(self._file, SCHEMA, function, *args, **more))
        except DurableError as error:
            logger.warning("Canon: a message could not be noted in the outbox: %s", error.what)


def _read(error: CanonOpsError) -> tuple[bool, bool]:
    """Whether Canon will never take the message, and whether it may have it all the same."""
    if isinstance(error, NotAdmitted):
        return True, False
    if not isinstance(error, RequestFailed):
        return False, True
    is_unreadable = error.outcome == Outcome()
    return not is_unreadable and not is_retryable(Policy.IDEMPOTENT, error.outcome), error.may_have_landed
