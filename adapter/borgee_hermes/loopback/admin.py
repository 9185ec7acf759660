"""The human side of the Borgee server as verbs: the methods of :class:`Human` by the name in their path.

How they are called over HTTP: :mod:`canon_ops.sandbox.verbs`. Source: decisions L7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from borgee_hermes.loopback.conditions import condition_for
from borgee_hermes.loopback.engine import Engine
from borgee_hermes.loopback.fault_kinds import KINDS
from borgee_hermes.loopback.human import Human
from canon_ops.sandbox.verbs import LONGEST_WAIT_S, Verb

__all__ = ["commands", "views"]


def commands(human: Human) -> Mapping[str, Verb]:
    """The verbs that change something, by the name in their path."""

    def fault(name: str, **settings: Any) -> Any:
        return human.fault(name, **settings).report()

    here = {"channel_id": None}
    return {
        "say": Verb(human.say, here, "message_id"),
        "stop": Verb(human.stop, here, "message_id"),
        "edit": Verb(human.edit),
        "delete": Verb(human.delete),
        "react": Verb(human.react),
        "redeliver": Verb(human.redeliver),
        "config": Verb(human.push_config),
        "toggle": Verb(human.toggle),
        "ask": Verb(human.ask, result="request_id"),
        "ping": Verb(human.ping),
        "raw": Verb(human.send_raw, result="connections"),
        "frame": Verb(human.send_frame),
        "close": Verb(human.close, result="connections"),
        "cut": Verb(human.cut, result="connections"),
        "freeze": Verb(human.freeze, result="connections"),
        "person": Verb(human.add_person, result="user_id"),
        "agent": Verb(human.add_agent),
        "server": Verb(human.add_guild, result="guild_id"),
        "zone": Verb(human.add_zone, result="zone_id"),
        "channel": Verb(human.add_channel, result="channel_id"),
        "members": Verb(human.set_members),
        "mentions": Verb(human.set_mentions),
        "permissions": Verb(human.set_permissions),
        "fault": Verb(fault),
        "calm": Verb(human.calm),
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
        "channels": Verb(human.channels),
        "agents": Verb(human.agents),
        "tasks": Verb(human.tasks),
        "reports": Verb(human.reports),
        "config-acks": Verb(human.config_acks),
        "connections": Verb(human.connections),
        "journal": Verb(human.journal),
        "faults": Verb(human.faults),
        "fault-names": Verb(lambda: {name: kind.says for name, kind in KINDS.items()}),
    }
