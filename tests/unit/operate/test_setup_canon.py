"""The dialogue of setup canon against the loopback Canon, asked and answered beforehand."""

from __future__ import annotations

import base64
import json
import shlex
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canon_ops.client.errors import TransportFailure, Unauthorized
from canon_ops.client.health import EnvironmentMismatch
from canon_ops.errors import CanonOpsError, ExitCode
from canon_ops.files.disk import DiskError
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.operate.phone import BadPhone
from canon_ops.operate.prompts import MissingAnswer
from canon_ops.operate.registration_steps import Phase, Registration, RegistrationRefused, RegistrationRejected
from canon_ops.operate.setup_answers import (
    BadAnswer,
    ContradictingAnswers,
    KeyOfAnotherAgent,
    ManagedHome,
    NoProfiles,
    ProfileInTheWay,
    RegistrationPending,
    SetupAnswers,
    SetupResult,
    Way,
)
from canon_ops.settings.credentials import resolve
from canon_ops.settings.problems import (
    BadEndpoint,
    DamagedFile,
    ForeignProfile,
    PendingPhoneDiffers,
    UnboundProfile,
    UnknownEnvironment,
    UnknownProfile,
)
from canon_ops.settings.provenance import Origin, Source
from canon_ops.settings.secret import Secret
from tests.support.canon_files import pending_entry, profile_entry
from tests.support.sandboxes import canon_box
from tests.support.scripted_prompts import ScriptedPrompts
from tests.support.setup_machine import OWNER, Machine
from tests.support.unwritable import unwritable

OTHER_PHONE = "+15550101"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with canon_box(auto_approve=True) as box:
        yield Machine(tmp_path / "user", box)


@pytest.fixture
def undecided(tmp_path: Path) -> Iterator[Machine]:
    with canon_box() as box:
        yield Machine(tmp_path / "user", box)


# Registering -------------------------------------------------------------------------------------------------------


def test_a_registration_needs_no_person_when_everything_is_answered(machine: Machine) -> None:
    """Unattended: verified, registered, saved, acknowledged, and the home uses the profile."""
    result = machine.setup(machine.registering(agent_name="Ops", description="Desk"))

    agents = machine.agents()
    assert result.way is Way.REGISTER
    assert (result.canon_profile, result.agent_name, result.resumed) == ("ops", "Ops", False)
    assert result.agent_id == agents["ops"]["agentId"]
    assert {name: agents["ops"][name] for name in machine.binding} == machine.binding
    assert machine.pending() == {}
    assert machine.env() == "CANON_AGENT=ops\n"
    assert result.overridden_by == ()
    assert [path.name for path in result.files] == ["pending-registrations.json", "agents.json", ".env"]
    found = resolve(surroundings_from_disk(machine.hermes, machine.environ))
    assert (found.profile, found.api_key) == ("ops", Secret(agents["ops"]["apiKey"]))


def test_the_environment_is_verified_before_canon_hears_of_an_agent(machine: Machine) -> None:
    """API first, then stream, then the request."""
    machine.setup(machine.registering())

    assert machine.calls()[:3] == ["GET /healthz/", "GET /health", "POST /agents/register"]


def test_every_answer_may_be_typed(machine: Machine) -> None:
    """The whole dialogue by hand: the way, the profile, other endpoints, the name, the phone shown back."""
    ends = machine.ends
    prompts = ScriptedPrompts(
        ("--way", None),
        ("--canon-profile", "-bad-"),
        ("--canon-profile", None),
        ("--environment", "canon-dev-v1"),
        ("--base-url, --stream-url, --rtdb-url, --firebase-api-key", False),
        ("--base-url", "http://example.com"),
        ("--base-url", ends["base_url"]),
        ("--stream-url", ends["stream_url"]),
        ("--rtdb-url", ends["rtdb_url"]),
        ("--firebase-api-key", ends["firebase_api_key"]),
        ("--agent-name", None),
        ("--description", None),
        ("--agent-id", None),
        ("--owner-phone", "555-0100"),
        ("--owner-phone", "+1 555-0199"),
        ("--owner-phone", False),
        ("--owner-phone", "+1 555-0100"),
        ("--owner-phone", True),
    )

    result = machine.setup(SetupAnswers(wait_s=5), prompts)

    prompts.assert_finished()
    assert prompts.complaints == [
        "a Canon profile is letters, digits and . _ - @ +, at most 64, and begins with a letter or digit",
        "The API URL http://example.com cannot be used: plain http is only for localhost, 127.0.0.1 and [::1]",
        "begin with + and the country code",
    ]
    assert "Ask the owner at +15550199?" in prompts.asked
    assert result.answers == SetupAnswers(
        way=Way.REGISTER,
        **ends,
        agent_name="Hermes",
        description="Hermes gateway agent",
        owner_phone=OWNER,
        canon_profile="hermes",
        wait_s=5,
    )
    assert machine.env() == "CANON_AGENT=hermes\n"


def test_the_saved_answers_lead_to_the_same_end(machine: Machine, tmp_path: Path) -> None:
    """What a dialogue gives back can be used as answers for another machine."""
    first = machine.setup(machine.registering())

    other = Machine(tmp_path / "other", machine.box)
    second = other.setup(replace(first.answers, canon_profile="second"))

    assert other.agents()["second"]["agentName"] == "Hermes"
    assert second.connection == first.connection


def test_a_missing_answer_names_its_option(machine: Machine) -> None:
    """Nobody can be asked for the one answer without a default: exit 2, its option, and nothing written."""
    with pytest.raises(MissingAnswer) as caught:
        machine.setup(machine.registering(owner_phone=None))

    assert (caught.value.exit_code, caught.value.option) == (ExitCode.USAGE, "--owner-phone")
    assert machine.tree() == {}


def test_only_the_homes_own_lines_change(machine: Machine) -> None:
    """Step 11: the overruling lines go, everything else in .env stays byte for byte, and the diff shows no key."""
    machine.write_env(
        "# mine\nOTHER='a # b'\nexport CANON_API_KEY=agk_live_sandbox_old0123456789\n"
        "CANON_ENVIRONMENT_ID=canon-prod-v1\n"
        "CANON_BASE_URL=https://x.example.com\nCANON_STREAM_URL=\nCANON_RTDB_URL=r\nCANON_FIREBASE_API_KEY=f\n"
        "CANON_AGENT=old\nCANON_HOME_CHANNEL=conv_1\n"
    )

    result = machine.setup(machine.registering())

    assert machine.env() == "# mine\nOTHER='a # b'\nCANON_AGENT=ops\nCANON_HOME_CHANNEL=conv_1\n"
    assert "-CANON_AGENT=old" in result.diff
    assert "+CANON_AGENT=ops" in result.diff
    assert "old0123456789" not in result.diff


def test_a_fresh_env_file_is_private(machine: Machine) -> None:
    """A .env that setup creates is 0600; one that exists keeps its mode."""
    machine.setup(machine.registering())
    assert stat.S_IMODE((machine.hermes / ".env").stat().st_mode) == 0o600

    (machine.hermes / ".env").chmod(0o640)
    machine.write_env("CANON_AGENT=other\n")
    machine.setup(SetupAnswers(use_profile="ops"))

    assert stat.S_IMODE((machine.hermes / ".env").stat().st_mode) == 0o640


def test_what_still_overrules_the_profile_is_reported(machine: Machine) -> None:
    """A key in the process environment or in config.yaml beats the profile; the result says which and how it goes."""
    machine.environ["CANON_API_KEY"] = "agk_live_exported"
    machine.environ["CANON_ENVIRONMENT_ID"] = "canon-dev-v1"
    exported = machine.setup(machine.registering())
    del machine.environ["CANON_API_KEY"]
    (machine.hermes / "config.yaml").write_text(
        "platforms:\n  canon:\n    extra:\n      api_key: agk_live_configured\n      environment_id: canon-dev-v1\n"
    )
    configured = machine.setup(SetupAnswers(use_profile="ops"))

    assert exported.overridden_by == (Origin(Source.PROCESS, "CANON_API_KEY"),)
    assert [origin.to_drop() for origin in configured.overridden_by] == [
        "canon-ops config unset platforms.canon.extra.api_key"
    ]


def test_a_second_setup_reconnects_the_same_agent(machine: Machine) -> None:
    """SC.18: The profile's own environment, endpoints, name and agent are what a later run proposes and asks for."""
    first = machine.setup(machine.registering(agent_name="Ops"))
    prompts = ScriptedPrompts(
        ("--way", None),
        ("--canon-profile", None),
        ("--environment", None),
        ("--agent-name", None),
        ("--description", None),
        ("--owner-phone", OWNER),
        ("--owner-phone", None),
    )

    second = machine.setup(SetupAnswers(wait_s=5), prompts)

    prompts.assert_finished()
    assert f"Agent {first.agent_id} is asked for again." in prompts.said
    assert (second.agent_id, second.agent_name, second.connection) == (first.agent_id, "Ops", first.connection)


def test_a_pending_request_is_gone_on_with(undecided: Machine) -> None:
    """The owner took longer: the next run proposes that profile, asks nothing more, and finishes."""
    with pytest.raises(RegistrationPending) as caught:
        undecided.setup(undecided.registering(wait_s=0))
    request_id = caught.value.request_id
    assert caught.value.exit_code is ExitCode.OUTSIDE
    assert caught.value.fix == "approve it in the Canon app, then: canon-ops setup canon --canon-profile ops"
    assert undecided.env() == ""
    undecided.box.human.approve(request_id)
    prompts = ScriptedPrompts(("--way", None), ("--canon-profile", None))

    result = undecided.setup(SetupAnswers(wait_s=5), prompts)

    prompts.assert_finished()
    assert f"Going on with the registration of ops (request {request_id})." in prompts.said
    assert (result.resumed, result.request_id) == (True, request_id)
    assert undecided.env() == "CANON_AGENT=ops\n"


def test_a_pending_request_needs_only_its_profile_when_nobody_is_there(undecided: Machine) -> None:
    """Resuming in a script takes environment, endpoints and phone from the entry."""
    with pytest.raises(RegistrationPending):
        undecided.setup(undecided.registering(wait_s=0))
    undecided.box.human.approve()

    result = undecided.setup(SetupAnswers(canon_profile="ops", wait_s=5))

    assert result.resumed is True


def test_starting_over_makes_a_new_request(undecided: Machine) -> None:
    """--start-over drops the old request and asks with the new answers."""
    with pytest.raises(RegistrationPending) as first:
        undecided.setup(undecided.registering(wait_s=0))
    with pytest.raises(PendingPhoneDiffers):
        undecided.setup(undecided.registering(wait_s=0, owner_phone=OTHER_PHONE))

    with pytest.raises(RegistrationPending) as second:
        undecided.setup(undecided.registering(wait_s=0, owner_phone=OTHER_PHONE, start_over=True))

    assert second.value.request_id != first.value.request_id
    assert undecided.pending()["ops"]["ownerPhone"] == OTHER_PHONE


def test_a_wrong_owner_phone_can_be_corrected(machine: Machine) -> None:
    """The run that was refused is an error and leaves nothing that holds the next one to its number."""
    with pytest.raises(RegistrationRefused):
        machine.setup(machine.registering(owner_phone="+15559999"))

    assert machine.pending() == {}
    assert machine.setup(machine.registering()).agent_id is not None


def test_a_number_of_an_earlier_run_is_told(undecided: Machine) -> None:
    """Nobody is asked through a number that was not shown."""
    undecided.write_pending(ops=pending_entry(**undecided.binding, ownerPhone=OTHER_PHONE, requestId=None))
    prompts = ScriptedPrompts(("--agent-name", None), ("--description", None), ("--agent-id", None))
    answers = replace(undecided.registering(wait_s=0.0), owner_phone=None)

    with pytest.raises(RegistrationPending):
        undecided.setup(answers, prompts)

    assert f"The owner is asked at {OTHER_PHONE}, as the earlier run was told." in prompts.said


def unbound(**more: object) -> dict[str, object]:
    """A profile as older clients wrote it: a key, an agent, an environment, no endpoints."""
    return {
        "apiKey": "agk_live_sandbox_old_0123456789",
        "agentId": "agent_old",
        "environmentId": "canon-dev-v1",
        **more,
    }


def known_agent(machine: Machine) -> str:
    """An agent that Canon has already."""
    return machine.box.engine.read(lambda world: next(iter(world.agents)))


def test_an_unbound_profile_is_never_overwritten_unasked(machine: Machine) -> None:
    """Without a person it is refused before anything is sent, and the ways out are named."""
    machine.write_agents(ops=unbound())
    before = machine.tree()

    with pytest.raises(ProfileInTheWay) as caught:
        machine.setup(machine.registering())

    assert caught.value.exit_code is ExitCode.FAILED
    assert "agent agent_old" in caught.value.what
    for way_out in ("profile migrate ops", "--agent-id agent_old", "--start-over"):
        assert way_out in str(caught.value.fix)
    assert machine.tree() == before
    assert machine.box.human.registrations() == []


@pytest.mark.parametrize("entry", [unbound(environmentId="canon-prod-v1"), unbound(agentId=None), unbound(apiKey=None)])
def test_whatever_a_profile_holds_is_in_the_way(machine: Machine, entry: dict[str, object]) -> None:
    """A key alone, an identity alone, and an agent of another environment can each be lost."""
    machine.write_agents(ops={name: value for name, value in entry.items() if value is not None})

    with pytest.raises(ProfileInTheWay):
        machine.setup(machine.registering())


def test_a_person_decides_about_an_unbound_profile(machine: Machine) -> None:
    """Leaving it stops; reconnecting asks for its agent; replacing registers another."""
    questions = [("--agent-name", None), ("--description", None)]

    def setup(answer: str) -> SetupResult:
        script = ScriptedPrompts(*questions, ("--agent-id or --start-over", answer))
        return machine.setup(machine.registering(), script)

    agent_id = known_agent(machine)
    machine.write_agents(ops=unbound(agentId=agent_id))
    with pytest.raises(ProfileInTheWay):
        setup("leave")
    assert machine.agents()["ops"] == unbound(agentId=agent_id)

    assert setup("reconnect").agent_id == agent_id

    machine.write_agents(ops=unbound(agentId=agent_id))
    assert setup("replace").agent_id not in (None, agent_id)


@pytest.mark.parametrize("consent", [{"start_over": True}, {"agent_id": "known"}])
def test_an_unbound_profile_may_be_given_up_by_option(machine: Machine, consent: dict[str, Any]) -> None:
    """--start-over replaces it; --agent-id asks for a certain agent."""
    machine.write_agents(ops=unbound())
    if "agent_id" in consent:
        consent = {"agent_id": known_agent(machine)}

    done = machine.setup(machine.registering(**consent))

    assert machine.agents()["ops"]["agentId"] == done.agent_id != "agent_old"


@pytest.mark.parametrize("folder", ["hermes", "canon"])
def test_a_disk_that_takes_nothing_shows_before_anybody_is_asked(machine: Machine, folder: str) -> None:
    """Nothing is half-written: a key that could not be kept is not even asked for. Root is held to it as well."""
    closed: Path = getattr(machine, folder)
    closed.mkdir(exist_ok=True)
    with unwritable(closed):
        with pytest.raises(DiskError) as caught:
            machine.setup(machine.registering())
        machine.setup(machine.registering(), dry_run=True)

    assert caught.value.fix == f"ls -ld {closed}"
    assert machine.box.human.registrations() == []


def test_a_rejection_is_an_error_and_leaves_no_trace(undecided: Machine) -> None:
    """The owner says no while we wait: refused, no profile, no entry, .env untouched."""

    def reject(state: Registration) -> None:
        if state.phase is Phase.WAIT:
            undecided.box.human.reject()

    with pytest.raises(RegistrationRejected) as caught:
        undecided.setup(undecided.registering(), watch=reject)

    assert caught.value.exit_code is ExitCode.FAILED
    assert undecided.pending() == {}
    assert not (undecided.canon / "agents.json").exists()
    assert undecided.env() == ""


@pytest.mark.parametrize("ends", ["reject", "expire_key"])
def test_a_request_that_leads_nowhere_is_repeated_whole(undecided: Machine, ends: str) -> None:
    """SC.14: the entry held what had been answered, and is gone; so the advice says all of it again."""

    def end(state: Registration) -> None:
        if state.phase is Phase.WAIT:
            if ends == "expire_key":
                undecided.box.human.approve(state.request_id)
            getattr(undecided.box.human, ends)(state.request_id)

    with pytest.raises(CanonOpsError) as caught:
        undecided.setup(undecided.registering(agent_name="Ops Desk", description="Desk"), watch=end)

    assert undecided.pending() == {}
    fix = str(caught.value.fix)
    lead, command, words = fix.partition("canon-ops setup canon ")
    assert lead == ("agree with the owner, then register again: " if ends == "reject" else "")
    assert command
    told = shlex.split(words)
    given = dict(zip(told[::2], told[1::2], strict=True))
    wanted = {"canon-profile": "ops", "agent-name": "Ops Desk", "description": "Desk", "owner-phone": OWNER}
    assert {f"--{name}": value for name, value in wanted.items()}.items() <= given.items()
    assert given["--base-url"] == undecided.ends["base_url"]


def test_a_poll_token_that_is_not_ours_is_not_shown_twice(undecided: Machine) -> None:
    """An entry of another machine's request: to go on with it would fail the same way for ever."""
    with pytest.raises(RegistrationPending):
        undecided.setup(undecided.registering(wait_s=0))
    with pytest.raises(RegistrationPending):
        undecided.setup(undecided.registering(wait_s=0, canon_profile="desk"))
    entry, other = undecided.pending()["ops"], undecided.pending()["desk"]
    undecided.write_pending(ops={**entry, "pollToken": other["pollToken"]})

    with pytest.raises(CanonOpsError) as caught:
        undecided.setup(undecided.registering())

    again = "canon-ops setup canon --canon-profile ops --start-over   "
    assert caught.value.fix == f"{again}(request {entry['requestId']} is not ours to ask about)"
    with pytest.raises(RegistrationPending):
        undecided.setup(undecided.registering(start_over=True, wait_s=0))
    assert undecided.pending()["ops"]["requestId"] != entry["requestId"]


def test_an_interrupt_after_the_request_names_what_stays(undecided: Machine) -> None:
    """Ctrl-C while the owner thinks: the entry stays, the note names it and the way on (decision L2)."""
    prompts = ScriptedPrompts()

    def interrupt(state: Registration) -> None:
        if state.phase is Phase.WAIT:
            raise KeyboardInterrupt

    answers = undecided.registering(agent_name="Ops", description="Desk", agent_id="")
    with pytest.raises(KeyboardInterrupt):
        undecided.setup(answers, prompts, watch=interrupt)

    request_id = undecided.pending()["ops"]["requestId"]
    assert prompts.said[-1] == (
        f"The registration of ops (request {request_id}) stays pending. "
        "Go on with: canon-ops setup canon --canon-profile ops"
    )


def test_an_interrupt_before_the_request_says_nothing_of_it(undecided: Machine) -> None:
    """Nothing was sent, so there is nothing to go on with."""
    prompts = ScriptedPrompts()

    def interrupt(state: Registration) -> None:
        raise KeyboardInterrupt

    answers = undecided.registering(agent_name="Ops", description="Desk", agent_id="")
    with pytest.raises(KeyboardInterrupt):
        undecided.setup(answers, prompts, watch=interrupt)

    assert "stays" not in " ".join(prompts.said)
    assert undecided.tree() == {}


def test_a_dry_run_asks_and_verifies_but_leaves_everything(machine: Machine) -> None:
    """The plan of .env comes back; no request is sent, no file is written, not even a lock."""
    machine.write_env("CANON_API_KEY=x\n")
    before = machine.tree()

    result = machine.setup(machine.registering(), dry_run=True)

    assert result.dry_run is True
    assert result.diff.endswith("-CANON_API_KEY=[REDACTED]\n+CANON_AGENT=ops\n")
    assert machine.calls() == ["GET /healthz/", "GET /health"]
    assert machine.tree() == before
    assert not machine.canon.exists()
    assert not (machine.hermes / ".canon-ops").exists()


# Trouble before anything is saved ----------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [{}, {"listener": "api"}, {"listener": "stream"}], ids=["both", "API", "stream"])
@pytest.mark.parametrize("fault", ["health-wrong-header", "health-wrong-environment", "health-wrong-project"])
def test_an_environment_that_answers_for_another_is_not_saved(
    machine: Machine, fault: str, where: dict[str, str]
) -> None:
    """A stream or an API of another environment or project stops setup; no request, no file."""
    machine.box.fault(fault, **where)

    with pytest.raises(EnvironmentMismatch, match="does not match environment canon-dev-v1"):
        machine.setup(machine.registering())

    assert machine.tree() == {}
    assert "POST /agents/register" not in machine.calls()


def test_an_unreachable_api_is_not_saved(machine: Machine) -> None:
    """Nobody listens there: exit 3, nothing written."""
    with pytest.raises(TransportFailure) as caught:
        machine.setup(machine.registering(base_url="http://127.0.0.1:1"))

    assert caught.value.exit_code is ExitCode.OUTSIDE
    assert machine.tree() == {}


@pytest.mark.parametrize(
    ("answers", "problem", "fix"),
    [
        ({"environment": "retired"}, UnknownEnvironment, "--environment canon-prod-v1"),
        ({"base_url": "http://example.com"}, BadEndpoint, "--base-url https://HOST"),
        ({"owner_phone": "555"}, BadPhone, "--owner-phone +COUNTRYNUMBER"),
        ({"canon_profile": "no/slash"}, BadAnswer, "give another --canon-profile"),
        ({"agent_id": "a b"}, BadAnswer, "give another --agent-id"),
        ({"agent_name": "a\nb"}, BadAnswer, "give another --agent-name"),
        ({"use_profile": "ops"}, ContradictingAnswers, "leave out --canon-profile"),
        ({"way": Way.KEY}, ContradictingAnswers, "leave out --canon-profile"),
        ({"api_key": Secret("k")}, ContradictingAnswers, "leave out --canon-profile"),
    ],
)
def test_a_wrong_answer_is_a_usage_error(
    machine: Machine, answers: dict[str, Any], problem: type[CanonOpsError], fix: str
) -> None:
    """An answer given beforehand that cannot be one: exit 2, its option, nothing written."""
    with pytest.raises(problem) as caught:
        machine.setup(machine.registering(**answers))

    assert (caught.value.exit_code, caught.value.fix) == (ExitCode.USAGE, fix)
    assert machine.tree() == {}


@pytest.mark.parametrize("name", ["agents.json", "pending-registrations.json"])
def test_a_damaged_file_stops_setup_before_the_first_question(machine: Machine, name: str) -> None:
    """The file is named and kept; nobody is asked, Canon hears nothing."""
    machine.canon.mkdir()
    (machine.canon / name).write_text("{")
    before = machine.tree()

    with pytest.raises(DamagedFile) as caught:
        machine.setup(SetupAnswers(), ScriptedPrompts())

    assert caught.value.file == str(machine.canon / name)
    assert (machine.tree(), machine.calls()) == (before, [])


def test_a_managed_home_is_refused_at_once(machine: Machine) -> None:
    """A package manager owns the home: said before the first question."""
    machine.environ["HERMES_MANAGED"] = "nixos"

    with pytest.raises(ManagedHome, match="managed by NixOS"):
        machine.setup(SetupAnswers(), ScriptedPrompts())


def test_a_name_of_another_client_is_refused_before_the_request(machine: Machine) -> None:
    """The profile belongs to another client type; neither file changes and no request is sent."""
    machine.write_agents(ops={"clientType": "codex"})
    before = machine.tree()

    with pytest.raises(ForeignProfile):
        machine.setup(machine.registering())

    assert machine.tree() == before
    assert "POST /agents/register" not in machine.calls()


# Using a profile ---------------------------------------------------------------------------------------------------


def stored(machine: Machine, **changes: object) -> dict[str, object]:
    """A profile with the sandbox's own agent."""
    return profile_entry(
        **{"agentId": "agent_sandbox", "apiKey": machine.box.endpoints.agent_key, **machine.binding, **changes}
    )


def test_a_profile_of_this_machine_is_verified_and_bound(machine: Machine) -> None:
    """Its environment answers, Canon says whose key it is, then the home uses it."""
    machine.write_agents(ops=stored(machine), other=stored(machine))

    result = machine.setup(SetupAnswers(use_profile="other"))

    assert machine.calls() == ["GET /healthz/", "GET /health", "GET /agents/me"]
    assert (result.way, result.canon_profile, result.agent_id) == (Way.USE_PROFILE, "other", "agent_sandbox")
    assert machine.env() == "CANON_AGENT=other\n"


def test_a_profile_can_be_chosen_from_a_list(machine: Machine) -> None:
    """Profiles of other clients are not offered; the one in use is preselected."""
    machine.write_agents(a=stored(machine), b=stored(machine), theirs={"clientType": "codex"})
    machine.write_env("CANON_AGENT=b\n")
    prompts = ScriptedPrompts(("--way", "use-profile"), ("--use-profile", None))

    assert machine.setup(SetupAnswers(), prompts).canon_profile == "b"
    assert (
        machine.setup(SetupAnswers(way=Way.USE_PROFILE), ScriptedPrompts(("--use-profile", "a"))).canon_profile == "a"
    )


REFUSED_PROFILES: dict[str, tuple[dict[str, object], type[CanonOpsError]]] = {
    "unknown": ({}, UnknownProfile),
    "foreign": ({"ops": {"clientType": "codex"}}, UnknownProfile),
    "incomplete": ({"ops": {"agentId": "x"}}, UnboundProfile),
}


@pytest.mark.parametrize(("entries", "problem"), REFUSED_PROFILES.values(), ids=REFUSED_PROFILES.keys())
def test_a_profile_that_cannot_be_used_is_refused(
    machine: Machine, entries: dict[str, object], problem: type[CanonOpsError]
) -> None:
    """Unknown, foreign or incomplete: exit 4 and no change of .env."""
    machine.write_agents(**entries)

    with pytest.raises(problem) as caught:
        machine.setup(SetupAnswers(use_profile="ops"))

    assert caught.value.exit_code is ExitCode.CREDENTIAL
    assert machine.env() == ""


def test_without_profiles_there_is_none_to_use(machine: Machine) -> None:
    """Asking for a profile on a fresh machine says how to register."""
    with pytest.raises(NoProfiles):
        machine.setup(SetupAnswers(way=Way.USE_PROFILE))


def test_a_profile_whose_key_canon_refuses_is_not_bound(machine: Machine) -> None:
    """A revoked or unknown key: exit 4 with the way to reconnect."""
    machine.write_agents(ops=stored(machine, apiKey="agk_live_wrong"))

    with pytest.raises(Unauthorized) as caught:
        machine.setup(SetupAnswers(use_profile="ops"))

    assert caught.value.exit_code is ExitCode.CREDENTIAL
    assert caught.value.fix == "reconnect it: canon-ops setup canon --canon-profile ops --agent-id agent_sandbox"
    assert machine.env() == ""


def test_a_profile_with_another_agents_key_is_not_bound(machine: Machine) -> None:
    """Canon knows the key as another agent's than the profile says."""
    machine.write_agents(ops=stored(machine, agentId="agent_other"))

    with pytest.raises(KeyOfAnotherAgent, match="that of agent agent_sandbox, not of agent_other"):
        machine.setup(SetupAnswers(use_profile="ops"))

    assert machine.env() == ""


def test_a_bootstrapped_profile_is_written_when_it_is_used(machine: Machine) -> None:
    """SC.7: a profile that only the variable has is adopted into agents.json and bound."""
    text = json.dumps({"boot": stored(machine)}).encode()
    machine.environ["CANON_AGENTS_JSON_BOOTSTRAP"] = base64.b64encode(text).decode()
    machine.write_agents(theirs={"clientType": "codex"})

    result = machine.setup(SetupAnswers(use_profile="boot"))

    assert machine.agents() == {"boot": stored(machine), "theirs": {"clientType": "codex"}}
    assert [path.name for path in result.files] == ["agents.json", ".env"]


def test_canon_home_may_stand_in_the_env_file(machine: Machine, tmp_path: Path) -> None:
    """CANON_HOME and CANON_AGENTS_FILE of the home's .env move the files, as they do for the gateway."""
    machine.write_env(f"CANON_HOME={tmp_path}/c\nCANON_AGENTS_FILE={tmp_path}/c2/a.json\n")

    machine.setup(machine.registering())

    assert json.loads((tmp_path / "c" / "pending-registrations.json").read_text()) == {}
    assert list(json.loads((tmp_path / "c2" / "a.json").read_text())) == ["ops"]
    assert not machine.canon.exists()


# Pasting a key -----------------------------------------------------------------------------------------------------


def test_a_pasted_key_goes_into_the_env_file_with_its_environment(machine: Machine) -> None:
    """The product's headless way: key, environment and the endpoints that are not packaged, and no profile beside."""
    machine.write_env("CANON_AGENT=old\nOTHER=1\n")
    key = machine.box.endpoints.agent_key

    result = machine.setup(SetupAnswers(**machine.ends, api_key=Secret(f"  {key}\n")))

    ends = machine.ends
    assert machine.env() == (
        f"OTHER=1\nCANON_API_KEY={key}\nCANON_ENVIRONMENT_ID=canon-dev-v1\nCANON_BASE_URL={ends['base_url']}\n"
        f"CANON_STREAM_URL={ends['stream_url']}\nCANON_RTDB_URL={ends['rtdb_url']}\nCANON_FIREBASE_API_KEY=loopback\n"
    )
    assert (result.way, result.canon_profile, result.agent_id) == (Way.KEY, None, "agent_sandbox")
    assert key not in result.diff + repr(result)
    assert result.answers.api_key is None
    found = resolve(surroundings_from_disk(machine.hermes, machine.environ))
    assert (found.api_key, found.connection) == (Secret(key), result.connection)


def test_a_key_can_be_typed_and_is_checked(machine: Machine) -> None:
    """A key with white space or characters that no key has is asked for again."""
    key = machine.box.endpoints.agent_key
    option = "--api-key-stdin, --api-key-file or --api-key-env"
    prompts = ScriptedPrompts(
        ("--way", "key"), (option, ""), (option, "agk live"), (option, "agk_l\u00efve"), (option, f" {key} ")
    )

    machine.setup(SetupAnswers(**machine.ends), prompts)

    prompts.assert_finished()
    assert len(prompts.complaints) == 3
    assert prompts.said[-1].endswith("(agent_sandbox).")


@pytest.mark.parametrize("key", ["", "a b", "k\u00e9y"])
def test_a_key_given_beforehand_must_be_one(machine: Machine, key: str) -> None:
    """Nobody is there to type it again: exit 2."""
    with pytest.raises(BadAnswer):
        machine.setup(SetupAnswers(way=Way.KEY, **machine.ends, api_key=Secret(key)))

    assert machine.env() == ""


def test_a_key_that_canon_refuses_is_not_saved(machine: Machine) -> None:
    """401: exit 4, and nothing in .env."""
    with pytest.raises(Unauthorized) as caught:
        machine.setup(SetupAnswers(**machine.ends, api_key=Secret("agk_live_wrong")))

    assert caught.value.fix == "copy the key again, or register an agent: canon-ops setup canon"
    assert machine.env() == ""


def test_a_key_needs_an_option_when_nobody_can_be_asked(machine: Machine) -> None:
    """Without a terminal the message names the options that take a key."""
    with pytest.raises(MissingAnswer) as caught:
        machine.setup(SetupAnswers(way=Way.KEY, **machine.ends))

    assert caught.value.fix == "add --api-key-stdin, --api-key-file or --api-key-env"


def test_foreign_pending_entries_are_neither_offered_nor_touched(undecided: Machine) -> None:
    """Another client's request stays; ours is filed beside it."""
    foreign = {"clientType": "codex", "profile": "theirs", "requestId": "r"}
    undecided.write_pending(theirs=foreign)

    with pytest.raises(RegistrationPending):
        undecided.setup(undecided.registering(wait_s=0))

    assert undecided.pending()["theirs"] == foreign
    assert list(undecided.pending()) == ["ops", "theirs"]


def test_an_entry_without_a_request_moves_to_the_chosen_environment(machine: Machine) -> None:
    """Nothing was sent yet: the entry keeps its local id and follows the environment."""
    entry = pending_entry(ownerPhone=OWNER, environmentId="canon-prod-v1")
    machine.write_pending(ops=entry)

    machine.setup(machine.registering())

    local_ids = machine.box.engine.read(lambda world: list(world.request_by_local_id))
    assert local_ids == [entry["localRegistrationId"]]
