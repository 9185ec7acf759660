"""Going back in the setup dialogue, trouble that is asked about, the time left, and a key that has to be replaced."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.client.errors import Unauthorized
from canon_ops.client.health import EnvironmentMismatch
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.registration_steps import RegistrationRefused
from canon_ops.operate.setup_answers import RegistrationPending, SetupAnswers, Way
from canon_ops.settings.secret import Secret
from tests.support.sandboxes import canon_box
from tests.support.scripted_prompts import BACK, ScriptedPrompts
from tests.support.setup_machine import OWNER, Machine

Answer = tuple[str, str | bool | None]

ENDPOINTS = "--base-url, --stream-url, --rtdb-url, --firebase-api-key"
REGISTER: list[Answer] = [
    ("--way", "register"),
    ("--canon-profile", "ops"),
    ("--environment", "canon-dev-v1"),
    ("--agent-name", "Ops"),
    ("--description", "For trials"),
    ("--agent-id", ""),
    ("--owner-phone", OWNER),
    ("--owner-phone", True),
]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with canon_box(auto_approve=True) as box:
        yield Machine(tmp_path, box)


def beforehand(machine: Machine) -> SetupAnswers:
    """The endpoints of the loopback Canon, and nothing else."""
    ends = {name: value for name, value in machine.ends.items() if name != "environment"}
    return SetupAnswers(**ends, wait_s=5.0)


@pytest.mark.parametrize("index", range(1, len(REGISTER)), ids=lambda index: f"{index}{REGISTER[index][0]}")
def test_every_question_offers_a_way_back(machine: Machine, index: int) -> None:
    """Back at any question but the first, the question before is asked again, and the end is the same."""
    before, here = REGISTER[index - 1], REGISTER[index]
    person = ScriptedPrompts(*REGISTER[:index], (here[0], BACK), before, *REGISTER[index:])

    result = machine.setup(beforehand(machine), person)

    person.assert_finished()
    assert (result.canon_profile, result.agent_name) == ("ops", "Ops")
    assert machine.agents()["ops"]["agentName"] == "Ops"
    assert machine.env() == "CANON_AGENT=ops\n"


def test_all_the_way_back_and_another_way_taken(machine: Machine) -> None:
    """From the last question to the first; the key that is pasted then leaves no trace of the registration."""
    back: list[Answer] = [(option, BACK) for option, _ in reversed(REGISTER[1:])]
    key = machine.box.endpoints.agent_key
    person = ScriptedPrompts(
        *REGISTER[:-1], *back, ("--way", "key"), ("--environment", None),
        ("--api-key-stdin, --api-key-file or --api-key-env", key),
    )  # fmt: skip

    result = machine.setup(beforehand(machine), person)

    person.assert_finished()
    assert result.way is Way.KEY
    assert not machine.canon.exists()
    assert "POST /agents/register" not in machine.calls()


def test_the_environment_is_verified_once_for_each_answer(machine: Machine) -> None:
    """Going back behind the check and forward again does not ask the network a second time."""
    person = ScriptedPrompts(*REGISTER[:4], ("--description", BACK), REGISTER[3], *REGISTER[4:])

    machine.setup(beforehand(machine), person)

    assert [call for call in machine.calls() if "healthz" in call].count("GET /healthz/") <= 2  # API and stream


def test_trouble_is_told_at_once_and_can_be_tried_again(machine: Machine) -> None:
    """The fault is gone at the second attempt; the dialogue goes on where it was."""
    machine.box.fault("health-wrong-environment", times=1)
    person = ScriptedPrompts(*REGISTER[:3], ("other answers", "again"), *REGISTER[3:])

    assert machine.setup(beforehand(machine), person).canon_profile == "ops"
    person.assert_finished()


def test_trouble_leads_back_to_another_answer(machine: Machine) -> None:
    """A wrong environment is answered otherwise; the right one is verified and registered in."""
    person = ScriptedPrompts(
        *REGISTER[:2], ("--environment", "canon-prod-v1"), ("other answers", "back"), *REGISTER[2:]
    )

    assert machine.setup(beforehand(machine), person).connection.environment_id == "canon-dev-v1"
    person.assert_finished()


def test_whoever_stops_gets_the_trouble_and_nothing_is_written(machine: Machine) -> None:
    """The sentence and the exit code are those of an unattended run."""
    person = ScriptedPrompts(*REGISTER[:2], ("--environment", "canon-prod-v1"), ("other answers", "stop"))

    with pytest.raises(EnvironmentMismatch):
        machine.setup(beforehand(machine), person)

    assert machine.tree() == {}


def test_a_phone_number_that_canon_does_not_know_can_be_typed_again(machine: Machine) -> None:
    """The refusal is told, the question before is the number's own, and everything else that was said stays."""
    wrong: list[Answer] = [("--owner-phone", "+15550999"), ("--owner-phone", True)]
    person = ScriptedPrompts(
        *REGISTER[:-2], *wrong, ("other answers", "again"), ("other answers", "back"), *REGISTER[-2:]
    )

    result = machine.setup(beforehand(machine), person)

    person.assert_finished()
    assert (result.agent_name, result.answers.owner_phone) == ("Ops", OWNER)
    assert machine.agents()["ops"]["agentName"] == "Ops"


def test_whoever_stops_at_a_refusal_gets_the_call_with_what_was_given(machine: Machine) -> None:
    """So does a script, whose answers were options."""
    wrong: list[Answer] = [("--owner-phone", "+15550999"), ("--owner-phone", True)]
    ends = {name: value for name, value in machine.ends.items() if name != "environment"}

    with pytest.raises(RegistrationRefused) as stopped:
        machine.setup(beforehand(machine), ScriptedPrompts(*REGISTER[:-2], *wrong, ("other answers", "stop")))
    with pytest.raises(RegistrationRefused) as unattended:
        machine.setup(machine.registering(owner_phone="+15550999", agent_name="The Ops"), Unattended())

    assert stopped.value.fix is not None and unattended.value.fix is not None
    words = shlex.split(stopped.value.fix)
    given = dict(zip(words[3::2], words[4::2], strict=True))
    told = {"--agent-name": "Ops", "--description": "For trials", "--canon-profile": "ops", "--owner-phone": "NUMBER"}
    assert words[:3] == ["canon-ops", "setup", "canon"]
    assert given.items() >= told.items()
    assert all(given[f"--{name.replace('_', '-')}"] == value for name, value in ends.items())
    assert "--agent-name 'The Ops'" in unattended.value.fix
    assert machine.pending() == {}


def test_esc_at_what_now_goes_back(machine: Machine) -> None:
    """As at every other question."""
    person = ScriptedPrompts(*REGISTER[:2], ("--environment", "canon-prod-v1"), ("other answers", BACK), *REGISTER[2:])

    assert machine.setup(beforehand(machine), person).connection.environment_id == "canon-dev-v1"
    person.assert_finished()


def test_a_key_that_canon_refuses_can_be_typed_again(machine: Machine) -> None:
    """The refusal is told, the question before is the key's."""
    option = "--api-key-stdin, --api-key-file or --api-key-env"
    person = ScriptedPrompts(
        ("--way", "key"), ("--environment", "canon-dev-v1"), (option, "agk_live_wrong"), ("other answers", "back"),
        (option, machine.box.endpoints.agent_key),
    )  # fmt: skip

    assert machine.setup(beforehand(machine), person).agent_id == "agent_sandbox"
    person.assert_finished()


def test_the_wait_tells_request_and_time_left(tmp_path: Path) -> None:
    """What is shown while the owner thinks counts down and names the request."""
    with canon_box() as box:
        machine, person = Machine(tmp_path, box), ScriptedPrompts()

        with pytest.raises(RegistrationPending):
            machine.setup(
                machine.registering(way=Way.REGISTER, agent_name="Ops", description="x", agent_id="", wait_s=0.5),
                person,
            )
        request_id = machine.pending()["ops"]["requestId"]

    assert len(person.shown) > 5
    assert all(
        re.fullmatch(rf"Waiting for the owner: 0:0[01] left .*, request {request_id}", text) for text in person.shown
    )


def test_a_revoked_key_is_replaced_under_the_same_agent(machine: Machine) -> None:
    """Reconnecting by id asks for the owner alone: environment, name and profile are known."""
    first = machine.setup(machine.registering())
    old = machine.agents()["ops"]
    machine.box.human.revoke(first.agent_id)
    person = ScriptedPrompts(("--owner-phone", OWNER), ("--owner-phone", True))

    result = machine.setup(SetupAnswers(canon_profile="ops", agent_id=first.agent_id), person)

    new = machine.agents()["ops"]
    person.assert_finished()
    assert (result.agent_id, new["agentId"], new["agentName"]) == (first.agent_id, old["agentId"], old["agentName"])
    assert new["apiKey"] != old["apiKey"]
    assert {name: new[name] for name in machine.binding} == machine.binding


def test_a_refused_key_is_raised_when_nobody_is_there(machine: Machine) -> None:
    """No question, the credential's exit code."""
    with pytest.raises(Unauthorized):
        machine.setup(SetupAnswers(**machine.ends, api_key=Secret("agk_live_wrong")))
