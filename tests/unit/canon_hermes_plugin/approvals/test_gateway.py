"""The approvals of a connected adapter: what it hears, when it looks, and what it says when the registry is damaged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canon_hermes_plugin.approvals.events import ClaimConsume
from canon_hermes_plugin.approvals.gateway import LOOK_EVERY_S, GatewayApprovals
from canon_hermes_plugin.approvals.service import ApprovalService
from canon_hermes_plugin.approvals.wish import read_wish
from canon_hermes_plugin.complaints import Complaints
from canon_hermes_plugin.state.owner import Owner
from tests.support.approving import Approving, until

LOGGER = logging.getLogger("approvals-under-test")


@pytest.fixture
def world(tmp_path: Path) -> Approving:
    return Approving(tmp_path)


def gateway(world: Approving, service: ApprovalService | None = None) -> GatewayApprovals:
    return GatewayApprovals(service or world.service, complaints=Complaints(LOGGER, world.clock), clock=world.clock)


@pytest.fixture
async def running(world: Approving) -> AsyncIterator[GatewayApprovals]:
    """A gateway that looks after its approvals until the test ends."""
    approvals = gateway(world)
    task = asyncio.get_running_loop().create_task(approvals.run())
    yield approvals
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def asked(world: Approving, question: str = "Proceed?") -> str:
    result = await world.service.request(
        read_wish(question=question), conversation_id="convo-1", responder=None, session_key=None
    )
    return str(result["approvalId"])


async def test_an_answer_wakes_the_agent(world: Approving, running: GatewayApprovals) -> None:
    """S10.27: heard on the stream, asked of Canon, put into the inbox; told again, nothing more happens."""
    approval_id = await asked(world)
    world.canon.answer(approval_id, "allow")

    for _ in range(2):
        await running.heard(approval_id)
        await running.drain()

    assert [wake.approval_id for wake in world.inbox.wakes.values()] == [approval_id]
    assert (world.inbox.attempts, len(world.canon.consumes)) == (1, 1)


async def test_what_is_not_ours_is_left_alone(world: Approving, running: GatewayApprovals) -> None:
    """S10.35, A1: an id that nobody knows, and one of another agent in the same file, change nothing."""
    other = world.gateway("other", Owner("env", "agent_2"))
    result = await other.request(
        read_wish(question="Theirs?"), conversation_id="convo-1", responder=None, session_key=None
    )
    before = world.entry(result["approvalId"])

    await running.heard(result["approvalId"])
    await running.heard("hermes-of-a-blocking-approval")
    await running.drain()

    assert world.entry(result["approvalId"]) == before
    assert world.canon.consumes == []


async def test_a_wake_that_failed_is_repeated_at_the_next_look(world: Approving, running: GatewayApprovals) -> None:
    """C4: nothing new is heard; the look after thirty seconds delivers it."""
    approval_id = await asked(world)
    world.canon.answer(approval_id, "allow")
    world.inbox.fails.append(OSError("no room"))
    await running.heard(approval_id)
    await running.drain()
    before = world.entry(approval_id)["wakeStatus"]

    await world.clock.advance(LOOK_EVERY_S + 1)
    await until(lambda: world.entry(approval_id)["wakeStatus"] == "delivered")

    assert (before, world.inbox.attempts, len(world.inbox.wakes)) == ("pending", 2, 1)


async def test_an_answer_that_overtakes_a_question(world: Approving, running: GatewayApprovals) -> None:
    """R10.31: Canon said "pending" a moment before the human answered, and the receipt came before that was written
    down; the next look asks again."""
    approval_id = await asked(world)
    world.canon.pause_after = asyncio.Event()
    asking = asyncio.create_task(world.gateway("next").passes.pass_over())
    await until(lambda: world.canon.consumes)
    for _ in range(5):
        await asyncio.sleep(0)
    world.canon.answer(approval_id, "allow")
    await running.heard(approval_id)
    await running.drain()
    world.canon.pause_after.set()
    await asking
    before = world.entry(approval_id)

    await world.clock.advance(LOOK_EVERY_S + 1)
    await until(lambda: world.inbox.wakes)

    assert (before["status"], before["receiptPending"]) == ("pending", True)


async def test_answers_from_before_the_start_are_found(world: Approving) -> None:
    """S10.37: nobody listened when it was answered; the start asks Canon about everything that is open."""
    approval_id = await asked(world)
    world.canon.answer(approval_id, "deny")
    task = asyncio.get_running_loop().create_task(gateway(world, world.gateway("next")).run())

    await until(lambda: world.inbox.wakes)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert world.entry(approval_id)["decision"] == "deny"


async def test_an_answer_in_a_gap_of_the_stream(world: Approving, running: GatewayApprovals) -> None:
    """R2.13, R10.43: its receipt will never come, so Canon is asked about all that is open, while a lease of another
    process is still waited for."""
    approval_id, leased = await asked(world), await asked(world, "And this?")
    world.store.apply_one(leased, ClaimConsume("other", "p0"))
    running.ask_again()
    await until(lambda: world.clock.sleepers == 2 and world.canon.consumes)
    world.canon.answer(approval_id, "allow")

    running.ask_again()
    await until(lambda: world.inbox.wakes)

    assert [wake.approval_id for wake in world.inbox.wakes.values()] == [approval_id]


async def test_a_damaged_registry_is_an_error_and_no_end(
    world: Approving, running: GatewayApprovals, caplog: pytest.LogCaptureFixture
) -> None:
    """R10.46, D49: the receipt is dropped from chat and remembered, the trouble is told once a minute with
    its cure, the file is left alone, and a mended one is looked at again."""
    approval_id = await asked(world)
    whole = world.file.read_bytes()
    world.file.write_text("{not json")
    world.canon.answer(approval_id, "allow")

    with caplog.at_level(logging.WARNING):
        await running.heard(approval_id)
        await running.heard(approval_id)
    damaged = world.file.read_text()
    world.file.write_bytes(whole)
    await world.clock.advance(LOOK_EVERY_S + 1)
    await until(lambda: world.inbox.wakes)

    assert (damaged, caplog.text.count("cannot be read")) == ("{not json", 1)
    assert "canon-ops approvals verify" in caplog.text


async def test_a_stuck_follow_up_gathers_no_others(world: Approving, running: GatewayApprovals) -> None:
    """R10.41: one job an approval, however often it is looked at or heard of meanwhile, and one that waits."""
    approval_id = await asked(world)
    world.canon.answer(approval_id, "allow")
    world.canon.pause = asyncio.Event()
    await running.heard(approval_id)
    await until(lambda: world.canon.consumes)

    for _ in range(20):
        await world.clock.advance(LOOK_EVERY_S)
        await running.heard(approval_id)
    waiting = running._lanes.backlog(approval_id)
    world.canon.pause.set()
    await running.drain()

    assert (waiting, world.inbox.attempts) == (1, 1)


async def test_more_unheard_answers_than_are_kept(
    world: Approving, running: GatewayApprovals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R10.46: a registry that stays unreadable for long costs a bounded memory; once it is whole all is asked about."""
    monkeypatch.setattr("canon_hermes_plugin.approvals.gateway.UNHEARD", 3)
    ids = [await asked(world) for _ in range(6)]
    whole = world.file.read_bytes()
    world.file.write_text("{not json")
    for approval_id in ids:
        world.canon.answer(approval_id, "allow")
        await running.heard(approval_id)
    kept = len(running._unheard)
    world.file.write_bytes(whole)

    await world.clock.advance(LOOK_EVERY_S + 1)
    await until(lambda: len(world.inbox.wakes) == 6)

    assert (kept, world.inbox.attempts) == (3, 6)


async def test_a_refused_wake_says_why(world: Approving, running: GatewayApprovals) -> None:
    """D48: the reason stands in the entry for people, the wake stays owed, and a delivered one has none."""
    from canon_hermes_plugin.approvals.ports import WakeRefused

    approval_id = await asked(world)
    world.canon.answer(approval_id, "allow")
    world.inbox.fails.append(WakeRefused("the agent is no longer in the conversation convo-1"))
    await running.heard(approval_id)
    await running.drain()
    refused = world.entry(approval_id)

    await world.clock.advance(LOOK_EVERY_S + 1)
    await until(lambda: world.entry(approval_id)["wakeStatus"] == "delivered")

    assert (refused["wakeStatus"], refused["wakeError"]) == (
        "pending", "the agent is no longer in the conversation convo-1",
    )  # fmt: skip
    assert "wakeError" not in world.entry(approval_id)
