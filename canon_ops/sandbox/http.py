"""Small ASGI parts that the API, the stream and the human side share: read a request, write an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, cast
from urllib.parse import parse_qsl

from canon_ops.sandbox.events import compact
from canon_ops.sandbox.serving import TRANSPORT, reset

__all__ = ["Arrived", "Receive", "Scope", "Send", "answer", "read", "reset_connection"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request with its body read.

    Attributes:
        body: the JSON value, the raw text when it is not JSON, None when there was none.
    """

    method: str
    path: str
    params: Mapping[str, str]
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def bearer(self) -> str | None:
        """The key of an ``Authorization: Bearer`` header."""
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        return key.strip() or None if scheme.lower() == "bearer" else None


async def read(scope: Scope, receive: Receive) -> Arrived | None:
    """The whole request; None when the client went away before its end."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    raw = b"".join(pieces)
    return Arrived(
        scope["method"],
        scope["path"],
        scope.get("path_params", {}),
        dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)),
        {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        _parsed(raw),
    )


def _parsed(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        value = json.loads(raw)
        if b"\\ud" in raw.lower():
            compact(value).encode()  # half a surrogate pair is no text: such a body counts as no JSON
        return value
    except ValueError:
        return raw.decode("utf-8", "replace")


async def answer(send: Send, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    """Write a whole response: JSON, the text of a page as it is, bytes as they are, or nothing for None."""
    kind = "application/json"
    if body is None:
        raw = b""
    elif isinstance(body, bytes):
        raw, kind = body, "application/octet-stream"
    elif isinstance(body, str):
        raw, kind = body.encode(), "text/html"
    else:
        raw = compact(body).encode("utf-8", "surrogatepass")
    date = formatdate(usegmt=True)  # as every server of the real thing tells it; clients compare clocks
    named = {"date": date, "content-type": kind, "content-length": str(len(raw)), **(headers or {})}
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": raw})


async def reset_connection(scope: Scope, receive: Receive) -> None:
    """Reset the socket and return when the server has noticed."""
    reset(cast(asyncio.Transport, scope[TRANSPORT]))
    while (await receive())["type"] != "http.disconnect":
        pass
