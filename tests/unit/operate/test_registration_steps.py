"""The registration machine: where each event leads, what each phase writes, what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from canon_ops.errors import CanonOpsError, InternalError
from canon_ops.operate.registration_steps import (
    Done,
    Phase,
    Registration,
    RegistrationRejected,
    Written,
    advance,
    begin,
    request_of,
    rewrite,
)
from canon_ops.settings.environments import connection_for
from canon_ops.settings.local_files import LocalFiles
from canon_ops.settings.pending import PendingFile, Wanted
from canon_ops.settings.problems import (
    AcknowledgementOrphaned,
    AgentDiffers,
    ForeignProfile,
    PendingForeign,
    PendingVanished,
)
from canon_ops.settings.profiles import AgentsFile
from canon_ops.settings.secret import Secret
from canon_ops.wire.registration import (
    KeyAlreadyDelivered,
    KeyExpired,
    MalformedApproval,
    RegistrationReceipt,
    RegistrationStatus,
    Verdict,
)
from tests.support.canon_files import KEY, as_file, pending_entry, profile_entry

DEV = connection_for(
    "canon-dev-v1",
    base_url="http://127.0.0.1:8701",
    stream_url="http://127.0.0.1:8702",
    rtdb_url="http://127.0.0.1:8703",
    firebase_api_key="loopback",
)
WANTED = Wanted("ops", DEV, "+14155550123", "hermes-" + "0" * 32, agent_name="Ops Hermes")
SENT = {"requestId": "reg_1", "pollToken": "pt_1"}
APPROVED = RegistrationStatus(Verdict.APPROVED, Secret(KEY), "agent_7Qx", "Ops Hermes")
NOW_MS = 1_789_141_869_000


def files(pending: dict[str, object] | None = None, **profiles: object) -> LocalFiles:
    return LocalFiles(
        AgentsFile.parse(as_file(**profiles), file="agents.json"),
        PendingFile.parse(as_file(**({} if pending is None else {"ops": pending})), file="pending.json"),
    )


def run(state: Registration, before: LocalFiles, *events: object) -> tuple[list[Phase], Registration, LocalFiles]:
    """Feed the machine as its shell does; writing phases write, the others take the next event."""
    phases, remaining, now = [state.phase], list(events), before
    while not state.phase.is_final and (state.phase.writes or remaining):
        if state.phase.writes:
            now = rewrite(state, now, now_ms=NOW_MS)
            state = advance(state, Written(now))
        else:
            state = advance(state, remaining.pop(0), now)  # type: ignore[arg-type]
        phases.append(state.phase)
    return phases, state, now


def test_a_registration_goes_through_its_steps_in_order() -> None:
    """From nothing to a bound profile: the key is saved before it is acknowledged, the entry goes last."""
    receipt = RegistrationReceipt("reg_1", Secret("pt_1"))

    phases, state, after = run(begin(WANTED), files(), receipt, APPROVED, Done(), Done())

    assert [phase.value for phase in phases] == [
        "prepare",
        "submit",
        "record",
        "wait",
        "save",
        "mark",
        "acknowledge",
        "bind",
        "forget",
        "registered",
    ]
    assert (state.agent_id, state.agent_name, state.resumed) == ("agent_7Qx", "Ops Hermes", False)
    assert json.loads(after.pending.data) == {}
    assert json.loads(after.agents.data) == {"ops": profile_entry()}


STORED = {
    "nothing": (None, ["prepare", "submit"]),
    "an entry without a request": (pending_entry(), ["prepare", "submit"]),
    "a request": (pending_entry(**SENT), ["prepare", "wait"]),
    "a marker": (pending_entry(**SENT, credentialAgentId="agent_7Qx"), ["prepare", "acknowledge"]),
}


@pytest.mark.parametrize(("stored", "expected"), STORED.values(), ids=STORED.keys())
def test_a_run_begins_where_the_files_stand(stored: dict[str, object] | None, expected: list[str]) -> None:
    """What the pending entry holds decides which step is due."""
    phases, state, _ = run(begin(WANTED), files(stored, ops=profile_entry()))

    assert [phase.value for phase in phases] == expected
    assert state.resumed is (expected[-1] != "submit")


def test_the_request_is_what_the_entry_says() -> None:
    """A repeated request repeats the stored names, owner, agent and local id, whatever this run was told."""
    stored = pending_entry(requestedAgentId="agent_1", requestedAgentName="First", requestedDescription="Desk")
    wish = replace(WANTED, agent_name=None)

    _, state, _ = run(begin(wish), files(stored))

    assert request_of(state).body() == {
        "name": "First",
        "description": "Desk",
        "ownerPhone": "+14155550123",
        "developerInfo": "Hermes gateway platform adapter",
        "clientType": "hermes",
        "localRegistrationId": "hermes-3f0d6c1a9b7e4f2d8c5a1e6b7d9f0a2c",
        "requestedAgentId": "agent_1",
    }


@pytest.mark.parametrize(("profile", "expected"), [({}, "agent_7Qx"), ({"baseUrl": "https://x.example.com"}, None)])
def test_a_profile_in_the_same_environment_is_reconnected(profile: dict[str, object], expected: str | None) -> None:
    """Without other word the profile's own agent is asked for again, but only where it lives."""
    _, state, _ = run(begin(WANTED), files(ops=profile_entry(**profile)))

    assert request_of(state).requested_agent_id == expected


def test_starting_over_drops_the_old_request() -> None:
    """The old entry goes, a new local id is used, foreign entries stay foreign."""
    phases, state, after = run(begin(WANTED, start_over=True), files(pending_entry(**SENT)))

    assert phases[-1] is Phase.SUBMIT
    assert request_of(state).local_registration_id == WANTED.new_local_id
    entry = after.pending.registration("ops")
    assert entry is not None and entry.request_id is None
    with pytest.raises(PendingForeign):
        run(begin(WANTED, start_over=True), files({"clientType": "codex"}))


def test_a_name_of_another_client_is_refused_before_anything_is_sent() -> None:
    """A profile that another client uses cannot be registered over; that shows before the owner is asked."""
    with pytest.raises(ForeignProfile):
        rewrite(begin(WANTED), files(ops={"clientType": "codex"}), now_ms=NOW_MS)


WAITING = pending_entry(**SENT)


def test_a_rejected_request_is_dropped() -> None:
    """The owner's no removes the entry, saves nothing, and is an error that says so."""
    phases, state, after = run(begin(WANTED), files(WAITING), RegistrationStatus(Verdict.REJECTED))

    assert [phase.value for phase in phases[-2:]] == ["drop", "refused"]
    assert isinstance(state.trouble, RegistrationRejected)
    assert (json.loads(after.pending.data), json.loads(after.agents.data)) == ({}, {})


def test_no_decision_leaves_the_request_pending() -> None:
    """When the time is up the entry stays as it is."""
    phases, _, after = run(begin(WANTED), files(WAITING), None)

    assert phases[-1] is Phase.UNDECIDED
    entry = after.pending.registration("ops")
    assert entry is not None and entry.request_id == "reg_1"


@pytest.mark.parametrize(
    ("status", "trouble", "token"),
    [
        (RegistrationStatus(Verdict.APPROVED, None, "agent_7Qx", "N", key_expired=True), KeyExpired, "expired"),
        (
            RegistrationStatus(Verdict.APPROVED, None, "agent_7Qx", "N", key_delivered=True),
            KeyAlreadyDelivered,
            "already delivered",
        ),
    ],
)
@pytest.mark.parametrize("profile", [None, profile_entry(agentId="agent_other"), profile_entry(apiKey=None)])
def test_a_key_that_is_gone_ends_the_request(
    status: RegistrationStatus, trouble: type[CanonOpsError], token: str, profile: dict[str, object] | None
) -> None:
    """SC.14: expired and already delivered are distinct errors; the useless entry goes, nothing is saved."""
    before = files(WAITING) if profile is None else files(WAITING, ops=profile)

    phases, state, after = run(begin(WANTED), before, status)

    assert [phase.value for phase in phases[-2:]] == ["drop", "refused"]
    assert isinstance(state.trouble, trouble)
    assert token in str(state.trouble)
    assert json.loads(after.pending.data) == {}
    assert after.agents is before.agents


def test_a_key_that_another_run_has_saved_is_not_lost() -> None:
    """Delivered, and agents.json has exactly this agent's key here: the run goes on with the acknowledgement."""
    status = RegistrationStatus(Verdict.APPROVED, None, "agent_7Qx", "Ops Hermes", key_delivered=True)

    phases, state, _ = run(begin(WANTED), files(WAITING, ops=profile_entry()), status)

    assert [phase.value for phase in phases[-2:]] == ["mark", "acknowledge"]
    assert state.agent_id == "agent_7Qx"


def test_a_run_beside_this_one_may_have_finished() -> None:
    """The entry vanished and the same key is saved: acknowledging again is safe, and the run ends well."""
    _, state, now = run(begin(WANTED), files(WAITING), APPROVED)
    at_mark = replace(state, phase=Phase.MARK)
    finished = LocalFiles(now.agents, now.pending.without("ops"))

    phases, state, after = run(at_mark, finished, Done(), Done())

    assert [phase.value for phase in phases] == ["mark", "acknowledge", "bind", "forget", "registered"]
    assert after.pending.data == finished.pending.data


def test_an_entry_that_vanished_without_its_key_is_a_conflict() -> None:
    """Somebody removed the entry and no key was saved: nothing is made up."""
    _, state, _ = run(begin(WANTED), files(WAITING), APPROVED)

    with pytest.raises(PendingVanished):
        rewrite(replace(state, phase=Phase.MARK), files(), now_ms=NOW_MS)


def test_another_agent_than_the_requested_one_is_refused() -> None:
    """The approval of another identity raises before anything is written."""
    _, state, now = run(begin(WANTED), files(pending_entry(**SENT, requestedAgentId="agent_1")))

    with pytest.raises(AgentDiffers, match="Agent agent_1 was asked for, but the approval is for agent agent_7Qx"):
        advance(state, APPROVED, now)


@pytest.mark.parametrize("missing", ["api_key", "agent_id", "agent_name"])
def test_an_incomplete_approval_is_refused(missing: str) -> None:
    """Without key, id or name nothing is saved."""
    _, state, now = run(begin(WANTED), files(WAITING))

    with pytest.raises(MalformedApproval):
        advance(state, replace(APPROVED, **{missing: None}), now)  # type: ignore[arg-type]


MARKED = pending_entry(**SENT, credentialAgentId="agent_7Qx")
ORPHANS: dict[str, tuple[dict[str, object] | None, dict[str, object], str]] = {
    "no profile": (None, MARKED, "there is no profile ops"),
    "another agent": (profile_entry(agentId="agent_2"), MARKED, "is for agent agent_2"),
    "no key": (profile_entry(apiKey=None), MARKED, "lacks its key or its name"),
    "no name": (profile_entry(agentName=""), MARKED, "lacks its key or its name"),
    "another environment": (profile_entry(streamUrl="https://x.example.com"), MARKED, "another environment"),
    "no request": (profile_entry(), {**MARKED, "requestId": ""}, "lost its requestId"),
}


@pytest.mark.parametrize(("profile", "stored", "why"), ORPHANS.values(), ids=ORPHANS.keys())
def test_an_acknowledgement_needs_the_saved_key(
    profile: dict[str, object] | None, stored: dict[str, object], why: str
) -> None:
    """With a marker but without exactly this agent's key here, nothing is acknowledged."""
    before = files(stored) if profile is None else files(stored, ops=profile)

    with pytest.raises(AcknowledgementOrphaned, match=why):
        run(begin(WANTED), before)


def test_an_acknowledgement_is_due_also_for_a_key_in_the_keyring() -> None:
    """A reference to the keyring counts as the key."""
    entry = profile_entry(apiKey=None, apiKeyRef={"service": "s", "account": "a"})

    phases, _, _ = run(begin(WANTED), files(MARKED, ops=entry))

    assert phases[-1] is Phase.ACKNOWLEDGE


EVENTS = [Written(files(pending_entry())), Done(), RegistrationReceipt("r", Secret("p")), APPROVED, None]
FITTING = {
    Phase.PREPARE: {0},
    Phase.SUBMIT: {2},
    Phase.RECORD: {0},
    Phase.WAIT: {3, 4},
    Phase.SAVE: {0},
    Phase.MARK: {0},
    Phase.ACKNOWLEDGE: {1},
    Phase.BIND: {1},
    Phase.FORGET: {0},
    Phase.DROP: {0},
}


@pytest.mark.parametrize("phase", Phase)
def test_an_event_out_of_place_is_a_fault_of_ours(phase: Phase) -> None:
    """Every pair of phase and event that the table does not have raises and leaves the state as it is."""
    state = replace(begin(WANTED), phase=phase)

    for index, event in enumerate(EVENTS):
        if index in FITTING.get(phase, set()):
            continue
        with pytest.raises(InternalError):
            advance(state, event)  # type: ignore[arg-type]
    if not phase.writes:
        with pytest.raises(InternalError):
            rewrite(state, files(), now_ms=0)
