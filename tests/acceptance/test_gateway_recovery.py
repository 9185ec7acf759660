"""A gateway that is killed at work: what the next one answers, under which ids, and what is left on Canon."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.place import state_path
from canon_hermes_plugin.turn.machine import ANSWER_MARK
from canon_ops.durable import read_once
from tests.support.conversing import answer_to
from tests.support.gateways import Stage, canon_stage, start_gateway

pytestmark = [pytest.mark.host, pytest.mark.timeout(240)]

NO_GUARD = {"gateway": {"restart_loop_guard": {"max_restarts": 0}}}


def answers(stage: Stage, message_id: str) -> list[str]:
    """The finished answers to a message."""
    return [str(answer["text"]) for answer in stage.box.wait("answer", to=message_id, timeout_s=60)]


def salvaged(stage: Stage) -> list[dict[str, Any]]:
    """What the server made of nodes that nobody emptied."""
    return [entry for entry in stage.box.transcript() if entry["origin"] == "server"]


def unsettled(stage: Stage) -> list[tuple[str, str]]:
    """What stands in the inbox."""
    sql = "SELECT item_id, state FROM inbox WHERE state <> 'settled'"
    path = state_path(stage.home.home.path)
    return [tuple(row) for row in read_once(path, SCHEMA, lambda snapshot: snapshot.all(sql))]


def test_a_message_whose_run_died_is_answered_and_marked(tmp_path: Path) -> None:
    """X3, D37: killed while it streams, the next gateway answers once; nothing of the half answer stays."""
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        answer_to(stage.box, stage.box.human.say(None, "[say ready]"))
        message = stage.box.human.say(None, "[long 40] [slow 4]")
        stage.box.wait(lambda world: any(node.text for node in world.nodes.values()), timeout_s=30)

        stage.gateway.kill()
        stage.start_again()
        (answer,) = answers(stage, message)
        stage.box.wait("idle", timeout_s=30)

        assert answer.startswith(ANSWER_MARK)
        assert "word 40" in answer or "40" in answer
        assert salvaged(stage) == []
        assert stage.box.breaches() == []
        assert unsettled(stage) == []


def test_an_answer_that_canon_did_not_take_arrives_after_a_restart(tmp_path: Path) -> None:
    """D6, X1: Canon refuses every send until the gateway is killed; the next one sends the same message once."""
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        answer_to(stage.box, stage.box.human.say(None, "[say ready]"))
        armed = stage.box.fault("send-503", times=None, burst=1_000)
        message = stage.box.human.say(None, "[say the only copy]")
        stage.box.wait("fired", name="send-503", count=2, timeout_s=30)

        stage.gateway.kill()
        stage.box.human.calm()
        stage.start_again()
        found = answers(stage, message)
        stage.box.wait("idle", timeout_s=30)

        sends = [entry["body"] for entry in stage.box.journal() if entry["path"] == "/messages/send"]
        ids = {body["messageId"] for body in sends if body["text"] == "the only copy"}
        assert (found, len(ids), armed.fired > 1) == (["the only copy"], 1, True)
        assert unsettled(stage) == []


@pytest.mark.long
def test_what_was_said_while_no_gateway_ran_is_answered(tmp_path: Path) -> None:
    """X1: the cursor on the disk brings back what was said after a kill, and nothing from before it."""
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        human = stage.box.human
        people = [stage.box.endpoints.owner_id, "agent_sandbox"]
        rooms = [human.open_conversation(people, kind="direct") for _ in range(3)]  # in one the host would join them
        before = human.say(None, "[say before]")
        answer_to(stage.box, before)
        stage.gateway.kill()
        said = [human.say(room, f"[say meanwhile {number}]") for number, room in enumerate(rooms)]

        stage.start_again()

        assert [answers(stage, message) for message in said] == [[f"meanwhile {number}"] for number in range(3)]
        assert answers(stage, before) == ["before"]


@pytest.mark.long
def test_a_message_that_the_starting_host_only_queued_is_not_lost(tmp_path: Path) -> None:
    """X2: killed in its start-up window, where the host reports success for what it only queued; answered once."""
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        answer_to(stage.box, stage.box.human.say(None, "[say ready]"))
        stage.gateway.kill()
        message = stage.box.human.say(None, "[say in the window]")
        stage.gateway = start_gateway(stage.home, stage.log)
        stage.box.wait(lambda _world: unsettled(stage), timeout_s=60)
        stage.gateway.kill()

        stage.start_again()

        assert [answer.removeprefix(ANSWER_MARK) for answer in answers(stage, message)] == ["in the window"]


@pytest.mark.parametrize(
    ("script", "answered"),
    [
        pytest.param("[slow 20][say one two three four five six seven eight]", "one two three", id="half-streamed"),
        pytest.param('[tool terminal {"command": "true"}][wait 20][say done]', "done", id="after-a-tool"),
        pytest.param("[wait 20][say done]", "done", id="before-the-first-word"),
    ],
)
@pytest.mark.long
@pytest.mark.everywhere
def test_a_message_whose_run_a_stop_cut_off_is_answered_once_and_marked(
    tmp_path: Path, script: str, answered: str
) -> None:
    """X3, D37: SIGTERM in mid-turn, as each restart of a service sends it: no half answer stays, nor is there a second.

    The host calls the run that it cut off a success, and resumes the session by itself.
    """
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        answer_to(stage.box, stage.box.human.say(None, "[say ready]"))
        asked = len(stage.model.requests)
        message = stage.box.human.say(None, script)
        stage.model.wait(asked + 1 + script.startswith("[tool"))
        if script.startswith("[slow"):
            stage.box.wait(lambda world: any(node.text for node in world.nodes.values()), timeout_s=30)

        stage.gateway.stop()
        before = [entry["text"] for entry in stage.box.transcript() if entry["origin"] != "human"]
        stage.start_again()
        (answer,) = answers(stage, message)
        stage.box.wait("idle", timeout_s=30)

        said = [entry["text"] for entry in stage.box.transcript() if entry["origin"] != "human"]
        assert before == ["ready"]
        assert answer.startswith(f"{ANSWER_MARK}{answered}")
        assert said == ["ready", answer]
        assert (stage.box.breaches(), unsettled(stage)) == ([], [])


def test_what_is_said_while_a_gateway_goes_down_is_answered_by_the_next(tmp_path: Path) -> None:
    """X1: the host answers it with a notice that it takes no more; nobody reads that, and nothing is lost."""
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        human = stage.box.human
        people = [stage.box.endpoints.owner_id, "agent_sandbox"]
        rooms = [human.open_conversation(people, kind="direct") for _ in range(20)]
        answer_to(stage.box, human.say(None, "[say ready]"))
        asked = len(stage.model.requests)
        human.say(None, "[wait 20][say it holds the gateway up]")
        stage.model.wait(asked + 1)

        with ThreadPoolExecutor(1) as others:
            stopping = others.submit(stage.gateway.stop)
            said = []
            for number, room in enumerate(rooms):
                said.append(human.say(room, f"[say late {number}]"))
                wait([stopping], timeout=0.05)
            stopping.result()
        stage.start_again()

        found = [[text.removeprefix(ANSWER_MARK) for text in answers(stage, message)] for message in said]
        stage.box.wait("idle", timeout_s=60)
        assert found == [[f"late {number}"] for number in range(len(rooms))]
        assert stage.box.breaches() == []
