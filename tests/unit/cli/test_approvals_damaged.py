"""A damaged registry of each kind, and what ``list``, ``verify``, the doctor, a gateway and its tool say of it.

Nobody overwrites it. A file that cannot be understood stops approvals; a single entry that is none stops itself only,
and stays in the file as it was, whatever is written beside it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.gateway import GatewayApprovals
from canon_hermes_plugin.approvals.store import RegistryDamaged
from canon_hermes_plugin.approvals.wish import read_wish
from canon_hermes_plugin.complaints import Complaints
from tests.support.approving import Approving
from tests.unit.cli.conftest import Runner

LOGGER = logging.getLogger("a-gateway-with-a-damaged-registry")
WHOLE: dict[str, Any] = {
    "approvalId": "hermes-1",
    "conversationId": "convo-1",
    "status": "pending",
    "expiresAt": 1_790_000_000_000,
    "summary": "Pay 100 ILS?",
}
RESOLVED = WHOLE | {"status": "resolved", "decision": "allow", "respondedBy": "owner-1"}

FILES = {
    "empty": (b"", "Expecting value"),
    "no JSON": (b"{not json", "Expecting property name"),
    "cut off": (json.dumps({"hermes-1": WHOLE})[:-9].encode(), "line 1, column"),
    "a list": (b"[]", "its root is no object"),
    "a text": (b'"hermes-1"', "its root is no object"),
    "not UTF-8": (b'{"hermes-1": "\xff"}', "byte 14 is not UTF-8"),
    "an id twice": (b'{"hermes-1": {}, "hermes-1": {}}', "stands there twice"),
    "no number": (b'{"hermes-1": {"expiresAt": NaN}}', "NaN is no number"),
    "nested too deeply": (b'{"a":' * 100_000, "nested too deeply"),
    "a number without end": (b'{"hermes-1": {"expiresAt": ' + b"9" * 5_000 + b"}}", "4300 digits"),
}
ENTRIES: dict[str, tuple[Any, str]] = {
    "no object": (["pending"], "is no object"),
    "another's id": (WHOLE | {"approvalId": "hermes-2"}, "names another approvalId"),
    "no conversation": (WHOLE | {"conversationId": " "}, "has no conversationId"),
    "no expiry": (WHOLE | {"expiresAt": "tomorrow"}, "has no expiresAt"),
    "a status of the future": (WHOLE | {"status": "escalated"}, "has the status 'escalated'"),
    "no decision": (WHOLE | {"status": "resolved"}, "is resolved without a decision"),
    "a third decision": (RESOLVED | {"decision": "maybe"}, "is resolved without a decision"),
    "no lease": (WHOLE | {"status": "consuming"}, "lacks the consume lease"),
    "half a lease": (WHOLE | {"consumeClaimId": "k"}, "has half a consume lease"),
    "a wake of the future": (RESOLVED | {"wakeStatus": "postponed"}, "has the wakeStatus 'postponed'"),
    "a wake without a lease": (RESOLVED | {"wakeStatus": "delivering"}, "lacks the wake lease"),
    "a wake without a decision": (WHOLE | {"wakeStatus": "pending"}, "owes a wake and has no decision"),
    "a wake of an orphan": (WHOLE | {"status": "orphaned", "wakeStatus": "blocked"}, "owes a wake and has no decision"),
    "a summary that is none": (WHOLE | {"summary": 7}, "has a summary that is no text"),
    "a flag that is none": (WHOLE | {"receiptPending": "yes"}, "is neither true nor false"),
    "a time that is none": (WHOLE | {"requestedAt": True}, "that is no time"),
}


@pytest.fixture
def file(home: Path) -> Path:
    (home / ".hermes").mkdir()
    folder = home / ".canon"
    folder.mkdir(mode=0o700)
    return folder / "detached-approvals.json"


def write(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    file.chmod(0o600)


def doctor(program: Runner) -> tuple[int, list[str]]:
    """The code of a doctor that looks at the registry only, and what it says of it."""
    ran = program("doctor", "--only", "approvals.registry", "--json")
    return ran.code, [check["message"] for check in ran.json["data"]["checks"] if check["status"] == "error"]


async def told_by_a_gateway(world: Approving) -> None:
    """A gateway starts, hears an answer, looks around, and is asked for an approval by its agent."""
    approvals = GatewayApprovals(world.service, complaints=Complaints(LOGGER, world.clock), clock=world.clock)
    running = asyncio.create_task(approvals.run())
    await approvals.heard("hermes-1")
    await approvals.drain()
    try:
        await world.clock.advance(61)
        await world.service.check("hermes-1", conversation_id="convo-1")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_cannot_be_read(program: Runner, file: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Issue, must show 6: everybody names the place and the command that helps, and the bytes stay."""
    data, why = FILES[kind]
    write(file, data)
    world = Approving(file.parent)

    listed, verified, found = program("approvals", "list"), program("approvals", "verify", "--json"), doctor(program)
    with caplog.at_level(logging.WARNING, LOGGER.name), pytest.raises(RegistryDamaged, match="cannot be read") as told:
        asyncio.run(told_by_a_gateway(world))
    with pytest.raises(RegistryDamaged):
        asyncio.run(_ask(world))

    assert (listed.code, why in listed.err, "canon-ops approvals verify" in listed.err) == (3, True, True)
    assert (verified.code, why in json.dumps(verified.json)) == (1, True)
    assert (found[0], len(found[1]), why in found[1][0]) == (1, 1, True)
    assert why in caplog.text and "canon-ops approvals verify" in caplog.text
    assert why in told.value.what
    assert (file.read_bytes(), world.canon.creates, world.canon.consumes) == (data, [], [])


async def _ask(world: Approving) -> str:
    result = await world.service.request(
        read_wish(question="Pay?"), conversation_id="convo-1", responder=None, session_key=None
    )
    return str(result["approvalId"])


@pytest.mark.parametrize("kind", ENTRIES)
def test_an_entry_that_is_none(program: Runner, file: Path, kind: str) -> None:
    """Issue, must show 6, A3: it is listed as damaged, verify and doctor fail, a check of it fails and asks nothing;
    the others live, and every write keeps it as it was."""
    value, why = ENTRIES[kind]
    write(file, json.dumps({"hermes-1": value}).encode())
    world = Approving(file.parent)

    listed, verified, found = (
        program("approvals", "list", "--json"), program("approvals", "verify", "--json"), doctor(program),
    )  # fmt: skip
    with pytest.raises(Exception, match="whether it was answered is unknown"):
        asyncio.run(told_by_a_gateway(world))
    fresh = asyncio.run(_ask(world))

    (row,) = listed.json["data"]["damaged"]
    (fault,) = verified.json["data"]["faults"]
    root = json.loads(file.read_text())
    assert (listed.code, row["approval_id"], why in json.dumps(row)) == (0, "hermes-1", True)
    assert (verified.code, fault["approval_id"], why in json.dumps(fault)) == (1, "hermes-1", True)
    assert (found[0], len(found[1]), why in found[1][0]) == (1, 1, True)
    assert (root["hermes-1"], root[fresh]["status"], world.canon.consumes) == (value, "pending", [])


OPTIONAL = (
    "requestedAt", "summary", "responseUserId", "createClaimId", "createClaimExpiresAt", "createClaimOwner",
    "createdFromClaimId", "createdAt", "creationRecoveredAt", "creationError", "identityMismatch", "consumeClaimId",
    "consumeClaimExpiresAt", "consumeClaimOwner", "decision", "respondedBy", "resolvedAt", "wakeStatus", "wakeClaimId",
    "wakeClaimExpiresAt", "wakeClaimOwner", "wakeDeliveredAt", "receiptPending", "receiptSeenAt", "reconcilePending",
    "environmentId", "agentId", "requestingSessionKey", "wakeError", "cancelPending", "abandonedAt", "abandonReason",
    "auditDigest",
)  # fmt: skip
LOOKS = (
    ("list",), ("show", "hermes-1"), ("export",), ("export", "--format", "csv"), ("verify",), ("audit",),
    ("prune", "--dry-run"), ("reconcile",), ("abandon", "hermes-1"),
)  # fmt: skip


@pytest.mark.parametrize("base", [WHOLE, RESOLVED], ids=["open", "resolved"])
@pytest.mark.parametrize("look", LOOKS, ids=" ".join)
def test_null_is_as_good_as_absent(program: Runner, file: Path, base: dict[str, Any], look: tuple[str, ...]) -> None:
    """R10.5: another program may write null where a field has nothing to say; no look stumbles over it."""
    write(file, json.dumps({"hermes-1": dict.fromkeys(OPTIONAL) | base}).encode())
    with_nulls = program("approvals", *look, "--json").json["data"]
    write(file, json.dumps({"hermes-1": base}).encode())

    assert with_nulls == program("approvals", *look, "--json").json["data"]


@pytest.mark.parametrize(
    ("count", "told"),
    [(1, "1 entry is damaged, and left as it is."), (2, "2 entries are damaged, and left as they are.")],
)
def test_status_counts_the_damaged_entries(program: Runner, file: Path, count: int, told: str) -> None:
    """One is spoken of as one."""
    write(file, json.dumps({f"hermes-{number}": 1 for number in range(count)}).encode())

    assert told in program("status").out
