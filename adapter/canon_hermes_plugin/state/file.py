"""What a Canon adapter keeps on disk: one database under the Hermes home, and the order in which it is written.

The file holds the inbox and the outbox of every agent that this home has had. The gateway writes it; commands read it,
and may write it too, while a gateway runs or not.

Some writes must be done before anything else happens, and are awaited. Others only have to happen in their place, and
nobody waits for them. Both go through :class:`StateFile`, which keeps them in the order of the calls and lets all that
gathers share a commit.

Source: decisions X1.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from canon_hermes_plugin.inbox.store import create_inbox
from canon_hermes_plugin.interactions.left_open import create_requests
from canon_hermes_plugin.interactions.store import create_cards
from canon_hermes_plugin.outbox.store import create_outbox
from canon_ops.durable import Database, DurableError, Notice, Schema, Snapshot, Transaction

__all__ = ["SCHEMA", "StateFile"]

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

Call: TypeAlias = Callable[[Transaction], Any]

BATCH: Final = 512  # calls in one commit

SCHEMA: Final = Schema("Canon's state", (create_inbox, create_outbox, create_cards, create_requests))


class StateFile:
    """The open file of one adapter; everything is called on the loop."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA)
        self._queue: list[tuple[Call, asyncio.Future[Any]]] = []
        self._pump: asyncio.Task[None] | None = None

    @property
    def path(self) -> Path:
        return self._database.path

    async def open(self) -> tuple[Notice, ...]:
        """Open the file, creating and migrating it as needed.

        Raises:
            DurableError: it cannot be used; its kind says who can mend it.
        """
        return await self._database.open()

    async def read(self, function: Callable[Concatenate[Snapshot, P], R], /, *args: P.args, **more: P.kwargs) -> R:
        """Ask; the answer knows every write that was begun before."""
        answer: R = await self._put(lambda snapshot: function(snapshot, *args, **more))
        return answer

    def write(
        self, function: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **more: P.kwargs
    ) -> asyncio.Future[R]:
        """Begin a write, in the order of the calls; await it where nothing may happen before it is done.

        A write that fails is logged, and takes no other with it.
        """
        return self._put(lambda transaction: function(transaction, *args, **more))

    async def close(self) -> None:
        """Finish what was begun and close the file."""
        if self._pump is not None:
            await self._pump
        await self._database.close()

    def _put(self, call: Call) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        done.add_done_callback(_log_failure)
        self._queue.append((call, done))
        if self._pump is None:
            self._pump = loop.create_task(self._run())
        return done

    async def _run(self) -> None:
        """Whatever has gathered while the disk was busy is one commit."""
        try:
            while self._queue:
                batch, self._queue = self._queue[:BATCH], self._queue[BATCH:]
                await self._commit(batch)
        finally:
            self._pump = None

    async def _commit(self, batch: Sequence[tuple[Call, asyncio.Future[Any]]]) -> None:
        try:
            results = await self._database.write(_all, [call for call, _ in batch])
        except Exception as error:  # somebody's failure is his alone: together they were taken back, so one by one
            if len(batch) == 1:
                _tell(batch[0][1], error=error)
                return
            for each in batch:
                await self._commit([each])
            return
        for (_, done), result in zip(batch, results, strict=True):
            _tell(done, result)


def _all(transaction: Transaction, calls: Sequence[Call]) -> list[Any]:
    return [call(transaction) for call in calls]


def _tell(done: asyncio.Future[Any], result: Any = None, *, error: Exception | None = None) -> None:
    if done.done():
        return  # whoever waited was cancelled
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


def _log_failure(done: asyncio.Future[Any]) -> None:
    error = None if done.cancelled() else done.exception()
    if isinstance(error, DurableError):
        logger.error("Canon: the state could not be written: %s", error.what)
    elif error is not None:
        logger.error("Canon: the state could not be written", exc_info=error)
