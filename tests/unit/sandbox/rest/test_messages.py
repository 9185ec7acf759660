"""Durable messages decided: shape, idempotence, authority, dispositions."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.sandbox.rest.messages import is_client_id
from canon_ops.sandbox.state import Reply, World
from tests.support.canon_calls import NOW_MS, a_world, call, events_of, say


def send(world: World, *, now_ms: int = NOW_MS, agent: str = "agent_sandbox", **body: Any) -> Reply:
    return call(
        world,
        "POST",
        "/messages/send",
        {"conversationId": "conv_direct", "text": "hi", **body},
        agent=agent,
        now_ms=now_ms,
    )


def texts(world: World, room: str = "conv_direct") -> list[str | None]:
    return [message.text for message in world.conversations[room].messages.values()]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param({"text": None}, None, id="no text"),
        pytest.param({"text": "ä" * 2049}, "TEXT_TOO_LONG", id="bytes, not characters"),
        pytest.param({"text": "  "}, None, id="nothing in it"),
        pytest.param({"metadata": []}, None, id="metadata is no object"),
        pytest.param({"metadata": {"k": "😀" * 2045}}, "METADATA_TOO_LONG", id="UTF-16 units"),
        pytest.param({"metadata": {"type": "approval_reply"}}, "RESERVED_MESSAGE_TYPE", id="forged receipt"),
        pytest.param({"messageId": "a b"}, "INVALID_MESSAGE_ID", id="id with a blank"),
        pytest.param({"messageId": "__proto__"}, "INVALID_MESSAGE_ID", id="reserved id"),
        pytest.param(
            {"attachments": [{"url": "https://elsewhere.example/x"}]}, "FOREIGN_ATTACHMENT", id="foreign media"
        ),
        pytest.param({"attachments": [{}] * 11}, None, id="too many attachments"),
        pytest.param({"conversationId": ""}, None, id="no conversation"),
    ],
)
def test_a_wrong_message_is_refused_and_nothing_stored(body: dict[str, Any], code: str | None) -> None:
    """400 with a code, and the world is as it was."""
    world = a_world()

    answer = send(world, **body)

    assert (answer.status, answer.body.get("code")) == (400, code)
    assert texts(world) == []
    assert world.sent == {}


@pytest.mark.parametrize(
    "body", [{"text": "ä" * 2048}, {"metadata": {"k": "😀" * 2043}}, {"messageId": "a" * 160}, {"messageId": "a.b:c-_"}]
)
def test_the_largest_that_fits_is_taken(body: dict[str, Any]) -> None:
    """Limits are inclusive."""
    assert send(a_world(), **body).status == 200


def test_only_members_write() -> None:
    """A stranger gets 403, for an unknown room too."""
    world = a_world()
    stranger = world.add_agent("Stranger", "user_dana").agent_id

    assert send(world, agent=stranger).status == 403
    assert send(world, conversationId="conv_nowhere").status == 403


def test_a_repeated_id_is_one_message() -> None:
    """Same id and payload: the stored id, no event, no second notification; another payload: 409."""
    world = a_world()
    other = world.add_agent("Other", "user_owner").agent_id
    world.conversations["conv_direct"].member_ids.append(other)
    body: dict[str, Any] = {"messageId": "m1", "metadata": {"turnSemantics": "turn_complete", "turnId": "t1"}}

    answers = [send(world, **body), send(world, **body), send(world, **body, text="other")]

    assert [answer.status for answer in answers] == [200, 200, 409]
    assert answers[0].body == answers[1].body == {"messageId": "m1"}
    assert (texts(world), len(events_of(world, other))) == (["hi"], 1)
    assert (world.finals["agent_sandbox", "t1"], world.notifications["conv_direct"]) == (1, 1)


def test_the_order_of_keys_is_not_another_payload() -> None:
    """The fingerprint stands for the value, not for its spelling."""
    world = a_world()

    send(world, messageId="m1", metadata={"a": 1, "b": 2})

    assert send(world, messageId="m1", metadata={"b": 2, "a": 1}).status == 200


def test_ids_are_per_agent() -> None:
    """Two agents may choose the same id in their own rooms; a stored id of a room is taken for everybody."""
    world = a_world()
    other = world.add_agent("Other", "user_owner")
    room = world.add_conversation(["user_owner", other.agent_id], kind="direct", now_ms=NOW_MS).conversation_id
    send(world, messageId="m1")

    assert send(world, messageId="m1", agent=other.agent_id, conversationId=room, text="mine").status == 200
    world.conversations["conv_direct"].member_ids.append(other.agent_id)
    assert send(world, messageId="m1", agent=other.agent_id, text="yours").status == 409


def test_without_an_id_every_send_is_a_message() -> None:
    """The server mints ids of its own."""
    world = a_world()

    first, second = send(world).body, send(world).body

    assert first != second
    assert texts(world) == ["hi", "hi"]


def test_a_reply_authority_is_checked_against_its_message() -> None:
    """The issued one passes on every part; a forged token, another source or an expired one do not."""
    world = a_world()
    question = say(world)
    [(_, payload)] = events_of(world)
    authority = payload["replyAuthority"]
    assert authority["sourceMessageId"] == question.message_id

    parts = [send(world, replyAuthority=authority, metadata={"turnId": "t1"}).status for _ in range(2)]
    forged = send(world, replyAuthority={**authority, "token": "0" * 64})
    elsewhere = send(world, replyAuthority=authority, conversationId="conv_team")
    late = send(world, replyAuthority=authority, now_ms=NOW_MS + 25 * 3_600_000)

    assert parts == [200, 200]
    assert [answer.status for answer in (forged, elsewhere, late)] == [403, 403, 403]
    assert late.body["code"] == "REPLY_AUTHORITY_EXPIRED"
    assert world.authority_claims == {("agent_sandbox", question.message_id): "t1"}


def test_a_reply_authority_serves_one_turn() -> None:
    """Canon wire 11.4.4: its first use claims it for a turn; another turn answers without it, or not at all."""
    world = a_world()
    say(world)
    [(_, payload)] = events_of(world)
    authority = payload["replyAuthority"]

    def answer(turn: str | None, **body: Any) -> int:
        return send(world, metadata={"turnId": turn} if turn else {}, **body).status

    outside = answer(None, replyAuthority=authority)
    first = [answer("t1", replyAuthority=authority, text=text) for text in ("part", "end")]
    second = answer("t2", replyAuthority=authority)

    assert (outside, first, second) == (200, [200, 200], 403)
    assert answer("t2") == 200
    assert answer("t1", replyAuthority=authority) == 200


def test_a_reply_to_something_unknown_is_taken() -> None:
    """Synthetic trigger ids name no message and are stored as they are."""
    world = a_world()

    assert send(world, replyTo="canon-control:interrupt:1789.5", messageId="m1").status == 200
    assert world.conversations["conv_direct"].messages["m1"].reply_to == "canon-control:interrupt:1789.5"


@pytest.mark.parametrize(
    "value", ["queued", "accepted_now", "interleaved", "trigger_suppressed", "rejected", "cancelled"]
)
def test_a_disposition_is_written_and_told(value: str) -> None:
    """Every word of the vocabulary, repeated without harm, with message.updated on the stream."""
    world = a_world()
    message = say(world, metadata={"inboundDisposition": "queued"})
    path = f"/conversations/conv_direct/messages/{message.message_id}/disposition"

    answers = [call(world, "PATCH", path, {"inboundDisposition": value}).status for _ in range(2)]

    assert answers == [200, 200]
    assert message.metadata["inboundDisposition"] == value
    assert [name for name, _ in events_of(world)] == ["message.created", "message.updated", "message.updated"]


def test_a_disposition_needs_a_message_and_a_known_word() -> None:
    """404 and 400."""
    world = a_world()
    message = say(world)
    base = "/conversations/conv_direct/messages"

    unknown = call(world, "PATCH", f"{base}/none/disposition", {"inboundDisposition": "accepted_now"})
    wrong = call(world, "PATCH", f"{base}/{message.message_id}/disposition", {"inboundDisposition": "perhaps"})

    assert (unknown.status, wrong.status) == (404, 400)
    assert message.metadata == {}


def test_a_read_mark_is_the_time_of_reading() -> None:
    """Later reads move it."""
    world = a_world()

    call(world, "POST", "/conversations/conv_direct/read", now_ms=NOW_MS + 5)

    assert world.read_marks == {("conv_direct", "agent_sandbox"): NOW_MS + 5}


@pytest.mark.parametrize("value", ["", ".", "..", "__x__", "a" * 161, "a/b", "ä", None, 7])
def test_what_is_no_client_id(value: object) -> None:
    """The shapes that the wire forbids."""
    assert not is_client_id(value)


def test_rate_limits_hold_only_when_bent() -> None:
    """The 121st message of a room within five minutes is refused with the time to wait; later it passes again."""
    world = a_world()
    for _ in range(120):
        assert send(world).status == 200
    body = {"conversationId": "conv_direct", "text": "hi"}

    unlimited = send(world)
    refused = call(world, "POST", "/messages/send", body, bent="rate-limits")
    later = call(world, "POST", "/messages/send", body, bent="rate-limits", now_ms=NOW_MS + 300_000)

    assert unlimited.status == 200
    assert (refused.status, refused.body["code"], refused.body["retryAfter"]) == (429, "RATE_LIMITED", 300)
    assert refused.headers == {"retry-after": "300"}
    assert refused.was_bent
    assert later.status == 200
