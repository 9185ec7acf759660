"""One question, one change, from a command: beside a gateway, on a resting file, on one that was torn off."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from canon_ops.durable import Database, Snapshot, Transaction, read_once, write_once
from canon_ops.durable.batch import Failed, Writing, run_batch
from canon_ops.durable.examine import find_damage, read_pragmas
from canon_ops.durable.opening import open_for_writing, waiting_for_others
from canon_ops.durable.problems import Busy, Damaged, StatementRefused
from canon_ops.runtime.clock import SystemClock
from tests.support import letters


@pytest.fixture
def resting(path: Path) -> Path:
    """A file with one letter that nobody has open."""
    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])
    return path


def listing(path: Path) -> dict[str, tuple[int, int]]:
    """Name, size and time of everything in the database's folder."""
    return {each.name: (each.stat().st_size, each.stat().st_mtime_ns) for each in path.parent.iterdir()}


@contextmanager
def a_gateway(path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody who has the file open and wrote to it."""
    with closing(open_for_writing(path, letters.SCHEMA).connection) as connection:
        letters.post(Transaction(connection), "gateway", 1, ["one"])
        yield connection


def test_reading_a_resting_file_leaves_no_trace(resting: Path) -> None:
    """No log, no index, no changed time: not even what SQLite makes for its readers."""
    before = listing(resting)

    assert read_once(resting, letters.SCHEMA, letters.posted) == {("ada", 1)}

    assert listing(resting) == before
    assert list(before) == ["state.sqlite3"]


def test_reading_beside_a_gateway_sees_its_letters_and_changes_none_of_its_files(resting: Path) -> None:
    """BR-53: the log is read and neither moved into the database nor removed, also when the reader leaves last."""
    with a_gateway(resting):
        before = listing(resting)

        assert read_once(resting, letters.SCHEMA, letters.posted) == {("ada", 1), ("gateway", 1)}

        after = listing(resting)
        for name in ("state.sqlite3", "state.sqlite3-wal"):
            assert after[name] == before[name]


def test_a_reader_waits_for_nobody(resting: Path) -> None:
    """A write transaction that is open elsewhere does not hold a reader up; it sees what is committed."""
    with a_gateway(resting) as connection:
        connection.execute("BEGIN IMMEDIATE")
        letters.post(Transaction(connection), "gateway", 2, ["not yet"])

        assert read_once(resting, letters.SCHEMA, letters.posted) == {("ada", 1), ("gateway", 1)}


def test_a_torn_off_file_is_read_with_its_log(resting: Path, tmp_path: Path) -> None:
    """After a kill the log holds acknowledged letters; a reader has them without moving the log."""
    torn = tmp_path / "torn" / resting.name
    with a_gateway(resting):
        shutil.copytree(resting.parent, torn.parent)
    (torn.parent / (torn.name + "-shm")).unlink()
    before = listing(torn)

    assert read_once(torn, letters.SCHEMA, letters.posted) == {("ada", 1), ("gateway", 1)}

    assert {name: listing(torn)[name] for name in before} == before


ANOTHER_GATEWAY = """
import pathlib, sys
from canon_ops.durable.opening import open_for_writing, waiting_for_others
from canon_ops.durable.statements import Transaction
from canon_ops.runtime.clock import SystemClock
from tests.support import letters
connection = open_for_writing(pathlib.Path(sys.argv[1]), letters.SCHEMA).connection
letters.post(Transaction(connection), "another", 1, ["one"])
print("open", flush=True)
sys.stdin.read()
connection.close()
"""


@contextmanager
def another_process(path: Path) -> Iterator[None]:
    """A gateway in a process of its own, which has written one letter."""
    with subprocess.Popen(
        [sys.executable, "-c", ANOTHER_GATEWAY, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield
        finally:
            process.stdin.close()
            assert process.wait(30) == 0


def test_a_gateway_that_starts_during_a_reading_does_not_mislead_it(resting: Path) -> None:
    """The function is called again, with locks, when the file did not rest until the end."""
    calls = []

    with ExitStack() as gateways:

        def look(snapshot: Snapshot) -> set[tuple[str, int]]:
            calls.append(snapshot)
            if len(calls) == 1:
                gateways.enter_context(another_process(resting))
            return letters.posted(snapshot)

        assert read_once(resting, letters.SCHEMA, look) == {("ada", 1), ("another", 1)}

    assert len(calls) == 2


def test_a_gateway_that_came_and_went_during_a_reading_is_noticed(resting: Path) -> None:
    """Opened, written, moved into the database and closed again, all while somebody read the file as it lay."""
    calls = []

    def look(snapshot: Snapshot) -> set[tuple[str, int]]:
        calls.append(snapshot)
        if len(calls) == 1:
            with another_process(resting):
                pass
        return letters.posted(snapshot)

    assert read_once(resting, letters.SCHEMA, look) == {("ada", 1), ("another", 1)}

    assert len(calls) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks")
def test_a_readers_end_leaves_the_locks_of_its_process_alone(resting: Path) -> None:
    """BR-53: file locks belong to the process, and closing a file may drop them; SQLite sees to it that it does not."""
    with ExitStack() as gateways:
        locks: list[list[str]] = []

        def look(snapshot: Snapshot) -> set[tuple[str, int]]:
            if not locks:  # the file rests until now: this reading has no locks of its own
                connection = gateways.enter_context(a_gateway(resting))
                connection.execute("SELECT count(*) FROM letters").fetchone()
                locks.append(locks_on(resting))
            return letters.posted(snapshot)

        read_once(resting, letters.SCHEMA, look)

        assert locks[0]
        assert locks_on(resting) == locks[0]


def locks_on(path: Path) -> list[str]:
    """This process's locks on a file."""
    found = path.stat()
    inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return [" ".join(line[3:]) for line in lines if line[5] == inode and line[4] == str(os.getpid())]


@pytest.mark.parametrize("live", [False, True], ids=["resting", "beside a gateway"])
def test_a_reader_cannot_write(resting: Path, live: bool) -> None:
    """A store's function of the wrong kind is refused, not carried out."""

    def write(snapshot: Snapshot) -> object:
        return snapshot.all("DELETE FROM letters")

    with a_gateway(resting), pytest.raises(StatementRefused):
        read_once(resting, letters.SCHEMA, write)
    if not live:
        with pytest.raises(StatementRefused):
            read_once(resting, letters.SCHEMA, write)

    assert ("ada", 1) in read_once(resting, letters.SCHEMA, letters.posted)


async def test_a_command_writes_beside_a_gateway(resting: Path) -> None:
    """The operator's change and the gateway's letters are both there; each sees the other's."""
    async with Database(resting, letters.SCHEMA) as gateway:
        await gateway.write(letters.post, "gateway", 1, ["one"])

        number = await asyncio.to_thread(write_once, resting, letters.SCHEMA, letters.post, "operator", 1, ["two"])

        assert number == 3
        assert await gateway.read(letters.posted) == {("ada", 1), ("gateway", 1), ("operator", 1)}


def test_a_command_that_cannot_get_the_lock_says_so(resting: Path) -> None:
    """After the time given, exit code 5 and a sentence; nothing was changed."""
    with a_gateway(resting) as connection:
        connection.execute("BEGIN IMMEDIATE")

        with closing(open_for_writing(resting, letters.SCHEMA, busy_s=0.05).connection) as second:
            (outcome,) = run_batch(second, [Writing(lambda it: letters.post(it, "ada", 2, ["two"]))], resting)

    assert isinstance(outcome, Failed) and isinstance(outcome.error, Busy)
    assert outcome.error.exit_code == 5
    if sys.platform == "linux":
        assert outcome.error.what == f"process {os.getpid()} is writing {resting} and did not finish in time"


def test_a_file_that_another_process_keeps_to_itself_is_busy(resting: Path) -> None:
    """Not only the write lock may be taken: one that holds the whole file is waited for and named busy too."""
    with closing(sqlite3.connect(resting, isolation_level=None)) as hog:
        hog.execute("PRAGMA locking_mode = EXCLUSIVE")
        hog.execute("BEGIN EXCLUSIVE")

        with pytest.raises(Busy):
            open_for_writing(resting, letters.SCHEMA, busy_s=0.05)

        hog.execute("COMMIT")


def test_waiting_has_a_deadline_and_not_one_for_each_attempt() -> None:
    """BR-52: an attempt may itself wait for as long as was said; then there is at most one more."""
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    attempts = 0

    class Slow(SystemClock):
        def monotonic_s(self) -> float:
            return attempts * 5.0

    def locked() -> None:
        nonlocal attempts
        attempts += 1
        raise error

    with pytest.raises(sqlite3.OperationalError):
        waiting_for_others(locked, 5.0, Slow())

    assert attempts == 1


def test_a_failing_change_leaves_nothing(resting: Path) -> None:
    """The function's own refusal reaches the caller, and what it wrote before is taken back."""

    def refuse(transaction: Transaction) -> None:
        letters.post(transaction, "ada", 2, ["one"])
        raise LookupError("no such letter")

    with pytest.raises(LookupError):
        write_once(resting, letters.SCHEMA, refuse)

    assert read_once(resting, letters.SCHEMA, letters.posted) == {("ada", 1)}


# -- damage -----------------------------------------------------------------------------------------------------------


def test_what_is_no_database_is_named_and_left_alone(path: Path) -> None:
    """Neither reader nor writer touches a file that holds something else."""
    path.parent.mkdir(parents=True)
    path.write_bytes(b"receipts,2026\n" * 500)
    path.chmod(0o600)
    before = path.read_bytes()

    for call in (read_once, write_once):
        with pytest.raises(Damaged, match="is not an SQLite database"):
            call(path, letters.SCHEMA, letters.posted)

    assert path.read_bytes() == before


@pytest.fixture
def broken(path: Path) -> Path:
    """A file of many pages, one of which is garbage."""

    def fill(transaction: Transaction) -> None:
        for serial in range(200):
            letters.post(transaction, "ada", serial, ["x" * 400])

    write_once(path, letters.SCHEMA, fill)
    with path.open("r+b") as file:
        file.seek(4096 * 9)
        file.write(b"\x0d" + b"\xa5" * 2000)
    return path


def test_the_doctor_finds_broken_pages(broken: Path) -> None:
    """find_damage says what SQLite says, a sentence each."""
    sentences = read_once(broken, letters.SCHEMA, find_damage)

    assert sentences
    assert all(isinstance(sentence, str) and sentence for sentence in sentences)


def test_the_doctor_finds_dangling_rows(resting: Path) -> None:
    """Rows that point nowhere, which only another program can have left."""
    with closing(sqlite3.connect(resting)) as plain, plain:
        plain.execute("DELETE FROM letters")

    assert read_once(resting, letters.SCHEMA, find_damage) == ("row 1 of pages points to a missing row of letters",)


def test_a_whole_file_has_no_damage(resting: Path) -> None:
    """Nothing to say."""
    assert read_once(resting, letters.SCHEMA, find_damage) == ()


def test_an_unclean_end_is_followed_by_a_look_at_every_page(broken: Path, tmp_path: Path) -> None:
    """A file with a leftover log is read through before anything is built on it; a closed one opens at once."""
    whole = open_for_writing(broken, letters.SCHEMA).connection
    whole.execute("INSERT INTO schema_migrations VALUES (99, 'x', 0)")
    whole.execute("DELETE FROM schema_migrations WHERE number = 99")
    torn = tmp_path / "torn" / broken.name
    shutil.copytree(broken.parent, torn.parent)
    whole.close()

    with pytest.raises(Damaged, match="is damaged") as caught:
        open_for_writing(torn, letters.SCHEMA)

    assert caught.value.fix == f"sqlite3 {torn} .recover > recovered.sql"


def test_a_writer_that_meets_a_broken_page_is_told(broken: Path) -> None:
    """SQLite's word for it becomes ours."""
    with pytest.raises(Damaged):
        write_once(broken, letters.SCHEMA, lambda transaction: transaction.run("UPDATE pages SET body = 'y'"))


def test_the_settings_are_the_ones_that_durability_rests_on(path: Path) -> None:
    """I4: WAL, FULL, foreign keys, five seconds."""
    pragmas = write_once(path, letters.SCHEMA, read_pragmas)

    assert (pragmas.journal_mode, pragmas.synchronous, pragmas.foreign_keys, pragmas.busy_timeout_ms) == (
        "wal",
        2,
        True,
        5000,
    )
