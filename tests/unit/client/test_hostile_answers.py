"""What an answer cannot do: fill the memory, hold a request for ever, or write lines of its own into a log."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from canon_ops.client.body import PIECE_BYTES, Packed, Unpacker
from canon_ops.client.errors import ApiError, MalformedAnswer, TransportFailure
from canon_ops.client.stream import open_stream
from canon_ops.client.transport import HttpClient
from canon_ops.runtime.clock import SystemClock
from canon_ops.wire.retry import TransportKind
from canon_ops.wire.sse import FrameTooLarge
from tests.support.canon_wire import KEY, a_connection
from tests.support.loopback import Exchange, answer, loopback
from tests.unit.client.test_transport import api_at

NOUGHTS = b"0" * (64 * 1024 * 1024)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("X-GZip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate)],
    ids=["gzip", "gzip by its old name", "deflate", "deflate without its frame"],
)
async def test_one_layer_of_compression_is_undone(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    """What was asked for is read, however long it is beside one piece."""
    text = b'{"id": "' + b"a" * (3 * PIECE_BYTES) + b'"}'
    packed = answer(200, raw=pack(text), headers={"Content-Encoding": encoding})
    async with loopback(packed) as box:
        http = HttpClient(timeout_s=5)

        found = await http.request("GET", box.url, name="GET /", headers={})

        assert found.content == text
        await http.aclose()


@pytest.mark.parametrize(
    ("encoding", "body", "why"),
    [
        ("gzip", gzip.compress(NOUGHTS, 9), "larger than 1,000,000 bytes"),
        ("gzip, gzip", gzip.compress(gzip.compress(NOUGHTS, 9), 9), "compressed"),
        ("br", b"\x0b\x02\x80abc\x03", "compressed"),
        ("deflate, gzip", b"x", "compressed"),
    ],
    ids=["a bomb", "a bomb in a bomb", "another compression", "two compressions"],
)
async def test_a_packed_answer_never_fills_the_memory(encoding: str, body: bytes, why: str) -> None:
    """Sixty-four megabytes packed into some bytes cost no more than the limit and a piece; the call fails."""
    async with loopback(answer(200, raw=body, headers={"Content-Encoding": encoding})) as box:
        http = HttpClient(timeout_s=30, max_answer_bytes=1_000_000)
        tracemalloc.start()
        try:
            with pytest.raises(MalformedAnswer, match=why):
                await http.request("GET", box.url, name="GET /", headers={})
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            await http.aclose()

    assert most < 8_000_000


async def test_a_packed_stream_never_fills_the_memory() -> None:
    """The event stream is read in pieces too: a frame over its limit ends it before the next piece is unpacked."""
    body = gzip.compress(b"data:" + NOUGHTS, 9)
    packed = answer(200, raw=body, headers={"Content-Encoding": "gzip", "Content-Type": "text/event-stream"})
    async with loopback(packed) as box:
        tracemalloc.start()
        try:
            with pytest.raises(FrameTooLarge):
                async with open_stream(a_connection(box.url), KEY, clock=SystemClock()) as stream:
                    async for _ in stream:
                        pass
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert most < 24_000_000  # the limit of a frame is four million


def test_a_broken_packing_is_told() -> None:
    """Bytes that stop being what they began as end the reading."""
    whole = gzip.compress(b"abc" * 10_000)
    unpacker = Unpacker("gzip")

    with pytest.raises(Packed):
        list(unpacker.feed(whole[:20] + b"\xff" * 50))


@pytest.mark.parametrize("head", [True, False], ids=["in its body", "in its head"])
async def test_a_byte_now_and_then_does_not_hold_a_request(head: bool) -> None:
    """Each byte comes well within the limit of a read; the whole has a limit all the same."""

    async def drip(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 9000\r\n\r\n" if head else b"X-A: "))
        while True:
            await exchange.send(b"x")
            await asyncio.sleep(0.02)

    async with loopback(drip) as box, asyncio.timeout(60):
        http = HttpClient(timeout_s=0.25)

        with pytest.raises(TransportFailure) as raised:
            await http.request("GET", box.url, name="GET /", headers={})

        await http.aclose()

    assert raised.value.kind is TransportKind.READ_TIMEOUT


async def test_what_a_server_says_stays_on_one_line() -> None:
    """Its words go into logs and onto screens: no line end, no escape, no turned writing; at most 500 characters."""
    said = "no\n2026-01-01 00:00:00,000 ERROR gateway: forged\x1b[2J\u202e" + "x" * 5_000
    async with loopback(answer(400, {"error": said})) as box, api_at(box.url) as api:
        with pytest.raises(ApiError) as raised:
            await api.me()

    assert raised.value.message.startswith("no 2026-01-01")
    assert raised.value.message.isprintable() and len(raised.value.message) == 500
