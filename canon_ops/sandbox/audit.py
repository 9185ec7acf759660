"""What a well-behaved client never does, found in what it did. Pure.

Each rule looks over the journal and the world once a scenario is over and gives the breaches it finds; a clean run has
none, whatever faults were scripted. ``CanonSandbox.breaches`` calls all of them. Source: Canon wire 11.9.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from canon_ops.sandbox.journal import Entry
from canon_ops.sandbox.node_audit import CLOSED_STATES, order_of_nodes, silent_nodes
from canon_ops.sandbox.records import Message
from canon_ops.sandbox.state import World

__all__ = ["RULES", "RULES_IN_PEACE", "Breach", "breaches"]

KEYLESS_PATHS = ("/healthz/", "/health", "/agents/register", "/agents/status/*", "/files/*")


@dataclass(frozen=True, slots=True)
class Breach:
    """One broken promise: the rule's name and a sentence with the ids at fault."""

    rule: str
    what: str


Rule = Callable[[World, Sequence[Entry]], Iterator[str]]


def breaches(world: World, journal: Sequence[Entry], *, in_peace: bool = False) -> list[Breach]:
    """Everything that a client should not have done, by rule.

    Args:
        in_peace: the client lived through all of it and its server served it: the order of its requests counts too.
    """
    rules = {**RULES, **RULES_IN_PEACE} if in_peace else RULES
    return [Breach(name, what) for name, rule in rules.items() for what in rule(world, journal)]


def _agent_messages(world: World) -> Iterator[Message]:
    rooms = world.conversations.values()
    return (message for room in rooms for message in room.messages.values() if message.origin == "agent")


def _one_final(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """A turn notifies with its text at most once; messages that carry files are their own."""
    finals = Counter(
        (message.sender_id, message.turn_id)
        for message in _agent_messages(world)
        if message.semantics == "turn_complete" and message.turn_id and not message.attachments
    )
    for (agent_id, turn_id), count in finals.items():
        if count > 1:
            yield f"turn {turn_id} of {agent_id} was completed {count} times"


def _one_answer(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """A message is answered at most once."""
    answers = Counter(
        (message.sender_id, message.reply_to)
        for message in _agent_messages(world)
        if message.semantics == "turn_complete" and message.reply_to and not message.attachments
    )
    for (agent_id, trigger), count in answers.items():
        if count > 1:
            yield f"{agent_id} answered {trigger} {count} times"


def _silence(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """Nothing answers a message that was met with silence, unless somebody said something into its turn."""
    silenced = {(report["agentId"], report["messageId"]): report["messages"] for report in world.silences}
    for message in _agent_messages(world):
        reported_at = silenced.get((message.sender_id, message.reply_to))
        if reported_at is not None and message.position > reported_at and not _is_lifted(world, message, reported_at):
            yield f"{message.message_id} answers {message.reply_to} after its silence was reported"


def _is_lifted(world: World, answer: Message, reported_at: int) -> bool:
    """A message that went into the turn after the report lifts the silence. Source: Canon wire 7.5, 8.7."""
    return any(
        message.metadata.get("deliveryIntent") == "interleave"
        for message in world.conversations[answer.conversation_id].messages.values()
        if reported_at < message.position < answer.position and message.sender_id != answer.sender_id
    )


def _salvage(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """No node is deleted before the final message of its own turn."""
    for room in world.conversations.values():
        for message in room.messages.values():
            salvaged = message.origin == "server" and "turnTrail" in message.metadata and message.turn_id
            if salvaged and world.finals[message.sender_id, message.turn_id or ""]:
                yield f"the node of turn {message.turn_id} was deleted before its final message"


def _key(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """The key goes only where it is needed."""
    for entry in journal:
        if "authorization" in entry.headers and any(fnmatchcase(entry.path, path) for path in KEYLESS_PATHS):
            yield f"request {entry.number} to {entry.path} carried the key"


def _authority(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """A turn uses the leave to answer of one message only."""
    sources: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for entry in _sends(journal):
        turn_id = entry.body.get("metadata", {}).get("turnId")
        if turn_id and "replyAuthority" in entry.body:
            sources[entry.agent_id, turn_id].add(entry.body["replyAuthority"]["sourceMessageId"])
    for (_, turn_id), used in sources.items():
        if len(used) > 1:
            yield f"turn {turn_id} answered under {', '.join(sorted(used))}"


def _order(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """The final message comes before the closing state."""
    finals: dict[tuple[str | None, str], int] = {}
    for entry in _sends(journal):
        metadata = entry.body.get("metadata", {})
        if metadata.get("turnSemantics") == "turn_complete" and metadata.get("turnId"):
            finals.setdefault((entry.agent_id, metadata["turnId"]), entry.number)
    for entry in journal:
        if entry.path != "/runtime/turn" or not isinstance(entry.body, dict) or entry.status != 200:
            continue
        turn_id, state = entry.body.get("turnId"), entry.body.get("state")
        if state in CLOSED_STATES and finals.get((entry.agent_id, turn_id or ""), 0) > entry.number:
            yield f"turn {turn_id} was closed by request {entry.number} before its final message"


def _null(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """Keys without a value are left out, never null."""
    for entry in journal:
        if isinstance(entry.body, dict):
            empty = [key for key, value in entry.body.items() if value is None]
            if empty:
                yield f"request {entry.number} to {entry.path} sent null for {', '.join(empty)}"


def _unexpected(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """Nothing is asked for that no Canon server serves."""
    for entry in journal:
        if entry.unexpected:
            yield f"request {entry.number} went to {entry.method} {entry.path} on the {entry.listener} listener"


def _sends(journal: Sequence[Entry]) -> Iterator[Any]:
    return (
        entry
        for entry in journal
        if entry.path == "/messages/send" and isinstance(entry.body, dict) and entry.status == 200
    )


RULES: Final[dict[str, Rule]] = {
    "one final a turn": _one_final,
    "one answer a message": _one_answer,
    "silence is silent": _silence,
    "nothing salvaged after a normal turn": _salvage,
    "the key never leaks": _key,
    "an authority stays in its turn": _authority,
    "order at the end of a turn": _order,
    "a silence leaves no text on its node": silent_nodes,
    "no null": _null,
    "nothing unexpected": _unexpected,
}
"""Every rule by name that holds whatever happens."""

RULES_IN_PEACE: Final[dict[str, Rule]] = {
    "a node is deleted after the answer and before the close": order_of_nodes,
}
"""What a client that died in between, or whose server failed it, cannot be held to."""
