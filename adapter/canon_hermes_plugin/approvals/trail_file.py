"""The audit trail on the disk: ``detached-approvals.audit`` beside the registry, appended to and synchronised.

Source: the issue's item 3.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from canon_hermes_plugin.approvals.batch import Happening
from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import RETENTION_MS
from canon_hermes_plugin.approvals.trail import (
    DIGEST_FIELD,
    Line,
    appended,
    carried,
    head_of,
    read_lines,
    shortened,
    unfinished,
    voided,
)
from canon_ops.files.atomic import replace_file
from canon_ops.files.disk import Disk, explain
from canon_ops.runtime.ownership import hand_over

__all__ = ["TrailFile"]

KEPT_MS = RETENTION_MS + 4 * 86_400_000  # an approval lives three days; so its lines go together, after it
LARGE_BYTES = 1_000_000  # from here on lines past their retention are dropped; some 3,000 transitions


@dataclass(frozen=True, slots=True)
class _End:
    """The file after our own last line, and that line's digest."""

    device: int
    inode: int
    size: int
    digest: str = ""


class TrailFile:
    """Writes lines under the registry's lock; remembers the end, and notices when another process moved it.

    Args:
        process: who writes, for people.
    """

    def __init__(self, file: Path, process: str, *, disk: Disk | None = None) -> None:
        self.file = file
        self._process = process
        self._disk = disk or Disk()
        self._end: _End | None = None
        self._cut_above = LARGE_BYTES

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
        is_large = self._place().size > self._cut_above
        news = None if is_large else self._news()
        lines = news if news is not None else read_lines(self.read())[0]
        head = self._end.digest if news == [] and self._end is not None else head_of(lines)
        void = voided(head, unfinished(lines, before), at_ms=at_ms, process=self._process)
        fresh = appended(head_of(void) if void else head, happenings, self._process)
        kept: tuple[Line, ...] = ()
        if is_large:
            told = {line.approval_id for line in fresh}
            others = Book({key: entry for key, entry in book.entries.items() if key not in told})
            kept = carried(head_of(fresh), lines, others, before_ms=at_ms - KEPT_MS, process=self._process)
            if not kept:
                self._shorten((*lines, *void), before, at_ms - KEPT_MS)
                void = ()
        self._append((*void, *fresh, *kept))
        self._end = replace(self._place(), digest=head_of((*fresh, *kept)))
        for line in (*fresh, *kept):
            entry = book.get(line.approval_id)
            if entry is not None:
                book = book.with_entry(entry.with_(**{DIGEST_FIELD: line.digest}))
        return book

    def forget_end(self) -> None:
        """The registry did not follow what was told last: before the next change the trail is looked at again."""
        self._end = None

    def _news(self) -> list[Line] | None:
        """What others have told since our own last line; None when the whole trail has to be read to know."""
        end, now = self._end, self._place()
        if end is None or (end.device, end.inode) != (now.device, now.inode) or now.size < end.size:
            return None
        if now.size == end.size:
            return []
        lines, troubles = read_lines(self.read(end.size))
        return lines if lines and not troubles and lines[0].previous == end.digest else None

    def read(self, offset: int = 0) -> bytes:
        """The trail from that byte on; empty when nothing was ever told.

        Raises:
            DiskError: it cannot be read.
        """
        try:
            with self.file.open("rb") as reader:
                reader.seek(offset)
                return reader.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise explain(error, self.file, verb="read") from error

    def _place(self) -> _End:
        """Where the file is and ends now."""
        try:
            found = self.file.stat()
        except FileNotFoundError:
            return _End(0, 0, 0)
        except OSError as error:
            raise explain(error, self.file, verb="read") from error
        return _End(found.st_dev, found.st_ino, found.st_size)

    def _append(self, lines: Sequence[Line]) -> None:
        data = "".join(f"{line.text}\n" for line in lines).encode("ascii")
        try:
            self._disk.make_folders(self.file.parent, 0o700)
            is_new = not self.file.exists()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self.file, flags, 0o600)
            try:
                if is_new:
                    hand_over(descriptor, self.file.parent)
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
        self._cut_above = max(LARGE_BYTES, 2 * self._place().size)
