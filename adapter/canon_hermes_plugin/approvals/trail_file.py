"""The audit trail on the disk: ``detached-approvals.audit`` beside the registry, appended to and synchronised.

Source: the issue's item 3.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from canon_hermes_plugin.approvals.batch import Happening
from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import RETENTION_MS
from canon_hermes_plugin.approvals.trail import (
    DIGEST_FIELD,
    Line,
    appended,
    head_of,
    read_lines,
    shortened,
    unfinished,
    voided,
)
from canon_ops.files.atomic import replace_file
from canon_ops.files.disk import Disk, explain

__all__ = ["TrailFile"]

LARGE_BYTES = 1_000_000  # from here on lines past their retention are dropped; some 4,000 transitions


class TrailFile:
    """Writes lines under the registry's lock; remembers the end, and notices when another process moved it.

    Args:
        process: who writes, for people.
    """

    def __init__(self, file: Path, process: str, *, disk: Disk | None = None) -> None:
        self.file = file
        self._process = process
        self._disk = disk or Disk()
        self._end: tuple[int, str] | None = None  # the size after our own last line, and that line's digest

    def tell(self, book: Book, happenings: Sequence[Happening], *, before: Book) -> Book:
        """Append the lines of these changes, durably; the book whose entries name their last line.

        Args:
            before: the registry as it is on the disk, to see whether the last change got there.

        Raises:
            DiskError: nothing was told; the change must not be made.
        """
        if not happenings:
            return book
        at_ms = happenings[0].at_ms
        size = self._size()
        if self._end is None or self._end[0] != size:
            lines, _ = read_lines(self.read())
            void = voided(head_of(lines), unfinished(lines, before), at_ms=at_ms, process=self._process)
            head = head_of((*lines, *void))
            if size > LARGE_BYTES:
                self._shorten((*lines, *void), before, at_ms - RETENTION_MS)
                void = ()
        else:
            void, head = (), self._end[1]
        fresh = appended(head, happenings, self._process)
        self._append((*void, *fresh))
        self._end = self._size(), fresh[-1].digest
        for line in fresh:
            entry = book.get(line.approval_id)
            if entry is not None:
                book = book.with_entry(entry.with_(**{DIGEST_FIELD: line.digest}))
        return book

    def read(self) -> bytes:
        """The whole trail; empty when nothing was ever told.

        Raises:
            DiskError: it cannot be read.
        """
        try:
            return self.file.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise explain(error, self.file, verb="read") from error

    def _size(self) -> int:
        try:
            return self.file.stat().st_size
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise explain(error, self.file, verb="read") from error

    def _append(self, lines: Sequence[Line]) -> None:
        data = "".join(f"{line.text}\n" for line in lines).encode("ascii")
        try:
            self._disk.make_folders(self.file.parent, 0o700)
            is_new = not self.file.exists()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self.file, flags, 0o600)
            try:
                if not is_new and not self._ends_with_a_line(descriptor):
                    data = b"\n" + data  # a write that a crash tore off
                self._write_whole(descriptor, data)
            finally:
                os.close(descriptor)
            if is_new:
                self._disk.sync_folder(self.file.parent)
        except OSError as error:
            raise explain(error, self.file) from error

    def _write_whole(self, descriptor: int, data: bytes) -> None:
        """All of it or nothing: half a line would be told from a cut end by nobody, for ever."""
        size = os.fstat(descriptor).st_size
        try:
            while data:
                data = data[self._disk.write(descriptor, data) :]
            self._disk.sync(descriptor)
        except OSError:
            with contextlib.suppress(OSError):  # then the next line begins on a line of its own
                os.ftruncate(descriptor, size)
            raise

    def _ends_with_a_line(self, descriptor: int) -> bool:
        size = os.fstat(descriptor).st_size
        if not size:
            return True
        with self.file.open("rb") as reader:
            reader.seek(size - 1)
            return reader.read(1) == b"\n"

    def _shorten(self, lines: Sequence[Line], book: Book, before_ms: int) -> None:
        kept = shortened(lines, book, before_ms=before_ms)
        replace_file(self.file, "".join(f"{line.text}\n" for line in kept).encode("ascii"), disk=self._disk)
