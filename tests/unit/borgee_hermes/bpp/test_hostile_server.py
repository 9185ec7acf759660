"""What a server cannot do to the client: fill its memory, unpack anything, keep the upgrade going for ever, or end it
by saying much at once."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.frames import Frame, Opcode
from websockets.utils import accept_key

from borgee_hermes.bpp.client import BppClient, BppOptions
from borgee_hermes.bpp.limits import MAX_INCOMING_BYTES, Limits
from borgee_hermes.bpp.state import Status
from borgee_hermes.bpp.wire import DialFailed, MessageTooBig, Wire, dial
from canon_ops.runtime.clock import SystemClock
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


def said(number: int) -> bytes:
    """A message of a person, as it comes over the wire."""
    frame = {
        "type": "inbound_message",
        "kind": "message",
        "channel_id": f"ch-{number % 64}",
        "channel_type": "channel",
        "message_id": f"m-{number}",
        "author_id": "u-1",
        "author_name": "Ada",
        "body": "hello",
        "created_at": 1_700_000_000_000,
    }
    return Frame(Opcode.TEXT, json.dumps(frame).encode()).serialize(mask=False)


def behind(url: str, **limits: float) -> BppClient:
    options = BppOptions(base_url=url, api_key=KEY, agent_id="agent-1", limits=Limits(**limits))  # type: ignore[arg-type]
    return BppClient(options, clock=SystemClock())


@pytest.mark.parametrize("count", [513, 5_000])
async def test_a_burst_that_comes_at_once_is_taken_over_whole(count: int) -> None:
    """A network that was away, or a host that held the loop, brings more in one piece than the buffer has room for; a
    receiver that is at work gets all of it, in order."""

    async def talk(head: dict[str, str], writer: asyncio.StreamWriter) -> None:
        writer.write(switch(head) + b"".join(map(said, range(count))))
        await writer.drain()

    async with server(talk) as url, asyncio.timeout(30):
        client = behind(url)
        await client.connect()
        taken: list[str] = []
        async for burst in client.bursts():
            await asyncio.sleep(0)  # its write to the disk
            taken += [event.message_id for event in burst.events]
            await burst.checkpoint()
            if len(taken) == count:
                break
        assert client.state.status is Status.ONLINE
        await client.close()

    assert taken == [f"m-{number}" for number in range(count)]


async def test_a_receiver_that_stands_still_ends_the_client() -> None:
    """The server is not held up for ever; what was received before is still there (W-23)."""

    async def talk(head: dict[str, str], writer: asyncio.StreamWriter) -> None:
        writer.write(switch(head) + b"".join(map(said, range(513))))
        await writer.drain()

    async with server(talk) as url, asyncio.timeout(30):
        client = behind(url, takeover_s=0.05)
        await client.connect()
        states = [state async for state in client.state_changes()]
        taken = []
        async for delivery in client.deliveries():
            await delivery.checkpoint()
            taken.append(delivery.event.message_id)
        await client.close()

    assert (states[-1].status, states[-1].code) == (Status.ERROR, "bpp.protocol_capacity")
    assert taken == [f"m-{number}" for number in range(512)]
