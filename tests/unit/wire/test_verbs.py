"""The verb wire: frames out, frames back, and every way in which an answer can be wrong."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.wire.verbs import MalformedVerbAnswer, verb_request, verb_result, verb_value


def frame(value: object, verb: str = "send_to") -> dict[str, Any]:
    return {"wire": "canon.verb-wire.v1", "verb": verb, "result": {"encoding": "json", "value": value}}


def test_a_request_has_exactly_its_four_keys() -> None:
    """The verb stands in the body, routing in the envelope, content in the value; null is never sent."""
    request = verb_request(
        "send_to",
        {"targetUserId": "user_b", "sessionSelection": {"mode": "continue_or_create"}, "idempotencyKey": None},
        {"text": "hello", "messageOptions": None},
    )

    assert request == {
        "wire": "canon.verb-wire.v1",
        "verb": "send_to",
        "envelope": {"targetUserId": "user_b", "sessionSelection": {"mode": "continue_or_create"}},
        "body": {"encoding": "json", "value": {"text": "hello"}},
    }
    assert list(request) == ["wire", "verb", "envelope", "body"]


@pytest.mark.parametrize(
    ("verb", "envelope", "words"),
    [
        ("react", {}, "unknown verb"),
        ("add_member", {"conversationId": "c"}, "add_member needs targetUserId"),
        ("add_member", {"conversationId": "c", "targetUserId": None}, "add_member needs targetUserId"),
        ("forward", {}, "forward needs conversationId, messageId, sourceConversationId"),
        ("no_reply", {"reason": "x"}, "no_reply does not take reason"),
        ("send_to", {"text": "x"}, "send_to does not take text"),
    ],
)
def test_a_request_that_the_server_would_refuse_is_not_made(verb: str, envelope: dict[str, Any], words: str) -> None:
    """Our own mistake shows here and not as an error of the server's."""
    with pytest.raises(ValueError, match=words):
        verb_request(verb, envelope, {})


MESSAGED = {"status": "messaged", "conversationId": "c", "messageId": "m"}


def test_a_well_formed_answer_gives_its_value() -> None:
    """Further keys on any level are fine."""
    answer = {**frame({**MESSAGED, "more": 1}), "more": 2}

    assert verb_result("send_to", answer) == {**MESSAGED, "more": 1}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "ok",
        {},
        {**frame(MESSAGED), "wire": "canon.verb-wire.v2"},
        frame(MESSAGED, verb="forward"),
        {**frame(MESSAGED), "result": None},
        {**frame(MESSAGED), "result": {"encoding": "mls", "value": MESSAGED}},
        {**frame(MESSAGED), "result": {"encoding": "json"}},
        frame([]),
        frame(None),
    ],
    ids=str,
)
def test_a_frame_that_is_not_as_agreed_is_an_error(answer: object) -> None:
    """Each part of the frame is checked; nothing malformed passes as a success."""
    with pytest.raises(MalformedVerbAnswer):
        verb_value("send_to", answer)


GOOD: list[dict[str, Any]] = [
    MESSAGED,
    {**MESSAGED, "created": True, "reused": False},
    {"status": "requested", "requestId": "r"},
    {"status": "pending", "requestId": "r"},
    {"status": "blocked", "reason": "outbound-closed"},
    {"status": "unavailable", "reason": "gone"},
    {"status": "created", "conversationId": "c", "added": [], "pending": [], "skipped": []},
    {
        "status": "created",
        "conversationId": "c",
        "added": ["u"],
        "pending": [{"userId": "u", "requestId": "r"}],
        "skipped": [{"userId": "u", "reason": "x"}],
    },
    {"status": "forwarded", "messageId": "m", "targetConversationId": "c"},
    {"status": "shared", "messageId": "m"},
    {"status": "added"},
    {"status": "removed"},
]
CREATED = GOOD[7]
BAD: list[dict[str, Any]] = [
    {},
    {"status": None},
    {"status": ["messaged"]},
    {"status": "setup_required", "reason": "x"},
    {"status": "no_session", "reason": "x"},
    {"status": "messaged", "conversationId": "c"},
    {**MESSAGED, "messageId": 7},
    {**MESSAGED, "created": "yes"},
    {**MESSAGED, "reused": 1},
    {"status": "requested", "requestId": None},
    {"status": "pending"},
    {"status": "blocked"},
    {"status": "unavailable", "reason": 1},
    {**CREATED, "conversationId": None},
    {**CREATED, "added": [7]},
    {**CREATED, "added": "u"},
    {**CREATED, "pending": [{"userId": "u"}]},
    {**CREATED, "pending": ["u"]},
    {**CREATED, "skipped": [{"userId": "u", "reason": None}]},
    {key: value for key, value in CREATED.items() if key != "skipped"},
    {"status": "forwarded", "messageId": "m"},
    {"status": "shared"},
]


@pytest.mark.parametrize("value", GOOD, ids=str)
def test_a_value_with_everything_that_goes_with_its_status_is_good(value: dict[str, Any]) -> None:
    """Each status has its own keys."""
    assert verb_result("send_to", frame(value)) == value


@pytest.mark.parametrize("value", BAD, ids=str)
def test_a_value_that_lacks_what_goes_with_its_status_is_an_error(value: dict[str, Any]) -> None:
    """An unknown status, a missing key or one of another type is never a success, and the error names the verb."""
    with pytest.raises(MalformedVerbAnswer, match="send_to"):
        verb_result("send_to", frame(value))
