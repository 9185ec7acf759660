"""What people can see: transcripts, tasks, rooms, and records that only a test looks at. What is given is a copy."""

from __future__ import annotations

import copy
from typing import TypeVar

from borgee_hermes.loopback.engine import Engine
from borgee_hermes.loopback.records import Channel, Guild, Json, Message, User
from borgee_hermes.loopback.world import World
from canon_ops.errors import NotFoundError

__all__ = ["Looking", "NoSuchThing"]

T = TypeVar("T")


class NoSuchThing(NotFoundError):
    """A person, agent, channel, message or Server that the sandbox does not know."""

    code = "sandbox_unknown_id"


class Looking:
    """The verbs that change nothing.

    Args:
        owner_id, agent_id, channel_id, guild_id: who and where is meant when a verb names nobody.
    """

    def __init__(self, engine: Engine, *, owner_id: str, agent_id: str, channel_id: str, guild_id: str) -> None:
        self._engine = engine
        self._owner_id = owner_id
        self._agent_id = agent_id
        self._channel_id = channel_id
        self._guild_id = guild_id

    # Finding --------------------------------------------------------------------------------------------------------

    @staticmethod
    def _found(table: dict[str, T], key: str, kind: str) -> T:
        if key not in table:
            raise NoSuchThing(f"the sandbox knows no {kind} {key!r}")
        return table[key]

    def _channel(self, world: World, channel_id: str | None) -> Channel:
        return self._found(world.channels, channel_id or self._channel_id, "channel")

    def _guild(self, world: World, guild_id: str | None) -> Guild:
        return self._found(world.guilds, guild_id or self._guild_id, "Server")

    def _user(self, world: World, user_id: str | None) -> User:
        return self._found(world.users, user_id or self._owner_id, "user")

    def _agent(self, world: World, agent_id: str | None) -> User:
        return self._user(world, agent_id or self._agent_id)

    def _message(self, world: World, message_id: str) -> Message:
        return self._found(world.messages, message_id, "message")

    # Looking --------------------------------------------------------------------------------------------------------

    def transcript(self, channel_id: str | None = None, *, after: int = 0) -> list[Json]:
        """The messages of a channel in order, those after a position."""

        def look(world: World) -> list[Json]:
            here = self._channel(world, channel_id).channel_id
            messages = world.messages.values()
            return [one.wire() for one in messages if one.channel_id == here and one.position > after]

        return self._engine.read(look)

    def channels(self) -> list[Json]:
        """Every room with its members."""
        return self._engine.read(
            lambda world: [
                {**channel.wire(), "type": channel.kind, "member_ids": list(channel.member_ids)}
                for channel in world.channels.values()
            ]
        )

    def agents(self) -> list[Json]:
        """Every agent with its key."""
        return self._engine.read(
            lambda world: [
                {"agent_id": agent.user_id, "name": agent.name, "agent_key": agent.api_key, "disabled": agent.disabled}
                for agent in world.agent_by_key.values()
            ]
        )

    def tasks(self) -> list[Json]:
        """Every task."""
        return self._engine.read(lambda world: [task.wire() for task in world.tasks.values()])

    def reports(self) -> list[Json]:
        """The task lifecycle frames, oldest first, each with the reason for which it was dropped, or None."""
        return self._engine.read(
            lambda world: [{**copy.deepcopy(one.frame), "refused": one.refused} for one in world.reports]
        )

    def config_acks(self) -> list[Json]:
        """The acknowledgements of configuration updates, oldest first."""
        return self._engine.read(lambda world: [dict(frame) for frame in world.config_acks])

    def journal(self, *, after: int = 0) -> list[Json]:
        """What came in after a number, oldest first."""
        return self._engine.read(lambda world: [entry.as_dict() for entry in self._engine.journal.after(after)])

    def faults(self) -> list[Json]:
        """One row a fault: name, how much met it, how often it fired."""
        return self._engine.read(lambda world: self._engine.faults.report())

    def connections(self) -> Json:
        """How many connections stand, and how many were accepted and opened since the start."""

        def look(world: World) -> Json:
            engine = self._engine
            alive = [one for one in engine.sockets if not one.is_frozen]
            return {
                "open": len(alive),
                "accepted": engine.accepted,
                "opened": engine.opened,
                "lost": engine.lost_pushes,
            }

        return self._engine.read(look)
