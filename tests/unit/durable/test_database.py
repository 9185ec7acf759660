"""The asynchronous front: group commit, results and errors of one's own, load, cancellation, the end."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_ops.durable import Database, Transaction
from canon_ops.durable.opening import Opened, open_for_writing
from canon_ops.durable.problems import Busy, Closed, NotWritable, StatementRefused
from tests.support import letters
from tests.support.letters import Letter, State


class Odd(Exception):
    """A refusal that a store's function raises."""


def fail(transaction: Transaction, serial: int) -> None:
    letters.post(transaction, "failing", serial, ["a"])
    raise Odd(serial)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Every test ends without a thread of a database."""
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("durable")] == []


class Commits(sqlite3.Connection):
    """A connection that counts its commits and can be held up: every COMMIT waits for ``free``."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.count = 0
        self.reached = threading.Event()
        self.free = threading.Event()
        self.free.set()

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            self.reached.set()
            assert self.free.wait(10)
            self.count += 1
        return super().execute(sql, *arguments)


class Counted:
    """A database whose connection is a :class:`Commits`."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.connection: Commits | None = None
        self.database = Database(path, letters.SCHEMA, connect=self._connect, **options)

    def _connect(self) -> Opened:
        opened = open_for_writing(self.path, letters.SCHEMA, factory=Commits)
        assert isinstance(opened.connection, Commits)
        self.connection = opened.connection
        return opened


# -- what a caller gets -----------------------------------------------------------------------------------------------


async def test_what_was_written_is_there_after_a_restart(path: Path) -> None:
    """A store writes, claims and settles; another process of the file's life finds it so."""
    async with Database(path, letters.SCHEMA) as database:
        for serial in range(3):
            assert await database.write(letters.post, "ada", serial, ["one", "two"]) == serial + 1
        first = await database.write(letters.claim, token="t")
        assert first == Letter(1, "ada", 0, State.WAITING)
        assert not await database.write(letters.send, 1, "another's token")
        assert await database.write(letters.send, 1, "t")

    async with Database(path, letters.SCHEMA) as database:
        left = await database.read(letters.waiting)

    assert left == [Letter(2, "ada", 1, State.WAITING), Letter(3, "ada", 2, State.WAITING)]


async def test_a_failing_writer_fails_alone(database: Database) -> None:
    """Writers that share a commit with a failing one are stored; it gets its own error and leaves nothing."""
    results = await asyncio.gather(
        *(database.write(fail if serial % 3 == 1 else post_one, serial) for serial in range(9)), return_exceptions=True
    )

    assert [type(result) for result in results] == [int, Odd, int] * 3
    assert [result.args for result in results if isinstance(result, Odd)] == [(1,), (4,), (7,)]
    assert await database.read(letters.posted) == {("writer", serial) for serial in (0, 2, 3, 5, 6, 8)}


def post_one(transaction: Transaction, serial: int) -> int | None:
    return letters.post(transaction, "writer", serial, ["a", "b"])


async def test_a_broken_constraint_is_the_writers_own_error(database: Database) -> None:
    """SQLite's refusal of one statement is translated and names the file; the neighbour is stored."""
    bad, good = await asyncio.gather(
        database.write(lambda transaction: transaction.run("INSERT INTO letters VALUES (1, 'a', 1, 1, 'lost', NULL)")),
        database.write(post_one, 1),
        return_exceptions=True,
    )

    assert isinstance(bad, StatementRefused)
    assert str(database.path) in bad.what and "CHECK constraint failed" in bad.what
    assert good == 1


async def test_a_constraint_that_only_the_commit_finds_hits_its_writer_alone(database: Database) -> None:
    """A dangling row fails the shared commit; the batch is tried again in parts, and each neighbour is stored once."""
    dangling = "INSERT INTO pages (letter, place, body) VALUES (999, 0, '')"

    results = await asyncio.gather(
        *(
            database.write(lambda transaction: transaction.run(dangling))
            if serial == 5
            else database.write(post_one, serial)
            for serial in range(9)
        ),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [int] * 5 + [StatementRefused] + [int] * 3
    assert await database.read(letters.posted) == {("writer", serial) for serial in range(9) if serial != 5}
    assert await database.read(letters.half_letters) == []


async def test_a_function_may_raise_anything(database: Database) -> None:
    """What no future can carry is turned into what it can, and the neighbours are answered."""

    def run_out(transaction: Transaction) -> None:
        next(iter(()))

    bad, good = await asyncio.gather(database.write(run_out), database.write(post_one, 1), return_exceptions=True)

    assert isinstance(bad, RuntimeError)
    assert good == 1


async def test_a_reader_sees_every_write_submitted_before_it(database: Database) -> None:
    """Calls are carried out in their order, also those of one batch."""
    _, before, _, after = await asyncio.gather(
        database.write(post_one, 1),
        database.read(letters.posted),
        database.write(post_one, 2),
        database.read(letters.posted),
    )

    assert before == {("writer", 1)}
    assert after == {("writer", 1), ("writer", 2)}


async def test_a_reader_cannot_write(database: Database) -> None:
    """A function given to read that changes something is refused, and its neighbours are served."""
    bad, good = await asyncio.gather(
        database.read(lambda snapshot: snapshot.all("DELETE FROM letters")),
        database.write(post_one, 1),
        return_exceptions=True,
    )

    assert isinstance(bad, StatementRefused)
    assert "has to be a writer" in bad.what
    assert good == 1


@pytest.mark.parametrize(
    "sql", ["COMMIT", " rollback to one_writer", "-- why\n/* not */ END", "BEGIN", "ATTACH 'x' AS y"]
)
async def test_a_function_cannot_touch_the_shared_transaction(database: Database, sql: str) -> None:
    """Statements that would reach into the neighbours' work are refused before SQLite sees them."""
    with pytest.raises(StatementRefused, match="the transaction is shared"):
        await database.write(lambda transaction: transaction.run(sql))

    assert await database.write(post_one, 1) == 1


# -- group commit -----------------------------------------------------------------------------------------------------


async def test_writers_of_one_moment_share_a_commit(path: Path) -> None:
    """A thousand concurrent writes are two transactions: the size of a batch is the only limit."""
    counted = Counted(path)
    async with counted.database as database:
        assert counted.connection is not None
        before = counted.connection.count

        await asyncio.gather(*(database.write(post_one, serial) for serial in range(1000)))

        assert counted.connection.count - before == 2
        assert len(await database.read(letters.posted)) == 1000


async def test_writers_of_one_turn_of_the_loop_share_a_commit_however_slow_it_is(path: Path) -> None:
    """The thread does not run ahead with the first of them while the others of that turn are still on their way."""
    counted = Counted(path)
    async with counted.database as database:
        assert counted.connection is not None
        before = counted.connection.count

        async def slow(serial: int) -> None:
            time.sleep(0.002)  # noqa: ASYNC251  # a busy loop: other threads run, this turn goes on
            await database.write(post_one, serial)

        await asyncio.gather(*(slow(serial) for serial in range(30)))

        assert counted.connection.count - before == 1


async def test_writers_gather_while_the_disk_is_busy(path: Path) -> None:
    """What arrives during a commit, from whichever turn of the loop, is one commit."""
    counted = Counted(path)
    async with counted.database as database:
        connection = counted.connection
        assert connection is not None
        connection.reached.clear()
        connection.free.clear()
        first = asyncio.create_task(database.write(post_one, 0))
        await asyncio.to_thread(connection.reached.wait, 10)
        rest = []
        for serial in range(1, 50):
            rest.append(asyncio.create_task(database.write(post_one, serial)))
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # the last one is sent off too
        before = connection.count
        connection.free.set()

        await asyncio.gather(first, *rest)

        assert connection.count - before == 2


async def test_nobody_is_told_before_the_commit(path: Path) -> None:
    """Neither a writer nor a reader behind it has its result while the disk still works."""
    counted = Counted(path)
    async with counted.database as database:
        connection = counted.connection
        assert connection is not None
        connection.reached.clear()
        connection.free.clear()
        calls = [asyncio.create_task(database.write(post_one, 1)), asyncio.create_task(database.read(letters.posted))]
        await asyncio.to_thread(connection.reached.wait, 10)
        for _ in range(10):
            await asyncio.sleep(0)

        assert not any(call.done() for call in calls)
        connection.free.set()
        assert await asyncio.gather(*calls) == [1, {("writer", 1)}]


async def test_callers_beyond_the_capacity_wait_in_line(path: Path) -> None:
    """A full queue refuses nobody: all are served, in order, and never more than the capacity are on their way."""
    async with Database(path, letters.SCHEMA, capacity=3) as database:
        numbers = await asyncio.gather(*(database.write(post_one, serial) for serial in range(20)))

    assert numbers == list(range(1, 21))


# -- cancellation -----------------------------------------------------------------------------------------------------


async def test_a_cancelled_caller_waits_for_what_it_submitted(database: Database) -> None:
    """I14: cancelled twice while its insert is held up, a caller is done only after the insert; the row is stored."""
    started, free = threading.Event(), threading.Event()

    def held_up(transaction: Transaction) -> None:
        started.set()
        assert free.wait(10)
        post_one(transaction, 1)

    caller = asyncio.create_task(database.write(held_up))
    await asyncio.to_thread(started.wait, 10)
    for _ in range(2):
        caller.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not caller.done()
    free.set()

    with pytest.raises(asyncio.CancelledError):
        await caller
    assert await database.read(letters.posted) == {("writer", 1)}


async def test_a_cancelled_callers_error_is_dropped(database: Database) -> None:
    """A caller that was cancelled hears of the cancellation, not of its function's failure."""
    caller = asyncio.create_task(database.write(fail, 1))
    await asyncio.sleep(0)
    caller.cancel()

    with pytest.raises(asyncio.CancelledError):
        await caller
    assert await database.read(letters.posted) == set()


async def test_a_caller_cancelled_in_line_leaves_at_once_with_nothing_done(path: Path) -> None:
    """Waiting for admission is not yet submitting."""
    free = threading.Event()
    async with Database(path, letters.SCHEMA, capacity=1) as database:
        holder = asyncio.create_task(database.write(lambda _: free.wait(10)))
        await asyncio.sleep(0)
        waiter = asyncio.create_task(database.write(post_one, 1))
        await asyncio.sleep(0)
        waiter.cancel()

        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert not holder.done()
        free.set()
        await holder
        assert await database.read(letters.posted) == set()


async def test_a_timeout_around_a_write_keeps_its_meaning(database: Database) -> None:
    """asyncio.timeout ends with TimeoutError, after the write was settled."""
    free = threading.Event()
    loop = asyncio.get_running_loop()

    def held_up(transaction: Transaction) -> None:
        loop.call_soon_threadsafe(loop.call_later, 0.05, free.set)
        assert free.wait(10)
        post_one(transaction, 1)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await database.write(held_up)

    assert free.is_set()
    assert await database.read(letters.posted) == {("writer", 1)}


# -- the beginning and the end ----------------------------------------------------------------------------------------


class HeldUp:
    """Opens a file, but not before it is allowed to; or closes it, likewise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reached = threading.Event()
        self.free = threading.Event()
        self.connections: list[sqlite3.Connection] = []

    def wait(self) -> None:
        self.reached.set()
        assert self.free.wait(10)

    def before(self) -> Opened:
        self.wait()
        return self.open(sqlite3.Connection)

    def after(self) -> Opened:
        opened = self.open(sqlite3.Connection)
        self.wait()
        return opened

    def slow_close(self, *, closed_first: bool) -> Opened:
        held_up = self

        class Slow(sqlite3.Connection):
            def close(self) -> None:
                if closed_first:
                    super().close()
                held_up.wait()
                super().close()

        return self.open(Slow)

    def open(self, factory: type[sqlite3.Connection]) -> Opened:
        opened = open_for_writing(self.path, letters.SCHEMA, factory=factory)
        self.connections.append(opened.connection)
        return opened

    def assert_all_are_closed(self) -> None:
        for connection in self.connections:
            # Even a use from another thread is refused for being closed first.
            with pytest.raises(sqlite3.ProgrammingError, match="closed"):
                connection.total_changes  # noqa: B018


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_cancelled_open_leaves_nothing(path: Path, when: str) -> None:
    """I15: cancelled while the file is being opened: no connection, no thread, closed for good; close is fine twice."""
    held_up = HeldUp(path)
    database = Database(path, letters.SCHEMA, connect=getattr(held_up, when))
    opening = asyncio.create_task(database.open())
    await asyncio.to_thread(held_up.reached.wait, 10)
    for _ in range(2):
        opening.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not opening.done()
    held_up.free.set()

    with pytest.raises(asyncio.CancelledError):
        await opening
    assert open_descriptors(path) == []
    await database.close()
    await database.close()
    with pytest.raises(Closed):
        await database.open()
    with pytest.raises(Closed):
        await database.write(post_one, 1)


@pytest.mark.parametrize("closed_first", [False, True], ids=["before", "after"])
async def test_a_cancelled_close_still_closes(path: Path, closed_first: bool) -> None:
    """I17: cancelled before or after the connection closes, close ends closed and then passes the cancellation."""
    held_up = HeldUp(path)
    database = Database(path, letters.SCHEMA, connect=functools.partial(held_up.slow_close, closed_first=closed_first))
    await database.open()
    await database.write(post_one, 1)
    closing = asyncio.create_task(database.close())
    await asyncio.to_thread(held_up.reached.wait, 10)
    closing.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not closing.done()
    held_up.free.set()

    with pytest.raises(asyncio.CancelledError):
        await closing
    assert open_descriptors(path) == []
    with pytest.raises(Closed):
        await database.read(letters.posted)


async def test_opens_and_closes_at_once_all_end(path: Path) -> None:
    """I16: two opens and a close at once, then more closes: all return, nothing is left."""
    database = Database(path, letters.SCHEMA)

    first = await asyncio.gather(database.open(), database.open(), database.close(), return_exceptions=True)
    await asyncio.gather(database.close(), database.close())
    await database.close()

    assert all(not isinstance(each, BaseException) or isinstance(each, Closed) for each in first)
    assert open_descriptors(path) == []


async def test_a_second_open_changes_nothing(database: Database) -> None:
    """Opening what is open says the same again."""
    assert await database.open() == await database.open()

    assert await database.write(post_one, 1) == 1


async def test_close_finishes_what_was_submitted(path: Path) -> None:
    """Calls before the close are carried out, calls after it are refused."""
    database = Database(path, letters.SCHEMA)
    await database.open()

    before = [asyncio.create_task(database.write(post_one, serial)) for serial in range(50)]
    closing = asyncio.create_task(database.close())
    await asyncio.sleep(0)
    with pytest.raises(Closed):
        await database.write(post_one, 99)
    await closing

    assert await asyncio.gather(*before) == list(range(1, 51))


async def test_a_database_that_was_never_opened_closes(path: Path) -> None:
    """Close before open: nothing is made, and it stays closed."""
    database = Database(path, letters.SCHEMA)

    with pytest.raises(Closed):
        await database.write(post_one, 1)
    await database.close()

    with pytest.raises(Closed):
        await database.open()
    assert open_descriptors(path) == []
    assert made(path) == []


async def test_an_open_that_fails_leaves_nothing(path: Path) -> None:
    """The reason is raised, the thread is gone, the object is closed."""
    path.parent.parent.mkdir(parents=True)
    path.parent.write_text("a file where the folder should be")
    database = Database(path, letters.SCHEMA)

    with pytest.raises(NotWritable, match="a file where a folder is needed"):
        await database.open()

    with pytest.raises(Closed):
        await database.open()


async def test_another_process_in_the_way_is_busy_and_nobody_is_half_served(path: Path) -> None:
    """While another process keeps the write lock, writers get Busy and write nothing, readers read on."""
    async with Database(path, letters.SCHEMA, busy_s=0.05) as database:
        await database.write(post_one, 0)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        blocked, seen, also_blocked = await asyncio.gather(
            database.write(post_one, 1),
            database.read(letters.posted),
            database.write(post_one, 2),
            return_exceptions=True,
        )
        other.execute("ROLLBACK")
        other.close()

        assert isinstance(blocked, Busy) and isinstance(also_blocked, Busy) and blocked.retryable
        assert blocked is not also_blocked
        assert seen == {("writer", 0)}
        assert await database.write(post_one, 1) == 2


async def test_the_connection_that_cannot_go_on_fails_everybody(path: Path) -> None:
    """When not even a rollback works, the waiting get the error and all later calls are refused."""

    works = True

    class Hopeless(sqlite3.Connection):
        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            if sql in ("COMMIT", "ROLLBACK") and not works:
                raise sqlite3.OperationalError("nothing works")
            return super().execute(sql, *arguments)

    database = Database(
        path, letters.SCHEMA, connect=functools.partial(open_for_writing, path, letters.SCHEMA, factory=Hopeless)
    )
    await database.open()
    works = False

    with pytest.raises(StatementRefused, match="nothing works"):
        await database.write(post_one, 1)
    with pytest.raises(Closed):
        await database.write(post_one, 2)
    await database.close()


async def test_another_event_loop_is_refused(database: Database) -> None:
    """A database belongs to the loop that opened it: a call from another one would never be answered."""

    def elsewhere() -> None:
        asyncio.run(database.write(post_one, 1))

    with pytest.raises(StatementRefused, match="another event loop"):
        await asyncio.to_thread(elsewhere)


async def test_a_connection_that_does_not_close_does_not_hold_up_the_end(path: Path) -> None:
    """Whatever SQLite says at the very end, the thread ends and the caller returns."""

    class Stubborn(sqlite3.Connection):
        def close(self) -> None:
            super().close()
            raise sqlite3.OperationalError("not now")

    database = Database(
        path, letters.SCHEMA, connect=functools.partial(open_for_writing, path, letters.SCHEMA, factory=Stubborn)
    )
    await database.open()

    await database.close()


def open_descriptors(path: Path) -> list[str]:
    """The open files of this process that belong to the database at ``path``."""
    found = []
    for each in Path("/proc/self/fd").glob("*"):
        try:
            target = str(each.readlink())
        except OSError:
            continue
        if target.startswith(str(path)):
            found.append(target)
    return found


def made(path: Path) -> list[str]:
    """What lies in the database's folder."""
    return sorted(each.name for each in path.parent.iterdir()) if path.parent.exists() else []
