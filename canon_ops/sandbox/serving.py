"""Run an ASGI application on loopback sockets in a thread of its own, and end it without leaving anything behind.

The application finds the connection's transport in its scope under :data:`TRANSPORT`, because a faulty server has to be
able to reset a socket, which HTTP cannot say.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["TRANSPORT", "ServerThread", "loopback_socket", "reset", "write_ready_file"]

TRANSPORT: Final = "canon_ops.transport"
GRACE_S: Final = 2
LOOK_EVERY_S: Final = 0.002

Hook = Callable[[], Awaitable[None] | None]


async def _called(hook: Hook) -> None:
    if (waiting := hook()) is not None:
        await waiting


class _Protocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]  # chosen at import time by uvicorn
    """Uvicorn's HTTP protocol, with the transport handed on to the application."""

    app: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        served = self.app

        async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
            scope[TRANSPORT] = transport
            await served(scope, receive, send)

        self.app = app


def loopback_socket(port: int) -> socket.socket:
    """A listening-to-be socket on 127.0.0.1; 0 takes any free port."""
    # The protocol is named because asyncio switches off Nagle's delay only for sockets that say they are TCP.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
    except OSError:
        sock.close()
        raise
    return sock


def reset(transport: asyncio.Transport) -> None:
    """Throw the connection away so that the peer reads a reset, not an end."""
    sock = transport.get_extra_info("socket")
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


class _Server(uvicorn.Server):
    """Uvicorn's server with a start that can be waited for and a stop that does not poll."""

    def __init__(self, config: uvicorn.Config, *, on_start: Hook, on_stop: Hook) -> None:
        super().__init__(config)
        self._on_start = on_start
        self._on_stop = on_stop
        self.asked_to_stop = asyncio.Event()

    async def main_loop(self) -> None:
        await _called(self._on_start)
        await self.asked_to_stop.wait()
        await _called(self._on_stop)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Uvicorn's own end without its fixed pause: a test suite stops hundreds of these."""
        for server in self.servers:
            server.close()
        for sock in sockets or []:
            sock.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110  # uvicorn has no event
                    await asyncio.sleep(LOOK_EVERY_S)
        for task in self.server_state.tasks:
            task.cancel()


class ServerThread:
    """One application on a few sockets, in one thread.

    Args:
        app: the ASGI application.
        sockets: from :func:`loopback_socket`; closed at the end.
        on_start: called on the thread, on the running loop, before the first request; may be a coroutine function.
        on_stop: called there when the stop begins: the application lets go of its long responses.
    """

    def __init__(
        self,
        app: Any,
        sockets: Sequence[socket.socket],
        *,
        name: str,
        on_start: Hook = lambda: None,
        on_stop: Hook = lambda: None,
    ) -> None:
        self._app = app
        self._sockets = list(sockets)
        self._on_start = on_start
        self._on_stop = on_stop
        self._listening = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: _Server | None = None
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    def start(self) -> None:
        """Return when the sockets accept."""
        self._thread.start()
        self._listening.wait()
        if self._failure is not None:
            raise RuntimeError("the sandbox did not start") from self._failure

    def stop(self) -> None:
        """Return when the thread is gone; safe to repeat."""
        if self._loop is not None and self._server is not None and self._thread.is_alive():
            with suppress(RuntimeError):  # the loop may close in between
                self._loop.call_soon_threadsafe(self._server.asked_to_stop.set)
        self._thread.join()

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as exc:
            self._failure = exc
            raise
        finally:
            self._listening.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        config = uvicorn.Config(
            self._app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
        )
        self._server = _Server(config, on_start=self._started, on_stop=self._on_stop)
        await self._server.serve(sockets=self._sockets)

    async def _started(self) -> None:
        await _called(self._on_start)
        self._listening.set()


def write_ready_file(path: Path, content: Mapping[str, Any]) -> None:
    """Put the file there in one step: whoever sees it sees all of it. It holds keys, so only the owner may read it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    temporary.replace(path)
