"""A power cut, played over what a process really wrote: everything that was not synchronised may be missing.

A kill leaves the kernel's memory intact, so it cannot show a missing fsync. Here the trace of a run
(:mod:`tests.support.crashing`, with data) is played into a model of a disk: each file has the bytes that were
synchronised and a list of writes that were not; each folder likewise has names. :meth:`Disk.after_a_cut` makes one of
the states in which the disk may come back: any part of the unsynchronised writes there, in units of a sector, any part
of the names.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.crashing import Call

__all__ = ["Disk", "play"]

SECTOR, PAGE = 512, 4096
_PATH = re.compile(r"^\d+<([^>]*)>")
_STRINGS = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


Change = tuple[int, bytes] | int  # a write at an offset, or a new length


@dataclass(slots=True)
class File:
    """Bytes on the platter, changes still in memory, and what a failed synchronisation has thrown away.

    The last is Linux's way: a page that could not be written counts as clean afterwards, so the process sees it and no
    later synchronisation writes it, unless the page is changed again.
    """

    synced: bytes = b""
    pending: list[Change] = field(default_factory=list)
    lost: list[tuple[int, bytes]] = field(default_factory=list)  # each within one page

    def change(self, change: Change) -> None:
        self.pending.append(change)
        if isinstance(change, int) or not self.lost:
            return
        touched = _pages(*change)
        now = self.now()
        self.lost = [piece for piece in self.lost if piece[0] // PAGE not in touched]
        self.pending += [(page * PAGE, now[page * PAGE : (page + 1) * PAGE]) for page in touched]

    def sync(self) -> None:
        self.synced, self.pending = applied(self.synced, self.pending), []

    def fail_to_sync(self) -> None:
        for change in self.pending:
            if not isinstance(change, int):
                offset, data = change
                for page in _pages(offset, data):
                    start, end = max(offset, page * PAGE), min(offset + len(data), (page + 1) * PAGE)
                    self.lost.append((start, data[start - offset : end - offset]))
        self.pending = [change for change in self.pending if isinstance(change, int)]

    def now(self) -> bytes:
        """What the process sees."""
        return applied(self.synced, [*self.lost, *self.pending])

    def after_a_cut(self, chance: random.Random | None) -> bytes:
        """With None nothing unsynchronised survives."""
        if chance is None:
            return self.synced
        kept: list[Change] = []
        for change in self.pending:
            if isinstance(change, int):
                kept += [change] if chance.random() < 0.5 else []
                continue
            offset, data = change
            for start in range(0, len(data), SECTOR):
                if chance.random() < 0.5:
                    kept.append((offset + start, data[start : start + SECTOR]))
        return applied(self.synced, kept)


def applied(before: bytes, changes: Sequence[Change]) -> bytes:
    """The bytes after ``changes``; holes are zero."""
    content = bytearray(before)
    for change in changes:
        if isinstance(change, int):
            del content[change:]
            content.extend(bytes(max(0, change - len(content))))
        else:
            offset, data = change
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data
    return bytes(content)


def _pages(offset: int, data: bytes) -> range:
    return range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1)


class Disk:
    """One folder: names that are durable, names that are not yet, and the files behind them."""

    def __init__(self, folder: Path, names: dict[str, bytes]) -> None:
        self.folder = folder
        self.durable = {name: File(content) for name, content in names.items()}
        self.names = dict(self.durable)

    def apply(self, call: Call) -> bool:
        """Carry out one call; False when it concerns another place or failed without a trace."""
        is_sync = call.name in ("fsync", "fdatasync")
        if call.result.startswith("?") or (call.result.startswith("-") and not is_sync):
            return False
        quoted = [_text(each) for each in _STRINGS.findall(call.arguments)]
        if call.name in ("openat", "unlink"):
            return self._name(call, Path(quoted[0]))
        found = _PATH.match(call.arguments)
        path = Path(_text(found[1])) if found else Path()
        if path == self.folder and is_sync:
            if not call.result.startswith("-"):
                self.durable = dict(self.names)
            return True
        file = self.names.get(path.name) if path.parent == self.folder else None
        if file is None:
            return False
        if call.name == "pwrite64":
            *_, offset = call.arguments.rsplit(", ", 1)
            file.change((int(offset), _data(call.arguments)))
        elif call.name == "ftruncate":
            file.change(int(call.arguments.rsplit(", ", 1)[1]))
        elif is_sync and call.result.startswith("-"):
            file.fail_to_sync()
        elif is_sync:
            file.sync()
        else:
            return False
        return True

    def _name(self, call: Call, path: Path) -> bool:
        if path.parent != self.folder:
            return False
        if call.name == "unlink":
            del self.names[path.name]
            return True
        if "O_CREAT" not in call.arguments or path.name in self.names:
            return False
        self.names[path.name] = File()
        return True

    def after_a_cut(self, chance: random.Random | None) -> dict[str, bytes]:
        """The files that are found when the power is back; with None only what was synchronised."""
        names = dict(self.durable)
        if chance is not None:
            for name in sorted(set(self.names) | set(self.durable)):
                if self.names.get(name) is not self.durable.get(name) and chance.random() < 0.5:
                    if name in self.names:
                        names[name] = self.names[name]
                    else:
                        del names[name]
        return {name: file.after_a_cut(chance) for name, file in names.items()}


def play(disk: Disk, calls: Sequence[Call]) -> Iterator[list[str]]:
    """Carry out ``calls`` one after the other; after each that changed the disk, yield what had been said by then."""
    said: list[str] = []
    for call in calls:
        if call.name == "write" and call.arguments.startswith("1<"):
            said += _data(call.arguments).decode().splitlines()
        elif disk.apply(call):
            yield list(said)


def _data(arguments: str) -> bytes:
    return _text(_STRINGS.findall(arguments)[-1]).encode("latin-1")


def _text(escaped: str) -> str:
    """strace -xx prints every byte as ``\\xNN``; paths of descriptors too."""
    return re.sub(r"\\x([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), escaped)
