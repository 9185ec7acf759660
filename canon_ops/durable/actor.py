"""The thread that owns a connection: it opens it, works through a queue, closes it, and ends.

The thread is the lock. Opening, every piece of work and closing are things that it does one after the other, so none
of them needs another guard, and SQLite's connection is never seen by a second thread. While one commit waits for the
disk, the queue fills; all of it, up to :data:`BATCH`, is the next commit. No timer collects work: an idle thread takes
up a single writer's at once.

The thread is a daemon: a process that ends without closing loses nothing that was acknowledged, and does not hang.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from canon_ops.durable.batch import Done, Failed, Outcome, Work, run_batch
from canon_ops.durable.opening import Opened
from canon_ops.durable.problems import Closed, explain

__all__ = ["BATCH", "Actor", "Delivery"]

F = TypeVar("F")

BATCH = 512  # pieces of work in one transaction: bounds how long another process waits for the write lock

Delivery: TypeAlias = Sequence[tuple[F, Outcome]]


class Actor(Generic[F]):
    """A database's thread.

    Args:
        path: for the thread's name and for errors.
        connect: opens the connection; called on the thread.
        deliver: takes tickets with their outcomes; called on the thread, once for each batch. Must not raise.
        opened: the ticket for the opening; its outcome is Done(notices) or Failed.
        stopped: the ticket for the end; its outcome is Done(None), delivered when the connection is closed.

    A *ticket* is whatever the caller knows its waiters by, a future usually; the thread only hands it back.
    """

    def __init__(
        self,
        path: Path,
        connect: Callable[[], Opened],
        deliver: Callable[[Delivery[F]], None],
        *,
        opened: F,
        stopped: F,
    ) -> None:
        self._path = path
        self._connect = connect
        self._deliver = deliver
        self._opened = opened
        self._stopped = stopped
        self._queue: deque[tuple[F, Work]] = deque()
        self._stopping = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._live, name=f"durable {path.name}", daemon=True)

    def start(self) -> None:
        """Start the thread, which opens the file first."""
        self._thread.start()

    def submit(self, work: Sequence[tuple[F, Work]]) -> None:
        """Put work at the end of the queue, in order; what is submitted together is committed together.

        Raises:
            Closed: after :meth:`stop`, or when the file could not be opened; none of it will be done.
        """
        with self._changed:
            if self._stopping:
                raise closed(self._path)
            self._queue.extend(work)
            self._changed.notify()

    def stop(self) -> None:
        """Let the thread finish what is queued, close, and end. It does not wait; a second call changes nothing."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def join(self) -> None:
        """Wait for the thread's last instructions, once ``stopped`` was delivered."""
        self._thread.join()

    # -- on the thread ------------------------------------------------------------------------------------------------

    def _live(self) -> None:
        try:
            opened = self._connect()
        except BaseException as error:  # the thread's outermost edge: whoever waits for the opening gets it
            self._give_up([self._opened], error)
        else:
            self._deliver([(self._opened, Done(opened.notices))])
            self._work(opened.connection)
            with contextlib.suppress(sqlite3.Error):  # nothing is left to lose, and somebody waits for the end
                opened.connection.close()
        self._deliver([(self._stopped, Done(None))])

    def _work(self, connection: sqlite3.Connection) -> None:
        while batch := self._next_batch():
            tickets = [ticket for ticket, _ in batch]
            try:
                outcomes = run_batch(connection, [work for _, work in batch], self._path)
            except BaseException as error:  # the connection cannot even roll back: nobody may wait for it any more
                self._give_up(tickets, error)
                return
            self._deliver(list(zip(tickets, outcomes, strict=True)))

    def _next_batch(self) -> list[tuple[F, Work]]:
        """What is queued, at most :data:`BATCH`; empty when stopped and drained."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._stopping)
            return [self._queue.popleft() for _ in range(min(len(self._queue), BATCH))]

    def _give_up(self, tickets: Sequence[F], error: BaseException) -> None:
        """Take nothing more; tell ``tickets`` why, and those behind them that it is closed."""
        with self._changed:
            self._stopping = True
            refused = [ticket for ticket, _ in self._queue]
            self._queue.clear()
        problem = explain(error, self._path) if isinstance(error, sqlite3.Error) else error
        self._deliver(
            [(ticket, Failed(problem)) for ticket in tickets]
            + [(ticket, Failed(closed(self._path))) for ticket in refused]
        )


def closed(path: Path) -> Closed:
    return Closed(f"the database {path} is not open", file=str(path))
