"""Cards over a real state file and a Canon that hands each answer out once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.interactions import store
from canon_hermes_plugin.interactions.cards import CardDesk, CardIdUsed, WrongHuman
from canon_hermes_plugin.state.kept import Kept
from canon_ops.client.errors import ApiError, RequestFailed, TransportFailure
from canon_ops.runtime.clock import ManualClock
from canon_ops.wire.interactions import CardRequest, InteractionKind
from canon_ops.wire.retry import TransportKind
from tests.support.approving import until
from tests.support.canon_state import NOW, opened_state
from tests.support.cards import QUESTION, SUMMARY

ANSWER = {"status": "submitted", "cardId": "k1", "actionId": "file", "values": {}, "respondedBy": "user-1"}


@dataclass
class Canon:
    """The two calls; an answer is given away once."""

    shown: list[Any] = field(default_factory=list)
    asked: int = 0
    answer: dict[str, Any] | None = None
    responder: str | None = "user-1"
    expires_at: Any = None
    cancels: list[str] = field(default_factory=list)
    fails: list[RequestFailed] = field(default_factory=list)
    pause: asyncio.Event | None = None

    async def request_interaction(self, body: Any) -> Any:
        if self.fails:
            raise self.fails.pop(0)
        self.shown.append(body)
        return {
            "cardId": body["cardId"],
            "responseUserId": self.responder,
            "expiresAt": self.expires_at or body["expiresAt"],
        }

    async def consume_interaction(
        self, kind: InteractionKind, conversation_id: str, card_id: str, *, cancel: bool = False
    ) -> Any:
        self.asked += 1
        if cancel:
            self.cancels.append(card_id)
        if self.pause is not None:
            await self.pause.wait()
        if self.fails:
            raise self.fails.pop(0)
        answer, self.answer = self.answer, None
        return answer or {"status": "pending", "cardId": card_id}


def gone() -> ApiError:
    return ApiError(404, None, "no longer pending")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with opened_state(tmp_path) as kept:
        yield kept


def desk_over(kept: Kept, canon: Canon, clock: ManualClock) -> CardDesk:
    return CardDesk(kept.file, kept.owner, canon, clock)  # type: ignore[arg-type]  # the two calls are all it makes


def a_card(card_id: str = "k1", responder: str | None = "user-1", card: Any = QUESTION) -> CardRequest:
    return CardRequest("c1", card_id, card, NOW + 300_000, responder)


async def test_an_answer_within_the_wait(kept: Kept, clock: ManualClock) -> None:
    """R11.8: asked once a second; the response comes back with the card's ids."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    shown = await desk.show(a_card())
    looking = asyncio.get_running_loop().create_task(desk.look("k1", "c1", wait_s=30))
    await until(lambda: clock.sleepers)
    canon.answer = dict(ANSWER)
    await clock.advance(1)

    result = await looking

    assert shown.is_interactive
    assert result == {**ANSWER, "conversationId": "c1", "responseUserId": "user-1"}
    assert canon.asked == 2


async def test_the_wait_is_bounded_and_the_card_stays(kept: Kept, clock: ManualClock) -> None:
    """D32: after the wait it is pending, nothing is cancelled, and a later look gets the answer, again and again."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())
    looking = asyncio.get_running_loop().create_task(desk.look("k1", "c1", wait_s=2))
    for _ in range(2):
        await until(lambda: clock.sleepers)
        await clock.advance(1)
    pending = await looking
    canon.answer = dict(ANSWER)

    first = await desk.look("k1", "c1")
    second = await desk.look("k1", "c1")

    assert (pending["status"], "check_card" in pending["note"], first["status"]) == ("pending", True, "submitted")
    assert (second, canon.asked) == (first, 4)


async def test_the_answer_outlives_the_gateway(tmp_path: Path, clock: ManualClock) -> None:
    """D32: shown by one gateway, asked about by the next; the answer that Canon gave once is there for the third."""
    canon = Canon()
    async with opened_state(tmp_path) as kept:
        await desk_over(kept, canon, clock).show(a_card())
    canon.answer = dict(ANSWER)

    results = []
    for _ in range(2):
        async with opened_state(tmp_path) as kept:
            results.append(await desk_over(kept, canon, clock).look("k1", "c1"))

    assert [result["status"] for result in results] == ["submitted", "submitted"]
    assert canon.asked == 1


async def test_two_looks_ask_once(kept: Kept, clock: ManualClock) -> None:
    """D32: Canon hands an answer out once, so of two that look one asks, and both are told the same."""
    canon = Canon(pause=asyncio.Event())
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())
    canon.answer = dict(ANSWER)
    looks = [asyncio.get_running_loop().create_task(desk.look("k1", "c1")) for _ in range(3)]
    await until(lambda: canon.asked)
    assert canon.pause is not None
    canon.pause.set()

    results = await asyncio.gather(*looks)

    assert ([result["status"] for result in results], canon.asked) == (["submitted"] * 3, 1)


async def test_a_look_beside_a_wait(kept: Kept, clock: ManualClock) -> None:
    """D32: while one waits for the human, another look asks at once; the answer that it gets is both's."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())
    waiting = asyncio.get_running_loop().create_task(desk.look("k1", "c1", wait_s=300))
    await until(lambda: clock.sleepers)

    before = await desk.look("k1", "c1")
    canon.answer = dict(ANSWER)
    after = await desk.look("k1", "c1")
    await clock.advance(1)

    assert (before["status"], after["status"], (await waiting)["status"]) == ("pending", "submitted", "submitted")
    assert (canon.asked, len(desk._asking)) == (3, 0)


async def test_a_wait_that_is_given_up_with_the_answer_on_its_way(kept: Kept, clock: ManualClock) -> None:
    """D17, D32: Canon has given the answer away when the host gives the tool up; the next look has it from the disk."""
    canon = Canon(pause=asyncio.Event())
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())
    canon.answer = dict(ANSWER)
    waiting = asyncio.get_running_loop().create_task(desk.look("k1", "c1", wait_s=30))
    await until(lambda: canon.asked)
    waiting.cancel()
    await asyncio.sleep(0)
    assert canon.pause is not None
    canon.pause.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    result = await desk.look("k1", "c1")

    assert (result["status"], canon.asked) == ("submitted", 1)


@pytest.mark.parametrize(
    ("by", "words"), [("user-2", "different human"), (None, "without authenticated responder identity")]
)
async def test_an_answer_that_does_not_count(kept: Kept, clock: ManualClock, by: str | None, words: str) -> None:
    """D32, R13.4: an answer of the wrong human, or of nobody, is unknown and carries no action."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())
    canon.answer = {**ANSWER, "respondedBy": by}

    result = await desk.look("k1", "c1")

    assert (result["status"], "actionId" in result, words in result["note"]) == ("unknown", False, True)
    assert "re-issue" in result["note"]


async def test_a_card_that_canon_lost_is_unknown(kept: Kept, clock: ManualClock) -> None:
    """D32: unknown stays unknown, and is asked for once."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())
    canon.fails.append(gone())

    results = [await desk.look("k1", "c1") for _ in range(2)]

    assert ([result["status"] for result in results], canon.asked) == (["unknown", "unknown"], 1)


async def test_a_failure_to_ask_keeps_the_card(kept: Kept, clock: ManualClock) -> None:
    """R9.3: the caller hears of it; the card can be asked about again."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())
    canon.fails.append(TransportFailure(TransportKind.READ_TIMEOUT, request="consume"))

    with pytest.raises(TransportFailure):
        await desk.look("k1", "c1")
    canon.answer = dict(ANSWER)

    assert (await desk.look("k1", "c1"))["status"] == "submitted"


async def test_another_conversations_card_is_not_asked_for(kept: Kept, clock: ManualClock) -> None:
    """D13: an id of another room is refused before the network; one that nobody showed is unknown."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())

    with pytest.raises(PermissionError, match="different Canon conversation"):
        await desk.look("k1", "c2")
    unknown = await desk.look("k2", "c1")

    assert (unknown["status"], canon.asked) == ("unknown", 0)


async def test_a_card_that_somebody_else_could_answer_is_taken_back(kept: Kept, clock: ManualClock) -> None:
    """R13.4: Canon names another responder than was asked for, so the card is cancelled, and never waited for."""
    canon = Canon(responder="user-2")
    desk = desk_over(kept, canon, clock)

    with pytest.raises(WrongHuman, match="different human"):
        await desk.show(a_card())

    assert (canon.cancels, (await desk.look("k1", "c1"))["status"]) == (["k1"], "timeout")


@pytest.mark.parametrize(
    ("last", "status"),
    [
        pytest.param(ANSWER, "submitted", id="answered"),
        pytest.param({**ANSWER, "respondedBy": "user-2"}, "unknown", id="answered by somebody else"),
        pytest.param({"status": "cancelled", "cardId": "k1"}, "timeout", id="cancelled"),
        pytest.param(None, "timeout", id="nothing"),
    ],
)
async def test_an_answer_of_the_last_moment_is_an_answer(
    kept: Kept, clock: ManualClock, last: dict[str, Any] | None, status: str
) -> None:
    """D17, R9.3: it comes with the cancellation, is told once more by every later look, and Canon is asked no more."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    shown = await desk.show(a_card())
    canon.answer = last

    result = await desk.take_back(shown.card)
    again = await desk.look("k1", "c1")

    assert (result["status"], again, canon.cancels, canon.asked) == (status, result, ["k1"], 1)
    assert status != "submitted" or result == {**ANSWER, "conversationId": "c1", "responseUserId": "user-1"}


@pytest.mark.parametrize("status", [404, 409])
async def test_a_card_that_canon_has_ended_is_taken_back(kept: Kept, clock: ManualClock, status: int) -> None:
    """Canon wire 9.3: an id that Canon no longer has cannot be answered; its time is over."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    shown = await desk.show(a_card())
    canon.fails.append(ApiError(status, None, "no longer pending"))

    assert (await desk.take_back(shown.card))["status"] == "timeout"


async def test_an_id_is_used_once(kept: Kept, clock: ManualClock) -> None:
    """A second card under the id of the first is refused before Canon hears of it."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    await desk.show(a_card())

    with pytest.raises(CardIdUsed):
        await desk.show(a_card())

    assert len(canon.shown) == 1


def timed_out(kind: TransportKind) -> TransportFailure:
    return TransportFailure(kind, request="POST /runtime-interaction/request")


NEVER_THERE = [ApiError(status, None, "no") for status in (400, 401, 403, 404, 413, 422, 429, 503)]
PERHAPS = [ApiError(status, None, "no") for status in (409, 408, 500, 502)]


@pytest.mark.parametrize(
    ("failure", "is_free"),
    [
        *((one, True) for one in [*NEVER_THERE, timed_out(TransportKind.REFUSED)]),
        *((one, False) for one in [*PERHAPS, timed_out(TransportKind.READ_TIMEOUT)]),
    ],
    ids=str,
)
async def test_a_refused_card_leaves_its_id(
    kept: Kept, clock: ManualClock, failure: RequestFailed, is_free: bool
) -> None:
    """A model that corrects a card keeps its id: what was never shown is not used up; what may be there is."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    canon.fails = [failure]
    with pytest.raises(RequestFailed):
        await desk.show(a_card())

    assert [card.card_id for card in await desk.open_in("c1")] == ([] if is_free else ["k1"])
    if is_free:
        assert (await desk.show(a_card())).card.card_id == "k1"
    else:
        with pytest.raises(CardIdUsed):
            await desk.show(a_card())


async def test_what_can_still_be_answered_is_never_dropped(kept: Kept, clock: ManualClock) -> None:
    """D32: five hundred newer cards do not cost the answer to one that is open; answered and expired ones go."""
    canon = Canon()
    desk = desk_over(kept, canon, clock)
    await desk.show(CardRequest("c1", "open", QUESTION, NOW + 1_800_000, "user-1"))
    await desk.show(a_card("over"))
    canon.answer = {**ANSWER, "cardId": "answered"}
    await desk.show(a_card("answered"))
    assert (await desk.look("answered", "c1"))["status"] == "submitted"
    await clock.advance(301)

    for number in range(store.KEPT + 1):
        await desk.show(CardRequest("c1", f"n{number}", SUMMARY, NOW + 1_800_000, "user-1"))

    canon.answer = {**ANSWER, "cardId": "open"}
    looked = {name: (await desk.look(name, "c1"))["status"] for name in ("open", "over", "answered")}
    assert looked == {"open": "submitted", "over": "unknown", "answered": "unknown"}


@pytest.mark.parametrize("expires_at", [1e300, 10**400, -1e300, float("nan"), 9e15, "soon"])
async def test_a_time_that_no_calendar_has(kept: Kept, clock: ManualClock, expires_at: Any) -> None:
    """Whatever Canon says of a card's end, the card is shown and its answer is fetched."""
    canon = Canon(expires_at=expires_at)
    desk = desk_over(kept, canon, clock)

    shown = await desk.show(a_card())

    canon.answer = ANSWER
    assert (shown.card.expires_at_ms, (await desk.look("k1", "c1"))["status"]) == (NOW + 300_000, "submitted")


async def test_a_card_without_actions_is_displayed(kept: Kept, clock: ManualClock) -> None:
    """Canon wire 9.11: its result names what Canon answered; the cards that wait are listed."""
    canon = Canon(responder=None)
    desk = desk_over(kept, canon, clock)
    shown = await desk.show(a_card("k2", None, SUMMARY))

    result = shown.result()

    assert (shown.is_interactive, result["status"], result["request"]["cardId"]) == (False, "displayed", "k2")
    assert [card.card_id for card in await desk.open_in("c1")] == ["k2"]
    assert await desk.open_in("c2") == ()
