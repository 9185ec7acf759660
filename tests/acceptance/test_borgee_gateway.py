"""A real Hermes gateway with our plugin on a loopback Borgee: what people see there, and what the inbox says of it.

=====================================================  ==============================================================
a direct message                                       test_a_direct_message_is_answered
a channel, two authors, one session                    test_two_people_in_a_channel_talk_to_one_session
a streamed preview and its last edit                   test_a_long_answer_is_written_once_and_edited_to_its_end
a channel made in no Zone and in a named one           test_the_model_makes_a_channel_where_it_is_told
``/status``, ``/queue`` and ``/stop`` beside a turn    test_commands_are_answered_beside_a_turn_and_stop_ends_it
a question and its answer                              test_a_question_is_answered_in_the_channel
the agent is switched off                              test_an_agent_that_is_switched_off_is_down_and_its_turn_ends
a stop while a turn runs                               test_a_turn_that_a_stop_interrupts_is_not_lost
a second process                                       test_a_second_gateway_of_the_home_is_kept_out
decisions through the socket and without a gateway     test_what_a_kill_leaves_waits_for_a_person
=====================================================  ==============================================================

On the other audited hosts the set runs with ``make test-hosts SET=whole``, the long ones included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.inbox.records import Outcome, Status
from canon_ops.hermes.gateway import read_state
from tests.support.asking import question_of
from tests.support.borgee_boxes import DM, LOBBY
from tests.support.borgee_gateways import BorgeeStage, borgee_stage
from tests.support.candidate import loaded_as
from tests.support.gateways import start_gateway
from tests.support.waiting import wait_until

pytestmark = pytest.mark.host

SCRIPT = str(Path(sys.executable).with_name("canon-ops"))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BorgeeStage]:
    """A ready gateway for the tests that only talk."""
    with borgee_stage(tmp_path_factory.mktemp("borgee")) as running:
        yield running


def program(stage: BorgeeStage, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run canon-ops on the gateway's home; exit code and the data of its document."""
    environ = {**stage.home.environ, "PATH": os.environ["PATH"]}
    done = subprocess.run([SCRIPT, *arguments, "--json"], env=environ, capture_output=True, text=True, check=False)
    document: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, document["data"] if document["data"] is not None else document


def running_turn(stage: BorgeeStage, channel_id: str | None, name: str, seconds: int = 4) -> str:
    """Start a turn that takes a while, and wait until its model works on it."""
    message = stage.box.human.say(channel_id, f"[wait {seconds}][say {name} is done]")
    stage.model.wait(where=lambda request: f"{name} is done" in request.user_text, timeout_s=30)
    return message


def test_a_direct_message_is_answered(stage: BorgeeStage) -> None:
    """One answer, as a reply; the receipt is completed, and the server accepted both reports."""
    message = stage.box.human.say(None, "[say hello there]")

    assert stage.answer(message) == "hello there"

    receipt = stage.receipt_of(message)
    assert (receipt.status, receipt.session_key) == (Status.COMPLETED, f"agent:main:borgee:dm:{DM}")

    def reports() -> list[tuple[object, object]]:
        mine = f"borgee-{receipt.ingest_seq}-"
        return [
            (each["type"], each["refused"]) for each in stage.box.human.reports() if each["task_id"].startswith(mine)
        ]

    wait_until(lambda: len(reports()) > 1)
    assert reports() == [("task_started", None), ("task_finished", None)]


def test_two_people_in_a_channel_talk_to_one_session(stage: BorgeeStage) -> None:
    """The model sees both by name in one conversation, and the Server's id that its channel tools ask for (W7)."""
    first = stage.box.human.say(LOBBY, "[say noted one]")
    stage.answer(first)
    second = stage.box.human.say(LOBBY, "[say noted two]", "user_dana")
    stage.answer(second)

    request = stage.model.requests[-1]
    said = json.dumps(request.body["messages"])
    keys = {stage.receipt_of(message).session_key for message in (first, second)}
    assert keys == {f"agent:main:borgee:channel:{LOBBY}"}
    assert all(name in said for name in ("Olive", "Dana", "noted one"))
    assert '"guild_id": "guild_home"' in request.system


def test_a_long_answer_is_written_once_and_edited_to_its_end(stage: BorgeeStage) -> None:
    """A preview, edits, and the last edit without the cursor; nothing is repeated."""
    message = stage.box.human.say(None, "[long 200][slow 1]")

    text = stage.answer(message)

    answers = stage.box.wait("answer", to=message)
    assert len(answers) == 1
    assert answers[0]["edits"] >= 2
    assert (text.split()[0], text.split()[-1]) == ("word1", "word200")


@pytest.mark.parametrize("zone", [None, "zone_builds"])
def test_the_model_makes_a_channel_where_it_is_told(stage: BorgeeStage, zone: str | None) -> None:
    """Null and a named Zone arrive as they are; the result reaches the model."""
    name = f"made-{zone}"
    arguments = json.dumps({"guild_id": "guild_home", "name": name, "parent_id": zone})
    message = stage.box.human.say(LOBBY, f"[tool borgee_channel_create {arguments}][say made it]")

    stage.settled(message)

    (made,) = (each for each in stage.box.human.channels() if each["name"] == name)
    assert made["parent_id"] == zone


def test_commands_are_answered_beside_a_turn_and_stop_ends_it(stage: BorgeeStage) -> None:
    """/status while busy; a queued text waits; /stop ends the turn, and the queued text runs."""
    stage.answer(stage.box.human.say(None, "[say at your service]"))  # a run is stopped, not the making of its agent
    turn = running_turn(stage, None, "the first", seconds=12)
    status = stage.box.human.say(None, "/status")
    assert stage.settled(status).outcome == Outcome.INLINE_COMPLETED
    queued = stage.box.human.say(None, "/queue [say queued one]")
    assert stage.receipt_of(queued).status is Status.PENDING
    stop = stage.box.human.stop()

    assert stage.settled(stop).outcome == Outcome.INLINE_COMPLETED
    assert stage.settled(turn).outcome == Outcome.HERMES_CANCELLED
    assert stage.answer(queued).endswith("queued one")  # the interrupted turn is still in the conversation


def test_a_question_is_answered_in_the_channel(stage: BorgeeStage) -> None:
    """The model asks; the next plain text is its answer, past the turn that waits for it."""
    asked = stage.box.human.say(LOBBY, question_of("Which colour?", said="thanks"))
    stage.box.wait(
        lambda world: any(
            each.author_id == "agent_sandbox" and "Which colour?" in (each.text or "")
            for each in world.messages.values()
        )
    )
    answer = stage.box.human.say(LOBBY, "blue", "user_dana")

    assert stage.settled(answer).outcome == Outcome.INLINE_COMPLETED
    assert stage.answer(asked)
    assert "blue" in json.dumps(stage.model.requests[-1].body["messages"])


def test_an_edit_a_reaction_and_an_echo_start_nothing(stage: BorgeeStage) -> None:
    """They are on disk, settled, and nobody was asked about them."""
    message = stage.box.human.say(None, "[say once]")
    stage.answer(message)
    before = len(turns_of(stage))
    stage.box.human.edit(message, "[say twice]")
    stage.box.human.react(message, "+1")
    stage.box.human.redeliver(message)
    last = stage.box.human.say(None, "[say last]")

    assert stage.answer(last) == "last"
    outcomes = [each.outcome for each in stage.receipts() if each.message_id == message]
    assert outcomes == [Outcome.HERMES_COMPLETED, Outcome.IGNORED_EDITED, Outcome.IGNORED_REACTION]
    assert len(turns_of(stage)) == before + 1


def turns_of(stage: BorgeeStage) -> list[str]:
    """What the model was asked in turns; the host asks it for titles too, whenever it likes, and without tools."""
    return [request.user_text for request in stage.model.requests if request.body.get("tools")]


def test_a_second_gateway_of_the_home_is_kept_out(stage: BorgeeStage, tmp_path: Path) -> None:
    """One process for a key: another home with the same key does not connect, and says who has it."""
    other = tmp_path / "other"
    other.mkdir()
    for name in ("config.yaml", ".env"):
        (other / name).write_bytes((stage.home.path / name).read_bytes())
    loaded_as(["borgee"], other)  # the configuration names its plugin as this host needs it
    environ = {**stage.home.environ, "HERMES_HOME": str(other)}
    from canon_ops.hermes.homes import resolve_home
    from tests.support.homes import GatewayHome

    home = GatewayHome(resolve_home(environ), environ)
    second = start_gateway(home, tmp_path / "second.out")
    try:
        wait_until(lambda: "in use by process" in home.gateway_log, timeout_s=30)
    finally:
        second.kill()

    assert f"in use by process {stage.gateway.pid}" in home.gateway_log
    assert stage.box.endpoints.agent_key not in home.logs
    assert stage.answer(stage.box.human.say(None, "[say still here]")) == "still here"


@pytest.mark.long
@pytest.mark.everywhere
def test_what_a_kill_leaves_waits_for_a_person(tmp_path: Path) -> None:
    """Killed in mid-turn: nothing runs twice; one is requeued through the gateway, one discarded without it."""
    with borgee_stage(tmp_path) as stage:
        one = running_turn(stage, None, "one")
        two = running_turn(stage, LOBBY, "two")
        behind = stage.box.human.say(None, "[say behind]")
        wait_until(lambda: stage.receipt_of(behind).status is Status.PENDING)
        asked_before = len(stage.model.requests)
        stage.gateway.kill()

        stage.start_again()
        seqs = {message: stage.receipt_of(message).ingest_seq for message in (one, two)}
        assert [stage.receipt_of(message).status for message in seqs] == [Status.QUARANTINED] * 2
        assert {stage.receipt_of(message).outcome for message in seqs} == {Outcome.QUARANTINED_SUSPENDED}
        status = stage.box.human.say(None, "/status")
        assert stage.settled(status).status is Status.COMPLETED  # W17
        assert stage.receipt_of(behind).status is Status.PENDING

        code, done = program(stage, "inbox", "requeue", str(seqs[one]), "--confirm-duplicate-side-effect-risk")
        assert (code, done["carried_out_by"]) == (0, "gateway")
        assert stage.answer(one, timeout_s=60) == "one is done"
        assert stage.answer(behind) == "behind"
        assert len(stage.model.requests) >= asked_before

        stage.gateway.stop()
        code, done = program(stage, "inbox", "discard", str(seqs[two]), "--yes")
        assert (code, done["carried_out_by"]) == (0, "here")
        stage.start_again()
        assert stage.answer(stage.box.human.say(LOBBY, "[say fresh]")) == "fresh"
        assert stage.receipt_of(two).outcome == Outcome.OPERATOR_DISCARDED


@pytest.mark.long
@pytest.mark.everywhere
def test_an_agent_that_is_switched_off_is_down_and_its_turn_ends(tmp_path: Path) -> None:
    """W28: the socket is closed, the state says why, the turn is not cancelled, and nothing new is taken."""
    with borgee_stage(tmp_path) as stage:
        turn = running_turn(stage, None, "the turn", seconds=3)
        stage.box.human.toggle("disable")
        wait_until(lambda: stage.box.human.connections()["open"] == 0)
        stage.box.human.say(None, "[say too late]")

        assert stage.settled(turn).outcome == Outcome.HERMES_FAILED  # it ended by itself; its answer could not be sent
        state = read_state(stage.home.home)
        assert state is not None
        assert not state.is_connected("borgee")
        assert "borgee_agent_disabled" in json.dumps(json.loads((stage.home.path / "gateway_state.json").read_text()))
        assert len(stage.receipts()) == 1


@pytest.mark.long
@pytest.mark.everywhere
def test_a_turn_that_a_stop_interrupts_is_not_lost(tmp_path: Path) -> None:
    """Hermes interrupts what runs and calls that a success; without an answer the receipt is in doubt."""
    with borgee_stage(tmp_path) as stage:
        stage.answer(stage.box.human.say(None, "[say at your service]"))
        turn = running_turn(stage, None, "the turn", seconds=6)
        time.sleep(1)  # a run is interrupted, not the making of its agent, which the host looks for now and then
        stage.gateway.stop()

        receipt = stage.receipt_of(turn)
        assert (receipt.status, receipt.outcome) == (Status.IN_DOUBT, Outcome.PROCESS_INTERRUPTED)
        assert "the turn is done" not in [each["content"] for each in stage.box.human.transcript()]
