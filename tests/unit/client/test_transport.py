"""Real sockets: what a broken connection becomes, what is not loaded early, and where a proxy is not asked."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from canon_ops.client.api import CanonApi
from canon_ops.client.deadline import within
from canon_ops.client.errors import MalformedAnswer, TransportFailure
from canon_ops.client.transport import HttpClient
from canon_ops.runtime.clock import ManualClock, SystemClock
from canon_ops.settings.secret import Secret
from canon_ops.wire.requests import SendMessage, Typing
from canon_ops.wire.retry import TransportKind
from tests.support.canon_wire import KEY, InstantClock, a_connection
from tests.support.gateways import sandbox_connection
from tests.support.loopback import Exchange, answer, loopback, until
from tests.support.sandboxes import canon_box

WITH_ID = SendMessage("c1", "hi", message_id="m1")
WITHOUT_ID = SendMessage("c1", "hi")


def api_at(url: str, timeout_s: float = 30.0) -> CanonApi:
    return CanonApi(a_connection(url), KEY, clock=InstantClock(), timeout_s=timeout_s)


async def hang_up(exchange: Exchange) -> None:
    """Take the request and close without an answer."""
    exchange.writer.close()


async def reset(exchange: Exchange) -> None:
    """Take the request and break the connection."""
    exchange.reset()


async def stop_in_the_middle(exchange: Exchange) -> None:
    """Promise more than is sent."""
    await exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"messageId"')
    exchange.writer.close()


async def speak_no_http(exchange: Exchange) -> None:
    """Answer with something else."""
    await exchange.send(b"220 mail.example ready\r\n\r\n")
    exchange.writer.close()


LOST = [hang_up, reset, stop_in_the_middle, speak_no_http]


@pytest.mark.parametrize("lose", LOST, ids=lambda script: script.__name__)
async def test_a_lost_answer_is_repeated_only_with_an_id(lose: Callable[[Exchange], Awaitable[None]]) -> None:
    """However the answer got lost, a message with an id is sent again with the same bytes, one without is not."""
    async with loopback(lose, answer(200, {"messageId": "m1"})) as box, api_at(box.url) as api:
        assert await api.send_message(WITH_ID) == "m1"
    async with loopback(lose, answer(200, {"messageId": "m1"})) as other, api_at(other.url) as api:
        with pytest.raises(TransportFailure):
            await api.send_message(WITHOUT_ID)

    assert [request.body for request in box.requests] == [box.requests[0].body] * 2
    assert len(other.requests) == 1


async def test_a_connection_is_not_used_when_the_server_is_about_to_hang_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers hang up after five idle seconds; what is sent just then may be lost, so ours goes out on a new one."""
    ahead, peers = {"s": 0.0}, list[object]()

    async def tell(exchange: Exchange) -> None:
        peers.append(exchange.writer.get_extra_info("peername"))
        await answer(200, {})(exchange)

    monkeypatch.setattr("httpcore._async.http11.time", SimpleNamespace(monotonic=lambda: time.monotonic() + ahead["s"]))
    async with loopback(tell) as box, api_at(box.url) as api:
        for ahead["s"] in (0.0, 2.5, 2.5 + 4.5):
            await api.me()

    assert peers[0] == peers[1] != peers[2]


async def test_nobody_listening_is_refused() -> None:
    """A port without a server is told as a refused connection, with the address that was asked for."""
    async with loopback(answer(200)) as box:
        url = box.url

    async with api_at(url) as api:
        with pytest.raises(TransportFailure, match=r"No answer to GET /agents/me: no connection") as raised:
            await api.me()

    assert raised.value.kind is TransportKind.REFUSED


async def test_an_answer_that_takes_too_long_is_a_read_timeout() -> None:
    """The time limit of the client holds for an answer that does not begin."""

    async def say_nothing(exchange: Exchange) -> None:
        await exchange.closed_by_client()

    async with loopback(say_nothing) as box, api_at(box.url, timeout_s=0.05) as api:
        with pytest.raises(TransportFailure) as raised:
            await api.me()

    assert raised.value.kind is TransportKind.READ_TIMEOUT


async def test_a_compression_that_cannot_be_undone_is_a_malformed_answer() -> None:
    """What the server did is unknown, so this is no transport failure."""
    broken = answer(200, raw=b"no gzip at all", headers={"Content-Encoding": "gzip"})
    async with loopback(broken) as box, api_at(box.url) as api:
        with pytest.raises(MalformedAnswer, match="compressed"):
            await api.send_message(WITH_ID)

    assert len(box.requests) == 1


async def test_an_answer_over_the_limit_is_not_kept() -> None:
    """Memory is bounded whatever the other side sends, and the connection that carries the rest is closed."""
    closed = asyncio.Event()

    async def pour(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + b"x" * 2_000)
        await exchange.closed_by_client()
        closed.set()

    async with loopback(pour) as box, asyncio.timeout(5):
        http = HttpClient(timeout_s=5, max_answer_bytes=1_000)
        with pytest.raises(MalformedAnswer, match="larger than 1,000 bytes"):
            await http.request("GET", box.url, name="GET /", headers={})
        await closed.wait()
        await http.aclose()


async def test_one_connection_serves_many_calls() -> None:
    """Calls reuse their connection, and closing the client closes it."""
    connections = []

    async def keep(exchange: Exchange) -> None:
        connections.append(exchange.writer)
        await answer(200, {})(exchange)

    async with loopback(keep) as box:
        async with api_at(box.url) as api:
            for _ in range(3):
                await api.set_typing(Typing("c1", True))
        await until(lambda: connections[0].is_closing())

    assert len(box.requests) == 3
    assert len({id(writer) for writer in connections}) == 1


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_this_machine_is_reached_without_a_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment is for the world outside; a loopback server is asked directly."""
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    async with loopback(answer(200, {"agentId": "a"})) as box, api_at(box.url) as api:
        assert (await api.me()).agent_id == "a"


@pytest.mark.parametrize(
    ("variable", "value", "check"),
    [
        ("HTTPS_PROXY", "ftp://user:hidden@proxy.example", "net.proxy"),
        ("ALL_PROXY", "http://proxy.example:many", "net.proxy"),
        ("SSL_CERT_FILE", "/nonexistent/ca.pem", "net.tls"),
    ],
)
def test_an_environment_that_forbids_every_request(variable: str, value: str, check: str) -> None:
    """What httpx cannot start with is told once, with the check that explains it, and never with the password."""
    code = (
        "import asyncio\n"
        "from canon_ops.client.errors import NothingCanBeSent\n"
        "from canon_ops.client.transport import HttpClient\n"
        "request = HttpClient(timeout_s=1).request('GET', 'https://canon.example', name='GET /health', headers={})\n"
        "try: asyncio.run(request)\n"
        "except NothingCanBeSent as error: print(error.what, error.fix, sep='|')\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, variable: value}, capture_output=True, text=True, check=True
    )

    what, fix = done.stdout.strip().split("|")
    assert what.startswith("No request can be made, not even GET /health: ")
    assert fix == f"canon-ops doctor --only {check}"
    assert "hidden" not in done.stdout + done.stderr


def test_nothing_of_httpx_is_loaded_before_the_first_call() -> None:
    """Importing every module of the client, and making a client, loads no network library."""
    program = """
import sys
from canon_ops.client import api, health, registration, stream
from canon_ops.runtime.clock import SystemClock
from canon_ops.settings.environments import connection_for
from canon_ops.settings.secret import Secret
api.CanonApi(connection_for("canon-dev-v1"), Secret("agk_live_x"), clock=SystemClock())
print([name for name in ("httpx", "httpcore", "anyio", "certifi") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


async def test_a_deadline_follows_the_clock_it_is_given() -> None:
    """Work that is over in time gives its result; work that is not is cancelled and over before the error comes."""
    clock = ManualClock()
    ended = asyncio.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(10):
                await asyncio.sleep(0)
            ended.set()

    async def quick() -> int:
        return 7

    async def over_when_the_error_comes() -> bool:
        with pytest.raises(TimeoutError):
            await within(clock, 5, endless())
        return ended.is_set()

    assert await within(clock, 5, quick()) == 7
    waiting = asyncio.ensure_future(over_when_the_error_comes())
    await until(lambda: clock.sleepers)
    await clock.advance(5)
    assert await waiting


async def test_a_deadline_passes_errors_and_cancellation_on() -> None:
    """An error of the work is the work's own; a cancelled caller cancels the work."""
    clock = ManualClock()
    started, ended = asyncio.Event(), asyncio.Event()

    async def failing() -> None:
        raise LookupError("mine")

    async def endless() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(LookupError, match="mine"):
        await within(clock, 5, failing())
    waiting = asyncio.ensure_future(within(clock, 5, endless()))
    await started.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()
    assert clock.sleepers == 0


async def test_a_caller_that_gives_up_costs_no_connection() -> None:
    """Whatever the moment at which a caller is cancelled, the pool gets its connection back; else it runs dry."""
    rng = random.Random(5)
    with canon_box() as box:
        box.fault("delay", path="/typing", times=None, every=2, seconds=0.05)
        async with CanonApi(sandbox_connection(box), Secret(box.endpoints.agent_key), clock=SystemClock()) as api:

            async def impatient() -> None:
                for _ in range(25):
                    with suppress(TimeoutError):
                        async with asyncio.timeout(rng.random() * 0.1):
                            await api.set_typing(Typing("conv_direct", True))

            await asyncio.gather(*(impatient() for _ in range(12)))
            await until(lambda: not api._http._exchanges)
            http: Any = api._http._client
            pools = [mount._pool for mount in (http._transport, *http._mounts.values()) if mount is not None]

            lost = [one for pool in pools for one in pool.connections if not (one.is_idle() or one.is_closed())]
            assert (lost, [pool._requests for pool in pools if pool._requests]) == ([], [])


async def test_what_was_not_sent_when_its_caller_left_is_never_sent() -> None:
    """A write that nobody waits for must not overtake the next one: it waits for a connection no longer."""
    gate = asyncio.Event()

    async def hold(exchange: Exchange) -> None:
        await gate.wait()
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    async with loopback(hold, answer(200, {}), answer(200, {})) as box:
        http = HttpClient(timeout_s=5, transport=httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=1)))

        async def ask(path: str) -> None:
            await http.request("GET", box.url + path, name="GET", headers={})

        first = asyncio.ensure_future(ask("/first"))
        await until(lambda: len(box.requests) == 1)
        second = asyncio.ensure_future(ask("/second"))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        gate.set()
        await first
        await ask("/third")
        await http.aclose()

    assert [request.target for request in box.requests] == ["/first", "/third"]
