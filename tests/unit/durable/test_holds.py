"""A file that this process has open is never read behind SQLite's back, since that would drop its locks."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from canon_ops.durable import Snapshot, read_once, write_once
from canon_ops.durable.holds import bare, hold, let_go
from canon_ops.durable.opening import open_for_writing
from canon_ops.durable.problems import StatementRefused
from tests.support import letters


def locks_on(path: Path) -> list[str]:
    """This process's locks on the database file."""
    found = path.stat()
    inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return [" ".join(line[3:]) for line in lines if line[5] == inode and line[4] == str(os.getpid())]


@pytest.fixture
def resting(path: Path) -> Path:
    write_once(path, letters.SCHEMA, letters.post, "ada", 1, ["one"])
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks")
def test_a_gateways_locks_outlive_every_reader_in_its_process(resting: Path) -> None:
    """BR-53: a reader that comes while a connection is open, also in the instant before its log exists."""
    with closing(open_for_writing(resting, letters.SCHEMA).connection) as connection:
        connection.execute("SELECT count(*) FROM letters").fetchone()
        before = locks_on(resting)
        assert before

        read_once(resting, letters.SCHEMA, letters.posted)
        with bare(resting) as is_free:
            assert not is_free

        assert locks_on(resting) == before


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks")
def test_a_gateway_that_starts_in_the_readers_process_waits_for_it(resting: Path) -> None:
    """Opened from another thread during a reading at rest, a connection comes after it and keeps its locks."""
    started, opened, done = threading.Event(), threading.Event(), threading.Event()
    locks: list[list[str]] = []

    def gateway() -> None:
        started.set()
        with closing(open_for_writing(resting, letters.SCHEMA).connection) as connection:
            connection.execute("SELECT count(*) FROM letters").fetchone()
            opened.set()
            assert done.wait(10)
            locks.append(locks_on(resting))

    thread = threading.Thread(target=gateway)

    def look(snapshot: Snapshot) -> set[tuple[str, int]]:
        thread.start()
        assert started.wait(10)
        assert not opened.wait(0.05)
        return letters.posted(snapshot)

    assert read_once(resting, letters.SCHEMA, look) == {("ada", 1)}
    done.set()
    thread.join()

    assert locks[0]


def test_a_reader_that_opens_its_own_file_for_writing_is_refused(resting: Path) -> None:
    """It would wait for itself."""

    def look(snapshot: Snapshot) -> object:
        return write_once(resting, letters.SCHEMA, letters.post, "ada", 2, ["two"])

    with pytest.raises(StatementRefused, match="opened it for writing"):
        read_once(resting, letters.SCHEMA, look)

    assert write_once(resting, letters.SCHEMA, letters.post, "ada", 2, ["two"]) == 2


def test_holds_are_counted_under_every_name_of_the_folder(resting: Path, tmp_path: Path) -> None:
    """Two connections, one of them by way of a link to the folder: free only when both are gone."""
    link = tmp_path / "link"
    link.symlink_to(resting.parent)
    first, second = hold(resting), hold(link / resting.name)

    let_go(first)
    with bare(resting) as is_free:
        assert not is_free
    let_go(second)

    with bare(resting) as is_free, bare(link / resting.name) as also_free:
        assert is_free and also_free


def test_a_failed_opening_holds_nothing(path: Path) -> None:
    """The hold ends with the connection, also when that never got far."""
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_bytes(b"no database, but long enough to be looked at" * 100)
    path.chmod(0o600)

    with pytest.raises(Exception, match="is not an SQLite database"):
        open_for_writing(path, letters.SCHEMA)

    with bare(path) as is_free:
        assert is_free
