"""Asking both services who they are, over real sockets."""

from __future__ import annotations

import asyncio
import json

import pytest

from canon_ops.client.errors import TransportFailure
from canon_ops.client.health import EnvironmentMismatch, ServiceUnavailable, verify_environment
from canon_ops.runtime.clock import ManualClock, SystemClock
from canon_ops.wire.retry import TransportKind
from tests.support.canon_wire import a_connection
from tests.support.loopback import Exchange, Script, answer, loopback, until

BODY = {"status": "ok", "environmentId": "canon-dev-v1", "projectId": "canonmail-dev"}
HEADERS = {"X-Canon-Environment-Id": "canon-dev-v1"}


def healthy(status: int = 200) -> Script:
    return answer(status, BODY, headers=HEADERS)


@pytest.mark.parametrize("status", [200, 404, 503])
async def test_sc_5_the_right_identity_passes_whatever_the_status(status: int) -> None:
    """SC.5: API first, then stream; a degraded service that is the right one passes, and its status is told."""
    async with loopback(healthy(status)) as api, loopback(healthy()) as stream:
        probes = await verify_environment(a_connection(api.url, stream.url), clock=SystemClock())

    assert [(probe.service, probe.status) for probe in probes] == [("API", status), ("stream", 200)]
    assert [request.target for request in (*api.requests, *stream.requests)] == ["/healthz/", "/health"]


async def test_no_key_is_shown_to_a_service_that_is_not_known_yet() -> None:
    """The probes carry no credential, and say what they take."""
    async with loopback(healthy()) as box:
        await verify_environment(a_connection(box.url), clock=SystemClock())

    assert all("authorization" not in request.headers for request in box.requests)
    assert [request.headers["accept"] for request in box.requests] == ["application/json"] * 2


WRONG = [
    answer(200, BODY),
    answer(200, BODY, headers={"X-Canon-Environment-Id": "canon-prod-v1"}),
    answer(200, {**BODY, "environmentId": "canon-prod-v1"}, headers=HEADERS),
    answer(503, {**BODY, "projectId": "canonmail-prod"}, headers=HEADERS),
    answer(200, raw=b"<html>", headers=HEADERS),
    answer(200, raw=b"<html>"),
    answer(302, headers={"Location": "https://elsewhere.test/"}),
]


@pytest.mark.parametrize(
    "wrong", WRONG, ids=["no header", "header", "environment", "project", "html", "stranger", "302"]
)
async def test_sc_5_any_difference_is_a_mismatch(wrong: Script) -> None:
    """SC.5, S2.2: one wrong value on either service is final; a redirect is not followed."""
    for scripts in ((wrong, healthy()), (healthy(), wrong)):
        async with loopback(scripts[0]) as api, loopback(scripts[1]) as stream:
            with pytest.raises(EnvironmentMismatch, match="does not match environment canon-dev-v1") as raised:
                await verify_environment(a_connection(api.url, stream.url), clock=SystemClock())

        assert not raised.value.retryable
        assert len(api.requests) == 1


async def test_a_server_error_without_any_identity_is_no_other_environment() -> None:
    """What a proxy says while the service restarts is worth another try."""
    async with loopback(answer(502, raw=b"<html>Bad gateway</html>")) as box:
        with pytest.raises(ServiceUnavailable, match="502") as raised:
            await verify_environment(a_connection(box.url), clock=SystemClock())

    assert raised.value.retryable


async def test_nobody_there_is_no_other_environment() -> None:
    """A transport failure is no mismatch: it may pass."""
    async with loopback(healthy()) as box:
        url = box.url

    with pytest.raises(TransportFailure) as raised:
        await verify_environment(a_connection(url), clock=SystemClock())

    assert raised.value.retryable


async def test_a_probe_has_ten_seconds_in_all() -> None:
    """A service that answers drop by drop is given up, too."""

    async def drip(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + json.dumps(BODY).encode())
        await exchange.closed_by_client()

    clock = ManualClock()
    async with loopback(drip) as box:
        probing = asyncio.ensure_future(verify_environment(a_connection(box.url), clock=clock))
        await until(lambda: box.requests)
        await clock.advance(9.9)
        assert not probing.done()
        await clock.advance(0.1)
        with pytest.raises(TransportFailure) as raised:
            await probing

    assert raised.value.kind is TransportKind.READ_TIMEOUT
