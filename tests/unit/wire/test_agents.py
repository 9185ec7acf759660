"""Identity, conversations and the directory."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.wire.agents import AgentIdentity, AgentPage, Conversation, DiscoverQuery, MalformedDirectory


def test_identity_is_read() -> None:
    """The four values that matter are taken, the rest is kept."""
    source = {"agentId": "a", "displayName": "Ops", "ownerId": "o", "outboundPolicy": "approval-required", "more": 1}

    identity = AgentIdentity.parse(source)

    assert identity == AgentIdentity("a", "o", "approval-required", "Ops", source)
    assert identity.may_communicate


@pytest.mark.parametrize(
    ("source", "agent_id", "name"),
    [
        ({"agentId": None, "id": "", "userId": 7, "name": "N"}, "7", "N"),
        ({"agentId": "", "id": "i", "userId": "u", "displayName": "", "name": "N"}, "i", "N"),
        ({"agentId": "a", "id": "b", "agentName": "A", "name": "N"}, "a", "A"),
        ({}, None, None),
        ([], None, None),
        (None, None, None),
    ],
    ids=str,
)
def test_the_first_usable_alias_wins(source: object, agent_id: str | None, name: str | None) -> None:
    """Null and empty values are passed over, numbers become text."""
    identity = AgentIdentity.parse(source)

    assert (identity.agent_id, identity.display_name) == (agent_id, name)


@pytest.mark.parametrize(
    ("policy", "known", "may"),
    [("open", "open", True), ("closed", "closed", False), ("later", "later", False), (1, None, False)],
)
def test_s2_9_only_known_open_policies_allow_to_communicate(policy: object, known: str | None, may: bool) -> None:
    """S2.9: a closed, unknown or missing policy withholds the tool."""
    identity = AgentIdentity.parse({"outboundPolicy": policy})

    assert (identity.outbound_policy, identity.may_communicate) == (known, may)


def test_conversations_come_as_an_object_or_as_a_list() -> None:
    """Rooms without an id are left out, the alias of the id counts."""
    rooms = [{"id": "c1", "type": "group"}, {"conversationId": "c2"}, {"name": "nameless"}, 7]
    read = [("c1", True), ("c2", False)]

    assert [(room.id, room.is_group) for room in Conversation.parse_list({"conversations": rooms})] == read
    assert [(room.id, room.is_group) for room in Conversation.parse_list(rooms)] == read


@pytest.mark.parametrize("answer", [None, {}, "x", {"conversations": {"id": "c"}}, 3], ids=str)
def test_anything_else_is_no_conversation(answer: object) -> None:
    """An answer of another shape reads as an empty list."""
    assert Conversation.parse_list(answer) == ()


@pytest.mark.parametrize(
    ("source", "title"),
    [({"name": "Team", "topic": "T"}, "Team"), ({"name": None, "topic": "T"}, "T"), ({"name": ""}, "c")],
    ids=str,
)
def test_the_title_of_a_conversation(source: dict[str, Any], title: str) -> None:
    """Name, else topic, else id."""
    room = Conversation.parse(source, default_id="c")

    assert room is not None and room.title == title


def test_members_are_unknown_unless_listed() -> None:
    """No list is another thing than an empty one."""
    unknown, empty = Conversation.parse({"id": "c"}), Conversation.parse({"id": "c", "memberIds": []})

    assert unknown is not None and unknown.member_count is None
    assert empty is not None and empty.member_count == 0


def test_changes_replace_key_by_key_and_keep_the_id() -> None:
    """What an update does not name stays, unknown keys included, and a room cannot become another."""
    room = Conversation.parse({"id": "c", "name": "old", "type": "group", "more": 1})
    assert room is not None

    changed = room.merged({"name": "new", "memberIds": ["a"], "id": "other"})

    assert (changed.id, changed.name, changed.type, changed.member_ids) == ("c", "new", "group", ("a",))
    assert changed.raw["more"] == 1


def test_the_directory_query() -> None:
    """An empty query is sent, absent values are not."""
    assert DiscoverQuery().params() == {"limit": "10"}
    assert DiscoverQuery("", 1, "cur").params() == {"query": "", "limit": "1", "cursor": "cur"}
    assert DiscoverQuery("é" * 64, 10).params() == {"query": "é" * 64, "limit": "10"}


@pytest.mark.parametrize(
    "wrong", [{"query": "x" * 65}, {"limit": 0}, {"limit": 11}, {"limit": True}, {"cursor": ""}], ids=str
)
def test_a_query_out_of_bounds_is_refused(wrong: dict[str, Any]) -> None:
    """The bounds are held before anything is sent."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DiscoverQuery(**wrong)


AGENT = {"principalId": "agent_t", "shareable": True, "owner": {"principalId": "user_o"}, "more": 1}


def test_a_page_of_agents_is_passed_on_untouched() -> None:
    """Every key of an entry reaches the caller."""
    assert AgentPage.parse({"agents": [AGENT], "nextCursor": "c"}) == AgentPage((AGENT,), "c")
    assert AgentPage.parse({"agents": [], "nextCursor": None}) == AgentPage((), None)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"agents": {}},
        {"agents": [AGENT, 7]},
        {"agents": [{**AGENT, "principalId": " "}]},
        {"agents": [{**AGENT, "shareable": 1}]},
        {"agents": [{**AGENT, "owner": None}]},
        {"agents": [{**AGENT, "owner": {"principalId": ""}}]},
        {"agents": [AGENT], "nextCursor": 7},
    ],
    ids=str,
)
def test_a_malformed_page_is_an_error(answer: object) -> None:
    """One entry that lacks what is promised spoils the page."""
    with pytest.raises(MalformedDirectory):
        AgentPage.parse(answer)
