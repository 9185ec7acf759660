"""What a well-behaved client does with its nodes, held against the journal. Pure.

A deletion names no turn, so the journal is read in the order of arrival and each node has an owner: the turn that wrote
it last. What a client tried counts as much as what the server took, for a deletion that failed was made in its place.

Source: Canon wire 8.7, 11.9.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canon_ops.sandbox.journal import Entry
from canon_ops.sandbox.state import World

__all__ = ["CLOSED_STATES", "order_of_nodes", "silent_nodes"]

CLOSED_STATES: Final = ("completed", "interrupted", "idle")

_Place = tuple[str | None, str | None]  # agent and conversation: one node stands there


@dataclass(slots=True)
class _Node:
    """What stands at a place.

    Attributes:
        closed_by: the request that closed its turn while it stood there.
    """

    turn_id: str | None = None
    has_text: bool = False
    is_deleted: bool = True
    closed_by: int | None = None


def order_of_nodes(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """The final message comes before the node's deletion, the deletion before the closing state.

    A node that another turn has taken over is that turn's to delete. A turn that opens again, with its messages, after
    a crash has still its answer to give.
    """
    nodes: dict[_Place, _Node] = defaultdict(_Node)
    finished: set[tuple[str | None, str]] = set()
    for place, entry in _placed(journal):
        node, turn_id = nodes[place], _turn_of(entry.body)
        if _is_write(entry) and entry.status == 200:
            nodes[place] = _Node(turn_id, is_deleted=False)
        elif _is_deletion(entry):
            if node.closed_by is not None:
                yield f"turn {node.turn_id} was closed by request {node.closed_by}, its node deleted by {entry.number}"
            node.is_deleted, node.closed_by = True, None
        elif _is_final(entry) and (entry.agent_id, turn_id) not in finished:
            finished.add((entry.agent_id, turn_id))
            if node.is_deleted and turn_id == node.turn_id:
                yield f"turn {turn_id} was answered by request {entry.number} after its node was deleted"
        elif _closes(entry) and turn_id == node.turn_id and not node.is_deleted:
            node.closed_by = entry.number
        elif _opens(entry) and turn_id == node.turn_id and node.is_deleted:
            nodes[place] = _Node()
    for node in nodes.values():
        if node.closed_by is not None:
            yield f"turn {node.turn_id} was closed by request {node.closed_by}, its node never deleted"


def silent_nodes(world: World, journal: Sequence[Entry]) -> Iterator[str]:
    """A node of a turn that stays silent is emptied before it is deleted, or Canon would post what stood on it."""
    silenced = {(report["agentId"], report["messageId"]) for report in world.silences if report["messageId"]}
    nodes: dict[_Place, _Node] = defaultdict(_Node)
    silent: set[tuple[str | None, str]] = set()
    answered: set[tuple[str | None, str]] = set()
    for place, entry in _placed(journal):
        node, turn_id = nodes[place], _turn_of(entry.body)
        if _is_write(entry):
            nodes[place] = _Node(turn_id, has_text=entry.body.get("status") != "thinking", is_deleted=False)
        elif _is_deletion(entry):
            turn = (entry.agent_id, node.turn_id or "")
            if node.has_text and turn in silent and turn not in answered:
                yield f"the node of turn {node.turn_id}, which stayed silent, was deleted with its text"
            nodes[place] = _Node()
        elif _is_final(entry):
            answered.add((entry.agent_id, turn_id))
        elif entry.path == "/runtime/turn":
            active = entry.body.get("activeMessageIds") or ()
            if any((entry.agent_id, message_id) in silenced for message_id in active):
                silent.add((entry.agent_id, turn_id))


def _placed(journal: Sequence[Entry]) -> Iterator[tuple[_Place, Any]]:
    for entry in journal:
        if isinstance(entry.body, dict) and entry.path in ("/streaming", "/runtime/turn", "/messages/send"):
            yield (entry.agent_id, entry.body.get("conversationId")), entry


def _turn_of(body: dict[str, Any]) -> str:
    return str(body.get("turnId") or (body.get("metadata") or {}).get("turnId") or "")


def _is_deletion(entry: Entry) -> bool:
    return entry.path == "/streaming" and entry.body.get("streaming") is False


def _is_write(entry: Entry) -> bool:
    return entry.path == "/streaming" and not _is_deletion(entry)


def _is_final(entry: Entry) -> bool:
    """The first one that was taken; messages that carry files are their own."""
    metadata = entry.body.get("metadata") or {}
    is_complete = entry.path == "/messages/send" and metadata.get("turnSemantics") == "turn_complete"
    return is_complete and bool(metadata.get("turnId")) and entry.status == 200 and not entry.body.get("attachments")


def _opens(entry: Entry) -> bool:
    """Not a sign of life in the middle, which names no messages."""
    return entry.path == "/runtime/turn" and bool(entry.body.get("activeMessageIds"))


def _closes(entry: Entry) -> bool:
    return entry.path == "/runtime/turn" and entry.body.get("state") in CLOSED_STATES and entry.status == 200
