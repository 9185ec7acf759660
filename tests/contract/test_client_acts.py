"""Our client about people, files and other rooms against the loopback Canon server: each call is served, and done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from canon_ops.client.api import ApiError, CanonApi, RequestFailed
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.wire.agents import DiscoverQuery, MalformedDirectory
from canon_ops.wire.interactions import ApprovalRequest, ApprovalWord, CardRequest, InputRequest, InteractionKind
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.verbs import VERBS, MalformedVerbAnswer, checked_value
from tests.support.cards import QUESTION

ROOM, OWNER = "conv_direct", "user_owner"
LIFE_MS = 600_000


@pytest.fixture(autouse=True)
def _nothing_unexpected(box: CanonSandbox) -> Iterator[None]:
    """Whatever a test does, the server knows each path."""
    yield
    assert [(row["method"], row["path"]) for row in box.journal() if row["unexpected"]] == []


async def test_the_directory_page_by_page(box: CanonSandbox, api: CanonApi) -> None:
    """Every agent once, in as many pages as were asked for."""
    for number in range(3):
        box.human.add_agent(f"Sandcastle {number}")

    names, cursor = [], None
    while True:
        page = await api.discover(DiscoverQuery("sandcastle", limit=2, cursor=cursor))
        names += [agent["displayName"] for agent in page.agents]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert names == [f"Sandcastle {number}" for number in range(3)]
    assert [row["path"] for row in box.journal()] == ["/agents/discover"] * 2


async def test_an_approval_from_request_to_answer(box: CanonSandbox, api: CanonApi) -> None:
    """Pending, then the human's word, which is told again; a request that was taken back is gone."""
    until_ms = box.clock.now_ms() + LIFE_MS

    receipt = await api.request_approval(ApprovalRequest(ROOM, "hermes-a1", "Pay", "Pay 42?", until_ms, OWNER))
    before = await api.consume_approval(ROOM, "hermes-a1")
    box.human.answer("hermes-a1", decision="deny")
    answers = [await api.consume_approval(ROOM, "hermes-a1") for _ in range(2)]
    await api.request_approval(ApprovalRequest(ROOM, "hermes-a2", "Pay", "Pay 43?", until_ms, OWNER))
    await api.consume_approval(ROOM, "hermes-a2", cancel=True)
    with pytest.raises(ApiError) as gone:
        await api.consume_approval(ROOM, "hermes-a2")

    assert (receipt.responder, receipt.expires_at_ms, before.word) == (OWNER, until_ms, ApprovalWord.PENDING)
    assert [(answer.word, answer.responded_by) for answer in answers] == [(ApprovalWord.DENY, OWNER)] * 2
    assert gone.value.status == 404


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (InteractionKind.INPUT, {"value": "2026"}, {"status": "submitted", "value": "2026"}),
        (InteractionKind.INPUT, {"cancelled": True}, {"status": "cancelled"}),
        (
            InteractionKind.CARD,
            {"actionId": "file", "values": {"note": "now"}},
            {"status": "submitted", "actionId": "file", "values": {"note": "now"}},
        ),
    ],
)
async def test_a_question_from_request_to_answer(
    kind: InteractionKind, given: dict[str, Any], expected: dict[str, Any], box: CanonSandbox, api: CanonApi
) -> None:
    """Pending, then what the human gave, once."""
    until_ms = box.clock.now_ms() + LIFE_MS
    body = {
        InteractionKind.INPUT: InputRequest(ROOM, "q1", "clarify", until_ms, prompt="Which?", responder=OWNER).body(),
        InteractionKind.CARD: CardRequest(ROOM, "q1", QUESTION, until_ms, OWNER).body(),
    }[kind]

    await api.request_interaction(body)
    before = await api.consume_interaction(kind, ROOM, "q1")
    box.human.answer("q1", **given)
    answer = await api.consume_interaction(kind, ROOM, "q1")
    with pytest.raises(ApiError):
        await api.consume_interaction(kind, ROOM, "q1")

    assert before["status"] == "pending"
    assert {key: answer.get(key) for key in expected} == expected


async def test_a_file_is_uploaded_and_sent(box: CanonSandbox, api: CanonApi) -> None:
    """The attachment goes into the message as the server gave it; a refused upload is one attempt and no file."""
    body = {"conversationId": ROOM, "data": "aGk=", "mimeType": "text/plain", "fileName": "a.txt"}
    box.fault("upload-413")
    with pytest.raises(ApiError) as refused:
        await api.upload_media(body)

    uploaded = await api.upload_media(body)
    await api.send_message(SendMessage(ROOM, "", message_id="m1", attachments=[uploaded["attachment"]]))

    (message,) = box.transcript()
    assert (refused.value.status, refused.value.api_code) == (413, "MEDIA_TOO_LARGE")
    assert message["attachments"] == [uploaded["attachment"]]
    assert [row["status"] for row in box.journal()] == [413, 200, 200]


SAY = {"text": "hello"}
ACTS: list[tuple[str, dict[str, Any], dict[str, Any], str | None]] = [
    # verb, envelope, value, and the status that the server answers
    ("send_to", {"conversationId": "$crew"}, SAY, "messaged"),
    ("send_to", {"targetUserId": "user_dana"}, SAY, "messaged"),
    ("create_group", {"memberIds": ["user_dana"]}, {"name": "New"}, "created"),
    (
        "forward",
        {"sourceConversationId": ROOM, "conversationId": "$crew", "messageId": "$asked"},
        {},
        "forwarded",
    ),
    ("share_contact", {"conversationId": ROOM, "contactUserId": "user_dana"}, {}, "shared"),
    ("add_member", {"conversationId": "$crew", "targetUserId": "user_extra"}, {}, "added"),
    ("remove_member", {"conversationId": "$crew", "targetUserId": "user_dana"}, {}, "removed"),
    ("no_reply", {"conversationId": ROOM, "messageId": "$asked"}, {"reason": "nothing to add"}, None),
]


@pytest.mark.parametrize(("verb", "envelope", "value", "status"), ACTS, ids=[f"{a[0]}-{a[3]}" for a in ACTS])
async def test_each_verb(
    verb: str, envelope: dict[str, Any], value: dict[str, Any], status: str | None, box: CanonSandbox, api: CanonApi
) -> None:
    """One frame out, one frame back, and the client accepts its value."""
    box.human.add_person("Extra", user_id="user_extra")
    crew = await api.verb("create_group", {"memberIds": ["user_dana", OWNER]}, {"name": "Crew"})
    names = {"$crew": crew["conversationId"], "$asked": box.human.say(None, "hello")}
    routing = {key: names.get(one, one) if isinstance(one, str) else one for key, one in envelope.items()}

    answer = await api.verb(verb, routing, value)

    assert (box.journal()[-1]["path"], box.journal()[-1]["status"]) == (f"/agent/verbs/{verb}", 200)
    if status is not None:
        assert checked_value(verb, answer)["status"] == status


def test_every_verb_of_ours_is_tried() -> None:
    """A new verb needs a row."""
    assert {verb for verb, *_ in ACTS} == {*VERBS}


@pytest.mark.parametrize(
    "fault",
    [
        "verb-approval-required", "verb-closed", "verb-wrong-wire", "verb-wrong-verb", "verb-no-result",
        "verb-sealed", "verb-missing-keys", "verb-unknown-status", "verb-500-after-commit",
    ],
)  # fmt: skip
async def test_a_verb_that_went_wrong_is_no_success(fault: str, box: CanonSandbox, api: CanonApi) -> None:
    """Canon wire 5.1-5.4: refused, malformed or lost: an error, and never a second attempt."""
    armed = box.fault(fault)

    with pytest.raises((RequestFailed, MalformedVerbAnswer)):
        checked_value("send_to", await api.verb("send_to", {"conversationId": ROOM}, SAY))

    assert (armed.fired, len(box.journal())) == (1, 1)


async def test_a_directory_entry_without_owner(box: CanonSandbox, api: CanonApi) -> None:
    """Canon wire 4.3: the page is refused as a whole."""
    box.fault("discover-no-owner")

    with pytest.raises(MalformedDirectory):
        await api.discover(DiscoverQuery("sand"))
