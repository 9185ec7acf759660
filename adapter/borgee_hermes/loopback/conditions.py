"""What one can wait for, by name: each gives a condition that is false until it holds its evidence.

The same names serve ``wait`` in Python and ``GET /_sandbox/wait``. A count waits for that many; ``after`` looks only at
what came after a position (messages) or a number (journal).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from borgee_hermes.loopback.engine import Engine
from borgee_hermes.loopback.records import Json
from canon_ops.errors import UsageError

__all__ = ["CONDITIONS", "Condition", "condition_for"]

Condition = Callable[[], Any]


def condition_for(engine: Engine, kind: str, match: Mapping[str, Any]) -> tuple[Condition, str]:
    """The condition called ``kind`` with its settings, and the words for a time-out.

    Raises:
        UsageError: no such kind, or a setting that it does not take.
    """
    if kind not in CONDITIONS:
        raise UsageError(f"one cannot wait for {kind!r}; there are {', '.join(sorted(CONDITIONS))}")
    settings = ", ".join(f"{key}={value!r}" for key, value in match.items())
    try:
        return CONDITIONS[kind](engine, **match), f"{kind}({settings})"
    except TypeError as exc:
        raise UsageError(f"{kind} cannot be waited for with {settings}: {exc}") from exc


def _enough(found: list[Json], count: int) -> list[Json] | None:
    return found if len(found) >= count else None


def _messages(
    engine: Engine, *, channel_id: str | None = None, text: str | None = None, count: int = 1, after: int = 0
) -> Condition:
    """``count`` messages of agents, of one channel or with one text when these are given."""

    def condition() -> list[Json] | None:
        world = engine.world
        agents = {agent.user_id for agent in world.agent_by_key.values()}
        found = [
            message.wire()
            for message in world.messages.values()
            if message.author_id in agents
            and channel_id in {None, message.channel_id}
            and text in {None, message.text}
            and message.position > after
        ]
        return _enough(found, count)

    return condition


def _answer(engine: Engine, *, to: str, count: int = 1) -> Condition:
    """``count`` messages that reply to one message."""

    def condition() -> list[Json] | None:
        messages = engine.world.messages.values()
        return _enough([message.wire() for message in messages if message.reply_to_id == to], count)

    return condition


def _connected(engine: Engine, *, agent_id: str | None = None, count: int = 1) -> Condition:
    """``count`` connections that stand and have been opened."""

    def condition() -> Json | None:
        alive = [one for one in engine.sockets if one.has_opened and not (one.is_frozen or one.is_over)]
        fitting = [one for one in alive if agent_id in {None, one.agent.user_id}]
        return {"connections": len(fitting), "opened": engine.opened} if len(fitting) >= count else None

    return condition


def _opened(engine: Engine, *, count: int = 1) -> Condition:
    """``count`` openings since the start; reconnects are seen here."""
    return lambda: {"opened": engine.opened} if engine.opened >= count else None


def _entries(engine: Engine, what: str, after: int) -> list[Json]:
    return [entry.as_dict() for entry in engine.journal.after(after) if entry.what == what]


def _upgrade(engine: Engine, *, status: int | None = None, count: int = 1, after: int = 0) -> Condition:
    """``count`` upgrades that were answered so."""
    return lambda: _enough(
        [one for one in _entries(engine, "upgrade", after) if status in {None, one["status"]}], count
    )


def _ended(engine: Engine, *, code: int | None = None, count: int = 1, after: int = 0) -> Condition:
    """``count`` connections that ended, with the client's close code when one is given."""
    return lambda: _enough([one for one in _entries(engine, "end", after) if code in {None, one["status"]}], count)


def _frame(engine: Engine, *, type: str, count: int = 1, after: int = 0, **members: Any) -> Condition:
    """``count`` frames of a type, with these members."""

    def condition() -> list[Json] | None:
        found = [
            entry
            for entry in _entries(engine, "frame", after)
            if entry["type"] == type and all(entry["frame"].get(key) == value for key, value in members.items())
        ]
        return _enough(found, count)

    return condition


def _action(engine: Engine, *, name: str, count: int = 1, after: int = 0, **members: Any) -> Condition:
    """``count`` semantic actions of a name, with these members of their payload."""

    def condition() -> list[Json] | None:
        found = [
            entry
            for entry in _entries(engine, "frame", after)
            if entry["type"] == "semantic_action"
            and entry["frame"].get("action") == name
            and all((entry["payload"] or {}).get(key) == value for key, value in members.items())
        ]
        return _enough(found, count)

    return condition


def _task(engine: Engine, *, outcome: str, count: int = 1) -> Condition:
    """``count`` tasks that were reported as ended so, and taken."""

    def condition() -> list[Json] | None:
        taken = [one.frame for one in engine.world.reports if one.refused is None]
        return _enough([frame for frame in taken if frame.get("outcome") == outcome], count)

    return condition


def _config_ack(engine: Engine, *, key: str | None = None, count: int = 1) -> Condition:
    """``count`` acknowledgements, of one update when its key is given."""

    def condition() -> list[Json] | None:
        acks = engine.world.config_acks
        return _enough([frame for frame in acks if key in {None, frame.get("idempotency_key")}], count)

    return condition


def _response(engine: Engine, *, request_id: str) -> Condition:
    """The response to a request."""
    return lambda: engine.world.responses.get(request_id)


def _fired(engine: Engine, *, name: str, count: int = 1) -> Condition:
    """Faults of this name fired ``count`` times together."""

    def condition() -> Json | None:
        rows = [row for row in engine.faults.report() if row["name"] == name]
        fired = sum(row["fired"] for row in rows)
        return {"fired": fired, "met": sum(row["met"] for row in rows)} if fired >= count else None

    return condition


CONDITIONS: Final[Mapping[str, Callable[..., Condition]]] = {
    "action": _action,
    "answer": _answer,
    "config-ack": _config_ack,
    "connected": _connected,
    "ended": _ended,
    "fired": _fired,
    "frame": _frame,
    "messages": _messages,
    "opened": _opened,
    "response": _response,
    "task": _task,
    "upgrade": _upgrade,
}
