"""``canon-ops approvals abandon``: what may be given up, what is asked about first, and what is out of reach."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.events import Activate, Reserve
from canon_hermes_plugin.approvals.giving_up import What, verdict_on
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.keyring.access import KeyringProblem
from canon_ops.runtime.clock import ManualClock, SystemClock
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_files import DEV_BINDING, profile_entry
from tests.support.canon_homes import User, user_at
from tests.unit.cli.conftest import Runner

HOUR = 3_600_000


@pytest.fixture
def user(home: Path) -> User:
    return user_at(home)


@pytest.fixture
def store(home: Path) -> ApprovalStore:
    """Beside a registry with one approval that expired an hour ago, and was never asked about."""
    now_ms = SystemClock().now_ms()
    clock = ManualClock(now_ms - 3 * HOUR)
    store = ApprovalStore(home / ".canon" / "detached-approvals.json", clock=clock, process="gateway 7")
    owner = Owner("canon-dev-v1", "agent_sandbox")
    store.apply_one("hermes-1", Reserve("hermes-1", "convo-1", "c", now_ms - HOUR, owner, "Pay 100 ILS?", "owner-1"))
    store.apply_one("hermes-1", Activate("c", now_ms - HOUR, "owner-1"))
    return ApprovalStore(store.file, process="a test")


def has_profile(user: User, canon: CanonSandbox, key: str) -> None:
    ends = canon.endpoints
    binding = {**DEV_BINDING, "environmentId": ends.environment_id, "baseUrl": ends.api, "streamUrl": ends.stream}
    user.write_agents(ops=profile_entry(**{**binding, "agentId": "agent_sandbox", "apiKey": key}))


def change(store: ApprovalStore, **fields: Any) -> None:
    root = json.loads(store.file.read_text())
    root["hermes-1"] |= fields
    store.file.write_text(json.dumps(root))


def test_an_approval_whose_agent_has_no_key(program: Runner, user: User, store: ApprovalStore) -> None:
    """First the plan; then it came to nothing, the trail says who ended it and why, and nothing more is needed."""
    before = store.file.read_bytes()

    planned = program("approvals", "abandon", "hermes-1", "--json").json["data"]
    assert store.file.read_bytes() == before
    done = program("approvals", "abandon", "hermes-1", "--apply")

    (wish,) = planned["plan"]
    assert (wish["verdict"], wish["given_up"], "no key" in wish["why"]) == ("give_up", False, True)
    assert (done.code, "Gave up 1 approval." in done.out) == (0, True)
    (item,) = program("approvals", "list", "--json").json["data"]["approvals"]
    assert (item["status"], item["decision"], item["needs"]) == ("orphaned", None, "nothing")
    assert "an operator gave it up: its agent has no key" in program("approvals", "audit", "hermes-1").out
    assert program("approvals", "audit").code == 0
    again = program("approvals", "abandon", "hermes-1", "--apply", "--json")
    assert (again.code, "an operator gave it up" in again.json["data"]["plan"][0]["why"]) == (1, True)
    assert "an operator gave it up: its agent has no key" in program("approvals", "show", "hermes-1").out


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"expiresAt": 9e12}, "can still be answered"),
        ({"status": "consuming", "consumeClaimId": "k", "consumeClaimExpiresAt": "soon"}, "holds the consume lease"),
    ],
)
def test_what_is_out_of_reach(
    program: Runner, user: User, store: ApprovalStore, fields: dict[str, Any], why: str
) -> None:
    """A human may still answer, or a process is at it: --apply changes nothing and exits with 1."""
    soon = {name: SystemClock().now_ms() + 50_000 for name, value in fields.items() if value == "soon"}
    change(store, **fields | soon)
    before = store.file.read_bytes()

    ran = program("approvals", "abandon", "hermes-1", "--apply", "--json")

    (wish,) = ran.json["data"]["plan"]
    assert (ran.code, wish["verdict"], why in wish["why"]) == (1, "keep", True)
    assert store.file.read_bytes() == before


def test_canon_is_asked_first(program: Runner, user: User, store: ApprovalStore) -> None:
    """The agent's key works: what Canon says is what it comes to, and nothing is given up."""
    with CanonSandbox(CanonOptions()) as canon:
        has_profile(user, canon, canon.endpoints.agent_key)
        planned = program("approvals", "abandon", "hermes-1", "--json").json["data"]["plan"]
        done = program("approvals", "abandon", "hermes-1", "--apply", "--json").json["data"]["plan"]

    assert [(row["verdict"], row["given_up"]) for row in planned + done] == [("ask_first", False)] * 2
    (entry,) = store.read()
    assert (entry.status, "abandonedAt" in entry.fields) == ("orphaned", False)
    assert [line.number for line in store.audit()[1]][-2:] == ["T5", "T11"]


def test_a_key_that_canon_refuses(program: Runner, user: User, store: ApprovalStore) -> None:
    """There is nobody left who could ask; the key is in no output."""
    with CanonSandbox(CanonOptions()) as canon:
        has_profile(user, canon, "agk_live_sandbox_revoked")
        ran = program("approvals", "abandon", "hermes-1", "--apply", "--json")

    (wish,) = ran.json["data"]["plan"]
    assert (ran.code, wish["given_up"], "refuses the key" in wish["why"]) == (0, True, True)
    assert "agk_live_sandbox_revoked" not in ran.out + ran.err + store.trail.file.read_text()


def unreachable(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with CanonSandbox(CanonOptions()) as canon:
        has_profile(user, canon, canon.endpoints.agent_key)


def no_keyring(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise KeyringProblem("the keyring is locked")

    monkeypatch.setattr("canon_ops.cli.commands.approvals_abandon.credential_of", fails)


@pytest.mark.parametrize("trouble", [unreachable, no_keyring], ids=["canon", "keyring"])
def test_what_fails_today_may_work_tomorrow(
    program: Runner, user: User, store: ApprovalStore, monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[User, pytest.MonkeyPatch], None],
) -> None:  # fmt: skip
    """A Canon that cannot be reached, a keyring that is locked: no reason to give anything up."""
    trouble(user, monkeypatch)

    ran = program("approvals", "abandon", "hermes-1", "--apply", "--json")

    assert (ran.code, ran.json["data"]["plan"][0]["given_up"], len(ran.json["errors"])) == (1, False, 1)
    (entry,) = store.read()
    assert entry.status == "pending"


def test_a_decision_that_its_gateway_cannot_tell(program: Runner, user: User, store: ApprovalStore) -> None:
    """The agent left the room: it is told no more, and the decision stays for whoever checks it."""
    told = {"status": "resolved", "decision": "allow", "respondedBy": "owner-1", "wakeStatus": "pending"}
    change(store, **told, resolvedAt=SystemClock().now_ms())
    with CanonSandbox(CanonOptions()) as canon:
        has_profile(user, canon, canon.endpoints.agent_key)
        kept = program("approvals", "abandon", "hermes-1", "--apply", "--json").json["data"]["plan"]
        change(store, wakeError="the agent is no longer in the conversation convo-1")
        done = program("approvals", "abandon", "hermes-1", "--apply", "--json").json["data"]["plan"]

    assert [(row["verdict"], row["given_up"], row["status"]) for row in kept + done] == [
        ("keep", False, "resolved: allow"),
        ("give_up", True, "resolved: allow"),
    ]
    (entry,) = store.read()
    assert (entry.decision, entry.wake_status) == ("allow", None)


@pytest.mark.parametrize("has_key", [True, False])
def test_an_expiry_that_has_not_come_protects_whoever_has_a_key(store: ApprovalStore, has_key: bool) -> None:
    """Neither a missing key nor a refused one makes an approval that can be answered an operator's to end."""
    (entry,) = store.read()

    verdict = verdict_on(entry, has_key=has_key, now_ms=entry.expires_at_ms - 1)

    assert verdict.what is What.KEEP
