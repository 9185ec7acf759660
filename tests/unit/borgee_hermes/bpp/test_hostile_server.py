"""What a server cannot do to the websocket: fill the memory, unpack anything, or keep the upgrade going for ever."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.frames import Frame, Opcode
from websockets.utils import accept_key

from borgee_hermes.bpp.limits import MAX_INCOMING_BYTES
from borgee_hermes.bpp.wire import DialFailed, MessageTooBig, Wire, dial
from canon_ops.settings.secret import Secret

KEY = Secret("bgr_live_" + "k" * 24)
Talk = Callable[[dict[str, str], asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(talk: Talk) -> AsyncIterator[str]:
    """Reads the upgrade's head and hands it over with the way back."""
    talking: set[asyncio.Task[None]] = set()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking.add(asyncio.current_task())  # type: ignore[arg-type]
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()[1:-1]
            await talk({name.lower(): value for name, _, value in (line.partition(": ") for line in head)}, writer)
            await reader.read()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()
        for task in talking:
            task.cancel()


def switch(head: dict[str, str]) -> bytes:
    accept = accept_key(head["sec-websocket-key"])
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n\r\n"
    ).encode()


async def until_the_end(wire: Wire) -> object:
    while (batch := await wire.read()).end is None:
        continue
    return batch.end


def whole(size: int) -> list[bytes]:
    return [Frame(Opcode.TEXT, b"x" * size).serialize(mask=False)]


def in_pieces(size: int) -> list[bytes]:
    piece = 64 * 1024
    first = Frame(Opcode.TEXT, b"x" * piece, fin=False).serialize(mask=False)
    return [first, *[Frame(Opcode.CONT, b"x" * piece, fin=False).serialize(mask=False)] * (size // piece)]


def only_promised(size: int) -> list[bytes]:
    return [b"\x81\x7f" + (size * 1_000_000).to_bytes(8, "big")]


@pytest.mark.parametrize("make", [whole, in_pieces, only_promised])
async def test_a_message_over_the_limit_ends_the_connection(make: Callable[[int], list[bytes]]) -> None:
    """However it is cut, and before it has come where its length says it all; the limit is what is kept at most."""

    async def talk(head: dict[str, str], writer: asyncio.StreamWriter) -> None:
        writer.write(switch(head))
        for data in make(2 * MAX_INCOMING_BYTES):
            writer.write(data)
            await writer.drain()

    async with server(talk) as url, asyncio.timeout(30):
        wire = await dial(url, KEY)
        tracemalloc.start()
        try:
            end = await until_the_end(wire)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            await wire.let_go()

    assert isinstance(end, MessageTooBig)
    assert most < 6 * MAX_INCOMING_BYTES  # the server's copies are counted too


async def test_no_compression_is_offered() -> None:
    """What is not offered cannot be used: a few bytes never become a message of megabytes."""
    offered: list[str | None] = []

    async def talk(head: dict[str, str], writer: asyncio.StreamWriter) -> None:
        offered.append(head.get("sec-websocket-extensions"))
        writer.write(switch(head).replace(b"\r\n\r\n", b"\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"))

    async with server(talk) as url, asyncio.timeout(30):
        with pytest.raises(DialFailed):
            await dial(url, KEY)

    assert offered == [None]


@pytest.mark.parametrize("line", [b"X-A: b\r\n", b"x" * 4_096], ids=["more and more lines", "one line"])
async def test_a_head_without_an_end_is_no_answer(line: bytes) -> None:
    """The upgrade's answer is read up to a limit."""

    async def talk(_head: dict[str, str], writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\n")
        while True:
            writer.write(line)
            await writer.drain()

    async with server(talk) as url, asyncio.timeout(30):
        with pytest.raises(DialFailed):
            await dial(url, KEY)
