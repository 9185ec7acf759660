"""The routes of both listeners: two ports, one application, one journal.

A path belongs to one origin: what is served on the API is not served on the stream, so that a client which mixes up its
two URLs is found out. Source: Canon wire 11.1, 11.3.
"""

from __future__ import annotations

from collections import defaultdict

from starlette.routing import Route, Router

from canon_ops.sandbox.admin import admin_routes
from canon_ops.sandbox.engine import Engine
from canon_ops.sandbox.exchange import Exchange, NotServed
from canon_ops.sandbox.http import Receive, Scope, Send, answer
from canon_ops.sandbox.human import Human
from canon_ops.sandbox.rest import identity
from canon_ops.sandbox.rest.routes import API_ROUTES, Endpoint
from canon_ops.sandbox.stream import EventStream

__all__ = ["CanonApp"]

STREAM_HEALTH = Endpoint("GET", "/health", identity.health, keyed=False)


class CanonApp:
    """The ASGI application: chooses the listener by the port that the request came in on."""

    def __init__(self, engine: Engine, human: Human, *, stream_port: int, admin_token: str) -> None:
        self._engine = engine
        self._stream_port = stream_port
        self._api = Router(
            [*_routes(engine, "api", API_ROUTES), *admin_routes(engine, human, admin_token)],
            redirect_slashes=False,
            default=NotServed(engine, "api"),
        )
        self._stream = Router(
            [Route("/agents/stream", EventStream(engine)), *_routes(engine, "stream", (STREAM_HEALTH,))],
            redirect_slashes=False,
            default=NotServed(engine, "stream"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: dict[str, object]) -> None:
            nonlocal started
            started = True
            await send(message)

        listener = self._stream if scope["server"][1] == self._stream_port else self._api
        try:
            await listener(scope, receive, watched)  # type: ignore[arg-type]
        except Exception as exc:  # the outermost edge: a bug of the sandbox must not look like trouble on the wire
            self._engine.failures.append(exc)
            if started:
                raise
            await answer(send, 500, {"error": f"the sandbox failed: {exc!r}", "code": "SANDBOX_FAILED"})


def _routes(engine: Engine, listener: str, endpoints: tuple[Endpoint, ...]) -> list[Route]:
    by_path: dict[str, dict[str, Endpoint]] = defaultdict(dict)
    for endpoint in endpoints:
        by_path[endpoint.path][endpoint.method] = endpoint
    return [Route(path, Exchange(engine, listener, methods)) for path, methods in by_path.items()]
