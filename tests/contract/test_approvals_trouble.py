"""The registry of approvals over our real client, while Canon misbehaves about one of them.

A table says for every fault of ``/runtime-interaction`` what becomes of the approval that it strikes. Whatever strikes:
nothing is decided without Canon's word, a decision is told once, and no request stays at Canon that nobody will take.
The service, the registry's file, the client and the server are real; only their common time is moved by the test.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from canon_hermes_plugin.approvals.canon_side import CanonSide
from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.entry import CREATE_LEASE_MS, LEASE_MS
from canon_hermes_plugin.approvals.service import ApprovalService, NotActivated
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.approvals.wish import read_wish
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.api import CanonApi
from canon_ops.client.errors import RequestFailed
from canon_ops.sandbox.fault_kinds import KINDS
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.secret import Secret
from tests.support.approving import Inbox
from tests.support.gateways import sandbox_connection
from tests.support.sandboxes import canon_box

ROOM = "conv_direct"
PASSES = 3


class SandboxTime:
    """The sandbox's time as our code reads it: a pause moves it forward and is over."""

    def __init__(self, box: CanonSandbox) -> None:
        self._clock = box.clock

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def monotonic_s(self) -> float:
        return self._clock.now_ms() / 1000

    async def sleep(self, seconds: float) -> None:
        self._clock.advance(max(0.0, seconds))
        await asyncio.sleep(0)


@dataclass
class Desk:
    """One agent's approvals and what can be seen of them."""

    box: CanonSandbox
    service: ApprovalService
    store: ApprovalStore
    inbox: Inbox

    async def ask(self, responder: str | None = "user_owner") -> type[Exception] | None:
        """Ask for an approval; the error's kind, None when Canon took it."""
        try:
            await self.service.request(
                read_wish(question="Pay?"), conversation_id=ROOM, responder=responder, session_key="s-1"
            )
        except (RequestFailed, NotActivated) as error:
            return RequestFailed if isinstance(error, RequestFailed) else NotActivated
        return None

    @property
    def entry(self) -> dict[str, Any]:
        """The one entry of the registry, as it lies on the disk."""
        (entry,) = self.store.read().entries.values()
        return dict(entry.fields)

    @property
    def at_canon(self) -> list[str]:
        """How Canon holds each request."""
        return [row["state"] for row in self.box.human.interactions()]

    async def live_on(self) -> None:
        """Let every lease end and pass over the registry, as the scan and the next starts would."""
        for _ in range(PASSES):
            self.box.clock.advance((CREATE_LEASE_MS + LEASE_MS) / 1000)
            await self.service.passes.pass_over()

    def told(self) -> list[str]:
        """What the agent was woken with."""
        return [wake.decision.value for wake in self.inbox.wakes.values()]


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


@pytest_asyncio.fixture
async def desk(box: CanonSandbox, tmp_path: Path) -> AsyncIterator[Desk]:
    clock, inbox = SandboxTime(box), Inbox()
    store = ApprovalStore(tmp_path / "detached-approvals.json", clock=clock)

    async def run(function: Any, *arguments: Any) -> Any:
        return await asyncio.to_thread(function, *arguments)

    key = Secret(box.endpoints.agent_key)
    async with CanonApi(sandbox_connection(box), key, clock=clock, rng=random.Random(1)) as api:
        service = ApprovalService(
            ApprovalDesk(store, run),
            CanonSide(api),
            inbox,
            Owner(box.endpoints.environment_id, "agent_sandbox"),
            clock=clock,
            new_id=lambda digits: secrets.token_hex(digits)[:digits],
            process="gateway",
            conversations=lambda: {ROOM},
        )
        yield Desk(box, service, store, inbox)


# Asking -------------------------------------------------------------------------------------------------------------

LOST, REFUSED = RequestFailed, NotActivated

ASKING: dict[str, tuple[type[Exception] | None, bool]] = {
    # what the caller hears, and whether a human's answer reaches the agent all the same
    "approval-cap-reject": (None, True),
    "approval-cap-clamp": (None, True),
    "interaction-no-responder": (None, True),
    "interaction-other-responder": (REFUSED, False),
    "interaction-500": (LOST, False),
    "interaction-500-after-commit": (LOST, True),
    "interaction-lost": (LOST, False),
    "interaction-lost-response": (LOST, True),
}


@pytest.mark.parametrize("decision", ["allow", "deny"])
@pytest.mark.parametrize("name", ASKING)
async def test_trouble_with_asking(name: str, decision: str, desk: Desk) -> None:
    """R10.14, C1, D47: what Canon holds is found again and told once; what it does not hold ends without a decision."""
    heard, is_held = ASKING[name]
    fault = desk.box.fault(name, times=1)

    told = await desk.ask()
    desk.box.clock.advance(CREATE_LEASE_MS / 1000 + 1)
    await desk.service.passes.pass_over()
    waiting = desk.box.human.interactions(state="pending")
    for row in waiting:
        desk.box.human.answer(row["id"], decision=decision)
    await desk.live_on()

    assert (fault.fired, told, len(waiting)) == (1, heard, int(is_held))
    assert desk.told() == ([decision] if is_held else [])
    assert desk.entry["status"] == ("resolved" if is_held else "orphaned")
    assert desk.entry.get("decision") == (decision if is_held else None)
    assert "pending" not in desk.at_canon and len(desk.at_canon) <= 1


async def test_an_old_servers_expiry_is_kept(desk: Desk) -> None:
    """C1: half an hour, whether the server cut the time or refused the longer one; asked twice only for the refusal."""
    expiries, creates = [], []
    for name in ("approval-cap-clamp", "approval-cap-reject"):
        desk.box.fault(name, times=1)
        before = desk.box.engine.journal.count
        assert await desk.ask() is None
        creates.append(len(desk.box.journal(after=before)))
    entries = desk.store.read().entries
    for row in desk.box.human.interactions():
        assert entries[row["id"]].expires_at_ms == row["expires_at_ms"]
        expiries.append(row["expires_at_ms"] - desk.box.clock.now_ms())

    assert creates == [1, 2]
    assert all(29 * 60_000 < left <= 30 * 60_000 for left in expiries)


async def test_an_unnamed_human_is_taken_back(desk: Desk) -> None:
    """Nobody was asked for and Canon names nobody, so no answer could count (R10.11): the request is withdrawn."""
    desk.box.fault("interaction-no-responder")

    assert await desk.ask(responder=None) is NotActivated
    await desk.live_on()

    assert (desk.entry["status"], desk.entry["cancelPending"], desk.at_canon) == ("orphaned", False, ["gone"])


# Taking -------------------------------------------------------------------------------------------------------------

TAKING: dict[str, str] = {
    # how the approval stands once its lease is over and Canon is well again
    "consume-wrong-responder": "orphaned",
    "consume-no-responder": "orphaned",
    "consume-404": "orphaned",
    "consume-409": "orphaned",
    "consume-500": "resolved",
    "consume-503": "resolved",
    "consume-lost-response": "resolved",
}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("decision", ["allow", "deny"])
@pytest.mark.parametrize("name", TAKING)
async def test_trouble_with_taking_the_answer(name: str, decision: str, times: int, desk: Desk) -> None:
    """R10.11: the answer of nobody or somebody else decides nothing; a lost one is asked for again and told once."""
    assert await desk.ask() is None
    desk.box.human.answer(desk.entry["approvalId"], decision=decision)
    fault = desk.box.fault(name, times=times, burst=times)

    await desk.live_on()

    is_resolved = TAKING[name] == "resolved"
    assert fault.fired == (times if is_resolved else 1)  # what is settled is not asked about again
    assert (desk.entry["status"], desk.entry.get("decision")) == (TAKING[name], decision if is_resolved else None)
    assert desk.told() == ([decision] if is_resolved else [])


@pytest.mark.parametrize("name", TAKING)
async def test_trouble_with_an_explicit_check(name: str, desk: Desk) -> None:
    """R10.15: the check fails or says unknown, with no decision; the next one gets the answer, and nobody is woken."""
    assert await desk.ask() is None
    approval_id = desk.entry["approvalId"]
    desk.box.human.answer(approval_id, decision="allow", receipt="never")
    often = 3 if name == "consume-503" else 1  # what surely did not act is repeated by the client, twice
    desk.box.fault(name, times=often, burst=often)

    is_resolved = TAKING[name] == "resolved"
    if is_resolved:
        with pytest.raises(RequestFailed):
            await desk.service.check(approval_id, conversation_id=ROOM)
    else:
        first = await desk.service.check(approval_id, conversation_id=ROOM)
        assert (first["status"], "decision" in first) == ("unknown", False)
    again = await desk.service.check(approval_id, conversation_id=ROOM)
    await desk.live_on()

    assert again.get("decision") == ("allow" if is_resolved else None)
    assert desk.told() == []


def test_every_fault_about_an_approval_is_met() -> None:
    """T7: one that is added to the sandbox needs a row."""
    named = {name for name in KINDS if name.startswith(("approval-", "interaction-", "consume-"))}

    assert named == set(ASKING) | set(TAKING)
