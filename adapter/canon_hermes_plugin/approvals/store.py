"""The registry on the disk: read under its lock, changed under its lock, replaced whole or not at all.

Every process that touches the file, ours or the published plugin's, holds the same ``flock`` meanwhile. A change reads
what is there, applies the transitions, and replaces the file; the mode is 0600 from its first byte, file and folder are
synchronised before the lock goes. Several transitions that come together are one replacement.

Calls block on the disk and on the lock: in a gateway they run on a worker thread (D28).

Source: canon-adapter R10.1-R10.4, R10.7; decisions A2, A3; defects D28, D45.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from canon_hermes_plugin.approvals.batch import Request, carry_out
from canon_hermes_plugin.approvals.book import Book, BookDamaged, Renderer, parse
from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.events import Event
from canon_hermes_plugin.approvals.machine import Transition, TransitionError
from canon_hermes_plugin.approvals.trail import Line
from canon_hermes_plugin.approvals.trail_audit import Trouble
from canon_hermes_plugin.approvals.trail_file import News, TrailFile
from canon_hermes_plugin.state.place import approvals_trail
from canon_ops.counting import counted
from canon_ops.errors import ConflictError, OutsideError
from canon_ops.files.atomic import find_target, replace_file
from canon_ops.files.disk import Disk, explain
from canon_ops.files.lock import FileLock
from canon_ops.runtime.clock import Clock, SystemClock

__all__ = ["ApprovalStore", "RegistryDamaged", "RegistryGone"]

LOCK_NAME = ".detached-approvals.lock"
LOCK_S = 10.0


class RegistryDamaged(OutsideError):
    """The registry cannot be understood; it is left as it is, and nothing about approvals can be done."""

    code: ClassVar[str] = "approvals_damaged"


class RegistryGone(OutsideError):
    """There is no registry, and its audit trail says that there was one: it is not known what waits for an answer."""

    code: ClassVar[str] = "approvals_gone"


class ApprovalStore:
    """The approvals of one Canon home. Safe to share between threads; processes exclude each other by the lock.

    Args:
        file: ``detached-approvals.json``; the lock stands beside it.
        lock_s: how long to wait for another process.
        process: names this process in the audit trail, for people.
        elsewhere: where the end of the trail is written down a second time; see :class:`TrailFile`.
    """

    def __init__(
        self,
        file: Path,
        *,
        clock: Clock | None = None,
        lock_s: float = LOCK_S,
        disk: Disk | None = None,
        process: str = "",
        elsewhere: Path | None = None,
    ) -> None:
        self.file = file
        self._clock = clock or SystemClock()
        self._lock_s = lock_s
        self._disk = disk or Disk()
        self.trail = TrailFile(
            approvals_trail(file), process or f"process {os.getpid()}", disk=self._disk, elsewhere=elsewhere
        )
        self._one_at_a_time = threading.RLock()
        self._renderer = Renderer()
        self._known: tuple[bytes | None, Book] = (None, Book())
        self._digest = ""  # of the known bytes
        self._nothing_is_old_before_ms = 0.0

    def read(self) -> Book:
        """Everything that stands there now.

        Raises:
            RegistryDamaged: the file cannot be understood.
            LockTimeout: another process kept the lock.
            DiskError, BrokenLink: the file or its lock cannot be opened.
        """
        if not self._has_folder():
            return Book()
        with self._one_at_a_time, self._lock():
            return self._load()

    def read_kept(self) -> Book:
        """As :meth:`read`, for those who would take an empty registry for the news that nothing waits.

        The trail, which may be long, is looked at only where there is no file.

        Raises:
            RegistryGone: there is none, although the trail, or what is kept of its end, knows of one.
            RegistryDamaged, LockTimeout, DiskError, BrokenLink: see :meth:`read`.
        """
        with self._one_at_a_time, self._lock() if self._has_folder() else contextlib.nullcontext():
            book = self._load()
            is_there = self._known[0] is not None
            troubles = [] if is_there else self.trail.examine(book).troubles
        if troubles:
            raise self._gone(troubles)
        return book

    def _gone(self, troubles: Sequence[Trouble]) -> RegistryGone:
        known = {trouble.approval_id for trouble in troubles if trouble.approval_id}
        told = f"names {counted(len(known), 'approval')}" if known else "is not what was left there either"
        return RegistryGone(
            f"the registry of approvals {self.file} is gone, and its audit trail {told}: nobody knows from here what"
            " waits for an answer",
            fix="canon-ops approvals audit",
            file=str(self.file),
        )

    def audit(self) -> tuple[Book, list[Line], list[Trouble]]:
        """The registry, its trail, and what about the two cannot be right.

        Raises:
            RegistryDamaged, LockTimeout, DiskError: see :meth:`read`.
        """
        with self._one_at_a_time, self._lock() if self._has_folder() else contextlib.nullcontext():
            book = self._load()
            examined = self.trail.examine(book)
            return book, examined.lines, examined.troubles

    def apply(self, requests: Iterable[Request]) -> list[Transition | TransitionError]:
        """Carry events out, in order, in one durable change; the answers stand in the same order.

        An event that is not possible has its error as its answer and hinders no other. When nothing changes, nothing
        is written.

        Raises:
            RegistryDamaged, LockTimeout: nothing was changed.
            DiskError: nothing was changed, unless only the last step failed, which makes the folder durable: the next
                read tells.
        """
        with self._one_at_a_time, self._lock():
            before, now_ms = self._load(), self._clock.now_ms()
            changes = carry_out(before, requests, now_ms=now_ms)
            if changes.happenings:
                book, old = self._without_old(changes.book, now_ms)
                self._change(before, book, News(now_ms, changes.happenings, old))
            return changes.answers

    def apply_one(self, approval_id: str, event: Event) -> Transition:
        """Carry one event out.

        Raises:
            TransitionError: the event is not possible.
            RegistryDamaged, LockTimeout, DiskError: nothing was changed.
        """
        (answer,) = self.apply([Request(approval_id, event)])
        if isinstance(answer, TransitionError):
            raise answer
        return answer

    def old(self) -> tuple[Entry, ...]:
        """What :meth:`prune` would drop: terminal entries past their retention, whose decision has been told."""
        return self.read_kept().without_old(self._clock.now_ms())[1]

    def prune(self, only: Container[str] | None = None) -> tuple[Entry, ...]:
        """Drop terminal entries past their retention; return them.

        Args:
            only: ids; None: all that are old.
        """
        if not self._has_folder():
            return ()
        with self._one_at_a_time, self._lock():
            before, now_ms = self._load(), self._clock.now_ms()
            book, old = before.without_old(now_ms, only)
            if old:
                self._change(before, book, News(now_ms, dropped=old))
            return old

    def acknowledge(self, seen: Sequence[Trouble], why: str) -> None:
        """Write into the trail that somebody has looked into everything that others did; nothing of it goes.

        Args:
            seen: what they looked into.
            why: who, and what they say about it.

        Raises:
            ConflictError: there is more, or less, by now; nothing was written.
        """
        with self._one_at_a_time, self._lock():
            book, now_ms = self._load(), self._clock.now_ms()
            found = self.trail.examine(book).troubles
            if {_gist(trouble) for trouble in found} != {_gist(trouble) for trouble in seen}:
                what = "the audit trail has changed since it was looked at; nothing was acknowledged"
                raise ConflictError(what, fix="canon-ops approvals audit")
            if found:
                self._change(book, book, News(now_ms, acknowledged=why))

    def set_aside(self, aside: Path) -> None:
        """Keep a registry that cannot be understood under another name, and leave an empty one.

        Raises:
            ConflictError: it can be read, now that nobody else may change it: another process or a person mended it.
            LockTimeout, DiskError: nothing was moved.
        """
        with self._one_at_a_time, self._lock():
            try:
                self._load()
            except RegistryDamaged:
                replace_file(aside, self.file.read_bytes(), mode=0o600, disk=self._disk)
                replace_file(self.file, b"{}", mode=0o600, disk=self._disk)
                return
            raise ConflictError(f"{self.file} can be read by now; nothing was moved", fix="canon-ops approvals verify")

    def _has_folder(self) -> bool:
        """Whether something has the folder's name; when that is none, or leads nowhere, the lock says so."""
        return os.path.lexists(self.file.parent)

    def _lock(self) -> FileLock:
        return FileLock(self.file.with_name(LOCK_NAME), self._lock_s, clock=self._clock)

    def _load(self) -> Book:
        """The book in the file; the one in memory when the bytes are those that it was made of."""
        try:
            data: bytes | None = self.file.read_bytes()
        except FileNotFoundError:
            find_target(self.file)  # refuses a link to nowhere: what lies behind it may be away for a moment only
            data = None
        except OSError as error:
            raise explain(error, self.file, verb="read") from error
        known_data, known_book = self._known
        if data == known_data:
            return known_book
        try:
            book = parse(data)
        except BookDamaged as error:
            raise RegistryDamaged(
                f"the registry of approvals {self.file} cannot be read: {error}; it was left as it is",
                fix="canon-ops approvals verify",
                file=str(self.file),
            ) from error
        self._know(data, book)
        self._nothing_is_old_before_ms = 0.0  # somebody else wrote
        return book

    def _without_old(self, book: Book, now_ms: float) -> tuple[Book, tuple[Entry, ...]]:
        if now_ms < self._nothing_is_old_before_ms:
            return book, ()
        book, old = book.without_old(now_ms)
        self._nothing_is_old_before_ms = book.next_old_ms(now_ms)
        return book, old

    def _change(self, before: Book, book: Book, news: News) -> None:
        """Tell, then do, then write down that it is done."""
        told = self.trail.tell(book, news, before=before, registry=self._digest)
        self._drop_leftovers()
        data = self._renderer.data(told)
        self._make_private()
        replace_file(self.file, data, mode=0o600, disk=self._disk)
        self._know(data, told)
        self.trail.settle(self._digest)

    def _know(self, data: bytes | None, book: Book) -> None:
        self._known = data, book
        self._digest = hashlib.sha256(data).hexdigest()[:32] if data is not None else ""  # quick on most processors

    def _drop_leftovers(self) -> None:
        """Temporary files of processes that were killed: whoever writes holds the lock, so they are nobody's."""
        with contextlib.suppress(OSError):
            for file in (self.file, self.trail.file):
                real = find_target(file).real
                for left in real.parent.glob(f".{real.name}.*.tmp"):
                    self._disk.unlink(left)

    def _make_private(self) -> None:
        """A file that an older program left readable for others: what replaces it inherits its mode (D45)."""
        try:
            mode = self.file.stat().st_mode
            if mode & 0o077:
                self.file.chmod(0o600)
        except FileNotFoundError:
            return
        except OSError as error:
            raise explain(error, self.file) from error


def _gist(trouble: Trouble) -> tuple[str, ...]:
    """What a trouble says, wherever in the file it stands by now."""
    return (trouble.approval_id, trouble.what, trouble.expected, trouble.found)
