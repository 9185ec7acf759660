"""The human side over HTTP, for another process: ``/_sandbox/<verb>`` with the header ``X-Sandbox-Token``.

POST verbs take one JSON object, the arguments of the method of :class:`Human` that they call; GET verbs take the same
as query parameters. These requests are not part of Canon's wire and do not enter the journal. Source: decisions L7.
"""

from __future__ import annotations

import hmac
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.routing import Route

from canon_ops.errors import CanonOpsError, NotFoundError, UsageError
from canon_ops.sandbox.conditions import condition_for
from canon_ops.sandbox.engine import Engine, WaitTimeout
from canon_ops.sandbox.fault_kinds import KINDS
from canon_ops.sandbox.http import Receive, Scope, Send, answer, read
from canon_ops.sandbox.human import Human

__all__ = ["TOKEN_HEADER", "admin_routes"]

TOKEN_HEADER = "x-sandbox-token"  # noqa: S105  # the name of a header
LONGEST_WAIT_S = 600.0

Verb = Callable[..., Any]


def admin_routes(engine: Engine, human: Human, token: str) -> list[Route]:
    """One route a verb."""
    routes = [Route(f"/_sandbox/{name}", _Door("POST", verb, token)) for name, verb in _commands(human).items()]
    routes += [Route(f"/_sandbox/{name}", _Door("GET", verb, token)) for name, verb in _views(engine, human).items()]
    return routes


def _commands(human: Human) -> Mapping[str, Verb]:
    def say(text: str | None, conversation_id: str | None = None, **rest: Any) -> Any:
        return {"message_id": human.say(conversation_id, text, **rest)}

    def fault(name: str, **settings: Any) -> Any:
        return human.fault(name, **settings).report()

    def streams(do: str, agent_id: str | None = None) -> Any:
        return {"streams": human.drop_streams(agent_id) if do == "drop" else human.end_streams(agent_id)}

    def signal(kind: str, conversation_id: str | None = None, **rest: Any) -> Any:
        return human.signal(conversation_id, kind, **rest)

    def change_conversation(conversation_id: str | None = None, **changes: Any) -> Any:
        return human.change_conversation(conversation_id, **changes)

    return {
        "say": say,
        "signal": signal,
        "approve": lambda request_id=None: {"agent_id": human.approve(request_id)},
        "reject": human.reject,
        "answer": human.answer,
        "prepare-answer": human.prepare_answer,
        "contact": human.decide_contact,
        "let-reach-out": human.let_reach_out,
        "recipient-policy": human.set_recipient_policy,
        "upload": human.upload,
        "edit": human.edit,
        "delete": human.delete,
        "expire-key": human.expire_key,
        "revoke": human.revoke,
        "policy": human.set_policy,
        "person": lambda **rest: {"user_id": human.add_person(**rest)},
        "agent": human.add_agent,
        "conversation": lambda **rest: {"conversation_id": human.open_conversation(**rest)},
        "change-conversation": change_conversation,
        "publish": human.publish,
        "fault": fault,
        "calm": human.calm,
        "streams": streams,
        "clock": lambda advance_s=0: {"now_ms": human.advance(advance_s)},
    }


def _views(engine: Engine, human: Human) -> Mapping[str, Verb]:
    async def wait(kind: str, timeout_s: float = 30, **match: Any) -> Any:
        condition, what = condition_for(engine, kind, match)
        return await engine.wait_async(condition, timeout_s=min(float(timeout_s), LONGEST_WAIT_S), what=what)

    return {
        "wait": wait,
        "transcript": human.transcript,
        "node": human.node,
        "node-writes": human.node_writes,
        "turns": human.turns,
        "journal": human.journal,
        "faults": human.faults,
        "fault-names": lambda: {name: kind.says for name, kind in KINDS.items()},
        "agents": human.agents,
        "registrations": human.registrations,
        "interactions": human.interactions,
        "contacts": human.contacts,
        "silences": human.silences,
        "runtime-status": human.runtime_status,
        "typing": human.typing,
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
            arguments = arrived.body if self._method == "POST" else _numbers(arrived.query)
            await self._call(arguments if arguments is not None else {}, send)

    async def _call(self, arguments: Any, send: Send) -> None:
        try:
            result = self._bound(arguments)()
            if isinstance(result, Awaitable):
                result = await result
        except WaitTimeout as exc:
            await answer(send, 408, {"error": str(exc)})
        except NotFoundError as exc:
            await answer(send, 404, {"error": exc.what})
        except CanonOpsError as exc:
            await answer(send, 400, {"error": exc.what})
        else:
            await answer(send, 200, {} if result is None else result)

    def _bound(self, arguments: Any) -> Callable[[], Any]:
        """The verb with its arguments; the verb's own signature is the check."""
        try:
            bound = inspect.signature(self._verb).bind(**arguments)
        except TypeError as exc:
            raise UsageError(f"wrong arguments: {exc}") from exc
        return lambda: self._verb(*bound.args, **bound.kwargs)


def _numbers(query: Mapping[str, str]) -> dict[str, Any]:
    """Query parameters with whole numbers read as such where a verb counts."""
    counted = {"after", "count", "status"}
    return {key: int(value) if key in counted and value.isdecimal() else value for key, value in query.items()}
