"""The log files of a gateway as records: a line that begins one, and the lines of a traceback that belong to it.

Hermes writes ``logs/gateway.log`` (what platforms do), ``logs/agent.log`` (everything) and ``logs/errors.log``
(warnings and worse) in the home, and starts each anew at 5 MiB, keeping the older text as ``<name>.1``. It has removed
what it knows to be secret; whoever shows the records still has to do so for what only we know.

:class:`LogReader` turns text into records and does no I/O; :func:`last_records` and :func:`follow` read files.
Source: Hermes host, 2.4; hermes_logging of the audited versions.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from canon_ops.files.atomic import NotAFile
from canon_ops.files.disk import explain

__all__ = ["LEVELS", "LOG_FILES", "LogReader", "LogRecord", "follow", "last_records", "log_file"]

LOG_FILES = ("gateway", "agent", "errors")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_HEAD = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3})?) (?P<level>[A-Z]+)(?: \[(?P<session>[^\]]*)\])? "
    r"(?P<logger>[^\s:]+): (?P<message>.*)"
)
_CHUNK_BYTES = 1 << 16
_MAX_BYTES = 16 << 20  # the newest of a file; the host starts a new one long before
_MAX_LINES = 2_000  # of one record: a traceback of that length tells nothing more


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record.

    Attributes:
        at: the host's local time, as it wrote it; empty for text that belongs to no record.
        level: one of :data:`LEVELS`, or empty likewise.
        session: the session that it is about; None for most.
        message: its lines, those of a traceback included.
    """

    at: str
    level: str
    session: str | None
    logger: str
    message: str

    def is_at_least(self, level: str) -> bool:
        """Whether it is as grave as ``level``; text without a level never is, unless everything is."""
        if self.level not in LEVELS:
            return level == LEVELS[0]
        return LEVELS.index(self.level) >= LEVELS.index(level)


class LogReader:
    """Text in, records out. A record is whole when the next one begins, or when :meth:`flush` says that enough came."""

    def __init__(self) -> None:
        self._rest = ""
        self._open: LogRecord | None = None
        self._more: list[str] = []

    def feed(self, text: str) -> list[LogRecord]:
        """Take the next piece, however it is cut; the records that are whole now."""
        *lines, self._rest = (self._rest + text).split("\n")
        return [record for line in lines if (record := self._line(line.rstrip("\r"))) is not None]

    def flush(self) -> LogRecord | None:
        """The record that was still open; a line without its end stays for the next piece."""
        record = self._open
        if record is not None and self._more:
            record = replace(record, message="\n".join([record.message, *self._more]))
        self._open, self._more = None, []
        return record

    def _line(self, line: str) -> LogRecord | None:
        head = _HEAD.fullmatch(line)
        if head is None and self._open is not None:
            if len(self._more) < _MAX_LINES:
                self._more.append(line)
            return None
        finished = self.flush()
        if head is not None:
            self._open = LogRecord(head["at"], head["level"], head["session"], head["logger"], head["message"])
        elif line:
            self._open = LogRecord("", "", None, "", line)
        return finished


def log_file(home: Path, name: str) -> Path:
    """Where one of :data:`LOG_FILES` lies."""
    return home / "logs" / f"{name}.log"


def last_records(file: Path, count: int, wanted: Callable[[LogRecord], bool]) -> tuple[list[LogRecord], int]:
    """The last ``count`` records that are wanted, the oldest first, and where in the file the reading stopped.

    The text before the file was started anew is read when the file alone has too few.

    Raises:
        NotAFile, DiskError: a file cannot be read. One that is not there has no records.
    """
    kept: deque[LogRecord] = deque(maxlen=count)
    own, end = _records(file)
    kept.extend(record for record in own if wanted(record))
    if len(kept) < count:
        older = [record for record in _records(file.with_name(f"{file.name}.1"))[0] if wanted(record)]
        kept.extendleft(reversed(older[len(kept) - count :]))
    return list(kept), end


def _records(file: Path) -> tuple[list[LogRecord], int]:
    try:
        with _opened(file) as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(size - _MAX_BYTES, 0))
            data = stream.read(_MAX_BYTES)
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise explain(error, file, verb="read") from error
    reader = LogReader()
    whole, newline, _ = data.rpartition(b"\n")
    records = reader.feed((whole + newline).decode("utf-8", errors="replace"))
    last = reader.flush()
    return [*records, *([last] if last else [])], max(size - _MAX_BYTES, 0) + len(whole) + len(newline)


def follow(file: Path, start: int, pause: Callable[[], None]) -> Iterator[LogRecord]:
    """Records as they are written, from the byte ``start`` on, for ever; also when the file is started anew.

    Args:
        pause: waits a moment; called whenever nothing new is there.

    Raises:
        DiskError: the file cannot be read.
    """
    reader, position, identity = LogReader(), start, _identity(file)
    while True:
        now = _identity(file)
        if (now is not None and (now[0] != identity[0] if identity else True)) or (now and now[1] < position):
            position, reader = (0 if identity or start == 0 else position), LogReader()
        identity = now or identity
        data = _read_from(file, position) if now else b""
        position += len(data)
        yield from reader.feed(data.decode("utf-8", errors="replace"))
        if not data:
            if (record := reader.flush()) is not None:
                yield record
            pause()


def _identity(file: Path) -> tuple[int, int] | None:
    """Which file it is, and how long; None when there is none at the moment."""
    with suppress(FileNotFoundError):
        status = file.stat()
        return status.st_ino, status.st_size
    return None


def _opened(file: Path) -> BinaryIO:
    """The file, open for reading; a pipe in its place would be waited for for ever."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise NotAFile(f"{file} is not a regular file", fix=f"ls -ld {shlex.quote(str(file))}", file=str(file))
    return file.open("rb")


def _read_from(file: Path, position: int) -> bytes:
    """Whole lines only, so that no character is cut in two."""
    try:
        with _opened(file) as stream:
            stream.seek(position)
            data = stream.read(_CHUNK_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise explain(error, file, verb="read") from error
    whole, newline, rest = data.rpartition(b"\n")
    return data if not newline and len(rest) == _CHUNK_BYTES else whole + newline
