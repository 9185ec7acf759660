"""The process that holds a write lock is found in the kernel's table."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from canon_ops.durable.opening import open_for_writing
from canon_ops.durable.writer import writing_process
from tests.support import letters


@pytest.fixture
def inode(path: Path) -> str:
    """The database's log index, made by hand, as the table names it."""
    path.parent.mkdir(parents=True)
    index = path.with_name(path.name + "-shm")
    index.write_bytes(b"")
    found = index.stat()
    return f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"


@pytest.mark.parametrize(
    ("line", "process"),
    [
        ("1: POSIX  ADVISORY  WRITE 4711 {inode} 120 120", 4711),
        ("1: POSIX  ADVISORY  WRITE 4711 {inode} 0 EOF", 4711),
        ("1: POSIX  ADVISORY  WRITE 4711 {inode} 121 127", None),
        ("1: POSIX  ADVISORY  READ 4711 {inode} 120 120", None),
        ("1: FLOCK  ADVISORY  WRITE 4711 {inode} 0 EOF", None),
        ("1: POSIX  ADVISORY  WRITE 4711 00:00:1 120 120", None),
        ("1: -> POSIX  ADVISORY  WRITE 4711 {inode} 120 120", None),
        ("1: POSIX  ADVISORY  WRITE 0 {inode} 120 120", None),
        ("", None),
        ("something else altogether", None),
    ],
)
def test_the_table_is_read_line_by_line(path: Path, inode: str, line: str, process: int | None) -> None:
    """Only a held write lock on SQLite's byte counts; a process outside our sight is 0."""
    assert writing_process(path, table=line.format(inode=inode)) == process


def test_without_a_log_nobody_writes(path: Path) -> None:
    """A file that rests has no index to lock."""
    assert writing_process(path) is None


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks")
def test_a_real_writer_is_found(path: Path) -> None:
    """SQLite's lock is where its documentation says."""
    with closing(open_for_writing(path, letters.SCHEMA).connection) as connection:
        assert writing_process(path) is None
        connection.execute("BEGIN IMMEDIATE")
        assert writing_process(path) == os.getpid()
        connection.execute("ROLLBACK")
        assert writing_process(path) is None
