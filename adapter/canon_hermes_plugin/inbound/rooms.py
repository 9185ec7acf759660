"""What is known of each conversation, and the two questions asked about it: which kind of session, how much to show.

The answers must not wander. A group whose first message was routed as a direct chat would share one session among its
members and lose it with the second message. So a room that nobody has described is looked up before its first message
is routed (:attr:`Rooms.is_known` is what the shell asks), and the kind of session, once used, stays. Not knowing is no
kind: it is never kept.

Source: canon-adapter R2.13, R2.16, R3.13, R3.16, R3.20, R3.22; defect D35.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from canon_ops.wire.agents import Conversation
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.messages import MessageCreated
from canon_ops.wire.verbosity import ConversationKind, conversation_kind

__all__ = ["Rooms", "changed", "listed", "noted", "routed"]

ROOMS: Final = 4_096  # ours: more rooms than one agent takes part in; the ones longest unheard of go first

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Rooms:
    """Conversations by id.

    Attributes:
        rooms: as the server last described them.
        said: the kind that came with a message; it is newer than a listing.
        sessions: whether the conversation's sessions are a group's, from the first message that was routed.
    """

    rooms: Mapping[str, Conversation] = field(default_factory=dict)
    said: Mapping[str, ConversationKind] = field(default_factory=dict)
    sessions: Mapping[str, bool] = field(default_factory=dict)

    def is_known(self, conversation_id: str) -> bool:
        """Whether the kind of the conversation is known; when not, ask the server before routing its first message."""
        return conversation_id in self.sessions or self.kind(conversation_id) is not ConversationKind.UNKNOWN

    def kind(self, conversation_id: str) -> ConversationKind:
        """The kind that decides how much of a turn is shown."""
        said = self.said.get(conversation_id)
        if said is not None:
            return said
        room = self.rooms.get(conversation_id)
        if room is None or not room.type:
            return ConversationKind.UNKNOWN
        return ConversationKind.GROUP if room.is_group else ConversationKind.DIRECT

    def is_group(self, conversation_id: str) -> bool:
        """Whether the host's session for the conversation is a group's; an unknown room counts as a direct chat."""
        kept = self.sessions.get(conversation_id)
        if kept is not None:
            return kept
        room = self.rooms.get(conversation_id)
        if room is not None and room.type:
            return room.is_group
        return self.kind(conversation_id) is ConversationKind.GROUP

    def title(self, conversation_id: str) -> str | None:
        """The name that people see; None when the room is not known."""
        room = self.rooms.get(conversation_id)
        return None if room is None else room.title


def noted(state: Rooms, created: MessageCreated) -> Rooms:
    """Take over what a message says about its conversation."""
    conversation_id = created.conversation_id
    if conversation_id is None:
        return state
    described, said = state.rooms, state.said
    if created.conversation is not None:
        described = _bounded(described, conversation_id, created.conversation)
    kind = conversation_kind(created.conversation_kind)
    if kind is not ConversationKind.UNKNOWN:
        said = _bounded(said, conversation_id, kind)
    return state if described is state.rooms and said is state.said else replace(state, rooms=described, said=said)


def listed(state: Rooms, rooms: Iterable[Conversation]) -> Rooms:
    """The server's list replaces what was known of its rooms; rooms it does not name are no longer ours."""
    return replace(state, rooms={room.id: room for room in rooms})


def changed(state: Rooms, conversation_id: str, changes: JsonObject) -> Rooms:
    """Merge a ``conversation.updated``; a new type there is newer than what a message once said."""
    room = state.rooms.get(conversation_id) or Conversation(conversation_id, raw={"id": conversation_id})
    state = replace(state, rooms=_bounded(state.rooms, conversation_id, room.merged(changes)))
    if changes.get("type"):
        state = replace(state, said={key: kind for key, kind in state.said.items() if key != conversation_id})
    return state


def routed(state: Rooms, conversation_id: str) -> Rooms:
    """A message of the conversation goes to the host: its kind of session, once it is known, stays from now on."""
    if not state.is_known(conversation_id):
        return state
    sessions = _bounded(state.sessions, conversation_id, state.is_group(conversation_id))
    return state if sessions is state.sessions else replace(state, sessions=sessions)


def _bounded(entries: Mapping[str, V], key: str, value: V) -> Mapping[str, V]:
    """``entries`` with ``key`` as the newest; while there is room for twice as many, what is known is left in place."""
    if len(entries) <= ROOMS // 2 and entries.get(key) == value:
        return entries
    result = {known: entry for known, entry in entries.items() if known != key}
    result[key] = value
    if len(result) > ROOMS:
        del result[next(iter(result))]
    return result
