"""Where the trail ended and what the registry was when we last wrote them, kept beside the two and away from them.

Whoever rewrites a chain from some line on has a whole chain again; whoever puts older files back has files that fit
each other. Neither fits what is kept here. A record tells the digest of the last line, the digest of the registry's
bytes, and where the trail's file ended, so that the next writer sees at a glance whether anybody was there meanwhile.

A file has room for two records of one size, written by turns and in place: a write that a crash tears off leaves the
record before it. It is written last and never synchronised: it may lag behind the trail, and never leads.

Source: the issue's item 3 ("whose head is also kept elsewhere"); decision 0040.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

from canon_ops.files.disk import Disk, explain
from canon_ops.runtime.ownership import hand_over

__all__ = ["Head", "HeadsFile", "Kept"]

SLOT_BYTES: Final = 256  # two of them are one sector, which a disk writes whole


@dataclass(frozen=True, slots=True)
class Head:
    """What we left.

    Attributes:
        count: one more with every change; the larger one of two records is the newer one.
        line: the digest of the trail's last line.
        registry: the digest of the registry's bytes.
        at_ms: when the change was made.
        size, inode, mtime_ns: of the trail's file.
    """

    count: int
    line: str
    registry: str
    at_ms: int
    size: int
    inode: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Kept:
    """What one place keeps; ``is_there`` without a head: nothing in it can be understood."""

    is_there: bool
    head: Head | None = None


class HeadsFile:
    """The records in one file; used under the registry's lock."""

    def __init__(self, file: Path, disk: Disk) -> None:
        self.file = file
        self._disk = disk

    def read(self) -> Kept:
        """The newer record. An empty file counts as none: a crash came before the first record.

        Raises:
            DiskError: there is a file, and it cannot be read.
        """
        try:
            data = self.file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return Kept(is_there=False)
        except OSError as error:
            raise explain(error, self.file, verb="read") from error
        found = [head for at in (0, SLOT_BYTES) if (head := _decoded(data[at : at + SLOT_BYTES])) is not None]
        return Kept(bool(data), max(found, key=lambda head: head.count, default=None))

    def begin(self, head: Head) -> None:
        """Write the first record, durably: a trail that was told to have one and has none was tampered with.

        Raises:
            DiskError: nothing may be told before there is one.
        """
        try:
            self._disk.make_folders(self.file.parent, 0o700)
            descriptor = self._open()
            try:
                self._put(descriptor, head)
                self._disk.sync(descriptor)
            finally:
                os.close(descriptor)
            self._disk.sync_folder(self.file.parent)
        except OSError as error:
            raise explain(error, self.file) from error

    def keep(self, head: Head) -> None:
        """Write the next record; where that is impossible the older one stays, which is behind and no lie."""
        with contextlib.suppress(OSError):
            descriptor = self._open()
            try:
                self._put(descriptor, head)
            finally:
                os.close(descriptor)

    def _open(self) -> int:
        is_new = not self.file.exists()
        descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if is_new:
            hand_over(descriptor, self.file.parent)
        return descriptor

    def _put(self, descriptor: int, head: Head) -> None:
        os.lseek(descriptor, SLOT_BYTES * (head.count % 2), os.SEEK_SET)
        self._disk.write(descriptor, _encoded(head))


def _encoded(head: Head) -> bytes:
    text = json.dumps(astuple(head), separators=(",", ":"))
    return f"{text} {_check(text)}".encode("ascii").ljust(SLOT_BYTES - 1) + b"\n"


def _decoded(slot: bytes) -> Head | None:
    try:
        text, check = slot.decode("ascii").rstrip().rsplit(" ", 1)
        if check != _check(text):
            return None
        count, line, registry, *numbers = json.loads(text)
        return Head(int(count), str(line), str(registry), *(int(number) for number in numbers))
    except (ValueError, TypeError, RecursionError):
        return None


def _check(text: str) -> str:
    return hashlib.blake2b(text.encode("ascii"), digest_size=8).hexdigest()
