"""One registry of approvals, two programs: the published plugin, a black box in its own process, and ours.

Each reads what the other wrote in every state that both know, keeps what it does not know, and both write under the
one lock without losing an update. Source: canon-adapter R10.1-R10.5; decisions A1, A2.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.entry import Decision, Status, WakeStatus
from canon_hermes_plugin.approvals.events import (
    Activate,
    ClaimConsume,
    ClaimWake,
    Decided,
    Event,
    FinishConsume,
    FinishWake,
    Gone,
    RejectCreation,
    Reserve,
    SeeReceipt,
    StillPending,
    TimedOut,
    Unclear,
)
from canon_hermes_plugin.approvals.machine import TransitionError
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from tests.support.published import registry_interpreter

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

DRIVER = Path(__file__).parent.parent / "support" / "registry_driver.py"
LATER = 4_000_000_000_000
ROUNDS = 1_000
USER = "user_owner"


class Theirs:
    """The published plugin's registry, behind a pipe."""

    def __init__(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [str(registry_interpreter()), str(DRIVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "CANON_HOME": str(home)},
        )

    def call(self, name: str, *args: Any, answer: Any = None, **more: Any) -> Any:
        """What one of its functions returns."""
        return self.asked({"do": "call", "name": name, "args": args, "more": more, "answer": answer})["result"]

    def asked(self, order: dict[str, Any]) -> Any:
        self.start(order)
        return self.answer()

    def start(self, order: dict[str, Any]) -> None:
        """Give an order and go on."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        answer = json.loads(self._process.stdout.readline())
        assert not (isinstance(answer, dict) and "error" in answer), answer
        return answer

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "canon"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def store(home: Path) -> ApprovalStore:
    return ApprovalStore(home / "detached-approvals.json", lock_s=60)


@pytest.fixture
def theirs(home: Path) -> Iterator[Theirs]:
    running = Theirs(home)
    yield running
    running.stop()


def reserve(approval_id: str) -> Reserve:
    return Reserve(
        approval_id, "conv_1", "c1", LATER, Owner("env_1", "agent_1"), summary="File it", expected_responder=USER,
        session_key="session_1", process="ours",
    )  # fmt: skip


CREATED = (Activate("c1", LATER, USER),)
CLAIMED = (*CREATED, ClaimConsume("c2", "ours"))
ALLOWED = (*CLAIMED, FinishConsume("c2", Decided(Decision.ALLOW, USER), wakes=True))
DENIED = (*CLAIMED, FinishConsume("c2", Decided(Decision.DENY, USER), wakes=False))
OURS: dict[str, tuple[Event, ...]] = {
    "creating": (),
    "creating-receipt": (SeeReceipt(),),
    "pending": CREATED,
    "pending-receipt": (*CREATED, SeeReceipt()),
    "pending-again": (*CLAIMED, FinishConsume("c2", StillPending(LATER + 1), wakes=True)),
    "pending-unclear": (*CLAIMED, FinishConsume("c2", Unclear(), wakes=True)),
    "consuming": CLAIMED,
    "resolved-deny": DENIED,
    "resolved-wake-pending": ALLOWED,
    "resolved-wake-delivering": (*ALLOWED, ClaimWake("c3", "ours")),
    "resolved-wake-delivered": (*ALLOWED, ClaimWake("c3"), FinishWake("c3", is_delivered=True)),
    "resolved-wake-failed": (*ALLOWED, ClaimWake("c3"), FinishWake("c3", is_delivered=False, why="busy")),
    "expired": (*CLAIMED, FinishConsume("c2", TimedOut(), wakes=True)),
    "orphaned": (RejectCreation("c1", "refused"),),
    "orphaned-gone": (*CLAIMED, FinishConsume("c2", Gone(), wakes=True)),
    "orphaned-responder": (Activate("c1", LATER, "user_other"),),
    "orphaned-answer": (*CLAIMED, FinishConsume("c2", Decided(Decision.ALLOW, "user_other"), wakes=True)),
}


def test_it_reads_and_keeps_every_state_that_we_write(home: Path, store: ApprovalStore, theirs: Theirs) -> None:
    """R10.5: it sees each entry as it stands in the file; what it writes leaves ours as they were, unknown keys too."""
    for name, events in OURS.items():
        for event in (reserve(name), *events):
            store.apply_one(name, event)
    written = json.loads(store.file.read_text())

    read = theirs.call("load_registry")
    theirs.call("record_pending", "another", "conv_2", expires_at=LATER)

    after = json.loads(store.file.read_text())
    assert read == written
    assert {*(entry["status"] for entry in read.values())} == {*Status}
    assert after.pop("another")["status"] == "pending"
    assert after == written
    assert after["pending"]["requestingSessionKey"] == "session_1"
    assert stat.S_IMODE(store.file.stat().st_mode) == 0o600
    assert store.read().damaged == {}


def test_it_goes_on_where_we_stopped(store: ApprovalStore, theirs: Theirs) -> None:
    """R10.10: it consumes what we created and wakes for what we resolved; a lease that we hold it leaves alone."""
    for name in ("pending", "consuming", "resolved-wake-pending", "resolved-wake-delivering"):
        for event in (reserve(name), *OURS[name]):
            store.apply_one(name, event)
    allow = {"status": "allow", "decision": "allow", "respondedBy": USER}

    for name in ("pending", "consuming"):
        theirs.call("check_detached_approval", "$client", name, answer=allow)
    claims = [theirs.call("claim_wake", name)[0] for name in ("resolved-wake-pending", "resolved-wake-delivering")]

    book = store.read()
    held = book.entries["consuming"].lease
    assert book.entries["pending"].status is Status.RESOLVED
    assert book.entries["pending"].responded_by == USER
    assert book.entries["consuming"].status is Status.CONSUMING and held is not None and held[1].id == "c2"
    assert claims[0] is not None and claims[1] is None
    assert book.entries["resolved-wake-pending"].wake_status is WakeStatus.DELIVERING


def test_we_read_every_state_that_it_writes(store: ApprovalStore, theirs: Theirs) -> None:
    """R10.5: no entry of the published plugin is damaged for us, in any of its states; leases count."""
    theirs.call("record_creating", "creating", "conv_1", expires_at=LATER, summary="s", response_user_id=USER)
    failed = theirs.call("record_creating", "orphaned", "conv_1", expires_at=LATER)
    theirs.call("fail_creation", "orphaned", failed["createClaimId"], reason="refused")
    made = theirs.call("record_creating", "pending", "conv_1", expires_at=LATER, response_user_id=USER)
    theirs.call("activate_created", "pending", made["createClaimId"], expires_at=LATER, response_user_id=USER)
    for name in ("receipt", "deny", "wake", "delivering", "delivered", "expired"):
        theirs.call("record_pending", name, "conv_1", expires_at=LATER, response_user_id=USER)
    theirs.call("mark_receipt_pending", "receipt")
    theirs.call("mark_resolved", "deny", "deny", responded_by=USER)
    for name in ("wake", "delivering", "delivered"):
        theirs.call("mark_resolved", name, "allow", responded_by=USER, wake_required=True)
    theirs.call("claim_wake", "delivering")
    theirs.call("finish_wake", "delivered", theirs.call("claim_wake", "delivered")[0], delivered=True)
    order = {"name": "check_detached_approval", "args": ["$client", "expired"], "more": {}}
    meanwhile = theirs.asked({"do": "call", **order, "answer": {"status": "timeout"}})["meanwhile"]

    book = store.read()
    store.file.write_text(json.dumps(meanwhile))
    consuming = store.read().entries["expired"]

    assert (book.damaged, store.read().damaged) == ({}, {})
    found = {
        name: (entry.status.value, entry.wake_status and entry.wake_status.value)
        for name, entry in book.entries.items()
    }
    assert found == {
        "creating": ("creating", None), "pending": ("pending", None), "receipt": ("pending", None),
        "deny": ("resolved", None), "wake": ("resolved", "pending"), "delivering": ("resolved", "delivering"),
        "delivered": ("resolved", "delivered"), "expired": ("expired", None), "orphaned": ("orphaned", None),
    }  # fmt: skip
    assert book.entries["receipt"].is_receipt_pending
    assert consuming.status is Status.CONSUMING and consuming.lease is not None
    assert book.entries["creating"].lease is not None and book.entries["delivering"].lease is not None


def test_neither_loses_what_the_other_writes(store: ApprovalStore, theirs: Theirs) -> None:
    """A2: a thousand rounds in both processes at once: every entry is there, and every mark that was reported."""
    theirs.start({"do": "rounds", "count": ROUNDS})
    marked = []
    for number in range(ROUNDS):
        name = f"ours-{number}"
        store.apply_one(name, reserve(name))
        try:
            if store.apply_one(f"theirs-{number}", SeeReceipt()).is_change:
                marked.append(f"theirs-{number}")
        except TransitionError:
            continue  # it is not there yet
    marked += theirs.answer()

    book = store.read()

    assert {*book.entries} == {f"{who}-{number}" for who in ("ours", "theirs") for number in range(ROUNDS)}
    assert [name for name in marked if not book.entries[name].is_receipt_pending] == []
    assert len(marked) >= ROUNDS / 2
    assert store.audit()[2] == [], "its receipts are no tampering, and no line of ours is lost or moved"
    assert [file.name for file in store.file.parent.glob("*.tmp")] == []
