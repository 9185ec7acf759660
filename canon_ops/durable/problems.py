"""What can go wrong with a database file, one class for each party that has to act.

::

    DurableError                       every error of this room is one, beside its leaf of the project's tree
    ├── the machine (OutsideError)
    │   ├── DiskFull                   retryable: nothing was stored, nothing is broken
    │   ├── NotWritable                a read-only file system, or a mode that forbids it
    │   ├── DiskFailed                 input/output error
    │   ├── Damaged                    not a database, or one with broken pages
    │   └── NoSharedMemory             the file system cannot carry a write-ahead log
    ├── somebody else (ConflictError)
    │   └── Busy                       another process kept the file for the whole time given; retryable
    ├── the operator (RefusedError, NotFoundError)
    │   ├── UnsafeFile                 a link, a foreign owner, a mode that lets others in
    │   ├── NewerSchema, OlderSchema   written by another version of canon-ops
    │   ├── ForeignFile                a database of something else
    │   ├── SqliteTooOld               this Python's SQLite lacks what a step needs
    │   └── NoDatabase                 asked to read a file that is not there
    └── us (InternalError)
        ├── Closed                     used after close, or before open
        ├── StatementRefused           a broken constraint, SQL that SQLite cannot read, a read that writes
        └── MigrationFailed            the file is as it was before that step

SQLite's and the operating system's own exceptions end in :func:`explain`; nobody outside this room sees them.
"""

from __future__ import annotations

import errno
import os
import shlex
import sqlite3
from pathlib import Path
from typing import ClassVar

from canon_ops.durable.writer import writing_process
from canon_ops.errors import CanonOpsError, ConflictError, InternalError, NotFoundError, OutsideError, RefusedError

__all__ = [
    "Busy",
    "Closed",
    "Damaged",
    "DiskFailed",
    "DiskFull",
    "DurableError",
    "ForeignFile",
    "MigrationFailed",
    "NewerSchema",
    "NoDatabase",
    "NoSharedMemory",
    "NotWritable",
    "OlderSchema",
    "SqliteTooOld",
    "StatementRefused",
    "UnsafeFile",
    "explain",
    "is_contention",
]


class DurableError(CanonOpsError):
    """Any trouble with a database file."""

    code: ClassVar[str] = "durable"


class DiskFull(DurableError, OutsideError):
    """No room for the write. What was stored before is safe; the write did not happen."""

    code: ClassVar[str] = "database_disk_full"
    retryable: ClassVar[bool] = True


class NotWritable(DurableError, OutsideError):
    """The file or its folder cannot be written or opened by this process."""

    code: ClassVar[str] = "database_not_writable"


class DiskFailed(DurableError, OutsideError):
    """The disk reports an error. The write is not acknowledged; it may turn up after a crash."""

    code: ClassVar[str] = "database_disk_failed"


class Damaged(DurableError, OutsideError):
    """The file is no SQLite database, or its pages contradict each other. It is left exactly as it is."""

    code: ClassVar[str] = "database_damaged"


class NoSharedMemory(DurableError, OutsideError):
    """The file system has no shared memory or no working locks, so a write-ahead log cannot live there."""

    code: ClassVar[str] = "database_no_wal"


class Busy(DurableError, ConflictError):
    """Another process held the write lock for the whole time given; nothing happened."""

    code: ClassVar[str] = "database_busy"


class UnsafeFile(DurableError, RefusedError):
    """The file could be read or replaced by somebody else, so nothing is entrusted to it."""

    code: ClassVar[str] = "database_unsafe"


class NewerSchema(DurableError, RefusedError):
    """A later version of canon-ops wrote the file; an older one must not guess what it means."""

    code: ClassVar[str] = "database_newer"


class OlderSchema(DurableError, RefusedError):
    """The file still has to be migrated, and a reader does not write."""

    code: ClassVar[str] = "database_older"


class ForeignFile(DurableError, RefusedError):
    """The file holds a database of another kind."""

    code: ClassVar[str] = "database_foreign"


class SqliteTooOld(DurableError, RefusedError):
    """The SQLite that this Python was built with lacks something that this file needs."""

    code: ClassVar[str] = "sqlite_too_old"


class NoDatabase(DurableError, NotFoundError):
    """There is no such file; a reader makes none."""

    code: ClassVar[str] = "database_missing"


class Closed(DurableError, InternalError):
    """The database is not open: not yet, or not any more."""

    code: ClassVar[str] = "database_closed"


class StatementRefused(DurableError, InternalError):
    """SQLite, or this room, did not accept a statement: a fault of the code that wrote it."""

    code: ClassVar[str] = "statement_refused"


class MigrationFailed(DurableError, InternalError):
    """A migration broke off; its transaction was rolled back."""

    code: ClassVar[str] = "migration_failed"


# -- translation ------------------------------------------------------------------------------------------------------

BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

# SQLite's primary result codes. {path} and {folder} are quoted for a shell in fixes, plain in sentences.
_BY_RESULT: dict[int, tuple[type[DurableError], str, str | None]] = {
    sqlite3.SQLITE_BUSY: (Busy, "{writer} is writing {path} and did not finish in time", "lsof {path}"),
    sqlite3.SQLITE_LOCKED: (Busy, "{writer} is writing {path} and did not finish in time", "lsof {path}"),
    sqlite3.SQLITE_FULL: (DiskFull, "the disk that holds {path} is full; nothing was stored", "df -h {folder}"),
    sqlite3.SQLITE_READONLY: (NotWritable, "{path} cannot be written", "ls -ld {folder} {path}"),
    sqlite3.SQLITE_PERM: (NotWritable, "{path} may not be opened by this user", "ls -ld {folder} {path}"),
    sqlite3.SQLITE_CANTOPEN: (NotWritable, "{path}, or a file beside it, cannot be opened", "ls -la {folder}"),
    sqlite3.SQLITE_IOERR: (DiskFailed, "the disk that holds {path} reports an error ({name})", "dmesg | tail"),
    sqlite3.SQLITE_CORRUPT: (Damaged, "{path} is damaged: {text}", "sqlite3 {path} .recover > recovered.sql"),
    sqlite3.SQLITE_NOTADB: (Damaged, "{path} is not an SQLite database", "file {path}"),
    sqlite3.SQLITE_PROTOCOL: (NoSharedMemory, "file locks do not work where {path} lies", "df -T {folder}"),
}

_BY_ERRNO: dict[int, tuple[type[DurableError], str, str | None]] = {
    errno.ENOSPC: (DiskFull, "the disk that holds {path} is full", "df -h {folder}"),
    errno.EDQUOT: (DiskFull, "the quota of the disk that holds {path} is used up", "quota -s"),
    errno.EROFS: (NotWritable, "{path} lies on a read-only file system", "mount | grep -w ro"),
    errno.EACCES: (NotWritable, "{path} may not be written by this user", "ls -ld {folder} {path}"),
    errno.EPERM: (NotWritable, "{path} may not be written by this user", "ls -ld {folder} {path}"),
    errno.EEXIST: (NotWritable, "a part of {path} is a file where a folder is needed", "ls -ld {folder}"),
    errno.ENOTDIR: (NotWritable, "a part of {path} is a file where a folder is needed", "ls -ld {folder}"),
}


def is_contention(error: sqlite3.Error) -> bool:
    """Whether another process is in the way, so that waiting helps."""
    return result_of(error) in BUSY_CODES


def result_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for an error of Python's wrapper."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def explain(error: sqlite3.Error | OSError, path: Path) -> DurableError:
    """Turn an error about the database ``path`` into one sentence with its cure; the cause is attached."""
    if isinstance(error, OSError):
        row = _BY_ERRNO.get(error.errno or 0, (DiskFailed, "{path} cannot be used: {text}", None))
        text = error.strerror or str(error)
    else:
        result = result_of(error)
        if result == sqlite3.SQLITE_IOERR and (_is_full(path.parent) or _is_index_growth(error)):
            result = sqlite3.SQLITE_FULL
        if not result and str(error).startswith("Could not decode to UTF-8"):  # Python's wrapper says it, not SQLite
            result = sqlite3.SQLITE_CORRUPT
        row = _BY_RESULT.get(result, (StatementRefused, "a statement on {path} was refused: {text}", None))
        text = str(error)
    kind, what, fix = row
    name = getattr(error, "sqlite_errorname", "")
    problem = kind(
        what.format(path=path, text=text, name=name, writer=_writer(path) if kind is Busy else ""),
        fix=fix and fix.format(path=shlex.quote(str(path)), folder=shlex.quote(str(path.parent))),
        file=str(path),
    )
    problem.__cause__ = error
    return problem


def _writer(path: Path) -> str:
    process = writing_process(path)
    return f"process {process}" if process else "another process"


def _is_index_growth(error: sqlite3.Error) -> bool:
    """Whether the log's index could not grow: in practice a full disk, although SQLite calls it an I/O error."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHMSIZE


def _is_full(folder: Path) -> bool:
    """Whether the disk has no block left: some file systems notice it only when they synchronise."""
    try:
        return os.statvfs(folder).f_bavail == 0
    except OSError:
        return False
