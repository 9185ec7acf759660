"""The bytes of an answer without their compression, a piece at a time.

httpx undoes compression itself, and does it without a limit: fifteen hundred bytes that were packed twice become a
gigabyte before anybody can count them. So the packed bytes are read here, one layer of gzip or deflate is undone in
pieces of a fixed size, and whoever reads can stop after any of them. Nothing else was asked for (ACCEPTED).

Source: Canon wire 2.2; docs/security.md, the network.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

__all__ = ["ACCEPTED", "Packed", "Unpacker", "pieces"]

ACCEPTED = "gzip, deflate"
PIECE_BYTES = 256 * 1024

_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_RAW = -15  # deflate without its frame, as some servers send it


class Packed(Exception):
    """The compression cannot be undone: it is broken, of a kind that was not asked for, or one inside another."""


class Unpacker:
    """Undoes one layer of compression.

    Args:
        encoding: the ``Content-Encoding`` of the answer; empty or ``identity`` leaves the bytes alone.

    Raises:
        Packed: it is of another kind.
    """

    def __init__(self, encoding: str) -> None:
        self._kind = encoding.strip().lower()
        self._inflater: zlib._Decompress | None = None
        self._is_begun = False
        if self._kind in ("", "identity"):
            return
        if self._kind not in _WINDOWS:
            raise Packed(self._kind)
        self._inflater = zlib.decompressobj(_WINDOWS[self._kind])

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The next bytes, unpacked, in pieces of at most :data:`PIECE_BYTES` (untouched bytes come as they are).

        Raises:
            Packed: they are broken.
        """
        if self._inflater is None:
            yield data
            return
        while data:
            piece = self._inflate(data)
            data = self._inflater.unconsumed_tail
            if piece:
                yield piece

    def end(self) -> bytes:
        """What is left when all has come; less than a piece."""
        return b"" if self._inflater is None else self._inflater.flush()

    def _inflate(self, data: bytes) -> bytes:
        assert self._inflater is not None  # noqa: S101  # feed has looked
        is_first, self._is_begun = not self._is_begun, True
        try:
            return self._inflater.decompress(data, PIECE_BYTES)
        except zlib.error as exc:
            if not (is_first and self._kind == "deflate"):
                raise Packed(str(exc)) from exc
        self._inflater = zlib.decompressobj(_RAW)
        return self._inflate(data)


async def pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body of an open answer as it comes, unpacked; what httpx raises passes through.

    Raises:
        Packed: the compression cannot be undone.
    """
    unpacker = Unpacker(response.headers.get("content-encoding", ""))
    async for chunk in response.aiter_raw():
        for piece in unpacker.feed(chunk):
            yield piece
    if last := unpacker.end():
        yield last
