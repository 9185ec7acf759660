"""The people on the other side: what they say, change, decide and can see. The same verbs in Python and over HTTP.

Every verb is one step of the engine, callable from any thread. A person who is not named is the owner, an agent that is
not named the first one, a channel that is not named the direct one of these two. Source: Borgee 1.16; decisions L7.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

from borgee_hermes.loopback.engine import Socket
from borgee_hermes.loopback.looking import Looking
from borgee_hermes.loopback.orders import Cut, Freeze, Goodbye, Order, Put
from borgee_hermes.loopback.records import Channel, Guild, Json, Mentions, Zone
from borgee_hermes.loopback.world import World
from canon_ops.errors import UsageError
from canon_ops.sandbox.faults import Armed

__all__ = ["REQUEST_LIMIT_S", "Human"]

T = TypeVar("T")

REQUEST_LIMIT_S: Final = 10.0


class Human(Looking):
    """The verbs of the human side."""

    def _act(self, step: Callable[[World, int], T]) -> T:
        return self._engine.act(step)

    # Saying ---------------------------------------------------------------------------------------------------------

    def say(
        self,
        channel_id: str | None,
        text: str,
        sender: str | None = None,
        *,
        mention: bool | str = False,
        reply_to: str | None = None,
    ) -> str:
        """Write a message and give back its id.

        Args:
            sender: a person or an agent; the owner when None.
            mention: put a mention in front: of the first agent, or of whom is named.
        """

        def step(world: World, now_ms: int) -> str:
            channel = self._channel(world, channel_id)
            whom = self._agent_id if mention is True else mention
            said = f"<@{whom}> {text}" if whom else text
            author = self._user(world, sender).user_id
            return world.post(channel, author, said, now_ms=now_ms, reply_to_id=reply_to).message_id

        return self._act(step)

    def stop(self, channel_id: str | None = None, sender: str | None = None) -> str:
        """Say ``/stop``, as a person does who has had enough. Where a mention is needed, the agent does not hear it."""
        return self.say(channel_id, "/stop", sender)

    def edit(self, message_id: str, text: str) -> None:
        """Change a message's text."""
        self._act(lambda world, now_ms: world.edit(self._message(world, message_id), text, now_ms=now_ms))

    def delete(self, message_id: str) -> None:
        """Take a message away."""
        self._act(lambda world, now_ms: world.delete(self._message(world, message_id), now_ms=now_ms))

    def react(self, message_id: str, emoji: str, sender: str | None = None, *, added: bool = True) -> None:
        """Put an emoji on a message, or take it off."""

        def step(world: World, now_ms: int) -> None:
            user_id = self._user(world, sender).user_id
            world.react(self._message(world, message_id), emoji, user_id, added=added, now_ms=now_ms)

        self._act(step)

    def redeliver(self, message_id: str) -> None:
        """Push a message once more, as a server that is not sure does."""
        self._act(lambda world, now_ms: world.publish(self._message(world, message_id), now_ms=now_ms))

    # Asking the agent's other end -----------------------------------------------------------------------------------

    def push_config(self, blob: Any, agent_id: str | None = None, *, key: str | None = None) -> Json:
        """Send new settings; gives back the frame, whose key the acknowledgement repeats.

        Args:
            key: the idempotency key, for sending the same update again.
        """

        def step(world: World, now_ms: int) -> Json:
            agent = self._agent(world, agent_id)
            world.config_cursor += 1
            if key is None:
                world.config_versions[agent.user_id] += 1
            version = world.config_versions[agent.user_id]
            frame: Json = {
                "type": "agent_config_update",
                "cursor": world.config_cursor,
                "agent_id": agent.user_id,
                "schema_version": version,
                "blob": json.dumps(blob),
                "idempotency_key": key or f"{agent.user_id}:{version}",
                "created_at": now_ms,
            }
            world.push(agent.user_id, frame)
            return frame

        return self._act(step)

    def toggle(self, action: str, agent_id: str | None = None, *, reason: str = "owner") -> None:
        """Switch an agent ``disable`` or ``enable``: tell it, and let no new connection of a disabled one in."""
        if action not in {"disable", "enable"}:
            raise UsageError(f"an agent can be told to disable or to enable, not {action!r}")

        def step(world: World, now_ms: int) -> None:
            agent = self._agent(world, agent_id)
            agent.disabled = action == "disable"
            told = {"type": "agent_toggle", "agent_id": agent.user_id, "action": action, "reason": reason}
            world.push(agent.user_id, told)

        self._act(step)

    def ask(self, action: str, agent_id: str | None = None, **data: Any) -> str:
        """Send a request to the agent's other end; gives back its id, for the condition ``response``."""

        def step(world: World, now_ms: int) -> str:
            request_id = world.mint("request")
            agent = self._agent(world, agent_id)
            world.push(agent.user_id, {"type": "request", "id": request_id, "data": {"action": action, **data}})
            return request_id

        return self._act(step)

    def request(self, action: str, agent_id: str | None = None, **data: Any) -> Json:
        """:meth:`ask`, and wait for the response frame.

        Raises:
            WaitTimeout: it did not come within 10 s.
        """
        request_id = self.ask(action, agent_id, **data)
        responses = self._engine.world.responses
        return self._engine.wait(
            lambda: responses.get(request_id), timeout_s=REQUEST_LIMIT_S, what=f"the response to {action}"
        )

    def ping(self, agent_id: str | None = None) -> None:
        """Send a ping frame."""
        self._act(lambda world, now_ms: world.push(self._agent(world, agent_id).user_id, {"type": "ping"}))

    def send_raw(self, text: str | bytes, agent_id: str | None = None) -> int:
        """Send any text or bytes as one text message; says to how many connections."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        return self._order(Put(data), agent_id)

    def send_frame(self, frame: Json, agent_id: str | None = None) -> None:
        """Send any frame; faults apply to it."""
        self._act(lambda world, now_ms: world.push(self._agent(world, agent_id).user_id, frame))

    # Connections ----------------------------------------------------------------------------------------------------

    def close(self, code: int | None = 1012, agent_id: str | None = None, *, how: str = "proper") -> int:
        """Close the agent's connection now; says how many there were. ``how``: proper, hanging or talking."""
        if how not in {"proper", "hanging", "talking"}:
            raise UsageError(f"one cannot close in the way {how!r}")
        return self._order(Goodbye(code, how), agent_id)  # type: ignore[arg-type]  # looked at above

    def cut(self, agent_id: str | None = None, *, how: str = "reset") -> int:
        """Reset or end the agent's connection now, without a close frame; says how many there were."""
        if how not in {"reset", "end"}:
            raise UsageError(f"one cannot cut in the way {how!r}")
        return self._order(Cut(how), agent_id)  # type: ignore[arg-type]  # looked at above

    def freeze(self, agent_id: str | None = None) -> int:
        """Make the agent's connection half-open now; says how many there were."""
        return self._order(Freeze(), agent_id)

    def _order(self, order: Order, agent_id: str | None) -> int:
        def step(world: World, now_ms: int) -> int:
            target: Socket | None = self._engine.targets.get(self._agent(world, agent_id).user_id)
            if target is None:
                return 0
            self._engine.order(target, order)
            return 1

        return self._act(step)

    # People, rooms and rights ---------------------------------------------------------------------------------------

    def add_person(self, name: str, *, user_id: str | None = None, guild_id: str | None = None) -> str:
        """A further person, a member of a Server when one is named."""

        def step(world: World, now_ms: int) -> str:
            user = world.add_person(name, user_id=user_id)
            if guild_id is not None:
                self._guild(world, guild_id).member_ids.append(user.user_id)
            return user.user_id

        return self._act(step)

    def add_agent(self, name: str, owner: str | None = None, *, role: str = "agent") -> Json:
        """A further agent with its key and its direct channel with the owner."""

        def step(world: World, now_ms: int) -> Json:
            agent = world.add_agent(name, self._user(world, owner).user_id)
            agent.role = role
            members = [agent.owner_id or self._owner_id, agent.user_id]
            dm = Channel(world.mint("dm"), "dm", None, name, members)
            world.channels[dm.channel_id] = dm
            return {"agent_id": agent.user_id, "agent_key": agent.api_key, "dm_id": dm.channel_id}

        return self._act(step)

    def add_guild(self, name: str, member_ids: list[str] | None = None) -> str:
        """A further Server; by itself the owner and the first agent are in it."""

        def step(world: World, now_ms: int) -> str:
            members = [self._owner_id, self._agent_id] if member_ids is None else list(member_ids)
            guild = Guild(world.mint("guild"), name, members)
            world.guilds[guild.guild_id] = guild
            return guild.guild_id

        return self._act(step)

    def add_zone(self, name: str, guild_id: str | None = None, *, zone_id: str | None = None) -> str:
        """A further zone."""

        def step(world: World, now_ms: int) -> str:
            zone = Zone(zone_id or world.mint("zone"), self._guild(world, guild_id).guild_id, name)
            world.zones[zone.zone_id] = zone
            return zone.zone_id

        return self._act(step)

    def add_channel(
        self,
        name: str,
        member_ids: list[str] | None = None,
        *,
        kind: str = "channel",
        guild_id: str | None = None,
        parent_id: str | None = None,
        thread_of: str | None = None,
        task_id: str | None = None,
    ) -> str:
        """A further room; by itself the owner, the colleague and the first agent are in it.

        Args:
            kind: ``dm`` has no Server.
            thread_of: the channel under which this one is a thread.
        """

        def step(world: World, now_ms: int) -> str:
            members = [self._owner_id, "user_dana", self._agent_id] if member_ids is None else list(member_ids)
            channel_id = world.mint("dm" if kind == "dm" else "channel")
            home = None if kind == "dm" else self._guild(world, guild_id).guild_id
            channel = Channel(channel_id, kind, home, name, members, parent_id, task_id=task_id)
            if thread_of is not None:
                channel.top_level_channel_id, channel.thread_id = thread_of, channel_id
            world.channels[channel_id] = channel
            return channel_id

        return self._act(step)

    def set_members(self, member_ids: list[str], *, channel_id: str | None = None, guild_id: str | None = None) -> None:
        """Say who is in a Server, or else in a channel, from now on."""

        def step(world: World, now_ms: int) -> None:
            room = self._guild(world, guild_id) if guild_id else self._channel(world, channel_id)
            room.member_ids[:] = member_ids

        self._act(step)

    def set_mentions(
        self, needed: bool | None, agent_id: str | None = None, *, channel_id: str | None = None
    ) -> None:  # fmt: skip
        """Say whether an agent gets only messages that mention it: everywhere, or in one channel (None: inherit)."""

        def step(world: World, now_ms: int) -> None:
            agent = self._agent(world, agent_id)
            if channel_id is None:
                agent.require_mention = bool(needed)
                return
            setting: Mentions = "inherit" if needed is None else "on" if needed else "off"
            self._channel(world, channel_id).mentions[agent.user_id] = setting

        self._act(step)

    def set_permissions(self, permissions: list[str], agent_id: str | None = None) -> None:
        """Say what an agent may do from now on: ``capability:scope`` each."""

        def step(world: World, now_ms: int) -> None:
            self._agent(world, agent_id).permissions = list(permissions)

        self._act(step)

    # Trouble and time -----------------------------------------------------------------------------------------------

    def fault(self, name: str, **settings: Any) -> Armed:
        """Arm a fault; the result counts ``met`` and ``fired``. Settings: :meth:`FaultBook.arm`."""
        return self._act(lambda world, now_ms: self._engine.faults.arm(name, **settings))

    def calm(self) -> None:
        """Take every fault off duty."""
        self._act(lambda world, now_ms: self._engine.faults.disarm())

    def advance(self, advance_s: float = 0) -> int:
        """Move the sandbox's time; gives back its now in milliseconds."""
        self._engine.clock.advance(advance_s)
        return self._act(lambda world, now_ms: now_ms)
