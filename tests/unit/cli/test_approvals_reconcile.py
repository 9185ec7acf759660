"""``canon-ops approvals reconcile`` against a loopback Canon: the plan, the asking, and what is left to others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.events import Activate, ClaimConsume, Reserve
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.api import CanonApi
from canon_ops.runtime.clock import SystemClock
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.environments import connection_for
from canon_ops.settings.secret import Secret
from canon_ops.wire.interactions import ApprovalRequest
from tests.support.canon_files import DEV_BINDING, profile_entry
from tests.support.canon_homes import User, user_at
from tests.unit.cli.conftest import Runner

FAR = 9e12


@pytest.fixture
def canon() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as box:
        yield box


@pytest.fixture
def user(home: Path, canon: CanonSandbox) -> User:
    """A user whose one profile is the sandbox's agent."""
    user, ends = user_at(home), canon.endpoints
    binding = {**DEV_BINDING, "environmentId": ends.environment_id, "baseUrl": ends.api, "streamUrl": ends.stream}
    user.write_agents(ops=profile_entry(**{**binding, "agentId": "agent_sandbox", "apiKey": ends.agent_key}))
    return user


@pytest.fixture
def store(home: Path) -> ApprovalStore:
    return ApprovalStore(home / ".canon" / "detached-approvals.json", process="gateway 7")


def asked(canon: CanonSandbox, store: ApprovalStore, *names: str) -> None:
    """Approvals that the gateway asked for and Canon has; then the gateway was gone."""
    ends = canon.endpoints
    owner = Owner(ends.environment_id, "agent_sandbox")
    connection = connection_for(ends.environment_id, base_url=ends.api, stream_url=ends.stream)
    until_ms = SystemClock().now_ms() + 3_600_000

    async def create() -> None:
        async with CanonApi(connection, Secret(ends.agent_key), clock=SystemClock()) as api:
            for name in names:
                receipt = await api.request_approval(
                    ApprovalRequest(ends.conversation_id, name, "Approval", "Proceed?", until_ms)
                )
                store.apply_one(name, Reserve(name, ends.conversation_id, "c", until_ms, owner, "Proceed?"))
                store.apply_one(name, Activate("c", until_ms, receipt.responder))

    asyncio.run(create())


def statuses(store: ApprovalStore) -> dict[str, str]:
    return {entry.approval_id: str(entry.fields["status"]) for entry in store.read()}


def test_without_apply_nothing_is_asked(program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore) -> None:
    """BR-55: the plan says what would be done and why."""
    asked(canon, store, "hermes-1")
    before = store.file.read_bytes()

    ran = program("approvals", "reconcile", "--json")

    (row,) = ran.json["data"]["plan"]
    assert (ran.code, row["action"], row["why"], row["agent_id"]) == (
        0,
        "ask",
        "it waits for the human",
        "agent_sandbox",
    )
    assert store.file.read_bytes() == before


def test_each_comes_to_what_canon_says(program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore) -> None:
    """Allowed, denied, not yet, unknown; the wake is left to the gateway and said."""
    asked(canon, store, "hermes-1", "hermes-2", "hermes-3")
    canon.human.answer("hermes-1", decision="allow")
    canon.human.answer("hermes-2", decision="deny")
    lost = store.read().entries["hermes-3"].with_(approvalId="hermes-4")
    root = {**json.loads(store.file.read_text()), "hermes-4": dict(lost.fields)}
    store.file.write_text(json.dumps(root))

    ran = program("approvals", "reconcile", "--apply", "--json")

    data = ran.json["data"]
    assert data["counts"] == {"resolved": 2, "pending": 1, "unknown": 1}
    assert {row["approval_id"]: row["status"] for row in data["plan"]} == {
        "hermes-1": "resolved: allow",
        "hermes-2": "resolved: deny",
        "hermes-3": "pending",
        "hermes-4": "orphaned",
    }
    assert data["wakes_waiting"] == 2
    assert {entry.wake_status for entry in store.read() if entry.decision} == {"pending"}
    again = program("approvals", "reconcile", "--apply").out
    assert "2 decisions have not reached the agent; its gateway tells it when it runs again." in again


def test_only_those_that_are_named(program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore) -> None:
    """The others are left as they are."""
    asked(canon, store, "hermes-1", "hermes-2")
    for name in ("hermes-1", "hermes-2"):
        canon.human.answer(name, decision="allow")

    assert program("approvals", "reconcile", "hermes-2", "--apply").code == 0

    assert statuses(store) == {"hermes-1": "pending", "hermes-2": "resolved"}
    assert program("approvals", "reconcile", "nobody", "--apply").code == 1


def test_a_live_lease_is_not_taken(program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore) -> None:
    """BR-55: a gateway is at it; the command waits for nobody and takes nothing."""
    asked(canon, store, "hermes-1")
    store.apply_one("hermes-1", ClaimConsume("theirs", "gateway 7"))
    before = store.file.read_bytes()

    ran = program("approvals", "reconcile", "--apply", "--json")

    (row,) = ran.json["data"]["plan"]
    assert (row["action"], row["until"] is not None, row["status"]) == ("wait", True, "consuming")
    assert store.file.read_bytes() == before


def test_a_lease_out_of_reach_is_brought_back(
    program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore
) -> None:
    """A clock was wrong when it was taken: the plan says so, and --apply shortens it without asking Canon."""
    asked(canon, store, "hermes-1")
    held = store.apply_one("hermes-1", ClaimConsume("theirs", "gateway 7")).entry
    assert held is not None
    root = {"hermes-1": dict(held.with_(consumeClaimExpiresAt=9e12).fields)}
    store.file.write_text(json.dumps(root))

    planned = program("approvals", "reconcile", "--json").json["data"]["plan"]
    ran = program("approvals", "reconcile", "--apply", "--json").json["data"]["plan"]

    assert [(row["action"], "a clock was wrong" in row["why"]) for row in planned] == [("shorten", True)]
    assert [(row["action"], row["status"]) for row in ran] == [("shorten", "consuming")]
    (entry,) = store.read()
    assert 0 < entry.fields["consumeClaimExpiresAt"] - SystemClock().now_ms() <= 60_000
    assert store.audit()[1][-1].number == "T24"


def test_an_agent_without_a_key_here(program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore) -> None:
    """Its approvals are left, that is said, and the others are asked about."""
    asked(canon, store, "hermes-1")
    theirs = store.read().entries["hermes-1"].with_(approvalId="hermes-2", agentId="agent_other")
    root: dict[str, Any] = {**json.loads(store.file.read_text()), "hermes-2": dict(theirs.fields)}
    store.file.write_text(json.dumps(root))
    canon.human.answer("hermes-1", decision="deny")

    ran = program("approvals", "reconcile", "--apply", "--json")

    assert ran.code == 1
    assert ran.json["data"]["counts"] == {"resolved": 1, "error": 1}
    assert "agent_other" in ran.json["errors"][0]["message"]
    assert statuses(store) == {"hermes-1": "resolved", "hermes-2": "pending"}
    assert len(ran.json["errors"]) == 1, "it may still be answered, and nothing is advised but the key"

    root["hermes-2"]["expiresAt"] = 1
    store.file.write_text(json.dumps(root))
    errors = program("approvals", "reconcile", "--apply", "--json").json["errors"]
    fixes = [error["fix"] for error in errors]
    assert all(error["message"].endswith(".") for error in errors)
    assert "canon-ops approvals abandon hermes-2" in fixes


def test_a_connection_breaks(program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore) -> None:
    """BR-55: it is asked about again at once; what fails again stays open, and each cause is told once with its ids."""
    asked(canon, store, "hermes-1", "hermes-2", "hermes-3")
    canon.human.answer("hermes-1", decision="allow")
    broken = canon.fault("consume-lost-response", times=2, burst=2)

    mended = program("approvals", "reconcile", "--apply", "--jobs", "2", "--json")

    assert (mended.code, broken.fired) == (0, 2)
    assert mended.json["data"]["counts"] == {"resolved": 1, "pending": 2}
    assert mended.json["errors"] == []

    canon.fault("consume-500", times=2, burst=2)

    ran = program("approvals", "reconcile", "--apply", "--jobs", "2", "--json")

    assert (ran.code, ran.json["data"]["counts"]) == (1, {"error": 2})
    (error,) = ran.json["errors"]
    assert error["code"] == "canon_trouble"
    assert error["message"].startswith("hermes-2 and 1 more: Canon answered POST /runtime-interaction/consume with")
    assert statuses(store) == {"hermes-1": "resolved", "hermes-2": "pending", "hermes-3": "pending"}
    assert {entry.is_reconcile_pending for entry in store.read() if entry.decision is None} == {True}


def test_canon_cannot_be_reached(program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore) -> None:
    """BR-55: nothing changes, and it says so."""
    asked(canon, store, "hermes-1")
    canon.stop()
    before = statuses(store)

    ran = program("approvals", "reconcile", "--apply")

    assert ran.code == 1
    assert statuses(store) == before == {"hermes-1": "pending"}


def without_owner(store: ApprovalStore, **conversations: str) -> None:
    """As the published plugin writes them: nothing says whose they are."""
    entries = json.loads(store.file.read_text())
    for name, fields in entries.items():
        for mine in ("environmentId", "agentId", "auditDigest"):
            fields.pop(mine, None)
        fields["conversationId"] = conversations.get(name.replace("-", "_"), fields["conversationId"])
    store.file.write_text(json.dumps(entries))


def test_what_may_be_another_agents_is_reported(
    program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore
) -> None:
    """A1: an entry without an owner that Canon denies, or of a room that is not this agent's, stays and is named."""
    asked(canon, store, "hermes-1", "hermes-2")
    ends = canon.endpoints
    store.apply_one("hermes-3", Reserve("hermes-3", ends.conversation_id, "c", FAR, Owner("env", "agent_1")))
    store.apply_one("hermes-3", Activate("c", FAR, "user_owner"))
    without_owner(store, hermes_2="conv_of_others")
    canon.human.approve("hermes-1")

    ran = program("approvals", "reconcile", "--apply", "--json")
    again = program("approvals", "reconcile", "--apply", "hermes-2", "hermes-2")

    assert statuses(store) == {"hermes-1": "resolved", "hermes-2": "pending", "hermes-3": "pending"}
    assert (ran.code, ran.json["data"]["left_alone"]) == (0, ["hermes-2", "hermes-3"])
    assert [line.split("\t")[:2] for line in again.out.splitlines()][:2] == [
        ["hermes-2", "ask Canon"], ["warning", "hermes-2"],
    ]  # fmt: skip


def test_what_may_be_another_agents_is_not_given_up_in_silence(
    program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore
) -> None:
    """A1, A4: its own agent may still be asked, so it stays; that nothing came of it is said, and is no success."""
    asked(canon, store, "hermes-1")
    without_owner(store, hermes_1="conv_of_others")
    entries = json.loads(store.file.read_text())
    entries["hermes-1"]["expiresAt"] = 1
    store.file.write_text(json.dumps(entries))

    ran = program("approvals", "abandon", "hermes-1", "--apply", "--json")

    assert (ran.code, statuses(store)) == (1, {"hermes-1": "pending"})
    assert "does not say whose it is" in ran.json["errors"][0]["message"]


def test_no_key_is_shown_to_another_environment(
    program: Runner, user: User, canon: CanonSandbox, store: ApprovalStore
) -> None:
    """S11.2, R11.9: where the address turns out to be another environment's, nothing is asked and no key is sent."""
    asked(canon, store, "hermes-1")
    before = store.file.read_bytes()
    sent = len(canon.journal())
    canon.fault("health-wrong-environment")

    ran = program("approvals", "reconcile", "--apply", "--json")

    assert (ran.code, ran.json["data"]["counts"], store.file.read_bytes()) == (1, {"error": 1}, before)
    assert [row["path"] for row in canon.journal()[sent:] if not row["path"].startswith("/health")] == []
