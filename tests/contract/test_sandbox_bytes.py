"""The loopback Canon server against bytes written by hand from the wire's description, not by any client of ours.

Requests are whole HTTP messages; answers are compared to the byte where the wire says what they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from canon_ops.sandbox.server import CanonSandbox
from tests.support.sandboxes import RawResponse, RawStream, canon_box, exchange_bytes

KEY = b"agk_live_sandbox_"


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


def api(box: CanonSandbox, request: bytes) -> RawResponse:
    return RawResponse.parse(
        exchange_bytes(box.endpoints.api, request.replace(b"$KEY", box.endpoints.agent_key.encode()))
    )


def lines(*parts: bytes, body: bytes = b"") -> bytes:
    """Header lines with their ends, the length of the body, and the body."""
    length = [b"Content-Length: %d" % len(body)] if body else []
    return b"\r\n".join([*parts, *length, b"Connection: close", b"", body])


def test_the_api_tells_its_identity(box: CanonSandbox) -> None:
    """A probe without any key gets header and body of the environment, slash at the end included."""
    answer = api(box, lines(b"GET /healthz/ HTTP/1.1", b"Host: x", b"Accept: application/json"))

    assert answer.status == 200
    assert answer.headers["x-canon-environment-id"] == "canon-dev-v1"
    assert answer.body == b'{"status":"ok","environmentId":"canon-dev-v1","projectId":"canonmail-dev"}'


def test_the_stream_tells_the_same_identity_on_its_own_port(box: CanonSandbox) -> None:
    """The stream's health has no slash at the end, and lives on the other origin only."""
    request = lines(b"GET /health HTTP/1.1", b"Host: x")

    on_stream = RawResponse.parse(exchange_bytes(box.endpoints.stream, request))
    on_api = RawResponse.parse(exchange_bytes(box.endpoints.api, request))

    assert (on_stream.status, on_stream.headers["x-canon-environment-id"]) == (200, "canon-dev-v1")
    assert on_stream.body == b'{"status":"ok","environmentId":"canon-dev-v1","projectId":"canonmail-dev"}'
    assert (on_api.status, box.journal()[-1]["unexpected"]) == (404, True)


def test_registration_from_request_to_acknowledgement() -> None:
    """Register twice, wait, receive the key, acknowledge twice: the key is told until then and never after."""
    form = (
        b'{"name":"Ops Hermes","description":"Hermes gateway agent","ownerPhone":"+15550100",'
        b'"developerInfo":"Hermes gateway platform adapter","clientType":"hermes",'
        b'"localRegistrationId":"hermes-3f0d6c1a9b7e4f2d8c5a1e6b7d9f0a2c"}'
    )
    register = lines(b"POST /agents/register HTTP/1.1", b"Host: x", b"Content-Type: application/json", body=form)
    with canon_box() as box:
        first, again = api(box, register), api(box, register)
        token = first.json()["pollToken"].encode()
        poll = lines(b"GET /agents/status/reg_000001 HTTP/1.1", b"Host: x", b"x-canon-poll-token: " + token)
        acknowledge = lines(b"POST /agents/status/reg_000001/ack HTTP/1.1", b"Host: x", b"x-canon-poll-token: " + token)
        waiting = api(box, poll)
        box.human.approve()
        approved, repeated = api(box, poll), api(box, poll)
        done = [api(box, acknowledge).status for _ in range(2)]
        after = api(box, poll)

    assert first.body == again.body
    assert first.json()["requestId"] == "reg_000001"
    assert waiting.body == b'{"status":"pending"}'
    assert approved.body == repeated.body
    assert approved.json()["apiKey"].encode().startswith(KEY)
    assert approved.json() == {
        "status": "approved",
        "agentId": "agent_000001",
        "agentName": "Ops Hermes",
        "apiKey": approved.json()["apiKey"],
    }
    assert done == [200, 200]
    assert after.json() == {
        "status": "approved",
        "agentId": "agent_000001",
        "agentName": "Ops Hermes",
        "apiKeyDelivered": True,
    }


def test_a_poll_needs_its_own_token(box: CanonSandbox) -> None:
    """Without a token 401, with another one 403, for an unknown request 404."""
    form = (
        b'{"name":"A","description":"d","ownerPhone":"+15550100","developerInfo":"i","clientType":"hermes",'
        b'"localRegistrationId":"hermes-1"}'
    )
    api(box, lines(b"POST /agents/register HTTP/1.1", b"Host: x", body=form))

    answers = [
        api(box, lines(b"GET /agents/status/reg_000001 HTTP/1.1", b"Host: x")),
        api(box, lines(b"GET /agents/status/reg_000001 HTTP/1.1", b"Host: x", b"X-Canon-Poll-Token: pt_other")),
        api(box, lines(b"GET /agents/status/reg_000009 HTTP/1.1", b"Host: x", b"X-Canon-Poll-Token: pt_other")),
    ]

    assert [answer.status for answer in answers] == [401, 403, 404]


def test_the_agent_learns_who_it_is(box: CanonSandbox) -> None:
    """Identity, owner and policy, to the byte."""
    answer = api(box, lines(b"GET /agents/me HTTP/1.1", b"Host: x", b"Authorization: Bearer $KEY"))

    assert answer.body == (
        b'{"agentId":"agent_sandbox","displayName":"Sandbox Hermes","ownerId":"user_owner","outboundPolicy":"open"}'
    )


@pytest.mark.parametrize(
    "header", [b"X-None: 1", b"Authorization: Bearer agk_live_other", b"Authorization: Basic $KEY"]
)
def test_no_valid_key_no_answer(box: CanonSandbox, header: bytes) -> None:
    """A missing, foreign or wrongly sent key gets 401 with a JSON error."""
    answer = api(box, lines(b"GET /agents/me HTTP/1.1", b"Host: x", header))

    assert (answer.status, answer.json()["code"]) == (401, "UNAUTHORIZED")


def test_a_message_is_stored_once_for_one_id(box: CanonSandbox) -> None:
    """The same id and payload gives the stored id again; another payload under that id is 409."""
    first = b'{"conversationId":"conv_direct","text":"Invoice 42 is filed.","messageId":"hermes-final-1"}'
    other = b'{"conversationId":"conv_direct","text":"Invoice 43 is filed.","messageId":"hermes-final-1"}'
    head = (b"POST /messages/send HTTP/1.1", b"Host: x", b"Authorization: Bearer $KEY")

    answers = [api(box, lines(*head, body=body)) for body in (first, first, other)]

    assert [answer.status for answer in answers] == [200, 200, 409]
    assert answers[0].body == answers[1].body == b'{"messageId":"hermes-final-1"}'
    assert answers[2].json()["code"] == "MESSAGE_ID_EXISTS"
    assert [message["text"] for message in box.transcript()] == ["Invoice 42 is filed."]


def test_a_stream_begins_and_carries_a_message(box: CanonSandbox) -> None:
    """A comment at once, connected and agent.context without ids, then the message with id, name and one data line."""
    with RawStream(box.endpoints.stream, box.endpoints.agent_key) as stream:
        box.wait("connected")
        box.human.say("conv_team", "@Ops please file invoice 42", "user_dana", mentions=["agent_sandbox"])
        text = stream.read_until("turnDispatch")

    event = json.loads(stream.frames()[2]["data"])
    created = event["message"]["createdAt"]
    expires = event["replyAuthority"]["expiresAt"]
    token = event["replyAuthority"]["token"]
    assert "content-length" not in stream.response.headers
    assert stream.response.headers["content-type"] == "text/event-stream"
    assert len(token) >= 32
    assert text == (
        ": heartbeat\n\n"
        'event: connected\ndata: {"agentId":"agent_sandbox","connectionId":"cx_000001"}\n\n'
        'event: agent.context\ndata: {"agentId":"agent_sandbox","ownerId":"user_owner","outboundPolicy":"open"}\n\n'
        f"id: {stream.frames()[2]['id']}\n"
        "event: message.created\n"
        'data: {"conversationId":"conv_team","conversation":{"id":"conv_team","type":"group","name":"Team",'
        '"topic":null,"memberIds":["user_owner","user_dana","agent_sandbox"]},"message":{"id":"msg_000001",'
        '"senderId":"user_dana","senderName":"Dana","senderType":"human","contentType":"text",'
        '"text":"@Ops please file invoice 42","attachments":[],"mentions":["agent_sandbox"],"replyTo":null,'
        f'"replyToPosition":null,"status":"sent","createdAt":"{created}","metadata":{{}},"isOwner":false}},'
        '"turnDispatch":{"kind":"run_turn"},"provenance":{"mentionedAgent":true,"conversation":{"id":"conv_team",'
        '"type":"group"}},"behavior":{"participation":{"maxConsecutiveAgentTurns":4}},"replyAuthority":{"schema":'
        f'"canon.agent-reply-authority.v1","sourceMessageId":"msg_000001","token":"{token}",'
        f'"expiresAt":"{expires}"}}}}\n\n'
    )


def test_a_reply_authority_serves_the_turn_that_used_it_first(box: CanonSandbox) -> None:
    """Parts of one turn pass, the next turn is refused with it and taken without it."""
    with RawStream(box.endpoints.stream, box.endpoints.agent_key) as stream:
        box.wait("connected")
        box.human.say(None, "what is owed?")
        stream.read_until('"replyAuthority"')
    authority = json.dumps(json.loads(stream.frames()[2]["data"])["replyAuthority"]).encode()

    def send(turn: bytes, with_authority: bool) -> tuple[int, object]:
        body = b'{"conversationId":"conv_direct","text":"42","metadata":{"turnId":"' + turn + b'"}'
        body += b',"replyAuthority":' + authority + b"}" if with_authority else b"}"
        head = (b"POST /messages/send HTTP/1.1", b"Host: x", b"Authorization: Bearer $KEY")
        answer = api(box, lines(*head, b"Content-Type: application/json", body=body))
        return answer.status, answer.json().get("code")

    assert [send(b"turn-a", True)[0] for _ in range(2)] == [200, 200]
    assert send(b"turn-b", True) == (403, "REPLY_AUTHORITY_INVALID")
    assert send(b"turn-b", False)[0] == 200


def test_a_stream_goes_on_where_the_cursor_stands(box: CanonSandbox) -> None:
    """Last-Event-ID replays what followed, in order, and nothing else."""
    with RawStream(box.endpoints.stream, box.endpoints.agent_key) as first:
        box.wait("connected")
        for word in ("one", "two", "three"):
            box.human.say(None, word)
        first.read_until('"text":"three"')
    cursor = first.frames()[2]["id"]

    with RawStream(box.endpoints.stream, box.endpoints.agent_key, last_event_id=cursor) as second:
        second.read_until('"text":"three"')

    texts = [json.loads(frame["data"])["message"]["text"] for frame in second.frames()[2:]]
    assert texts == ["two", "three"]


def test_an_unknown_cursor_is_told_before_anything_else(box: CanonSandbox) -> None:
    """replay.expired names the newest event and has no id of its own; older events are not sent."""
    with RawStream(box.endpoints.stream, box.endpoints.agent_key) as first:
        box.wait("connected")
        box.human.say(None, "missed")
        first.read_until('"text":"missed"')
    newest = first.frames()[2]["id"]

    with RawStream(box.endpoints.stream, box.endpoints.agent_key, last_event_id="evt_0000000188") as second:
        second.read_until("agent.context")
        box.human.say(None, "later")
        second.read_until('"text":"later"')

    assert second.frames()[0] == {"event": "replay.expired", "data": f'{{"lastAvailableId":"{newest}"}}'}
    assert "missed" not in second.text


def test_a_wrong_key_does_not_open_the_stream(box: CanonSandbox) -> None:
    """401 with a JSON body instead of a stream."""
    request = lines(b"GET /agents/stream HTTP/1.1", b"Host: x", b"Authorization: Bearer agk_live_other")

    answer = RawResponse.parse(exchange_bytes(box.endpoints.stream, request))

    assert (answer.status, answer.json()["code"]) == (401, "UNAUTHORIZED")


def test_the_node_merges_and_is_deleted(box: CanonSandbox) -> None:
    """Absent fields keep their value, and a delete without a final message keeps the content as progress."""
    head = (b"POST /streaming HTTP/1.1", b"Host: x", b"Authorization: Bearer $KEY")
    write = (
        b'{"conversationId":"conv_direct","status":"streaming","text":"Looking at","messageId":"t1","turnId":"t1",'
        b'"blocks":[{"id":"text:1","turnId":"t1","kind":"text","status":"running","sequence":1,"text":"Looking at"}]}'
    )
    api(box, lines(*head, body=write))
    api(box, lines(*head, body=b'{"conversationId":"conv_direct","status":"streaming","text":"Looking at it"}'))
    node = box.node()
    api(box, lines(*head, body=b'{"conversationId":"conv_direct","streaming":false}'))

    assert node is not None
    assert (node["text"], node["turnId"], len(node["blocks"])) == ("Looking at it", "t1", 1)
    assert box.node() is None
    [salvaged] = box.transcript()
    assert (salvaged["origin"], salvaged["text"]) == ("server", "Looking at it")
    assert salvaged["metadata"]["turnSemantics"] == "progress"
    assert salvaged["metadata"]["turnTrail"] == node["blocks"]


def test_a_signal_is_taken_once(box: CanonSandbox) -> None:
    """The first consume takes the signal with its setter, the next one finds none."""
    box.human.signal(None, "interrupt")
    consume = lines(
        b"POST /runtime/signal/consume HTTP/1.1",
        b"Host: x",
        b"Authorization: Bearer $KEY",
        body=b'{"conversationId":"conv_direct"}',
    )

    first, second = api(box, consume), api(box, consume)

    assert first.body == b'{"status":"signal","signal":"interrupt","updatedBy":"user_owner"}'
    assert second.body == b'{"status":"none"}'


def test_ids_with_colons_and_dots_stand_in_a_path(box: CanonSandbox) -> None:
    """Client ids go into paths as they are; an unknown disposition is 400 and changes nothing."""
    box.human.say(None, "queued", message_id="msg:a.b-c", metadata={"inboundDisposition": "queued"})
    head = (
        b"PATCH /conversations/conv_direct/messages/msg:a.b-c/disposition HTTP/1.1",
        b"Host: x",
        b"Authorization: Bearer $KEY",
    )

    wrong = api(box, lines(*head, body=b'{"inboundDisposition":"maybe"}'))
    before = box.transcript()[0]["metadata"]
    right = api(box, lines(*head, body=b'{"inboundDisposition":"accepted_now"}'))

    assert (wrong.status, before) == (400, {"inboundDisposition": "queued"})
    assert (right.status, box.transcript()[0]["metadata"]) == (200, {"inboundDisposition": "accepted_now"})


def test_the_journal_keeps_order_and_no_key(box: CanonSandbox) -> None:
    """Both listeners count together, and neither the key nor the admin's requests are written down."""
    api(box, lines(b"GET /agents/me HTTP/1.1", b"Host: x", b"Authorization: Bearer $KEY"))
    exchange_bytes(box.endpoints.stream, lines(b"GET /health HTTP/1.1", b"Host: x"))
    api(box, lines(b"GET /conversations HTTP/1.1", b"Host: x", b"Authorization: Bearer $KEY"))

    journal = box.journal()
    assert [(row["number"], row["listener"], row["path"], row["status"]) for row in journal] == [
        (1, "api", "/agents/me", 200),
        (2, "stream", "/health", 200),
        (3, "api", "/conversations", 200),
    ]
    assert box.endpoints.agent_key not in json.dumps(journal)
