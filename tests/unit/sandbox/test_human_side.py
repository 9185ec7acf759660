"""What people do besides talking, seen by the agent, in Python and over HTTP."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

from canon_ops.sandbox.admin import commands, views
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.sandbox.stage import WaitTimeout
from tests.support.sandboxes import RawClient, RawResponse, RawStream, canon_box


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


def admin(box: CanonSandbox) -> RawClient:
    return RawClient(box.endpoints.api, headers={"X-Sandbox-Token": box.endpoints.admin_token})


def agent(box: CanonSandbox) -> RawClient:
    return RawClient(box.endpoints.api, box.endpoints.agent_key)


def events(box: CanonSandbox) -> list[tuple[str, Any]]:
    news = box.engine.read(lambda world: world.logs["agent_sandbox"].after(0))
    assert isinstance(news, list)
    return [(event.name, event.payload()) for event in news]


def test_a_conversation_from_the_other_process(box: CanonSandbox) -> None:
    """Say, wait for the answer, read the transcript, the node and the journal: everything over HTTP."""
    said = admin(box).post("/_sandbox/say", {"text": "hello", "conversation_id": "conv_direct"}).json()
    agent(box).post("/streaming", {"conversationId": "conv_direct", "status": "streaming", "text": "hm"})
    final = {"turnSemantics": "turn_complete"}
    body = {"conversationId": "conv_direct", "text": "hi", "replyTo": said["message_id"], "metadata": final}
    agent(box).post("/messages/send", body)

    waited = admin(box).get(f"/_sandbox/wait?kind=answer&to={said['message_id']}&timeout_s=5").json()
    transcript = admin(box).get("/_sandbox/transcript?conversation_id=conv_direct&after=1").json()

    assert [message["text"] for message in waited] == ["hi"]
    assert [message["text"] for message in transcript] == ["hi"]
    assert admin(box).get("/_sandbox/node").json()["text"] == "hm"
    assert [row["path"] for row in admin(box).get("/_sandbox/journal").json()] == ["/streaming", "/messages/send"]


def test_the_door_is_locked(box: CanonSandbox) -> None:
    """Without the token, or with another, nothing is done; the wrong method is told."""
    nobody = RawClient(box.endpoints.api).post("/_sandbox/say", {"text": "x"})
    wrong = RawClient(box.endpoints.api, headers={"X-Sandbox-Token": "guess"}).get("/_sandbox/journal")

    assert (nobody.status, wrong.status) == (401, 401)
    assert admin(box).get("/_sandbox/say").status == 405
    assert box.transcript() == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "word"),
    [
        ("POST", "say", {"text": "x", "conversation_id": "conv_x"}, 404, "conv_x"),
        ("POST", "say", {"txt": "x"}, 400, "wrong arguments"),
        ("POST", "say", {"text": "x", "colour": "red"}, 400, "colour"),
        ("POST", "streams", {"do": "fly"}, 400, "fly"),
        ("POST", "fault", {"name": "send-429", "times": "many"}, 400, "times"),
        ("POST", "fault", {"name": "answer", "status": "bad"}, 400, "status"),
        ("GET", "wait?kind=messages&count=many", None, 400, "count"),
        ("POST", "say", [1], 400, "wrong arguments"),
        ("POST", "say", b"not json", 400, "wrong arguments"),
        ("POST", "fault", {"name": "nonsense"}, 400, "send-429"),
        ("POST", "signal", {"kind": "jump"}, 400, "interrupt"),
        ("POST", "answer", {"request_id": "a1"}, 404, "a1"),
        ("GET", "wait?kind=miracle", None, 400, "turn_complete"),
        ("GET", "wait?kind=connected&timeout_s=0.01", None, 408, "connected"),
        ("GET", "magic", None, 404, "Nothing is served"),
    ],
)
def test_mistakes_are_explained(box: CanonSandbox, method: str, path: str, body: Any, status: int, word: str) -> None:
    """The status says whose fault it is, the text what was wrong."""
    answer = admin(box).call(method, f"/_sandbox/{path}", body)

    assert answer.status == status
    assert word in answer.json()["error"]


def test_every_verb_of_python_is_a_verb_of_http(box: CanonSandbox) -> None:
    """Public methods of the human side are reachable, under their own or a shorter name."""
    renamed = {
        "add_person": "person",
        "add_agent": "agent",
        "open_conversation": "conversation",
        "change_conversation": "change-conversation",
        "decide_contact": "contact",
        "set_policy": "policy",
        "set_recipient_policy": "recipient-policy",
        "drop_streams": "streams",
        "end_streams": "streams",
        "advance": "clock",
    }
    methods = [name for name, _ in inspect.getmembers(type(box.human), inspect.isfunction) if not name.startswith("_")]
    served = {*commands(box.human), *views(box.engine, box.human)}

    missing = [name for name in methods if renamed.get(name, name.replace("_", "-")) not in served]
    assert missing == []


def test_faults_and_clock_over_http(box: CanonSandbox) -> None:
    """Armed, counted, taken off duty; time moves forward."""
    armed = admin(box).post("/_sandbox/fault", {"name": "me-503", "times": 2}).json()
    statuses = [agent(box).get("/agents/me").status for _ in range(3)]
    admin(box).post("/_sandbox/calm")
    before = box.clock.now_ms()
    now_ms = admin(box).post("/_sandbox/clock", {"advance_s": 3600}).json()["now_ms"]

    assert armed == {"number": 1, "name": "me-503", "met": 0, "fired": 0}
    assert statuses == [503, 503, 200]
    assert admin(box).get("/_sandbox/faults").json() == [{"number": 1, "name": "me-503", "met": 3, "fired": 2}]
    assert now_ms - before >= 3_600_000
    assert "send-429" in admin(box).get("/_sandbox/fault-names").json()


def test_streams_can_be_dropped_from_outside(box: CanonSandbox) -> None:
    """Reset or ended, and the number of streams is told."""
    with RawStream(box.endpoints.stream, box.endpoints.agent_key) as stream:
        stream.read_until("agent.context")
        dropped = admin(box).post("/_sandbox/streams", {"do": "drop"}).json()
        with pytest.raises(ConnectionResetError):
            stream.read_chunk()
    with RawStream(box.endpoints.stream, box.endpoints.agent_key) as stream:
        stream.read_until("agent.context")
        admin(box).post("/_sandbox/streams", {"do": "end"})
        assert stream.read_chunk() == b""

    assert dropped == {"streams": 1}


def test_registrations_are_decided_by_id_or_by_age(box: CanonSandbox) -> None:
    """None takes the oldest that waits; both are seen in the list."""
    for number in (1, 2):
        form = {
            "name": f"Ops {number}",
            "description": "d",
            "ownerPhone": "+15550100",
            "developerInfo": "i",
            "clientType": "hermes",
            "localRegistrationId": f"hermes-{number}",
        }
        RawClient(box.endpoints.api).post("/agents/register", form)

    approved = admin(box).post("/_sandbox/approve").json()
    admin(box).post("/_sandbox/reject", {"request_id": "reg_000002"})

    rows = admin(box).get("/_sandbox/registrations").json()
    assert [(row["status"], row["agent_id"]) for row in rows] == [
        ("approved", approved["agent_id"]),
        ("rejected", None),
    ]
    assert [row["name"] for row in admin(box).get("/_sandbox/agents").json()] == ["Sandbox Hermes", "Ops 1"]


def ask(box: CanonSandbox, approval_id: str = "a1", room: str = "conv_direct") -> RawResponse:
    return agent(box).post(
        "/runtime-interaction/request",
        {
            "interactionKind": "approval",
            "conversationId": room,
            "approvalId": approval_id,
            "toolName": "t",
            "toolSummary": "s",
            "expiresAt": box.clock.now_ms() + 60_000,
        },
    )


def take(box: CanonSandbox, approval_id: str = "a1") -> Any:
    body = {"interactionKind": "approval", "conversationId": "conv_direct", "approvalId": approval_id}
    return agent(box).post("/runtime-interaction/consume", body).json()


def test_approvals_are_decided_like_registrations(box: CanonSandbox) -> None:
    """Approve and reject take an approval's id, or the oldest that waits."""
    ask(box, "a1")
    ask(box, "a2")

    admin(box).post("/_sandbox/reject", {"request_id": "a2"})
    admin(box).post("/_sandbox/approve")

    assert (take(box, "a1")["status"], take(box, "a2")["status"]) == ("allow", "deny")


def test_an_answer_names_its_question(box: CanonSandbox) -> None:
    """Over HTTP too; the wrong person is refused with the reason."""
    ask(box)
    wrong = admin(box).post("/_sandbox/answer", {"request_id": "a1", "by": "user_dana", "decision": "allow"})

    admin(box).post("/_sandbox/answer", {"request_id": "a1", "decision": "allow", "receipt": "twice"})

    assert (wrong.status, "user_dana may not answer" in wrong.json()["error"]) == (400, True)
    assert take(box)["status"] == "allow"
    assert [name for name, _ in events(box)] == ["message.created", "message.created"]
    assert box.human.interactions()[0]["state"] == "gone"


def test_a_prepared_answer_waits_for_its_question(box: CanonSandbox) -> None:
    """It is given before the create call is answered."""
    admin(box).post("/_sandbox/prepare-answer", {"decision": "deny", "receipt": "never"})

    ask(box)

    assert take(box)["status"] == "deny"
    assert events(box) == []


def test_rooms_and_people_change(box: CanonSandbox) -> None:
    """A new person, a new room, new names: the agent is told what concerns it."""
    person = admin(box).post("/_sandbox/person", {"name": "Erik"}).json()["user_id"]
    room = admin(box).post("/_sandbox/conversation", {"member_ids": [person, "agent_sandbox"], "name": "New"}).json()
    changed = {"conversation_id": room["conversation_id"], "name": "Newer", "memberIds": ["agent_sandbox"]}
    admin(box).post("/_sandbox/change-conversation", changed)

    rooms = {row["id"]: row for row in agent(box).get("/conversations").json()["conversations"]}
    assert rooms[room["conversation_id"]]["name"] == "Newer"
    assert events(box) == [
        (
            "conversation.updated",
            {
                "conversationId": room["conversation_id"],
                "changes": {"name": "Newer", "memberIds": ["agent_sandbox"]},
            },
        )
    ]
    assert admin(box).post("/_sandbox/change-conversation", {"color": "red"}).status == 400


def test_policies_keys_and_contacts(box: CanonSandbox) -> None:
    """An outbound policy is told on the stream, a recipient's holds from now on, a revoked key is 403."""
    frame = {
        "wire": "canon.verb-wire.v1",
        "verb": "send_to",
        "envelope": {"targetUserId": "user_dana"},
        "body": {"encoding": "json", "value": {"text": "x"}},
    }
    admin(box).post("/_sandbox/policy", {"policy": "approval-required"})
    closed = agent(box).post("/agent/verbs/send_to", frame)
    admin(box).post("/_sandbox/let-reach-out", {})
    admin(box).post("/_sandbox/recipient-policy", {"principal_id": "user_dana", "inbound": "approval-required"})
    requested = agent(box).post("/agent/verbs/send_to", frame).json()["result"]["value"]
    [waiting] = admin(box).get("/_sandbox/contacts").json()
    admin(box).post("/_sandbox/contact", {"request_id": requested["requestId"]})
    sent = agent(box).post("/agent/verbs/send_to", frame).json()["result"]["value"]
    admin(box).post("/_sandbox/policy", {"policy": None})
    admin(box).post("/_sandbox/revoke")

    assert closed.json()["code"] == "OUTBOUND_APPROVAL_REQUIRED"
    assert (waiting["request_id"], waiting["state"]) == (requested["requestId"], "pending")
    assert sent["status"] == "messaged"
    policies = [payload.get("outboundPolicy") for name, payload in events(box) if name == "agent.context"]
    assert policies == ["approval-required", None]
    assert agent(box).get("/agents/me").status == 403
    assert admin(box).post("/_sandbox/recipient-policy", {"principal_id": "user_dana", "inbound": "x"}).status == 400


def test_an_accepted_invitation_makes_a_member(box: CanonSandbox) -> None:
    """The room's agents are told."""
    box.human.set_recipient_policy("user_dana", group_join="approval-required")
    frame = {
        "wire": "canon.verb-wire.v1",
        "verb": "create_group",
        "envelope": {"memberIds": ["user_dana"]},
        "body": {"encoding": "json", "value": {"name": "New"}},
    }
    value = agent(box).post("/agent/verbs/create_group", frame).json()["result"]["value"]

    box.human.decide_contact(value["pending"][0]["requestId"])

    assert events(box)[-1][1]["changes"] == {"memberIds": ["agent_sandbox", "user_dana"]}


def test_messages_change_and_go(box: CanonSandbox) -> None:
    """Edited and deleted ones are told; the record of a deleted one stays."""
    message_id = box.human.say(None, "one")
    box.human.edit(message_id, "two")
    box.human.delete(message_id)

    names = [name for name, _ in events(box)]
    assert names == ["message.created", "message.updated", "message.deleted"]
    assert box.transcript()[0]["deleted"] is True


def test_an_upload_of_a_person_can_be_sent_and_fetched(box: CanonSandbox) -> None:
    """Bytes in Python, base64 over HTTP; the link works without a key."""
    attachment = (
        admin(box).post("/_sandbox/upload", {"data": "aGk=", "mime_type": "text/plain", "file_name": "a.txt"}).json()
    )
    box.human.say(None, "", attachments=[attachment], content_type="file")

    [(_, payload)] = events(box)
    url = payload["message"]["attachments"][0]["url"]
    got = RawClient(box.endpoints.api).get(url.removeprefix(box.endpoints.api))
    assert (got.body, got.headers["content-type"]) == (b"hi", "text/plain")


def test_any_event_can_be_published(box: CanonSandbox) -> None:
    """Also what no server would send."""
    admin(box).post("/_sandbox/publish", {"name": "voice.session", "payload": ["odd"]})

    assert events(box) == [("voice.session", ["odd"])]


def test_half_a_character_can_be_published(box: CanonSandbox) -> None:
    """It goes out as JSON escapes it, and the stream goes on behind it."""
    box.human.publish("voice.session", {"text": "half \ud800"})
    box.human.publish("voice.session", {"text": "whole"})

    assert [payload["text"] for _, payload in events(box)] == ["half \ud800", "whole"]


def test_a_silent_signal_waits_for_the_poll(box: CanonSandbox) -> None:
    """Announced by default, quiet on request; taken once either way."""
    box.human.signal(None, "interrupt", announce=False)
    quiet = events(box)
    box.human.signal(None, "new_session", "user_dana")

    [(name, payload)] = events(box)
    taken = agent(box).post("/runtime/signal/consume", {"conversationId": "conv_direct"}).json()
    assert quiet == []
    assert (name, payload["value"]) == ("runtime.control", {"type": "new_session"})
    assert taken == {"status": "signal", "signal": "new_session", "updatedBy": "user_dana"}


def test_a_turn_answers_what_it_has_named_last(box: CanonSandbox) -> None:
    """A gateway that was killed meant to answer two messages in one turn; the next one answers them apart."""
    first, second = box.human.say(None, "one"), box.human.say(None, "two")
    turn = {"conversationId": "conv_direct", "state": "thinking", "turnId": "t1"}
    for active in ([first, second], [first]):
        agent(box).post("/runtime/turn", {**turn, "activeMessageIds": active})
    final = {"conversationId": "conv_direct", "text": "for one", "messageId": "hermes-final-" + "1" * 32}
    said = {"turnSemantics": "turn_complete", "turnComplete": True, "turnId": "t1"}
    agent(box).post("/messages/send", {**final, "metadata": said})

    assert [message["text"] for message in box.wait("answer", to=first)] == ["for one"]
    with pytest.raises(WaitTimeout):
        box.wait("answer", to=second, timeout_s=0)


def test_the_other_views(box: CanonSandbox) -> None:
    """Turns, node writes, heartbeats and silences are read back as they came."""
    agent(box).post("/runtime/turn", {"conversationId": "conv_direct", "state": "thinking"})
    agent(box).post("/streaming", {"conversationId": "conv_direct", "streaming": False})
    agent(box).post("/runtime/status", {"runtime": "hermes"})

    assert admin(box).get("/_sandbox/turns").json() == [{"conversationId": "conv_direct", "state": "thinking"}]
    [write] = admin(box).get("/_sandbox/node-writes").json()
    assert write["streaming"] is False
    assert admin(box).get("/_sandbox/runtime-status").json()["runtime"] == "hermes"
    assert admin(box).get("/_sandbox/silences").json() == []
    assert admin(box).get("/_sandbox/typing").json() == {}
    assert json.loads(admin(box).get("/_sandbox/wait?kind=request&path=/typing&timeout_s=0.01").body)["error"]
