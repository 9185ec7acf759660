"""What people can see: transcripts, nodes, turn states, and the records that only a test looks at."""

from __future__ import annotations

import copy

from canon_ops.sandbox.records import Json, Message
from canon_ops.sandbox.side import HumanSide
from canon_ops.sandbox.state import World

__all__ = ["Looking", "message_view"]


def message_view(message: Message) -> Json:
    """A message as people read it back: the wire form with its place and its origin."""
    return {
        **copy.deepcopy(message.wire()),  # what a person saw must not change afterwards
        "conversationId": message.conversation_id,
        "position": message.position,
        "origin": message.origin,
    }


class Looking(HumanSide):
    """The verbs that change nothing; what they give is a copy."""

    def transcript(self, conversation_id: str | None = None, *, after: int = 0) -> list[Json]:
        """The messages of a room in order, those after a position."""

        def look(world: World) -> list[Json]:
            messages = self._room(world, conversation_id).messages.values()
            return [message_view(message) for message in messages if message.position > after]

        return self._engine.read(look)

    def node(self, conversation_id: str | None = None, agent_id: str | None = None) -> Json | None:
        """The streaming node as a Canon app would draw it; None when there is none."""

        def look(world: World) -> Json | None:
            room = self._room(world, conversation_id)
            node = world.nodes.get((room.conversation_id, self._resident(world, room, agent_id)))
            return node.wire() if node else None

        return self._engine.read(look)

    def node_writes(self, conversation_id: str | None = None, agent_id: str | None = None) -> list[Json]:
        """The newest writes and deletes of the node, oldest first."""

        def look(world: World) -> list[Json]:
            room = self._room(world, conversation_id)
            writes = world.node_writes.get((room.conversation_id, self._resident(world, room, agent_id)), ())
            return [dict(write) for write in writes]

        return self._engine.read(look)

    def turns(self, conversation_id: str | None = None, agent_id: str | None = None) -> list[Json]:
        """The turn states that were published, oldest first."""

        def look(world: World) -> list[Json]:
            room = self._room(world, conversation_id)
            log = world.turns.get((room.conversation_id, self._resident(world, room, agent_id)))
            return [dict(state) for state in log.history] if log else []

        return self._engine.read(look)

    def journal(self, *, after: int = 0) -> list[Json]:
        """The requests with a number above ``after``, oldest first."""
        return self._engine.read(lambda world: [entry.as_dict() for entry in self._engine.journal.after(after)])

    def agents(self) -> list[Json]:
        """Every agent with its key and its direct conversation with the owner."""

        def look(world: World) -> list[Json]:
            rows: list[Json] = []
            for agent in world.agents.values():
                room = world.direct_conversation(agent.agent_id, agent.owner_id)
                rows.append(
                    {
                        "agent_id": agent.agent_id,
                        "name": agent.name,
                        "agent_key": agent.api_key,
                        "conversation_id": room.conversation_id if room else None,
                    }
                )
            return rows

        return self._engine.read(look)

    def registrations(self) -> list[Json]:
        """Every registration request, oldest first, without its token."""

        def look(world: World) -> list[Json]:
            return [
                {
                    "request_id": request.request_id,
                    "status": request.status,
                    "agent_id": request.agent_id,
                    "name": request.body["name"],
                    "polls": request.polls,
                    "key_delivered": request.key_delivered,
                    "acknowledged": request.acknowledged,
                }
                for request in world.registrations.values()
            ]

        return self._engine.read(look)

    def interactions(self, *, state: str | None = None) -> list[Json]:
        """Every question to a person, oldest first, with its request and its state."""

        def look(world: World) -> list[Json]:
            return [
                {
                    "kind": item.kind,
                    "id": item.request_id,
                    "conversation_id": item.conversation_id,
                    "agent_id": item.agent_id,
                    "responder_id": item.responder_id,
                    "expires_at_ms": item.expires_at_ms,
                    "state": item.state,
                    "request": copy.deepcopy(item.request),
                }
                for item in world.interactions.values()
                if state in {None, item.state}
            ]

        return self._engine.read(look)

    def contacts(self) -> list[Json]:
        """Every wish to reach somebody, oldest first."""
        return self._engine.read(
            lambda world: [
                {
                    "request_id": item.request_id,
                    "agent_id": item.agent_id,
                    "target_id": item.target_id,
                    "conversation_id": item.conversation_id,
                    "state": item.state,
                }
                for item in world.contacts.values()
            ]
        )

    def silences(self) -> list[Json]:
        """The reports of deliberate silence, oldest first."""
        return self._engine.read(lambda world: [dict(report) for report in world.silences])

    def runtime_status(self, agent_id: str | None = None) -> Json | None:
        """The newest heartbeat of an agent with its normalised descriptor; None before the first."""

        def look(world: World) -> Json | None:
            kept = world.runtime_status.get(self._agent(world, agent_id).agent_id)
            return {**copy.deepcopy(kept[0]), "receivedAt": kept[1]} if kept else None

        return self._engine.read(look)

    def typing(self, conversation_id: str | None = None) -> Json:
        """Who is typing now, and how: principal -> ``typing`` or ``thinking``; lapsed marks are gone."""
        now_ms = self._engine.clock.now_ms()

        def look(world: World) -> Json:
            room = self._room(world, conversation_id).conversation_id
            return {
                who: kind for (where, who), (kind, until) in world.typing.items() if where == room and until > now_ms
            }

        return self._engine.read(look)
