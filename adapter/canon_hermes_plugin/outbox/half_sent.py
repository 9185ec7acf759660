"""The outbox, as a process without a gateway uses it: a message in parts is there while it is being sent.

A message in one part is on Canon or is not, and the host hears which; it needs no note. One in several parts may be cut
off between two of them, and people would wait for a rest that never comes. So it is written down before its first part,
and crossed out after its last. While a gateway runs beside us it may send the same parts too; their ids make that
harmless. A disk that takes nothing is logged, and the message is sent all the same.

Source: Canon adapter D44; decisions X1.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.outbox import store
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.owner import Owner
from canon_hermes_plugin.state_file import SCHEMA
from canon_hermes_plugin.state_place import state_path
from canon_hermes_plugin.unasked import NotAdmitted
from canon_ops.client.errors import RequestFailed
from canon_ops.durable import DurableError, Snapshot, Transaction, read_once, write_once
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.retry import certainly_not_handled

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
        """A message in parts is about to be sent."""
        if len(operation.messages) > 1:
            await self._write(store.keep, owner, operation, now_ms=self.clock.now_ms())

    async def confirmed(self, owner: Owner, operation: Operation) -> None:
        """Canon has one more part, or all of them."""
        if len(operation.messages) == 1:
            return
        if operation.is_complete:
            await self._write(store.settle, owner, operation)
        else:
            await self._write(store.confirm, owner, operation, now_ms=self.clock.now_ms())

    async def failed(self, owner: Owner, operation: Operation, error: CanonOpsError) -> bool:
        """Sending stopped here; whether the rest is left for later.

        A message of which certainly nothing is on Canon is crossed out: the host is told that it failed. One that the
        policy refuses in the middle is for a person to decide about.
        """
        if len(operation.messages) == 1:
            return False
        is_refused = isinstance(error, NotAdmitted)
        is_untouched = not operation.confirmed and (
            is_refused or (isinstance(error, RequestFailed) and certainly_not_handled(error.outcome))
        )
        if is_untouched:
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
            logger.warning("Canon: a message in parts could not be noted: %s", error.what)
