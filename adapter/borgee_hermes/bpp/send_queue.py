"""What waits to be written: two lanes with bounds, and an order between them. Pure.

Answers that a server waits for go first (*reserved*), but after eight of them one *regular* frame, so that a server
which pings without end cannot hold up what people wait for. An entry can be withdrawn until it is taken.

Source: Borgee 1.13, W21, W-25.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import StrEnum
from typing import Final

from borgee_hermes.bpp.limits import Limits

__all__ = ["Lane", "SendQueue"]

RESERVED_IN_A_ROW: Final = 8


class Lane(StrEnum):
    """Which way a frame goes."""

    REGULAR = "regular"
    RESERVED = "reserved"


class _Waiting:
    def __init__(self, max_frames: int, max_bytes: int) -> None:
        self.max_frames = max_frames
        self.max_bytes = max_bytes
        self.frames: OrderedDict[str, bytes] = OrderedDict()
        self.bytes = 0

    def has_room(self, size: int) -> bool:
        return len(self.frames) < self.max_frames and self.bytes + size <= self.max_bytes

    def add(self, key: str, data: bytes) -> None:
        self.frames[key] = data
        self.bytes += len(data)

    def remove(self, key: str) -> bytes | None:
        data = self.frames.pop(key, None)
        if data is not None:
            self.bytes -= len(data)
        return data


class SendQueue:
    """Frames by key, in the order in which they are to be written."""

    def __init__(self, limits: Limits) -> None:
        self._lanes = {
            Lane.REGULAR: _Waiting(limits.regular_frames, limits.regular_bytes),
            Lane.RESERVED: _Waiting(limits.reserved_frames, limits.reserved_bytes),
        }
        self._reserved_in_a_row = 0

    def __len__(self) -> int:
        return sum(len(lane.frames) for lane in self._lanes.values())

    def has_room(self, lane: Lane, size: int) -> bool:
        """Whether a frame of that size would be taken now."""
        return self._lanes[lane].has_room(size)

    def offer(self, lane: Lane, key: str, data: bytes) -> bool:
        """Put a frame at the end of its lane; False, and nothing changed, when there is no room."""
        waiting = self._lanes[lane]
        if not waiting.has_room(len(data)):
            return False
        waiting.add(key, data)
        return True

    def take(self) -> tuple[str, bytes] | None:
        """The next frame to write; from now on it counts as written."""
        reserved, regular = self._lanes[Lane.RESERVED], self._lanes[Lane.REGULAR]
        lane = reserved if reserved.frames else regular
        if regular.frames and self._reserved_in_a_row >= RESERVED_IN_A_ROW:
            lane = regular
        if not lane.frames:
            return None
        self._reserved_in_a_row = self._reserved_in_a_row + 1 if lane is reserved else 0
        key = next(iter(lane.frames))
        data = lane.remove(key)
        assert data is not None  # noqa: S101  # it was the first key a line above
        return key, data

    def withdraw(self, key: str) -> bool:
        """Take a frame out that has not been written; False when it is not here any more."""
        return any(lane.remove(key) is not None for lane in self._lanes.values())

    def clear(self) -> list[tuple[str, bytes]]:
        """Empty both lanes; gives the regular frames in their order, for whoever wants to offer some of them again."""
        regular = list(self._lanes[Lane.REGULAR].frames.items())
        for lane in self._lanes.values():
            lane.frames.clear()
            lane.bytes = 0
        self._reserved_in_a_row = 0
        return regular
