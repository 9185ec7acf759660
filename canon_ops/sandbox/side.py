"""The ground of the human side's verbs: the engine, who is meant when nobody is named, and finding things."""

from __future__ import annotations

from typing import TypeVar

from canon_ops.errors import NotFoundError, UsageError
from canon_ops.sandbox.engine import Engine
from canon_ops.sandbox.records import Agent, Conversation
from canon_ops.sandbox.state import World

__all__ = ["HumanSide", "NoSuchThing", "found"]

T = TypeVar("T")


class NoSuchThing(NotFoundError):
    """A person, agent, conversation, message or request that the sandbox does not know."""

    code = "sandbox_unknown_id"


def found(table: dict[str, T], key: str, kind: str) -> T:
    """The entry, or an error that says what was looked for."""
    if key not in table:
        raise NoSuchThing(f"the sandbox knows no {kind} {key!r}")
    return table[key]


class HumanSide:
    """What every group of verbs shares.

    Args:
        owner_id, agent_id, conversation_id: who and where is meant when a verb names nobody.
    """

    def __init__(self, engine: Engine, *, owner_id: str, agent_id: str, conversation_id: str) -> None:
        self._engine = engine
        self._owner_id = owner_id
        self._agent_id = agent_id
        self._conversation_id = conversation_id

    def _room(self, world: World, conversation_id: str | None) -> Conversation:
        return found(world.conversations, conversation_id or self._conversation_id, "conversation")

    def _agent(self, world: World, agent_id: str | None) -> Agent:
        return found(world.agents, agent_id or self._agent_id, "agent")

    @staticmethod
    def _resident(world: World, room: Conversation, agent_id: str | None) -> str:
        """The agent that is meant: the named one, else the only one in the room."""
        agents = [member for member in room.member_ids if member in world.agents]
        if agent_id is None and len(agents) != 1:
            raise UsageError(f"{room.conversation_id} has {len(agents)} agents: say which one is meant")
        return agent_id or agents[0]
