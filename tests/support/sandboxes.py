"""Loopback servers for tests, and the plain means to talk to them: bytes over a socket, no client of ours in between.

A test that wants a server says ``with canon_box() as box:``; one that wants to be its client uses :class:`RawClient`.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import CanonOptions, ModelOptions
from canon_ops.sandbox.server import CanonSandbox

__all__ = ["RawClient", "RawResponse", "RawStream", "canon_box", "exchange_bytes", "model_box"]

SEED = "a seed for tests"
LIMIT_S = 10.0


@contextmanager
def canon_box(*, limit_per_occasion: int | None = None, **options: Any) -> Iterator[CanonSandbox]:
    """A running Canon server with reproducible ids."""
    with CanonSandbox(CanonOptions(**{"seed": SEED, **options}), limit_per_occasion=limit_per_occasion) as box:
        yield box


@contextmanager
def model_box(**options: Any) -> Iterator[ModelSandbox]:
    """A running model endpoint."""
    with ModelSandbox(ModelOptions(**options)) as model:
        yield model


def _connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    assert parts.hostname == "127.0.0.1"
    assert parts.port is not None
    return socket.create_connection((parts.hostname, parts.port), timeout=LIMIT_S)


def exchange_bytes(url: str, request: bytes) -> bytes:
    """Send these very bytes and give back everything until the server closes.

    Raises:
        ConnectionResetError: the server reset the socket.
    """
    with _connect(url) as sock:
        sock.sendall(request)
        pieces = []
        while piece := sock.recv(65_536):
            pieces.append(piece)
        return b"".join(pieces)


@dataclass(frozen=True)
class RawResponse:
    """A response cut at its blank line."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def parse(cls, data: bytes) -> RawResponse:
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return cls(int(first.split(" ")[1]), headers, body)

    def json(self) -> Any:
        return json.loads(self.body)


class RawClient:
    """Requests written by hand, one connection each."""

    def __init__(self, url: str, key: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}

    def call(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> RawResponse:
        """One request with a JSON body, bytes as they are, or none."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {
            "Host": urlsplit(self.url).netloc,
            "Connection": "close",
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            **self.headers,
            **(headers or {}),
        }
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in named.items())
        return RawResponse.parse(exchange_bytes(self.url, head.encode("latin-1") + b"\r\n" + raw))

    def get(self, path: str, **headers: str) -> RawResponse:
        return self.call("GET", path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> RawResponse:
        return self.call("POST", path, body, headers)


class RawStream:
    """An event stream read by hand: the chunks as the server cut them, and the text they make."""

    def __init__(self, url: str, key: str, *, last_event_id: str | None = None) -> None:
        self._sock = _connect(url)
        self._buffer = b""
        self.chunks: list[bytes] = []
        cursor = f"Last-Event-ID: {last_event_id}\r\n" if last_event_id else ""
        self._sock.sendall(
            f"GET /agents/stream?events=messages%2Ccontacts HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\n"
            f"Authorization: Bearer {key}\r\nAccept: text/event-stream\r\n{cursor}\r\n".encode()
        )
        head = self._until(b"\r\n\r\n")
        self.response = RawResponse.parse(head)

    def __enter__(self) -> RawStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._sock.close()

    @property
    def text(self) -> str:
        return b"".join(self.chunks).decode()

    def read_chunk(self) -> bytes:
        """The next HTTP chunk; empty at the proper end.

        Raises:
            ConnectionResetError: the server reset the socket.
        """
        size = int(self._until(b"\r\n"), 16)
        while len(self._buffer) < size + 2:
            self._receive()
        chunk, self._buffer = self._buffer[:size], self._buffer[size + 2 :]
        self.chunks.append(chunk)
        return chunk

    def read_until(self, text: str) -> str:
        """Read chunks until ``text`` has come; everything read so far."""
        while text not in self.text:
            assert self.read_chunk(), f"the stream ended before {text!r}: {self.text}"
        return self.text

    def frames(self) -> list[dict[str, str]]:
        """What was read, as fields by frame; comments are left out. For frames written properly."""
        blocks = [block.splitlines() for block in self.text.split("\n\n") if block and not block.startswith(":")]
        return [dict(line.split(": ", 1) for line in block) for block in blocks]

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._receive()
        found, _, self._buffer = self._buffer.partition(mark)
        return found + mark

    def _receive(self) -> None:
        data = self._sock.recv(65_536)
        if not data:
            raise EOFError("the server closed the connection")
        self._buffer += data
