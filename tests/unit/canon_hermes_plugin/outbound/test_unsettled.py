"""Messages of which nobody knows whether they landed, over the real outbox: repeated, or refused, after any restart."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.lanes import Job
from canon_hermes_plugin.outbound.deliveries import Attempt, Deliveries, Failed, Sent
from canon_hermes_plugin.outbox import store
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.outbox.store import Owed, State
from canon_hermes_plugin.state.place import state_path
from canon_hermes_plugin.turn.effects import Final
from canon_hermes_plugin.turn.events import FinalRejected, FinalSettled, TurnEvent
from canon_ops.client.errors import ApiError, RequestFailed, ServiceTrouble, TransportFailure
from canon_ops.durable.problems import DiskFull
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.ids import ConversationId, TurnId
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.retry import TransportKind
from tests.support.canon_state import AUTHORITY, NOW, OWNER, Rows, opened_state
from tests.support.hosted_adapter import until

LOST = TransportFailure(TransportKind.READ_TIMEOUT, request="send")
NO = ApiError(400, None, "no")
BUSY = ServiceTrouble(503, None, "busy")
TAKEN = ApiError(409, "MESSAGE_ID_EXISTS", "taken")
TURN, LATER = TurnId("hermes-turn-1"), TurnId("hermes-turn-2")


class Canon:
    """Stores a message id once; ``trouble`` is what every send ends in, and a lost answer has landed all the same."""

    def __init__(self) -> None:
        self.stored: dict[str | None, str] = {}
        self.trouble: RequestFailed | None = None

    async def send(self, message: SendMessage) -> str | None:
        if self.trouble in (None, LOST):
            self.stored.setdefault(message.message_id, message.text)
        if self.trouble is not None:
            raise self.trouble
        return message.message_id


class Life:
    """One adapter's deliveries: its own memory, and the disk of all of them."""

    def __init__(self, deliveries: Deliveries, reports: list[TurnEvent], clock: ManualClock) -> None:
        self.deliveries = deliveries
        self.reports = reports
        self.clock = clock

    async def loose(self, text: str, turn: TurnId = TURN) -> None:
        await self.deliver(Final(turn, ConversationId("c1"), text))

    async def deliver(self, final: Final) -> None:
        jobs: list[Job] = []
        await self.deliveries.take(final, jobs.append)
        for job in jobs:
            await job()

    async def again(self, text: str, turn: TurnId = TURN) -> Attempt:
        return await self.deliveries.attempt(Final(turn, ConversationId("c1"), text))


@asynccontextmanager
async def a_life(home: Path, canon: Canon, *, is_loose: bool = True) -> AsyncIterator[Life]:
    reports: list[TurnEvent] = []
    clock = ManualClock(NOW)
    async with opened_state(home, clock=clock) as kept:
        deliveries = Deliveries(
            canon.send,
            send_unasked=canon.send,
            rows=kept.outbox,
            report=lambda _turn, event: reports.append(event),
            is_left_to_host=lambda _turn: is_loose,
            clock=clock,
            rng=random.Random(5),
        )
        yield Life(deliveries, reports, clock)


def standing(home: Path) -> list[tuple[str, State]]:
    return [(posting.turn_id, posting.state) for posting in Rows(state_path(home))(store.all_postings)]


async def said_again_after_a_restart(home: Path, canon: Canon, turn: TurnId) -> list[tuple[str, State]]:
    """What stood in the outbox between a message that landed unseen and its repetition by the next adapter."""
    canon.trouble = LOST
    async with a_life(home, canon) as life:
        await life.loose("the report")
    between, canon.trouble = standing(home), None
    async with a_life(home, canon) as life:
        await life.loose("the report", turn)
    return between


async def test_a_repetition_after_a_restart_is_the_same_message(tmp_path: Path) -> None:
    """D54, S7.36: it had landed and nobody knew; said again by the next adapter, people still read it once."""
    canon = Canon()

    between = await said_again_after_a_restart(tmp_path, canon, TURN)

    assert (between, standing(tmp_path)) == ([(TURN, State.HELD)], [])
    assert list(canon.stored.values()) == ["the report"]


async def test_a_repetition_by_a_turn_that_knows_nothing_is_the_same_message(tmp_path: Path) -> None:
    """D54: the host repeats a text and our adapter, a new one, takes it for the beginning of a turn."""
    canon = Canon()

    between = await said_again_after_a_restart(tmp_path, canon, LATER)

    assert (between, standing(tmp_path)) == ([(TURN, State.HELD)], [])
    assert list(canon.stored.values()) == ["the report"]


async def test_another_text_after_a_restart_is_refused_while_the_first_may_stand(tmp_path: Path) -> None:
    """D54, S7.34: the turn's ids are taken, so a new text would be lost or doubled; the first stays for a person."""
    canon = Canon()
    canon.trouble = LOST
    async with a_life(tmp_path, canon) as life:
        await life.loose("first")
    canon.trouble = None

    async with a_life(tmp_path, canon) as life:
        attempt = await life.again("second")
        await life.loose("second")

    assert isinstance(attempt, Failed) and not attempt.may_pass and "refused to replace" in attempt.reason
    assert [type(event) for event in life.reports] == [FinalRejected]
    assert list(canon.stored.values()) == ["first"]
    assert standing(tmp_path) == [(TURN, State.HELD)]


async def test_a_text_of_another_turn_is_free(tmp_path: Path) -> None:
    """D54: one unsettled message does not silence its conversation."""
    canon = Canon()
    canon.trouble = LOST
    async with a_life(tmp_path, canon) as life:
        await life.loose("first")
        canon.trouble = None
        await life.loose("second", LATER)

    assert list(canon.stored.values()) == ["first", "second"]
    assert standing(tmp_path) == [(TURN, State.HELD)]


async def test_an_answer_is_never_taken_for_a_repetition(tmp_path: Path) -> None:
    """D54: two people are told the same; the second one's answer is a message of its own, under their leave."""
    canon = Canon()
    canon.trouble = LOST
    async with a_life(tmp_path, canon) as life:
        await life.loose("yes")
        canon.trouble = None
        await life.deliver(Final(LATER, ConversationId("c1"), "yes", "m1", authority=AUTHORITY))

    assert list(canon.stored.values()) == ["yes", "yes"]


@pytest.mark.parametrize(
    ("errors", "is_replaced"),
    [([NO], True), ([TAKEN], False), ([LOST, NO], False)],
    ids=["refused", "taken", "lost, then refused"],
)
async def test_only_what_certainly_did_not_land_is_replaced(
    tmp_path: Path, errors: list[RequestFailed], is_replaced: bool
) -> None:
    """R7.19, D54: a refusal proves nothing about the attempt before it."""
    canon = Canon()
    async with a_life(tmp_path, canon) as life:
        for error in errors:
            canon.trouble = error
            await life.again("first")
        canon.trouble = None
        attempt = await life.again("second")

    assert isinstance(attempt, Sent) is is_replaced
    assert ("second" in canon.stored.values()) is is_replaced


async def test_what_is_refused_is_kept_on_the_disk_alone(tmp_path: Path) -> None:
    """A room that refuses everything costs no memory; every message stands in the outbox, and none is still owed."""
    canon = Canon()
    canon.trouble = TAKEN
    async with a_life(tmp_path, canon, is_loose=False) as life:
        for number in range(50):
            await life.loose(f"message {number}", TurnId(f"t{number}"))
        remembered = len(life.deliveries._book.unsettled)

    assert (remembered, len(standing(tmp_path))) == (0, 50)
    assert Rows(state_path(tmp_path))(store.owed, OWNER) == Owed(0, None)


async def test_an_answer_that_the_disk_did_not_take_is_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6: a full disk and a Canon that is away for a moment; the answer arrives, and stands on the disk when it can."""
    canon, keep = Canon(), store.keep
    canon.trouble = BUSY
    refusals = iter([DiskFull("no room left")] * 2)

    def full(*args: Any, **more: Any) -> Operation:
        if (error := next(refusals, None)) is not None:
            raise error
        return keep(*args, **more)

    monkeypatch.setattr(store, "keep", full)
    async with a_life(tmp_path, canon, is_loose=False) as life:
        delivering = asyncio.ensure_future(life.loose("the answer"))
        await until(lambda: life.reports)
        while not (kept := standing(tmp_path)):
            await life.clock.advance(1)
            await asyncio.sleep(0.01)
        canon.trouble = None
        while not delivering.done():
            await life.clock.advance(1)
            await asyncio.sleep(0.01)
        await delivering

    assert (kept, standing(tmp_path)) == ([(TURN, State.PENDING)], [])
    assert list(canon.stored.values()) == ["the answer"]
    assert isinstance(life.reports[-1], FinalSettled) and FinalRejected not in map(type, life.reports)
