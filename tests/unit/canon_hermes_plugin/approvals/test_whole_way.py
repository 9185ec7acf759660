"""The whole way of an answer: from the stream over registry and inbox to the host, each part as a gateway has it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.gateway import LOOK_EVERY_S, GatewayApprovals
from canon_hermes_plugin.approvals.waking import Waking
from canon_hermes_plugin.approvals.wish import read_wish
from canon_hermes_plugin.complaints import Complaints
from canon_hermes_plugin.inbound.inflow import Inflow
from canon_hermes_plugin.inbox.items import State
from canon_hermes_plugin.state.kept import Kept
from canon_ops.wire.agents import Conversation
from tests.support.approving import Approving
from tests.support.canon_state import opened_state
from tests.unit.canon_hermes_plugin.inbound.test_inflow import Host, inflow, message

LOGGER = logging.getLogger("approvals-on-the-whole-way")
ROOM = "convo-1"


@dataclass
class Gateway:
    """One life of a gateway: what the stream brings goes in at :attr:`flow`, what the host gets is in :attr:`host`."""

    world: Approving
    kept: Kept
    flow: Inflow
    host: Host
    approvals: GatewayApprovals

    async def hear(self, approval_id: str, *, decision: str = "allow") -> None:
        """The stream brings the receipt of a human's answer."""
        receipt = {"type": "approval_reply", "approvalId": approval_id, "decision": decision}
        await self.flow.take(message(f"receipt-of-{approval_id}", room=ROOM, metadata=receipt))
        await self.rest()

    async def look(self) -> None:
        """What a gateway does every half minute."""
        self.world.clock._elapsed_s += LOOK_EVERY_S
        await self.approvals.look()
        await self.rest()
        await self.flow.own.offer_again()
        await self.rest()

    async def rest(self) -> None:
        await self.flow.drain()
        await self.approvals.drain()
        await self.flow.drain()

    async def rows(self) -> list[State]:
        return [item.state for item in (await self.kept.inbox.load()).items]


@pytest.fixture
def world(tmp_path: Path) -> Approving:
    return Approving(tmp_path / "canon")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "hermes"


@asynccontextmanager
async def living(world: Approving, home: Path, refuses: str = "") -> AsyncIterator[Gateway]:
    """A gateway until it is killed at the end of the block: nothing is said or written any more."""
    host = Host()
    host.listing = (Conversation(ROOM, "direct"),)
    host.refuses.add(refuses)
    async with opened_state(home) as kept:
        approvals: list[GatewayApprovals] = []

        async def answered(approval_id: str) -> None:
            await approvals[0].heard(approval_id)

        host.answered = answered  # type: ignore[method-assign]  # the gateway's approvals hear it
        flow = inflow(host, kept)
        world.inbox = Waking(flow.own, lambda request: "the session that asked")  # type: ignore[assignment]
        service = world.gateway("gw")
        approvals.append(GatewayApprovals(service, complaints=Complaints(LOGGER, world.clock), clock=world.clock))
        await flow.refresh_rooms()
        flow.recover(kept.remains.items, kept.adoption)
        gateway = Gateway(world, kept, flow, host, approvals[0])
        await gateway.rest()
        yield gateway
        await flow.stop()


async def asked(gateway: Gateway) -> tuple[str, str]:
    """An approval that was asked for; its id and that of its wake."""
    result = await gateway.approvals.service.request(
        read_wish(question="Proceed?"), conversation_id=ROOM, responder=None, session_key="the session that asked"
    )
    return result["approvalId"], f"canon-detached-approval:{result['approvalId']}"


async def test_a_host_that_refuses_a_decision_once(world: Approving, home: Path) -> None:
    """S10.34: the hand-over raises; the decision stands in the inbox, and the next look hands it over: two attempts,
    one turn, and nothing is asked of Canon again."""
    async with living(world, home) as gateway:
        approval_id, key = await asked(gateway)
        gateway.host.refuses.add(key)
        world.canon.answer(approval_id, "allow")
        await gateway.hear(approval_id)
        before = (list(gateway.host.entered), list(gateway.host.taken), await gateway.rows())

        gateway.host.refuses.clear()
        for _ in range(3):
            await gateway.look()

        assert before == ([key], [], [State.RECORDED])
        assert (gateway.host.entered, gateway.host.taken) == ([key, key], [key])
        assert gateway.host.requests[0].text == f"Canon approval {approval_id} resolved: allow — Proceed?"
        assert (world.entry(approval_id)["wakeStatus"], len(world.canon.consumes)) == ("delivered", 1)


@pytest.mark.parametrize("again", ["by the next start", "by a look"])
async def test_a_host_that_refuses_a_decision_at_the_start(world: Approving, home: Path, again: str) -> None:
    """S10.43, S10.44: answered while no gateway ran, refused by the host of the first start, taken by the next start,
    or by the next look of the same gateway: two attempts, one turn."""
    async with living(world, home) as gateway:
        approval_id, key = await asked(gateway)
    world.canon.answer(approval_id, "deny")
    entered: list[str] = []
    async with living(world, home, refuses=key) as gateway:
        await gateway.approvals.service.passes.settle_start()
        await gateway.rest()
        refused = (list(gateway.host.taken), await gateway.rows())
        entered += gateway.host.entered
        if again == "by a look":
            gateway.host.refuses.clear()
            gateway.host.entered.clear()
            await gateway.look()
            entered += gateway.host.entered
            taken = list(gateway.host.taken)
    if again == "by the next start":
        async with living(world, home) as gateway:
            await gateway.approvals.service.passes.settle_start()
            await gateway.rest()
            entered += gateway.host.entered
            taken = list(gateway.host.taken)

    assert (refused, entered, taken) == (([], [State.RECORDED]), [key, key], [key])
    assert world.entry(approval_id)["decision"] == "deny"


async def test_a_decision_in_a_busy_session(world: Approving, home: Path) -> None:
    """S10.47: the host has it and queues it behind a turn of three minutes; six looks and a second receipt later it has
    been given once, no lease is held or renewed, and when it is promoted there is one turn."""
    async with living(world, home) as gateway:
        approval_id, key = await asked(gateway)
        world.canon.answer(approval_id, "allow")
        await gateway.hear(approval_id)
        queued = (list(gateway.host.taken), await gateway.rows())
        registry = world.file.read_bytes()

        for _ in range(6):
            await gateway.look()
        await gateway.hear(approval_id)
        unchanged = world.file.read_bytes() == registry
        await gateway.kept.inbox.started(key, turn_id="t1", conversation_id=ROOM, session="the session that asked")
        await gateway.look()

        assert queued == ([key], [State.HANDED])
        assert (gateway.host.entered, unchanged, await gateway.rows()) == ([key], True, [State.STARTED])


async def test_a_busy_session_that_dies(world: Approving, home: Path) -> None:
    """S10.48: queued in the host and not begun when the process is killed: the next gateway hands it over once more,
    unmarked, because no run can have told it to the model."""
    async with living(world, home) as gateway:
        approval_id, key = await asked(gateway)
        world.canon.answer(approval_id, "allow")
        await gateway.hear(approval_id)
        first = (list(gateway.host.taken), await gateway.rows())

    async with living(world, home) as gateway:
        await gateway.approvals.service.passes.settle_start()
        await gateway.look()
        (request,) = gateway.host.requests

        assert (first, request.message_id, request.is_recovered) == (([key], [State.HANDED]), key, False)
        assert request.text == f"Canon approval {approval_id} resolved: allow — Proceed?"
        assert len(world.canon.consumes) == 1


async def test_a_receipt_while_the_registry_cannot_be_read(
    world: Approving, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """S10.49: the stream goes on: the receipt is no chat, the next message is handed over, and once somebody has mended
    the file the answer is found."""
    async with living(world, home) as gateway:
        approval_id, key = await asked(gateway)
        world.canon.answer(approval_id, "allow")
        whole = world.file.read_bytes()
        world.file.write_text("{not json")
        with caplog.at_level(logging.WARNING, LOGGER.name):
            await gateway.hear(approval_id)
        await gateway.flow.take(message("m1", room=ROOM))
        await gateway.rest()
        meanwhile: list[Any] = [list(gateway.host.taken), world.file.read_text(), gateway.flow.in_work]
        world.file.write_bytes(whole)
        await gateway.look()

        assert meanwhile == [["m1"], "{not json", 0]
        assert "cannot be read" in caplog.text
        assert gateway.host.taken == ["m1", key]
