"""One request, one answer, over httpx; the only module that knows httpx's names.

What httpx raises is translated here, once, into :class:`~canon_ops.client.errors.TransportFailure`. Redirects are never
followed and nothing is repeated. httpx is imported, and its certificates are read, when the first request is made, in a
worker thread: starting up must stay cheap, and the host's loop must not stand still.

Source: Canon wire 2.1, 2.2; canon-adapter Appendix A.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from canon_ops.client.body import ACCEPTED, Packed, pieces
from canon_ops.client.errors import MalformedAnswer, NothingCanBeSent, TransportFailure
from canon_ops.errors import CredentialError
from canon_ops.settings.secret import Secret
from canon_ops.wire.retry import TransportKind

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = [
    "Answer",
    "HttpClient",
    "UnusableKey",
    "bearer",
    "read_answer",
    "secret_header",
    "translated",
    "trusted_certificates",
]

MAX_ANSWER_BYTES = 32 * 1024 * 1024  # three of the largest files Canon takes; only a broken peer sends more

# The limit of httpx is for each read: a byte now and then would hold a request for ever. So the whole has one too: a
# limit each for the pool, the connection, the head of the answer and its body, and what the slowest line takes to send.
_STEPS = 4
_SLOWEST_BYTES_S = 16 * 1024

# Many servers hang up after five idle seconds, and five is the library's own limit. A process that is held up at that
# moment sends into a connection that has just been closed. Nobody knows then whether the request was carried out.
_IDLE_S = 3.0

_KINDS = {
    "ConnectTimeout": TransportKind.CONNECT_TIMEOUT,
    "ReadTimeout": TransportKind.READ_TIMEOUT,
    "WriteTimeout": TransportKind.WRITE_TIMEOUT,
    "PoolTimeout": TransportKind.POOL_TIMEOUT,
    "ConnectError": TransportKind.REFUSED,
    "ReadError": TransportKind.READ_ERROR,
    "WriteError": TransportKind.WRITE_ERROR,
    "CloseError": TransportKind.CLOSE_ERROR,
    "RemoteProtocolError": TransportKind.PROTOCOL,
}

# A proxy from the environment is for the world outside; it can never reach this machine's own loopback.
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    content: bytes = field(repr=False)


class UnusableKey(CredentialError):
    """The key cannot even be put into a request."""

    code = "key_unusable"


def bearer(api_key: Secret) -> dict[str, str]:
    """The header that carries the key; raises :class:`UnusableKey`."""
    return secret_header("Authorization", api_key, prefix="Bearer ", what="Canon API key")


def secret_header(name: str, secret: Secret, *, prefix: str = "", what: str) -> dict[str, str]:
    """A header that carries ``secret``.

    Raises:
        UnusableKey: it holds characters that no HTTP header may hold. Found here, because the library's own error
            would quote it.
    """
    text = secret.reveal()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise UnusableKey(
            f"The {what} is empty or holds spaces, line breaks or other characters that it cannot have.",
            fix="canon-ops setup canon",
        )
    return {name: prefix + text}


class _Leave:
    """Whether the caller of a request has given up; the library asks before each of its steps."""

    def __init__(self) -> None:
        self.is_taken = False

    async def look(self, step: str, _details: Mapping[str, object]) -> None:
        if self.is_taken and step.endswith("send_request_headers.started"):
            raise asyncio.CancelledError


class HttpClient:
    """A pool of connections; close it with :meth:`aclose`.

    Args:
        timeout_s: for connecting, each read, each write, and the wait for a free connection; a request that is read
            whole takes at most four times as long, besides the time for sending what it carries.
        endless_reads: set no limit on reads.
        max_answer_bytes: the most that an answer may have which is read whole.
        transport: an httpx transport instead of the network.
    """

    def __init__(
        self,
        *,
        timeout_s: float,
        endless_reads: bool = False,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._endless_reads = endless_reads
        self._max_answer_bytes = max_answer_bytes
        self._transport = transport
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()
        self._exchanges: set[asyncio.Task[Answer]] = set()
        self._closed = False

    async def request(
        self,
        method: str,
        url: str,
        *,
        name: str,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """Make one request and read its whole answer, whatever the status.

        Args:
            name: what the request is called in errors.
            timeout_s: instead of the client's own, for this request.

        Raises:
            TransportFailure: no whole answer came.
            MalformedAnswer: the answer is over the size limit or its compression is broken.
        """
        leave = _Leave()
        exchange = asyncio.ensure_future(
            self._exchange(
                method,
                url,
                name=name,
                headers=headers,
                params=params,
                content=content,
                timeout_s=timeout_s,
                leave=leave,
            )
        )
        self._exchanges.add(exchange)
        exchange.add_done_callback(self._ended)
        try:
            return await asyncio.shield(exchange)
        except asyncio.CancelledError:
            leave.is_taken = True
            raise

    async def _exchange(
        self,
        method: str,
        url: str,
        *,
        name: str,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None,
        content: bytes | None,
        timeout_s: float | None,
        leave: _Leave,
    ) -> Answer:
        """One request with its whole answer, in a task of its own that nobody cancels.

        A caller may give up at any moment, and the library then loses the connection when the moment is a bad one: the
        pool goes on counting it until none is free. So the exchange ends by itself, at the latest with its time limit;
        what has not been sent when its caller leaves is not sent.
        """
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(_STEPS * limit_s + len(content or b"") / _SLOWEST_BYTES_S):
                response = await self.open(
                    method,
                    url,
                    name=name,
                    headers=headers,
                    params=params,
                    content=content,
                    timeout_s=timeout_s,
                    leave=leave,
                )
                try:
                    return await read_answer(response, name=name, max_bytes=self._max_answer_bytes)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise TransportFailure(TransportKind.READ_TIMEOUT, request=name) from None

    def _ended(self, exchange: asyncio.Task[Answer]) -> None:
        self._exchanges.discard(exchange)
        if not exchange.cancelled():
            exchange.exception()  # whoever waits for it has it already; of an abandoned one nobody wants to know

    async def open(
        self,
        method: str,
        url: str,
        *,
        name: str,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeout_s: float | None = None,
        leave: _Leave | None = None,
    ) -> httpx.Response:
        """Make one request and hand its answer over unread; the caller closes it.

        Args:
            leave: when it is taken before anything was sent, nothing is.
        """
        client = await self._open_client(name)
        import httpx

        limit_s = self._timeout_s if timeout_s is None else timeout_s
        with translated(name):
            request = client.build_request(
                method,
                url,
                headers={key.encode(): value.encode() for key, value in headers.items()},
                params=params,
                content=content,
                timeout=httpx.Timeout(limit_s, read=None if self._endless_reads else limit_s),
                extensions={} if leave is None else {"trace": leave.look},
            )
            return await client.send(request, stream=True)

    async def aclose(self) -> None:
        """Close every connection; requests after it are refused."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        for exchange in [*self._exchanges]:
            exchange.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    async def _open_client(self, name: str) -> httpx.AsyncClient:
        async with self._opening:
            if self._closed:
                raise RuntimeError("this client is closed")
            if self._client is None:
                self._client = await asyncio.to_thread(self._build, name)
            return self._client

    def _build(self, name: str) -> httpx.AsyncClient:
        import httpx

        direct = dict.fromkeys(_LOOPBACK) if self._transport is None else None
        try:
            trusted = trusted_certificates()
        except OSError as exc:
            raise NothingCanBeSent(name, "SSL_CERT_FILE or SSL_CERT_DIR names no certificates", "net.tls") from exc
        try:
            return httpx.AsyncClient(
                transport=self._transport,
                follow_redirects=False,
                mounts=direct,
                verify=trusted,
                limits=httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_IDLE_S),
                headers={"Accept-Encoding": ACCEPTED},
            )
        except (ValueError, ImportError, httpx.InvalidURL) as exc:  # its words would quote the proxy's password
            raise NothingCanBeSent(name, "a proxy variable names no proxy that can be used", "net.proxy") from exc


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificates that we trust: read once in a process, since that takes longer than a reconnect."""
    import httpx

    return httpx.create_ssl_context()


async def read_answer(response: httpx.Response, *, name: str, max_bytes: int) -> Answer:
    """The whole of an open answer; see :meth:`HttpClient.request` for the errors."""
    body = bytearray()
    with translated(name):
        async for piece in pieces(response):
            body += piece
            if len(body) > max_bytes:
                raise MalformedAnswer(name, f"is larger than {max_bytes:,} bytes")
    lower_case = {key.lower(): value for key, value in response.headers.items()}
    return Answer(response.status_code, lower_case, bytes(body))


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Turn what httpx raises inside the block into our own errors; ``name`` is what the request is called in them."""
    import httpx

    try:
        yield
    except Packed as exc:
        raise MalformedAnswer(name, "is compressed in a way that cannot be undone") from exc
    except (httpx.RequestError, httpx.InvalidURL) as exc:
        kinds = (_KINDS[cls.__name__] for cls in type(exc).__mro__ if cls.__name__ in _KINDS)
        kind = next(kinds, TransportKind.OTHER)
        # Only a failed connect is quoted: its words (no such host, a certificate) help, and it has seen no header.
        detail = " ".join(str(exc).split())[:200] if kind is TransportKind.REFUSED else ""
        raise TransportFailure(kind, request=name, detail=detail) from exc
