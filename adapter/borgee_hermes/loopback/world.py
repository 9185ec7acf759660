"""Everything a loopback Borgee server knows, and who hears of what. Pure.

The shell (``engine``) holds its lock, calls one action or one verb with the time, and takes :meth:`World.take_pushes`,
the frames that go to agents because of it. Nothing here reads a clock, draws a random number or touches a socket.

The world is changed in place; everything checks first and changes afterwards, so a refusal leaves it as it was.
Source: Borgee 1.5, 1.16.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Final

from borgee_hermes.loopback.options import KEY_PREFIX, BorgeeOptions
from borgee_hermes.loopback.records import Channel, Guild, Json, Message, Report, Task, User, Zone

__all__ = ["Push", "World"]

AGENT_PERMISSIONS: Final = ("message.send:*", "channel.create:*", "channel.manage:*", "task.write:*")
REMEMBERED_RESULTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Push:
    """A frame for an agent, wherever it is connected; ``echo`` marks its own message coming back."""

    agent_id: str
    frame: Json
    echo: bool = False


class World:
    """The state of one loopback Borgee server.

    Args:
        seed: ids and keys grow out of it.
    """

    def __init__(self, options: BorgeeOptions, *, seed: str) -> None:
        self.options = options
        self._seed = seed.encode()
        self._minted: Counter[str] = Counter()
        self._pushes: list[Push] = []
        self.users: dict[str, User] = {}
        self.agent_by_key: dict[str, User] = {}
        self.guilds: dict[str, Guild] = {}
        self.zones: dict[str, Zone] = {}
        self.channels: dict[str, Channel] = {}
        self.messages: dict[str, Message] = {}
        self.tasks: dict[str, Task] = {}
        self.reports: list[Report] = []
        self.config_acks: list[Json] = []
        self.config_versions: Counter[str] = Counter()
        self.config_cursor = 0
        self.responses: dict[str, Json] = {}  # request id -> response frame
        self.results: OrderedDict[tuple[str, str], Json] = OrderedDict()  # (agent, nonce) -> the first result
        self._populate()

    def _populate(self) -> None:
        self.users["user_owner"] = User("user_owner", "Olive")
        self.users["user_dana"] = User("user_dana", "Dana")
        self.add_agent("Aide", "user_owner", agent_id="agent_sandbox")
        self.users["agent_sandbox"].require_mention = self.options.require_mention
        everybody = ["user_owner", "user_dana", "agent_sandbox"]
        self.guilds["guild_home"] = Guild("guild_home", "Home", everybody)
        for zone_id, name in (("zone_builds", "Builds"), ("zone_desk", "Desk")):
            self.zones[zone_id] = Zone(zone_id, "guild_home", name)
        self.channels["channel_lobby"] = Channel("channel_lobby", "channel", "guild_home", "lobby", list(everybody))
        self.channels["dm_owner"] = Channel("dm_owner", "dm", None, "Olive", ["user_owner", "agent_sandbox"])

    # Minting --------------------------------------------------------------------------------------------------------

    def mint(self, kind: str) -> str:
        """The next id of a kind: ``message_000001``."""
        self._minted[kind] += 1
        return f"{kind}_{self._minted[kind]:06d}"

    def key_of(self, agent_id: str) -> str:
        """The key of an agent, which only this world and its seed can derive."""
        return KEY_PREFIX + hmac.new(self._seed, agent_id.encode(), hashlib.sha256).hexdigest()[:32]

    def add_person(self, name: str, *, user_id: str | None = None) -> User:
        """A further person, a member of nothing yet."""
        user = User(user_id or self.mint("user"), name)
        self.users[user.user_id] = user
        return user

    def add_agent(self, name: str, owner_id: str, *, agent_id: str | None = None) -> User:
        """A further agent with a key of its own, a member of nothing yet."""
        agent_id = agent_id or self.mint("agent")
        key = self.key_of(agent_id)
        agent = User(agent_id, name, "agent", key, owner_id, list(AGENT_PERMISSIONS))
        self.users[agent_id] = self.agent_by_key[key] = agent
        return agent

    # What happens in channels ---------------------------------------------------------------------------------------

    def post(
        self, channel: Channel, author_id: str, text: str, *, now_ms: int, reply_to_id: str | None = None
    ) -> Message:
        """Store a message and push it to the agents that get it."""
        message = Message(
            self.mint("message"), channel.channel_id, author_id, text, now_ms, len(self.messages) + 1, reply_to_id
        )
        self.messages[message.message_id] = message
        self.publish(message, now_ms=now_ms)
        return message

    def edit(self, message: Message, text: str, *, now_ms: int) -> None:
        """Replace a message's text and say so."""
        message.text = text
        message.edits += 1
        self.publish(message, now_ms=now_ms, kind="edited")

    def delete(self, message: Message, *, now_ms: int) -> None:
        """Take a message away and say so; its author and its text are not told."""
        self.publish(message, now_ms=now_ms, kind="deleted", author_id="", author_name="", body="")
        message.text = None

    def react(self, message: Message, emoji: str, user_id: str, *, added: bool, now_ms: int) -> None:
        """Put an emoji on a message or take it off, and say so."""
        mark = (user_id, emoji)
        if added and mark not in message.reactions:
            message.reactions.append(mark)
        elif not added and mark in message.reactions:
            message.reactions.remove(mark)
        told = {"body": "", "emoji": emoji, "reactor_id": user_id, "reaction_added": added}
        self.publish(message, now_ms=now_ms, kind="reaction", **told)

    def publish(self, message: Message, *, now_ms: int, kind: str | None = None, **members: object) -> None:
        """Tell the agents of a message's channel what happened to it.

        Args:
            kind: ``edited``, ``deleted`` or ``reaction``; None is the message itself.
            members: of the frame, in place of those that the message gives.
        """
        channel = self.channels[message.channel_id]
        for agent in self._listeners(channel, message, is_new=kind is None):
            chosen = kind or ("mention" if is_mentioned(agent, message) else "message")
            frame = {**self.frame(message, agent, chosen, now_ms=now_ms), **members}
            self.push(agent.user_id, frame, echo=agent.user_id == message.author_id)

    def _listeners(self, channel: Channel, message: Message, *, is_new: bool) -> list[User]:
        """The agents who hear of it. Their own messages come back as ``echo`` pushes."""
        members = [self.users[user_id] for user_id in channel.member_ids]
        return [agent for agent in members if agent.is_agent and self._hears(agent, channel, message, is_new=is_new)]

    def _hears(self, agent: User, channel: Channel, message: Message, *, is_new: bool) -> bool:
        if channel.kind == "dm" or not (is_new or self.options.withhold_changes):
            return True
        setting = channel.mentions.get(agent.user_id, "inherit")
        needed = agent.require_mention if setting == "inherit" else setting == "on"
        return not needed or is_mentioned(agent, message)

    def frame(self, message: Message, agent: User, kind: str, *, now_ms: int) -> Json:
        """An inbound message as it stands on the wire."""
        channel, author = self.channels[message.channel_id], self.users[message.author_id]
        frame: Json = {
            "type": "inbound_message",
            "agent_id": agent.user_id,
            "channel_id": channel.channel_id,
            "channel_type": channel.kind,
            "kind": kind,
            "message_id": message.message_id,
            "author_id": author.user_id,
            "author_name": author.name,
            "body": message.text or "",
            "content_type": "text",
            "msg_type": "text",
            "attachments": [],
            "created_at": message.created_at if kind in {"message", "mention"} else now_ms,
            "emoji": "",
            "reactor_id": "",
            "reaction_added": False,
        }
        context = channel.context()
        return frame if context is None else {**frame, "conversation_context": context}

    # Pushing --------------------------------------------------------------------------------------------------------

    def push(self, agent_id: str, frame: Json, *, echo: bool = False) -> None:
        """Put a frame on its way to an agent."""
        self._pushes.append(Push(agent_id, frame, echo))

    def take_pushes(self) -> list[Push]:
        """The frames of the last step, in order."""
        pushes, self._pushes = self._pushes, []
        return pushes

    def remember_result(self, agent_id: str, nonce: str, frame: Json) -> None:
        """Keep the first answer to a nonce: it is an idempotency key."""
        self.results[agent_id, nonce] = frame
        if len(self.results) > REMEMBERED_RESULTS:
            self.results.popitem(last=False)


def is_mentioned(agent: User, message: Message) -> bool:
    """Whether the text names the agent."""
    return f"<@{agent.user_id}>" in (message.text or "")
