"""The seven actions as pure functions: what is sent, what is refused before it is sent, what the model is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_hermes_plugin.communicate import results
from canon_hermes_plugin.communicate.acts import ACTIONS, Perform, read_act
from canon_hermes_plugin.communicate.schema import COMMUNICATE
from canon_ops.wire.agents import DiscoverQuery
from canon_ops.wire.verbs import checked_value, verb_request

SEVEN = [
    "discover_agents",
    "message_existing",
    "start_direct",
    "create_group",
    "forward_message",
    "share_contact",
    "manage_group_members",
]
COMPLETE = {"messageOptions": {"metadata": {"turnSemantics": "turn_complete"}}}

SENT = [
    pytest.param(
        {"action": "message_existing", "conversationId": "c1", "text": "hi"},
        "send_to",
        {"conversationId": "c1"},
        {"text": "hi", **COMPLETE},
        id="S11.9",
    ),
    pytest.param(
        {"action": "start_direct", "principalId": "p1", "text": "hi", "selection": {"mode": "latest_or_new"}},
        "send_to",
        {"targetUserId": "p1", "sessionSelection": {"mode": "continue_or_create"}},
        {"text": "hi"},
        id="S11.7",
    ),
    pytest.param(
        {"action": "start_direct", "principalId": "p1", "text": "hi", "selection": {"mode": "new"}, "messageId": "k"},
        "send_to",
        {"targetUserId": "p1", "sessionSelection": {"mode": "new"}, "idempotencyKey": "k"},
        {"text": "hi"},
        id="S11.8",
    ),
    pytest.param(
        {
            "action": "start_direct",
            "principalId": "p1",
            "text": "hi",
            "selection": {"mode": "specific", "conversationId": "c1"},
        },
        "send_to",
        {"targetUserId": "p1", "sessionSelection": {"mode": "specific", "conversationId": "c1"}},
        {"text": "hi"},
        id="specific",
    ),
    pytest.param(
        {"action": "create_group", "name": "Team", "memberIds": ["b", "a", "b"]},
        "create_group",
        {"memberIds": ["b", "a"]},
        {"name": "Team"},
        id="S11.11",
    ),
    pytest.param(
        {"action": "forward_message", "sourceConversationId": "c1", "targetConversationId": "c2", "messageId": "m"},
        "forward",
        {"sourceConversationId": "c1", "conversationId": "c2", "messageId": "m"},
        {},
        id="S11.14-forward",
    ),
    pytest.param(
        {"action": "share_contact", "conversationId": "c1", "contactUserId": "u", "text": "", "messageId": "k"},
        "share_contact",
        {"conversationId": "c1", "contactUserId": "u", "idempotencyKey": "k"},
        {"text": ""},
        id="S11.14-share",
    ),
    pytest.param(
        {"action": "manage_group_members", "conversationId": "c1", "userId": "u", "operation": "add"},
        "add_member",
        {"conversationId": "c1", "targetUserId": "u"},
        {},
        id="S11.14-add",
    ),
    pytest.param(
        {"action": "manage_group_members", "conversationId": "c1", "userId": "u", "operation": "remove"},
        "remove_member",
        {"conversationId": "c1", "targetUserId": "u"},
        {},
        id="S11.14-remove",
    ),
]


@pytest.mark.parametrize(("args", "verb", "envelope", "value"), SENT)
def test_what_is_sent(args: dict[str, Any], verb: str, envelope: dict[str, Any], value: dict[str, Any]) -> None:
    """S11.7, S11.8, S11.9, S11.11, S11.14: verb, envelope and value, and nothing else."""
    act = read_act(args)

    assert isinstance(act, Perform)
    body = verb_request(act.verb, act.envelope, act.value)
    assert (body["verb"], body["envelope"], body["body"]["value"]) == (verb, envelope, value)


@pytest.mark.parametrize(
    ("args", "params"),
    [
        ({"query": "translator", "limit": 5}, {"query": "translator", "limit": "5"}),
        ({}, {"limit": "10"}),
        ({"cursor": "n"}, {"limit": "10", "cursor": "n"}),
    ],
)
def test_a_search_of_the_directory(args: dict[str, Any], params: dict[str, str]) -> None:
    """S11.10: only what was given, and the limit always."""
    act = read_act({"action": "discover_agents", **args})

    assert isinstance(act, DiscoverQuery) and act.params() == params


LONG_ID, LONG_TEXT = "x" * 161, "ש" * 2_049  # 4,098 bytes in half as many characters
WRONG = [
    ({"action": "shout"}, "discover_agents"),
    ({"action": ["start_direct"]}, "discover_agents"),
    ({"action": "discover_agents", "query": "x" * 65}, "query"),
    ({"action": "discover_agents", "limit": True}, "limit"),
    ({"action": "discover_agents", "limit": 11}, "limit"),
    ({"action": "discover_agents", "limit": 2.5}, "limit"),
    ({"action": "discover_agents", "cursor": ""}, "cursor"),
    ({"action": "discover_agents", "cursor": 7}, "cursor"),
    ({"action": "message_existing", "text": "hi"}, "conversationId"),
    ({"action": "message_existing", "conversationId": " ", "text": "hi"}, "conversationId"),
    ({"action": "message_existing", "conversationId": LONG_ID, "text": "hi"}, "conversationId"),
    ({"action": "message_existing", "conversationId": "c1", "text": LONG_TEXT}, "4098 bytes"),
    ({"action": "message_existing", "conversationId": "c1", "text": "\ud83d"}, "pair"),
    ({"action": "message_existing", "conversationId": "c1", "text": "hi", "runtimeId": "r"}, "runtimeId"),
    ({"action": "message_existing", "conversationId": "c1", "text": "hi", "messageId": " "}, "messageId"),
    ({"action": "start_direct", "principalId": "p", "text": "hi", "selection": "new"}, "selection"),
    ({"action": "start_direct", "principalId": "p", "text": "hi", "selection": {"mode": "specific"}}, "selection"),
    (
        {"action": "start_direct", "principalId": "p", "text": "", "selection": {"mode": "new", "x": "c"}},
        "selection",
    ),
    (
        {
            "action": "start_direct", "principalId": "p", "text": "hi",
            "selection": {"mode": "specific", "conversationId": LONG_ID},
        },
        "conversationId has 161 characters",
    ),
    ({"action": "discover_agents", "query": "\ud83d"}, "query holds half"),
    ({"action": "discover_agents", "cursor": "\udc00"}, "cursor holds half"),
    ({"action": "message_existing", "conversationId": "\ud83d", "text": "hi"}, "conversationId holds half"),
    ({"action": "create_group", "name": "\ud83d", "memberIds": ["a"]}, "name holds half"),
    ({"action": "create_group", "name": "x", "memberIds": ["\ud83d"]}, "memberIds holds half"),
    ({"action": "create_group", "name": "x" * 101, "memberIds": ["a"]}, "name"),
    ({"action": "create_group", "name": "x", "memberIds": []}, "memberIds"),
    ({"action": "create_group", "name": "x", "memberIds": "abc"}, "memberIds"),
    ({"action": "create_group", "name": "x", "memberIds": ["a", 1]}, "memberIds"),
    ({"action": "create_group", "name": "x", "memberIds": [str(number) for number in range(50)]}, "50 members"),
    (
        {
            "action": "forward_message", "sourceConversationId": "c", "targetConversationId": "d", "messageId": "m",
            "text": LONG_TEXT,
        },
        "4098 bytes",
    ),
    ({"action": "share_contact", "conversationId": "c1", "contactUserId": "u", "text": 7}, "text"),
    ({"action": "manage_group_members", "conversationId": "c1", "userId": "u", "operation": "ban"}, "operation"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "words"), WRONG)
def test_what_is_refused_before_it_is_sent(args: dict[str, Any], words: str) -> None:
    """R11.32, D52: the schema's maxima count here too, texts in bytes, and the error names what is wrong."""
    with pytest.raises(ValueError, match=words):
        read_act(args)


NAMES = st.sampled_from(["action", "text", "limit", "memberIds", "selection", "conversationId"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(SEVEN)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=4)


@given(st.dictionaries(NAMES, VALUES))
def test_a_model_may_write_anything(args: dict[str, Any]) -> None:
    """Whatever comes is an act or a ValueError, never another failure."""
    try:
        act = read_act(args)
    except ValueError:
        return
    assert isinstance(act, Perform | DiscoverQuery)


TOLD = [
    ("send", {"status": "messaged", "conversationId": "c", "messageId": "m", "created": True, "x": 1},
     {"status": "messaged", "conversationId": "c", "messageId": "m", "created": True}),
    ("send", {"status": "requested", "requestId": "r", "success": False}, {"status": "requested", "requestId": "r"}),
    ("send", {"status": "unavailable", "reason": "gone"}, {"status": "unavailable", "reason": "gone"}),
    ("send", {"status": "forwarded", "messageId": "m", "targetConversationId": "c"}, None),
    ("forward", {"status": "forwarded", "messageId": "m", "targetConversationId": "c"},
     {"status": "forwarded", "messageId": "m", "targetConversationId": "c"}),
    ("forward", {"status": "requested", "requestId": "r"}, {"status": "requested", "requestId": "r"}),
    ("forward", {"status": "blocked", "reason": "no"}, {"status": "blocked", "reason": "no"}),
    ("share", {"status": "shared", "messageId": "m"}, {"status": "shared", "conversationId": "c1", "messageId": "m"}),
    ("share", {"status": "added"}, None),
    ("member", {"status": "added"}, {"status": "added", "conversationId": "c1", "userId": "u"}),
    ("member", {"status": "removed"}, None),
    ("member", {"status": "pending", "requestId": "r"}, {"status": "pending", "requestId": "r"}),
    ("group", {"status": "created", "conversationId": "c", "added": [], "pending": [], "skipped": []},
     {"status": "created", "conversationId": "c", "added": [], "pending": [], "skipped": []}),
]  # fmt: skip
READERS = {
    "send": results.of_send,
    "forward": results.of_forward,
    "share": results.of_share("c1"),
    "member": results.of_membership("added", "c1", "u"),
    "group": results.as_is,
}


@pytest.mark.parametrize(("reader", "value", "told"), TOLD)
def test_what_the_model_is_told(reader: str, value: dict[str, Any], told: dict[str, Any] | None) -> None:
    """S11.15, D52: each status that an act may have is mapped, also an approval for a forward; another is an error."""
    checked = checked_value("send_to", value)
    if told is None:
        with pytest.raises(ValueError, match=value["status"]):
            READERS[reader](checked)
    else:
        assert READERS[reader](checked) == told


def test_the_schema_has_the_seven_in_order() -> None:
    """S1.17: seven closed objects, one an action."""
    branches = COMMUNICATE["parameters"]["oneOf"]

    assert [branch["properties"]["action"]["const"] for branch in branches] == SEVEN == [*ACTIONS]
    assert all(branch["additionalProperties"] is False and branch["required"][0] == "action" for branch in branches)
