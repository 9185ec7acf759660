"""A registry that is gone while something is known of it: nobody says that nothing waits for an answer."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from canon_hermes_plugin.approvals import store as stores
from canon_hermes_plugin.approvals.events import Activate, Reserve
from canon_hermes_plugin.approvals.gateway import GatewayApprovals
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.approvals.wish import read_wish
from canon_hermes_plugin.complaints import Complaints
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.state.place import approvals_record, approvals_trail
from tests.support.approving import Approving
from tests.unit.cli.conftest import Runner

LOGGER = logging.getLogger("a-gateway-without-its-registry")


def _without_record(file: Path, record: Path) -> None:
    file.unlink()
    record.unlink()


def _without_trail(file: Path, record: Path) -> None:
    file.unlink()
    approvals_trail(file).unlink()


WAYS: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "the file": (lambda file, record: file.unlink(), "its audit trail names 2 approvals"),
    "the file and the record": (_without_record, "its audit trail names 2 approvals"),
    "the file and the trail": (_without_trail, "its audit trail is not what was left there either"),
    "the whole folder": (
        lambda file, record: shutil.rmtree(file.parent),
        "its audit trail is not what was left there either",
    ),
}
LOOKS = (
    ("list",), ("list", "--json"), ("show", "hermes-1"), ("export",), ("export", "--format", "csv"), ("watch",),
    ("reconcile",), ("reconcile", "--apply"), ("abandon", "hermes-1", "--apply"), ("prune", "--dry-run"),
    ("verify", "--quarantine"),
)  # fmt: skip


def _store(file: Path, record: Path | None) -> ApprovalStore:
    return ApprovalStore(file, process="gateway 7", elsewhere=record)


def _open_one(store: ApprovalStore, name: str) -> None:
    store.apply_one(name, Reserve(name, "convo-1", "c", 9e12, Owner("env", "agent_1"), "Pay?", "owner-1", process="g"))
    store.apply_one(name, Activate("c", 9e12, "owner-1"))


@pytest.fixture
def file(home: Path) -> Path:
    """Two that wait for their answers."""
    record = approvals_record(home / ".hermes")
    record.parent.mkdir(parents=True)
    store = _store(home / ".canon" / "detached-approvals.json", record)
    _open_one(store, "hermes-1")
    _open_one(store, "hermes-2")
    return store.file


@pytest.fixture
def record(home: Path) -> Path:
    return approvals_record(home / ".hermes")


@pytest.mark.parametrize("look", LOOKS, ids=" ".join)
@pytest.mark.parametrize("way", WAYS)
def test_no_look_takes_it_for_empty(program: Runner, file: Path, record: Path, way: str, look: tuple[str, ...]) -> None:
    """Each fails with what is known, prints nothing that says "none", and makes no file."""
    take, known = WAYS[way]
    take(file, record)

    ran = program("approvals", *look)

    told = ran.json["errors"][0]["message"] if "--json" in look else ran.err
    assert ran.code == 3
    assert f"he registry of approvals {file} is gone, and {known}" in told
    assert "canon-ops approvals audit" in (ran.out if "--json" in look else ran.err)
    assert "--json" in look or ran.out == ""
    assert not file.exists()


@pytest.mark.parametrize("way", WAYS)
def test_those_who_look_after_it_name_it(program: Runner, file: Path, record: Path, way: str) -> None:
    """``verify`` has a fault, ``status`` and the doctor an error; the checks that read it have nothing to say."""
    take, known = WAYS[way]
    take(file, record)

    verified, status = program("approvals", "verify", "--json"), program("status", "--json")
    doctor = program("doctor", "--area", "approvals", "--json")

    (fault,) = verified.json["data"]["faults"]
    assert (verified.code, verified.json["data"]["readable"], known in fault["what"]) == (1, False, True)
    (profile,) = status.json["data"]["profiles"]
    assert [(row["code"], known in row["message"]) for row in profile["in_the_way"] if row["about"] == "approvals"] == [
        ("approvals_gone", True)
    ]
    assert {row["id"]: row["status"] for row in doctor.json["data"]["checks"]} == {
        "approvals.registry": "error",
        "approvals.lease": "skipped",
        "approvals.wake": "skipped",
        "approvals.expiring": "skipped",
    }


@pytest.mark.parametrize("way", WAYS)
def test_looked_into_it_is_an_empty_one(program: Runner, file: Path, record: Path, way: str) -> None:
    """What somebody answers for stands in the trail, and from there on nothing waits as far as anybody knows."""
    take, _ = WAYS[way]
    take(file, record)

    looked_into = program("approvals", "audit", "--acknowledge", "the disk was restored", "--yes")

    assert looked_into.code == 0, looked_into.err
    assert program("approvals", "list", terminal=True).out == "There are no approvals.\n"
    assert program("approvals", "verify").code == 0


def test_put_back_it_is_as_it_was(program: Runner, file: Path) -> None:
    """The same bytes are the registry again."""
    data = file.read_bytes()
    file.unlink()
    program("approvals", "list")

    file.write_bytes(data)
    file.chmod(0o600)

    assert [line.split("\t")[0] for line in program("approvals", "list").out.splitlines()] == ["hermes-2", "hermes-1"]
    assert program("approvals", "audit").code == 0


def test_a_first_approval_that_a_crash_kept_out_is_no_loss(
    program: Runner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trail tells before the registry does, so a trail with nothing but that is what a crash leaves."""
    record = approvals_record(home / ".hermes")
    record.parent.mkdir(parents=True)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(stores, "replace_file", _killed)
        _open_one(_store(home / ".canon" / "detached-approvals.json", record), "hermes-1")

    assert approvals_trail(home / ".canon" / "detached-approvals.json").read_bytes()
    assert (program("approvals", "list").code, program("approvals", "verify").code) == (0, 0)


def _killed(*_args: object, **_more: object) -> None:
    raise KeyboardInterrupt


def test_a_gateway_says_so_when_it_starts(file: Path, record: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is told once, with the command that says more; what is asked from then on is asked."""
    file.unlink()

    with caplog.at_level(logging.WARNING, LOGGER.name):
        status = asyncio.run(_start_and_ask(file.parent))

    assert f"Canon: approvals: the registry of approvals {file} is gone" in caplog.text
    assert "Fix: canon-ops approvals audit" in caplog.text
    assert status == "pending"


async def _start_and_ask(folder: Path) -> str:
    world = Approving(folder)
    approvals = GatewayApprovals(world.service, complaints=Complaints(LOGGER, world.clock), clock=world.clock)
    running = asyncio.create_task(approvals.run())
    try:
        for _ in range(3):
            await world.clock.advance(31)
        asked = await world.service.request(
            read_wish(question="Pay?"), conversation_id="convo-1", responder=None, session_key=None
        )
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return str(asked["status"])
