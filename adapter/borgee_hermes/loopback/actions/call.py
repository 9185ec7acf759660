"""An action as its handler sees it, what may come of it, and the checks that handlers share. Pure.

A handler either gives a value or raises :class:`Refused`, before it has changed anything. Source: Borgee 1.12, 1.16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from borgee_hermes.loopback.records import Channel, Json, Message, Task, User
from borgee_hermes.loopback.world import World

__all__ = ["Call", "Denied", "Failed", "Handler", "Ok", "Outcome", "Refused"]


@dataclass(frozen=True, slots=True)
class Ok:
    """It was done; ``value`` is the answer's payload, None an empty one."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class Failed:
    """It was not done; the code is the server's own word."""

    code: str


@dataclass(frozen=True, slots=True)
class Denied:
    """It was not done, because the agent may not."""

    capability: str
    scope: str


Outcome = Ok | Failed | Denied


class Refused(Exception):
    """Leaves a handler early."""

    def __init__(self, outcome: Failed | Denied) -> None:
        super().__init__(repr(outcome))
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Call:
    """One semantic action."""

    world: World
    caller: User
    payload: Mapping[str, Any]
    now_ms: int

    def text(self, key: str, *, empty: bool = False) -> str:
        """A text that has to be there."""
        value = self.payload.get(key)
        if not isinstance(value, str) or not (value or empty):
            raise Refused(Failed("bpp.payload_invalid"))
        return value

    def optional(self, key: str, kind: type, default: Any = None) -> Any:
        """A member that may be left out, of a certain type when it is there."""
        if key not in self.payload:
            return default
        value = self.payload[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Refused(Failed("bpp.payload_invalid"))
        return value

    def channel(self, key: str = "channel_id") -> Channel:
        """The channel that is named, in which the agent has to be a member."""
        channel = self.world.channels.get(self.text(key))
        if channel is None:
            raise Refused(Failed("bpp.channel_not_found"))
        if self.caller.user_id not in channel.member_ids:
            raise Refused(Denied("channel.read", f"channel:{channel.channel_id}"))
        return channel

    def own_message(self) -> Message:
        """The message that is named, which the agent has to have written."""
        message = self.world.messages.get(self.text("message_id"))
        if message is None or message.text is None:
            raise Refused(Failed("bpp.message_not_found"))
        if message.author_id != self.caller.user_id:
            raise Refused(Failed("bpp.message_not_owned"))
        return message

    def task(self) -> Task:
        """The task that is named, in a channel of the agent."""
        task = self.world.tasks.get(self.text("task_id"))
        if task is None:
            raise Refused(Failed("bpp.task_not_found"))
        channel = self.world.channels[task.channel_id]
        if self.caller.user_id not in channel.member_ids:
            raise Refused(Denied("channel.read", f"channel:{channel.channel_id}"))
        return task

    def require(self, capability: str, scope: str) -> None:
        """The agent has to have this capability."""
        if not self.caller.may(capability):
            raise Refused(Denied(capability, scope))

    def require_guild_member(self) -> str:
        """The Server that is named, of which the agent has to be a member now."""
        guild = self.world.guilds.get(self.text("guild_id"))
        if guild is None:
            raise Refused(Failed("bpp.guild_not_found"))
        if self.caller.user_id not in guild.member_ids:
            raise Refused(Denied("guild.member", f"guild:{guild.guild_id}"))
        return guild.guild_id


Handler = Callable[[Call], Json | list[Json] | None]
