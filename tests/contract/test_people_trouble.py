"""The host's questions and commands on their way to people, while Canon misbehaves.

The host's waiting threads, the adapter, the client and the server are real; time is moved. A yes that Canon did not
give is never made up, an answer that was given is not lost where Canon still has it, and no request stays behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from canon_hermes_plugin.interactions.clarify import LOST
from canon_ops.runtime.clock import ManualClock
from canon_ops.sandbox.answering import AnswerRefused
from canon_ops.sandbox.server import CanonSandbox
from tests.support.hosted_adapter import Hosted, hosted
from tests.support.sandboxes import canon_box

pytestmark = pytest.mark.host

ROOM, KEY = "conv_direct", "agent:main:canon:dm:conv_direct"


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


@dataclass
class Waiting:
    """A thread of the host that waits for a person, and the adapter that asked.

    Attributes:
        asked: what the adapter answered the host.
        told: what the host was told in the end.
    """

    box: CanonSandbox
    clock: ManualClock
    stage: Hosted
    asked: list[Any] = field(default_factory=list)
    told: asyncio.Future[Any] | None = None

    async def until(self, holds: Callable[[], object]) -> None:
        """Move time, a second after the other, until it is so."""
        for _ in range(2_000):
            if holds():
                return
            await self.clock.advance(0.25)
            await asyncio.sleep(0.002)
        raise AssertionError("it never came true")

    def states(self) -> list[str]:
        return [str(one["state"]) for one in self.box.human.interactions()]

    async def outcome(self) -> Any:
        assert self.told is not None
        await self.until(self.told.done)
        return self.told.result()


@asynccontextmanager
async def command_waits(box: CanonSandbox) -> AsyncIterator[Waiting]:
    """A thread waits with a dangerous command; the adapter was asked to show it."""
    from tools.approval import _await_gateway_decision, resolve_gateway_approval

    clock = ManualClock(box.clock.now_ms())
    loop = asyncio.get_running_loop()
    async with hosted(box, clock=clock) as stage:
        waiting = Waiting(box, clock, stage)

        def notify(data: dict[str, Any]) -> None:
            call = stage.adapter.send_exec_approval(
                chat_id=ROOM, command=data["command"], session_key=KEY, description=data["description"], metadata=None
            )
            waiting.asked.append(asyncio.run_coroutine_threadsafe(call, loop).result(30))

        data = {"command": "rm a", "description": "deletion", "pattern_key": "p"}
        waiting.told = asyncio.ensure_future(asyncio.to_thread(_await_gateway_decision, KEY, notify, data))
        try:
            await waiting.until(lambda: waiting.asked)
            yield waiting
        finally:
            resolve_gateway_approval(KEY, "deny", resolve_all=True)
            await asyncio.wait([waiting.told])


@asynccontextmanager
async def question_waits(box: CanonSandbox) -> AsyncIterator[Waiting]:
    """A thread waits with a question."""
    from tools import clarify_gateway

    clock = ManualClock(box.clock.now_ms())
    async with hosted(box, clock=clock) as stage:
        waiting = Waiting(box, clock, stage)
        clarify_gateway.register("q1", KEY, "Which?", ["a", "b"])
        waiting.told = asyncio.ensure_future(asyncio.to_thread(clarify_gateway.wait_for_response, "q1", 60.0))
        asking = asyncio.ensure_future(
            stage.adapter.send_clarify(
                chat_id=ROOM, question="Which?", choices=["a", "b"], clarify_id="q1", session_key=KEY
            )
        )
        try:
            await waiting.until(asking.done)
            waiting.asked.append(asking.result())
            yield waiting
        finally:
            clarify_gateway.clear_session(KEY)
            await asyncio.wait([waiting.told])


async def test_a_host_that_writes_over_a_card(box: CanonSandbox) -> None:
    """D17: some hosts edit the card when its time is over; Canon shows that by itself, and no draft begins of it."""
    async with command_waits(box) as waiting:
        (shown,) = waiting.asked
        edited = await waiting.stage.adapter.edit_message(ROOM, shown.message_id, "It did not run in time.")

        assert (edited.success, edited.message_id) == (True, shown.message_id)
        assert shown.message_id not in waiting.stage.adapter._canon._desk._turns.live


MAKING = {
    # whether Canon has the request for a moment
    "interaction-500": False,
    "interaction-lost": False,
    "interaction-500-after-commit": True,
    "interaction-lost-response": True,
}


@pytest.mark.parametrize("name", MAKING)
async def test_a_command_whose_request_got_lost(name: str, box: CanonSandbox) -> None:
    """R9.8, R9.19: the host is told that nothing is shown, its thread waits on, and nothing stays behind on Canon."""
    fault = box.fault(name)
    async with command_waits(box) as waiting:
        await waiting.until(lambda: "pending" not in waiting.states())

        assert fault.fired == 1
        assert [one.success for one in waiting.asked] == [False]
        assert waiting.told is not None and not waiting.told.done()
        assert waiting.states() == ["gone"] * int(MAKING[name])


@pytest.mark.parametrize("name", MAKING)
async def test_a_question_whose_request_got_lost(name: str, box: CanonSandbox) -> None:
    """R9.4: the host is told that nothing is shown; whatever Canon has of it is taken back."""
    fault = box.fault(name)
    async with question_waits(box) as waiting:
        await waiting.until(lambda: "pending" not in waiting.states())

        assert (fault.fired, [one.success for one in waiting.asked]) == (1, [False])
        assert waiting.states() == ["gone"] * int(MAKING[name])


LOOKING = ("consume-404", "consume-409", "consume-500", "consume-503", "consume-lost-response")


@pytest.mark.parametrize("name", LOOKING)
async def test_a_decision_is_heard_through_trouble(name: str, box: CanonSandbox) -> None:
    """R9.3, Canon wire 9.6: whatever becomes of a look, the decision that Canon keeps is the one that counts."""
    async with command_waits(box) as waiting:
        (request,) = box.human.interactions(state="pending")
        fault = box.fault(name)
        box.human.answer(request["id"], decision="allow")

        outcome = await waiting.outcome()

    assert (fault.fired, outcome["choice"], waiting.states()) == (1, "once", ["gone"])


@pytest.mark.parametrize("name", LOOKING)
async def test_an_answer_is_heard_through_trouble(name: str, box: CanonSandbox) -> None:
    """R9.3, Canon wire 9.6: the same for a question; an answer that Canon handed out in vain is told as lost."""
    async with question_waits(box) as waiting:
        fault = box.fault(name)
        box.human.answer("q1", value="a")

        outcome = await waiting.outcome()

    assert (fault.fired, outcome) == (1, LOST if name == "consume-lost-response" else "a")


@pytest.mark.parametrize("name", ["consume-wrong-responder", "consume-no-responder"])
async def test_a_yes_of_the_wrong_person(name: str, box: CanonSandbox) -> None:
    """R9.10: somebody else's, or nobody's, is no yes."""
    async with command_waits(box) as waiting:
        (request,) = box.human.interactions(state="pending")
        fault = box.fault(name, skip=0, times=1)
        box.human.answer(request["id"], decision="allow")

        outcome = await waiting.outcome()

    assert (fault.fired, outcome["choice"]) == (1, "deny")


async def test_nobody_is_named_as_the_one_who_is_asked(box: CanonSandbox) -> None:
    """R9.2: a receipt without a responder is none against whom we asked."""
    fault = box.fault("interaction-no-responder")
    async with command_waits(box) as waiting:
        (request,) = box.human.interactions(state="pending")
        box.human.answer(request["id"], decision="deny")

        outcome = await waiting.outcome()

    assert (fault.fired, outcome["choice"], waiting.asked[0].success) == (1, "deny", True)


async def test_a_decision_comes_before_the_request_is_answered(box: CanonSandbox) -> None:
    """D16: the person is quicker than Canon's own answer to the request."""
    box.human.prepare_answer(decision="allow")
    async with command_waits(box) as waiting:
        outcome = await waiting.outcome()

    assert outcome["choice"] == "once"


async def test_two_commands_of_one_session_at_once(box: CanonSandbox) -> None:
    """D16: two threads of a session wait at the same time; each gets the answer that was given for its own command."""
    from tools.approval import _await_gateway_decision, resolve_gateway_approval

    clock = ManualClock(box.clock.now_ms())
    loop = asyncio.get_running_loop()
    commands = ["rm first", "rm second"]
    async with hosted(box, clock=clock) as stage:
        waiting = Waiting(box, clock, stage)

        def notify(data: dict[str, Any]) -> None:
            call = stage.adapter.send_exec_approval(
                chat_id=ROOM, command=data["command"], session_key=KEY, description=data["description"], metadata=None
            )
            waiting.asked.append(asyncio.run_coroutine_threadsafe(call, loop).result(30))

        threads = []
        try:
            for number, command in enumerate(commands):
                data = {"command": command, "description": "deletion", "pattern_key": f"p{number}"}
                threads.append(asyncio.ensure_future(asyncio.to_thread(_await_gateway_decision, KEY, notify, data)))
            await waiting.until(lambda: len(waiting.asked) == 2)
            ids = {one["request"]["details"][0]["value"]: one["id"] for one in box.human.interactions(state="pending")}
            box.human.answer(ids["rm second"], decision="allow")
            await waiting.until(threads[1].done)
            first_waits = not threads[0].done()
            box.human.answer(ids["rm first"], decision="deny")
            await waiting.until(threads[0].done)
        finally:
            resolve_gateway_approval(KEY, "deny", resolve_all=True)
            await asyncio.wait(threads)

    assert all(one.success for one in waiting.asked) and first_waits
    assert [thread.result()["choice"] for thread in threads] == ["deny", "once"]
    assert waiting.states() == ["gone", "gone"]


async def test_a_command_is_allowed_in_the_chat(box: CanonSandbox) -> None:
    """S9.14, D16: a typed yes is the host's oldest; its card ends at once, and a late press on it is refused."""
    from tools.approval import resolve_gateway_approval

    async with command_waits(box) as waiting:
        (request,) = box.human.interactions(state="pending")

        resolve_gateway_approval(KEY, "once")  # what the host does for a typed /approve
        outcome = await waiting.outcome()
        await waiting.until(lambda: waiting.states() == ["gone"])

        with pytest.raises(AnswerRefused):
            box.human.answer(request["id"], decision="deny")
    assert outcome["choice"] == "once"
