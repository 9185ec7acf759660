"""Registration's three calls and the wait, over real sockets."""

from __future__ import annotations

import asyncio

import pytest

from canon_ops.client.errors import ApiError, MalformedAnswer, ServiceTrouble
from canon_ops.client.registration import RegistrationApi
from canon_ops.client.transport import UnusableKey
from canon_ops.runtime.clock import ManualClock, SystemClock
from canon_ops.settings.secret import Secret
from canon_ops.wire.registration import RegistrationReceipt, RegistrationRequest, Verdict
from tests.support.canon_wire import a_connection
from tests.support.loopback import Script, answer, loopback, until

TOKEN = Secret("pt_5c1f" + "z" * 20)
REQUEST = RegistrationRequest("+14155550123", "hermes-1")


async def test_a_request_gives_what_is_needed_to_follow_it() -> None:
    """The body goes out whole, without any credential."""
    receipt = {"requestId": "reg_1", "pollToken": TOKEN.reveal()}
    async with (
        loopback(answer(201, receipt)) as box,
        RegistrationApi(a_connection(box.url), clock=SystemClock()) as api,
    ):
        assert await api.register(REQUEST) == RegistrationReceipt("reg_1", TOKEN)

    [request] = box.requests
    assert (request.method, request.target, request.json) == ("POST", "/agents/register", REQUEST.body())
    assert request.headers["content-type"] == "application/json"
    assert "authorization" not in request.headers


async def test_the_status_is_asked_with_the_token_and_no_type() -> None:
    """Only the poll token identifies the asker."""
    async with (
        loopback(answer(200, {"status": "pending"})) as box,
        RegistrationApi(a_connection(box.url), clock=SystemClock()) as api,
    ):
        assert (await api.status("reg_1", TOKEN)).verdict is Verdict.WAITING

    [request] = box.requests
    assert (request.method, request.target, request.body) == ("GET", "/agents/status/reg_1", b"")
    assert request.headers["x-canon-poll-token"] == TOKEN.reveal()
    assert not {"authorization", "content-type"} & set(request.headers)


@pytest.mark.parametrize("good", [answer(200), answer(204), answer(200, raw=b"<html>")], ids=["200", "204", "no JSON"])
async def test_sc_11_the_acknowledgement(good: Script) -> None:
    """SC.11: one POST with the poll token; any success will do, whatever its body."""
    async with loopback(good) as box, RegistrationApi(a_connection(box.url), clock=SystemClock()) as api:
        await api.ack("reg_1", TOKEN)

    [request] = box.requests
    assert (request.method, request.target, request.body) == ("POST", "/agents/status/reg_1/ack", b"")
    assert request.headers["x-canon-poll-token"] == TOKEN.reveal()


async def test_a_failed_acknowledgement_is_an_error_and_is_not_repeated() -> None:
    """A later run repeats it; here it is one call. A server that echoes the token does not bring it into the log."""
    async with (
        loopback(answer(500, {"error": f"cannot {TOKEN.reveal()}"})) as box,
        RegistrationApi(a_connection(box.url), clock=SystemClock()) as api,
    ):
        with pytest.raises(ServiceTrouble) as raised:
            await api.ack("reg_1", TOKEN)

    assert TOKEN.reveal() not in str(raised.value)
    assert len(box.requests) == 1


async def test_the_owner_is_waited_for() -> None:
    """Every three seconds, the first time after three, until there is a decision."""
    clock = ManualClock()
    pending, approved = answer(200, {"status": "pending"}), answer(200, {"status": "approved"})
    async with (
        loopback(pending, pending, approved) as box,
        RegistrationApi(a_connection(box.url), clock=clock) as api,
    ):
        waiting = asyncio.ensure_future(api.wait("reg_1", TOKEN))
        for asked in range(3):
            await until(lambda: clock.sleepers)
            await clock.advance(2.9)
            assert len(box.requests) == asked
            await clock.advance(0.1)
            await until(lambda asked=asked: len(box.requests) > asked)  # type: ignore[misc]
        status = await waiting

    assert status is not None and status.verdict is Verdict.APPROVED


async def test_the_wait_has_an_end() -> None:
    """Without a decision in time there is none, and nothing went wrong."""
    clock = ManualClock()
    async with (
        loopback(answer(200, {"status": "pending"})) as box,
        RegistrationApi(a_connection(box.url), clock=clock) as api,
    ):
        waiting = asyncio.ensure_future(api.wait("reg_1", TOKEN, every_s=3, limit_s=9))
        for _ in range(3):
            await until(lambda: clock.sleepers)
            await clock.advance(3)
        assert await waiting is None

    assert len(box.requests) == 3


@pytest.mark.parametrize(
    ("reply", "error"),
    [(answer(404, {"error": "no such request"}), ApiError), (answer(200, raw=b"<html>"), MalformedAnswer)],
    ids=["404", "no JSON"],
)
async def test_trouble_ends_the_wait_at_once(reply: Script, error: type[Exception]) -> None:
    """The pending entry stays for a later run, so nothing is repeated here."""
    clock = ManualClock()
    async with (
        loopback(reply) as box,
        RegistrationApi(a_connection(box.url), clock=clock) as api,
    ):
        waiting = asyncio.ensure_future(api.wait("reg_1", TOKEN))
        await until(lambda: clock.sleepers)
        await clock.advance(3)
        with pytest.raises(error):
            await waiting


async def test_a_token_that_no_header_can_carry_is_refused_without_quoting_it() -> None:
    """A damaged pending entry does not end in a traceback that quotes it."""
    async with RegistrationApi(a_connection("http://127.0.0.1:9"), clock=SystemClock()) as api:
        with pytest.raises(UnusableKey) as raised:
            await api.status("reg_1", Secret("pt_\nx"))

    assert "pt_" not in str(raised.value)
