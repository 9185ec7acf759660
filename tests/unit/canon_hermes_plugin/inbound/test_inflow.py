"""What each event of the stream does, when it counts as done, and what happens when Hermes does not take a message."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.inbound.gate import Media, Request, Wake
from canon_hermes_plugin.inbound.handing import LOOK_EVERY_S, Handing
from canon_hermes_plugin.inbound.inert import inert_name
from canon_hermes_plugin.inbound.inflow import HELD, Inflow
from canon_hermes_plugin.inbox import cursors
from canon_hermes_plugin.inbox.adoption import Adoption
from canon_hermes_plugin.inbox.cursors import GapKind
from canon_hermes_plugin.inbox.items import State
from canon_hermes_plugin.state.kept import Kept
from canon_ops.client.errors import ServiceTrouble
from canon_ops.runtime.clock import Clock, ManualClock, SystemClock
from canon_ops.settings.options import UserAccess
from canon_ops.wire.agents import AgentIdentity, Conversation
from canon_ops.wire.messages import DeliveryIntent
from canon_ops.wire.sse import Frame
from tests.support.canon_state import AUTHORITY, OWNER, opened_state
from tests.support.files import NoFiles
from tests.support.hosted_adapter import until

ME = AgentIdentity("agent-1", "owner-1", "open", "Ermes")
EVERYBODY = UserAccess(allow_all=True, allowed=None)

MANY = HELD + 60  # more than the memory holds


class Host:
    """A host that takes notes; it refuses, or waits, when it is told to."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.taken: list[str] = []
        self.requests: list[Request] = []
        self.refuses: set[str] = set()
        self.gates: dict[str, asyncio.Event] = {}
        self.amended: list[tuple[str, str | None]] = []
        self.replays = 0
        self.gaps = 0
        self.given_up: list[str] = []
        self.receipts: list[str] = []
        self.unheard_of = 0
        self.permissions = 0
        self.held: set[str] = set()
        self.signals: list[str] = []
        self.busy: set[str] = set()
        self.stops_now = True
        self.is_stopping = False
        self.stopped: list[str | None] = []
        self.fetching: dict[str, asyncio.Event] = {}
        self.fetches: list[str | None] = []
        self.listings = 0
        self.listing: tuple[Conversation, ...] | ServiceTrouble = (Conversation("c1", "direct"),)

    async def hand_over(self, request: Request) -> None:
        assert request.message_id is not None
        self.entered.append(request.message_id)
        if request.message_id in self.gates:
            await self.gates[request.message_id].wait()
        if request.message_id in self.refuses:
            raise RuntimeError("no")
        self.taken.append(request.message_id)
        self.requests.append(request)

    def stop_now(self, request: Request) -> bool:
        self.stopped += [request.message_id] * self.stops_now
        return self.stops_now

    def amend(self, message_id: str, text: str | None) -> bool:
        self.amended.append((message_id, text))
        return True

    async def fetch_rooms(self) -> tuple[Conversation, ...]:
        self.listings += 1
        if isinstance(self.listing, ServiceTrouble):
            raise self.listing
        return self.listing

    async def control(self, conversation_id: str) -> None:
        self.signals.append(conversation_id)

    def replay(self) -> None:
        self.replays += 1

    def missed(self) -> None:
        self.gaps += 1

    async def answered(self, approval_id: str) -> None:
        self.receipts.append(approval_id)

    def unheard(self) -> None:
        self.unheard_of += 1

    def permitted(self) -> None:
        self.permissions += 1

    async def told_given_up(self, conversation_id: str) -> None:
        self.given_up.append(conversation_id)


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    """The state of an agent that has been connected before."""
    async with opened_state(tmp_path):
        pass
    async with opened_state(tmp_path) as kept:
        yield kept


class SlowFiles(NoFiles):
    """Files that take as long as the host of the test says."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def take(self, wake: Wake) -> Media:
        self._host.fetches.append(wake.created.message.id)
        if gate := self._host.fetching.get(wake.created.message.id or ""):
            await gate.wait()
        return Media()


def inflow(host: Host, kept: Kept, *, access: UserAccess = EVERYBODY, clock: Clock | None = None) -> Inflow:
    handing = Handing(
        identity=ME,
        conversations=(Conversation("c1", "direct"),),
        access=access,
        neutralise=inert_name,
        fetch_rooms=host.fetch_rooms,
        give=host.hand_over,
        amend=host.amend,
        inbox=kept.inbox,
        remains=kept.remains,
        session_of=lambda request: (
            f"session of {request.conversation_id}" + (f" and {request.user_id}" if request.is_group else "")
        ),
        files=SlowFiles(host),
        holds=lambda message_id: message_id in host.held,
        is_busy=lambda session: session in host.busy,
        stop_now=host.stop_now,
        command_of=lambda text: text[1:].split()[0] if text in ("/stop", "/status") else None,
        is_stopping=lambda: host.is_stopping,
        clock=clock or SystemClock(),
        rng=random.Random(5),
    )
    return Inflow(
        handing,
        control=host.control,
        replay=host.replay,
        inbox=kept.inbox,
        remains=kept.remains,
        missed=host.missed,
        given_up=host.told_given_up,
        answered=host.answered,
        unheard=host.unheard,
        permitted=host.permitted,
    )


def frame(event: str, payload: Any, event_id: str | None = None) -> Frame:
    return Frame(event, event_id, json.dumps(payload))


def message(message_id: str, event_id: str | None = None, *, room: str = "c1", **more: Any) -> Frame:
    content = {"id": message_id, "senderId": "user-1", "senderType": "human", "senderName": "Ann", "text": "hi", **more}
    return frame("message.created", {"conversationId": room, "message": content}, event_id or f"evt-{message_id}")


async def test_a_message_is_handed_over_and_then_passed(kept: Kept) -> None:
    """D21: the cursor stands before the message until the host has it."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m1"] = asyncio.Event()

    await flow.take(message("m1", "evt-1"))
    before = flow.cursor
    host.gates["m1"].set()
    await flow.drain()

    assert (before, flow.cursor, host.taken) == (None, "evt-1", ["m1"])


async def test_a_slow_conversation_holds_up_no_other(kept: Kept) -> None:
    """D25: another conversation's message is handed over meanwhile; the cursor waits for the slow one."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m1"] = asyncio.Event()

    await flow.take(message("m1", "evt-1"))
    await flow.take(message("m2", "evt-2", room="c2"))
    await until(lambda: host.taken)

    assert (host.taken, flow.cursor) == (["m2"], None)
    host.gates["m1"].set()
    await flow.drain()
    assert (host.taken, flow.cursor) == (["m2", "m1"], "evt-2")


async def test_a_message_that_was_refused_comes_again(kept: Kept) -> None:
    """S2.17: when the hand-over fails, a replay is asked for, and the same message is delivered then."""
    host = Host()
    flow = inflow(host, kept)
    host.refuses.add("m1")

    await flow.take(message("m1", "evt-1"))
    await flow.take(message("m2", "evt-2", room="c2"))
    await flow.drain()
    asked, host.refuses = host.replays, set()
    resumed = flow.resume_from()
    await flow.take(message("m1", "evt-1"))
    await flow.take(message("m2", "evt-2", room="c2"))
    await flow.drain()

    assert (asked, resumed) == (1, None)
    assert (host.taken, flow.cursor) == (["m2", "m1"], "evt-2")


async def test_a_message_that_is_always_refused_is_given_up(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    """One bad message must not make the agent deaf: after three attempts it is passed, with an error in the log."""
    host = Host()
    flow = inflow(host, kept)
    host.refuses.add("m1")

    for _ in range(3):
        flow.resume_from()
        await flow.take(message("m1", "evt-1"))
        await flow.drain()

    assert (host.replays, flow.cursor) == (2, "evt-1")
    assert "m1 is given up after 3 attempts" in caplog.text


async def test_the_same_event_in_work_is_taken_once(kept: Kept) -> None:
    """After a break Canon replays what is still in work; its end counts for both deliveries."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m1"] = asyncio.Event()

    await flow.take(message("m1", "evt-1"))
    flow.resume_from()
    await flow.take(message("m1", "evt-1"))
    host.gates["m1"].set()
    await flow.drain()

    assert (host.taken, flow.cursor) == (["m1"], "evt-1")


async def test_an_old_message_is_known_from_the_inbox(kept: Kept) -> None:
    """S2.16: memory forgets ids after 1,024 messages; the inbox knows what it holds, and hands nothing over twice."""
    host = Host()
    flow = inflow(host, kept)

    for number in range(1_025):
        await flow.take(message(f"m{number}", f"evt-{number}"))
    await flow.drain()
    await flow.take(message("m0", "evt-again"))
    await flow.take(message("m1024", "evt-known"))
    await flow.drain()

    assert (host.taken.count("m0"), host.taken.count("m1024")) == (1, 1)
    assert flow.cursor == "evt-known"


async def test_a_message_that_an_earlier_process_left_can_still_be_answered(tmp_path: Path) -> None:
    """S3.30, X1, X3: the leave to answer stands in the inbox with its message, and nowhere in what is handed over."""
    content = {"id": "m1", "senderId": "user-1", "senderType": "human", "text": "hi"}
    event = {"conversationId": "c1", "message": content, "replyAuthority": AUTHORITY.body()}
    first, second = Host(), Host()
    async with opened_state(tmp_path) as kept:
        flow = inflow(first, kept)
        await flow.take(frame("message.created", event, "evt-1"))
        await flow.drain()

    async with opened_state(tmp_path) as kept:
        flow = inflow(second, kept)
        flow.recover(kept.remains.items, Adoption(kept.remains.items, is_gate_open=lambda: True, clock=ManualClock()))
        await flow.drain()

    for requests in (first.requests, second.requests):
        assert [request.authority for request in requests] == [AUTHORITY]
        assert "replyAuthority" not in requests[0].raw


async def test_a_gap_moves_the_cursor_and_refreshes_the_rooms(kept: Kept) -> None:
    """S2.6: the cursor becomes the id that Canon still has, and the rooms are asked for once."""
    host = Host()
    flow = inflow(host, kept)
    await flow.take(message("m1", "evt_expired"))
    await flow.drain()

    await flow.take(frame("replay.expired", {"lastAvailableId": "evt_200"}))

    assert (flow.cursor, host.listings) == ("evt_200", 1)


@pytest.mark.parametrize("payload", [{"lastAvailableId": None}, {}, "gone"], ids=["null", "empty", "text"])
async def test_a_gap_without_an_id_clears_the_cursor(kept: Kept, payload: Any) -> None:
    """S2.7: nothing to go on from means: from now on."""
    host = Host()
    flow = inflow(host, kept)
    await flow.take(message("m1", "evt-1"))
    await flow.drain()

    await flow.take(frame("replay.expired", payload))

    assert flow.cursor is None


async def test_a_failed_refresh_after_a_gap_breaks_the_connection(kept: Kept) -> None:
    """S2.8: the error comes out, and the cursor has moved already, so the dead one is not tried again."""
    host = Host()
    flow = inflow(host, kept)
    host.listing = ServiceTrouble(503, None, "busy")

    with pytest.raises(ServiceTrouble):
        await flow.take(frame("replay.expired", {"lastAvailableId": "evt_200"}))

    assert flow.cursor == "evt_200"


async def test_the_policy_follows_the_stream(kept: Kept) -> None:
    """S2.9, D56: the policy is what was said last, the owner too; what is not said stays, except the policy."""
    flow = inflow(Host(), kept)

    await flow.take(frame("agent.context", {"agentId": "agent-1", "outboundPolicy": "closed", "ownerId": "owner-2"}))
    closed = flow.identity
    await flow.take(frame("agent.context", {"agentId": "agent-1"}))

    assert (closed.outbound_policy, closed.owner_id, closed.display_name) == ("closed", "owner-2", "Ermes")
    assert (flow.identity.outbound_policy, flow.identity.owner_id) == (None, "owner-2")


async def test_a_policy_is_told_when_it_changes(kept: Kept) -> None:
    """R11.30: the host, which remembers what it was told of a tool, hears of each change and of nothing else."""
    host = Host()
    flow = inflow(host, kept)
    told = []
    for policy in ("closed", "closed", "open", None):
        said = {"outboundPolicy": policy} if policy is not None else {}
        await flow.take(frame("agent.context", {"agentId": "agent-1", **said}))
        told.append(host.permissions)

    assert told == [1, 1, 2, 3]


async def test_a_signal_passes_any_number_of_messages(kept: Kept) -> None:
    """D25: however many wait in one conversation, a stop and another room do not; none is lost, or out of order.

    Of those beyond what the memory holds, one is corrected and one is taken back while they wait on the disk.
    """
    host = Host()
    flow = inflow(host, kept)
    host.gates["m0"] = asyncio.Event()
    async with asyncio.timeout(30):
        for number in range(MANY):
            await flow.take(message(f"m{number}", f"evt-{number}"))
        await flow.take(edited(f"m{MANY - 2}", "better"))
        await flow.take(frame("message.deleted", {"conversationId": "c1", "messageId": f"m{MANY - 1}"}, "e2"))
        await flow.take(frame("runtime.control", {"conversationId": "c1", "kind": "signal"}, "e3"))
        await flow.take(message("other", "e4", room="c2"))
        await until(lambda: host.signals and host.taken)
        taken, held = list(host.taken), flow._held
        host.gates["m0"].set()
        await flow.drain()

    assert (host.signals, taken, held, flow._held) == (["c1"], ["other"], HELD, 0)
    assert host.taken[1:] == [f"m{number}" for number in range(MANY - 1)]
    assert {request.message_id: request.text for request in host.requests}[f"m{MANY - 2}"] == "better"
    assert flow.cursor == "e4"


async def test_many_that_wait_are_taken_back_at_once(kept: Kept) -> None:
    """D59: whoever clears a room leaves nothing to do, in the memory or on the disk."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m0"] = asyncio.Event()
    async with asyncio.timeout(30):
        for number in range(MANY):
            await flow.take(message(f"m{number}", f"evt-{number}"))
        for number in range(1, MANY):
            gone = {"conversationId": "c1", "messageId": f"m{number}"}
            await flow.take(frame("message.deleted", gone, f"gone-{number}"))
        host.gates["m0"].set()
        await flow.drain()

    assert host.taken == ["m0"]


async def test_a_signal_goes_its_own_way(kept: Kept) -> None:
    """S2.10: a control signal is taken at once, also while the conversation's message waits."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m1"] = asyncio.Event()
    await flow.take(message("m1", "evt-1"))

    await flow.take(frame("runtime.control", {"conversationId": "c1", "kind": "signal"}, "evt-2"))
    await flow.take(frame("runtime.control", {"conversationId": "c1", "kind": "other"}, "evt-3"))
    await until(lambda: host.signals)

    assert (host.signals, host.taken) == (["c1"], [])
    host.gates["m1"].set()
    await flow.drain()


async def test_a_typed_stop_passes_the_files_in_front_of_it(kept: Kept) -> None:
    """D25: what waits for its files, or behind one that does, does not hold up a stop; it runs afterwards, in order."""
    host = Host()
    flow = inflow(host, kept)
    host.busy.add("session of c1")
    host.fetching["m1"] = asyncio.Event()
    await flow.take(message("m1"))
    await flow.take(message("m2"))

    await flow.take(message("m3", text=" /stop"))
    await until(lambda: host.taken)
    at_once = list(host.taken)
    host.fetching["m1"].set()
    await flow.drain()

    assert (at_once, host.taken, flow.cursor) == (["m3"], ["m3", "m1", "m2"], "evt-m3")


@pytest.mark.parametrize("said", [{"text": "/stop"}, {"metadata": {"deliveryIntent": "stop"}}], ids=["typed", "intent"])
async def test_a_stop_where_nothing_runs_keeps_its_place(kept: Kept, said: dict[str, Any]) -> None:
    """It is the message in front of it that is to be stopped, and that has not begun."""
    host = Host()
    flow = inflow(host, kept)
    host.fetching["m1"] = asyncio.Event()
    await flow.take(message("m1"))

    await flow.take(message("m2", **said))
    for _ in range(20):
        await asyncio.sleep(0)
    before = list(host.taken)
    host.fetching["m1"].set()
    await flow.drain()

    assert (before, host.taken) == ([], ["m1", "m2"])


async def test_a_message_that_stops_drops_what_its_session_waits_for(kept: Kept) -> None:
    """R5.6, D25: a message that is to stop passes what is on its way; of its own session nothing of that runs."""
    host = Host()
    host.listing = (Conversation("c2", "group"),)
    flow = inflow(host, kept)
    await flow.refresh_rooms()
    host.busy.add("session of c2 and user-1")
    host.fetching["m1"] = asyncio.Event()
    await flow.take(message("m1", room="c2"))
    await flow.take(message("m2", room="c2", senderId="user-2"))
    await flow.take(message("m3", room="c2"))
    await until(lambda: host.fetches)

    await flow.take(message("m4", room="c2", text="no, wait", metadata={"deliveryIntent": "stop"}))
    await until(lambda: host.taken)
    await flow.take(message("m5", room="c2"))
    at_once = list(host.taken)
    host.fetching["m1"].set()
    await flow.drain()

    assert (at_once, host.taken) == (["m4"], ["m4", "m2", "m5"])
    assert (flow.cursor, flow.in_work) == ("evt-m5", 0)


FILE = {"kind": "image", "url": "https://files.example/one.png"}
STOP_WITH_FILE: dict[str, Any] = {"metadata": {"deliveryIntent": "stop"}, "attachments": [FILE]}


async def test_a_stop_with_files_has_stopped_before_they_are_there(kept: Kept) -> None:
    """R5.6, D25: a stop waits for no file, not even for its own; behind them it waits like any message, in order, and
    stops nothing a second time that began meanwhile."""
    host = Host()
    flow = inflow(host, kept)
    host.busy.add("session of c1")
    host.fetching = {"m1": asyncio.Event(), "m2": asyncio.Event()}
    await flow.take(message("m1"))

    await flow.take(message("m2", **STOP_WITH_FILE))
    at_once = list(host.stopped)
    await flow.take(message("m3"))
    host.fetching["m1"].set()
    await until(lambda: "m2" in host.fetches)
    meanwhile = list(host.taken)
    host.fetching["m2"].set()
    await flow.drain()

    assert (at_once, meanwhile, host.taken) == (["m2"], [], ["m2", "m3"])
    assert host.requests[0].delivery_intent is DeliveryIntent.QUEUE
    assert (host.stopped, flow.cursor) == (["m2"], "evt-m3")


@pytest.mark.parametrize(
    ("said", "stops_now"),
    [(STOP_WITH_FILE, False), ({"metadata": {"deliveryIntent": "stop"}}, True), ({"attachments": [FILE]}, True)],
    ids=["the host does not let us", "no files", "no stop"],
)
async def test_what_stops_nothing_at_once_goes_as_it_is(kept: Kept, said: dict[str, Any], stops_now: bool) -> None:
    """R5.6: the message itself does what it is to do, when the host has it."""
    host = Host()
    flow = inflow(host, kept)
    host.busy.add("session of c1")
    host.stops_now = stops_now

    await flow.take(message("m1", **said))
    await flow.drain()

    intent = DeliveryIntent.STOP if "metadata" in said else None
    assert (host.stopped, [one.delivery_intent for one in host.requests]) == ([], [intent])


async def test_a_cleared_queue_is_everything_on_its_way(kept: Kept) -> None:
    """R5.31, D25: whoever clears the queue of a conversation means what waits for its files too, however much it is."""
    host = Host()
    flow = inflow(host, kept)
    host.fetching["m0"] = asyncio.Event()
    for number in range(MANY):
        await flow.take(message(f"m{number}"))

    await flow.take(message("other", room="c2"))
    flow.drop_arriving("c1")
    host.fetching["m0"].set()
    await flow.take(message("after"))
    async with asyncio.timeout(30):
        await flow.drain()

    assert sorted(host.taken) == ["after", "other"]
    assert (flow.cursor, flow.in_work) == ("evt-after", 0)


async def test_a_command_leaves_the_background(kept: Kept) -> None:
    """R3.8: only a message that runs a turn takes what was said before it along."""
    host = Host()
    flow = inflow(host, kept)

    await flow.take(message("m1", text="before", metadata={"replyBehavior": "suppress_auto_reply"}))
    await flow.take(message("m2", text="/status"))
    await flow.take(message("m3", text="now"))
    await flow.drain()

    command, turn = host.requests
    assert command.channel_context is None
    assert turn.channel_context is not None and turn.channel_context.endswith("before")


async def test_an_unknown_room_is_looked_up_first(kept: Kept) -> None:
    """D35: which session a room's members share is asked before its first message is routed."""
    host = Host()
    host.listing = (Conversation("c9", "group", member_ids=("a", "b", "c")),)
    flow = inflow(host, kept)

    await flow.take(message("m1", "evt-1", room="c9"))
    await flow.drain()

    assert (host.listings, host.requests[0].is_group) == (1, True)


async def test_a_message_waits_until_its_room_can_be_looked_up(kept: Kept) -> None:
    """D35: a failed look-up decides nothing; it is made again, and holds up no other conversation."""
    host, clock = Host(), ManualClock()
    host.listing = ServiceTrouble(503, None, "busy", 20.0)
    flow = inflow(host, kept, clock=clock)

    await flow.take(message("m1", "evt-1", room="c9"))
    await flow.take(message("m2", "evt-2", room="c9"))
    await flow.take(message("m3", "evt-3", room="c1"))
    await until(lambda: host.taken and host.listings)
    await clock.advance(19)
    assert (host.taken, host.listings, flow.cursor) == (["m3"], 1, None)

    host.listing = (Conversation("c9", "group"),)
    await clock.advance(2)
    await flow.drain()

    assert (host.taken, host.listings, flow.cursor) == (["m3", "m1", "m2"], 2, "evt-3")
    assert [request.is_group for request in host.requests[1:]] == [True, True]


async def test_a_room_that_canon_does_not_list_is_asked_about_again(kept: Kept) -> None:
    """D35, R3.20: what Canon does not count among our rooms counts as direct, for this message alone."""
    host = Host()
    flow = inflow(host, kept)

    await flow.take(message("m1", "evt-1", room="c9"))
    await flow.drain()
    host.listing = (Conversation("c9", "group"),)
    await flow.take(message("m2", "evt-2", room="c9"))
    await flow.drain()

    assert (host.listings, [request.is_group for request in host.requests]) == (2, [False, True])


async def test_changed_rooms_are_known_at_once(kept: Kept) -> None:
    """R2.13: a change of a room is merged, and decides how the next message is routed."""
    host = Host()
    flow = inflow(host, kept)

    await flow.take(frame("conversation.updated", {"conversationId": "c7", "changes": {"type": "group"}}, "evt-0"))
    await flow.take(message("m1", "evt-1", room="c7"))
    await flow.drain()

    assert (host.requests[0].is_group, host.listings) == (True, 0)


async def test_who_is_not_listed_starts_no_turn(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    """C2: the operator's list is enforced here; the message becomes background and the log says why."""
    host = Host()
    flow = inflow(host, kept, access=UserAccess(allow_all=False, allowed=frozenset({"user-2"})))

    with caplog.at_level("INFO"):
        await flow.take(message("m1", "evt-1"))
        await flow.take(message("m2", "evt-2", senderId="user-2", senderName="Ben"))
    await flow.drain()

    assert host.taken == ["m2"]
    assert "hi" in (host.requests[0].channel_context or "")
    assert "CANON_ALLOWED_USERS does not list user-1" in caplog.text


@pytest.mark.parametrize("event", ["typing", "presence", "message.updated", "message.deleted", "brand.new", "error"])
async def test_other_events_only_move_the_cursor(kept: Kept, event: str) -> None:
    """R2.13: what means nothing to us is done at once, whatever it carries."""
    flow = inflow(Host(), kept)

    await flow.take(frame(event, {"anything": 1}, "evt-5"))

    assert flow.cursor == "evt-5"


async def test_stopping_forgets_what_was_not_handed_over(kept: Kept) -> None:
    """What the host does not have yet is not passed by the cursor, and no task stays."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m1"] = asyncio.Event()
    before = asyncio.all_tasks()
    await flow.take(message("m1", "evt-1"))
    await asyncio.sleep(0)

    await flow.stop()
    await kept.file.close()

    assert (host.taken, flow.cursor, asyncio.all_tasks()) == ([], None, before)


async def test_a_failed_hand_over_gives_the_background_back(kept: Kept) -> None:
    """R3.8, D21: the message that comes again brings the background, also what was said while Hermes refused."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m2"] = asyncio.Event()
    host.refuses.add("m2")

    await flow.take(message("m1", "evt-1", text="before", metadata={"replyBehavior": "suppress_auto_reply"}))
    await flow.take(message("m2", "evt-2", text="now"))
    await asyncio.sleep(0)
    await flow.take(message("m3", "evt-3", text="meanwhile", metadata={"replyBehavior": "suppress_auto_reply"}))
    host.gates["m2"].set()
    await flow.drain()
    host.refuses.clear()
    flow.resume_from()
    await flow.take(message("m2", "evt-2", text="now"))
    await flow.drain()

    (request,) = host.requests
    assert request.channel_context is not None
    assert [line.partition("] ")[2] for line in request.channel_context.splitlines()[2:]] == ["before", "meanwhile"]


async def test_a_connection_without_a_cursor_is_a_gap(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    """X4: a reopened stream replays nothing without a cursor; the log, the file and the home channel hear of it."""
    host = Host()
    flow = inflow(host, kept)

    for _ in range(3):
        flow.resume_from()
    (gap,) = await kept.inbox.untold_gaps()

    assert (gap.kind, host.gaps) == (GapKind.NO_CURSOR, 3)
    assert "not replayed" in caplog.text


async def test_the_very_first_connection_is_no_loss(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """X4: it is noted from when on messages are known, and nobody is alarmed."""
    host = Host()
    async with opened_state(tmp_path) as new:
        inflow(host, new).resume_from()
        untold = await new.inbox.untold_gaps()
        noted = await new.file.read(cursors.gaps, OWNER)

    assert ([gap.kind for gap in noted], untold, host.gaps, caplog.text) == ([GapKind.FIRST], (), 0, "")


async def test_an_expired_replay_is_a_gap(kept: Kept) -> None:
    """X4: from where, to where; the cursor on the disk moves with it."""
    host = Host()
    flow = inflow(host, kept)
    await flow.take(message("m1", "evt-1"))
    await flow.drain()

    await flow.take(frame("replay.expired", {"lastAvailableId": "evt_200"}))
    (gap,) = await kept.inbox.untold_gaps()

    assert (gap.kind, gap.from_event, gap.to_event, host.gaps) == (GapKind.EXPIRED, "evt-1", "evt_200", 1)
    assert await kept.file.read(cursors.cursor, OWNER) == "evt_200"


async def test_a_missed_stretch_may_have_had_answers(kept: Kept) -> None:
    """R10.31: after each gap, and once a stream without a cursor stands, approvals are asked about; never before it
    stands, and not because of a stream that goes on where the last one ended."""
    host = Host()
    flow = inflow(host, kept)
    told: list[int] = []

    async def connection(*frames: Frame) -> None:
        flow.resume_from()
        before = host.unheard_of
        for one in frames:
            await flow.take(one)
            await flow.drain()
        told.append(host.unheard_of - before)

    await connection()
    await connection(frame("heartbeat", {}), frame("heartbeat", {}))
    await connection(message("m1", "evt-1"))
    await connection(frame("heartbeat", {}))
    await connection(frame("replay.expired", {"lastAvailableId": "evt_200"}))

    assert told == [0, 1, 1, 0, 1]


def edited(message_id: str, text: str | None) -> Frame:
    """What the stream says when a message was changed, or taken away."""
    if text is None:
        return frame("message.deleted", {"conversationId": "c1", "messageId": message_id}, f"evt-deleted-{message_id}")
    changed = {"conversationId": "c1", "message": {"id": message_id, "text": text}}
    return frame("message.updated", changed, f"evt-edited-{message_id}")


async def test_a_message_that_waits_is_handed_over_as_it_was_corrected(kept: Kept) -> None:
    """D59: what was edited while an earlier message of its room was handed over arrives with the new text."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m1"] = asyncio.Event()
    await flow.take(message("m1"))
    await flow.take(message("m2", text="helo"))

    await flow.take(edited("m2", "hello"))
    await flow.take(edited("m2", "/status"))
    host.gates["m1"].set()
    await flow.drain()

    assert [request.text for request in host.requests] == ["hi", "/status"]
    assert (host.requests[1].type, host.amended) == ("command", [])


async def test_a_message_that_was_taken_back_in_time_opens_no_turn(kept: Kept) -> None:
    """D59: a deleted message is passed by the cursor, and an edit that comes after its deletion does not revive it."""
    host = Host()
    flow = inflow(host, kept)
    host.gates["m1"] = asyncio.Event()
    await flow.take(message("m1"))
    await flow.take(message("m2", text="never mind"))

    await flow.take(edited("m2", None))
    await flow.take(edited("m2", "again"))
    host.gates["m1"].set()
    await flow.drain()

    assert (host.taken, flow.cursor, flow.in_work) == (["m1"], "evt-edited-m2", 0)


async def test_a_message_that_the_host_has_is_corrected_there(kept: Kept) -> None:
    """D59: the host's queue is asked, also when the correction came during the hand-over itself."""
    host = Host()
    flow = inflow(host, kept)
    await flow.take(message("m1"))
    await flow.drain()
    host.gates["m2"] = asyncio.Event()
    await flow.take(message("m2"))
    await until(lambda: "m2" in host.entered)

    await flow.take(edited("m1", "one"))
    await flow.take(edited("m2", None))
    host.gates["m2"].set()
    await flow.drain()

    assert host.amended == [("m1", "one"), ("m2", None)]


async def test_a_gateway_that_goes_down_gets_nothing_but_commands(kept: Kept) -> None:
    """X1: the host would answer a message with a notice; it stays on the disk, and goes on should the host stay."""
    host, clock = Host(), ManualClock()
    host.listing = (Conversation("c1", "direct"), Conversation("c2", "direct"))
    flow = inflow(host, kept, clock=clock)
    host.is_stopping = True
    await flow.take(message("m1"))
    await flow.take(message("m2", room="c2", text="/status"))
    await until(lambda: "m2" in host.taken and clock.sleepers)

    assert host.taken == ["m2"]
    assert [item.item_id for item in (await kept.inbox.load()).items if item.state is State.RECORDED] == ["m1"]

    host.is_stopping = False
    await clock.advance(LOOK_EVERY_S)
    await flow.drain()
    assert host.taken == ["m2", "m1"]
