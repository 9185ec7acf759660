"""A real HTTP server on this machine that does exactly what a test scripts, down to the bytes and the socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

__all__ = ["Exchange", "Loopback", "Request", "Script", "answer", "loopback", "until"]


@dataclass(frozen=True)
class Request:
    """What the client sent; header names are lower-case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)


@dataclass
class Exchange:
    """One request and the open connection on which a script answers it."""

    request: Request
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def open_stream(self, *, status: str = "200 OK") -> None:
        """Answer with the head of an event stream whose body ends with the connection's chunked framing."""
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        await self.send(head.encode())

    async def send_chunk(self, data: bytes) -> None:
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end_stream(self) -> None:
        await self.send(b"0\r\n\r\n")

    def reset(self) -> None:
        """Break the connection."""
        self.writer.transport.abort()

    async def closed_by_client(self) -> None:
        """Wait until the client has hung up."""
        await self.reader.read()


Script = Callable[[Exchange], Awaitable[None]]


def answer(
    status: int = 200, body: object = None, *, raw: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Script:
    """A script that answers with JSON, or with ``raw`` bytes."""
    content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]

    async def script(exchange: Exchange) -> None:
        await exchange.send("\r\n".join([*lines, "", ""]).encode() + content)

    return script


@dataclass
class Loopback:
    """The server: its address, what it was asked, and the scripts that are still to come; the last one repeats."""

    url: str
    scripts: list[Script]
    requests: list[Request] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
                await script(Exchange(request, reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client hung up, or the script did
        except Exception as error:
            self.failures.append(error)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def loopback(*scripts: Script) -> AsyncIterator[Loopback]:
    """Serve ``scripts``, one for each request in the order of arrival, on a free port of 127.0.0.1."""
    tasks: set[asyncio.Task[None]] = set()
    box = Loopback("", list(scripts))

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await box.serve(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    box.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield box
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
    assert not box.failures, box.failures


async def until(holds: Callable[[], object], *, timeout_s: float = 60.0) -> None:
    """Give the loop to others until ``holds()`` is true; fail the test when it is not in time."""
    async with asyncio.timeout(timeout_s):
        while not holds():  # noqa: ASYNC110  # the condition is anything, it cannot set an event
            await asyncio.sleep(0)


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)
