"""What one can wait for, by name: each gives a condition that is false until it holds its evidence.

The same names serve ``wait`` in Python and ``GET /_sandbox/wait``. A count waits for that many; ``after`` looks only at
what came after a position (messages) or a number (requests).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from canon_ops.errors import UsageError
from canon_ops.sandbox.engine import Engine
from canon_ops.sandbox.looking import message_view
from canon_ops.sandbox.records import Conversation, Json, Message

__all__ = ["CONDITIONS", "Condition", "condition_for"]

Condition = Callable[[], Any]

CLOSED_STATES = frozenset({"completed", "interrupted", "idle"})


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


def _agent_messages(engine: Engine, conversation_id: str | None, after: int) -> list[Message]:
    world = engine.world
    rooms: list[Conversation] = [
        room for room in world.conversations.values() if conversation_id in {None, room.conversation_id}
    ]
    found = [
        message
        for room in rooms
        for message in room.messages.values()
        if message.origin == "agent" and message.position > after
    ]
    return sorted(found, key=lambda message: message.position)


def _views(messages: list[Message], count: int) -> list[Json] | None:
    return [message_view(message) for message in messages] if len(messages) >= count else None


def _messages(engine: Engine, *, conversation_id: str | None = None, count: int = 1, after: int = 0) -> Condition:
    """``count`` messages of agents, whatever their semantics."""
    return lambda: _views(_agent_messages(engine, conversation_id, after), count)


def _turn_complete(engine: Engine, *, conversation_id: str | None = None, count: int = 1, after: int = 0) -> Condition:
    """``count`` finished answers."""

    def condition() -> list[Json] | None:
        messages = _agent_messages(engine, conversation_id, after)
        return _views([message for message in messages if message.semantics == "turn_complete"], count)

    return condition


def _answer(engine: Engine, *, to: str, count: int = 1) -> Condition:
    """The finished answer to one message: it replies to it, or its turn named it as what it works on.

    What a turn has named last holds: a gateway that is killed may have meant to answer it together with another one.
    """

    def condition() -> list[Json] | None:
        world = engine.world
        named = {
            state["turnId"]: state["activeMessageIds"]
            for log in world.turns.values()
            for state in log.history  # a later state replaces what an earlier one named
            if state.get("turnId") is not None and state.get("activeMessageIds")
        }
        turns = {turn_id for turn_id, messages in named.items() if to in messages}
        finals = [
            message
            for message in _agent_messages(engine, None, 0)
            if message.semantics == "turn_complete" and (message.reply_to == to or message.turn_id in turns)
        ]
        return _views(finals, count)

    return condition


def _connected(engine: Engine, *, agent_id: str | None = None, count: int = 1) -> Condition:
    """``count`` open streams."""

    def condition() -> Json | None:
        open_now = [stream for stream in engine.streams if agent_id in {None, stream.agent_id}]
        return {"streams": len(open_now), "opened": engine.streams_opened} if len(open_now) >= count else None

    return condition


def _opened(engine: Engine, *, count: int = 1) -> Condition:
    """``count`` streams opened since the start, closed ones included: reconnects are seen here."""
    return lambda: {"opened": engine.streams_opened} if engine.streams_opened >= count else None


def _idle(engine: Engine, *, conversation_id: str | None = None) -> Condition:
    """Every turn that was published has closed and no node is left."""

    def condition() -> Json | None:
        world = engine.world
        logs = {key: log for key, log in world.turns.items() if conversation_id in {None, key[0]}}
        nodes = [key for key in world.nodes if conversation_id in {None, key[0]}]
        closed = all(log.last is not None and log.last["state"] in CLOSED_STATES for log in logs.values())
        return {"turns": len(logs)} if logs and closed and not nodes else None

    return condition


def _registration(engine: Engine, *, status: str = "pending") -> Condition:
    """A registration in this status."""

    def condition() -> Json | None:
        requests = [item for item in engine.world.registrations.values() if item.status == status]
        return {"request_id": requests[-1].request_id, "agent_id": requests[-1].agent_id} if requests else None

    return condition


def _interaction(engine: Engine, *, kind: str | None = None, state: str = "pending", count: int = 1) -> Condition:
    """``count`` questions to people in this state."""

    def condition() -> list[Json] | None:
        fitting = [
            {"id": item.request_id, "kind": item.kind, "responder_id": item.responder_id, "request": item.request}
            for item in engine.world.interactions.values()
            if kind in {None, item.kind} and item.state == state
        ]
        return fitting if len(fitting) >= count else None

    return condition


def _request(
    engine: Engine, *, path: str, method: str = "*", status: int | None = None, count: int = 1, after: int = 0
) -> Condition:
    """``count`` answered requests that fit; ``path`` is a shell pattern."""

    def condition() -> list[Json] | None:
        fitting = [
            entry.as_dict()
            for entry in engine.journal.after(after)
            if fnmatchcase(entry.path, path)
            and fnmatchcase(entry.method, method)
            and entry.status is not None
            and status in {None, entry.status}
        ]
        return fitting if len(fitting) >= count else None

    return condition


def _fired(engine: Engine, *, name: str, count: int = 1) -> Condition:
    """Faults of this name fired ``count`` times together."""

    def condition() -> Json | None:
        rows = [row for row in engine.faults.report() if row["name"] == name]
        fired = sum(row["fired"] for row in rows)
        return {"fired": fired, "met": sum(row["met"] for row in rows)} if fired >= count else None

    return condition


CONDITIONS: Final[Mapping[str, Callable[..., Condition]]] = {
    "answer": _answer,
    "connected": _connected,
    "fired": _fired,
    "idle": _idle,
    "interaction": _interaction,
    "messages": _messages,
    "opened": _opened,
    "registration": _registration,
    "request": _request,
    "turn_complete": _turn_complete,
}
