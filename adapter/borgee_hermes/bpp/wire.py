"""One websocket, from dial to end: bytes on one side, whole messages on the other.

It is built on the I/O-free half of ``websockets``, because this side wants to decide by itself what the library's own
client decides: redirects and proxies are not followed (the key would travel along), a frame is either handed to the
kernel or still ours to withdraw, and silence is judged by the session. Everything that can go wrong is one of four
exceptions or one of the ends of :meth:`Wire.read`.

``websockets`` is imported at the first dial. Source: Borgee 1.2, W3b, W5, W21.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from borgee_hermes.bpp.errors import FrameShape, ProtocolError
from borgee_hermes.bpp.limits import MAX_INCOMING_BYTES
from canon_ops.settings.secret import Secret

if TYPE_CHECKING:
    from websockets.client import ClientProtocol

__all__ = ["Batch", "Dial", "DialFailed", "DialRefused", "Ended", "MessageTooBig", "Wire", "dial"]

PATH: Final = "/ws/plugin"
_READ_BYTES: Final = 256 * 1024


class DialFailed(Exception):
    """No connection came about; the text says why and holds no secret."""


class DialRefused(Exception):
    """The server answered the upgrade with a plain HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class MessageTooBig(Exception):
    """A message over the bound came in, or started to."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The connection is over; ``code`` is the server's close code, None when it sent none."""

    code: int | None


@dataclass(frozen=True, slots=True)
class Batch:
    """What came in with some bytes: whole messages, perhaps none, and perhaps the end after them."""

    messages: tuple[bytes, ...]
    end: Ended | MessageTooBig | ProtocolError | None = None


class Wire:
    """An open connection. One reader and one writer may use it at a time."""

    def __init__(self, protocol: ClientProtocol, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._protocol = protocol
        self._reader = reader
        self._writer = writer
        self._pieces: list[bytes] = []
        writer.transport.set_write_buffer_limits(high=0)  # drain() then means: the kernel has all of it

    async def read(self) -> Batch:
        """Wait for bytes and give what they complete. After a batch with an end there is nothing more to read."""
        batch = self._collect()  # the server may have spoken together with the upgrade
        if batch.messages or batch.end:
            return batch
        try:
            data = await self._reader.read(_READ_BYTES)
        except OSError:
            return Batch((), Ended(None))
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        self._flush()  # pongs, and the echo of a close frame
        batch = self._collect()
        return batch if data or batch.end else Batch(batch.messages, Ended(None))

    def write(self, message: bytes) -> None:
        """Hand a text message over; it counts as sent."""
        if self._protocol.state.name == "OPEN":
            self._protocol.send_text(message)
            self._flush()

    def ping(self) -> None:
        """Ask for a sign of life; the answer shows as bytes that were read."""
        if self._protocol.state.name == "OPEN":
            self._protocol.send_ping(b"")
            self._flush()

    @property
    def has_unsent(self) -> bool:
        """The kernel has not taken everything yet."""
        return self._writer.transport.get_write_buffer_size() > 0

    async def drain(self) -> None:
        """Return when the kernel has everything, or the connection is gone."""
        try:
            await self._writer.drain()
        except OSError:
            return

    def close(self, code: int) -> None:
        """Say goodbye; what comes until the other end hangs up can still be read. :meth:`let_go` afterwards."""
        if self._protocol.state.name == "OPEN":
            self._protocol.send_close(code)
            self._flush()

    async def let_go(self) -> None:
        """Throw the socket away and return when it is gone; safe to repeat."""
        await _let_go(self._writer)

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)
            elif self._writer.can_write_eof() and not self._writer.is_closing():
                with suppress(OSError):  # the other end was faster: there is nobody left to be told
                    self._writer.write_eof()

    def _collect(self) -> Batch:
        from websockets.exceptions import PayloadTooBig
        from websockets.frames import Frame, Opcode

        messages: list[bytes] = []
        for event in self._protocol.events_received():
            if not isinstance(event, Frame) or event.opcode not in {Opcode.TEXT, Opcode.BINARY, Opcode.CONT}:
                continue
            self._pieces.append(bytes(event.data))
            if event.fin:
                messages.append(b"".join(self._pieces))
                self._pieces.clear()
        if (close := self._protocol.close_rcvd) is not None:
            return Batch(tuple(messages), Ended(close.code))
        match self._protocol.parser_exc:
            case None:
                return Batch(tuple(messages))
            case PayloadTooBig():
                return Batch(tuple(messages), MessageTooBig())
            case EOFError():
                return Batch(tuple(messages), Ended(None))
            case broken:
                return Batch(tuple(messages), FrameShape(f"Borgee broke the websocket protocol: {broken}."))


Dial = Callable[[], Awaitable[Wire]]


async def dial(base_url: str, api_key: Secret) -> Wire:
    """Connect, upgrade, and give the open connection. It has no time limit of its own: cancel it.

    Args:
        base_url: the canonical origin, ``https://host[:port]`` or ``http://…`` on loopback.

    Raises:
        DialRefused: a plain HTTP answer.
        DialFailed: anything else.
    """
    from websockets.client import ClientProtocol
    from websockets.uri import parse_uri

    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    uri = parse_uri(f"{'wss' if secure else 'ws'}://{parts.netloc}{PATH}")
    context = await asyncio.to_thread(ssl.create_default_context) if secure else None  # reads files
    try:
        reader, writer = await asyncio.open_connection(
            uri.host, uri.port, ssl=context, server_hostname=uri.host if secure else None
        )
    except (OSError, ValueError) as exc:  # a ValueError is a host name that has no encoding
        raise DialFailed(_why(exc)) from exc
    try:
        protocol = ClientProtocol(uri, max_size=MAX_INCOMING_BYTES)
        request = protocol.connect()
        request.headers["Authorization"] = f"Bearer {api_key.reveal()}"
        protocol.send_request(request)
        await _upgrade(protocol, reader, writer)
    except BaseException:
        await _let_go(writer)
        raise
    return Wire(protocol, reader, writer)


async def _upgrade(protocol: ClientProtocol, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    from websockets.exceptions import InvalidStatus

    while True:
        for data in protocol.data_to_send():
            if data:
                writer.write(data)
        if isinstance(protocol.handshake_exc, InvalidStatus):
            raise DialRefused(protocol.handshake_exc.response.status_code)
        if protocol.handshake_exc is not None:
            raise DialFailed("what answers there does not speak this protocol") from protocol.handshake_exc
        if protocol.state.name != "CONNECTING":
            return
        try:
            data = await reader.read(_READ_BYTES)
        except OSError as exc:
            raise DialFailed(_why(exc)) from exc
        if not data:
            raise DialFailed("the connection was closed before it was answered")
        protocol.receive_data(data)


async def _let_go(writer: asyncio.StreamWriter) -> None:
    """End a connection at once. Waiting for its end also takes note of its error, which asyncio would report later."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


def _why(error: OSError | ValueError) -> str:
    """What happened, in the system's words; asyncio puts addresses of its own in their place."""
    number = getattr(error, "errno", None)
    if isinstance(number, int) and number > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(number)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
