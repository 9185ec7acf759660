"""The audit trail on the disk: ``detached-approvals.audit`` beside the registry, appended to and synchronised.

Before a change the records of its end (:mod:`canon_hermes_plugin.approvals.heads`) are compared with what is there.
When nobody has been there since, the change's lines are bound to the digest in the record, and nothing is read.
Otherwise the whole trail is examined first, and what somebody else did is told before the change is.

The order of writing is trail, registry, record. So a record never says more than the two hold, and whatever a crash
leaves is either a line too many, which the next change takes back, or a record that is behind.

Source: the issue's item 3; decisions 0024 and 0040.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from canon_hermes_plugin.approvals.batch import Happening
from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.heads import Head, HeadsFile, Kept
from canon_hermes_plugin.approvals.trail import DIGEST_FIELD, STILL, VOID, Line, head_of
from canon_hermes_plugin.approvals.trail_audit import KEPT_MS, Examined, examine
from canon_hermes_plugin.approvals.trail_writer import Writer, shortened
from canon_ops.files.atomic import replace_file
from canon_ops.files.disk import Disk, DiskError, explain
from canon_ops.runtime.ownership import hand_over

__all__ = ["News", "TrailFile"]

LARGE_BYTES = 1_000_000  # from here on lines past their retention are dropped; some 3,000 transitions


@dataclass(frozen=True, slots=True)
class News:
    """What is to be told of one change.

    Attributes:
        dropped: approvals that leave the registry with it.
        acknowledged: what a person says about all that others did until now; None when nobody said anything.
    """

    at_ms: int
    happenings: Sequence[Happening] = ()
    dropped: Sequence[Entry] = ()
    acknowledged: str | None = None

    def __bool__(self) -> bool:
        return bool(self.happenings or self.dropped or self.acknowledged is not None)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the file is and ends."""

    size: int = 0
    inode: int = 0
    mtime_ns: int = 0

    def head(self, count: int, line: str, registry: str, at_ms: int) -> Head:
        return Head(count, line, registry, at_ms, self.size, self.inode, self.mtime_ns)


class TrailFile:
    """Writes lines under the registry's lock.

    Args:
        process: who writes, for people.
        elsewhere: a second place for the record, below the Hermes home, so that it outlives a Canon home that is put
            back from a backup; None where there is no such place.
    """

    def __init__(self, file: Path, process: str, *, disk: Disk | None = None, elsewhere: Path | None = None) -> None:
        self.file = file
        self._process = process
        self._disk = disk or Disk()
        self._beside = HeadsFile(file.with_name(f".{file.stem}.heads"), self._disk)
        self._elsewhere = HeadsFile(elsewhere, self._disk) if elsewhere is not None else None
        self._cut_above = LARGE_BYTES
        self._has_looked = False
        self._told: Head | None = None  # the next record, once the registry has followed

    def examine(self, book: Book) -> Examined:
        """Compare everything with everything.

        Raises:
            DiskError: something cannot be read.
        """
        return examine(self.read(), book, self._kept())

    def tell(self, book: Book, news: News, *, before: Book, registry: str) -> Book:
        """Append the lines of a change, durably; the book whose entries name their last line.

        Args:
            book: as the change makes it.
            before: the registry as it is on the disk, and ``registry`` the digest of its bytes.

        Raises:
            DiskError: nothing was told; the change must not be made.
        """
        beside, *others = self._kept()
        place, examined = self._place(), None
        is_large = place.size > self._cut_above
        if beside.head is not None and not is_large and self._is_as_we_left_it(beside.head, others, place, registry):
            head = beside.head.line
        else:
            examined = examine(self.read(), before, (beside, *others))
            head = head_of(examined.lines)
        count = max((kept.head.count for kept in (beside, *others) if kept.head is not None), default=0) + 1
        if beside.head is None and not (examined and examined.has_record):
            self._beside.begin(place.head(count, head, registry, news.at_ms))
            count += 1
        writer = Writer(head, at_ms=news.at_ms, process=self._process)
        if examined is not None:
            writer.void(examined.undone)
            writer.foreign(examined.fresh, before)
        writer.happened(news.happenings)
        writer.dropped(news.dropped)
        if news.acknowledged is not None:
            writer.acknowledged(news.acknowledged)
        if examined is not None and is_large:
            self._drop_old(writer, examined, before, book, news.at_ms - KEPT_MS)
        self._append(writer.lines, examined.torn_bytes if examined is not None else 0)
        self._has_looked = True
        self._told = self._place().head(count, head_of(writer.lines), "", news.at_ms)
        return _naming(book, writer.lines)

    def settle(self, registry: str) -> None:
        """The registry has followed; ``registry`` is the digest of its bytes now."""
        if self._told is None:
            return
        head, self._told = replace(self._told, registry=registry), None
        self._beside.keep(head)
        if self._elsewhere is not None and self._elsewhere.file.parent.is_dir():
            self._elsewhere.keep(head)

    def read(self) -> bytes:
        """The trail; empty when nothing was ever told.

        Raises:
            DiskError: it cannot be read, or is a link, behind which nothing would be written either.
        """
        try:
            with os.fdopen(os.open(self.file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as reader:
                return reader.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise self._explained(error, verb="read") from error

    def _kept(self) -> tuple[Kept, ...]:
        beside = self._beside.read()
        if self._elsewhere is None:
            return (beside,)
        try:
            return beside, self._elsewhere.read()
        except DiskError:  # it is evidence where it can be read, and hinders nobody where it cannot
            return (beside,)

    def _is_as_we_left_it(self, head: Head, others: Sequence[Kept], place: _Place, registry: str) -> bool:
        """Whether nobody else has been there; a process looks at everything once, before its first change."""
        return (
            self._has_looked
            and head.registry == registry
            and place == _Place(head.size, head.inode, head.mtime_ns)
            and all(other.head is None or other.head.count <= head.count for other in others)
        )

    def _place(self) -> _Place:
        try:
            found = self.file.stat()
        except FileNotFoundError:
            return _Place()
        except OSError as error:
            raise explain(error, self.file, verb="read") from error
        return _Place(found.st_size, found.st_ino, found.st_mtime_ns)

    def _drop_old(self, writer: Writer, examined: Examined, before: Book, book: Book, before_ms: int) -> None:
        """Drop lines past their retention, unless something has to be told again first: then the next change does."""
        count = len(writer.lines)
        told = {line.approval_id for line in writer.lines}
        others = Book({key: entry for key, entry in book.entries.items() if key not in told})
        writer.kept(examined.lines, others, before_ms=before_ms)
        writer.still(examined.lines, before_ms=before_ms)
        if len(writer.lines) > count or examined.fresh or examined.undone:
            return
        data = shortened(examined.rows, before, before_ms=before_ms)
        if data is not None:
            replace_file(self.file, data, disk=self._disk)
        self._cut_above = max(LARGE_BYTES, 2 * self._place().size)

    def _append(self, lines: Sequence[Line], torn_bytes: int) -> None:
        data = "".join(f"{line.text}\n" for line in lines).encode("ascii")
        try:
            self._disk.make_folders(self.file.parent, 0o700)
            is_new = not self.file.exists()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self.file, flags, 0o600)
            try:
                if is_new:
                    hand_over(descriptor, self.file.parent)
                if torn_bytes:  # it was never finished, so nobody was promised anything
                    os.ftruncate(descriptor, os.fstat(descriptor).st_size - torn_bytes)
                elif not is_new and not self._ends_with_a_line(descriptor):
                    data = b"\n" + data
                self._write_whole(descriptor, data)
            finally:
                os.close(descriptor)
            if is_new:
                self._disk.sync_folder(self.file.parent)
        except OSError as error:
            raise self._explained(error, verb="written") from error

    def _explained(self, error: OSError, *, verb: str) -> DiskError:
        if error.errno != errno.ELOOP:
            return explain(error, self.file, verb=verb)
        what = f"{self.file} is a symbolic link, and approvals are told to no other place"
        return DiskError(what, fix=f"ls -l {shlex.quote(str(self.file))}", file=str(self.file))

    def _write_whole(self, descriptor: int, data: bytes) -> None:
        """All of it or nothing: half a line would be told from a cut end by nobody, for ever."""
        size = os.fstat(descriptor).st_size
        try:
            while data:
                data = data[self._disk.write(descriptor, data) :]
            self._disk.sync(descriptor)
        except OSError:
            with contextlib.suppress(OSError):  # then the next change does
                os.ftruncate(descriptor, size)
            raise

    def _ends_with_a_line(self, descriptor: int) -> bool:
        size = os.fstat(descriptor).st_size
        if not size:
            return True
        with self.file.open("rb") as reader:
            reader.seek(size - 1)
            return reader.read(1) == b"\n"


def _naming(book: Book, lines: Sequence[Line]) -> Book:
    """The book whose entries name their last line."""
    last = {line.approval_id: line.digest for line in lines if line.number not in (VOID, STILL)}
    named = {key: entry.with_(**{DIGEST_FIELD: last[key]}) for key in last if (entry := book.get(key)) is not None}
    return book.with_entries(named)
