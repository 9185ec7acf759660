"""Final messages under every kind of failure: what is repeated, under which id, and what the host hears."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from canon_hermes_plugin.lanes import Job, Lanes
from canon_hermes_plugin.outbound.deliveries import Deliveries, Failed, Posted, Sent
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.outbox.store import State
from canon_hermes_plugin.turn.effects import Final
from canon_hermes_plugin.turn.events import FinalDeferred, FinalRejected, FinalSettled, TurnEvent
from canon_ops.client.errors import ApiError, MalformedAnswer, RequestFailed, ServiceTrouble, TransportFailure
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.ids import ConversationId, TurnId, own_message_id
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.retry import TransportKind
from canon_ops.wire.splitting import split

TURN = TurnId("hermes-turn-1")
OWN = own_message_id("0" * 32)
LOST = TransportFailure(TransportKind.READ_TIMEOUT, request="send")
BUSY = ServiceTrouble(503, None, "busy")
NO = ApiError(400, None, "no")
TAKEN = ApiError(409, "MESSAGE_ID_EXISTS", "taken")


class Canon:
    """Stores messages by id; each call takes the next step of the script: None stores, an error fails.

    A lost answer stores the message all the same, as the real thing does.
    """

    def __init__(self, *script: RequestFailed | None) -> None:
        self.attempts: list[SendMessage] = []
        self.stored: dict[str, SendMessage] = {}
        self._script: Iterator[RequestFailed | None] = iter(script)

    async def send(self, message: SendMessage) -> str | None:
        self.attempts.append(message)
        error = next(self._script, None)
        if error is None or error is LOST:
            self.stored.setdefault(message.message_id or f"server-{len(self.stored)}", message)
        if error is not None:
            raise error
        return message.message_id or f"server-{len(self.stored) - 1}"


class Rows:
    """The disk, as a list of what is done to it; a discarded operation is not wanted any more.

    It remembers what was put aside by its turn, as the real one does, which test_unsettled.py has.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.discarded = False
        self.aside: dict[TurnId | None, Operation] = {}

    async def record(self, operation: Operation, *, told_gap: int | None = None) -> Operation | None:
        self.log.append("record")
        return self.aside.pop(operation.turn_id, operation)

    async def is_wanted(self, operation: Operation) -> bool:
        return not self.discarded

    def confirm(self, operation: Operation) -> None:
        self.log.append(f"confirm {operation.confirmed}")

    def settle(self, operation: Operation) -> None:
        self.log.append("settle")

    def note_failure(self, operation: Operation, error: str) -> None:
        self.log.append("fail")

    def put_aside(self, operation: Operation, state: State, error: str, *, in_doubt: bool) -> None:
        self.log.append(state.value)
        if in_doubt:
            self.aside[operation.turn_id] = operation


class Desk:
    """Takes the reports; finals of loose turns are left to the host."""

    def __init__(self, canon: Canon, *, loose: bool = False) -> None:
        self.clock = ManualClock()
        self.reports: list[TurnEvent] = []
        self.rows = Rows()
        self.deliveries = Deliveries(
            canon.send,
            send_unasked=canon.send,
            rows=self.rows,
            report=lambda _turn, event: self.reports.append(event),
            is_left_to_host=lambda _turn: loose,
            clock=self.clock,
            rng=random.Random(3),
        )

    async def deliver(self, message: Final) -> None:
        """One after the other, as in the lane of a conversation."""
        jobs: list[Job] = []
        await self.deliveries.take(message, jobs.append)
        for job in jobs:
            await job()


def final(text: str = "the answer", turn: TurnId = TURN, reply_to: str | None = None) -> Final:
    return Final(turn, ConversationId("c1"), text, reply_to)


async def test_a_message_is_settled_once() -> None:
    """One attempt, one stored message, one report with its id."""
    canon = Canon()
    desk = Desk(canon)

    await desk.deliver(final())

    (message_id,) = canon.stored
    assert desk.reports == [FinalSettled(message_id)]


@pytest.mark.parametrize(
    "error", [BUSY, LOST, MalformedAnswer("send", "is not JSON")], ids=["503", "lost", "unreadable"]
)
async def test_what_may_pass_is_tried_until_it_does(error: RequestFailed) -> None:
    """D6: the answer is told to be late, then tried again after a pause under the same id, and stored once."""
    canon = Canon(error, error)
    desk = Desk(canon)
    delivering = asyncio.ensure_future(desk.deliver(final()))

    await desk.clock.advance(0)
    late = list(desk.reports)
    await desk.clock.advance(10)
    await delivering

    assert [type(event) for event in late] == [FinalDeferred]
    assert isinstance(desk.reports[-1], FinalSettled)
    assert len({message.message_id for message in canon.attempts}) == 1 and len(canon.stored) == 1
    assert len(canon.attempts) == 3


async def test_an_outage_of_minutes_loses_nothing() -> None:
    """D6: an hour of 503 later the answer is delivered; the pauses have grown to half a minute."""
    canon = Canon(*[BUSY] * 120)
    desk = Desk(canon)
    delivering = asyncio.ensure_future(desk.deliver(final()))

    await desk.clock.advance(3_600)

    assert delivering.done() and isinstance(desk.reports[-1], FinalSettled)
    assert len(canon.attempts) == 121


@pytest.mark.parametrize("error", [NO, TAKEN], ids=["400", "409"])
async def test_what_cannot_pass_is_rejected(error: RequestFailed) -> None:
    """A refusal for good is reported at once and not repeated."""
    canon = Canon(error)
    desk = Desk(canon)

    await desk.deliver(final())

    assert ([type(event) for event in desk.reports], len(canon.attempts)) == ([FinalRejected], 1)


async def test_a_part_that_failed_is_the_next_one_sent() -> None:
    """S7.29: when the second part's answer is lost, only that part is repeated; three parts, one group, stored once."""
    canon = Canon(None, LOST)
    desk = Desk(canon)
    text = "ש" * 5_000
    delivering = asyncio.ensure_future(desk.deliver(final(text)))

    await desk.clock.advance(10)
    await delivering

    base = next(iter(canon.stored)).removesuffix("-part-1")
    assert [message.message_id for message in canon.attempts] == [f"{base}-part-{part}" for part in (1, 2, 2, 3)]
    assert tuple(message.text for message in canon.stored.values()) == split(text)
    assert {message.metadata["messageChunk"]["groupId"] for message in canon.stored.values()} == {base}


async def test_a_first_part_that_is_refused_ends_the_message() -> None:
    """S7.27: a definite refusal of the first part rejects the whole; nothing is stored."""
    canon = Canon(NO)
    desk = Desk(canon)

    await desk.deliver(final("ש" * 5_000))

    assert (canon.stored, [type(event) for event in desk.reports]) == ({}, [FinalRejected])


async def test_a_loose_message_waits_for_the_host() -> None:
    """R7.19: what the host itself repeats is kept, reported late, and not tried behind its back."""
    canon = Canon(LOST)
    desk = Desk(canon, loose=True)

    await desk.deliver(final())
    await desk.clock.advance(100)

    assert ([type(event) for event in desk.reports], len(canon.attempts)) == ([FinalDeferred], 1)


async def test_a_repetition_by_the_host_is_the_same_operation() -> None:
    """S7.36: an equal text later repeats the first attempt to the byte, its reply target included."""
    canon = Canon(LOST)
    desk = Desk(canon, loose=True)
    await desk.deliver(final(reply_to="m-original"))

    again = await desk.deliveries.attempt(final(reply_to=None))

    assert isinstance(again, Sent) and len(canon.stored) == 1
    assert canon.attempts[0] == canon.attempts[1] and canon.attempts[1].reply_to == "m-original"


async def test_another_text_does_not_replace_what_may_have_landed() -> None:
    """S7.34: while the first message is unsettled, a different one of the same turn is refused and nothing is sent."""
    canon = Canon(LOST)
    desk = Desk(canon, loose=True)
    await desk.deliver(final("first"))

    other = await desk.deliveries.attempt(final("second"))

    assert isinstance(other, Failed) and not other.may_pass
    assert "refused to replace" in other.reason and len(canon.attempts) == 1


async def test_a_lost_answer_is_not_forgotten_for_a_later_refusal() -> None:
    """S7.34: of three quick attempts the first may have landed, so the last one's 503 does not free the place."""
    after_a_lost_one = ServiceTrouble(503, None, "busy")
    after_a_lost_one.may_have_landed = True
    desk = Desk(canon := Canon(after_a_lost_one), loose=True)
    await desk.deliver(final("first"))

    other = await desk.deliveries.attempt(final("second"))

    assert isinstance(other, Failed) and "refused to replace" in other.reason
    assert len(canon.attempts) == 1


async def test_two_equal_messages_have_two_ids() -> None:
    """S7.32: the first one settled, so the second is a new message, not a repetition."""
    canon = Canon()
    desk = Desk(canon)

    await desk.deliver(final("equal"))
    await desk.deliver(final("equal"))

    assert len(canon.stored) == 2


async def test_a_message_of_no_turn_is_on_the_disk_before_anything_is_sent() -> None:
    """X1 for what a cron job says: it is taken over at once, and repeated by us under its one id until Canon has it."""
    canon = Canon(LOST, BUSY)
    desk = Desk(canon)
    jobs: list[Job] = []

    posted = await desk.deliveries.take(final(turn=OWN), jobs.append)

    assert (desk.rows.log, canon.attempts, len(jobs)) == (["record"], [], 1)
    bringing = asyncio.ensure_future(jobs[0]())
    await desk.clock.advance(3_600)
    await bringing
    (message_id,) = canon.stored
    assert posted == Posted(message_id)
    assert len(canon.attempts) == 3 and len(set(map(repr, canon.attempts))) == 1
    assert [type(report) for report in desk.reports] == [FinalDeferred, FinalDeferred, FinalSettled]


async def test_an_operation_has_one_job() -> None:
    """What waits in its lane, behind a message that Canon does not take, is not put there again at each look."""
    canon = Canon()
    desk = Desk(canon)
    jobs: list[Job] = []
    await desk.deliveries.take(final(turn=OWN), jobs.append)
    (operation,) = desk.deliveries._book.unsettled.values()

    looked = [desk.deliveries.claim(operation) for _ in range(3)]
    await jobs[0]()

    assert (looked, len(canon.attempts)) == ([False] * 3, 1)
    assert [desk.deliveries.claim(operation), desk.deliveries.claim(operation)] == [True, False]
    desk.rows.discarded = True
    assert not await desk.deliveries.resume(operation) and desk.deliveries.claim(operation)


async def test_what_stands_behind_a_late_message_is_recorded_and_waits_for_nobody() -> None:
    """X1, D57: an answer is on the disk at once, and its run does not wait for the answer of another one."""
    canon = Canon(BUSY, BUSY)
    desk = Desk(canon)
    lanes = Lanes(lambda error: pytest.fail(repr(error)))

    def in_lane(job: Job) -> None:
        lanes.add("c1", job)

    await desk.deliveries.take(final("first"), in_lane)
    await desk.deliveries.take(final("second", TurnId("hermes-turn-2")), in_lane)
    on_time = [type(report) for report in desk.reports]
    await desk.clock.advance(0)  # the first attempt fails
    await desk.deliveries.take(final("third", TurnId("hermes-turn-3")), in_lane)
    late = [type(report) for report in desk.reports]
    recorded, sent = desk.rows.log.count("record"), list(canon.stored)
    await desk.clock.advance(60)
    await lanes.drain()

    assert (on_time, late, recorded, sent) == ([], [FinalDeferred] * 3, 3, [])
    assert [message.text for message in canon.stored.values()] == ["first", "second", "third"]
    assert [type(report) for report in desk.reports].count(FinalSettled) == 3


async def test_the_servers_pause_is_granted() -> None:
    """X8: a Retry-After beyond our own pause is waited for."""
    canon = Canon(ServiceTrouble(429, None, "slow down", 20.0))
    desk = Desk(canon)
    delivering = asyncio.ensure_future(desk.deliver(final()))

    await desk.clock.advance(19)
    early = len(canon.attempts)
    await desk.clock.advance(2)
    await delivering

    assert (early, len(canon.attempts)) == (1, 2)


async def test_each_part_is_written_down_as_it_arrives() -> None:
    """R7.15, X1: a process that dies between two parts leaves behind which of them Canon has."""
    desk = Desk(Canon())

    await desk.deliver(final("ש" * 5_000))

    assert desk.rows.log == ["record", "confirm 1", "confirm 2", "settle"]


async def test_one_lost_answer_keeps_the_place_through_later_refusals() -> None:
    """R7.19, D54: an attempt that may have landed is not made undone by one that certainly did not."""
    desk = Desk(Canon(LOST, NO))
    delivering = asyncio.ensure_future(desk.deliver(final("first")))
    await desk.clock.advance(10)
    await delivering

    assert desk.rows.log[-1] == State.REFUSED.value
    assert list(desk.rows.aside) == [TURN]


async def test_after_a_late_message_the_next_is_on_time_again() -> None:
    """D57: only what stands behind a message that Canon does not take is put off."""
    desk = Desk(Canon(BUSY))
    delivering = asyncio.ensure_future(desk.deliver(final("first")))
    await desk.clock.advance(10)
    await delivering
    desk.reports.clear()

    await desk.deliver(final("second", TurnId("hermes-turn-2")))

    assert [type(report) for report in desk.reports] == [FinalSettled]
