"""Verbs over HTTP, for another process: ``/_sandbox/<verb>`` with the header ``X-Sandbox-Token``.

POST verbs take one JSON object, the arguments of the method that they call; GET verbs take the same as query
parameters. These requests are not part of any wire and do not enter a journal. Source: decisions L7.
"""

from __future__ import annotations

import hmac
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.routing import Route, Router

from canon_ops.errors import CanonOpsError, NotFoundError, UsageError
from canon_ops.sandbox.http import Arrived, Receive, Scope, Send, answer, read
from canon_ops.sandbox.stage import WaitTimeout

__all__ = ["LONGEST_WAIT_S", "TOKEN_HEADER", "Verb", "verb_routes", "verbs_alone"]

TOKEN_HEADER = "x-sandbox-token"  # noqa: S105  # the name of a header
LONGEST_WAIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Verb:
    """A method of the human side as others may call it.

    Attributes:
        defaults: arguments that a caller may leave out although the method asks for them.
        result: the key under which the result is told; None tells the result itself.
    """

    method: Callable[..., Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    result: str | None = None

    def bound(self, arguments: Any) -> Callable[[], Any]:
        """The call with its arguments; the method's own signature is the check.

        Raises:
            UsageError: they do not fit.
        """
        try:
            bound = inspect.signature(self.method).bind(**{**self.defaults, **arguments})
        except TypeError as exc:
            raise UsageError(f"wrong arguments: {exc}") from exc
        return lambda: self.method(*bound.args, **bound.kwargs)


def verb_routes(commands: Mapping[str, Verb], views: Mapping[str, Verb], token: str) -> list[Route]:
    """One route a verb: commands are posted, views are fetched."""
    routes = [Route(f"/_sandbox/{name}", _Door("POST", verb, token)) for name, verb in commands.items()]
    return [*routes, *(Route(f"/_sandbox/{name}", _Door("GET", verb, token)) for name, verb in views.items())]


def verbs_alone(commands: Mapping[str, Verb], views: Mapping[str, Verb], token: str) -> Router:
    """An application that serves nothing else."""
    return Router(verb_routes(commands, views, token), redirect_slashes=False, default=_nothing)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    arrived = await read(scope, receive)
    if arrived is not None:
        await answer(send, 404, {"error": f"Nothing is served at {arrived.method} {arrived.path}"})


class _Door:
    """One verb behind the token."""

    def __init__(self, method: str, verb: Verb, token: str) -> None:
        self._method = method
        self._verb = verb
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived = await read(scope, receive)
        if arrived is None:
            return
        if not hmac.compare_digest(arrived.headers.get(TOKEN_HEADER, "").encode(), self._token.encode()):
            await answer(send, 401, {"error": "X-Sandbox-Token is missing or wrong"})
        elif arrived.method != self._method:
            await answer(send, 405, {"error": f"this verb takes {self._method}"})
        else:
            await self._call(arrived, send)

    async def _call(self, arrived: Arrived, send: Send) -> None:
        try:
            given = arrived.body if self._method == "POST" else _numbers(arrived.query)
            if not isinstance(given, dict | None):
                raise UsageError("wrong arguments: the body must be a JSON object")
            result = self._verb.bound(given or {})()
            if isinstance(result, Awaitable):
                result = await result
        except WaitTimeout as exc:
            await answer(send, 408, {"error": str(exc)})
        except NotFoundError as exc:
            await answer(send, 404, {"error": exc.what})
        except CanonOpsError as exc:
            await answer(send, 400, {"error": exc.what})
        else:
            key = self._verb.result
            told = result if key is None else {key: result}
            await answer(send, 200, {} if told is None else told)


def _numbers(query: Mapping[str, str]) -> dict[str, Any]:
    """Query parameters, with numbers where a verb counts or waits."""
    read: dict[str, Any] = dict(query)
    for key, kind in {"after": int, "count": int, "status": int, "timeout_s": float}.items():
        if key in read and not (key == "status" and not read[key].isdecimal()):  # registrations have a status in words
            try:
                read[key] = kind(read[key])
            except ValueError as exc:
                raise UsageError(f"{key} must be a number, not {read[key]!r}") from exc
    return read
