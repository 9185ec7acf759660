"""Messages leave the queued shelf when they begin: once, tried again when Canon does not take it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from canon_hermes_plugin.inbound.acknowledging import Acknowledgements
from canon_hermes_plugin.inbound.own_messages import OWN_FIELD
from canon_hermes_plugin.ports import Arrival
from canon_ops.client.errors import ServiceTrouble
from tests.support.busy_host import a_request
from tests.support.canon_wire import InstantClock

QUEUED = Arrival.of(a_request("hi", message_id="msg-1"))


class Canon:
    """The two writes, of which the first few may fail."""

    def __init__(self, failures: int = 0) -> None:
        self.calls: list[str] = []
        self.attempts = 0
        self._failures = failures
        self._tasks: list[asyncio.Task[None]] = []
        self.clock = InstantClock()

    async def set_disposition(self, conversation_id: str, message_id: str) -> None:
        self.attempts += 1
        if self.attempts <= self._failures:
            raise ServiceTrouble(503, None, "no")
        self.calls.append(f"released {message_id}")

    async def mark_read(self, conversation_id: str) -> None:
        self.calls.append(f"read {conversation_id}")

    def own(self, body: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(body))

    def acknowledgements(self) -> Acknowledgements:
        return Acknowledgements(self, self.own, self.clock)

    async def done(self) -> list[str]:
        await asyncio.gather(*self._tasks)
        return sorted(self.calls)


async def test_a_queued_message_is_released_once() -> None:
    """S5.20, S5.34: also when the host begins with it twice; the conversation is read."""
    canon = Canon()
    acknowledgements = canon.acknowledgements()

    acknowledgements.accepted(QUEUED)
    acknowledgements.accepted(QUEUED)

    assert (await canon.done()).count("released msg-1") == 1
    assert "read convo-1" in canon.calls


@pytest.mark.parametrize("disposition", [None, "accepted_now"])
async def test_what_does_not_wait_there_is_only_read(disposition: str | None) -> None:
    """S5.25, R5.18."""
    canon = Canon()

    canon.acknowledgements().accepted(Arrival.of(a_request("hi", disposition=disposition)))

    assert await canon.done() == ["read convo-1"]


async def test_merged_messages_are_released_with_their_survivor() -> None:
    """S5.28, D60: the survivor itself was never on the shelf."""
    canon = Canon()
    photo = Arrival.of(a_request("photo", message_id="msg-0", disposition=None))

    canon.acknowledgements().accepted(replace(photo, absorbed=(QUEUED,)))

    assert await canon.done() == ["read convo-1", "released msg-1"]


async def test_what_nobody_said_is_not_read() -> None:
    """A signal's command, a message of ours, an internal start."""
    canon = Canon()
    acknowledgements = canon.acknowledgements()
    ours, signal = a_request("decided"), a_request("/stop")

    acknowledgements.accepted(Arrival.of(replace(ours, raw={**ours.raw, OWN_FIELD: {}})))
    acknowledgements.accepted(Arrival.of(replace(signal, raw={"canonSignal": "interrupt"})))
    acknowledgements.accepted(Arrival("convo-1"))

    assert await canon.done() == []


@pytest.mark.parametrize(
    ("failures", "attempts", "released", "pauses"),
    [(2, 3, True, [2.0, 8.0]), (9, 4, False, [2.0, 8.0, 30.0])],
)
async def test_a_release_that_fails_is_tried_again(
    failures: int, attempts: int, released: bool, pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    """S5.32, S5.33: three times more, then one warning."""
    canon = Canon(failures)

    canon.acknowledgements().accepted(QUEUED)
    await canon.done()

    assert (canon.attempts, "released msg-1" in canon.calls, canon.clock.pauses) == (attempts, released, pauses)
    assert ("still looks queued" in caplog.text) is not released
