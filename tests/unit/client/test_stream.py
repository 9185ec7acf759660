"""One connection to the event stream, over a real socket."""

from __future__ import annotations

import asyncio

import pytest

from canon_ops.client.errors import ApiError, Forbidden, Redirected, ServiceTrouble, TransportFailure, Unauthorized
from canon_ops.client.stream import IDLE_TIMEOUT_S, StreamIdle, open_stream
from canon_ops.runtime.clock import ManualClock, SystemClock
from canon_ops.wire.sse import Frame, FrameTooLarge
from tests.support.canon_wire import KEY, a_connection
from tests.support.loopback import Exchange, answer, loopback, until


def frame(number: int) -> bytes:
    return f"id: evt_{number}\nevent: message.created\ndata: {number}\n\n".encode()


async def test_frames_arrive_and_a_clean_end_ends_the_iteration() -> None:
    """What the server writes is read, however it is cut, and a finished response is not an error."""

    async def script(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.send_chunk(b": hi\n\n" + frame(1) + frame(2)[:20])
        await exchange.send_chunk(frame(2)[20:] + b"retry: 1500\n\n")
        await exchange.end_stream()

    async with loopback(script) as box, open_stream(a_connection(box.url), KEY, clock=SystemClock()) as stream:
        frames = [one async for one in stream]

    assert frames == [Frame("message.created", "evt_1", "1"), Frame("message.created", "evt_2", "2")]
    assert stream.retry_s == 1.5


def test_the_idle_limit_is_over_the_slowest_heartbeat() -> None:
    """BR-50: a keep-alive may take 25 s; two of them missing is silence enough."""
    assert 2 * 25 <= IDLE_TIMEOUT_S <= 60


async def test_the_request_carries_the_key_the_families_and_the_cursor() -> None:
    """The stream is asked for at its own address, with everything Canon expects, and no media type by accident."""
    async with loopback(answer(200)) as box:
        connection = a_connection("http://127.0.0.1:1", box.url)
        async with open_stream(connection, KEY, clock=SystemClock(), last_event_id="evt_1:é"):
            pass

    [request] = box.requests
    assert request.target == "/agents/stream?events=messages%2Ccontacts%2Ctyping_presence%2Cruntime_turn%2Cvoice"
    assert request.headers["authorization"] == f"Bearer {KEY.reveal()}"
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["accept-encoding"] == "identity", "a compressor would hold frames back"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["last-event-id"].encode("latin-1").decode() == "evt_1:é"


@pytest.mark.parametrize("cursor", [None, "", "evt\r\nX-Injected: 1"], ids=["none", "empty", "unsendable"])
async def test_without_a_usable_cursor_none_is_sent(cursor: str | None) -> None:
    """A cursor that no header can carry is left out rather than sent in part."""
    async with (
        loopback(answer(200)) as box,
        open_stream(a_connection(box.url), KEY, clock=SystemClock(), last_event_id=cursor),
    ):
        pass

    assert "last-event-id" not in box.requests[0].headers
    assert "x-injected" not in box.requests[0].headers


@pytest.mark.parametrize(
    ("status", "error", "retryable"),
    [
        (401, Unauthorized, False),
        (403, Forbidden, False),
        (404, ApiError, False),
        (429, ServiceTrouble, True),
        (503, ServiceTrouble, True),
        (302, Redirected, False),
        (204, ApiError, False),
    ],
)
async def test_a_refusal_says_what_to_do_next(status: int, error: type[ApiError], retryable: bool) -> None:
    """401 and 403 are told apart from trouble that passes, and the server's pause comes along."""
    body = None if status == 204 else {"error": "no", "code": "WORD"}
    refuse = answer(status, body, headers={"Retry-After": "7", "Location": "http://127.0.0.1/elsewhere"})
    async with loopback(refuse) as box:
        with pytest.raises(ApiError) as raised:
            async with open_stream(a_connection(box.url), KEY, clock=SystemClock()):
                pass

    assert type(raised.value) is error
    assert (raised.value.status, raised.value.retryable, raised.value.retry_after_s) == (status, retryable, 7)
    assert len(box.requests) == 1


async def test_a_broken_connection_is_no_clean_end() -> None:
    """A socket that is reset in the middle raises, after the frames that were whole."""

    async def script(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.send_chunk(frame(1))
        await asked.wait()
        exchange.reset()

    asked = asyncio.Event()
    frames = []
    async with loopback(script) as box:
        with pytest.raises(TransportFailure):
            async with open_stream(a_connection(box.url), KEY, clock=SystemClock()) as stream:
                async for one in stream:
                    frames.append(one)
                    asked.set()

    assert [one.id for one in frames] == ["evt_1"]


async def test_a_body_cut_short_is_no_clean_end() -> None:
    """BR-50: A connection that closes without the closing chunk raises, although no reset was seen."""

    async def script(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.send_chunk(frame(1))
        exchange.writer.close()

    async with loopback(script) as box:
        with pytest.raises(TransportFailure):
            async with open_stream(a_connection(box.url), KEY, clock=SystemClock()) as stream:
                async for _ in stream:
                    pass


async def test_nobody_listening_is_a_transport_failure() -> None:
    """An address without a server is told apart from a server that refuses."""
    async with loopback(answer(200)) as box:
        url = box.url
    with pytest.raises(TransportFailure) as raised:
        async with open_stream(a_connection(url), KEY, clock=SystemClock()):
            pass

    assert raised.value.retryable


async def test_a_silent_connection_is_given_up() -> None:
    """BR-50: After the idle time without a byte the stream is over, and the server sees the connection close."""
    closed = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.send_chunk(b": hi\n\n" + frame(1))
        await exchange.closed_by_client()
        closed.set()

    clock = ManualClock()
    async with loopback(script) as box:
        with pytest.raises(StreamIdle, match="60 s"):
            async with open_stream(a_connection(box.url), KEY, clock=clock) as stream:
                await anext(stream)
                waiting = asyncio.ensure_future(anext(stream))
                await until(lambda: clock.sleepers)
                await clock.advance(59)
                assert not waiting.done()
                await clock.advance(1)
                await waiting
        async with asyncio.timeout(5):
            await closed.wait()


async def test_time_that_the_caller_takes_is_not_silence() -> None:
    """A slow handler does not make the stream idle."""

    async def script(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.send_chunk(frame(1) + frame(2))
        await exchange.end_stream()

    clock = ManualClock()
    seen = []
    async with loopback(script) as box, open_stream(a_connection(box.url), KEY, clock=clock) as stream:
        async for one in stream:
            await clock.advance(1_000)
            seen.append(one.id)

    assert seen == ["evt_1", "evt_2"]


async def test_a_server_that_takes_the_connection_and_says_nothing_is_given_up() -> None:
    """The wait for the head of the answer counts as silence too."""

    async def script(exchange: Exchange) -> None:
        await exchange.closed_by_client()

    clock = ManualClock()
    async with loopback(script) as box:

        async def connect() -> None:
            async with open_stream(a_connection(box.url), KEY, clock=clock, idle_timeout_s=5):
                pass

        connecting = asyncio.ensure_future(connect())
        await until(lambda: box.requests)
        await clock.advance(5)
        with pytest.raises(StreamIdle):
            await connecting


async def test_a_frame_over_the_limit_ends_the_stream_after_the_frames_before_it() -> None:
    """Memory stays bounded, and nothing that was whole is lost."""

    async def script(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.send_chunk(frame(1) + b"data: " + b"x" * 200)
        await exchange.closed_by_client()

    seen = []
    async with loopback(script) as box:
        with pytest.raises(FrameTooLarge):
            async with open_stream(a_connection(box.url), KEY, clock=SystemClock(), max_frame_bytes=100) as stream:
                async for one in stream:
                    seen.append(one.id)

    assert seen == ["evt_1"]


async def test_leaving_the_block_closes_the_connection() -> None:
    """No socket is left behind when a supervisor cancels the reader in the middle."""
    closed = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.open_stream()
        await exchange.closed_by_client()
        closed.set()

    async with loopback(script) as box:

        async def read() -> None:
            async with open_stream(a_connection(box.url), KEY, clock=SystemClock()) as stream:
                opened.set()
                async for _ in stream:
                    pass

        opened = asyncio.Event()
        reading = asyncio.ensure_future(read())
        async with asyncio.timeout(5):
            await opened.wait()
            reading.cancel()
            await closed.wait()
        assert (await asyncio.gather(reading, return_exceptions=True))[0].__class__ is asyncio.CancelledError
