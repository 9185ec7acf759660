"""The database as a gateway uses it: asynchronous, on a thread of its own, safe to cancel at any moment.

::

    database = Database(path, SCHEMA)
    await database.open()                                   # creates, migrates; a second call changes nothing
    row = await database.write(record_message, message)     # stored, for good, when this returns
    rows = await database.read(select_pending, limit=10)
    await database.close()                                  # finishes what was submitted; no thread is left

``record_message(transaction, message)`` and ``select_pending(snapshot, *, limit)`` are functions of the store
(:mod:`canon_ops.durable.statements`). They run on the database's thread, in the order of the calls, and may run twice
(:mod:`canon_ops.durable.batch`), so they have no effect but on the database and no long waits.

**Cancellation.** A call that was submitted is waited for, however often its caller is cancelled, and then the
cancellation is raised: nobody goes on while the disk is still being written on their behalf. Only a caller that still
queues for admission leaves at once, with nothing done.

**Group commit.** What is submitted in one turn of the event loop, or while the disk is busy with the commit before, is
one transaction and one wait for the disk. Each call still has its own result or its own error.

**Load.** At most ``capacity`` calls are on their way to the thread. Beyond that callers wait in line, first come first
served; none is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from canon_ops.durable.actor import Actor, Delivery, closed
from canon_ops.durable.batch import Done, Failed, Reading, Work, Writing
from canon_ops.durable.notices import Notice
from canon_ops.durable.opening import WRITER_BUSY_S, Opened, open_for_writing
from canon_ops.durable.problems import DurableError, StatementRefused
from canon_ops.durable.schema import Schema
from canon_ops.durable.settle import settle
from canon_ops.durable.statements import Snapshot, Transaction
from canon_ops.runtime.clock import Clock

__all__ = ["CAPACITY", "Database"]

P = ParamSpec("P")
R = TypeVar("R")

CAPACITY = 10_000


class Database:
    """One file, one thread, one event loop: the one that called :meth:`open`.

    Args:
        path: the file. Its folder belongs to it and is kept at 0700.
        schema: what the file holds.
        busy_s: how long a write waits for another process before it fails with :class:`Busy`.
        capacity: calls on their way to the thread.
        connect: opens the file; tests hand in one that they can hold up.
    """

    def __init__(
        self,
        path: Path,
        schema: Schema,
        *,
        busy_s: float = WRITER_BUSY_S,
        capacity: int = CAPACITY,
        clock: Clock | None = None,
        connect: Callable[[], Opened] | None = None,
    ) -> None:
        self.path = path
        self._connect = connect or functools.partial(open_for_writing, path, schema, busy_s=busy_s, clock=clock)
        self._admission = asyncio.Semaphore(capacity)
        self._actor: Actor[asyncio.Future[Any]] | None = None
        self._arrivals: list[tuple[asyncio.Future[Any], Work]] = []
        self._is_closed = False

    async def open(self) -> tuple[Notice, ...]:
        """Open the file, creating and migrating it as needed; return what is worth saying about it.

        Cancelled or failing, it leaves nothing open, and the object is closed for good.

        Raises:
            Closed: after :meth:`close`.
            DurableError: the file cannot be used; its kind says who can mend it.
        """
        if self._is_closed:
            raise closed(self.path)
        if self._actor is None:
            loop = asyncio.get_running_loop()
            self._opened: asyncio.Future[tuple[Notice, ...]] = loop.create_future()
            self._stopped: asyncio.Future[None] = loop.create_future()
            deliver = functools.partial(_deliver, loop)
            actor: Actor[asyncio.Future[Any]] = Actor(
                self.path, self._connect, deliver, opened=self._opened, stopped=self._stopped
            )
            actor.start()
            self._actor = actor
        try:
            return await settle(self._opened)
        except BaseException:
            await self.close()
            raise

    async def write(
        self, function: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Call ``function(transaction, …)`` and return its result once what it wrote is on the disk.

        Raises:
            Busy, DiskFull, …: nothing was written.
            DiskFailed: it is not acknowledged, and may turn up after a crash: give what must not come twice a key.
            Exception: whatever ``function`` raised; what it had written before is taken back.
        """
        result: R = await self._submit(Writing(lambda transaction: function(transaction, *args, **kwargs)))
        return result

    async def read(self, function: Callable[Concatenate[Snapshot, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call ``function(snapshot, …)`` on a view that has every write submitted before, and return its result."""
        result: R = await self._submit(Reading(lambda snapshot: function(snapshot, *args, **kwargs)))
        return result

    async def close(self) -> None:
        """Finish what was submitted, close the file, end the thread. It may be called often, and at the same time."""
        self._is_closed = True
        if self._actor is None:
            return
        self._send_off()
        self._actor.stop()
        try:
            await settle(self._stopped)
        finally:
            self._actor.join()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _submit(self, work: Work) -> Any:
        async with self._admission:
            if self._actor is None or self._is_closed:
                raise closed(self.path)
            loop = asyncio.get_running_loop()
            if loop is not self._opened.get_loop():
                raise StatementRefused(f"{self.path} was opened by another event loop", file=str(self.path))
            ticket: asyncio.Future[Any] = loop.create_future()
            self._arrivals.append((ticket, work))
            if len(self._arrivals) == 1:
                loop.call_soon(self._send_off)
            return await settle(ticket)

    def _send_off(self) -> None:
        """Hand everything that arrived in this turn of the loop to the thread at once, so that it is one commit."""
        arrivals, self._arrivals = self._arrivals, []
        if not arrivals or self._actor is None:
            return
        try:
            self._actor.submit(arrivals)
        except DurableError as error:  # the thread gave up meanwhile
            _hand_out([(ticket, Failed(error)) for ticket, _ in arrivals])


def _deliver(loop: asyncio.AbstractEventLoop, delivery: Delivery[asyncio.Future[Any]]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(_hand_out, delivery)


def _hand_out(delivery: Delivery[asyncio.Future[Any]]) -> None:
    for ticket, outcome in delivery:
        if ticket.done():
            continue
        if isinstance(outcome, Done):
            ticket.set_result(outcome.value)
        else:
            ticket.set_exception(outcome.error)
