"""The bytes of messages, for the tools that are trusted with them: in memory, for as long as the turn, and bounded.

A batch is whole or it is not there: a tool that got two of three pages would file the wrong document. Turns throw their
bytes away at their end; the bounds are for what never gets a turn.

Tools read from their own threads, so everything stands under one lock.

Source: product, "Public domain-plugin API"; Canon adapter R4.20, R4.21, R4.23; Canon wire 10.3.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from canon_hermes_plugin.media.kinds import plain_mime
from canon_hermes_plugin.media.names import safe_leaf

__all__ = ["FILE_BYTES", "Bounds", "CanonInboundMedia", "Captured", "Captures"]

FILE_BYTES: Final = 10_485_760  # Canon wire 10.1
KEY_CHARS: Final = 256
MIME_CHARS: Final = 255


@dataclass(frozen=True, slots=True)
class CanonInboundMedia:
    """One attachment of the message that opened the turn, as its bytes were fetched from Canon.

    The bytes are those of that very message; ``mime_type`` and ``file_name`` are what was said of them, and prove
    nothing about the format.

    Attributes:
        attachment_index: its place in the message, from 0.
    """

    message_id: str
    attachment_index: int
    mime_type: str
    file_name: str
    data: bytes = field(repr=False)

    @property
    def size_bytes(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Captured:
    """A file on its way into the registry."""

    index: int
    data: bytes = field(repr=False)
    mime: str
    name: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is kept. Source: Canon wire 10.3."""

    files: int = 16
    message_bytes: int = 33_554_432
    total_bytes: int = 67_108_864
    messages: int = 128
    idle_s: float = 3_600.0

    def hold(self, files: Sequence[Captured]) -> bool:
        """Whether a message with these files is within them."""
        return len(files) <= self.files and sum(len(file.data) for file in files) <= self.message_bytes


@dataclass(slots=True)
class _Kept:
    files: tuple[CanonInboundMedia, ...]
    touched_s: float

    @property
    def size(self) -> int:
        return sum(file.size_bytes for file in self.files)


class Captures:
    """The registry of one adapter.

    Args:
        now_s: monotonic seconds.
    """

    def __init__(self, now_s: Callable[[], float], bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self._now_s = now_s
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def register(self, conversation_id: str, message_id: str | None, files: Sequence[Captured]) -> bool:
        """Keep the files of a message in place of what was kept of it; False when nothing of it is kept now.

        An empty batch, one over the bounds, or one with a single file that is not as it must be, is not kept.
        """
        key = _key(conversation_id, message_id)
        if key is None:
            return False
        media = tuple(_checked(key[1], file) for file in files)
        whole = tuple(file for file in media if file is not None)
        is_whole = bool(whole) and len(whole) == len(media) and self.bounds.hold(files)
        with self._lock:
            self._kept.pop(key, None)
            if is_whole:
                self._kept[key] = _Kept(whole, self._now_s())
            self._forget()
            return key in self._kept

    def of(self, conversation_id: str, message_id: str) -> tuple[CanonInboundMedia, ...]:
        """The files of a message, in its order; none when there are none, or none any more."""
        key = _key(conversation_id, message_id)
        with self._lock:
            self._forget()
            kept = self._kept.get(key) if key is not None else None
            if kept is None or key is None:
                return ()
            kept.touched_s = self._now_s()
            self._kept.move_to_end(key)
            return kept.files

    def has(self, conversation_id: str, message_id: str) -> bool:
        """Whether anything is kept of a message; asking does not keep it longer."""
        with self._lock:
            return _key(conversation_id, message_id) in self._kept

    def discard(self, conversation_id: str, message_id: str | None) -> None:
        """Throw the bytes of a message away."""
        key = _key(conversation_id, message_id)
        if key is not None:
            with self._lock:
                self._kept.pop(key, None)

    def clear(self) -> None:
        """Throw everything away."""
        with self._lock:
            self._kept.clear()

    def _forget(self) -> None:
        """What is too old first, then what was touched longest ago, until the rest is within the bounds."""
        now_s = self._now_s()
        for key in [key for key, kept in self._kept.items() if now_s - kept.touched_s > self.bounds.idle_s]:
            del self._kept[key]
        total = sum(kept.size for kept in self._kept.values())
        while self._kept and (len(self._kept) > self.bounds.messages or total > self.bounds.total_bytes):
            _, oldest = self._kept.popitem(last=False)
            total -= oldest.size


def _key(conversation_id: str, message_id: str | None) -> tuple[str, str] | None:
    key = (conversation_id.strip(), (message_id or "").strip())
    return key if all(0 < len(part) <= KEY_CHARS for part in key) else None


def _checked(message_id: str, file: Captured) -> CanonInboundMedia | None:
    mime = plain_mime(file.mime)
    is_sound = (
        type(file.data) is bytes
        and 0 < len(file.data) <= FILE_BYTES
        and mime is not None
        and len(mime) <= MIME_CHARS
        and mime.isprintable()
        and type(file.index) is int
        and file.index >= 0
    )
    return (
        CanonInboundMedia(message_id, file.index, mime, safe_leaf(file.name), file.data) if is_sound and mime else None
    )
