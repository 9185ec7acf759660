"""Which message wakes whom, and who is told."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.sandbox.posting import dispatch_verdict, notifies
from tests.support.canon_calls import NOW_MS, a_world, call, events_of, say


@pytest.mark.parametrize(
    ("sender_type", "semantics", "behavior", "verdict"),
    [
        ("human", None, None, "run_turn"),
        ("human", "progress", None, "run_turn"),
        ("human", "turn_complete", "suppress_auto_reply", "record_only"),
        ("ai_agent", None, None, "record_only"),
        ("ai_agent", "progress", None, "record_only"),
        ("ai_agent", "turn_complete", None, "run_turn"),
        ("ai_agent", "control", "allow_auto_reply", "run_turn"),
        ("ai_agent", "turn_complete", "suppress_auto_reply", "record_only"),
        ("robot", "turn_complete", None, "run_turn"),
        ("robot", None, None, "record_only"),
    ],
)
def test_the_rule_of_dispatch(sender_type: str, semantics: str | None, behavior: str | None, verdict: str) -> None:
    """The table of who wakes an agent, suppression first."""
    metadata = {key: value for key, value in (("turnSemantics", semantics), ("replyBehavior", behavior)) if value}
    message = say(a_world(), sender_type=sender_type, metadata=metadata)

    assert dispatch_verdict(message) == verdict


@pytest.mark.parametrize(
    ("metadata", "rings"),
    [
        ({}, True),
        ({"turnSemantics": "turn_complete"}, True),
        ({"turnSemantics": "progress"}, False),
        ({"type": "approval_reply"}, False),
        ({"type": "runtime_card_outcome"}, False),
    ],
)
def test_what_notifies_people(metadata: dict[str, Any], rings: bool) -> None:
    """Progress and receipts do not ring; everything else does."""
    assert notifies(say(a_world(), metadata=metadata)) is rings


def test_only_agents_in_the_room_hear_of_a_message() -> None:
    """An agent elsewhere gets nothing, the author nothing either."""
    world = a_world()
    other = world.add_agent("Other", "user_owner").agent_id

    call(world, "POST", "/messages/send", {"conversationId": "conv_team", "text": "x", "metadata": final()})

    assert events_of(world, other) == []
    assert events_of(world) == []


def test_an_agent_hears_only_what_wakes_it_from_another_agent() -> None:
    """Progress of one agent does not reach the other; its final message does, with the verdict."""
    world = a_world()
    other = world.add_agent("Other", "user_owner").agent_id
    world.conversations["conv_team"].member_ids.append(other)

    for metadata in ({"turnSemantics": "progress"}, final()):
        call(world, "POST", "/messages/send", {"conversationId": "conv_team", "text": "x", "metadata": metadata})

    [(name, payload)] = events_of(world, other)
    assert name == "message.created"
    assert payload["turnDispatch"] == {"kind": "run_turn"}
    assert payload["message"]["senderType"] == "ai_agent"


def test_agents_do_not_talk_for_ever() -> None:
    """After four agent messages in a row the next one wakes nobody, until a person speaks."""
    world = a_world()
    other = world.add_agent("Other", "user_owner").agent_id
    world.conversations["conv_team"].member_ids.append(other)
    body = {"conversationId": "conv_team", "text": "x", "metadata": final()}

    for _ in range(6):
        call(world, "POST", "/messages/send", body)
    heard = len(events_of(world, other))
    say(world, room="conv_team")
    call(world, "POST", "/messages/send", body)

    assert heard == 4
    assert len(events_of(world, other)) == 6


def test_suppressed_messages_can_be_streamed_on_request() -> None:
    """With the option, they come with the verdict record_only and without leave to answer."""
    world = a_world(emit_suppressed=True)
    other = world.add_agent("Other", "user_owner").agent_id
    world.conversations["conv_team"].member_ids.append(other)

    call(world, "POST", "/messages/send", {"conversationId": "conv_team", "text": "x", "metadata": {}})

    [(_, payload)] = events_of(world, other)
    assert payload["turnDispatch"] == {"kind": "record_only"}
    assert "replyAuthority" not in payload


def test_the_author_hears_itself_on_request() -> None:
    """With the option, a client has something to drop by sender."""
    world = a_world(echo_to_author=True)

    call(world, "POST", "/messages/send", {"conversationId": "conv_direct", "text": "x", "metadata": final()})

    [(_, payload)] = events_of(world)
    assert payload["message"]["senderId"] == "agent_sandbox"


def test_the_event_says_whose_agent_it_is() -> None:
    """isOwner and mentionedAgent are told from the agent's point of view."""
    world = a_world()

    say(world, room="conv_team", sender="user_dana", mentions=["agent_sandbox"])
    say(world, room="conv_team")

    (_, from_dana), (_, from_owner) = events_of(world)
    assert (from_dana["message"]["isOwner"], from_dana["provenance"]["mentionedAgent"]) == (False, True)
    assert (from_owner["message"]["isOwner"], from_owner["provenance"]["mentionedAgent"]) == (True, False)


def test_keys_of_the_event_can_be_replaced_or_left_out() -> None:
    """Tests shape an event without a fault: a verdict of any kind, none, or a key less."""
    world = a_world()

    say(world, verdict=None, event_extra={"conversation": None, "mentions": ["agent_sandbox"]})

    [(_, payload)] = events_of(world)
    assert "turnDispatch" not in payload
    assert "conversation" not in payload
    assert payload["mentions"] == ["agent_sandbox"]


def test_two_worlds_of_one_seed_are_equal() -> None:
    """Ids, keys and tokens grow out of the seed alone."""
    first, second = a_world(), a_world()

    for world in (first, second):
        say(world, now_ms=NOW_MS)

    assert events_of(first) == events_of(second)
    assert first.agents["agent_sandbox"].api_key == second.agents["agent_sandbox"].api_key


def final(turn: str = "t1") -> dict[str, Any]:
    return {"turnSemantics": "turn_complete", "turnId": turn}
