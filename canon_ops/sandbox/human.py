"""The people on the other side: what they say, decide and can see. The same verbs in Python and over HTTP.

Every verb is one step of the engine, callable from any thread. A person who is not named is the owner; a conversation
that is not named is the first agent's direct one. Source: decisions L7.
"""

from __future__ import annotations

import base64
from typing import Any, Final, Literal

from canon_ops.errors import UsageError
from canon_ops.sandbox.deciding import Deciding
from canon_ops.sandbox.faults import Armed
from canon_ops.sandbox.looking import Looking
from canon_ops.sandbox.posting import UNSET, post
from canon_ops.sandbox.records import Json, Signal
from canon_ops.sandbox.rest.media import attach
from canon_ops.sandbox.side import found
from canon_ops.sandbox.state import World

__all__ = ["BY_RULE", "Human"]

BY_RULE: Final = "by-rule"
SIGNALS = frozenset({"interrupt", "stop_and_drop", "new_session"})


class Human(Deciding, Looking):
    """The verbs of the human side."""

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

    def upload(
        self,
        data: bytes | str,
        *,
        mime_type: str,
        file_name: str | None = None,
        conversation_id: str | None = None,
    ) -> Json:
        """Keep bytes (or their base64 text) on the server and give the attachment for :meth:`say`."""
        raw = base64.b64decode(data) if isinstance(data, str) else data
        return self._engine.act(
            lambda world, now_ms: attach(
                world, self._room(world, conversation_id).conversation_id, raw, mime_type=mime_type, file_name=file_name
            )
        )

    def edit(self, message_id: str, text: str, conversation_id: str | None = None) -> None:
        """Change a message's text and say so on the streams."""

        def step(world: World, now_ms: int) -> None:
            room = self._room(world, conversation_id)
            message = found(room.messages, message_id, "message")
            message.text = text
            payload = {"conversationId": room.conversation_id, "message": {"id": message_id, "text": text}}
            world.publish_to_members(room, "message.updated", payload)

        self._engine.act(step)

    def delete(self, message_id: str, conversation_id: str | None = None) -> None:
        """Take a message away and say so on the streams."""

        def step(world: World, now_ms: int) -> None:
            room = self._room(world, conversation_id)
            message = found(room.messages, message_id, "message")
            message.text, message.attachments = None, []
            message.extra["deleted"] = True  # the record stays: its client id must not be used again
            payload = {"conversationId": room.conversation_id, "messageId": message_id}
            world.publish_to_members(room, "message.deleted", payload)

        self._engine.act(step)

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

    def advance(self, advance_s: float = 0) -> int:
        """Move the sandbox's time; gives back its now in milliseconds."""
        self._engine.clock.advance(advance_s)
        return self._engine.act(lambda world, now_ms: now_ms)

    def drop_streams(self, agent_id: str | None = None) -> int:
        """Reset the sockets of the open streams now; says how many there were."""
        return self._engine.order_streams("drop", agent_id)

    def end_streams(self, agent_id: str | None = None) -> int:
        """Finish the open streams properly now; says how many there were."""
        return self._engine.order_streams("end", agent_id)
