"""What a Canon adapter keeps on disk: one database under the Hermes home, and the order in which it is written.

The file holds the inbox and the outbox of every agent that this home has had. The gateway writes it; commands read it,
and may write it too, while a gateway runs or not.

Some writes must be done before anything else happens, and are awaited. Others only have to happen in their place: they
are started at once and nobody waits. Both go through :class:`StateFile`, which keeps them in the order of the calls.

Source: decisions X1.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from canon_hermes_plugin.inbox.store import create_inbox
from canon_hermes_plugin.outbox.store import create_outbox
from canon_ops.durable import Database, DurableError, Notice, Schema, Snapshot, Transaction

__all__ = ["SCHEMA", "StateFile", "state_path"]

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

SCHEMA: Final = Schema("Canon's state", (create_inbox, create_outbox))


def state_path(hermes_home: Path) -> Path:
    """Where the file lies."""
    return hermes_home / "plugins" / "canon" / "state.sqlite3"


class StateFile:
    """The open file of one adapter; everything is called on the loop."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA)
        self._writes: set[asyncio.Task[object]] = set()

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
        # A task like the writes: it takes its place behind those that were begun and have not run yet.
        return await asyncio.get_running_loop().create_task(self._database.read(function, *args, **more))

    def write(
        self, function: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **more: P.kwargs
    ) -> asyncio.Task[R]:
        """Begin a write, in the order of the calls; await the task where nothing may happen before it is done.

        A write that fails and that nobody awaits is logged.
        """
        task = asyncio.get_running_loop().create_task(self._database.write(function, *args, **more))
        self._writes.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Finish what was begun and close the file."""
        while self._writes:
            await asyncio.wait(self._writes)
        await self._database.close()

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._writes.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, DurableError):
            logger.error("Canon: the state could not be written: %s", error.what)
        elif error is not None:
            logger.error("Canon: the state could not be written", exc_info=error)
