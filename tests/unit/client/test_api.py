"""The REST calls: what goes out, what comes back, and how often a message is attempted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
import pytest_asyncio
from pytest_httpx import HTTPXMock

from canon_ops.client.api import CanonApi
from canon_ops.client.errors import (
    ApiError,
    Forbidden,
    MalformedAnswer,
    Redirected,
    RequestFailed,
    ServiceTrouble,
    TransportFailure,
    Unauthorized,
)
from canon_ops.client.transport import UnusableKey
from canon_ops.errors import ExitCode
from canon_ops.runtime.clock import ManualClock
from canon_ops.settings.secret import Secret
from canon_ops.wire.agents import DiscoverQuery
from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import (
    RuntimeStatus,
    SendMessage,
    Signal,
    SignalKind,
    StreamingWrite,
    TurnPhase,
    TurnState,
    Typing,
)
from canon_ops.wire.retry import Policy, TransportKind
from canon_ops.wire.verbs import MalformedVerbAnswer
from tests.support.canon_wire import KEY, InstantClock, a_connection

BASE = "https://api.test"
WITH_ID = SendMessage("c1", "hi", message_id="m1")
WITHOUT_ID = SendMessage("c1", "hi")


class NoJitter(random.Random):
    """Random numbers that are all zero, so that pauses are exact."""

    def random(self) -> float:
        return 0.0


@pytest.fixture
def clock() -> InstantClock:
    return InstantClock()


@pytest_asyncio.fixture
async def api(clock: InstantClock) -> AsyncIterator[CanonApi]:
    async with CanonApi(a_connection(BASE), KEY, clock=clock, rng=NoJitter()) as api:
        yield api


CALLS: list[Any] = [
    pytest.param(lambda api: api.me(), "GET", "/agents/me", None, id="me"),
    pytest.param(lambda api: api.conversations(), "GET", "/conversations", None, id="conversations"),
    pytest.param(
        lambda api: api.send_message(WITH_ID),
        "POST",
        "/messages/send",
        {"conversationId": "c1", "text": "hi", "messageId": "m1"},
        id="send",
    ),
    pytest.param(
        lambda api: api.set_disposition("c1", "canon-control:stop:1.5"),
        "PATCH",
        "/conversations/c1/messages/canon-control:stop:1.5/disposition",
        {"inboundDisposition": "accepted_now"},
        id="disposition",
    ),
    pytest.param(lambda api: api.mark_read("c.1"), "POST", "/conversations/c.1/read", None, id="read"),
    pytest.param(
        lambda api: api.set_typing(Typing("c1", False)),
        "POST",
        "/typing",
        {"conversationId": "c1", "typing": False},
        id="typing",
    ),
    pytest.param(
        lambda api: api.write_streaming(StreamingWrite("c1", text="x")),
        "POST",
        "/streaming",
        {"conversationId": "c1", "status": "streaming", "text": "x"},
        id="streaming",
    ),
    pytest.param(
        lambda api: api.clear_streaming("c1"),
        "POST",
        "/streaming",
        {"conversationId": "c1", "streaming": False},
        id="clear",
    ),
    pytest.param(
        lambda api: api.publish_turn(TurnState("c1", TurnPhase.COMPLETED, 7)),
        "POST",
        "/runtime/turn",
        TurnState("c1", TurnPhase.COMPLETED, 7).body(),
        id="turn",
    ),
    pytest.param(
        lambda api: api.publish_status(RuntimeStatus()),
        "POST",
        "/runtime/status",
        {"runtime": "hermes", "hostMode": True},
        id="status",
    ),
    pytest.param(
        lambda api: api.consume_signal("c1"), "POST", "/runtime/signal/consume", {"conversationId": "c1"}, id="signal"
    ),
]


@pytest.mark.parametrize(("call", "method", "path", "body"), CALLS)
async def test_each_call(
    call: Callable[[CanonApi], Awaitable[object]],
    method: str,
    path: str,
    body: object,
    api: CanonApi,
    httpx_mock: HTTPXMock,
) -> None:
    """Each call has its method, path, key, type and body, and takes an empty answer as an empty object."""
    httpx_mock.add_response(content=b"")

    await call(api)

    [request] = httpx_mock.get_requests()
    assert (request.method, str(request.url)) == (method, BASE + path)
    assert request.headers["authorization"] == f"Bearer {KEY.reveal()}"
    assert request.headers["content-type"] == "application/json"
    assert request.content == (b"" if body is None else httpx.Request("POST", BASE, json=body).content)


async def test_answers_become_types(api: CanonApi, httpx_mock: HTTPXMock) -> None:
    """What the server says is read into the wire's types."""
    httpx_mock.add_response(url=f"{BASE}/agents/me", json={"agentId": "a", "ownerId": "o"})
    httpx_mock.add_response(url=f"{BASE}/conversations", json={"conversations": [{"id": "c1", "type": "group"}]})
    httpx_mock.add_response(url=f"{BASE}/messages/send", json={"id": "m7"})
    httpx_mock.add_response(url=f"{BASE}/runtime/signal/consume", json={"status": "signal", "signal": "interrupt"})
    httpx_mock.add_response(url=f"{BASE}/agents/discover?query=a%2Cb&limit=3", json={"agents": []})

    assert (await api.me()).agent_id == "a"
    assert [room.is_group for room in await api.conversations()] == [True]
    assert await api.send_message(WITH_ID) == "m7"
    assert await api.consume_signal("c1") == Signal(SignalKind.INTERRUPT)
    assert (await api.discover(DiscoverQuery("a,b", 3))).agents == ()


async def test_a_message_without_an_id_in_the_answer_is_sent_all_the_same(api: CanonApi, httpx_mock: HTTPXMock) -> None:
    """A missing id is not an error, and neither is an answer that is no object."""
    httpx_mock.add_response(json=[])

    assert await api.send_message(WITH_ID) is None


@pytest.mark.parametrize(
    ("status", "error", "exit_code"),
    [
        (400, ApiError, ExitCode.OUTSIDE),
        (401, Unauthorized, ExitCode.CREDENTIAL),
        (403, Forbidden, ExitCode.CREDENTIAL),
        (404, ApiError, ExitCode.OUTSIDE),
        (409, ApiError, ExitCode.OUTSIDE),
        (429, ServiceTrouble, ExitCode.OUTSIDE),
        (503, ServiceTrouble, ExitCode.OUTSIDE),
    ],
)
async def test_s2_13_a_refusal_is_sorted_by_who_has_to_act(
    status: int, error: type[ApiError], exit_code: ExitCode, api: CanonApi, httpx_mock: HTTPXMock
) -> None:
    """S2.13: the status decides the kind; a refused key is never worth another attempt."""
    httpx_mock.add_response(status_code=status, json={"error": "Not today", "code": "WORD", "retryAfter": 3})

    with pytest.raises(ApiError) as raised:
        await api.me()

    failure = raised.value
    assert type(failure) is error
    assert (failure.status, failure.api_code, failure.message) == (status, "WORD", "Not today")
    assert (failure.exit_code, failure.retryable) == (exit_code, error is ServiceTrouble)
    assert failure.retry_after_s == 3
    assert failure.what == f"Canon answered GET /agents/me with status {status} (WORD): Not today"


async def test_a_403_about_an_act_says_nothing_about_the_key(api: CanonApi, httpx_mock: HTTPXMock) -> None:
    """The deployer's policy refuses a verb; the key is as good as before."""
    httpx_mock.add_response(status_code=403, json={"error": "ask first", "code": "OUTBOUND_APPROVAL_REQUIRED"})

    with pytest.raises(ApiError) as raised:
        await api.verb("send_to", {"targetUserId": "u"}, {"text": "hi"})

    assert type(raised.value) is ApiError
    assert (raised.value.status, raised.value.api_code) == (403, "OUTBOUND_APPROVAL_REQUIRED")


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", None, ""),
        (b" <html>oops</html>\n", None, "<html>oops</html>"),
        (b'{"code": 7, "error": ["x"]}', None, '{"code": 7, "error": ["x"]}'),
        (b'{"code": "A", "error": ""}', "A", '{"code": "A", "error": ""}'),
        (b'["x"]', None, '["x"]'),
        (b"x" * 2_000, None, "x" * 500),
        (b"\xff", None, "\ufffd"),
    ],
    ids=str,
)
async def test_an_error_body_may_be_anything(
    content: bytes, code: str | None, message: str, api: CanonApi, httpx_mock: HTTPXMock
) -> None:
    """What is no error object is quoted, in part."""
    httpx_mock.add_response(status_code=400, content=content)

    with pytest.raises(ApiError) as raised:
        await api.me()

    assert (raised.value.api_code, raised.value.message) == (code, message)


async def test_a_success_that_is_not_json_is_an_unknown_outcome(
    api: CanonApi, clock: InstantClock, httpx_mock: HTTPXMock
) -> None:
    """A message answered so is not sent again: nobody knows what the server did."""
    httpx_mock.add_response(text="<html>hello</html>")

    with pytest.raises(MalformedAnswer, match="POST /messages/send is not JSON"):
        await api.send_message(WITH_ID)

    assert clock.pauses == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_error_and_is_not_followed(status: int, api: CanonApi, httpx_mock: HTTPXMock) -> None:
    """The key goes nowhere else, nothing counts as sent, and the target's path stays out of the message."""
    location = "https://elsewhere.test/private?token=SECRET"
    httpx_mock.add_response(status_code=status, headers={"Location": location}, json={"messageId": "m"})

    with pytest.raises(Redirected) as raised:
        await api.send_message(WITH_ID)

    assert "https://elsewhere.test" in raised.value.what
    assert "SECRET" not in raised.value.what
    assert len(httpx_mock.get_requests()) == 1


async def test_s7_30_a_message_without_an_id_is_not_repeated_after_a_read_timeout(
    api: CanonApi, clock: InstantClock, httpx_mock: HTTPXMock
) -> None:
    """S7.30: the server may have stored it, so it surfaces after one call."""
    httpx_mock.add_exception(httpx.ReadTimeout("slow"))

    with pytest.raises(TransportFailure) as raised:
        await api.send_message(WITHOUT_ID)

    assert raised.value.kind is TransportKind.READ_TIMEOUT
    assert clock.pauses == []


UNSURE = [
    (httpx.ReadError, TransportKind.READ_ERROR),
    (httpx.WriteError, TransportKind.WRITE_ERROR),
    (httpx.CloseError, TransportKind.CLOSE_ERROR),
    (httpx.PoolTimeout, TransportKind.POOL_TIMEOUT),
    (httpx.WriteTimeout, TransportKind.WRITE_TIMEOUT),
    (httpx.ReadTimeout, TransportKind.READ_TIMEOUT),
    (httpx.RemoteProtocolError, TransportKind.PROTOCOL),
    (httpx.ProxyError, TransportKind.OTHER),
    (httpx.UnsupportedProtocol, TransportKind.OTHER),
]


@pytest.mark.parametrize(("exception", "kind"), UNSURE)
async def test_s7_31_a_message_with_an_id_survives_any_transport_failure(
    exception: type[httpx.TransportError],
    kind: TransportKind,
    api: CanonApi,
    clock: InstantClock,
    httpx_mock: HTTPXMock,
) -> None:
    """S7.31: with an id the second attempt succeeds, with the same bytes; without one it surfaces after one call."""
    httpx_mock.add_exception(exception("broken"))
    httpx_mock.add_response(json={"messageId": "m1"})
    httpx_mock.add_exception(exception("broken"))

    assert await api.send_message(WITH_ID) == "m1"
    with pytest.raises(TransportFailure) as raised:
        await api.send_message(WITHOUT_ID)

    first, second, third = httpx_mock.get_requests()
    assert first.content == second.content != third.content
    assert raised.value.kind is kind
    assert clock.pauses == [0.4]


@pytest.mark.parametrize(("first", "in_doubt"), [(httpx.ReadTimeout, True), (httpx.ConnectError, False)])
async def test_a_lost_answer_stays_in_doubt(
    first: type[httpx.TransportError], in_doubt: bool, api: CanonApi, httpx_mock: HTTPXMock
) -> None:
    """R7.19: that nobody answers the last attempt says nothing about what became of the first."""
    httpx_mock.add_exception(first("broken"))
    httpx_mock.add_exception(httpx.ConnectError("no"), is_reusable=True)

    with pytest.raises(TransportFailure) as raised:
        await api.send_message(WITH_ID)

    assert (raised.value.kind, raised.value.may_have_landed) == (TransportKind.REFUSED, in_doubt)


@pytest.mark.parametrize("message", [WITH_ID, WITHOUT_ID], ids=["with id", "without id"])
@pytest.mark.parametrize("exception", [httpx.ConnectError, httpx.ConnectTimeout])
async def test_a_message_that_never_left_is_repeated(
    exception: type[httpx.TransportError],
    message: SendMessage,
    api: CanonApi,
    clock: InstantClock,
    httpx_mock: HTTPXMock,
) -> None:
    """A connection that did not come about cannot have stored anything."""
    httpx_mock.add_exception(exception("no"))
    httpx_mock.add_exception(exception("no"))
    httpx_mock.add_response(json={"messageId": "m1"})

    assert await api.send_message(message) == "m1"
    assert clock.pauses == [0.4, 0.8]


@pytest.mark.parametrize(
    ("message", "status", "attempts"),
    [
        (WITH_ID, 408, 3), (WITH_ID, 425, 3), (WITH_ID, 429, 3), (WITH_ID, 500, 3), (WITH_ID, 503, 3),
        (WITH_ID, 400, 1), (WITH_ID, 409, 1), (WITH_ID, 401, 1),
        (WITHOUT_ID, 429, 3), (WITHOUT_ID, 503, 3), (WITHOUT_ID, 500, 1), (WITHOUT_ID, 408, 1), (WITHOUT_ID, 502, 1),
    ],
    ids=lambda value: "with id" if value is WITH_ID else "without id" if value is WITHOUT_ID else str(value),
)  # fmt: skip
async def test_how_often_a_status_is_attempted(
    message: SendMessage, status: int, attempts: int, api: CanonApi, httpx_mock: HTTPXMock
) -> None:
    """Appendix B: what will not pass surfaces at once, trouble after three attempts."""
    httpx_mock.add_response(status_code=status, is_reusable=True)

    with pytest.raises(ApiError):
        await api.send_message(message)

    assert len(httpx_mock.get_requests()) == attempts


async def test_the_servers_pause_is_kept(api: CanonApi, clock: InstantClock, httpx_mock: HTTPXMock) -> None:
    """``Retry-After`` moves the next attempt, the body's hint does when there is no header, and both are bounded."""
    httpx_mock.add_response(status_code=429, headers={"Retry-After": "5"}, json={"retryAfter": 9})
    httpx_mock.add_response(status_code=503, json={"retryAfter": 7_200})
    httpx_mock.add_response(json={"messageId": "m1"})

    await api.send_message(WITH_ID)

    assert clock.pauses == [5.0, 30.0]


async def test_jitter_comes_from_the_random_numbers_handed_in(clock: InstantClock, httpx_mock: HTTPXMock) -> None:
    """Two clients that failed together come back apart."""
    httpx_mock.add_response(status_code=503, is_reusable=True)
    for seed in (1, 2):
        async with CanonApi(a_connection(BASE), KEY, clock=clock, rng=random.Random(seed)) as api:
            with pytest.raises(ServiceTrouble):
                await api.send_message(WITH_ID)

    first, second = clock.pauses[:2], clock.pauses[2:]
    assert first != second
    assert all(0.4 <= pauses[0] < 0.6 and 0.8 <= pauses[1] < 1.2 for pauses in (first, second))


async def test_only_messages_are_repeated(api: CanonApi, clock: InstantClock, httpx_mock: HTTPXMock) -> None:
    """A live surface makes one attempt; its next write is the repetition."""
    httpx_mock.add_response(status_code=503)

    with pytest.raises(ServiceTrouble):
        await api.set_typing(Typing("c1", True))

    assert clock.pauses == []


async def test_a_verb_goes_out_framed_and_its_value_comes_back(api: CanonApi, httpx_mock: HTTPXMock) -> None:
    """The verb stands in the path and in the body; an answer to another verb is an error."""
    value = {"status": "acknowledged"}
    result = {"encoding": "json", "value": value}
    httpx_mock.add_response(json={"wire": "canon.verb-wire.v1", "verb": "no_reply", "result": result})
    httpx_mock.add_response(json={"wire": "canon.verb-wire.v1", "verb": "send_to", "result": result})

    assert await api.verb("no_reply", {"conversationId": "c1"}, {"reason": "given"}, timeout_s=3) == value
    with pytest.raises(MalformedVerbAnswer):
        await api.verb("no_reply", {"conversationId": "c1"}, {"reason": "given"})

    request = httpx_mock.get_requests()[0]
    assert str(request.url) == f"{BASE}/agent/verbs/no_reply"
    assert request.extensions["timeout"] == {"connect": 3, "read": 3, "write": 3, "pool": 3}


async def test_a_standalone_send_is_repeated_under_its_key(
    api: CanonApi, clock: InstantClock, httpx_mock: HTTPXMock
) -> None:
    """A verb that carries an idempotency key may be repeated like a message with an id."""
    value = {"status": "messaged", "conversationId": "c1", "messageId": "m"}
    httpx_mock.add_exception(httpx.ReadTimeout("slow"))
    httpx_mock.add_response(
        json={"wire": "canon.verb-wire.v1", "verb": "send_to", "result": {"encoding": "json", "value": value}}
    )

    envelope = {"conversationId": "c1", "idempotencyKey": "k1"}
    assert await api.verb("send_to", envelope, {"text": "hi"}, policy=Policy.IDEMPOTENT) == value
    assert clock.pauses == [0.4]


async def test_cancellation_passes_and_stops_the_attempts(httpx_mock: HTTPXMock) -> None:
    """A turn that is torn down does not go on sending between two attempts."""
    httpx_mock.add_response(status_code=503)
    clock = ManualClock()
    async with CanonApi(a_connection(BASE), KEY, clock=clock, rng=NoJitter()) as api:
        sending = asyncio.ensure_future(api.send_message(WITH_ID))
        async with asyncio.timeout(5):
            while not clock.sleepers:  # noqa: ASYNC110  # the clock has no event for it
                await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

    assert len(httpx_mock.get_requests()) == 1


async def test_the_key_is_erased_from_what_the_server_says(api: CanonApi, httpx_mock: HTTPXMock) -> None:
    """A server that echoes the key does not bring it into our logs."""
    httpx_mock.add_response(status_code=400, text=f"bad header Authorization: Bearer {KEY.reveal()}")

    with pytest.raises(RequestFailed) as raised:
        await api.me()

    assert KEY.reveal() not in str(raised.value) + repr(raised.value) + repr(vars(raised.value))


async def test_a_reply_authority_is_erased_from_what_the_server_says(api: CanonApi, httpx_mock: HTTPXMock) -> None:
    """A server that quotes the refused body does not bring the capability into our logs."""
    authority = ReplyAuthority("msg_1", "t0ken" * 8, "2030-01-01T00:00:00.000Z")
    httpx_mock.add_callback(lambda request: httpx.Response(400, content=request.content))

    with pytest.raises(RequestFailed) as raised:
        await api.send_message(SendMessage("c1", "hi", reply_authority=authority))

    assert "msg_1" in str(raised.value)
    assert authority.token not in str(raised.value) + repr(vars(raised.value))


@pytest.mark.parametrize("key", ["", "agk_live_a b", "agk_live_a\nX-Evil: 1", "agk_live_ש"], ids=ascii)
async def test_a_key_that_no_header_can_carry_is_refused_without_quoting_it(key: str, clock: InstantClock) -> None:
    """The library would quote the key in its own error; ours does not, in no part of the chain."""
    async with CanonApi(a_connection(BASE), Secret(key), clock=clock) as api:
        with pytest.raises(UnusableKey) as raised:
            await api.me()

    assert not key or key not in str(raised.value)
    assert raised.value.__cause__ is None and raised.value.__context__ is None


async def test_a_closed_client_makes_no_calls(api: CanonApi) -> None:
    """After closing, a call is our own mistake and says so."""
    await api.aclose()

    with pytest.raises(RuntimeError, match="closed"):
        await api.me()
