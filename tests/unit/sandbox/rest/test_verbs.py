"""The verb wire decided: frames, policies, and what each verb does."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.sandbox.state import Reply, World
from tests.support.canon_calls import NOW_MS, OWNER, a_world, call, events_of, say

AGENT = "agent_sandbox"


def invoke(
    world: World, name: str, routing: dict[str, Any], content: dict[str, Any] | None = None, **frame: Any
) -> Reply:
    body = {
        "wire": "canon.verb-wire.v1",
        "verb": name,
        "envelope": routing,
        "body": {"encoding": "json", "value": content or {}},
        **frame,
    }
    return call(world, "POST", f"/agent/verbs/{name}", body)


def value_of(reply: Reply) -> dict[str, Any]:
    assert reply.status == 200, reply
    assert set(reply.body) == {"wire", "verb", "result"}
    assert (reply.body["wire"], reply.body["result"]["encoding"]) == ("canon.verb-wire.v1", "json")
    value = reply.body["result"]["value"]
    assert isinstance(value, dict)
    return value


def with_agent(world: World, **policies: Any) -> str:
    """Another owner's agent."""
    agent = world.add_agent("Translator", "user_dana")
    for name, policy in policies.items():
        setattr(agent, name, policy)
    return agent.agent_id


@pytest.mark.parametrize(
    "frame",
    [
        {"wire": "canon.verb-wire.v2"},
        {"verb": "forward"},
        {"extra": 1},
        {"envelope": []},
        {"body": {"encoding": "mls", "ciphertext": "x"}},
        {"body": {"encoding": "json", "value": "text"}},
    ],
    ids=str,
)
def test_a_frame_is_exactly_a_frame(frame: dict[str, Any]) -> None:
    """Anything else is 400 and does nothing."""
    world = a_world()

    answer = invoke(world, "send_to", {"conversationId": "conv_direct"}, {"text": "x"}, **frame)

    assert (answer.status, world.message_count) == (400, 0)


@pytest.mark.parametrize(
    ("verb", "envelope"),
    [
        ("send_to", {}),
        ("send_to", {"conversationId": "c", "targetUserId": "u"}),
        ("send_to", {"conversationId": "conv direct"}),
        ("send_to", {"conversationId": "conv_direct", "idempotencyKey": "__x__"}),
        ("send_to", {"conversationId": "conv_direct", "magic": 1}),
        ("send_to", {"targetUserId": "user_dana", "sessionSelection": {"mode": "psychic"}}),
        ("send_to", {"targetUserId": "user_dana", "sessionSelection": {"mode": "specific"}}),
        ("forward", {"conversationId": "conv_direct", "messageId": "m"}),
        ("create_group", {"memberIds": "user_dana"}),
        ("add_member", {"conversationId": "conv_team"}),
        ("no_reply", {"conversationId": ""}),
    ],
)
def test_an_envelope_has_the_keys_of_its_verb(verb: str, envelope: dict[str, Any]) -> None:
    """Missing, unknown and misshapen keys are 400."""
    assert invoke(a_world(), verb, envelope, {"text": "x"}).status == 400


def test_an_unknown_verb_is_not_there() -> None:
    """404, as for any unknown path."""
    assert invoke(a_world(), "teleport", {}).status == 404


def test_a_message_to_a_known_conversation() -> None:
    """Text from the value, reply and mentions from the envelope, turn keys from either with the envelope on top."""
    world = a_world()
    options = {"metadata": {"turnSemantics": "progress", "turnId": "t1"}, "replyTo": "ignored"}

    answer = invoke(
        world,
        "send_to",
        {
            "conversationId": "conv_direct",
            "idempotencyKey": "k1",
            "replyTo": "msg_root",
            "mentions": [OWNER],
            "turn": {"turnSemantics": "turn_complete"},
        },
        {"text": "hello", "messageOptions": options},
    )

    assert value_of(answer) == {"status": "messaged", "conversationId": "conv_direct", "messageId": "k1"}
    message = world.conversations["conv_direct"].messages["k1"]
    assert (message.text, message.reply_to, message.mentions) == ("hello", "msg_root", [OWNER])
    assert message.metadata == {"turnSemantics": "turn_complete", "turnId": "t1"}


def test_a_repeated_key_sends_once() -> None:
    """In a known conversation and in one that the first call opened."""
    world = a_world()

    known = [
        value_of(invoke(world, "send_to", {"conversationId": "conv_direct", "idempotencyKey": "k1"}, {"text": "x"}))
        for _ in range(2)
    ]
    opened = [
        value_of(
            invoke(
                world,
                "send_to",
                {"targetUserId": "user_dana", "idempotencyKey": "k2", "sessionSelection": {"mode": "new"}},
                {"text": "x"},
            )
        )
        for _ in range(2)
    ]

    assert known[0] == known[1]
    assert opened[0]["messageId"] == opened[1]["messageId"]
    assert opened[0]["conversationId"] == opened[1]["conversationId"]
    assert world.message_count == 2


@pytest.mark.parametrize(
    ("mode", "created", "rooms"),
    [("continue_or_create", False, 3), ("continue_latest", False, 3), ("new", True, 4)],
)
def test_which_conversation_is_taken(mode: str, created: bool, rooms: int) -> None:
    """An existing one is continued unless a new one is asked for."""
    world = a_world()
    world.add_conversation([AGENT, "user_dana"], kind="direct", now_ms=NOW_MS)

    value = value_of(
        invoke(world, "send_to", {"targetUserId": "user_dana", "sessionSelection": {"mode": mode}}, {"text": "x"})
    )

    assert (value["created"], value["reused"]) == (created, not created)
    assert len(world.conversations) == rooms


def test_nothing_to_continue() -> None:
    """continue_latest opens nothing; the default does."""
    world = a_world()
    latest = {"targetUserId": "user_dana", "sessionSelection": {"mode": "continue_latest"}}

    assert value_of(invoke(world, "send_to", latest, {"text": "x"})) == {
        "status": "unavailable",
        "reason": "no_session",
    }
    assert value_of(invoke(world, "send_to", {"targetUserId": "user_dana"}, {"text": "x"}))["created"] is True


def test_a_message_that_cannot_be_sent_opens_no_conversation() -> None:
    """The text is judged before a room is made for it."""
    world = a_world()

    refused = invoke(world, "send_to", {"targetUserId": "user_dana"}, {"text": "x" * 5000})

    assert refused.status == 400
    assert len(world.conversations) == 2


def test_the_recipient_decides() -> None:
    """Closed, blocked and unknown ones are not reached; approval is asked for once and then pending."""
    world = a_world()
    dana = world.humans["user_dana"]
    target = {"targetUserId": "user_dana"}

    dana.inbound_policy = "closed"
    closed = value_of(invoke(world, "send_to", target, {"text": "x"}))
    dana.inbound_policy = "approval-required"
    requested, pending = (value_of(invoke(world, "send_to", target, {"text": "x"})) for _ in range(2))
    world.contacts[requested["requestId"]].state = "accepted"
    accepted = value_of(invoke(world, "send_to", target, {"text": "x"}))
    dana.blocked.add(AGENT)
    blocked = value_of(invoke(world, "send_to", target, {"text": "x"}))
    unknown = value_of(invoke(world, "send_to", {"targetUserId": "user_nobody"}, {"text": "x"}))

    assert closed == {"status": "unavailable", "reason": "closed"}
    assert (requested["status"], pending["status"]) == ("requested", "pending")
    assert requested["requestId"] == pending["requestId"]
    assert accepted["status"] == "messaged"
    assert blocked == {"status": "blocked", "reason": "blocked"}
    assert unknown["status"] == "unavailable"


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ("approval-required", "OUTBOUND_APPROVAL_REQUIRED"),
        (None, "OUTBOUND_APPROVAL_REQUIRED"),
        ("closed", "OUTBOUND_COMMUNICATION_CLOSED"),
    ],
)
def test_the_deployer_decides_first(policy: Any, code: str) -> None:
    """Reaching out is 403 with the code; a conversation one is in stays open."""
    world = a_world()
    world.agents[AGENT].outbound_policy = policy

    reaching = [
        invoke(world, "send_to", {"targetUserId": "user_dana"}, {"text": "x"}),
        invoke(world, "create_group", {"memberIds": ["user_dana"]}),
        invoke(world, "add_member", {"conversationId": "conv_team", "targetUserId": "user_dana"}),
    ]
    at_home = invoke(world, "send_to", {"conversationId": "conv_direct"}, {"text": "x"})

    assert [(answer.status, answer.body["code"]) for answer in reaching] == [(403, code)] * 3
    assert value_of(at_home)["status"] == "messaged"


def test_the_owners_leave_opens_an_approval_required_policy() -> None:
    """After it the same call goes through."""
    world = a_world()
    world.agents[AGENT].outbound_policy = "approval-required"
    world.agents[AGENT].may_reach_out = True

    assert value_of(invoke(world, "send_to", {"targetUserId": "user_dana"}, {"text": "x"}))["status"] == "messaged"


def test_a_group_sorts_its_members() -> None:
    """Open ones join, careful ones are invited, closed and unknown ones are skipped with the reason."""
    world = a_world()
    careful = with_agent(world, group_join_policy="approval-required")
    closed = with_agent(world, group_join_policy="closed")

    value = value_of(
        invoke(
            world,
            "create_group",
            {"memberIds": [OWNER, "user_dana", careful, closed, "user_x", OWNER]},
            {"name": "New"},
        )
    )

    assert value["added"] == [OWNER, "user_dana"]
    assert [item["userId"] for item in value["pending"]] == [careful]
    assert value["skipped"] == [{"userId": closed, "reason": "closed"}, {"userId": "user_x", "reason": "not_found"}]
    room = world.conversations[value["conversationId"]]
    assert (room.name, room.member_ids) == ("New", [AGENT, OWNER, "user_dana"])
    assert {"success", "data"} & set(value) == set()


def test_a_group_of_nobody_is_refused() -> None:
    """400 with the code; fifty with the creator is the most."""
    world = a_world()
    nobody = invoke(world, "create_group", {"memberIds": ["user_x"]})
    crowd = invoke(world, "create_group", {"memberIds": [f"user_{index}" for index in range(50)]})

    assert (nobody.status, nobody.body["code"]) == (400, "CREATE_GROUP_NO_ADDABLE_MEMBERS")
    assert (crowd.status, crowd.body["code"]) == (400, "GROUP_TOO_LARGE")


def test_members_come_and_go() -> None:
    """Added and removed, told to every agent concerned; only an admin's agent removes."""
    world = a_world()
    guest = with_agent(world)
    member = {"conversationId": "conv_team", "targetUserId": guest}

    added = value_of(invoke(world, "add_member", member))
    refused = invoke(world, "remove_member", member)
    world.conversations["conv_team"].admin_ids.append(OWNER)
    removed = value_of(invoke(world, "remove_member", member))

    assert (added, refused.status, removed) == ({"status": "added"}, 403, {"status": "removed"})
    assert guest not in world.conversations["conv_team"].member_ids
    assert [name for name, _ in events_of(world, guest)] == ["conversation.updated", "conversation.updated"]


def test_a_careful_member_is_asked_first() -> None:
    """Pending, with one request however often it is tried; a closed one cannot be added."""
    world = a_world()
    guest = with_agent(world, group_join_policy="approval-required")
    closed = with_agent(world, group_join_policy="closed")

    first, again = (
        value_of(invoke(world, "add_member", {"conversationId": "conv_team", "targetUserId": guest})) for _ in range(2)
    )

    assert first == again
    assert first["status"] == "pending"
    assert invoke(world, "add_member", {"conversationId": "conv_team", "targetUserId": closed}).status == 403
    assert invoke(world, "add_member", {"conversationId": "conv_direct", "targetUserId": guest}).status == 400


def test_a_forwarded_message_says_where_it_came_from() -> None:
    """A copy with the note in front; unknown messages and foreign rooms are refused."""
    world = a_world()
    original = say(world, "the ledger", attachments=[{"kind": "file", "url": "u"}])
    envelope = {"sourceConversationId": "conv_direct", "conversationId": "conv_team", "messageId": original.message_id}

    value = value_of(invoke(world, "forward", envelope, {"text": "look"}))

    copy = world.conversations["conv_team"].messages[value["messageId"]]
    assert value["targetConversationId"] == "conv_team"
    assert (copy.text, copy.attachments) == ("look\n\nthe ledger", [{"kind": "file", "url": "u"}])
    assert copy.wire()["forwardedFrom"]["messageId"] == original.message_id
    assert invoke(world, "forward", {**envelope, "messageId": "none"}).status == 404
    assert invoke(world, "forward", {**envelope, "conversationId": "conv_x"}).status == 403


def test_a_contact_must_be_known_to_be_shared() -> None:
    """Somebody from a common room becomes a card; a stranger is 403."""
    world = a_world()
    world.add_human("user_far", "Far", "+2")

    value = value_of(invoke(world, "share_contact", {"conversationId": "conv_direct", "contactUserId": "user_dana"}))
    stranger = invoke(world, "share_contact", {"conversationId": "conv_direct", "contactUserId": "user_far"})

    message = world.conversations["conv_direct"].messages[value["messageId"]]
    assert value["status"] == "shared"
    assert (message.content_type, message.wire()["contactCard"]["displayName"]) == ("contact_card", "Dana")
    assert stranger.status == 403


def test_a_deliberate_silence_is_recorded() -> None:
    """The constant note comes back; the reason itself is not kept, and the trigger need not be a known message."""
    world = a_world()
    envelope = {"conversationId": "conv_team", "messageId": "canon-control:interrupt:1.5"}

    value = value_of(invoke(world, "no_reply", envelope, {"reason": "given"}))

    assert value == {
        "status": "acknowledged",
        "conversationId": "conv_team",
        "note": "Acknowledged — nothing was posted to the conversation.",
    }
    [report] = world.silences
    assert (report["messageId"], report["hasReason"]) == ("canon-control:interrupt:1.5", True)
    assert world.message_count == 0
