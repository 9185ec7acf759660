"""What a connection's writer is told to do, in order. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Cut", "Freeze", "Goodbye", "Order", "Pause", "Put"]


@dataclass(frozen=True, slots=True)
class Put:
    """Write one message.

    Attributes:
        data: its payload, whatever it is.
        how: as one text frame; as one binary frame; in fragments; byte by byte; as a frame that no websocket knows;
            only the first half of its bytes.
    """

    data: bytes
    how: Literal["text", "binary", "fragments", "bytewise", "bad-opcode", "half"] = "text"


@dataclass(frozen=True, slots=True)
class Goodbye:
    """Write a close frame and end.

    Attributes:
        code: None sends none at all: the close frame is empty.
        how: wait for the answer and hang up; leave the connection open afterwards; go on talking, then hang up.
    """

    code: int | None
    how: Literal["proper", "hanging", "talking"] = "proper"


@dataclass(frozen=True, slots=True)
class Cut:
    """Throw the connection away without a close frame: reset it, or just end it."""

    how: Literal["reset", "end"] = "reset"


@dataclass(frozen=True, slots=True)
class Freeze:
    """Neither read nor write any more, and keep the connection: to the other end it looks alive."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Write nothing for a while."""

    seconds: float


Order = Put | Goodbye | Cut | Freeze | Pause
