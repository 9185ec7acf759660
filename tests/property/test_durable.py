"""Group commit is invisible: sharing a transaction changes nobody's result, whatever the neighbours do."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from canon_ops.durable import Database, Snapshot, Transaction, read_once
from canon_ops.durable.batch import Done, Failed, Outcome, Reading, Work, Writing, run_batch
from canon_ops.durable.opening import open_for_writing
from canon_ops.durable.problems import Closed, NotWritable, StatementRefused, explain
from tests.support import letters

Kind = tuple[str, int]
SERIALS = st.integers(0, 5)
KINDS = st.tuples(
    st.sampled_from(
        [
            "post",
            "post blindly",
            "post and fail",
            "dangle",
            "large",
            "claim",
            "look",
            "write by look",
            "end it",
            "catch",
        ]
    ),
    SERIALS,
)


def work_of(kind: Kind) -> Work:
    """What a caller might hand in: proper work, and each way of going wrong that we know."""
    name, serial = kind

    def post_blindly(transaction: Transaction) -> Any:
        return transaction.run(
            "INSERT INTO letters (writer, serial, length, state) VALUES ('a', ?, 0, 'waiting')", (serial,)
        )

    def post_and_fail(transaction: Transaction) -> Any:
        letters.post(transaction, "a", serial, ["x"])
        raise ValueError(serial)

    def dangle(transaction: Transaction) -> Any:
        return transaction.run("INSERT INTO pages (letter, place, body) VALUES (999, ?, '')", (serial,))

    def catch(transaction: Transaction) -> Any:
        """A function that lives with its refusal and goes on."""
        try:
            post_blindly(transaction)
        except sqlite3.IntegrityError:
            return "there already"
        return "new"

    def look(snapshot: Snapshot) -> Any:
        return sorted(letters.posted(snapshot)), letters.half_letters(snapshot)

    kinds: dict[str, Work] = {
        "post": Writing(lambda it: letters.post(it, "a", serial, ["x", "y"])),
        "post blindly": Writing(post_blindly),
        "post and fail": Writing(post_and_fail),
        "dangle": Writing(dangle),
        "large": Writing(lambda it: letters.post(it, "a", serial, ["x" * 1_000_000])),
        "claim": Writing(lambda it: letters.claim(it, f"t{serial}")),
        "look": Reading(look),
        "write by look": Reading(lambda it: it.all("DELETE FROM letters")),
        "end it": Writing(lambda it: it.run("COMMIT")),
        "catch": Writing(catch),
    }
    return kinds[name]


@functools.cache
def empty_post_office() -> bytes:
    """A file with all migrations, so that an example need not run them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state" / "db"
        open_for_writing(path, letters.SCHEMA).connection.close()
        return path.read_bytes()


def by_hand(connection: sqlite3.Connection, work: Work, path: Path) -> Outcome:
    """What one caller alone may expect, written as one would write it without this room."""
    connection.execute(f"PRAGMA query_only = {'ON' if isinstance(work, Reading) else 'OFF'}")
    connection.execute("BEGIN")
    try:
        value = work.function(Transaction(connection))
        connection.execute("COMMIT")
        return Done(value)
    except Exception as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return Failed(explain(error, path) if isinstance(error, sqlite3.Error) else error)
    finally:
        connection.execute("PRAGMA query_only = OFF")


def run(folder: Path, work: Sequence[Work], size: int) -> tuple[list[Outcome], list[tuple[Any, ...]]]:
    """Carry out ``work`` on a small disk, by hand or in batches of ``size``; return the outcomes and all rows."""
    path = folder / str(size) / "db"
    path.parent.mkdir(mode=0o700)
    path.touch(mode=0o600)
    path.write_bytes(empty_post_office())
    with closing(open_for_writing(path, letters.SCHEMA).connection) as connection:
        connection.execute("PRAGMA max_page_count = 200")
        connection.execute("PRAGMA synchronous = OFF")
        outcomes = [
            outcome
            for start in range(0, len(work), max(1, size))
            for outcome in (
                run_batch(connection, work[start : start + size], path)
                if size
                else [by_hand(connection, work[start], path)]
            )
        ]
        rows = [
            tuple(row) for row in connection.execute("SELECT writer, serial, state, token FROM letters ORDER BY number")
        ]
        rows += [tuple(row) for row in connection.execute("SELECT count(*), sum(length(body)) FROM pages")]
    return outcomes, rows


def told(outcome: Outcome) -> tuple[object, ...]:
    """An outcome without what may differ: row numbers that a rolled back insert has used up, and the file's path."""
    if isinstance(outcome, Done):
        value = outcome.value
        return ("done", None if isinstance(value, int | letters.Letter) else value)
    reader_wrote = isinstance(outcome.error, NotWritable)
    return ("failed", StatementRefused if reader_wrote else type(outcome.error))


@settings(max_examples=100, deadline=None)
@given(kinds=st.lists(KINDS, max_size=12), size=st.integers(1, 12))
def test_sharing_a_commit_changes_no_result(kinds: list[Kind], size: int) -> None:
    """Any work in batches has the outcomes and leaves the rows that it has by hand, one by one."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        work = [work_of(kind) for kind in kinds]

        alone, rows_alone = run(Path(folder), work, 0)
        shared, rows_shared = run(Path(folder), work, size)

    assert list(map(told, shared)) == list(map(told, alone))
    assert rows_shared == rows_alone


STEPS = st.lists(st.sampled_from(["write", "fail", "read", "cancel", "pause", "close"]), max_size=25)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, capacity=st.sampled_from([1, 2, 100]))
def test_no_order_of_calls_and_cancellations_loses_a_letter(steps: list[str], capacity: int) -> None:
    """Told stored means stored, told failed means not; after the close there is no thread."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / "state" / "db"

        outcomes = asyncio.run(_live(path, steps, capacity))

        stored = {serial for _, serial in read_once(path, letters.SCHEMA, letters.posted)}
        assert read_once(path, letters.SCHEMA, letters.half_letters) == []
    for serial, outcome in outcomes.items():
        if outcome == "stored":
            assert serial in stored
        elif outcome in ("refused", "closed"):
            assert serial not in stored
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("durable")] == []


async def _live(path: Path, steps: Sequence[str], capacity: int) -> dict[int, str]:
    database = Database(path, letters.SCHEMA, capacity=capacity)
    await database.open()
    tasks: dict[int, asyncio.Task[Any]] = {}
    calls: dict[str, Callable[[int], Any]] = {
        "write": lambda serial: database.write(letters.post, "a", serial, ["x", "y"]),
        "fail": lambda serial: database.write(_post_and_fail, serial),
        "read": lambda serial: database.read(letters.posted),
        "close": lambda serial: database.close(),
    }
    for serial, step in enumerate(steps):
        if step == "cancel":
            for task in tasks.values():
                task.cancel()
        elif step == "pause":
            await asyncio.sleep(0)
        else:
            tasks[serial] = asyncio.create_task(calls[step](serial))
    results = await asyncio.gather(*tasks.values(), return_exceptions=True)
    await database.close()
    return {
        serial: _word(result)
        for (serial, result) in zip(tasks, results, strict=True)
        if steps[serial] in ("write", "fail")
    }


def _post_and_fail(transaction: Transaction, serial: int) -> None:
    letters.post(transaction, "a", serial, ["x"])
    raise ValueError(serial)


def _word(result: object) -> str:
    if isinstance(result, asyncio.CancelledError):
        return "cancelled"
    if isinstance(result, ValueError):
        return "refused"
    if isinstance(result, Closed):
        return "closed"
    assert isinstance(result, int), result
    return "stored"


def _memory() -> str | None:
    """Thousands of commits want no disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
