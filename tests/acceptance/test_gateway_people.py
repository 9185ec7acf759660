"""People in the loop of a real gateway: the agent's questions, and the commands that somebody has to allow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canon_ops.sandbox.answering import AnswerRefused
from tests.support.asking import call_of, human_answers, question_of
from tests.support.conversing import answer_to, states_of
from tests.support.gateways import Stage, canon_stage
from tests.support.hosts import THIS_HOST
from tests.support.side_by_side import NAME, add_side_by_side
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.host, pytest.mark.timeout(240)]


@pytest.fixture(
    scope="module",
    params=["one session", pytest.param("a session each", marks=[pytest.mark.long, pytest.mark.everywhere])],
)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A gateway whose group members share a session, or have one each."""
    is_each = request.param == "a session each"
    folder = tmp_path_factory.mktemp("people")
    extra = add_side_by_side(folder / "hermes")
    config = {
        "group_sessions_per_user": is_each,
        "quick_commands": {"disk": {"type": "exec", "command": "df -h"}},
        "plugins": {"enabled": ["canon-hermes", extra]},
        "platform_toolsets": {"canon": ["terminal", "clarify", "canon", extra]},
    }
    with canon_stage(folder, config=config) as stage:
        yield stage


@pytest.fixture
def is_one(request: pytest.FixtureRequest) -> bool:
    """Whether the members share a session."""
    return "one session" in request.node.name


def asked(stage: Stage, kind: str) -> dict[str, Any]:
    """The one request that waits on Canon."""
    (request,) = stage.box.wait("interaction", kind=kind, timeout_s=60)
    return dict(request)


def results(stage: Stage) -> list[str]:
    """What tool calls gave the model, as often as it was told."""
    return [
        str(message["content"])
        for request in stage.model.requests
        for message in request.body["messages"]
        if message["role"] == "tool"
    ]


def told(stage: Stage) -> str:
    """What the newest tool call gave the model."""
    return results(stage)[-1]


def test_a_question_is_answered_by_choice(shared: Stage) -> None:
    """S9.2, D2: the clarify tool becomes an input with choices for the human of the turn; the answer ends it."""
    message = shared.box.human.say(None, question_of("Which ledger?", "2025", "2026"))
    request = asked(shared, "input")

    shared.box.human.answer(request["id"], value="2026")

    answer = answer_to(shared.box, message)
    states = states_of(shared.box, answer["metadata"]["turnId"])
    assert (request["responder_id"], request["request"]["native"]["method"]) == ("user_owner", "clarify")
    labels = [one["label"] for one in request["request"]["choices"]]
    assert [label.removesuffix(" (Recommended)") for label in labels] == ["2025", "2026"]  # 0.21 says so of the first
    assert human_answers(results(shared))[-1] == "2026"
    assert "waiting_input" in states and states[-1] == "completed"


def test_a_question_is_answered_in_the_chat(shared: Stage) -> None:
    """S9.15: what is typed answers the question; Canon's input is taken back and the same turn goes on."""
    message = shared.box.human.say(None, question_of("Which ledger?", "2025", "2026"))
    request = asked(shared, "input")

    shared.box.human.say(None, "2025")

    answer = answer_to(shared.box, message)
    wait_until(lambda: state_of(shared, request["id"]) == "gone")
    assert human_answers(results(shared))[-1] == "2025"
    assert answer["text"] == "done"


def state_of(stage: Stage, request_id: str) -> str:
    return next(str(one["state"]) for one in stage.box.human.interactions() if one["id"] == request_id)


DANGER = "rm -rf /tmp/canon-people-test-nothing"


@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_command_is_decided(shared: Stage, decision: str) -> None:
    """S9.4, D1, D2: a native approval for the owner; a refusal leaves the turn open and the model answers."""
    message = shared.box.human.say(None, call_of("terminal", said=f"so it is: {decision}", command=DANGER))
    request = asked(shared, "approval")

    shared.box.human.answer(request["id"], decision=decision)

    answer = answer_to(shared.box, message)
    assert (request["responder_id"], request["request"]["allowSessionRule"]) == ("user_owner", True)
    assert request["request"]["details"][0] == {"label": "Command", "value": DANGER, "monospace": True}
    assert answer["text"] == f"so it is: {decision}"
    assert ("denied" in told(shared).lower()) == (decision == "deny")
    assert "interrupted" not in states_of(shared.box, answer["metadata"]["turnId"])


def team_of(stage: Stage) -> str:
    box = stage.box
    return box.human.open_conversation([box.endpoints.owner_id, "user_dana", "agent_sandbox"], name="Crew")


def crew_of(stage: Stage) -> str:
    """A group with a bystander in it."""
    box, team = stage.box, team_of(stage)
    box.human.add_person("Extra", user_id="user_extra")
    members = [box.endpoints.owner_id, "user_dana", "agent_sandbox", "user_extra"]
    box.human.change_conversation(team, memberIds=members)
    return team


def test_a_members_question_is_hers(shared: Stage, is_one: bool) -> None:
    """R9.2, D64: what another member says or attaches meanwhile gets its own turn; her words are the answer."""
    box, team = shared.box, crew_of(shared)
    message = box.human.say(team, question_of("Which ledger?", "2025", "2026"), "user_dana")
    request = asked(shared, "input")
    picture = box.human.upload(b"\x89PNG\r\n", mime_type="image/png", file_name="cat.png", conversation_id=team)

    others = box.human.say(team, "[say for Extra]", "user_extra", attachments=[picture])
    if is_one:
        wait_until(lambda: any(state.get("queueDepth") for state in box.human.turns(team)), timeout_s=60)
    else:  # beside the question, in a session of Extra's own
        answer_to(box, others)
    still_open = state_of(shared, request["id"])
    box.human.say(team, "2", "user_dana")

    assert (answer_to(box, message)["text"], answer_to(box, others)["text"]) == ("done", "for Extra")
    assert (request["responder_id"], still_open) == ("user_dana", "pending")
    assert human_answers(results(shared))[-1] == "2026"


def test_yolo_is_the_owners(shared: Stage) -> None:
    """R9.10: the member who may allow one command does not switch the asking off."""
    box, team = shared.box, crew_of(shared)
    message = box.human.say(team, call_of("terminal", said="denied then", command=DANGER), "user_dana")
    request = asked(shared, "approval")

    position = box.engine.world.message_count
    box.human.say(team, "/yolo", "user_dana")
    (notice,) = box.wait("messages", conversation_id=team, after=position, timeout_s=60)
    box.human.answer(request["id"], decision="deny")
    answer_to(box, message)
    second = box.human.say(team, call_of("terminal", said="asked again", command=DANGER), "user_dana")
    box.human.answer(asked(shared, "approval")["id"], decision="deny")

    assert answer_to(box, second)["text"] == "asked again"
    assert "Only the owner of this agent can use this command" in notice["text"]


@pytest.mark.parametrize("word", ["/approve", "no"])
def test_a_member_is_asked_and_nobody_else(shared: Stage, is_one: bool, word: str) -> None:
    """S9.2: in a group a command is put to the member of the turn; another's press, or typed word, does nothing."""
    box, team = shared.box, crew_of(shared)
    message = box.human.say(team, call_of("terminal", said="denied then", command=DANGER), "user_dana")
    request = asked(shared, "approval")

    with pytest.raises(AnswerRefused):
        box.human.answer(request["id"], decision="allow", by="user_extra")
    position = box.engine.world.message_count
    box.human.say(team, word, "user_extra")
    (notice,) = box.wait("messages", conversation_id=team, after=position, timeout_s=60)
    still_open = state_of(shared, request["id"])
    box.human.answer(request["id"], decision="deny")

    assert answer_to(box, message)["text"] == "denied then"
    assert (request["responder_id"], request["request"]["allowSessionRule"]) == ("user_dana", False)
    assert ("can decide about this command" in notice["text"], still_open) == (is_one, "pending")
    assert "denied" in told(shared).lower()


def test_sudo_is_the_owners(shared: Stage) -> None:
    """S9.2, D19: with other rights, however it is written, the owner is asked; the member's typed yes is refused."""
    box, team = shared.box, team_of(shared)
    command = r"s\udo rm -rf /tmp/canon-people-test-nothing"
    message = box.human.say(team, call_of("terminal", said="not allowed", command=command), "user_dana")
    request = asked(shared, "approval")

    position = box.engine.world.message_count
    box.human.say(team, "yes", "user_dana")
    (notice,) = box.wait("messages", conversation_id=team, after=position, timeout_s=60)
    box.human.answer(request["id"], decision="deny")

    assert answer_to(box, message)["text"] == "not allowed"
    assert (request["responder_id"], "responseUserId" in request["request"]) == ("user_owner", False)
    assert "Only the owner" in notice["text"]


def test_a_command_is_allowed_in_the_chat(shared: Stage) -> None:
    """S9.14: a typed yes while the card is open runs the command; the card is taken back."""
    message = shared.box.human.say(None, call_of("terminal", command=DANGER))
    request = asked(shared, "approval")

    shared.box.human.say(None, "/approve")

    answer_to(shared.box, message)
    wait_until(lambda: state_of(shared, request["id"]) == "gone")
    assert json.loads(told(shared))["exit_code"] == 0


def test_two_commands_of_a_session_wait_at_once(shared: Stage, tmp_path: Path) -> None:
    """S9.14, D16: each card decides its own command, the newer one first; the turn waits until both are decided."""
    box, commands = shared.box, [f"{DANGER} && touch {tmp_path / name}" for name in ("one", "other")]
    message = box.human.say(None, call_of(NAME, commands=commands))
    older, newer = box.wait("interaction", kind="approval", count=2, timeout_s=60)
    denied, allowed = (commands.index(one["request"]["details"][0]["value"]) for one in (older, newer))

    box.human.answer(newer["id"], decision="allow")
    wait_until(lambda: [*tmp_path.iterdir()])
    still_open, state = state_of(shared, older["id"]), box.human.turns()[-1]["state"]
    box.human.answer(older["id"], decision="deny")

    answer, outcomes = answer_to(box, message), json.loads(told(shared))
    assert (still_open, state, answer["text"]) == ("pending", "waiting_input", "done")
    assert [str(path) for path in tmp_path.iterdir()] == [commands[allowed].split()[-1]]
    assert outcomes[allowed]["exit_code"] == 0 and "denied" in str(outcomes[denied]).lower()
    assert states_of(box, answer["metadata"]["turnId"])[-1] == "completed"


def test_a_long_command_is_shown_whole(shared: Stage) -> None:
    """S9.16, D19: beside the card stands all of it."""
    box, command = shared.box, f"{DANGER} && echo {'x' * 5_000}"
    position = box.engine.world.message_count
    message = box.human.say(None, call_of("terminal", command=command))
    request = asked(shared, "approval")
    posted = [row for row in box.transcript(after=position) if row["origin"] == "agent"]
    box.human.answer(request["id"], decision="deny")

    answer_to(box, message)
    shown = "".join(str(row["text"]) for row in posted if row["metadata"].get("turnSemantics") != "turn_complete")
    assert command in shown.replace("\n", "") or command in shown


def test_canon_shows_no_card(shared: Stage) -> None:
    """R9.19, D3: the host's own prompt reaches the chat as a control message, and the typed answer counts."""
    box = shared.box
    fault = box.fault("interaction-500")
    position = box.engine.world.message_count
    message = box.human.say(None, call_of("terminal", command=DANGER))
    (prompt,) = box.wait("messages", after=position, timeout_s=60)

    box.human.say(None, "/deny")

    answer_to(box, message)
    assert (fault.fired, prompt["metadata"]["turnSemantics"]) == (1, "control")
    assert THIS_HOST.approval_command in prompt["text"] and DANGER in prompt["text"]


def offered(stage: Stage) -> set[str]:
    """What Canon's apps show now."""
    status = stage.box.human.runtime_status() or {}
    return {one["id"] for one in status.get("runtimeDescriptor", {}).get("commands", ())}


def test_what_the_runtime_offers(shared: Stage) -> None:
    """S14.1, S14.4 in a gateway: the host's commands and the operator's are on Canon, a new skill with a later beat."""
    wait_until(lambda: {"hermes-new", "hermes-approve", "hermes-disk"} <= offered(shared))
    skill = shared.home.path / "skills" / "filing" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: filing\ndescription: Files invoices\n---\nFile them.\n")
    before = offered(shared)

    shared.box.human.say(None, "/reload-skills")

    wait_until(lambda: "hermes-filing" in offered(shared), timeout_s=90)
    assert "hermes-filing" not in before and "stop-and-clear-queue" in before


def test_nothing_was_done_that_a_good_client_does_not(shared: Stage) -> None:
    """Over all of the above Canon has nothing to complain about, nor has the host."""
    complaints = [text for text in shared.home.log_records() if " ERROR " in text or "Traceback" in text]

    assert (shared.box.breaches(), [text for text in complaints if "canon" in text.lower()]) == ([], [])


IMPATIENT = {"HERMES_CLARIFY_TIMEOUT": "6", "HERMES_APPROVAL_TIMEOUT": "6"}


def test_nobody_answers(tmp_path: Path) -> None:
    """D2, D17: a question and a command run out of time; both are taken back, and the turns end with their answers."""
    with canon_stage(tmp_path, dotenv=IMPATIENT) as stage:
        question = stage.box.human.say(None, question_of("Which ledger?"))
        asked(stage, "input")
        answered = answer_to(stage.box, question)
        (silence,) = {*human_answers(results(stage))}

        command = stage.box.human.say(None, call_of("terminal", said="nobody was there", command=DANGER))
        asked(stage, "approval")
        refused = answer_to(stage.box, command)

        assert (answered["text"], silence) == ("done", "[The user did not answer within 6 seconds.]")
        assert (refused["text"], "denied" in told(stage).lower()) == ("nobody was there", True)
        assert {one["state"] for one in stage.box.human.interactions()} == {"gone"}


NO_GUARD = {"gateway": {"restart_loop_guard": {"max_restarts": 0}}}


def test_a_gateway_dies_while_it_asks(tmp_path: Path) -> None:
    """D17, X1: the next gateway takes the dead one's card back, and the run that continues asks anew."""
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        message = stage.box.human.say(None, call_of("terminal", said="denied", command=DANGER))
        first = asked(stage, "approval")

        stage.gateway.kill()
        stage.box.human.answer(first["id"], decision="allow")
        stage.start_again()
        second = asked(stage, "approval")
        stage.box.human.answer(second["id"], decision="deny")
        answer_to(stage.box, message, timeout_s=120)

        assert first["id"] != second["id"]
        wait_until(lambda: {one["state"] for one in stage.box.human.interactions()} == {"gone"})
        assert "denied" in told(stage).lower()
