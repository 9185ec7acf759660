"""The shell of the client over a real socket: its beginning, its end, its one receiver, and that nothing is left."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from borgee_hermes.bpp import actions, wire
from borgee_hermes.bpp.client import BppClient, BppOptions
from borgee_hermes.bpp.errors import (
    AuthFailed,
    ClientClosed,
    ConnectFailed,
    DeliveryResolved,
    NotOnline,
    ProtocolError,
)
from borgee_hermes.bpp.events import AgentToggle
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.port import Handlers
from borgee_hermes.bpp.state import Status
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.runtime.clock import ManualClock, SystemClock
from canon_ops.settings.secret import Secret
from tests.support.borgee_boxes import DM, borgee_box
from tests.support.waiting import wait_until


@pytest.fixture
def box() -> Iterator[BorgeeSandbox]:
    with borgee_box() as running:
        yield running


def client_of(box: BorgeeSandbox, *, handlers: Handlers | None = None, clock: Any = None, **limits: Any) -> BppClient:
    told = box.endpoints
    options = BppOptions(
        base_url=told.base_url,
        api_key=Secret(told.agent_key),
        limits=Limits(**{"backoff_first_s": 0.01, "backoff_max_s": 0.05, **limits}),
    )
    return BppClient(options, clock=clock or SystemClock(), rng=random.Random(3), handlers=handlers)


@asynccontextmanager
async def online(box: BorgeeSandbox, **given: Any) -> AsyncIterator[BppClient]:
    client = client_of(box, **given)
    await client.connect()
    try:
        yield client
    finally:
        await client.close()


async def others() -> set[Any]:
    """The tasks beside the test's own, after those that were cancelled have ended."""
    for _ in range(5):
        await asyncio.sleep(0)
    return asyncio.all_tasks() - {asyncio.current_task()}


@pytest.mark.parametrize("key", ["", " ", "bgr_1\r\nX-Other: 1", "bgr_ключ", "bgr_1 ", "bgr_\0"])
def test_a_key_that_no_header_carries_is_refused_before_anything_is_dialled(key: str) -> None:
    """It never becomes a header of its own, and no part of it is told."""
    with pytest.raises(AuthFailed) as caught:
        BppOptions(base_url="http://127.0.0.1:9", api_key=Secret(key))

    assert not key.strip() or key not in caught.value.what


async def test_a_close_ends_everything(box: BorgeeSandbox) -> None:
    """The server sees a proper end, no task is left, and a second close is harmless."""
    client = client_of(box)
    await client.connect()

    await asyncio.gather(client.close(), client.close())
    await client.close()

    assert client.state.status is Status.CLOSED
    assert await others() == set()
    assert (await box.until("ended"))[0]["status"] == 1000
    with pytest.raises(ClientClosed):
        await client.connect()


@pytest.mark.parametrize("fault", ["upgrade-silent", "identity-lost"])
async def test_a_close_during_connect_ends_it(box: BorgeeSandbox, fault: str) -> None:
    """Whichever part of the opening it waits for."""
    box.fault(fault)
    client = client_of(box)
    connecting = asyncio.ensure_future(client.connect())
    await box.until("fired", name=fault)

    await client.close()

    with pytest.raises(ClientClosed):
        await connecting
    assert await others() == set()


@pytest.mark.parametrize("fault", ["upgrade-silent", "identity-lost"])
async def test_a_cancelled_connect_leaves_nothing(box: BorgeeSandbox, fault: str) -> None:
    """The cancellation comes through, and the client is closed."""
    box.fault(fault)
    client = client_of(box)
    connecting = asyncio.ensure_future(client.connect())
    await box.until("fired", name=fault)

    connecting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert client.state.status is Status.CLOSED
    assert await others() == set()


async def test_a_failed_connect_leaves_nothing(box: BorgeeSandbox) -> None:
    """The failure is raised, kept, and final."""
    box.fault("upgrade-503")
    client = client_of(box)

    with pytest.raises(ConnectFailed):
        await client.connect()

    assert isinstance(client.failure, ConnectFailed)
    assert await others() == set()
    with pytest.raises(ConnectFailed):
        await client.connect()
    with pytest.raises(ConnectFailed):
        await client.act(actions.list_channels())
    assert [delivery async for delivery in client.deliveries()] == []


async def test_there_is_one_receiver(box: BorgeeSandbox) -> None:
    """A second one at the same time is an error; one after the other is not."""
    async with online(box) as client:
        await box.until("connected")
        box.human.say(DM, "hello")
        first = client.deliveries()
        delivery = await anext(first)

        with pytest.raises(ProtocolError):
            await anext(client.deliveries())

        await delivery.checkpoint()
        await delivery.checkpoint()
        with pytest.raises(DeliveryResolved):
            await delivery.fail(RuntimeError("too late"))
        await first.aclose()  # type: ignore[attr-defined]  # an async generator
        box.human.say(DM, "again")
        async for again in client.deliveries():
            assert again.event.body == "again"
            break
        assert client.state.status is Status.ONLINE


async def taken(client: BppClient) -> list[str]:
    """Everything that the client hands over until its end."""
    found = []
    async for delivery in client.deliveries():
        found.append(delivery.event.message_id)
        await delivery.checkpoint()
    return found


async def test_what_was_said_before_the_goodbye_is_handed_over(box: BorgeeSandbox) -> None:
    """The server sends nothing again, so what it had to send when the end began counts: ready to be sent, on its
    way, in the kernel or in our buffer (decision 0043)."""
    async with online(box, settle_s=1.0) as client:  # the server's thread may be left waiting for so long here
        said = [box.human.say(DM, f"{n} " * 1_000) for n in range(300)]  # the loop stands still meanwhile

        await client.close()

        assert await taken(client) == said
        assert await taken(client) == []


async def test_what_waits_is_handed_over_at_once(box: BorgeeSandbox) -> None:
    """A receiver that stores many in one write takes them so: in order, at most so many, settled together."""
    async with online(box, burst_events=64) as client:
        said = [box.human.say(DM, f"text {n}") for n in range(200)]
        wait_until(lambda: not any(socket.orders for socket in box.engine.sockets))  # the client cannot look meanwhile
        sizes, handed = [], []

        async with asyncio.timeout(10):
            async for burst in client.bursts():
                sizes.append(len(burst.events))
                handed += [event.message_id for event in burst.events]
                await burst.checkpoint()
                if len(handed) == len(said):
                    break

        assert handed == said
        assert max(sizes) == 64 and len(sizes) <= 8


async def test_what_was_said_before_the_switch_is_handed_over(box: BorgeeSandbox) -> None:
    """8.4: and nothing that was said after it."""
    client: BppClient

    def switched(_: AgentToggle) -> None:
        client.stop_deliveries()

    async with online(box, handlers=Handlers(toggle=switched)) as client:
        said = [box.human.say(DM, f"text {n}") for n in range(5)]
        box.human.toggle("disable")
        box.human.say(DM, "too late")

        assert await taken(client) == said
        assert client.state.status is Status.ONLINE


async def test_an_old_connection_is_read_out_before_a_new_one_is_made(
    box: BorgeeSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What people say is handed over in the order in which they said it, however slowly the old one ends."""
    made, there, most_at_once = 0, 0, 0

    async def slow_to_end(base_url: str, api_key: Secret) -> wire.Wire:
        nonlocal made, there, most_at_once
        opened = await wire.dial(base_url, api_key)
        made, there = made + 1, there + 1
        most_at_once = max(most_at_once, there)
        let_go = opened.let_go

        async def let_go_late() -> None:
            nonlocal there
            await asyncio.sleep(0.2)
            await let_go()
            there -= 1

        opened.let_go = let_go_late  # type: ignore[method-assign]  # an end that takes a while
        return opened

    monkeypatch.setattr("borgee_hermes.bpp.client.dial", slow_to_end)
    async with online(box, backoff_first_s=0.01, backoff_max_s=0.01) as client:
        for number in (1, 2):
            box.human.send_raw("{")
            async for state in client.state_changes():
                if made > number and state.status is Status.ONLINE:
                    break
        box.human.say(DM, "again")
        async with asyncio.timeout(10):
            async for delivery in client.deliveries():
                assert delivery.event.body == "again"
                break

    assert most_at_once == 1
    assert there == 0


async def test_what_stands_behind_a_broken_message_is_handed_over(box: BorgeeSandbox) -> None:
    """B1: the connection is made anew, and what had come over the old one counts."""
    async with online(box) as client:
        box.human.say(DM, "before")
        box.human.send_raw("{")
        after = [box.human.say(DM, f"after {n}") for n in range(20)]
        box.human.say(DM, "whose turn it is when the others have been sent")
        wait_until(lambda: not any(socket.orders for socket in box.engine.sockets))  # the client cannot look meanwhile
        handed = []
        async with asyncio.timeout(10):
            async for delivery in client.deliveries():
                handed.append(delivery.event.message_id)
                await delivery.checkpoint()
                if handed[1:21] == after:
                    break
        assert handed[1:21] == after


async def test_a_drain_ends_the_iteration(box: BorgeeSandbox) -> None:
    """Whoever waits for the next event is let go, and actions go on."""
    async with online(box) as client:
        receiving = asyncio.ensure_future(anext(client.deliveries(), None))
        await asyncio.sleep(0)

        client.stop_deliveries()

        assert await receiving is None
        assert await client.act(actions.list_channels())


async def test_the_states_can_be_followed(box: BorgeeSandbox) -> None:
    """From the first to the final one, over a reconnect."""
    client = client_of(box)
    seen: list[Status] = []
    back = asyncio.Event()

    async def follow() -> None:
        async for state in client.state_changes():
            seen.append(state.status)
            if seen.count(Status.ONLINE) == 2:
                back.set()

    following = asyncio.ensure_future(follow())
    await client.connect()
    await box.until("connected")
    box.human.cut()
    async with asyncio.timeout(10):
        await back.wait()
    await client.close()
    await following

    assert seen == [
        Status.CONNECTING,
        Status.ONLINE,
        Status.RECONNECTING,
        Status.ONLINE,
        Status.CLOSED,
    ]


async def test_a_switch_is_told(box: BorgeeSandbox) -> None:
    """On the loop, with its reason (W28)."""
    told: list[AgentToggle] = []
    heard = asyncio.Event()

    def toggled(toggle: AgentToggle) -> None:
        told.append(toggle)
        heard.set()

    async with online(box, handlers=Handlers(toggle=toggled)):
        await box.until("connected")
        box.human.toggle("disable", reason="holidays")
        async with asyncio.timeout(10):
            await heard.wait()

    assert told == [AgentToggle("agent_sandbox", "disable", "holidays")]


async def test_its_own_faults_are_no_silence(box: BorgeeSandbox) -> None:
    """A bug that ends one of its tasks ends the client with an error of its own, instead of leaving it dead online."""

    def broken(toggle: AgentToggle) -> None:
        raise RuntimeError("a handler that must not raise")

    async with online(box, handlers=Handlers(toggle=broken)) as client:
        await box.until("connected")
        box.human.toggle("enable")
        async for state in client.state_changes():
            if state.is_final:
                break

    assert (state.status, state.code) == (Status.ERROR, "bpp.internal")


async def test_all_of_its_time_is_the_clock_s(box: BorgeeSandbox) -> None:
    """Heartbeats, time-outs and silence follow the clock that was handed in."""
    clock = ManualClock()
    async with online(box, clock=clock, settle_s=0.0) as client:
        await box.until("connected")
        await clock.advance(20)
        await box.until("frame", type="heartbeat")
        box.fault("action-lost")
        pending = asyncio.ensure_future(client.act(actions.list_channels()))
        await box.until("action", name="list_channels")

        for pongs in (1, 2, 3):  # the server is alive, so only the action runs out of time
            await clock.advance(10)
            box.human.ping()
            await box.until("frame", type="pong", count=pongs)

        with pytest.raises(Exception, match="30 s"):
            await pending
        assert client.state.status is Status.ONLINE


async def test_an_action_before_connect_is_refused(box: BorgeeSandbox) -> None:
    """Nothing is queued for a connection that nobody has asked for."""
    with pytest.raises(NotOnline):
        await client_of(box).act(actions.list_channels())
