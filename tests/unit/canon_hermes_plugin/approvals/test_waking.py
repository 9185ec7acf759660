"""A decision as a message of our own: who acts in it, whether it may be there, and that it is there once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.entry import Decision
from canon_hermes_plugin.approvals.ports import Wake, WakeRefused
from canon_hermes_plugin.approvals.waking import Waking, message_of
from canon_hermes_plugin.inbound.gate import Request
from canon_hermes_plugin.inbound.inflow import Inflow
from canon_hermes_plugin.inbound.own_offers import NotAdmitted
from canon_hermes_plugin.inbound.rooms import Rooms
from canon_hermes_plugin.inbox.items import State
from canon_hermes_plugin.inbox.marks import noted
from canon_hermes_plugin.inbox.store import Receipt
from canon_hermes_plugin.state.kept import Kept
from canon_ops.client.errors import ServiceTrouble
from canon_ops.durable.problems import DiskFull
from canon_ops.runtime.clock import ManualClock
from canon_ops.settings.options import UserAccess
from canon_ops.wire.agents import Conversation
from tests.support.approving import until
from tests.support.canon_state import opened_state
from tests.unit.canon_hermes_plugin.inbound.test_inflow import EVERYBODY, Host, inflow

WAKE = Wake(
    "canon-detached-approval:a1",
    "Canon approval a1 resolved: allow — Pay?",
    "c1",
    "user-1",
    "session of c1 for user-1",
    "a1",
    Decision.ALLOW,
)


@dataclass
class Intake:
    """Takes what is given, or says why not."""

    rooms: Rooms
    access: UserAccess = EVERYBODY
    taken: list[dict[str, Any]] = field(default_factory=list)
    refusal: Exception | None = None
    trouble: Exception | None = None

    async def refresh_rooms(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    async def take(self, payload: Any) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.taken.append(payload)


def rooms(*members: str, kind: str = "group") -> Rooms:
    return Rooms({"c1": Conversation("c1", kind, member_ids=members or None)})


def session_of(request: Request) -> str:
    return f"session of {request.conversation_id}" + (f" for {request.user_id}" if request.user_id else "")


@pytest.mark.parametrize(
    ("room", "access", "session_key", "actor"),
    [
        pytest.param(rooms("user-1", "me"), EVERYBODY, WAKE.session_key, "user-1", id="the-one-who-asked"),
        pytest.param(rooms("user-1", "me"), EVERYBODY, "session of c1", None, id="a-session-of-nobody"),
        pytest.param(rooms("user-1", "me"), EVERYBODY, "of another life", "user-1", id="a-session-that-is-gone"),
        pytest.param(rooms("user-2", "me"), EVERYBODY, WAKE.session_key, None, id="left-the-room"),
        pytest.param(
            rooms("user-1", "me"), UserAccess(False, frozenset({"user-2"})), WAKE.session_key, None, id="not-listed"
        ),
        pytest.param(rooms(), EVERYBODY, WAKE.session_key, "user-1", id="members-unknown"),
    ],
)
async def test_who_acts(room: Rooms, access: UserAccess, session_key: str, actor: str | None) -> None:
    """D48: the session that asked is woken; a human who may not act here any more has no turn of theirs."""
    intake = Intake(room, access)

    await Waking(intake, session_of).wake(replace(WAKE, session_key=session_key))

    (payload,) = intake.taken
    assert payload["message"]["senderId"] == actor
    assert payload["message"]["senderType"] == ("human" if actor else "system")
    assert (payload["conversationId"], payload["message"]["id"], payload["message"]["text"]) == (
        "c1", WAKE.key, WAKE.text,
    )  # fmt: skip


async def test_a_room_that_was_left_is_not_woken() -> None:
    """D48: the agent is out of the room, so the decision starts nothing there."""
    intake = Intake(Rooms())

    with pytest.raises(WakeRefused, match="no longer in the conversation c1"):
        await Waking(intake, session_of).look("c1")
    with pytest.raises(WakeRefused, match="no longer in the conversation c1"):
        await Waking(intake, session_of).wake(WAKE)

    assert intake.taken == []


@pytest.mark.parametrize("way", ["rooms", "inbox"])
async def test_what_fails_is_told(way: str) -> None:
    """A5: a wake that is not on the disk is not delivered, whatever it was that failed."""
    trouble = ServiceTrouble(503, None, "Canon is away")
    intake = (
        Intake(rooms("user-1"), trouble=trouble)
        if way == "rooms"
        else Intake(rooms("user-1"), refusal=NotAdmitted("no"))
    )

    waking = Waking(intake, session_of)

    with pytest.raises(ServiceTrouble if way == "rooms" else WakeRefused):
        await waking.look("c1")
        await waking.wake(WAKE)


# --- on the disk ------------------------------------------------------------------------------------------------------


async def recovered(host: Host, kept: Kept) -> Inflow:
    flow = inflow(host, kept)
    flow.recover(kept.remains.items, kept.adoption)
    return flow


async def test_a_wake_is_in_the_inbox_once(tmp_path: Path) -> None:
    """A5: put there again and again, while it waits and when it had its turn, the host gets it once."""
    host = Host()
    async with opened_state(tmp_path) as kept:
        flow = inflow(host, kept)
        host.gates[WAKE.key] = asyncio.Event()
        for _ in range(3):
            await flow.own.take(message_of(WAKE, "user-1"))
        host.gates[WAKE.key].set()
        await flow.drain()
        await flow.own.take(message_of(WAKE, "user-1"))
        await flow.drain()

    async with opened_state(tmp_path) as kept:
        items = [(item.item_id, item.state) for item in kept.remains.items]

    assert (host.taken, items) == ([WAKE.key], [(WAKE.key, State.HANDED)])


@pytest.mark.parametrize("way", ["written", "lost"])
async def test_two_that_put_a_wake_in_at_once(tmp_path: Path, way: str) -> None:
    """A5: the second waits for the first one's write and shares its fate: what is not on the disk is not delivered."""
    host = Host()
    async with opened_state(tmp_path) as kept:
        flow = inflow(host, kept)
        writes, write = [], kept.inbox.record

        def record(*args: Any, **more: Any) -> asyncio.Future[Receipt]:
            writes.append(asyncio.get_running_loop().create_future())
            return writes[-1]

        kept.inbox.record = record  # type: ignore[method-assign]  # the disk is slow, and then full
        both = [asyncio.create_task(flow.own.take(message_of(WAKE, "user-1"))) for _ in range(2)]
        await until(lambda: writes)
        if way == "written":
            writes[0].set_result(await write(WAKE.key, "c1", message_of(WAKE, "user-1"), event_id=None))
        else:
            writes[0].set_exception(DiskFull("disk full"))
        ends = await asyncio.gather(*both, return_exceptions=True)
        kept.inbox.record = write  # type: ignore[method-assign]
        await flow.own.take(message_of(WAKE, "user-1"))
        await flow.drain()

    assert [type(end) for end in ends] == ([type(None)] * 2 if way == "written" else [DiskFull] * 2)
    assert (len(writes), host.taken) == (1, [WAKE.key])


async def test_a_wake_whose_giver_was_cancelled(tmp_path: Path) -> None:
    """A5: the row is on its way to the disk; it is handed over when it is there, and not only by the next gateway."""
    host = Host()
    async with opened_state(tmp_path) as kept:
        flow = inflow(host, kept)
        giving = asyncio.create_task(flow.own.take(message_of(WAKE, "user-1")))
        await asyncio.sleep(0)
        giving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving
        await flow.own.take(message_of(WAKE, "user-1"))
        await flow.drain()

    assert host.taken == [WAKE.key]


async def test_a_wake_outlives_the_gateway(tmp_path: Path) -> None:
    """A5, D27: what waited in a gateway that died reaches the model from the next one, and putting it in again
    while it is on its way adds nothing."""
    async with opened_state(tmp_path) as kept:
        flow = inflow(Host(), kept)
        await flow.own.take(message_of(WAKE, "user-1"))
        await flow.stop()

    host = Host()
    async with opened_state(tmp_path) as kept:
        flow = await recovered(host, kept)
        await flow.drain()
        handed = list(host.taken)
        await flow.own.take(message_of(WAKE, "user-1"))
        await flow.drain()

    assert (handed, host.taken) == ([WAKE.key], [WAKE.key])


async def test_a_wake_whose_run_died_is_marked(tmp_path: Path) -> None:
    """A5, X3: the turn may have begun, so the repetition says so."""
    async with opened_state(tmp_path) as kept:
        flow = inflow(Host(), kept)
        await flow.own.take(message_of(WAKE, "user-1"))
        await flow.drain()
        await kept.inbox.started(WAKE.key, turn_id="t1", conversation_id="c1", session="s")

    host = Host()
    async with opened_state(tmp_path, clock=(clock := ManualClock())) as kept:
        flow = await recovered(host, kept)
        waiting = asyncio.get_running_loop().create_task(kept.adoption.run())
        await until(lambda: clock.sleepers)
        await clock.advance(16)
        await waiting
        await flow.drain()
        (request,) = host.requests

    assert (request.text, request.is_recovered, request.turn_id) == (noted(WAKE.text), True, "t1")


async def test_a_message_of_nobody_we_admit(tmp_path: Path) -> None:
    """C2: a message that may start no turn is not recorded, and may come again."""
    async with opened_state(tmp_path) as kept:
        flow = inflow(Host(), kept, access=UserAccess(False, frozenset({"user-2"})))

        with pytest.raises(NotAdmitted):
            await flow.own.take(message_of(WAKE, "user-1"))

        await flow.own.take(message_of(WAKE, None))
        await flow.drain()
        settled = await kept.inbox.load()

    assert [item.item_id for item in settled.items] == [WAKE.key]


async def test_a_wake_that_the_host_refuses_is_offered_again(tmp_path: Path) -> None:
    """A5, R10.32: the registry calls it delivered, so it is never given up; each look offers it once more, and the
    host gets it once."""
    host = Host()
    host.refuses.add(WAKE.key)
    async with opened_state(tmp_path) as kept:
        flow = inflow(host, kept)
        await flow.own.take(message_of(WAKE, "user-1"))
        for _ in range(5):
            await flow.drain()
            await flow.own.take(message_of(WAKE, "user-1"))
            await flow.own.offer_again()
        await flow.drain()
        refused = [item.state for item in (await kept.inbox.load()).items]
        host.refuses.clear()
        for _ in range(2):
            await flow.own.offer_again()
            await flow.drain()

    assert (refused, host.taken, len(host.entered)) == ([State.RECORDED], [WAKE.key], 7)


@pytest.mark.parametrize("state", [State.RECORDED, State.HANDED])
async def test_a_wake_is_readdressed_when_it_is_recovered(tmp_path: Path, state: State) -> None:
    """D48: the human who answered may start no turn any more; the agent hears the decision all the same, and nobody
    acts in that turn."""
    first = Host()
    async with opened_state(tmp_path) as kept:
        flow = inflow(first, kept)
        if state is State.RECORDED:
            first.refuses.add(WAKE.key)
        await flow.own.take(message_of(WAKE, "user-1"))
        await flow.drain()

    host = Host()
    async with opened_state(tmp_path) as kept:
        assert [item.state for item in kept.remains.items] == [state]
        flow = inflow(host, kept, access=UserAccess(False, frozenset({"user-2"})))
        flow.recover(kept.remains.items, kept.adoption)
        await flow.drain()

    assert [(request.message_id, request.user_id) for request in host.requests] == [(WAKE.key, None)]


async def test_a_recovered_wake_waits_for_the_room(tmp_path: Path) -> None:
    """D48: an agent that was put out of the room has no turn there; back in it, it hears the decision."""
    async with opened_state(tmp_path) as kept:
        flow = inflow(Host(), kept)
        await flow.own.take(message_of(WAKE, "user-1"))
        await flow.stop()

    host = Host()
    async with opened_state(tmp_path) as kept:
        flow = inflow(host, kept)
        host.listing = ()
        await flow.refresh_rooms()
        flow.recover(kept.remains.items, kept.adoption)
        await flow.drain()
        outside = list(host.taken)
        host.listing = (Conversation("c1", "direct"),)
        await flow.refresh_rooms()
        await flow.own.offer_again()
        await flow.drain()

    assert (outside, host.taken) == ([], [WAKE.key])
