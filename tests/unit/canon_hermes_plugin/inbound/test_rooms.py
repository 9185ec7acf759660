"""What is known of conversations, and the answers that must not wander."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.inbound.rooms import ROOMS, Rooms, changed, listed, noted, routed
from canon_ops.wire.agents import Conversation
from canon_ops.wire.messages import MessageCreated
from canon_ops.wire.verbosity import ConversationKind


def room(**fields: Any) -> Conversation:
    parsed = Conversation.parse({"id": "c1", **fields})
    assert parsed is not None
    return parsed


def message(**fields: Any) -> MessageCreated:
    created = MessageCreated.parse({"conversationId": "c1", "message": {"id": "m1"}, **fields})
    assert created is not None
    return created


def said(kind: str) -> MessageCreated:
    return message(provenance={"conversation": {"type": kind}})


def test_s6_32_a_message_knows_better_than_the_list() -> None:
    """S6.32: what came with a message holds before and after a listing that says otherwise."""
    state = noted(Rooms(), said("group"))
    before = state.kind("c1")

    after = listed(state, [room(type="direct")]).kind("c1")

    assert (before, after) == (ConversationKind.GROUP, ConversationKind.GROUP)


@pytest.mark.parametrize(
    ("rooms", "kind"),
    [([room(type="group")], ConversationKind.GROUP), ([], ConversationKind.UNKNOWN)],
    ids=["S6.33-listed", "S6.33-nothing-known"],
)
def test_without_a_word_the_list_decides(rooms: list[Conversation], kind: ConversationKind) -> None:
    """S6.33: a provenance of ``unknown`` records nothing."""
    state = noted(listed(Rooms(), rooms), said("unknown"))

    assert state.kind("c1") is kind
    assert state.said == {}


def test_a_change_of_type_is_newer_than_a_message() -> None:
    """D35: the recorded kind follows ``conversation.updated``."""
    state = noted(Rooms(), said("group"))

    state = changed(state, "c1", {"type": "direct"})

    assert state.kind("c1") is ConversationKind.DIRECT


def test_another_change_leaves_the_kind_alone() -> None:
    """A new name says nothing about the type, and an unknown room is created by it."""
    state = changed(noted(Rooms(), said("group")), "c1", {"name": "Team"})

    assert (state.kind("c1"), state.title("c1")) == (ConversationKind.GROUP, "Team")


def test_a_session_keeps_its_kind() -> None:
    """D35: once a message was routed as of a direct chat, a room that changes does not move the conversation."""
    state = routed(listed(Rooms(), [room(type="direct")]), "c1")

    state = listed(state, [room(type="group")])

    assert state.is_group("c1") is False


@pytest.mark.parametrize(
    ("state", "is_known", "is_group"),
    [
        pytest.param(Rooms(), False, False, id="nothing"),
        pytest.param(listed(Rooms(), [room()]), False, False, id="listed without type"),
        pytest.param(listed(Rooms(), [room(type="group")]), True, True, id="listed group"),
        pytest.param(listed(Rooms(), [room(type="direct")]), True, False, id="listed direct"),
        pytest.param(noted(Rooms(), said("group")), True, True, id="said to be a group"),
    ],
)
def test_what_decides_about_the_session(state: Rooms, is_known: bool, is_group: bool) -> None:
    """R3.20, D35: unknown rooms want a look-up first; without one they count as direct."""
    assert (state.is_known("c1"), state.is_group("c1")) == (is_known, is_group)


def test_a_message_brings_its_room() -> None:
    """R3.1 step 7: the conversation object of a payload replaces what was known."""
    state = noted(listed(Rooms(), [room(name="Old")]), message(conversation={"id": "c1", "name": "New"}))

    assert state.title("c1") == "New"
    assert state.title("c2") is None


def test_the_memory_is_bounded() -> None:
    """D35: the rooms longest unheard of are forgotten first."""
    state = Rooms()
    for number in range(ROOMS + 2):
        state = routed(listed(state, [Conversation(f"c{number}", "group")]), f"c{number}")

    assert len(state.sessions) == ROOMS
    assert "c0" not in state.sessions
    assert f"c{ROOMS + 1}" in state.sessions


def test_a_session_of_an_unknown_kind_is_not_kept() -> None:
    """D35: what was routed while nobody knew the room decides nothing about what comes when it is known."""
    state = listed(routed(Rooms(), "c1"), [Conversation("c1", "group")])

    assert (state.is_known("c1"), state.is_group("c1"), routed(state, "c1").sessions) == (True, True, {"c1": True})
