"""What the doctor finds in a registry: each fault is written by hand, as a dead process leaves it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.events import Reserve
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.doctor_checks import CHECKS
from canon_hermes_plugin.state.owner import Owner
from canon_ops.doctor.check import Finding, Status
from canon_ops.doctor.examination import Examination, FactMissing
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import resolve_home
from canon_ops.runtime.clock import ManualClock

NOW = 1_790_000_000_000
HOUR = 3_600_000
BY_ID = {check.id: check.run for check in CHECKS if check.area == "approvals"}

PENDING: dict[str, Any] = {
    "approvalId": "hermes-a",
    "conversationId": "c1",
    "status": "pending",
    "expiresAt": NOW + 24 * HOUR,
    "requestedAt": NOW - HOUR,
    "summary": "Pay?",
    "responseUserId": "owner-1",
    "environmentId": "env",
    "agentId": "agent_1",
}
RESOLVED = PENDING | {"status": "resolved", "decision": "allow", "respondedBy": "owner-1", "resolvedAt": NOW - HOUR}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "canon"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def examination(tmp_path: Path, folder: Path) -> Examination:
    environ = {"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), "CANON_HOME": str(folder)}
    return Examination(resolve_home(environ), environ, clock=ManualClock(NOW))


def write(folder: Path, text: str, mode: int = 0o600) -> None:
    file = folder / "detached-approvals.json"
    file.write_text(text)
    file.chmod(mode)


def entry(**changes: Any) -> str:
    return json.dumps({"hermes-a": PENDING | changes})


def look(check_id: str, examination: Examination) -> tuple[Finding, ...]:
    answer = BY_ID[check_id](examination)
    assert isinstance(answer, Finding | tuple)
    return answer if isinstance(answer, tuple) else (answer,)


def test_nothing_was_asked_for(examination: Examination, folder: Path) -> None:
    """Looking at a home without approvals makes no file."""
    assert [look(name, examination)[0].status for name in BY_ID] == [Status.OK] * 4
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("gone", ["registry", "registry and trail", "the whole folder"])
def test_a_registry_that_is_gone(examination: Examination, folder: Path, tmp_path: Path, gone: str) -> None:
    """An approval was open, and its file was deleted: that is not the same as never having asked for one."""
    elsewhere = tmp_path / "plugins" / "canon" / "approvals.heads"
    elsewhere.parent.mkdir(parents=True)
    store = ApprovalStore(folder / "detached-approvals.json", elsewhere=elsewhere)
    store.apply_one("hermes-a", Reserve("hermes-a", "c1", "c", NOW + HOUR, Owner("env", "agent_1")))
    if gone == "the whole folder":
        shutil.rmtree(folder)
    else:
        store.file.unlink()
    if gone == "registry and trail":
        store.trail.file.unlink()

    found, *_ = look("approvals.registry", examination)

    assert (found.status, "does not fit" in found.message) == (Status.ERROR, True)
    assert found.fix is not None and "approvals audit" in found.fix.command
    for name in BY_ID.keys() - {"approvals.registry"}:
        with pytest.raises(FactMissing, match=r"approvals\.registry"):
            look(name, examination)


def test_a_registry_behind_a_link_to_nowhere(examination: Examination, folder: Path) -> None:
    """It cannot be read, and the doctor says so."""
    (folder / "detached-approvals.json").symlink_to(folder / "away" / "registry.json")

    with pytest.raises(CanonOpsError, match="does not exist"):
        look("approvals.registry", examination)


def test_a_whole_registry(examination: Examination, folder: Path) -> None:
    """An approval that waits for its human in peace is no finding."""
    write(folder, entry())

    assert [look(name, examination)[0].status for name in BY_ID] == [Status.OK] * 4


def claim(kind: str, until_ms: int) -> dict[str, Any]:
    return {f"{kind}ClaimId": "x", f"{kind}ClaimExpiresAt": until_ms}


SEEDED = [
    pytest.param("approvals.registry", "{not json", Status.ERROR, "cannot be read", "verify", id="unparsable"),
    pytest.param("approvals.registry", "[]", Status.ERROR, "cannot be read", "verify", id="wrong-root"),
    pytest.param("approvals.registry", entry(conversationId=" "), Status.ERROR, "hermes-a", "verify", id="damaged"),
    pytest.param("approvals.registry", entry(status="paused"), Status.ERROR, "'paused'", "verify", id="newer-status"),
    pytest.param(
        "approvals.lease",
        entry(status="consuming", **claim("consume", NOW - HOUR)),
        Status.WARNING,
        "its process is gone",
        "reconcile hermes-a --apply",
        id="dead-consumer",
    ),
    pytest.param(
        "approvals.lease",
        entry(status="creating", **claim("create", NOW - HOUR)),
        Status.WARNING,
        "create step of hermes-a",
        "reconcile hermes-a --apply",
        id="dead-creator",
    ),
    pytest.param(
        "approvals.lease",
        entry(status="consuming", **claim("consume", NOW + 48 * HOUR)),
        Status.WARNING,
        "a clock was wrong",
        "reconcile hermes-a --apply",
        id="clock-jumped",
    ),
    pytest.param(
        "approvals.expiring",
        entry(expiresAt=NOW - HOUR),
        Status.WARNING,
        "nobody has asked Canon",
        "reconcile hermes-a --apply",
        id="past-its-end",
    ),
    pytest.param(
        "approvals.expiring",
        entry(expiresAt=NOW + HOUR // 2),
        Status.WARNING,
        "Pay?",
        "show hermes-a",
        id="near-its-end",
    ),
    pytest.param(
        "approvals.wake",
        json.dumps({"hermes-a": RESOLVED | {"wakeStatus": "pending"}}),
        Status.WARNING,
        "no gateway of its agent runs",
        "show hermes-a",
        id="wake-owed",
    ),
    pytest.param(
        "approvals.wake",
        json.dumps({"hermes-a": RESOLVED | {"wakeStatus": "pending", "wakeError": "the agent left c1"}}),
        Status.WARNING,
        "the agent left c1",
        "show hermes-a",
        id="wake-refused",
    ),
    pytest.param(
        "approvals.wake",
        entry(status="orphaned", resolvedAt=NOW - HOUR, identityMismatch=True, respondedBy="user-2"),
        Status.WARNING,
        "answered by user-2",
        "show hermes-a",
        id="wrong-human",
    ),
    pytest.param(
        "approvals.wake",
        entry(status="orphaned", resolvedAt=NOW - HOUR, cancelPending=True),
        Status.WARNING,
        "may still be open at Canon",
        "reconcile hermes-a --apply",
        id="not-taken-back",
    ),
]


@pytest.mark.parametrize(("check_id", "text", "status", "words", "fix"), SEEDED)
def test_a_seeded_fault(
    examination: Examination, folder: Path, check_id: str, text: str, status: Status, words: str, fix: str
) -> None:
    """A3, D46-D48: each fault is found by one check, with its cure; the file stays as it is to the byte."""
    write(folder, text)

    found = look(check_id, examination)

    assert [(one.status, one.fix is not None) for one in found] == [(status, True)]
    assert words in found[0].message
    assert found[0].fix is not None and fix in found[0].fix.command
    assert (folder / "detached-approvals.json").read_text() == text


def test_a_registry_that_others_can_read(examination: Examination, folder: Path) -> None:
    """D45: the mode is named, and the cure."""
    write(folder, entry(), mode=0o644)

    (finding,) = look("approvals.registry", examination)

    assert (finding.status, "0644" in finding.message) == (Status.WARNING, True)
    assert finding.fix is not None and finding.fix.command.startswith("chmod 600 ")


def cut_line(folder: Path) -> None:
    trail = folder / "detached-approvals.audit"
    trail.write_bytes(b"".join(trail.read_bytes().splitlines(keepends=True)[:-1]))


def edit_line(folder: Path) -> None:
    trail = folder / "detached-approvals.audit"
    trail.write_bytes(trail.read_bytes().replace(b"creating", b"resolved", 1))


@pytest.mark.parametrize("tamper", [cut_line, edit_line])
def test_a_history_that_was_changed(examination: Examination, folder: Path, tamper: Callable[[Path], None]) -> None:
    """A line of the audit trail that was cut off or edited is found."""
    store = ApprovalStore(folder / "detached-approvals.json", clock=ManualClock(NOW))
    for number in range(2):
        name = f"hermes-{number}"
        store.apply_one(name, Reserve(name, "c1", "claim", NOW + HOUR, Owner("env", "agent_1"), "Pay?"))
    tamper(folder)

    found = look("approvals.registry", examination)

    assert {one.status for one in found} == {Status.ERROR}
    assert all(one.fix is not None and "approvals audit" in one.fix.command for one in found)


def test_a_history_that_somebody_changed_is_told_until_a_person_has_looked(
    examination: Examination, folder: Path
) -> None:
    """Later changes do not hide it; the sentence says where it is told and what leads out."""
    store = ApprovalStore(folder / "detached-approvals.json", clock=ManualClock(NOW))
    for number in range(2):
        name = f"hermes-{number}"
        store.apply_one(name, Reserve(name, "c1", "claim", NOW + HOUR, Owner("env", "agent_1"), "Pay?"))
    store.file.write_text(store.file.read_text().replace("Pay?", "Pay all?", 1))
    store.apply_one("hermes-2", Reserve("hermes-2", "c1", "claim", NOW + HOUR, Owner("env", "agent_1"), "Pay?"))

    (finding,) = look("approvals.registry", examination)

    assert (finding.status, "Line 3 of the audit trail tells" in finding.message) == (Status.ERROR, True)
    assert "nobody has acknowledged it: hermes-0: was changed" in finding.message
    assert finding.fix is not None and "approvals audit" in finding.fix.command


def test_an_unreadable_registry_stops_the_other_checks_only(examination: Examination, folder: Path) -> None:
    """A3: the file that cannot be read is one check's finding; the others are skipped and name it."""
    write(folder, "{not json")

    for name in ("approvals.lease", "approvals.expiring", "approvals.wake"):
        with pytest.raises(FactMissing, match=r"approvals\.registry"):
            look(name, examination)
