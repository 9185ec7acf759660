"""The human side over HTTP, for another process: ``/_sandbox/<verb>`` with the header ``X-Sandbox-Token``.

POST verbs take one JSON object, the arguments of the method of :class:`Human` that they call; GET verbs take the same
as query parameters. These requests are not part of Canon's wire and do not enter the journal. Source: decisions L7.
"""

from __future__ import annotations

import hmac
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.routing import Route

from canon_ops.errors import CanonOpsError, NotFoundError, UsageError
from canon_ops.sandbox.conditions import condition_for
from canon_ops.sandbox.engine import Engine, WaitTimeout
from canon_ops.sandbox.fault_kinds import KINDS
from canon_ops.sandbox.http import Arrived, Receive, Scope, Send, answer, read
from canon_ops.sandbox.human import Human

__all__ = ["TOKEN_HEADER", "Verb", "admin_routes", "commands", "views"]

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


def admin_routes(engine: Engine, human: Human, token: str) -> list[Route]:
    """One route a verb."""
    routes = [Route(f"/_sandbox/{name}", _Door("POST", verb, token)) for name, verb in commands(human).items()]
    routes += [Route(f"/_sandbox/{name}", _Door("GET", verb, token)) for name, verb in views(engine, human).items()]
    return routes


def commands(human: Human) -> Mapping[str, Verb]:
    """The verbs that change something, by the name in their path."""

    def streams(do: str, agent_id: str | None = None) -> int:
        orders = {"drop": human.drop_streams, "end": human.end_streams}
        if do not in orders:
            raise UsageError(f"streams can be told to drop or to end, not {do!r}")
        return orders[do](agent_id)

    def fault(name: str, **settings: Any) -> Any:
        return human.fault(name, **settings).report()

    here = {"conversation_id": None}
    return {
        "say": Verb(human.say, here, "message_id"),
        "signal": Verb(human.signal, here),
        "approve": Verb(human.approve, result="agent_id"),
        "reject": Verb(human.reject),
        "answer": Verb(human.answer),
        "prepare-answer": Verb(human.prepare_answer),
        "contact": Verb(human.decide_contact),
        "let-reach-out": Verb(human.let_reach_out),
        "recipient-policy": Verb(human.set_recipient_policy),
        "upload": Verb(human.upload),
        "edit": Verb(human.edit),
        "delete": Verb(human.delete),
        "expire-key": Verb(human.expire_key),
        "revoke": Verb(human.revoke),
        "policy": Verb(human.set_policy),
        "person": Verb(human.add_person, result="user_id"),
        "agent": Verb(human.add_agent),
        "conversation": Verb(human.open_conversation, result="conversation_id"),
        "change-conversation": Verb(human.change_conversation, here),
        "publish": Verb(human.publish),
        "fault": Verb(fault),
        "calm": Verb(human.calm),
        "streams": Verb(streams, result="streams"),
        "clock": Verb(human.advance, result="now_ms"),
    }


def views(engine: Engine, human: Human) -> Mapping[str, Verb]:
    """The verbs that only look, by the name in their path."""

    async def wait(kind: str, timeout_s: float = 30, **match: Any) -> Any:
        condition, what = condition_for(engine, kind, match)
        return await engine.wait_async(condition, timeout_s=min(timeout_s, LONGEST_WAIT_S), what=what)

    return {
        "wait": Verb(wait),
        "transcript": Verb(human.transcript),
        "node": Verb(human.node),
        "node-writes": Verb(human.node_writes),
        "turns": Verb(human.turns),
        "journal": Verb(human.journal),
        "faults": Verb(human.faults),
        "fault-names": Verb(lambda: {name: kind.says for name, kind in KINDS.items()}),
        "agents": Verb(human.agents),
        "registrations": Verb(human.registrations),
        "interactions": Verb(human.interactions),
        "contacts": Verb(human.contacts),
        "silences": Verb(human.silences),
        "runtime-status": Verb(human.runtime_status),
        "typing": Verb(human.typing),
    }


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
