"""Everything that reached the server, in one order over all connections: what tests read. Pure.

Upgrades, frames and ends. Keys are never kept. Source: Borgee 1.16.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Entry", "Journal"]


@dataclass(slots=True)
class Entry:
    """One thing that happened on a connection.

    Attributes:
        number: running number, by time of arrival.
        at_ms, at_s: wall time of the sandbox, and monotonic time of the machine.
        socket: running number of the connection; None for an upgrade that came to nothing.
        type: the frame's, empty for upgrades and ends, and for what is no frame.
        frame: the frame, or the text that is none.
        payload: of a semantic action, decoded.
        status: of an upgrade, 101 when it was accepted and 0 when it was not answered; of an end the close code.
        fault: the name of the fault that struck.
    """

    number: int
    at_ms: int
    at_s: float
    what: Literal["upgrade", "frame", "end"]
    socket: int | None
    agent_id: str | None
    type: str = ""
    frame: Any = None
    payload: Any = None
    status: int | None = None
    fault: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Journal:
    """The newest ``limit`` entries; ``count`` goes on counting."""

    def __init__(self, limit: int) -> None:
        self.count = 0
        self._entries: deque[Entry] = deque(maxlen=limit)

    def add(self, what: Literal["upgrade", "frame", "end"], *, at_ms: int, at_s: float, **given: Any) -> Entry:
        """Note something; the rest of the entry is filled in when it is known."""
        self.count += 1
        entry = Entry(self.count, at_ms, at_s, what, given.pop("socket", None), given.pop("agent_id", None), **given)
        self._entries.append(entry)
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def after(self, number: int) -> list[Entry]:
        """Entries with a higher number, oldest first."""
        newer: list[Entry] = []
        for entry in reversed(self._entries):
            if entry.number <= number:
                break
            newer.append(entry)
        return newer[::-1]
