"""Our client against the loopback Canon server, which hand-written bytes and the published plugin have checked before.

Every call is made, every fault of the wire is met, and what counts is what the server holds afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

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
from canon_ops.client.health import EnvironmentMismatch, verify_environment
from canon_ops.client.registration import RegistrationApi
from canon_ops.client.stream import EventStream, StreamIdle, open_stream
from canon_ops.runtime.clock import SystemClock
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.secret import Secret
from canon_ops.wire.events import ReplayExpired, SignalWaiting, parse_event
from canon_ops.wire.messages import MessageCreated
from canon_ops.wire.registration import KeyAlreadyDelivered, KeyExpired, RegistrationRequest, Verdict
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
from tests.support.canon_wire import InstantClock
from tests.support.gateways import sandbox_connection

REQUEST = RegistrationRequest("+15550100", "hermes-" + "a" * 32, name="Ops")


@asynccontextmanager
async def stream_of(
    box: CanonSandbox, *, cursor: str | None = None, idle_timeout_s: float = 60.0
) -> AsyncIterator[EventStream]:
    """An open stream of the sandbox's agent, limited to some seconds so that a test cannot hang."""
    async with (
        asyncio.timeout(10),
        open_stream(
            sandbox_connection(box),
            Secret(box.endpoints.agent_key),
            clock=SystemClock(),
            last_event_id=cursor,
            idle_timeout_s=idle_timeout_s,
        ) as stream,
    ):
        yield stream


Event = TypeVar("Event")


async def next_event(stream: EventStream, kind: type[Event]) -> tuple[str | None, Event]:
    """The next event of a kind, with its id; what comes before it is passed over."""
    async for frame in stream:
        event = parse_event(frame)
        if isinstance(event, kind):
            return frame.id, event
    raise AssertionError(f"the stream ended without a {kind.__name__}")


async def next_message(stream: EventStream) -> tuple[str | None, MessageCreated]:
    """The next message of the stream, with the id of its event."""
    return await next_event(stream, MessageCreated)


async def test_every_call_is_what_the_server_expects(box: CanonSandbox, api: CanonApi) -> None:
    """Each call of the client is served, and does on the server what its name says."""
    room = box.endpoints.conversation_id
    asked = box.human.say(room, "hello", metadata={"inboundDisposition": "queued"})
    box.human.signal(room, "interrupt")

    me = await api.me()
    rooms = await api.conversations()
    await api.publish_status(RuntimeStatus({"commands": [], "streamingTextMode": "delta"}))
    taken, gone = await api.consume_signal(room), await api.consume_signal(room)
    await api.set_disposition(room, asked)
    await api.mark_read(room)
    turn = TurnState(room, TurnPhase.THINKING, box.clock.now_ms(), turn_id="hermes-1", active_message_ids=[asked])
    await api.publish_turn(turn)
    await api.set_typing(Typing(room, True))
    await api.write_streaming(StreamingWrite(room, text="so far", turn_id="hermes-1"))
    node = box.node()
    sent = await api.send_message(
        SendMessage(
            room,
            "done",
            message_id="hermes-final-1",
            reply_to=asked,
            metadata={"turnSemantics": "turn_complete", "turnComplete": True, "turnId": "hermes-1"},
        )
    )
    await api.clear_streaming(room)
    await api.set_typing(Typing(room, False))
    await api.publish_turn(TurnState(room, TurnPhase.COMPLETED, box.clock.now_ms(), turn_id="hermes-1"))

    entries = box.journal()
    assert [
        (entry["method"], entry["path"]) for entry in entries if entry["unexpected"] or entry["status"] != 200
    ] == []
    assert me.owner_id == box.endpoints.owner_id
    assert {one.id: one.is_group for one in rooms}[room] is False
    assert (taken, gone) == (Signal(SignalKind.INTERRUPT, box.endpoints.owner_id), None)
    assert node is not None and node["text"] == "so far"
    assert box.node() is None
    assert sent == "hermes-final-1"
    question, answer = box.transcript()
    assert question["metadata"]["inboundDisposition"] == "accepted_now"
    assert (answer["text"], answer["replyTo"], answer["senderId"]) == ("done", asked, me.agent_id)


# Messages under trouble ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    "fault", ["send-429", "send-503", "send-500", "send-500-after-commit", "send-lost-response", "reset"]
)
async def test_a_message_with_an_id_is_stored_once_whatever_happens(
    fault: str, times: int, box: CanonSandbox, api: CanonApi
) -> None:
    """Up to two failures in a row, before or after the server stored it: one message, the same bytes each time."""
    settings = {"path": "/messages/send"} if fault == "reset" else {}
    armed = box.fault(fault, times=times, burst=times, **settings)

    assert await api.send_message(SendMessage(box.endpoints.conversation_id, "hi", message_id="m1")) == "m1"

    assert armed.fired == times
    assert [message["text"] for message in box.transcript()] == ["hi"]
    bodies = [entry["body"] for entry in box.journal()]
    assert bodies == [bodies[0]] * (times + 1)


@pytest.mark.parametrize(
    ("fault", "attempts", "stored"),
    [
        ("send-429", 2, 1),
        ("send-503", 2, 1),
        ("send-500", 1, 0),
        ("send-500-after-commit", 1, 1),
        ("send-lost-response", 1, 1),
        ("send-400", 1, 0),
        ("send-409", 1, 0),
        ("send-not-json", 1, 1),
        ("send-redirect", 1, 0),
    ],
)
async def test_a_message_without_an_id_is_never_doubled(
    fault: str, attempts: int, stored: int, box: CanonSandbox, api: CanonApi
) -> None:
    """It is sent again only after an answer that came before the handler."""
    box.fault(fault)
    message = SendMessage(box.endpoints.conversation_id, "hi")

    if attempts == 1:
        with pytest.raises(RequestFailed):
            await api.send_message(message)
    else:
        await api.send_message(message)

    assert (len(box.journal()), len(box.transcript())) == (attempts, stored)


@pytest.mark.parametrize(
    ("fault", "error"),
    [("send-400", ApiError), ("send-409", ApiError), ("send-not-json", MalformedAnswer), ("send-redirect", Redirected)],
)
async def test_what_will_not_pass_is_not_repeated(
    fault: str, error: type[Exception], box: CanonSandbox, api: CanonApi
) -> None:
    """A definite refusal, an unreadable answer and a redirect surface after one attempt, with an id, too."""
    box.fault(fault)

    with pytest.raises(error):
        await api.send_message(SendMessage(box.endpoints.conversation_id, "hi", message_id="m1"))

    assert len(box.journal()) == 1


async def test_an_id_with_another_content_is_a_conflict(box: CanonSandbox, api: CanonApi) -> None:
    """The server's own refusal carries its code."""
    await api.send_message(SendMessage(box.endpoints.conversation_id, "one", message_id="m1"))

    with pytest.raises(ApiError) as raised:
        await api.send_message(SendMessage(box.endpoints.conversation_id, "two", message_id="m1"))

    assert (raised.value.status, raised.value.api_code) == (409, "MESSAGE_ID_EXISTS")


async def test_the_keys_two_refusals(box: CanonSandbox, api: CanonApi) -> None:
    """S2.3, S2.4: an unknown key and a revoked one are told apart from a service that is down."""
    wrong = Secret("agk_live_sandbox_nobody_at_all")
    box.fault("me-503")
    with pytest.raises(ServiceTrouble):
        await api.me()
    async with CanonApi(sandbox_connection(box), wrong, clock=InstantClock()) as stranger:
        with pytest.raises(Unauthorized):
            await stranger.me()
    box.human.revoke()
    with pytest.raises(Forbidden):
        await api.me()


# Health -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["wrong-header", "wrong-environment", "wrong-project", "no-header", "not-json"])
async def test_s2_2_another_identity_is_refused(fault: str, box: CanonSandbox) -> None:
    """S2.2, SC.5: each difference alone is enough."""
    box.fault(f"health-{fault}")

    with pytest.raises(EnvironmentMismatch, match="does not match environment canon-dev-v1"):
        await verify_environment(sandbox_connection(box), clock=SystemClock())


async def test_sc_5_the_right_identity_passes(box: CanonSandbox) -> None:
    """SC.5: both services are asked, without a key; a degraded one passes, too."""
    await verify_environment(sandbox_connection(box), clock=SystemClock())
    box.fault("health-degraded")
    probes = await verify_environment(sandbox_connection(box), clock=SystemClock())

    assert [probe.status for probe in probes] == [503, 503]
    assert [(entry["listener"], entry["path"]) for entry in box.journal()] == [
        ("api", "/healthz/"),
        ("stream", "/health"),
    ] * 2
    assert all("authorization" not in entry["headers"] for entry in box.journal())


# Registration -------------------------------------------------------------------------------------------------------


async def test_a_registration_from_request_to_acknowledgement(box: CanonSandbox) -> None:
    """The key that comes out of it opens the API, and it is acknowledged twice without harm."""
    connection = sandbox_connection(box)
    async with RegistrationApi(connection, clock=InstantClock()) as registration:
        receipt = await registration.register(REQUEST)
        assert await registration.register(REQUEST) == receipt
        assert (await registration.status(receipt.request_id, receipt.poll_token)).verdict is Verdict.WAITING
        box.human.approve(receipt.request_id)
        status = await registration.wait(receipt.request_id, receipt.poll_token)
        assert status is not None
        key, agent_id, name = status.credentials()
        box.fault("registration-ack-lost")
        with pytest.raises(TransportFailure):
            await registration.ack(receipt.request_id, receipt.poll_token)
        await registration.ack(receipt.request_id, receipt.poll_token)
        after = await registration.status(receipt.request_id, receipt.poll_token)
        with pytest.raises(KeyAlreadyDelivered):
            after.credentials()
    async with CanonApi(connection, key, clock=InstantClock()) as api:
        assert (await api.me()).agent_id == agent_id

    assert name == "Ops"
    assert all("authorization" not in entry["headers"] for entry in box.journal() if "me" not in entry["path"])


async def test_sc_14_a_key_that_expired_unclaimed(box: CanonSandbox) -> None:
    """SC.14: the approval is there, its key is not, and the error says so."""
    async with RegistrationApi(sandbox_connection(box), clock=InstantClock()) as registration:
        receipt = await registration.register(REQUEST)
        box.human.approve(receipt.request_id)
        box.human.expire_key(receipt.request_id)
        status = await registration.status(receipt.request_id, receipt.poll_token)

    with pytest.raises(KeyExpired):
        status.credentials()


async def test_a_rejected_registration_and_one_that_is_not_ours(box: CanonSandbox) -> None:
    """The owner's no ends the wait; another's token opens nothing."""
    async with RegistrationApi(sandbox_connection(box), clock=InstantClock()) as registration:
        receipt = await registration.register(REQUEST)
        with pytest.raises(ApiError):
            await registration.status(receipt.request_id, Secret("pt_of_somebody_else"))
        box.human.reject(receipt.request_id)
        status = await registration.wait(receipt.request_id, receipt.poll_token)

    assert status is not None and status.verdict is Verdict.REJECTED


# The stream ---------------------------------------------------------------------------------------------------------


async def test_messages_signals_and_replay(box: CanonSandbox) -> None:
    """Live events arrive, and a second connection replays exactly what came after its cursor."""
    async with stream_of(box) as stream:
        await box.until("connected")
        first = box.human.say(None, "one")
        cursor, event = await next_message(stream)
        box.human.signal(None, "interrupt")
        _, control = await next_event(stream, SignalWaiting)
    later = [box.human.say(None, text) for text in ("two", "three")]
    async with stream_of(box, cursor=cursor) as stream:
        replayed = [(await next_message(stream))[1].message.id for _ in later]

    assert (event.message.id, event.message.text, event.verdict) == (first, "one", "run_turn")
    assert control == SignalWaiting(box.endpoints.conversation_id)
    assert replayed == later


async def test_a_cursor_that_nobody_knows(box: CanonSandbox) -> None:
    """The server says where to go on."""
    box.human.say(None, "one")
    async with stream_of(box, cursor="evt_unknown") as stream:
        _, event = await next_event(stream, ReplayExpired)

    assert event.cursor is not None


SHAPES = [
    "event-crlf-split",
    "event-bytewise",
    "event-multi-line",
    "event-no-id",
    "event-no-name",
    "event-not-json",
    "event-unknown-name",
]


@pytest.mark.parametrize("shape", SHAPES)
async def test_an_event_in_an_unusual_shape_is_read_all_the_same(shape: str, box: CanonSandbox) -> None:
    """However the bytes come, the message and its verdict are what they are."""
    async with stream_of(box) as stream:
        await box.until("connected")
        armed = box.fault(shape)
        sent = box.human.say(None, "שלום, one\ntwo")
        _, event = await next_message(stream)

    assert armed.fired == 1
    assert (event.message.id, event.message.text, event.verdict) == (sent, "שלום, one\ntwo", "run_turn")


@pytest.mark.parametrize("fault", ["stream-drop", "stream-drop-mid-frame", "stream-drop-after"])
async def test_a_dropped_stream_loses_nothing(fault: str, box: CanonSandbox) -> None:
    """A reset is told as one, and the next connection brings the message that was in the air."""
    async with stream_of(box) as stream:
        await box.until("connected")
        box.human.say(None, "zero")
        cursor, _ = await next_message(stream)
        box.fault(fault)
        sent = box.human.say(None, "one")
        seen = []
        with pytest.raises(TransportFailure):
            while True:
                seen.append((await next_message(stream))[1].message.id)
    async with stream_of(box, cursor=cursor) as stream:
        _, event = await next_message(stream)

    assert event.message.id == sent
    assert seen in ([], [sent])


async def test_a_clean_end_is_no_failure(box: CanonSandbox) -> None:
    """The iteration ends, nothing raises."""
    async with stream_of(box) as stream:
        await box.until("connected")
        box.human.end_streams()
        names = [frame.event async for frame in stream]

    assert "connected" in names


@pytest.mark.parametrize(("fault", "error"), [("stream-401", Unauthorized), ("stream-503", ServiceTrouble)])
async def test_a_refused_stream(fault: str, error: type[Exception], box: CanonSandbox) -> None:
    """A refused key and a service that is down are told apart."""
    box.fault(fault)

    with pytest.raises(error):
        async with stream_of(box):
            pass


async def test_a_silent_stream_is_given_up(box: CanonSandbox) -> None:
    """Not one byte within the limit: over."""
    box.fault("stream-silent")

    with pytest.raises(StreamIdle):
        async with stream_of(box, idle_timeout_s=0.05) as stream:
            await next_message(stream)
