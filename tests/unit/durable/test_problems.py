"""SQLite's and the system's errors become one typed sentence with a cure."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from canon_ops.durable import problems, write_once
from canon_ops.durable.batch import Done, Failed, Outcome, Writing, run_batch
from canon_ops.durable.opening import open_for_writing, pauses
from canon_ops.durable.problems import DiskFull, DurableError, StatementRefused, explain
from canon_ops.errors import CanonOpsError, ConflictError, InternalError, NotFoundError, OutsideError, RefusedError
from tests.support import letters

LEAVES = (ConflictError, InternalError, NotFoundError, OutsideError, RefusedError)
KINDS = [
    each
    for name in problems.__all__
    if isinstance(each := getattr(problems, name), type) and issubclass(each, DurableError) and each is not DurableError
]


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "SQLITE_SO_AND_SO"
    return error


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_says_who_has_to_act(kind: type[DurableError]) -> None:
    """Each is a leaf of the project's tree too, has a code of its own, and stands in the module's drawing."""
    assert issubclass(kind, LEAVES) and issubclass(kind, CanonOpsError)
    assert [other for other in KINDS if other.code == kind.code] == [kind]
    assert kind.__name__ in (problems.__doc__ or "")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (sqlite_error(sqlite3.SQLITE_BUSY), problems.Busy),
        (sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), problems.Busy),
        (sqlite_error(sqlite3.SQLITE_FULL), problems.DiskFull),
        (sqlite_error(sqlite3.SQLITE_IOERR_SHMSIZE), problems.DiskFull),
        (sqlite_error(sqlite3.SQLITE_IOERR_FSYNC), problems.DiskFailed),
        (sqlite_error(sqlite3.SQLITE_READONLY_DIRECTORY), problems.NotWritable),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN), problems.NotWritable),
        (sqlite_error(sqlite3.SQLITE_CORRUPT_VTAB), problems.Damaged),
        (sqlite_error(sqlite3.SQLITE_NOTADB), problems.Damaged),
        (sqlite_error(sqlite3.SQLITE_PROTOCOL), problems.NoSharedMemory),
        (sqlite_error(sqlite3.SQLITE_CONSTRAINT_UNIQUE), problems.StatementRefused),
        (sqlite3.ProgrammingError("Incorrect number of bindings"), problems.StatementRefused),
        (OSError(errno.ENOSPC, "No space left"), problems.DiskFull),
        (OSError(errno.EDQUOT, "Quota"), problems.DiskFull),
        (OSError(errno.EROFS, "Read-only"), problems.NotWritable),
        (OSError(errno.EACCES, "Denied"), problems.NotWritable),
        (OSError(errno.EIO, "I/O error"), problems.DiskFailed),
    ],
    ids=lambda value: getattr(value, "__name__", str(getattr(value, "sqlite_errorcode", value))),
)
def test_errors_are_sorted_by_who_can_mend_them(
    tmp_path: Path, error: sqlite3.Error | OSError, kind: type[DurableError]
) -> None:
    """The sentence names the file, the cause is attached, the fix is fit for a shell."""
    path = tmp_path / "a folder" / "db"

    problem = explain(error, path)

    assert type(problem) is kind
    assert str(path) in problem.what and problem.file == str(path)
    assert problem.__cause__ is error
    assert problem.fix is None or str(path.parent) not in problem.fix or f"'{path.parent}" in problem.fix


def test_pauses_grow_and_end_with_the_time_given() -> None:
    """No wait is longer than asked for, and none is forgotten."""
    assert sum(pauses(5.0)) == pytest.approx(5.0)
    assert max(pauses(5.0)) <= 0.1
    assert list(pauses(0.0)) == []


# -- a disk that is really full ---------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 KB."""
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=300k,mode=0700", "tmpfs", str(tmp_path)],
            capture_output=True,
            check=False,
        ).returncode
    )
    if not mounted:
        pytest.skip("needs the right to mount")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def letter(serial: int, size: int) -> Writing:
    return Writing(lambda transaction: letters.post(transaction, "ada", serial, ["x" * size]))


def test_a_full_disk_is_named_and_what_was_stored_stays(small_disk: Path) -> None:
    """Letters are stored until there is no room; the one too many is refused; after tidying up it is stored."""
    path = small_disk / "state" / "db"
    ballast = small_disk / "ballast"
    write_once(path, letters.SCHEMA, letters.post, "ada", 0, ["one"])
    ballast.write_bytes(b"x" * 100_000)

    with closing(open_for_writing(path, letters.SCHEMA).connection) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        serial = 0
        outcome: Outcome = Done(None)
        while isinstance(outcome, Done):
            serial += 1
            (outcome,) = run_batch(connection, [letter(serial, 3000)], path)
        assert isinstance(outcome, Failed) and isinstance(outcome.error, DiskFull)
        assert serial > 3
        assert outcome.error.retryable and outcome.error.fix == f"df -h {path.parent}"
        ballast.unlink()

        (again,) = run_batch(connection, [letter(serial, 3000)], path)

        assert isinstance(again, Done)
        numbers = [row[0] for row in connection.execute("SELECT serial FROM letters ORDER BY serial")]
        assert numbers == list(range(serial + 1))


def test_a_letter_too_large_for_the_disk_does_not_take_its_neighbours_along(small_disk: Path) -> None:
    """SQLite ends the shared transaction over the large one; the small ones are stored all the same."""
    path = small_disk / "state" / "db"

    with closing(open_for_writing(path, letters.SCHEMA).connection) as connection:
        work = [letter(serial, 500_000 if serial == 3 else 10) for serial in range(8)]
        outcomes = run_batch(connection, work, path)

    assert [type(outcome) for outcome in outcomes] == [Done] * 3 + [Failed] + [Done] * 4
    assert isinstance(outcomes[3], Failed) and isinstance(outcomes[3].error, DiskFull)


def test_a_statement_of_ours_is_our_fault(path: Path) -> None:
    """SQL that SQLite cannot read is an internal error with SQLite's words."""
    with pytest.raises(StatementRefused, match="no such table: nowhere"):
        write_once(path, letters.SCHEMA, lambda transaction: transaction.run("DELETE FROM nowhere"))
