"""Everything a loopback Canon server knows, and the few changes that several endpoints share. Pure.

The shell (``engine``) calls in this order: it holds its lock, hands a request and the time to one handler of ``rest/``
or to one verb of ``human``, takes the :class:`Reply`, and then :meth:`World.take_published`, the agents whose streams
have something new. Nothing here reads a clock, draws a random number or touches a socket: ids and tokens come from a
seed and a counter, so the same calls give the same world.

The world is changed in place, because it has to hold a hundred thousand messages; each handler checks first and changes
afterwards, so a refusal leaves it as it was. Source: Canon wire 11.2.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from canon_ops.sandbox.events import EventLog
from canon_ops.sandbox.options import KEY_PREFIX, PROJECTS, CanonOptions
from canon_ops.sandbox.records import (
    Agent,
    Contact,
    Conversation,
    Human,
    Interaction,
    Json,
    Kind,
    Media,
    Message,
    Node,
    Registration,
    Signal,
    Tombstone,
    TurnLog,
    iso_time,
)

__all__ = ["Call", "Reply", "Sent", "World", "refusal"]

AUTHORITY_LIFE_MS = 24 * 3_600_000  # chosen: no source states it; long enough that only a moved clock outlives it


@dataclass(frozen=True, slots=True)
class Call:
    """One request, read but not yet judged.

    Attributes:
        body: the JSON object, ``{}`` when there was no body.
        agent: who the bearer key authenticates; set by the shell for every endpoint that needs a key.
        now_ms: the sandbox's time.
        bent: the name of a rule that a fault wants applied, one that the handler knows.
    """

    method: str
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    now_ms: int
    agent: Agent | None = None
    bent: str | None = None

    @property
    def caller(self) -> Agent:
        """The authenticated agent."""
        if self.agent is None:
            raise LookupError(f"{self.path} was routed without authentication")
        return self.agent


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler decided.

    Attributes:
        body: a JSON value, bytes, or None for an empty body.
        headers: beside those that every answer has.
        was_bent: the rule named by ``call.bent`` decided this.
    """

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    was_bent: bool = False


def refusal(status: int, error: str, code: str | None = None) -> Reply:
    """An error body of the wire. Source: Canon wire 2.3."""
    return Reply(status, {"error": error} if code is None else {"error": error, "code": code})


class Sent(NamedTuple):
    """What a client message id stands for."""

    fingerprint: str
    conversation_id: str
    message_id: str


class World:
    """The state of one loopback Canon server.

    Args:
        options: see :class:`CanonOptions`.
        seed: ids and tokens grow out of it.
        now_ms: when the first conversations were created.
    """

    def __init__(self, options: CanonOptions, *, seed: str, now_ms: int) -> None:
        self.options = options
        self._seed = seed.encode()
        self._minted: Counter[str] = Counter()
        self._published: set[str] = set()
        self._prefix = f"evt_{self.secret('events')[:6]}_"
        self.base_url = ""  # the shell fills it in once the port is known; media URLs start with it
        self.humans: dict[str, Human] = {}
        self.agents: dict[str, Agent] = {}
        self.agent_by_key: dict[str, Agent] = {}
        self.registrations: dict[str, Registration] = {}
        self.request_by_local_id: dict[str, str] = {}
        self.conversations: dict[str, Conversation] = {}
        self.logs: dict[str, EventLog] = {}
        self.message_count = 0
        self.sent: dict[tuple[str, str], Sent] = {}  # (agent, client message id)
        self.finals: Counter[tuple[str, str]] = Counter()  # (agent, turn) -> turn_complete messages stored
        self.notifications: Counter[str] = Counter()  # conversation -> messages that notified people
        self.authority_claims: dict[tuple[str, str], str] = {}  # (agent, source message) -> first turn
        self.nodes: dict[tuple[str, str], Node] = {}
        self.node_writes: dict[tuple[str, str], deque[Json]] = {}
        self.turns: dict[tuple[str, str], TurnLog] = {}
        self.typing: dict[tuple[str, str], tuple[str, int]] = {}  # (conversation, principal) -> (status, lapses at)
        self.runtime_status: dict[str, tuple[Json, int]] = {}
        self.read_marks: dict[tuple[str, str], int] = {}
        self.signals: dict[str, Signal] = {}
        self.interactions: dict[tuple[str, str], Interaction] = {}  # (kind, request id); ids are single use
        self.tombstones: dict[str, Tombstone] = {}  # approval id
        self.standing_answers: deque[Json] = deque()  # given to the next interactions before their create is answered
        self.contacts: dict[str, Contact] = {}
        self.silences: list[Json] = []  # reports of the verb no_reply
        self.media: dict[str, Media] = {}
        self.sends_by: dict[tuple[str, str], deque[int]] = {}  # (limit, whom it counts) -> times, for rate limits
        self._populate(now_ms)

    @property
    def project_id(self) -> str:
        return PROJECTS[self.options.environment_id]

    # Minting ----------------------------------------------------------------------------------------------------

    def mint(self, kind: str) -> str:
        """The next id of a kind: ``msg_000001``."""
        self._minted[kind] += 1
        return f"{kind}_{self._minted[kind]:06d}"

    def secret(self, *purpose: str) -> str:
        """64 hex digits that only this world and its seed can derive for ``purpose``."""
        return hmac.new(self._seed, "\0".join(purpose).encode(), hashlib.sha256).hexdigest()

    # Principals and rooms ---------------------------------------------------------------------------------------

    def add_human(self, user_id: str, name: str, phone: str) -> Human:
        human = self.humans[user_id] = Human(user_id, name, phone)
        return human

    def add_agent(self, name: str, owner_id: str, *, agent_id: str | None = None) -> Agent:
        """A new agent with its own key and event log."""
        agent_id = agent_id or self.mint("agent")
        agent = Agent(agent_id, name, owner_id, KEY_PREFIX + self.secret("key", agent_id)[:32])
        self.agents[agent_id] = self.agent_by_key[agent.api_key] = agent
        self.logs[agent_id] = EventLog(self._prefix, self.options.window_events)
        return agent

    def renew_key(self, agent: Agent) -> None:
        """A new key in place of a revoked one, which nobody knows any more."""
        self.agent_by_key.pop(agent.api_key, None)
        agent.api_key, agent.revoked = KEY_PREFIX + self.secret("key", self.mint("key"))[:32], False
        self.agent_by_key[agent.api_key] = agent

    def add_conversation(
        self,
        member_ids: Iterable[str],
        *,
        kind: Kind,
        now_ms: int,
        name: str | None = None,
        topic: str | None = None,
        conversation_id: str | None = None,
    ) -> Conversation:
        conversation_id = conversation_id or self.mint("conv")
        conversation = Conversation(conversation_id, kind, name, topic, list(member_ids), now_ms)
        self.conversations[conversation_id] = conversation
        return conversation

    def direct_conversation(self, agent_id: str, user_id: str) -> Conversation | None:
        """The newest direct room of these two."""
        wanted = {agent_id, user_id}
        rooms = [
            room for room in self.conversations.values() if room.kind == "direct" and set(room.member_ids) == wanted
        ]
        return rooms[-1] if rooms else None

    def name_of(self, principal_id: str) -> str:
        known = self.humans.get(principal_id) or self.agents.get(principal_id)
        return known.name if known else principal_id

    def room_for(self, call: Call, conversation_id: object) -> Conversation | Reply:
        """The conversation, when the caller is a member of it; else the refusal."""
        room = self.conversations.get(conversation_id) if isinstance(conversation_id, str) else None
        if not isinstance(conversation_id, str) or not conversation_id:
            return refusal(400, "conversationId must be a non-empty string")
        if room is None or call.caller.agent_id not in room.member_ids:
            return refusal(403, "Not a member of this conversation")
        return room

    # Events -----------------------------------------------------------------------------------------------------

    def publish(self, agent_id: str, name: str, payload: Any, *, occasion: str = "") -> None:
        """Put an event on one agent's streams."""
        self.logs[agent_id].append(name, payload, occasion=occasion)
        self._published.add(agent_id)

    def publish_to_members(self, room: Conversation, name: str, payload: Any, *, but: str | None = None) -> None:
        """Put an event on the streams of every agent in the room, ``but`` one."""
        for member in room.member_ids:
            if member in self.agents and member != but:
                self.publish(member, name, payload)

    def take_published(self) -> set[str]:
        """The agents whose logs grew since the last call."""
        published, self._published = self._published, set()
        return published

    # Reply authority --------------------------------------------------------------------------------------------

    def reply_authority(self, agent: Agent, message: Message) -> Json:
        """Leave to answer ``message``, derived instead of stored. Source: Canon wire 6.5."""
        return {
            "schema": "canon.agent-reply-authority.v1",
            "sourceMessageId": message.message_id,
            "token": self.secret("authority", agent.agent_id, message.message_id),
            "expiresAt": iso_time(message.created_at_ms + AUTHORITY_LIFE_MS),
        }

    def _populate(self, now_ms: int) -> None:
        """The people, the agent and the rooms that every sandbox starts with."""
        owner = self.add_human("user_owner", "Olivia", "+15550100")
        dana = self.add_human("user_dana", "Dana", "+15550101")
        agent = self.add_agent("Sandbox Hermes", owner.user_id, agent_id="agent_sandbox")
        self.add_conversation(
            [owner.user_id, agent.agent_id], kind="direct", now_ms=now_ms, conversation_id="conv_direct"
        )
        self.add_conversation(
            [owner.user_id, dana.user_id, agent.agent_id],
            kind="group",
            name="Team",
            now_ms=now_ms,
            conversation_id="conv_team",
        )
