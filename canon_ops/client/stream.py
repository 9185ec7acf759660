"""One connection to Canon's event stream: opened, read, and over in a way that says what to do next.

==========================  =============================================================================
how it ends                 what the caller sees
==========================  =============================================================================
the server finished it      the iteration ends
the server never wants us   :class:`Unauthorized` (401), :class:`Forbidden` (403)
another status              :class:`ApiError` and its kin, with the pause that the server asked for
connection broken           :class:`TransportFailure`
no byte for too long        :class:`StreamIdle`
a frame over the limit      :class:`~canon_ops.wire.sse.FrameTooLarge`, after the frames before it
==========================  =============================================================================

It never reconnects: a supervisor does, with the delays of :func:`canon_ops.wire.retry.reconnect_delays` and the id of
the last event that it has *handled*.

Source: Canon wire 6.1-6.3, 6.6; canon-adapter R2.10-R2.12, D21, D22.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from canon_ops.client.answers import refusal
from canon_ops.client.body import pieces
from canon_ops.client.deadline import within
from canon_ops.client.errors import (
    LOOK_AT_THE_NETWORK,
    ApiError,
    Forbidden,
    RequestFailed,
    TransportFailure,
    Unauthorized,
)
from canon_ops.client.transport import HttpClient, bearer, read_answer, translated
from canon_ops.errors import UnreachableError
from canon_ops.runtime.clock import Clock
from canon_ops.settings.environments import Connection
from canon_ops.settings.secret import Secret
from canon_ops.wire.sse import MAX_FRAME_BYTES, Frame, FrameTooLarge, SseDecoder

if TYPE_CHECKING:
    import httpx

__all__ = [
    "ApiError",
    "EventStream",
    "Forbidden",
    "FrameTooLarge",
    "RequestFailed",
    "StreamIdle",
    "TransportFailure",
    "Unauthorized",
    "open_stream",
]

FAMILIES = "messages,contacts,typing_presence,runtime_turn,voice"  # Canon wire 12.4
IDLE_TIMEOUT_S = 60.0  # a server sends a keep-alive every 15…25 s, Canon wire 6.2
CONNECT_TIMEOUT_S = 30.0
_ERROR_BYTES = 64 * 1024
_NAME = "GET /agents/stream"


class StreamIdle(UnreachableError):
    """The connection is up, but not even a keep-alive came: most likely the other end is gone."""

    code = "stream_idle"

    def __init__(self, idle_timeout_s: float) -> None:
        super().__init__(f"Canon's event stream was silent for {idle_timeout_s:g} s.", fix=LOOK_AT_THE_NETWORK)
        self.idle_timeout_s = idle_timeout_s


class EventStream:
    """An open stream: iterate over its frames, once, inside the block of :func:`open_stream`."""

    def __init__(self, response: httpx.Response, *, clock: Clock, idle_timeout_s: float, max_frame_bytes: int) -> None:
        self._chunks = pieces(response)
        self._clock = clock
        self._idle_timeout_s = idle_timeout_s
        self._decoder = SseDecoder(max_frame_bytes)
        self._whole: Iterator[Frame] = iter(())
        self._failure: FrameTooLarge | None = None

    @property
    def retry_s(self) -> float | None:
        """The pause before the next connect that the server asked for in the stream, in seconds."""
        return None if self._decoder.retry_ms is None else self._decoder.retry_ms / 1000

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Frame:
        while True:
            for frame in self._whole:
                return frame
            if self._failure is not None:
                raise self._failure
            chunk = await self._next_chunk()
            if chunk is None:
                raise StopAsyncIteration
            self._decode(chunk)

    async def _next_chunk(self) -> bytes | None:
        """The next bytes, None at the end; the time that the caller takes for a frame does not count as silence."""

        async def read() -> bytes | None:
            with translated(_NAME):
                return await anext(self._chunks, None)

        try:
            return await within(self._clock, self._idle_timeout_s, read())
        except TimeoutError:
            raise StreamIdle(self._idle_timeout_s) from None

    def _decode(self, chunk: bytes) -> None:
        try:
            self._whole = iter(self._decoder.feed(chunk))
        except FrameTooLarge as error:
            self._whole, self._failure = iter(error.frames), error


@asynccontextmanager
async def open_stream(
    connection: Connection,
    api_key: Secret,
    *,
    clock: Clock,
    last_event_id: str | None = None,
    idle_timeout_s: float = IDLE_TIMEOUT_S,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[EventStream]:
    """Connect, and close the connection when the block is left: ``async with open_stream(…) as stream``.

    Args:
        last_event_id: the last event that was handled; the server replays what came after it.
        idle_timeout_s: how long the connection may stay silent, the wait for its first byte included.
        max_frame_bytes: the most that one frame may have.
        transport: an httpx transport instead of the network.

    Raises:
        RequestFailed: the server refused, or no connection came about; see the table above.
        StreamIdle: the server took the connection and did not answer.
    """
    http = HttpClient(timeout_s=CONNECT_TIMEOUT_S, endless_reads=True, transport=transport)
    try:
        opening = http.open(
            "GET",
            f"{connection.stream_url}/agents/stream",
            name=_NAME,
            headers=_headers(api_key, last_event_id),
            params={"events": FAMILIES},
        )
        try:
            response = await within(clock, idle_timeout_s, opening)
            if response.status_code != 200:
                answer = await within(clock, idle_timeout_s, read_answer(response, name=_NAME, max_bytes=_ERROR_BYTES))
                raise refusal(answer, name=_NAME, secrets=(api_key,), now_ms=clock.now_ms())
        except TimeoutError:
            raise StreamIdle(idle_timeout_s) from None
        yield EventStream(response, clock=clock, idle_timeout_s=idle_timeout_s, max_frame_bytes=max_frame_bytes)
    finally:
        await http.aclose()


def _headers(api_key: Secret, last_event_id: str | None) -> dict[str, str]:
    headers = {
        **bearer(api_key),
        "Accept": "text/event-stream",
        "Accept-Encoding": "identity",  # a compressor on the way would hold frames back
        "Content-Type": "application/json",
    }
    if last_event_id and last_event_id.isprintable():  # an id with a line break in it cannot be sent back
        headers["Last-Event-ID"] = last_event_id
    return headers
