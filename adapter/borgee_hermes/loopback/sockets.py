"""The I/O of the Borgee server: accepts, reads, and carries out what the engine orders, also what no server should do.

Well-formed messages go through the library; everything else is bytes that this module writes to the socket itself. The
only home of ``websockets`` on the server's side. Source: Borgee 1.2, 1.16.
"""

from __future__ import annotations

import asyncio
import logging
import socket as sockets
import struct
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response

from borgee_hermes.loopback.engine import Accept, Engine, Socket
from borgee_hermes.loopback.fault_actions import Break, Refuse, Unanswered
from borgee_hermes.loopback.orders import Cut, Freeze, Goodbye, Order, Pause, Put
from canon_ops.sandbox.serving import reset

__all__ = ["Listener"]

CLOSE_S: Final = 1.0
HANG_S: Final = 3_600.0
PIECE_CHARS: Final = 7


class Listener:
    """The websocket listener of one engine; lives on the loop that started it."""

    def __init__(self, engine: Engine, sock: sockets.socket) -> None:
        self._engine = engine
        self._sock = sock
        self._server: Server | None = None
        self._accepted: dict[ServerConnection, Accept | Socket] = {}
        self._watching: set[asyncio.Task[None]] = set()
        quiet = logging.getLogger(f"{__name__}.library")
        quiet.disabled = True  # broken connections are what this server is for
        self._quiet = quiet

    async def start(self) -> None:
        """Listen."""
        self._server = await serve(
            self._serve,
            sock=self._sock,
            process_request=self._answer_upgrade,
            open_timeout=None,
            ping_interval=None,
            close_timeout=CLOSE_S,
            logger=self._quiet,
        )

    async def stop(self) -> None:
        """Throw every connection away and stop listening; the engine has let its writers go before."""
        if self._server is not None:
            self._server.close(close_connections=False)
            for connection in list(self._server.connections):
                connection.transport.abort()
            await self._server.wait_closed()
        await asyncio.gather(*self._watching)

    # An upgrade -----------------------------------------------------------------------------------------------------

    async def _answer_upgrade(self, connection: ServerConnection, request: Request) -> Response | None:
        headers = {name.lower(): value for name, value in request.headers.raw_items()}
        verdict, late_s = self._engine.upgrade(request.path, headers)
        if late_s:
            await self._engine.pause(late_s)
        match verdict:
            case Accept():
                self._accept(connection, verdict)
                return None
            case Refuse(status, more, body):
                data = body.encode()
                fields = {"Content-Length": str(len(data)), "Content-Type": "text/plain", "Connection": "close", **more}
                return Response(status, HTTPStatus(status).phrase, Headers(fields), data)
            case Unanswered():
                await self._engine.pause(HANG_S)
            case Break("end"):
                connection.transport.close()
            case Break():
                reset(connection.transport)
        return Response(503, "Service Unavailable", Headers())

    def _accept(self, connection: ServerConnection, verdict: Accept) -> None:
        """Count the connection before the answer is out: a client is online as soon as it has read that, and what is
        said then is for it."""
        if verdict.agent is None:
            self._accepted[connection] = verdict
            return
        self._accepted[connection] = self._engine.open(verdict.agent)
        watching = asyncio.ensure_future(self._forget_when_lost(connection))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)

    async def _forget_when_lost(self, connection: ServerConnection) -> None:
        """A client that went away before it was answered leaves no connection behind."""
        await connection.wait_closed()
        accepted = self._accepted.pop(connection, None)
        if isinstance(accepted, Socket):
            self._engine.closed(accepted, connection.close_code)

    # A connection ---------------------------------------------------------------------------------------------------

    async def _serve(self, connection: ServerConnection) -> None:
        accepted = self._accepted.pop(connection, None)
        if not isinstance(accepted, Socket):
            if accepted and isinstance(accepted.first, Goodbye) and accepted.first.code is not None:
                await connection.close(accepted.first.code)
            return
        try:
            await self._live(connection, accepted)
        except Exception as exc:  # the outermost edge: a bug of the sandbox must not look like trouble on the wire
            self._engine.failures.append(exc)
            raise

    async def _live(self, connection: ServerConnection, socket: Socket) -> None:
        writing = asyncio.ensure_future(self._write(connection, socket))
        try:
            await self._read(connection, socket)
        finally:
            writing.cancel()
            await asyncio.wait({writing})
            self._engine.closed(socket, connection.close_code)
        if not writing.cancelled():
            writing.result()

    async def _read(self, connection: ServerConnection, socket: Socket) -> None:
        with suppress(ConnectionClosed):
            async for message in connection:
                if socket.is_frozen or socket.is_over:
                    continue
                stalled_s = self._engine.incoming(socket, message)
                if stalled_s:
                    connection.transport.pause_reading()
                    await self._engine.pause(stalled_s)
                    connection.transport.resume_reading()

    async def _write(self, connection: ServerConnection, socket: Socket) -> None:
        writer = _Writer(self._engine, connection)
        while not self._engine.closing:
            while socket.orders:
                order = socket.orders.popleft()
                with suppress(ConnectionClosed):
                    await writer.carry_out(order)
                socket.is_over = socket.is_over or writer.has_said_goodbye
            await socket.wake.wait()
            socket.wake.clear()


class _Writer:
    """Carries orders out, one after the other."""

    def __init__(self, engine: Engine, connection: ServerConnection) -> None:
        self._engine = engine
        self._connection = connection
        self._is_frozen = False
        self.has_said_goodbye = False

    async def carry_out(self, order: Order) -> None:
        transport = self._connection.transport
        match order:
            case Cut("end"):
                transport.close()
            case Cut():
                reset(transport)
            case _ if self._is_frozen:
                pass
            case Put(data, how):
                await self._put(data, how)
            case Goodbye(code, how):
                await self._say_goodbye(code, how)
            case Freeze():
                self._is_frozen = True
                transport.pause_reading()
            case Pause(seconds):
                await self._engine.pause(seconds)

    async def _put(self, data: bytes, how: str) -> None:
        if how == "binary":
            await self._connection.send(data)
        elif how == "fragments":
            text = data.decode()
            await self._connection.send(text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))
        elif how == "text" and not self.has_said_goodbye and (whole := _text(data)) is not None:
            await self._connection.send(whole)
        else:
            await self._put_raw(data, how)

    async def _put_raw(self, data: bytes, how: str) -> None:
        raw = Frame(Opcode.TEXT, data).serialize(mask=False)
        if how == "bad-opcode":
            raw = bytes([0x83, *raw[1:]])  # 3 is reserved
        if how == "half":
            raw = raw[: len(raw) // 2]
        step = 1 if how == "bytewise" else len(raw)
        for start in range(0, len(raw), step):
            self._write_bytes(raw[start : start + step])
            await asyncio.sleep(0)

    def _write_bytes(self, data: bytes) -> None:
        """Past the library, which may have ended its side of the connection already."""
        with suppress(RuntimeError):
            self._connection.transport.write(data)

    async def _say_goodbye(self, code: int | None, how: str) -> None:
        self.has_said_goodbye = True
        if how == "proper" and code is not None:
            await self._connection.close(code)
            return
        payload = b"" if code is None else struct.pack("!H", code)
        self._write_bytes(Frame(Opcode.CLOSE, payload).serialize(mask=False))
        if how == "proper":
            self._connection.transport.close()


def _text(data: bytes) -> str | None:
    """The text that the library may write; None when there is none in these bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
