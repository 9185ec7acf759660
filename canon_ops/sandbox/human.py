"""The people on the other side: what they say, decide and can see. The same verbs in Python and over HTTP.

Every verb is one step of the engine, callable from any thread. A person who is not named is the owner; a conversation
that is not named is the first agent's direct one. Source: decisions L7.
"""

from __future__ import annotations

import copy
from typing import Any, Final, Literal, TypeVar

from canon_ops.errors import NotFoundError, UsageError
from canon_ops.sandbox.engine import Engine
from canon_ops.sandbox.faults import Armed
from canon_ops.sandbox.posting import UNSET, post
from canon_ops.sandbox.rest import registration
from canon_ops.sandbox.state import Agent, Conversation, Json, Message, Registration, Signal, World

__all__ = ["Human", "message_view"]

T = TypeVar("T")
BY_RULE: Final = "by-rule"
SIGNALS = frozenset({"interrupt", "stop_and_drop", "new_session"})


class NoSuchThing(NotFoundError):
    """A person, agent, conversation, message or request that the sandbox does not know."""

    code = "sandbox_unknown_id"


def message_view(message: Message) -> Json:
    """A message as people read it back: the wire form with its place and its origin."""
    return {
        **copy.deepcopy(message.wire()),  # what a person saw must not change afterwards
        "conversationId": message.conversation_id,
        "position": message.position,
        "origin": message.origin,
    }


class Human:
    """The verbs of the human side."""

    def __init__(self, engine: Engine, *, owner_id: str, agent_id: str, conversation_id: str) -> None:
        self._engine = engine
        self._owner_id = owner_id
        self._agent_id = agent_id
        self._conversation_id = conversation_id

    # Saying -----------------------------------------------------------------------------------------------------

    def say(
        self,
        conversation_id: str | None,
        text: str | None,
        sender: str | None = None,
        *,
        metadata: Json | None = None,
        verdict: str | None = BY_RULE,
        event: Json | None = None,
        sender_type: str | None = None,
        message_id: str | None = None,
        mentions: list[str] | None = None,
        reply_to: str | None = None,
        attachments: list[Json] | None = None,
        content_type: str = "text",
        extra: Json | None = None,
    ) -> str:
        """Write a message and give back its id.

        Args:
            sender: a person or an agent; the owner when None.
            metadata: as 7.4 of the wire, ``deliveryIntent`` and ``inboundDisposition`` included.
            verdict: the ``turnDispatch.kind`` to send, :data:`BY_RULE` as the server decides; None leaves the key out.
            event: keys that replace those of the event's payload; None removes one.
            sender_type: ``human`` or ``ai_agent``; found out from ``sender`` when None.
            extra: further keys of the message itself, ``contactCard`` for one.
        """

        def step(world: World, now_ms: int) -> str:
            room = self._room(world, conversation_id)
            sender_id = sender or self._owner_id
            kind = sender_type or ("ai_agent" if sender_id in world.agents else "human")
            message = post(
                world,
                room,
                sender_id=sender_id,
                sender_type=kind,
                text=text,
                origin="human" if kind == "human" else "agent",
                now_ms=now_ms,
                message_id=message_id,
                metadata=dict(metadata or {}),
                verdict=UNSET if verdict == BY_RULE else verdict,
                event_extra=event,
                mentions=list(mentions or []),
                reply_to=reply_to,
                attachments=list(attachments or []),
                content_type=content_type,
                extra=dict(extra or {}),
            )
            return message.message_id

        return self._engine.act(step)

    def signal(self, conversation_id: str | None, kind: str, by: str | None = None, *, announce: bool = True) -> None:
        """Set a control on a conversation; ``announce`` False leaves it to the client's poll. Source: wire 8.3."""
        if kind not in SIGNALS:
            raise UsageError(f"no such signal: {kind!r} (there are {', '.join(sorted(SIGNALS))})")

        def step(world: World, now_ms: int) -> None:
            room = self._room(world, conversation_id)
            world.signals[room.conversation_id] = Signal(kind, by or self._owner_id)
            if announce:
                payload = {"conversationId": room.conversation_id, "kind": "signal", "value": {"type": kind}}
                world.publish_to_members(room, "runtime.control", payload)

        self._engine.act(step)

    # Deciding ---------------------------------------------------------------------------------------------------

    def approve(self, request_id: str | None = None) -> str:
        """Say yes to a registration (the oldest pending one when None); gives back the agent's id."""
        return self._engine.act(
            lambda world, now_ms: registration.approve(world, self._request(world, request_id), now_ms=now_ms).agent_id
        )

    def reject(self, request_id: str | None = None) -> None:
        """Say no to a registration (the oldest pending one when None)."""
        self._engine.act(lambda world, now_ms: registration.reject(self._request(world, request_id)))

    def expire_key(self, request_id: str) -> None:
        """Drop the unclaimed key of an approved registration."""

        def step(world: World, now_ms: int) -> None:
            self._request(world, request_id).key_expired = True

        self._engine.act(step)

    def revoke(self, agent_id: str | None = None) -> None:
        """Make an agent's key worthless: 403 from now on."""

        def step(world: World, now_ms: int) -> None:
            self._agent(world, agent_id).revoked = True

        self._engine.act(step)

    def set_policy(self, policy: str | None, agent_id: str | None = None) -> None:
        """Change an agent's outbound policy and tell its streams; None withholds it."""

        def step(world: World, now_ms: int) -> None:
            agent = self._agent(world, agent_id)
            agent.outbound_policy = policy  # type: ignore[assignment]  # any text, also ones nobody knows
            context = {"agentId": agent.agent_id, "ownerId": agent.owner_id, "outboundPolicy": policy}
            payload = {key: value for key, value in context.items() if value is not None}
            world.publish(agent.agent_id, "agent.context", payload)

        self._engine.act(step)

    # Rooms and people -------------------------------------------------------------------------------------------

    def add_person(self, name: str, *, user_id: str | None = None, phone: str | None = None) -> str:
        """A further person; gives back the user id."""

        def step(world: World, now_ms: int) -> str:
            chosen = user_id or world.mint("user")
            return world.add_human(chosen, name, phone or f"+1555{len(world.humans):07d}").user_id

        return self._engine.act(step)

    def add_agent(self, name: str, owner: str | None = None) -> Json:
        """A further agent with its key and its direct conversation."""

        def step(world: World, now_ms: int) -> Json:
            agent = world.add_agent(name, owner or self._owner_id)
            room = world.add_conversation([agent.owner_id, agent.agent_id], kind="direct", now_ms=now_ms)
            return {"agent_id": agent.agent_id, "agent_key": agent.api_key, "conversation_id": room.conversation_id}

        return self._engine.act(step)

    def open_conversation(
        self, member_ids: list[str], *, kind: Literal["direct", "group"] = "group", name: str | None = None
    ) -> str:
        """A new room; the agents in it learn of it with its first message."""
        return self._engine.act(
            lambda world, now_ms: world.add_conversation(member_ids, kind=kind, name=name, now_ms=now_ms)
        ).conversation_id

    def change_conversation(self, conversation_id: str | None, **changes: Any) -> None:
        """Rename a room or change its members, and say so on the streams: ``name``, ``topic``, ``memberIds``."""
        names = {"name": "name", "topic": "topic", "memberIds": "member_ids"}
        unknown = set(changes) - set(names)
        if unknown:
            raise UsageError(f"a conversation has no {', '.join(sorted(unknown))}")

        def step(world: World, now_ms: int) -> None:
            room = self._room(world, conversation_id)
            listeners = set(room.member_ids)
            for key, value in changes.items():
                setattr(room, names[key], value)
            payload = {"conversationId": room.conversation_id, "changes": changes}
            for member in sorted(listeners | set(room.member_ids)):
                if member in world.agents:
                    world.publish(member, "conversation.updated", payload)

        self._engine.act(step)

    def publish(self, name: str, payload: Any, agent_id: str | None = None) -> None:
        """Put any event on an agent's streams, also one that no server would send."""
        self._engine.act(lambda world, now_ms: world.publish(self._agent(world, agent_id).agent_id, name, payload))

    # Trouble and time -------------------------------------------------------------------------------------------

    def fault(self, name: str, **settings: Any) -> Armed:
        """Arm a fault; the result counts ``met`` and ``fired``. Settings: :meth:`FaultBook.arm`."""
        return self._engine.act(lambda world, now_ms: self._engine.faults.arm(name, **settings))

    def calm(self) -> None:
        """Take every fault off duty."""
        self._engine.act(lambda world, now_ms: self._engine.faults.disarm())

    def faults(self) -> list[Json]:
        """One row a fault: name, how many requests or events met it, how often it fired."""
        return self._engine.read(lambda world: self._engine.faults.report())

    def advance(self, seconds: float) -> int:
        """Move the sandbox's time; gives back its now in milliseconds."""
        self._engine.clock.advance(seconds)
        return self._engine.act(lambda world, now_ms: now_ms)

    def drop_streams(self, agent_id: str | None = None) -> int:
        """Reset the sockets of the open streams now; says how many there were."""
        return self._engine.order_streams("drop", agent_id)

    def end_streams(self, agent_id: str | None = None) -> int:
        """Finish the open streams properly now; says how many there were."""
        return self._engine.order_streams("end", agent_id)

    # Looking ----------------------------------------------------------------------------------------------------

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

    # Finding ----------------------------------------------------------------------------------------------------

    def _room(self, world: World, conversation_id: str | None) -> Conversation:
        return _found(world.conversations, conversation_id or self._conversation_id, "conversation")

    def _agent(self, world: World, agent_id: str | None) -> Agent:
        return _found(world.agents, agent_id or self._agent_id, "agent")

    @staticmethod
    def _resident(world: World, room: Conversation, agent_id: str | None) -> str:
        """The agent that is meant: the named one, else the only one in the room."""
        agents = [member for member in room.member_ids if member in world.agents]
        if agent_id is None and len(agents) != 1:
            raise UsageError(f"{room.conversation_id} has {len(agents)} agents: say which one is meant")
        return agent_id or agents[0]

    @staticmethod
    def _request(world: World, request_id: str | None) -> Registration:
        if request_id is not None:
            return _found(world.registrations, request_id, "registration")
        pending = [request for request in world.registrations.values() if request.status == "pending"]
        if not pending:
            raise NoSuchThing("no registration is pending")
        return pending[0]


def _found(table: dict[str, T], key: str, kind: str) -> T:
    if key not in table:
        raise NoSuchThing(f"the sandbox knows no {kind} {key!r}")
    return table[key]
