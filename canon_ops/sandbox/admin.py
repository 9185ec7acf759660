"""The human side of the Canon server as verbs: the methods of :class:`Human` by the name in their path.

How they are called over HTTP: :mod:`canon_ops.sandbox.verbs`. Source: decisions L7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.routing import Route

from canon_ops.errors import UsageError
from canon_ops.sandbox.conditions import condition_for
from canon_ops.sandbox.engine import Engine
from canon_ops.sandbox.fault_kinds import KINDS
from canon_ops.sandbox.human import Human
from canon_ops.sandbox.verbs import LONGEST_WAIT_S, TOKEN_HEADER, Verb, verb_routes

__all__ = ["TOKEN_HEADER", "Verb", "admin_routes", "commands", "views"]


def admin_routes(engine: Engine, human: Human, token: str) -> list[Route]:
    """One route a verb."""
    return verb_routes(commands(human), views(engine, human), token)


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
