"""Questions to people decided: who may answer, until when, and that every answer is taken once."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.sandbox.answering import AnswerRefused, answer
from canon_ops.sandbox.records import Interaction
from canon_ops.sandbox.rest.interactions import CAP_CLAMP, CAP_REJECT
from canon_ops.sandbox.state import Reply, World
from tests.support.canon_calls import NOW_MS, OWNER, a_world, call, events_of

HOUR_MS = 3_600_000
ID_KEYS = {"input": "inputId", "card": "cardId", "approval": "approvalId"}
CARD = {
    "schema": "canon.card.v1",
    "title": "Invoice",
    "fallbackText": "An invoice",
    "blocks": [
        {"kind": "summary", "text": "8,200"},
        {
            "kind": "actions",
            "actions": [{"id": "file", "label": "File", "fields": [{"id": "note", "label": "Note", "type": "text"}]}],
        },
    ],
}


def create(
    world: World, shape: str = "approval", *, room: str = "conv_direct", bent: str | None = None, **body: Any
) -> Reply:
    shapes: dict[str, dict[str, Any]] = {
        "approval": {
            "approvalId": "a1",
            "toolName": "File",
            "toolSummary": "File it?",
            "expiresAt": NOW_MS + 72 * HOUR_MS,
        },
        "input": {"inputId": "i1", "kind": "clarify", "prompt": "Which?", "expiresAt": NOW_MS + 300_000},
        "card": {"cardId": "c1", "card": CARD, "expiresAt": NOW_MS + 300_000},
    }
    body = {"interactionKind": shape, "conversationId": room, **shapes[shape], **body}
    return call(world, "POST", "/runtime-interaction/request", body, bent=bent)


def consume(
    world: World,
    kind: str = "approval",
    name: str = "a1",
    *,
    now_ms: int = NOW_MS,
    room: str = "conv_direct",
    agent: str = "agent_sandbox",
    **more: Any,
) -> Reply:
    body = {"interactionKind": kind, "conversationId": room, ID_KEYS[kind]: name, **more}
    return call(world, "POST", "/runtime-interaction/consume", body, now_ms=now_ms, agent=agent)


def decide(
    world: World,
    kind: str = "approval",
    name: str = "a1",
    *,
    by: str | None = None,
    receipt: str = "once",
    **content: Any,
) -> None:
    answer(world, world.interactions[kind, name], content, by=by, receipt=receipt, now_ms=NOW_MS)


# Creating -------------------------------------------------------------------------------------------------------------


def test_an_approval_names_its_effective_terms() -> None:
    """201 with the message that shows it, the id, the expiry, the responder and the rule."""
    world = a_world()

    created = create(world, allowSessionRule=True)

    assert created.status == 201
    assert created.body == {
        "messageId": "msg_000001",
        "approvalId": "a1",
        "expiresAt": NOW_MS + 72 * HOUR_MS,
        "responseUserId": OWNER,
        "allowSessionRule": True,
    }
    [message] = world.conversations["conv_direct"].messages.values()
    assert (message.content_type, message.sender_id) == ("interaction", "agent_sandbox")
    assert events_of(world) == []


@pytest.mark.parametrize(("kind", "extra"), [("card", {"interactive": True}), ("input", {})])
def test_cards_and_inputs_name_theirs(kind: str, extra: dict[str, Any]) -> None:
    """A card also says whether there is something to wait for."""
    created = create(a_world(), kind)

    assert created.body == {
        "messageId": "msg_000001",
        ID_KEYS[kind]: f"{kind[0]}1",
        "expiresAt": NOW_MS + 300_000,
        "responseUserId": OWNER,
        **extra,
    }


def test_a_card_without_actions_is_for_looking_and_gets_an_id() -> None:
    """The server mints the id when neither the call nor the document has one."""
    card = {**CARD, "blocks": CARD["blocks"][:1]}

    created = create(a_world(), "card", card=card, cardId=None)

    assert (created.body["interactive"], created.body["cardId"]) == (False, "card_000001")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("approval", {"interactionKind": "plan"}),
        ("approval", {"approvalId": "has blank"}),
        ("approval", {"approvalId": None}),
        ("approval", {"toolSummary": None}),
        ("approval", {"expiresAt": "soon"}),
        ("approval", {"expiresAt": True}),
        ("approval", {"expiresAt": NOW_MS + 999}),
        ("approval", {"expiresAt": NOW_MS + 73 * HOUR_MS}),
        ("approval", {"responseUserId": "user_nobody"}),
        ("approval", {"responseUserId": "agent_sandbox"}),
        ("input", {"kind": "telepathy"}),
        ("input", {"prompt": ""}),
        ("input", {"expiresAt": NOW_MS + HOUR_MS}),
        ("card", {"cardId": "x" * 81}),
        ("card", {"card": {**CARD, "schema": "canon.card.v2"}}),
        ("card", {"card": {**CARD, "title": "x" * 201}}),
        ("card", {"card": {**CARD, "blocks": []}}),
        ("card", {"card": {**CARD, "fallbackText": " "}}),
        ("card", {"card": {**CARD, "blocks": [{"kind": "mediaPreview", "media": {"url": "https://x.example/"}}]}}),
        ("card", {"card": {**CARD, "blocks": [{"kind": "summary", "text": "x" * 33_000}]}}),
    ],
)
def test_a_wrong_request_is_400_and_asks_nobody(kind: str, body: dict[str, Any]) -> None:
    """Nothing is stored, so the id is still free."""
    world = a_world()

    assert create(world, kind, **body).status == 400
    assert world.interactions == {}
    assert world.message_count == 0


def test_an_id_is_used_once_for_ever() -> None:
    """Also after its answer was taken; another kind may have the same id."""
    world = a_world()
    create(world)
    decide(world, decision="allow")
    consume(world)

    assert create(world).status == 409
    assert create(world, "input", inputId="a1").status == 201


@pytest.mark.parametrize(
    ("room", "asked", "responder"),
    [
        ("conv_direct", {}, OWNER),
        ("conv_team", {}, OWNER),
        ("conv_team", {"responseUserId": "user_dana"}, "user_dana"),
        ("conv_team", {"responseUserId": "user_dana", "sensitive": True}, OWNER),
        ("conv_team", {"responseUserId": "user_dana", "kind": "secret"}, OWNER),
        (
            "conv_team",
            {"responseUserId": "user_dana", "questions": [{"id": "q", "question": "?", "isSecret": True}]},
            OWNER,
        ),
    ],
)
def test_who_is_asked(room: str, asked: dict[str, Any], responder: str) -> None:
    """Whoever was named, unless it is for the owner only."""
    world = a_world()
    body = {"kind": "clarify", "prompt": "?", **asked}

    assert create(world, "input", room=room, **body).body["responseUserId"] == responder


def test_where_the_owner_is_no_member_the_only_person_is_asked() -> None:
    """With two people and no owner nobody can be chosen."""
    world = a_world()
    world.conversations["conv_team"].member_ids = ["user_dana", "agent_sandbox"]
    alone = create(world, room="conv_team")
    world.add_human("user_erik", "Erik", "+1")
    world.conversations["conv_team"].member_ids.append("user_erik")

    assert alone.body["responseUserId"] == "user_dana"
    assert create(world, room="conv_team", approvalId="a2").status == 400


def test_a_session_rule_is_for_the_owner_only() -> None:
    """Asked of anybody else, the permission is withdrawn."""
    world = a_world()

    created = create(world, room="conv_team", responseUserId="user_dana", allowSessionRule=True)

    assert created.body["allowSessionRule"] is False
    with pytest.raises(AnswerRefused, match="session rule"):
        decide(world, decision="allow", sessionRule={"type": "approve-all"})


def test_an_old_server_rejects_or_clamps() -> None:
    """Thirty minutes: 400 with the documented body, or a shorter expiry in the answer; short requests pass."""
    world = a_world()

    rejected = create(world, bent=CAP_REJECT)
    clamped = create(world, bent=CAP_CLAMP)
    short = create(world, bent=CAP_REJECT, approvalId="a2", expiresAt=NOW_MS + 30 * 60_000)

    assert (rejected.status, rejected.was_bent) == (400, True)
    assert rejected.body == {
        "error": "expiresAt must be at most 30 minutes in the future",
        "code": "INVALID_EXPIRES_AT",
    }
    assert (clamped.status, clamped.body["expiresAt"], clamped.was_bent) == (201, NOW_MS + 30 * 60_000, True)
    assert (short.status, short.was_bent) == (201, False)


def test_what_is_too_long_is_cut_not_refused() -> None:
    """Details, choices and unknown correlation keys, as the contract keeps them."""
    world = a_world()

    create(
        world,
        details=[{"label": "Command", "value": "x" * 4000, "monospace": True}] * 9,
        toolName="x" * 200,
        native={"runtime": "hermes", "magic": 1},
    )

    kept = world.interactions["approval", "a1"].request
    assert (len(kept["details"]), len(kept["details"][0]["value"]), len(kept["toolName"])) == (8, 500, 128)
    assert kept["details"][0]["monospace"] is True
    assert kept["native"] == {"runtime": "hermes"}


# Answering and taking -------------------------------------------------------------------------------------------------


def test_an_unanswered_question_is_pending() -> None:
    """With its expiry, as often as it is asked."""
    world = a_world()
    create(world)

    answers = [consume(world).body for _ in range(2)]

    assert answers == [{"status": "pending", "approvalId": "a1", "expiresAt": NOW_MS + 72 * HOUR_MS}] * 2


@pytest.mark.parametrize(
    ("kind", "content", "taken"),
    [
        ("approval", {"decision": "allow"}, {"status": "allow", "approvalId": "a1", "respondedBy": OWNER}),
        ("approval", {"decision": "deny"}, {"status": "deny", "approvalId": "a1", "respondedBy": OWNER}),
        ("input", {"value": "2026"}, {"status": "submitted", "inputId": "i1", "value": "2026"}),
        ("input", {"cancelled": True}, {"status": "cancelled", "inputId": "i1"}),
        (
            "card",
            {"actionId": "file", "values": {"note": "now"}},
            {
                "status": "submitted",
                "cardId": "c1",
                "actionId": "file",
                "values": {"note": "now"},
                "respondedBy": OWNER,
            },
        ),
        ("card", {"cancelled": True}, {"status": "cancelled", "cardId": "c1", "respondedBy": OWNER}),
    ],
)
def test_an_answer_is_handed_out_as_it_was_given(kind: str, content: dict[str, Any], taken: dict[str, Any]) -> None:
    """Each kind in its own form."""
    world = a_world()
    create(world, kind)

    decide(world, kind, f"{kind[0]}1", **content)

    assert consume(world, kind, f"{kind[0]}1").body == taken


def test_an_approvals_decision_can_be_read_again_for_72_hours() -> None:
    """By the same agent in the same room; without the session rule; then it is gone."""
    world = a_world()
    create(world, allowSessionRule=True)
    decide(world, decision="allow", sessionRule={"type": "approve-all"})

    first = consume(world).body
    again = consume(world, now_ms=NOW_MS + 72 * HOUR_MS).body
    late = consume(world, now_ms=NOW_MS + 72 * HOUR_MS + 1)

    assert first["sessionRule"] == {"type": "approve-all"}
    assert again == {"status": "allow", "approvalId": "a1", "respondedBy": OWNER}
    assert (late.status, late.body["code"]) == (404, "RUNTIME_APPROVAL_NOT_FOUND")


@pytest.mark.parametrize("kind", ["input", "card"])
def test_other_answers_are_taken_once(kind: str) -> None:
    """The second consume is 404."""
    world = a_world()
    create(world, kind)
    decide(world, kind, f"{kind[0]}1", cancelled=True)

    statuses = [consume(world, kind, f"{kind[0]}1").status for _ in range(2)]

    assert statuses == [200, 404]


def test_nobody_else_can_take_an_answer() -> None:
    """Another agent, another room and an unknown id all read 404, before and after."""
    world = a_world()
    other = world.add_agent("Other", OWNER).agent_id
    world.conversations["conv_direct"].member_ids.append(other)
    create(world)
    decide(world, decision="allow")

    assert consume(world, agent=other).status == 404
    assert consume(world, room="conv_team").status == 404
    assert consume(world, name="a9").status == 404
    assert consume(world).body["status"] == "allow"


def test_an_expired_question_times_out_once() -> None:
    """Then it is gone, and nobody can answer it any more."""
    world = a_world()
    create(world, "input")

    timeout = consume(world, "input", "i1", now_ms=NOW_MS + 300_000).body
    after = consume(world, "input", "i1", now_ms=NOW_MS + 300_000).status

    assert (timeout, after) == ({"status": "timeout", "inputId": "i1"}, 404)
    with pytest.raises(AnswerRefused):
        decide(world, "input", "i1", value="late")


def test_a_cancelled_question_is_gone() -> None:
    """The client withdraws it; a person is too late."""
    world = a_world()
    create(world)

    assert consume(world, cancel=True).body["status"] == "cancelled"
    assert consume(world).status == 404
    with pytest.raises(AnswerRefused):
        decide(world, decision="allow")


def test_an_answer_that_was_given_wins_over_a_cancel() -> None:
    """Whoever cancels after the answer gets the answer."""
    world = a_world()
    create(world)
    decide(world, decision="allow")

    assert consume(world, cancel=True).body["status"] == "allow"


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("approval", {"decision": "maybe"}),
        ("approval", {"value": "yes"}),
        ("input", {}),
        ("card", {"actionId": "burn"}),
        ("card", {"actionId": "file", "values": {"magic": 1}}),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(kind: str, content: dict[str, Any]) -> None:
    """The question stays open."""
    world = a_world()
    create(world, kind)

    with pytest.raises(AnswerRefused):
        decide(world, kind, f"{kind[0]}1", **content)
    assert world.interactions[kind, f"{kind[0]}1"].state == "pending"


def test_only_the_responder_answers() -> None:
    """Anybody else is refused, members included."""
    world = a_world()
    create(world, room="conv_team")

    with pytest.raises(AnswerRefused, match="user_dana may not answer"):
        decide(world, decision="allow", by="user_dana")
    assert world.interactions["approval", "a1"].state == "pending"


@pytest.mark.parametrize(
    ("receipt", "decisions"),
    [("once", ["allow"]), ("twice", ["allow", "allow"]), ("never", []), ("contradicting", ["deny"])],
)
def test_a_receipt_is_only_a_hint(receipt: str, decisions: list[str]) -> None:
    """However it comes, the consume call tells the truth and no turn is started by it."""
    world = a_world()
    create(world)

    decide(world, decision="allow", receipt=receipt)

    told = [payload for name, payload in events_of(world) if name == "message.created"]
    assert [payload["message"]["metadata"]["decision"] for payload in told] == decisions
    assert all(payload["message"]["metadata"]["type"] == "approval_reply" for payload in told)
    assert all(payload["turnDispatch"] == {"kind": "record_only"} for payload in told)
    assert consume(world).body["status"] == "allow"


def test_an_answer_can_overtake_the_create_call() -> None:
    """A prepared answer is stored, and its receipt streamed, before the create call is answered."""
    world = a_world()
    world.standing_answers.append({"content": {"decision": "deny"}, "receipt": "once"})

    create(world)

    assert isinstance(world.interactions["approval", "a1"], Interaction)
    assert [name for name, _ in events_of(world)] == ["message.created"]
    assert consume(world).body["status"] == "deny"
