"""Every fault by name, over real sockets: what it does to the client, how often it fired, how many requests met it.

One scene a fault: arm it, make requests by hand, look at what came back. The last test fails when a fault has no scene.
The counts of all of them stand at the end of the run's output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from canon_ops.sandbox.fault_kinds import KINDS
from canon_ops.sandbox.server import CanonSandbox
from tests.conftest import FAULTS
from tests.support.sandboxes import RawClient, RawResponse, RawStream, canon_box

Scene = Callable[[CanonSandbox], None]
SCENES: dict[str, Scene] = {}


@pytest.fixture(scope="module")
def box() -> Iterator[CanonSandbox]:
    with canon_box(keep_alive_s=0.2) as running:
        yield running


def scene(*names: str) -> Callable[[Callable[[CanonSandbox, str], None]], Callable[[CanonSandbox, str], None]]:
    """Register the scene of these faults."""

    def register(play: Callable[[CanonSandbox, str], None]) -> Callable[[CanonSandbox, str], None]:
        for name in names:
            SCENES[name] = lambda box, name=name: play(box, name)  # type: ignore[misc]  # bound at once
        return play

    return register


def client(box: CanonSandbox) -> RawClient:
    return RawClient(box.endpoints.api, box.endpoints.agent_key)


def anybody(box: CanonSandbox) -> RawClient:
    return RawClient(box.endpoints.api)


def a_send(box: CanonSandbox, **body: Any) -> dict[str, Any]:
    box.engine.act(lambda world, now_ms: world.mint("test"))
    count = box.engine.read(lambda world: world.message_count)
    return {"conversationId": "conv_direct", "text": "hi", "messageId": f"m-{count}-{len(box.journal())}", **body}


def stored(box: CanonSandbox, message_id: str) -> bool:
    return any(message["id"] == message_id for message in box.transcript())


def answered(request: Callable[[], RawResponse]) -> int:
    """The status, 0 for a reset socket."""
    try:
        return request().status
    except ConnectionResetError:
        return 0


# Any request ----------------------------------------------------------------------------------------------------------


@scene("answer", "answer-after-commit", "lost-response", "reset")
def _general(box: CanonSandbox, name: str) -> None:
    box.fault(name, path="/conversations/*/read")
    box.engine.act(lambda world, now_ms: world.read_marks.clear())

    status = answered(lambda: client(box).post("/conversations/conv_direct/read"))

    assert status == (500 if name.startswith("answer") else 0)
    done = box.engine.read(lambda world: len(world.read_marks)) == 1
    assert done == (name in {"answer-after-commit", "lost-response"})


@scene("delay")
def _delay(box: CanonSandbox, name: str) -> None:
    before = box.clock.now_ms()
    box.fault(name, path="/agents/me", seconds=0.05)

    assert client(box).get("/agents/me").status == 200
    assert box.clock.now_ms() - before >= 50


# Sending --------------------------------------------------------------------------------------------------------------


@scene("send-429", "send-503", "send-500", "send-400", "send-409", "send-redirect")
def _refused_send(box: CanonSandbox, name: str) -> None:
    box.fault(name)
    body = a_send(box)

    first = client(box).post("/messages/send", body)
    was_stored = stored(box, body["messageId"])
    second = client(box).post("/messages/send", body)

    assert first.status == (302 if name == "send-redirect" else int(name.removeprefix("send-")))
    if name == "send-429":
        assert first.json() == {"error": "scripted 429", "code": "RATE_LIMITED", "retryAfter": 1}
    if name == "send-redirect":
        assert first.headers["location"] == "/elsewhere"
    assert not was_stored
    assert (second.status, stored(box, body["messageId"])) == (200, True)


@scene("send-500-after-commit", "send-lost-response", "send-not-json", "send-slow-after-commit")
def _committed_send(box: CanonSandbox, name: str) -> None:
    box.fault(name, **({"seconds": 0.01} if name == "send-slow-after-commit" else {}))
    body = a_send(box)

    first = answered(lambda: client(box).post("/messages/send", body))
    second = client(box).post("/messages/send", body)

    expected = {"send-500-after-commit": 500, "send-lost-response": 0}
    assert first == expected.get(name, 200)
    assert second.json() == {"messageId": body["messageId"]}
    assert [message["id"] for message in box.transcript()].count(body["messageId"]) == 1


@scene("rate-limits")
def _rate_limits(box: CanonSandbox, name: str) -> None:
    room = box.human.open_conversation(["user_owner", "agent_sandbox"], kind="direct")
    fault = box.fault(name, conversationId=room)

    statuses = [client(box).post("/messages/send", {"conversationId": room, "text": "x"}).status for _ in range(121)]

    assert statuses == [200] * 120 + [429]
    assert (fault.met, fault.fired) == (121, 1)
    box.clock.advance(300)
    assert client(box).post("/messages/send", {"conversationId": room, "text": "x"}).status == 200


# Connecting, live surfaces, registration ------------------------------------------------------------------------------

CALLS: dict[str, tuple[str, str, Any]] = {
    "me-401": ("GET", "/agents/me", None),
    "me-403": ("GET", "/agents/me", None),
    "me-429": ("GET", "/agents/me", None),
    "me-503": ("GET", "/agents/me", None),
    "conversations-503": ("GET", "/conversations", None),
    "runtime-status-500": ("POST", "/runtime/status", {"runtime": "hermes"}),
    "typing-500": ("POST", "/typing", {"conversationId": "conv_direct", "typing": True}),
    "streaming-500": ("POST", "/streaming", {"conversationId": "conv_direct", "streaming": False}),
    "turn-500": ("POST", "/runtime/turn", {"conversationId": "conv_direct", "state": "thinking"}),
    "read-500": ("POST", "/conversations/conv_direct/read", None),
    "signal-500": ("POST", "/runtime/signal/consume", {"conversationId": "conv_direct"}),
}


@scene(*CALLS)
def _simple(box: CanonSandbox, name: str) -> None:
    method, path, body = CALLS[name]
    box.fault(name)

    assert client(box).call(method, path, body).status == int(name.rpartition("-")[2])
    box.human.calm()
    assert client(box).call(method, path, body).status == 200


@scene("disposition-500")
def _disposition(box: CanonSandbox, name: str) -> None:
    message_id = box.human.say(None, "queued", metadata={"inboundDisposition": "queued"})
    path = f"/conversations/conv_direct/messages/{message_id}/disposition"
    box.fault(name, times=2)

    statuses = [client(box).call("PATCH", path, {"inboundDisposition": "accepted_now"}).status for _ in range(3)]

    assert statuses == [500, 500, 200]


def register(box: CanonSandbox) -> tuple[str, dict[str, str]]:
    form = {
        "name": "Ops",
        "description": "d",
        "ownerPhone": "+15550100",
        "developerInfo": "i",
        "clientType": "hermes",
        "localRegistrationId": f"hermes-{len(box.human.registrations())}",
    }
    answer = anybody(box).post("/agents/register", form).json()
    box.human.approve(answer["requestId"])
    return answer["requestId"], {"x-canon-poll-token": answer["pollToken"]}


@scene("registration-poll-500", "registration-other-agent")
def _poll(box: CanonSandbox, name: str) -> None:
    request_id, token = register(box)
    box.fault(name)

    answer = anybody(box).get(f"/agents/status/{request_id}", **token)

    if name == "registration-poll-500":
        assert answer.status == 500
    else:
        assert answer.json()["agentId"] == "agent_stranger"
        assert answer.json()["apiKey"]


@scene("registration-ack-500", "registration-ack-lost")
def _ack(box: CanonSandbox, name: str) -> None:
    request_id, token = register(box)
    box.fault(name)

    first = answered(lambda: anybody(box).post(f"/agents/status/{request_id}/ack", None, **token))
    acknowledged = box.human.registrations()[-1]["acknowledged"]

    assert (first, acknowledged) == ((500, False) if name == "registration-ack-500" else (0, True))
    assert anybody(box).post(f"/agents/status/{request_id}/ack", None, **token).status == 200


# Questions to people --------------------------------------------------------------------------------------------------


def an_approval(box: CanonSandbox, **body: Any) -> dict[str, Any]:
    return {
        "interactionKind": "approval",
        "conversationId": "conv_direct",
        "approvalId": f"a-{len(box.human.interactions())}-{box.engine.journal.count}",
        "toolName": "t",
        "toolSummary": "s",
        "expiresAt": box.clock.now_ms() + 3_600_000,
        **body,
    }


def ask(box: CanonSandbox, body: dict[str, Any]) -> RawResponse:
    return client(box).post("/runtime-interaction/request", body)


def take(box: CanonSandbox, body: dict[str, Any]) -> RawResponse:
    kept = {key: body[key] for key in ("interactionKind", "conversationId", "approvalId")}
    return client(box).post("/runtime-interaction/consume", kept)


@scene("approval-cap-reject", "approval-cap-clamp")
def _cap(box: CanonSandbox, name: str) -> None:
    fault = box.fault(name)
    long, short = an_approval(box), an_approval(box, approvalId="short-" + name)
    short["expiresAt"] = box.clock.now_ms() + 60_000

    capped, passed = ask(box, long), ask(box, short)

    assert (passed.status, fault.met, fault.fired) == (201, 2, 1)
    if name == "approval-cap-reject":
        assert (capped.status, capped.json()["code"]) == (400, "INVALID_EXPIRES_AT")
    else:
        assert capped.json()["expiresAt"] < long["expiresAt"]


@scene("interaction-no-responder", "interaction-other-responder")
def _responder(box: CanonSandbox, name: str) -> None:
    box.fault(name)

    answer = ask(box, an_approval(box)).json()

    assert answer.get("responseUserId") == (None if name == "interaction-no-responder" else "user_stranger")
    assert answer["approvalId"]


@scene("interaction-500", "interaction-500-after-commit", "interaction-lost", "interaction-lost-response")
def _lost_question(box: CanonSandbox, name: str) -> None:
    box.fault(name)
    body = an_approval(box)

    status = answered(lambda: ask(box, body))

    created = name in {"interaction-500-after-commit", "interaction-lost-response"}
    assert status == (500 if name.startswith("interaction-500") else 0)
    assert take(box, body).status == (200 if created else 404)


@scene("consume-wrong-responder", "consume-no-responder")
def _forged_answer(box: CanonSandbox, name: str) -> None:
    body = an_approval(box)
    ask(box, body)
    box.fault(name)
    pending = take(box, body).json()
    box.human.answer(body["approvalId"], decision="allow")
    box.human.calm()
    box.fault(name)

    taken = take(box, body).json()

    assert pending["status"] == "pending"
    assert "respondedBy" not in pending
    assert taken["status"] == "allow"
    assert taken.get("respondedBy") == (None if name == "consume-no-responder" else "user_stranger")


@scene("consume-404", "consume-409", "consume-500", "consume-503", "consume-lost-response")
def _failing_consume(box: CanonSandbox, name: str) -> None:
    body = an_approval(box)
    ask(box, body)
    box.human.answer(body["approvalId"], decision="deny")
    box.fault(name)

    status = answered(lambda: take(box, body))

    assert status == (0 if name == "consume-lost-response" else int(name.removeprefix("consume-")))
    assert take(box, body).json()["status"] == "deny"


# Verbs, directory, media ----------------------------------------------------------------------------------------------


def invoke(box: CanonSandbox) -> RawResponse:
    envelope = {"conversationId": "conv_direct"}
    value = {"encoding": "json", "value": {"text": "x"}}
    frame = {"wire": "canon.verb-wire.v1", "verb": "send_to", "envelope": envelope, "body": value}
    return client(box).post("/agent/verbs/send_to", frame)


@scene("verb-approval-required", "verb-closed")
def _policy(box: CanonSandbox, name: str) -> None:
    box.fault(name)

    answer = invoke(box)

    code = "OUTBOUND_APPROVAL_REQUIRED" if name == "verb-approval-required" else "OUTBOUND_COMMUNICATION_CLOSED"
    assert (answer.status, answer.json()["code"]) == (403, code)


@scene(
    "verb-wrong-wire", "verb-wrong-verb", "verb-no-result", "verb-sealed", "verb-missing-keys", "verb-unknown-status"
)
def _malformed(box: CanonSandbox, name: str) -> None:
    parts: dict[str, dict[str, Any]] = {
        "verb-wrong-wire": {"wire": "canon.verb-wire.v2"},
        "verb-wrong-verb": {"verb": "react"},
        "verb-no-result": {"result": None},
        "verb-sealed": {"result": {"encoding": "mls", "epoch": 1}},
        "verb-missing-keys": {"result": {"encoding": "json", "value": {"status": "messaged"}}},
        "verb-unknown-status": {"result": {"encoding": "json", "value": {"status": "setup_required", "reason": "x"}}},
    }
    spoiled_part = parts[name]
    proper = invoke(box).json()
    box.fault(name)

    spoiled = invoke(box).json()

    assert proper["result"]["value"]["status"] == "messaged"
    assert {key: spoiled.get(key) for key in spoiled_part} == spoiled_part
    assert set(proper) - set(spoiled) == {key for key, value in spoiled_part.items() if value is None}


@scene("verb-500-after-commit")
def _verb_lost(box: CanonSandbox, name: str) -> None:
    before = len(box.transcript())
    box.fault(name)

    assert invoke(box).status == 500
    assert len(box.transcript()) == before + 1


@scene("discover-no-owner")
def _discover(box: CanonSandbox, name: str) -> None:
    box.fault(name)

    [entry] = client(box).get("/agents/discover").json()["agents"]

    assert "owner" not in entry


@scene("upload-413")
def _upload(box: CanonSandbox, name: str) -> None:
    box.fault(name)
    body = {"conversationId": "conv_direct", "data": "aGk=", "mimeType": "text/plain"}

    assert client(box).post("/media/upload", body).status == 413
    assert client(box).post("/media/upload", body).status == 200


@scene("media-404", "media-redirect", "media-oversize")
def _download(box: CanonSandbox, name: str) -> None:
    url = box.human.upload(b"hi", mime_type="text/plain", file_name="a.txt")["url"]
    path = url.removeprefix(box.endpoints.api)
    box.fault(name)

    spoiled, proper = anybody(box).get(path), anybody(box).get(path)

    assert (proper.status, proper.body, proper.headers["content-type"]) == (200, b"hi", "text/plain")
    match name:
        case "media-404":
            assert spoiled.status == 404
        case "media-redirect":
            assert (spoiled.status, spoiled.headers["location"]) == (302, "http://10.0.0.1/x")
        case _:
            assert len(spoiled.body) == 11 * 1024 * 1024


# Identity -------------------------------------------------------------------------------------------------------------


@scene(*[name for name in KINDS if name.startswith("health-")])
def _health(box: CanonSandbox, name: str) -> None:
    box.fault(name, **({"seconds": 0.01} if name == "health-slow" else {}))
    proper = {"status": "ok", "environmentId": "canon-dev-v1", "projectId": "canonmail-dev"}

    for url, path in ((box.endpoints.api, "/healthz/"), (box.endpoints.stream, "/health")):
        answer = RawClient(url).get(path)
        header = answer.headers.get("x-canon-environment-id")

        assert answer.status == (503 if name == "health-degraded" else 200)
        match name:
            case "health-not-json":
                assert answer.body == b"<html>ok</html>"
            case "health-wrong-header" | "health-no-header":
                assert (header, answer.json()) == ("canon-other-v1" if "wrong" in name else None, proper)
            case "health-wrong-environment":
                assert (header, answer.json()["environmentId"]) == ("canon-dev-v1", "canon-other-v1")
            case "health-wrong-project":
                assert (header, answer.json()["projectId"]) == ("canon-dev-v1", "canonmail-x")
            case _:
                assert (header, answer.json()) == ("canon-dev-v1", proper)


# Streams --------------------------------------------------------------------------------------------------------------


def open_stream(box: CanonSandbox, cursor: str | None = None) -> RawStream:
    return RawStream(box.endpoints.stream, box.endpoints.agent_key, last_event_id=cursor)


def connected(box: CanonSandbox, cursor: str | None = None) -> RawStream:
    """A stream that has been greeted, so that what is said from now on comes over it."""
    stream = open_stream(box, cursor)
    stream.read_until("agent.context")
    return stream


@scene("stream-401", "stream-403", "stream-503")
def _no_stream(box: CanonSandbox, name: str) -> None:
    box.fault(name)

    with open_stream(box) as refused, connected(box) as accepted:
        assert refused.response.status == int(name.removeprefix("stream-"))
        assert accepted.response.status == 200


@scene("stream-silent")
def _silent(box: CanonSandbox, name: str) -> None:
    box.fault(name)
    with open_stream(box) as stream:
        box.wait("connected")
        box.human.say(None, "nobody hears this")
        assert stream.response.status == 200
        box.human.end_streams()
        assert stream.read_chunk() == b""
        assert stream.text == ""


@scene("stream-end-at-once")
def _ended(box: CanonSandbox, name: str) -> None:
    box.fault(name)
    with open_stream(box) as stream:
        assert (stream.response.status, stream.read_chunk(), stream.text) == (200, b"", "")


@scene("stream-forget", "stream-forget-all")
def _forgotten(box: CanonSandbox, name: str) -> None:
    box.human.say(None, "earlier")
    newest = box.engine.read(lambda world: world.logs["agent_sandbox"].last_event_id)
    box.fault(name)
    with connected(box, newest) as stream:
        expired = stream.frames()[0]

    assert expired["event"] == "replay.expired"
    assert json.loads(expired["data"]) == ({"lastAvailableId": newest} if name == "stream-forget" else {})


@scene("stream-no-policy")
def _without_policy(box: CanonSandbox, name: str) -> None:
    contexts = []
    for fault in (None, name):
        if fault is not None:
            box.fault(fault)
        with connected(box) as stream:
            stream.read_until("agent.context")
            contexts += [json.loads(f["data"]) for f in stream.frames() if f["event"] == "agent.context"]

    told, silent = contexts
    assert told.pop("outboundPolicy") == "open"
    assert silent == told


@scene("stream-drop", "stream-drop-mid-frame", "stream-drop-after", "stream-end")
def _dropped(box: CanonSandbox, name: str) -> None:
    with connected(box) as stream:
        box.human.say(None, f"before {name}")
        cursor = _event_named(stream, f"before {name}")["id"]
        box.fault(name)
        box.human.say(None, f"during {name}")
        ended_properly = _read_to_the_end(stream)
    with connected(box, cursor) as again:
        again.read_until(f"during {name}")

    assert ended_properly == (name == "stream-end")
    frames = stream.text.split("\n\n")
    whole, rest = frames[:-1], frames[-1]
    assert any(f"during {name}" in frame for frame in whole) == (name == "stream-drop-after")
    assert rest.startswith("id: ") == (name == "stream-drop-mid-frame")


def _event_named(stream: RawStream, text: str) -> dict[str, str]:
    stream.read_until(f'"text":"{text}"')
    with suppress(AssertionError):
        while not stream.text.endswith("\n\n"):
            stream.read_chunk()
    return next(frame for frame in stream.frames() if text in frame.get("data", ""))


def _read_to_the_end(stream: RawStream) -> bool:
    """Read what comes; True for a proper end, False for a reset."""
    try:
        while stream.read_chunk():
            pass
    except ConnectionResetError:
        return False
    return True


Frame = dict[str, list[str]]


def _frames(text: str) -> list[Frame]:
    """What was written, as the values of each field by frame."""
    found: list[Frame] = []
    for block in text.split("\n\n"):
        fields: Frame = {}
        for line in block.splitlines():
            if not line.startswith(":"):
                fields.setdefault(line.partition(": ")[0], []).append(line.partition(": ")[2])
        found.append(fields)
    return [fields for fields in found if fields]


def _payload(frame: Frame) -> Any:
    try:
        return json.loads("\n".join(frame["data"]))
    except ValueError:
        return None


def _kind(frame: Frame) -> Any:
    return _payload(frame)["turnDispatch"]["kind"]


def _same(frames: list[Frame]) -> bool:
    return all(frame == frames[0] for frame in frames)


# What a reader sees of one event, besides how it is cut: how many frames, and what is odd about them.
FORMS: dict[str, tuple[int, Callable[[list[Frame]], bool]]] = {
    "event-duplicate": (2, lambda seen: "id" in seen[0] and _same(seen)),
    "event-duplicate-new-id": (
        2,
        lambda seen: seen[0]["id"] != seen[1]["id"] and _same([{**frame, "id": []} for frame in seen]),
    ),
    "event-swap": (1, lambda seen: "id" in seen[0]),
    "event-no-id": (1, lambda seen: "id" not in seen[0]),
    "event-no-name": (2, lambda seen: ["event" in frame for frame in seen] == [False, True]),
    "event-crlf-split": (1, lambda seen: "id" in seen[0]),
    "event-bytewise": (1, lambda seen: "id" in seen[0]),
    "event-multi-line": (1, lambda seen: len(seen[0]["data"]) > 5 and _payload(seen[0]) is not None),
    "event-not-json": (2, lambda seen: [_payload(frame) is None for frame in seen] == [True, False]),
    "event-unknown-name": (2, lambda seen: [frame["event"] == ["message.created"] for frame in seen] == [False, True]),
    "event-no-verdict": (1, lambda seen: "turnDispatch" not in _payload(seen[0])),
    "event-record-only": (1, lambda seen: _kind(seen[0]) == "record_only"),
    "event-other-verdict": (1, lambda seen: _kind(seen[0]) not in {"run_turn", "record_only", "suppress"}),
    "event-run-turn": (1, lambda seen: _kind(seen[0]) == "run_turn"),
}


@scene(*[name for name in KINDS if name.startswith("event-")])
def _event(box: CanonSandbox, name: str) -> None:
    with connected(box) as stream:
        before = len(_frames(stream.text))
        box.fault(name)
        box.human.say(None, f"spoiled by {name}")
        box.human.say(None, f"after {name}")
        stream.read_until(f"after {name}")
        stream.read_until(f"spoiled by {name}")
        while not stream.text.replace("\r\n", "\n").endswith("\n\n"):
            stream.read_chunk()
        text = stream.text.replace("\r\n", "\n")

    spoiled = text.index(f"spoiled by {name}")
    assert (text.index(f"after {name}") < spoiled) == (name == "event-swap")
    (after,) = (frame for frame in _frames(text) if f"after {name}" in "".join(frame["data"]))
    count, holds = FORMS[name]
    seen = [frame for frame in _frames(text)[before:] if frame != after and frame.get("event") != ["agent.context"]]
    assert (len(seen), holds(seen)) == (count, True), seen
    if name == "event-crlf-split":
        assert any(chunk.endswith(b"\r") for chunk in stream.chunks)
    if name == "event-bytewise":
        assert sum(len(chunk) == 1 for chunk in stream.chunks) > 100


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_fault_does_what_its_name_says(
    box: CanonSandbox, name: str, record_property: Callable[[str, object], None]
) -> None:
    """It fires, it is counted, the journal shows it as often, and the request after it is served."""
    box.human.calm()

    SCENES[name](box)

    rows = [row for row in box.human.faults() if row["name"] == name]
    record_property(FAULTS, [[row["name"], row["fired"], row["met"]] for row in rows])
    assert sum(row["fired"] for row in rows) >= 1
    assert all(row["met"] >= row["fired"] for row in rows)
    noted = [fault for entry in box.journal() for fault in (entry["fault"], *entry["spoiled"]) if fault == name]
    assert len(noted) == sum(row["fired"] for row in rows)
    assert not box.engine.failures


def test_every_fault_has_a_scene() -> None:
    """A new fault needs one."""
    assert set(SCENES) == set(KINDS)
