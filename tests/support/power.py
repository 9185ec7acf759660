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

SECTOR = 512
_PATH = re.compile(r"^\d+<([^>]*)>")
_STRINGS = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(slots=True)
class File:
    """Bytes on the platter, and changes still in memory: (offset, data) or a new length."""

    synced: bytes = b""
    pending: list[tuple[int, bytes] | int] = field(default_factory=list)

    def sync(self) -> None:
        self.synced, self.pending = self._with(self.pending), []

    def now(self) -> bytes:
        return self._with(self.pending)

    def after_a_cut(self, chance: random.Random | None) -> bytes:
        """With None nothing unsynchronised survives."""
        if chance is None:
            return self.synced
        kept: list[tuple[int, bytes] | int] = []
        for change in self.pending:
            if isinstance(change, int):
                kept += [change] if chance.random() < 0.5 else []
                continue
            offset, data = change
            for start in range(0, len(data), SECTOR):
                if chance.random() < 0.5:
                    kept.append((offset + start, data[start : start + SECTOR]))
        return self._with(kept)

    def _with(self, changes: Sequence[tuple[int, bytes] | int]) -> bytes:
        content = bytearray(self.synced)
        for change in changes:
            if isinstance(change, int):
                del content[change:]
                content.extend(bytes(max(0, change - len(content))))
            else:
                offset, data = change
                content.extend(bytes(max(0, offset - len(content))))
                content[offset : offset + len(data)] = data
        return bytes(content)


class Disk:
    """One folder: names that are durable, names that are not yet, and the files behind them."""

    def __init__(self, folder: Path, names: dict[str, bytes]) -> None:
        self.folder = folder
        self.durable = {name: File(content) for name, content in names.items()}
        self.names = dict(self.durable)

    def apply(self, call: Call) -> bool:
        """Carry out one call; False when it concerns another place or failed."""
        if call.result.startswith(("-", "?")):
            return False
        quoted = [_text(each) for each in _STRINGS.findall(call.arguments)]
        if call.name in ("openat", "unlink"):
            return self._name(call, Path(quoted[0]))
        found = _PATH.match(call.arguments)
        path = Path(_text(found[1])) if found else Path()
        if path == self.folder and call.name in ("fsync", "fdatasync"):
            self.durable = dict(self.names)
            return True
        file = self.names.get(path.name) if path.parent == self.folder else None
        if file is None:
            return False
        if call.name == "pwrite64":
            *_, offset = call.arguments.rsplit(", ", 1)
            file.pending.append((int(offset), _data(call.arguments)))
        elif call.name == "ftruncate":
            file.pending.append(int(call.arguments.rsplit(", ", 1)[1]))
        elif call.name in ("fsync", "fdatasync"):
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
