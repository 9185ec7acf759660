"""The inbox on its file: opening, taking over older files, cancellation. Borgee 9.3."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from borgee_hermes.inbox import store
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.records import Outcome, Status
from borgee_hermes.inbox.schema import SCHEMA, inbox_schema
from canon_ops.durable import Database, DurableError, Transaction, write_once
from canon_ops.durable.examine import read_pragmas
from canon_ops.durable.opening import Opened, open_for_writing
from canon_ops.durable.problems import Closed, ForeignFile, SqliteTooOld, UnsafeFile
from canon_ops.runtime.clock import ManualClock
from tests.support.borgee_receipts import a_receipt, write_cursor_generation
from tests.support.databases import dump_schema


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def columns(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {row[1] for row in connection.execute("PRAGMA table_info(receipts)")}


async def test_the_file_is_private_and_its_settings_are_the_promised_ones(path: Path) -> None:
    """I4: folder 0700, file 0600, write-ahead log, full synchronisation, foreign keys, five seconds."""
    database = Database(path, SCHEMA)
    inbox = Inbox(path, database=database)
    await inbox.open()

    pragmas = await database.read(read_pragmas)
    await inbox.close()

    assert (mode(path.parent), mode(path)) == (0o700, 0o600)
    assert pragmas == type(pragmas)("wal", 2, True, 5000)


@pytest.mark.parametrize("kind", ["mode", "link"])
def test_an_unsafe_file_is_refused(path: Path, kind: str) -> None:
    """I5: a file that others may open, and a link to a good one."""
    write_once(path, SCHEMA, store.insert, a_receipt(), now_s=1.0)
    if kind == "mode":
        path.chmod(0o644)
    else:
        path.rename(path.with_name("real.sqlite3"))
        path.symlink_to("real.sqlite3")

    with pytest.raises(UnsafeFile, match="permissions" if kind == "mode" else "symbolic link"):
        write_once(path, SCHEMA, store.terminal_watermark)


async def test_a_file_of_the_cursor_generation_is_taken_over(path: Path) -> None:
    """I1: its row stays pending, its numbers go on, its cursors go; opening it again changes nothing."""
    write_cursor_generation(path)
    inbox = Inbox(path)
    await inbox.open()

    kept = await inbox.get(1)
    added = await inbox.insert(a_receipt("m-2"))
    await inbox.close()
    once = dump_schema(path)
    async with Database(path, SCHEMA):
        pass

    assert kept is not None
    assert (kept.status, kept.effective_body, added.receipt.ingest_seq) == (Status.PENDING, "hello", 2)
    assert "raw_cursor" not in columns(path)
    names = {name for name, _ in once}
    assert {"receipts_schedule", "metadata", "outbound_messages"} <= names
    assert not {"sdk_cursors", "receipts_raw_cursor_unique"} & names
    assert dump_schema(path) == once


@pytest.mark.parametrize("version", [(3, 34, 1), (3, 35, 4)])
def test_an_old_sqlite_cannot_take_it_over(path: Path, version: tuple[int, int, int]) -> None:
    """I2: the message names 3.35.5, and the file is as it was."""
    write_cursor_generation(path)
    before = dump_schema(path)

    with pytest.raises(SqliteTooOld, match=r"3\.35\.5"):
        write_once(path, inbox_schema(version), store.terminal_watermark)

    assert dump_schema(path) == before


def test_an_old_sqlite_is_enough_for_a_new_file(path: Path) -> None:
    """I3: nothing has to be dropped there."""
    assert write_once(path, inbox_schema((3, 34, 1)), store.terminal_watermark) == 0


def test_a_taken_over_file_has_the_columns_of_a_new_one(path: Path, tmp_path: Path) -> None:
    """Old and new files have the same columns and indexes, and every value of a receipt in either can be read."""
    new = tmp_path / "new" / "inbox.sqlite3"
    write_cursor_generation(path)
    for each in (path, new):
        write_once(each, SCHEMA, store.terminal_watermark)

    assert columns(path) == columns(new)
    assert [name for name, _ in dump_schema(path)] == [name for name, _ in dump_schema(new)]


def test_a_database_of_something_else_is_left_alone(path: Path) -> None:
    """A file with other tables is refused, not migrated."""
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE receipts (id INTEGER PRIMARY KEY)")

    with pytest.raises(ForeignFile):
        write_once(path, SCHEMA, store.terminal_watermark)


async def test_a_life_in_one_go(path: Path) -> None:
    """I13: a receipt goes through its states, and what was written is there after a restart."""
    clock = ManualClock(now_ms=1_700_000_000_000)
    inbox = Inbox(path, clock=clock)
    await inbox.open()
    inserted = await inbox.insert(a_receipt())
    claimed = await inbox.claim(1, "token")
    assert await inbox.finish(1, "token", Status.FAILED, Outcome.HERMES_FAILED, error="x")
    await inbox.record_outbound("m-9", "channel-1")
    await inbox.close()

    again = Inbox(path, clock=clock)
    await again.open()

    assert inserted.is_new and claimed is not None
    assert claimed.created_at == 1_700_000_000.0
    assert await again.open_receipts() == []
    assert await again.is_outbound("m-9") and not await again.is_outbound("m-10")
    assert await again.terminal_watermark() == 1
    assert await again.prune() == 0
    await again.close()


class Gate:
    """Holds the database's thread until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, *_: object) -> None:
        self.reached.set()
        assert self.opened.wait(10)


async def test_a_cancelled_insert_is_finished_first(path: Path) -> None:
    """I14: however often its caller is cancelled, the caller goes on only when the row is stored."""
    database = Database(path, SCHEMA)
    inbox = Inbox(path, database=database)
    await inbox.open()
    gate = Gate()

    def hold(transaction: Transaction) -> None:
        gate()

    holding = asyncio.create_task(database.write(hold))
    await asyncio.to_thread(gate.reached.wait, 10)
    inserting = asyncio.create_task(inbox.insert(a_receipt()))
    await asyncio.sleep(0)
    for _ in range(2):
        inserting.cancel()
        await asyncio.sleep(0)
    was_done = inserting.done()
    gate.opened.set()
    await holding

    with pytest.raises(asyncio.CancelledError):
        await inserting
    assert not was_done
    assert await inbox.get(1) is not None
    await inbox.close()


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_cancelled_opening_leaves_nothing(path: Path, moment: str) -> None:
    """I15: cancelled before or after the connection is made, thread and connection are gone, and it stays closed."""
    gate = Gate()
    made: list[Opened] = []

    def connect() -> Opened:
        if moment == "before":
            gate()
        made.append(open_for_writing(path, SCHEMA))
        if moment == "after":
            gate()
        return made[0]

    inbox = Inbox(path, database=Database(path, SCHEMA, connect=connect))
    opening = asyncio.create_task(inbox.open())
    await asyncio.to_thread(gate.reached.wait, 10)
    opening.cancel()
    await asyncio.sleep(0)
    gate.opened.set()

    with pytest.raises(asyncio.CancelledError):
        await opening
    assert not [each for each in threading.enumerate() if each.name == "durable inbox.sqlite3"]
    with pytest.raises(sqlite3.ProgrammingError):
        made[0].connection.execute("SELECT 1")
    await inbox.close()
    await inbox.close()
    with pytest.raises(Closed):
        await inbox.open()


async def test_opening_and_closing_at_once_ends_closed(path: Path) -> None:
    """I16: two opens and a close together, then closes together: all end, and it stays closed."""
    inbox = Inbox(path)

    results = await asyncio.gather(inbox.open(), inbox.open(), inbox.close(), return_exceptions=True)
    await asyncio.gather(inbox.close(), inbox.close())

    assert all(not isinstance(each, BaseException) or isinstance(each, DurableError) for each in results)
    with pytest.raises(Closed):
        await inbox.get(1)


async def test_a_cancelled_close_closes_all_the_same(path: Path) -> None:
    """I17: the caller is cancelled, and the file is closed."""
    database = Database(path, SCHEMA)
    inbox = Inbox(path, database=database)
    await inbox.open()
    gate = Gate()
    holding = asyncio.create_task(database.write(partial(Gate.__call__, gate)))
    await asyncio.to_thread(gate.reached.wait, 10)
    closing_ = asyncio.create_task(inbox.close())
    await asyncio.sleep(0)
    closing_.cancel()
    await asyncio.sleep(0)
    gate.opened.set()

    with pytest.raises(asyncio.CancelledError):
        await closing_
    await holding
    assert not [each for each in threading.enumerate() if each.name == "durable inbox.sqlite3"]
    with pytest.raises(Closed):
        await inbox.get(1)
