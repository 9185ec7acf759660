"""What a Canon plugin's agent does beyond answering: questions, cards, silence, verbs, media.

The same plugins as in ``test_published_plugin``, ours among them: interactions, verb wire and media are settled here.

Command approvals are missing on purpose: both published plugins fail inside their host before Canon is called (their
``send_exec_approval`` does not know the keyword ``allow_permanent``), so there is nothing of them to see here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_ops.sandbox.model.server import ModelRequest
from tests.support.published import CONTRACT, Scene, published_scene

pytestmark = [pytest.mark.host, pytest.mark.timeout(900)]

CONTROL = "canon_runtime_control"
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


@pytest.fixture(scope="module", params=CONTRACT)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with published_scene(tmp_path_factory.mktemp("published"), request.param) as running:
        running.ask("[say ready]")
        yield running


def call_of(tool: str, **arguments: Any) -> str:
    """Words that make the model call a tool, and then say done."""
    return f"[tool {tool} {json.dumps(arguments)}] [say done]"


def requests(scene: Scene, path: str, after: int) -> list[dict[str, Any]]:
    return [row for row in scene.box.journal(after=after) if row["path"] == path]


def is_wake(request: ModelRequest) -> bool:
    return request.user_text.startswith("Canon approval ")


def wake_texts(scene: Scene, after: int) -> list[str]:
    """What woke the agent since a request, without the summary; side requests of the host are left out."""
    return [request.user_text.split(" — ")[0] for request in scene.model.requests[after:] if is_wake(request)]


def kept_files(scene: Scene, name: str) -> list[Path]:
    """What the host kept of a document."""
    return list(scene.home.path.glob(f"cache/documents/*{name}"))


@pytest.mark.parametrize(("receipt", "decision"), [("once", "allow"), ("twice", "deny"), ("contradicting", "allow")])
def test_a_detached_approval_wakes_the_agent_once(scene: Scene, receipt: str, decision: str) -> None:
    """The request waits; the receipt is a hint, the consume call decides, and one turn tells the agent."""
    scene.ask(call_of(CONTROL, action="request_approval", title="File", question=f"File it {receipt}?"))
    [asked] = scene.box.human.interactions(state="pending")
    before, mark = len(scene.model.requests), scene.mark()

    scene.box.human.answer(asked["id"], decision=decision, receipt=receipt)

    scene.box.wait("request", path="/messages/send", after=mark, timeout_s=60)
    scene.settle()
    woken = wake_texts(scene, before)
    assert asked["id"].startswith("hermes-")
    assert asked["responder_id"] == "user_owner"
    assert woken == [f"Canon approval {asked['id']} resolved: {decision}"]
    [sent] = requests(scene, "/messages/send", mark)
    assert sent["body"]["replyTo"] == f"canon-detached-approval:{asked['id']}"
    assert "replyAuthority" not in sent["body"]
    assert scene.box.human.interactions()[-1]["state"] == "gone"


def test_an_answer_may_overtake_its_question(scene: Scene) -> None:
    """The receipt is on the stream before the create call is answered, and still wakes the agent once."""
    scene.box.human.prepare_answer(decision="allow")
    before = len(scene.model.requests)

    scene.ask(call_of(CONTROL, action="request_approval", question="At once?"))

    scene.model.wait(timeout_s=60, where=lambda request: request.number > before and is_wake(request))
    scene.settle()
    asked = scene.box.human.interactions()[-1]
    assert wake_texts(scene, before) == [f"Canon approval {asked['id']} resolved: allow"]


def test_a_clamped_expiry_is_adopted(scene: Scene) -> None:
    """An old server cuts to thirty minutes; what it echoes is what the agent is told."""
    fault = scene.box.fault("approval-cap-clamp", times=1)

    scene.ask(call_of(CONTROL, action="request_approval", question="Short?"))

    [asked] = scene.box.human.interactions(state="pending")
    assert scene.tool_result()["expiresAt"] == asked["expires_at_ms"]
    assert (fault.fired, asked["expires_at_ms"] < scene.box.clock.now_ms() + 31 * 60_000) == (1, True)
    scene.box.human.answer(asked["id"], decision="deny", receipt="never")


def test_a_card_is_filled_in(scene: Scene) -> None:
    """The values that a person chose reach the tool, with who chose them."""
    message_id = scene.box.human.say(scene.room, call_of(CONTROL, action="request_card", card=CARD, cardId="card-1"))
    scene.box.wait("interaction", kind="card", timeout_s=60)

    scene.box.human.answer("card-1", actionId="file", values={"note": "now"})

    scene.box.wait("answer", to=message_id, timeout_s=60)
    scene.settle()
    result = scene.tool_result()
    assert (result["status"], result["actionId"], result["values"]) == ("submitted", "file", {"note": "now"})
    assert result["respondedBy"] == "user_owner"


def test_a_card_is_shown(scene: Scene) -> None:
    """One without actions is created and not polled."""
    mark = scene.mark()

    scene.ask(call_of(CONTROL, action="send_card", card={**CARD, "blocks": CARD["blocks"][:1]}))

    assert scene.tool_result()["status"] == "displayed"
    assert requests(scene, "/runtime-interaction/consume", mark) == []


@pytest.mark.parametrize("refused", [False, True])
def test_a_question_is_answered(scene: Scene, refused: bool) -> None:
    """The value, or that the person turned it down."""
    name = f"input-{refused}"
    message_id = scene.box.human.say(
        scene.room, call_of(CONTROL, action="request_input", inputId=name, prompt="Which ledger?")
    )
    scene.box.wait("interaction", kind="input", timeout_s=60)

    scene.box.human.answer(name, **({"cancelled": True} if refused else {"value": "2026"}))

    scene.box.wait("answer", to=message_id, timeout_s=60)
    scene.settle()
    result = scene.tool_result()
    assert (result["status"], result.get("value")) == (("cancelled", None) if refused else ("submitted", "2026"))


def test_the_hosts_own_question_goes_the_same_way(scene: Scene) -> None:
    """The clarify tool becomes an input with choices; a failing consume in between is survived."""
    fault = scene.box.fault("consume-503")
    message_id = scene.box.human.say(scene.room, call_of("clarify", question="Which ledger?", choices=["2025", "2026"]))
    [asked] = scene.box.wait("interaction", kind="input", timeout_s=20)
    scene.box.wait("fired", name="consume-503", timeout_s=60)

    scene.box.human.answer(asked["id"], value="2026")

    scene.box.wait("answer", to=message_id, timeout_s=60)
    scene.settle()
    assert scene.tool_result()["user_response"] == "2026"
    assert asked["request"]["native"]["method"] == "clarify"
    assert fault.fired == 1


def test_the_agent_finds_others(scene: Scene) -> None:
    """The directory's page reaches the model; an entry without owner is an error."""
    if not scene.host.finds_agents:
        pytest.skip("this release has no such action")
    say = call_of("canon_communicate", action="discover_agents", query="sand", limit=5)

    scene.ask(say)
    found = scene.tool_result()
    fault = scene.box.fault("discover-no-owner")
    scene.ask(say)

    assert (found["status"], [entry["displayName"] for entry in found["agents"]]) == ("discovered", ["Sandbox Hermes"])
    assert (fault.fired, scene.tool_result()["success"]) == (1, False)


def test_silence_is_silent(scene: Scene) -> None:
    """No message follows the report, and the node is blanked before it is deleted, so that nothing is salvaged."""
    mark, position = scene.mark(), scene.box.engine.world.message_count

    message_id = scene.box.human.say(
        scene.team, call_of(CONTROL, action="no_reply", reason="nothing to add"), "user_dana"
    )

    scene.box.wait("request", path="/agent/verbs/no_reply", after=mark, timeout_s=60)
    scene.settle(scene.team)
    [report] = [row for row in scene.box.human.silences() if row["messageId"] == message_id]
    assert report["hasReason"] is True
    assert [row["origin"] for row in scene.box.transcript(scene.team, after=position)] == ["human"]
    writes = [row["body"] for row in requests(scene, "/streaming", mark)]
    assert [(row.get("text"), row.get("blocks")) for row in writes if row.get("streaming") is not False][-1] == ("", [])
    assert writes[-1]["streaming"] is False


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"action": "message_existing", "conversationId": "$team", "text": "hello team"}, "messaged"),
        ({"action": "start_direct", "principalId": "user_dana", "text": "hello Dana"}, "messaged"),
        ({"action": "create_group", "name": "New", "memberIds": ["user_dana"]}, "created"),
        ({"action": "share_contact", "conversationId": "$room", "contactUserId": "user_dana"}, "shared"),
        (
            {
                "action": "manage_group_members",
                "conversationId": "$team",
                "userId": "user_extra",
                "operation": "add",
            },
            "added",
        ),
        (
            {
                "action": "forward_message",
                "sourceConversationId": "$room",
                "targetConversationId": "$team",
                "messageId": "$first",
            },
            "forwarded",
        ),
    ],
    ids=lambda value: value["action"] if isinstance(value, dict) else value,
)
def test_the_agent_communicates(scene: Scene, arguments: dict[str, Any], status: str) -> None:
    """Each action succeeds, and the client accepts the server's value."""
    if "user_extra" not in scene.box.engine.world.humans:
        scene.box.human.add_person("Extra", user_id="user_extra")
    names = {"$team": scene.team, "$room": scene.room, "$first": scene.box.transcript(scene.room)[0]["id"]}
    resolved = {key: names.get(value, value) if isinstance(value, str) else value for key, value in arguments.items()}

    scene.ask(call_of("canon_communicate", **resolved))

    result = scene.tool_result()
    assert (result["success"], result["status"]) == (True, status)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("verb-approval-required", {"success": True, "status": "approval_required"}),
        ("verb-closed", {"success": False}),
        ("verb-wrong-wire", {"success": False}),
        ("verb-wrong-verb", {"success": False}),
        ("verb-no-result", {"success": False}),
        ("verb-sealed", {"success": False}),
        ("verb-missing-keys", {"success": False}),
        ("verb-unknown-status", {"success": False}),
    ],
)
def test_a_bad_verb_answer_is_never_a_success(scene: Scene, fault: str, outcome: dict[str, Any]) -> None:
    """Malformed frames fail; the one policy code becomes a status of its own."""
    armed = scene.box.fault(fault)

    scene.ask(call_of("canon_communicate", action="message_existing", conversationId=scene.team, text="x"))

    result = scene.tool_result()
    scene.box.human.calm()
    assert armed.fired == 1
    assert {key: result.get(key) for key in outcome} == outcome


def test_a_recipient_that_wants_to_be_asked(scene: Scene) -> None:
    """Requested first, pending afterwards, with one request id."""
    scene.box.human.set_recipient_policy("user_dana", inbound="approval-required")
    say = call_of("canon_communicate", action="start_direct", principalId="user_dana", text="hello")

    scene.ask(say)
    first = scene.tool_result()
    scene.ask(say)
    second = scene.tool_result()

    scene.box.human.set_recipient_policy("user_dana", inbound="open")
    assert (first["status"], second["status"]) == ("requested", "pending")
    assert first["requestId"] == second["requestId"]


def test_files_come_in(scene: Scene) -> None:
    """Fetched by their links without any key; the text reaches the model."""
    mark = scene.mark()
    files = [
        scene.box.human.upload(b"the ledger", mime_type="text/plain", file_name="a.txt", conversation_id=scene.room),
        scene.box.human.upload(
            b"\x89PNG\r\n\x1a\n", mime_type="image/png", file_name="b.png", conversation_id=scene.room
        ),
    ]

    scene.ask("[say seen] two files", attachments=files)

    fetched = [row for row in scene.box.journal(after=mark) if row["path"].startswith("/files/")]
    assert {row["path"].rpartition("/")[2] for row in fetched} == {"a.txt", "b.png"}
    assert not any("authorization" in row["headers"] for row in fetched)
    assert {kept.read_bytes() for kept in kept_files(scene, "a.txt")} == {b"the ledger"}
    text = scene.request_about("[say seen]").user_text
    assert all(name in text for name in ("a.txt", "img_"))


def test_a_lost_file_does_not_cost_the_other(scene: Scene) -> None:
    """One link is dead, the message and the other file arrive."""
    files = [
        scene.box.human.upload(b"here", mime_type="text/plain", file_name="here.txt", conversation_id=scene.room),
        scene.box.human.upload(b"gone", mime_type="text/plain", file_name="gone.txt", conversation_id=scene.room),
    ]
    fault = scene.box.fault("media-404", path="/files/*/gone.txt", times=None)

    scene.ask("[say one left] two files", attachments=files)

    scene.box.human.calm()
    text = scene.request_about("[say one left]").user_text
    assert fault.fired >= 1
    assert ("here.txt" in text, "gone.txt" in text) == (True, False)
    assert [kept.read_bytes() for kept in kept_files(scene, "here.txt")] == [b"here"]


def test_a_file_goes_out(scene: Scene) -> None:
    """Uploaded, then sent with the attachment exactly as the server named it."""
    path = scene.home.path.parent / "out.txt"
    path.write_text("content")
    mark = scene.mark()

    scene.ask(f"[say Here it is. MEDIA:{path}]")

    [upload] = requests(scene, "/media/upload", mark)
    sent = [row["body"] for row in requests(scene, "/messages/send", mark)]
    [with_file] = [body for body in sent if body.get("attachments")]
    assert (upload["body"]["fileName"], upload["body"]["mimeType"]) == ("out.txt", "text/plain")
    assert with_file["attachments"][0]["uploadId"].startswith("upload_")
    assert [body["text"] for body in sent if body["text"]] == ["Here it is."]


def test_nothing_was_done_that_a_good_client_does_not(scene: Scene) -> None:
    """The rules of the audit hold over the whole run: they are neither stricter than these clients nor blind."""
    assert scene.box.breaches() == []
