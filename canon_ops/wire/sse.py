"""Server-sent events: bytes in any pieces go in, whole frames come out.

The bytes may be cut anywhere: inside a UTF-8 sequence, between a CR and its LF, one byte at a time. Any cut yields the
same frames, which is what ``tests/property/test_sse.py`` proves. Three facts make that cheap:

- Line ends are made LF as bytes arrive. A CR that ends a chunk is an end of line at once, and an LF that opens the
  next chunk is then its second half and is swallowed.
- A frame ends at an empty line, that is at two LF. Nothing is parsed before they are there; until then bytes are only
  appended, and the search resumes where it stopped. So each byte is copied a bounded number of times, however it came.
- LF never occurs inside a UTF-8 sequence, so whole frames can be turned into text at once.

The grammar is Canon's, which is narrower than the web's: a frame without a name or without data is dropped whole,
its id included (so keep-alives are nothing); a name and an id are trimmed; a data line loses one leading space.

Source: Canon wire 6.2; canon-adapter R2.11, D23; docs/decisions/0020 for the blanks of data.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from canon_ops.errors import OutsideError

__all__ = ["MAX_FRAME_BYTES", "Frame", "FrameTooLarge", "SseDecoder"]

MAX_FRAME_BYTES = 4 * 1024 * 1024  # a message's text is at most 32 KiB and its metadata 4 Ki units (Canon wire 12)

_BOM = "\ufeff"


class Frame(NamedTuple):
    """One event of the stream. (A named tuple: a decoder makes one for each event, and it costs half a dataclass.)"""

    event: str
    id: str | None
    data: str

    def payload(self) -> Any:
        """The data as JSON, or as it came when it is not JSON."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            return self.data


class FrameTooLarge(OutsideError):
    """The peer sent more than we keep in memory for one frame.

    ``frames`` are the whole ones that came before it.
    """

    code = "stream_frame_too_large"

    def __init__(self, max_frame_bytes: int, frames: Sequence[Frame]) -> None:
        super().__init__(f"The event stream sent a frame of more than {max_frame_bytes:,} bytes.")
        self.max_frame_bytes = max_frame_bytes
        self.frames = tuple(frames)


class SseDecoder:
    """Turns one connection's bytes into frames; make a new one for each connection.

    Args:
        max_frame_bytes: the most one frame may have, line ends counted as one byte and its closing empty line not.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._open = bytearray()  # the unfinished frame, line ends already LF
        self._after_cr = False
        self._at_start = True
        self._failed = False
        self.retry_ms: int | None = None
        """The pause that the peer asked for last (``retry:``), in milliseconds."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes and return the frames that they complete, oldest first.

        Raises:
            FrameTooLarge: one frame is over the limit; nothing can be read from this connection any more.
        """
        if self._failed:
            raise FrameTooLarge(self._max_frame_bytes, ())
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_plain_line_ends(chunk)
        known = len(self._open)
        self._open += chunk if known else chunk.lstrip(b"\n")
        frames: list[Frame] = []
        if b"\n" in chunk:  # by far the fastest question, and without a LF nothing can end
            end = self._open.rfind(b"\n\n", max(0, known - 1))  # the last known byte may be the first of the two
            if end >= 0:
                whole = self._open[: end + 1]
                del self._open[: end + 2]
                if end > self._max_frame_bytes:
                    self._refuse_oversized(whole)
                frames = self._frames(whole)
        if len(self._open) > self._max_frame_bytes + 1:  # one LF more may belong to the closing line
            self._fail(frames)
        return frames

    def _with_plain_line_ends(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _frames(self, whole: bytearray) -> list[Frame]:
        """The frames in whole lines; the last line's LF stands, the empty line after it does not."""
        text = whole.decode("utf-8", "replace")
        if self._at_start:
            text = text.removeprefix(_BOM)
            self._at_start = False
        frames: list[Frame] = []
        event = frame_id = ""
        data: list[str] = []
        for line in text.split("\n"):
            if not line:
                if event and data:
                    frames.append(Frame(event, frame_id or None, "\n".join(data)))
                event = frame_id = ""
                data = []
            elif line.startswith("data:"):
                data.append(line[6:] if line.startswith("data: ") else line[5:])
            elif line.startswith("event:"):
                event = line[6:].strip()
            elif line.startswith("id:"):
                frame_id = line[3:].strip()
            elif line.startswith("retry:") and (pause := line[6:].strip()).isascii() and pause.isdigit():
                self.retry_ms = int(pause[:9])
        return frames

    def _refuse_oversized(self, whole: bytearray) -> None:
        """Fail at the first frame over the limit, handing over the frames before it; without one, return."""
        start = 0
        for block in whole.split(b"\n\n"):
            if len(block.strip(b"\n")) > self._max_frame_bytes:
                self._fail(self._frames(whole[:start]))
            start += len(block) + 2

    def _fail(self, frames: Sequence[Frame]) -> None:
        self._failed = True
        self._open.clear()
        raise FrameTooLarge(self._max_frame_bytes, frames)
