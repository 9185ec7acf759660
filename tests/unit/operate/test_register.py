"""Registering against the loopback Canon: one run, its failures, and the runs that go on after them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from canon_ops.client.errors import ApiError, TransportFailure
from canon_ops.client.registration import RegistrationApi
from canon_ops.errors import CanonOpsError, ExitCode, OutsideError
from canon_ops.operate.local_files import LocalFilesStore
from canon_ops.operate.register import AcknowledgementFailed, RegistrationRun, RegistrationUnknown, mint_local_id
from canon_ops.operate.registration_steps import Phase, Registration, RegistrationRefused, RequestNotOurs, begin
from canon_ops.runtime.clock import SystemClock
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.settings.environments import Connection, connection_for
from canon_ops.settings.paths import CanonPaths
from canon_ops.settings.pending import Wanted
from canon_ops.settings.problems import AgentDiffers, DamagedFile, PendingUnbound
from tests.support.sandboxes import canon_box

OWNER = "+15550100"


class Desk:
    """A Canon home, a way to run a registration in it, and what it bound."""

    def __init__(self, home: Path, box: CanonSandbox) -> None:
        self.paths = CanonPaths.from_environ({"CANON_HOME": str(home)}, home)
        self.box = box
        self.bound: list[str] = []

    @property
    def connection(self) -> Connection:
        ends = self.box.endpoints
        return connection_for(
            ends.environment_id,
            base_url=ends.api,
            stream_url=ends.stream,
            rtdb_url="http://127.0.0.1:9",
            firebase_api_key="loopback",
        )

    async def register(
        self,
        *,
        wait_s: float = 5.0,
        every_s: float = 0.01,
        start_over: bool = False,
        connection: Connection | None = None,
        **wish: Any,
    ) -> Registration:
        clock = SystemClock()
        wanted = Wanted(
            "ops", connection or self.connection, **{"owner_phone": OWNER, "new_local_id": mint_local_id(), **wish}
        )
        async with RegistrationApi(wanted.connection, clock=clock) as calls:
            run = RegistrationRun(
                begin(wanted, start_over=start_over),
                calls,
                LocalFilesStore(self.paths),
                clock,
                self.bound.append,
                wait_s=wait_s,
                every_s=every_s,
            )
            return await run.carry_out()

    def pending(self) -> dict[str, Any]:
        return json.loads(self.paths.pending_file.read_bytes())  # type: ignore[no-any-return]

    def agents(self) -> dict[str, Any]:
        return json.loads(self.paths.agents_file.read_bytes())  # type: ignore[no-any-return]

    def count(self, method: str, path: str) -> int:
        return sum(1 for entry in self.box.journal() if entry["method"] == method and path in entry["path"])


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    with canon_box(auto_approve=True) as box:
        yield Desk(tmp_path / "canon", box)


@pytest.fixture
def undecided(tmp_path: Path) -> Any:
    with canon_box() as box:
        yield Desk(tmp_path / "canon", box)


async def test_a_registration_ends_with_a_complete_profile(desk: Desk) -> None:
    """SC.11: the whole way, the key that Canon minted is stored, acknowledged with the token, and bound."""
    done = await desk.register(agent_name="Ops Hermes", description="Desk")

    entry = desk.agents()["ops"]
    assert done.phase is Phase.REGISTERED
    assert entry == {
        "agentId": done.agent_id,
        "agentName": "Ops Hermes",
        "apiKey": desk.box.engine.read(lambda world: world.agents[str(done.agent_id)].api_key),
        "clientType": "hermes",
        "registeredAt": entry["registeredAt"],
        **desk.connection.binding(),
    }
    assert desk.pending() == {}
    assert desk.bound == ["ops"]
    assert desk.box.engine.read(lambda world: [r.acknowledged for r in world.registrations.values()]) == [True]


async def test_both_files_are_private(desk: Desk) -> None:
    """SC.15: mode 0600 for the files and 0700 for their folder, whatever the umask says."""
    before = os.umask(0o002)
    try:
        await desk.register()
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (desk.paths.agents_file, desk.paths.pending_file)}
    assert modes == {"agents.json": 0o600, "pending-registrations.json": 0o600}
    assert stat.S_IMODE(desk.paths.home.stat().st_mode) == 0o700


async def test_a_failed_acknowledgement_is_all_that_the_next_run_repeats(desk: Desk) -> None:
    """SC.12: key and marker stay; the second run sends no request, polls nothing, acknowledges and is done."""
    desk.box.fault("registration-ack-500")
    with pytest.raises(AcknowledgementFailed) as caught:
        await desk.register()
    key = desk.agents()["ops"]["apiKey"]
    posted, polled = desk.count("POST", "/agents/register"), desk.count("GET", "/agents/status/")
    assert caught.value.fix == "canon-ops setup canon --canon-profile ops"
    assert caught.value.exit_code is ExitCode.OUTSIDE
    assert desk.pending()["ops"]["credentialAgentId"] == desk.agents()["ops"]["agentId"]
    assert desk.bound == []

    done = await desk.register()

    assert (done.phase, done.resumed) == (Phase.REGISTERED, True)
    assert (desk.count("POST", "/agents/register"), desk.count("GET", "/agents/status/")) == (posted, polled)
    assert desk.agents()["ops"]["apiKey"] == key
    assert (desk.pending(), desk.bound) == ({}, ["ops"])


async def test_an_acknowledgement_whose_answer_was_lost_is_repeated(desk: Desk) -> None:
    """Canon took it and the answer got lost: acknowledging again is safe."""
    desk.box.fault("registration-ack-lost")
    with pytest.raises(AcknowledgementFailed):
        await desk.register()

    done = await desk.register()

    assert done.phase is Phase.REGISTERED
    assert desk.count("POST", "/ack") == 2


async def test_nothing_is_acknowledged_when_the_key_cannot_be_saved(desk: Desk) -> None:
    """SC.13: agents.json cannot be written, so Canon is not told that the key is safe; later it is still there."""
    desk.paths.agents_file.parent.mkdir(parents=True)

    def spoil(state: Registration) -> None:
        if state.phase is Phase.SAVE:
            desk.paths.agents_file.mkdir()

    clock = SystemClock()
    wanted = Wanted("ops", desk.connection, OWNER, mint_local_id())
    async with RegistrationApi(wanted.connection, clock=clock) as calls:
        run = RegistrationRun(
            begin(wanted), calls, LocalFilesStore(desk.paths), clock, desk.bound.append, spoil, wait_s=5, every_s=0.01
        )
        with pytest.raises(CanonOpsError):
            await run.carry_out()
    assert desk.count("POST", "/ack") == 0

    desk.paths.agents_file.rmdir()
    done = await desk.register()

    assert (done.phase, done.resumed) == (Phase.REGISTERED, True)
    assert desk.count("POST", "/agents/register") == 1


async def test_a_request_whose_answer_was_lost_is_the_same_request(desk: Desk) -> None:
    """Canon has it, we never heard: the next run sends the same local id and gets the same request."""
    desk.box.fault("lost-response", method="POST", path="/agents/register")
    with pytest.raises(TransportFailure):
        await desk.register(agent_name="First")
    assert "requestId" not in desk.pending()["ops"]

    done = await desk.register()

    assert done.phase is Phase.REGISTERED
    assert desk.agents()["ops"]["agentName"] == "First"
    assert desk.box.engine.read(lambda world: len(world.registrations)) == 1


async def test_a_poll_that_fails_leaves_the_request_pending(desk: Desk) -> None:
    """One failing poll ends the wait; the entry stays, and the advice says how to go on."""
    desk.box.fault("registration-poll-500")
    with pytest.raises(ApiError) as caught:
        await desk.register()
    assert caught.value.fix is not None and "canon-ops setup canon --canon-profile ops" in caught.value.fix

    done = await desk.register()

    assert (done.phase, done.resumed) == (Phase.REGISTERED, True)


async def test_without_a_decision_the_request_waits(undecided: Desk) -> None:
    """Time is up, then approval, then the next run takes the key; waiting zero seconds asks exactly once."""
    first = await undecided.register(wait_s=0)
    assert first.phase is Phase.UNDECIDED
    assert undecided.count("GET", "/agents/status/") == 1
    undecided.box.human.approve(first.request_id)

    second = await undecided.register(wait_s=0)

    assert (second.phase, second.request_id) == (Phase.REGISTERED, first.request_id)


async def test_a_decision_that_is_there_already_is_not_waited_for(undecided: Desk) -> None:
    """The owner approved in between: the next run looks at once, before its first pause of an hour."""
    first = await undecided.register(wait_s=0)
    undecided.box.human.approve(first.request_id)

    second = await undecided.register(wait_s=3600, every_s=3600)

    assert second.phase is Phase.REGISTERED


async def test_a_rejection_removes_the_entry_and_a_new_run_asks_anew(undecided: Desk) -> None:
    """No is final for this request; the next run makes another."""
    first = await undecided.register(wait_s=0)
    undecided.box.human.reject(first.request_id)

    refused = await undecided.register()

    assert refused.phase is Phase.REFUSED
    assert undecided.pending() == {}
    assert not undecided.paths.agents_file.exists()
    again = await undecided.register(wait_s=0)
    assert again.request_id != first.request_id


async def test_an_expired_key_needs_a_new_registration(undecided: Desk) -> None:
    """SC.14: the unclaimed key was dropped: said, entry removed, nothing saved."""
    first = await undecided.register(wait_s=0)
    assert first.request_id is not None
    undecided.box.human.approve(first.request_id)
    undecided.box.human.expire_key(first.request_id)

    refused = await undecided.register()

    assert "expired" in str(refused.trouble)
    assert undecided.pending() == {}
    assert not undecided.paths.agents_file.exists()


async def test_a_key_that_went_elsewhere_needs_a_new_registration(undecided: Desk) -> None:
    """SC.14: somebody else took the key and acknowledged it."""
    first = await undecided.register(wait_s=0)
    undecided.box.human.approve(first.request_id)
    undecided.box.engine.act(
        lambda world, now_ms: setattr(world.registrations[str(first.request_id)], "acknowledged", True)
    )

    refused = await undecided.register()

    assert "already delivered" in str(refused.trouble)
    assert undecided.pending() == {}


async def test_a_wrong_agent_is_not_saved(desk: Desk) -> None:
    """The approval is for another identity than the requested one: refused, nothing saved, entry kept."""
    desk.box.fault("registration-other-agent")

    with pytest.raises(AgentDiffers):
        await desk.register(agent_id="agent_sandbox")

    assert not desk.paths.agents_file.exists()
    assert desk.pending()["ops"]["requestedAgentId"] == "agent_sandbox"
    assert desk.count("POST", "/ack") == 0


async def test_an_agent_is_reconnected_by_its_id(desk: Desk) -> None:
    """SC.18: The requested identity comes back, under the profile's name."""
    done = await desk.register(agent_id="agent_sandbox", agent_name="Back again")

    assert done.agent_id == "agent_sandbox"
    assert desk.agents()["ops"]["agentName"] == "Back again"


async def test_a_request_that_canon_forgot_says_how_to_begin_anew(undecided: Desk) -> None:
    """The server no longer knows the request: the entry stays until --start-over drops it."""
    first = await undecided.register(wait_s=0)
    undecided.box.engine.act(lambda world, now_ms: world.registrations.pop(str(first.request_id)))
    undecided.box.engine.act(lambda world, now_ms: world.request_by_local_id.clear())

    with pytest.raises(RegistrationUnknown) as caught:
        await undecided.register()
    assert caught.value.fix == "canon-ops setup canon --canon-profile ops --start-over"

    again = await undecided.register(wait_s=0, start_over=True)
    assert again.phase is Phase.UNDECIDED
    assert again.request_id != first.request_id


async def test_an_acknowledgement_that_canon_forgot_is_settled(desk: Desk) -> None:
    """A request that is gone hands out no key any more, so nothing is left to acknowledge."""
    desk.box.fault("registration-ack-500")
    with pytest.raises(AcknowledgementFailed):
        await desk.register()
    desk.box.engine.act(lambda world, now_ms: world.registrations.clear())

    done = await desk.register()

    assert done.phase is Phase.REGISTERED


async def test_a_local_id_in_use_says_how_to_begin_anew(undecided: Desk) -> None:
    """Canon has another request under our local id, of which we have no record."""
    undecided.box.fault("answer", method="POST", path="/agents/register", status=409)

    with pytest.raises(RequestNotOurs) as caught:
        await undecided.register()

    assert caught.value.fix == "canon-ops setup canon --canon-profile ops --start-over"
    assert caught.value.exit_code is ExitCode.FAILED
    assert undecided.pending()["ops"]["ownerPhone"] == OWNER


async def test_an_owner_whom_canon_does_not_know_leaves_no_entry(desk: Desk) -> None:
    """Nothing exists at Canon: the next run may name another number, and the sentence says which one was wrong."""
    refused = await desk.register(owner_phone="+15559999")

    assert refused.phase is Phase.REFUSED and isinstance(refused.trouble, RegistrationRefused)
    assert "+15559999" in refused.trouble.what
    assert refused.trouble.fix == "canon-ops setup canon --canon-profile ops --owner-phone NUMBER"
    assert refused.trouble.exit_code is ExitCode.FAILED
    assert desk.pending() == {}
    assert (await desk.register()).phase is Phase.REGISTERED


@pytest.mark.parametrize("status", [400, 403, 422])
async def test_a_request_that_canon_refuses_leaves_no_entry(undecided: Desk, status: int) -> None:
    """Every definite refusal is one of the request, and is not repeated by the next run."""
    undecided.box.fault("answer", method="POST", path="/agents/register", status=status)

    refused = await undecided.register()

    assert isinstance(refused.trouble, RegistrationRefused) and str(status) in refused.trouble.what
    assert undecided.pending() == {}


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
async def test_a_request_of_unknown_fate_keeps_its_entry(undecided: Desk, status: int) -> None:
    """Canon may have it, or may take it later: the next run sends the same one."""
    undecided.box.fault("answer", method="POST", path="/agents/register", status=status)

    with pytest.raises(ApiError):
        await undecided.register()

    assert undecided.pending()["ops"]["ownerPhone"] == OWNER


async def test_a_request_of_another_environment_is_refused(undecided: Desk) -> None:
    """The pending request belongs to the first environment: refused without a call, files untouched."""
    await undecided.register(wait_s=0)
    before = undecided.paths.pending_file.read_bytes()
    elsewhere = connection_for("canon-prod-v1", base_url=undecided.box.endpoints.api)
    calls = len(undecided.box.journal())

    with pytest.raises(PendingUnbound):
        await undecided.register(connection=elsewhere)

    assert undecided.paths.pending_file.read_bytes() == before
    assert len(undecided.box.journal()) == calls


@pytest.mark.parametrize("name", ["agents.json", "pending-registrations.json"])
async def test_a_damaged_file_stops_everything_before_a_request(desk: Desk, name: str) -> None:
    """SC.8: a file that cannot be read whole is kept byte for byte, and Canon hears nothing."""
    desk.paths.home.mkdir(parents=True)
    damaged = desk.paths.home / name
    damaged.write_bytes(b'{"ops": {"apiKey": "agk_live_old"')

    with pytest.raises(DamagedFile):
        await desk.register()

    assert damaged.read_bytes() == b'{"ops": {"apiKey": "agk_live_old"'
    assert desk.box.journal() == []


async def test_entries_of_other_clients_stay_as_they_are(desk: Desk) -> None:
    """SC.15: foreign pending entries and profiles survive the whole registration, unknown fields included."""
    desk.paths.home.mkdir(parents=True)
    foreign = {"clientType": "codex", "profile": "theirs", "custom": {"a": [1]}}
    desk.paths.pending_file.write_text(json.dumps({"theirs": foreign}))
    desk.paths.agents_file.write_text(json.dumps({"theirs": foreign}))

    await desk.register()

    assert desk.pending() == {"theirs": foreign}
    assert desk.agents()["theirs"] == foreign


async def test_an_unreachable_canon_leaves_an_entry_to_go_on_from(desk: Desk) -> None:
    """The request could not be sent: the entry keeps its local id, and the next run uses it."""
    desk.box.fault("reset", method="POST", path="/agents/register")
    with pytest.raises(OutsideError) as caught:
        await desk.register()
    assert caught.value.exit_code is ExitCode.OUTSIDE
    local_id = desk.pending()["ops"]["localRegistrationId"]

    await desk.register()

    assert desk.box.engine.read(lambda world: list(world.request_by_local_id)) == [local_id]
