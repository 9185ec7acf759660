"""The one place where a database file is opened, and every setting that its promise rests on.

For writing: private file, write-ahead log, full synchronisation, migrations, foreign keys, in this order. For reading:
no setting, no migration, and where the last writer closed properly not even the ``-wal`` and ``-shm`` files that
SQLite makes for its readers.
"""

from __future__ import annotations

import shlex
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from canon_ops.durable.notices import Notice, notices_for
from canon_ops.durable.place import check_file, companions, prepare, sync_names
from canon_ops.durable.problems import Damaged, NoSharedMemory, explain, is_contention
from canon_ops.durable.schema import Schema, check_current, migrate, one_view
from canon_ops.runtime.clock import Clock, SystemClock

__all__ = ["WRITER_BUSY_S", "Opened", "is_resting", "open_for_reading", "open_for_writing", "waiting_for_others"]

T = TypeVar("T")

WRITER_BUSY_S = 5.0
WAL_KEPT_BYTES = 8 << 20  # what a burst may leave behind as the log's size

SETTINGS = (
    "PRAGMA synchronous = FULL",  # an acknowledged write survives a power cut, not only a crash
    "PRAGMA fullfsync = ON",  # macOS: through the drive's own cache; elsewhere without effect
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",  # messages do not spill into a shared folder of temporary files
    f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}",
)


@dataclass(frozen=True, slots=True)
class Opened:
    """An open connection and what is worth saying about its file."""

    connection: sqlite3.Connection
    notices: tuple[Notice, ...]


def open_for_writing(
    path: Path,
    schema: Schema,
    *,
    busy_s: float = WRITER_BUSY_S,
    clock: Clock | None = None,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
) -> Opened:
    """Open ``path``, creating and migrating it as needed. The connection belongs to the calling thread.

    Args:
        busy_s: how long to wait for another process at any one point; then :class:`Busy`.
        clock: for the time at which a migration was applied.

    Raises:
        DurableError: one of the kinds in :mod:`canon_ops.durable.problems`; nothing is left open.
    """
    clock = clock or SystemClock()
    prepare(path)
    was_torn_off = _has_log(path)
    connection = _connect(path, "mode=rw", busy_s, factory)
    with _closed_on_error(connection, path):
        waiting_for_others(lambda: _enter_wal(connection, path), busy_s, clock)
        for setting in SETTINGS:
            connection.execute(setting)
        if was_torn_off:
            _look_for_damage(connection, path)
        waiting_for_others(lambda: migrate(connection, schema, path, now_ms=clock.now_ms), busy_s, clock)
        connection.execute("PRAGMA foreign_keys = ON")
        sync_names(path)  # the log is there by now; SQLite synchronises its name too, but takes no notice of a failure
        return Opened(connection, notices_for(path))


def open_for_reading(
    path: Path,
    schema: Schema,
    *,
    busy_s: float,
    resting: bool,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
) -> sqlite3.Connection:
    """Open ``path`` so that nothing is written: no file is made, none migrated, no log moved into the database.

    Args:
        resting: no process has the file open: read it without locks and without its log. See :func:`is_resting`.

    Raises:
        DurableError: among them NoDatabase and OlderSchema.
    """
    check_file(path)
    connection = _connect(path, "mode=ro&immutable=1" if resting else "mode=ro", busy_s, factory)
    with _closed_on_error(connection, path):
        connection.execute("PRAGMA query_only = ON")
        with one_view(connection) as snapshot:
            check_current(snapshot, schema, path)
        return connection


def is_resting(path: Path) -> bool:
    """Whether the last writer closed the file and none has opened it since: there is no log beside it."""
    log, _, journal = companions(path)
    return not (log.exists() or journal.exists())


def waiting_for_others(step: Callable[[], T], busy_s: float, clock: Clock) -> T:
    """Do ``step`` again while another process is in the way, for ``busy_s`` and the length of one more attempt.

    SQLite itself waits only where waiting cannot deadlock; switching a file to its log is not such a place.
    """
    deadline_s = clock.monotonic_s() + busy_s
    for pause_s in pauses(busy_s):
        try:
            return step()
        except sqlite3.Error as error:
            if not is_contention(error) or clock.monotonic_s() >= deadline_s:
                raise
        time.sleep(pause_s)
    return step()


def pauses(total_s: float) -> Iterator[float]:
    """Pauses of 10 ms and more that add up to ``total_s``."""
    pause_s, left_s = 0.01, total_s
    while left_s > 0:
        yield min(pause_s, left_s)
        left_s -= pause_s
        pause_s = min(0.1, pause_s * 1.5)


def _connect(
    path: Path, query: str, busy_s: float, factory: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{query}",
            uri=True,
            timeout=busy_s,
            isolation_level=None,  # we say BEGIN ourselves
            cached_statements=256,
            factory=factory,
        )
    except sqlite3.Error as error:
        raise explain(error, path) from error
    connection.row_factory = sqlite3.Row
    return connection


@contextmanager
def _closed_on_error(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    except BaseException:
        connection.close()
        raise


def _enter_wal(connection: sqlite3.Connection, path: Path) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise NoSharedMemory(
            f"SQLite cannot keep a write-ahead log beside {path} (it offers {mode!r})",
            fix="move the Hermes home to a local disk",
            file=str(path),
        )


def _has_log(path: Path) -> bool:
    log, *_ = companions(path)
    try:
        return log.stat().st_size > 0
    except OSError:
        return False


def _look_for_damage(connection: sqlite3.Connection, path: Path) -> None:
    """After an unclean end, or beside another process: read every page once before anything is built on it."""
    first = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if first != "ok":
        raise Damaged(
            f"{path} is damaged: {first}",
            fix=f"sqlite3 {shlex.quote(str(path))} .recover > recovered.sql",
            file=str(path),
        )
