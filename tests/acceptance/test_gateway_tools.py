"""Cards, questions and messages to others in a real gateway: what a model calls, what people see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import COMMUNICATE, CONTROL, call_of, tool_results
from tests.support.cards import QUESTION, SUMMARY
from tests.support.conversing import answer_to
from tests.support.gateways import Stage, canon_stage

pytestmark = [pytest.mark.host, pytest.mark.timeout(240)]

NO_GUARD = {"gateway": {"restart_loop_guard": {"max_restarts": 0}}}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with canon_stage(tmp_path_factory.mktemp("tools")) as stage:
        yield stage


def use(stage: Stage, tool: str, **arguments: Any) -> dict[str, Any]:
    """Let the model call a tool in a turn of the owner's; what it was told."""
    answer_to(stage.box, stage.box.human.say(None, call_of(tool, **arguments)))
    return tool_results(stage)[-1]


def test_a_card_outlives_its_gateway(tmp_path: Path) -> None:
    """D32: sent, the gateway killed, answered, started again: the model fetches the answer of the right human."""
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        sent = use(stage, CONTROL, action="send_card", card=QUESTION, cardId="card-1")

        stage.gateway.kill()
        stage.box.human.answer("card-1", actionId="file", values={"note": "now"})
        stage.start_again()
        result = use(stage, CONTROL, action="check_card", cardId="card-1")

    assert (sent["status"], result["status"], result["values"]) == ("displayed", "submitted", {"note": "now"})
    assert result["respondedBy"] == stage.box.endpoints.owner_id


def test_a_card_is_answered_while_the_turn_waits(shared: Stage) -> None:
    """S11.1 in a gateway: the answer reaches the model inside the turn, which says that it waits for a human."""
    say = call_of(CONTROL, said="filed", action="request_card", card=QUESTION, cardId="card-2")
    message = shared.box.human.say(None, say)
    shared.box.wait("interaction", kind="card", timeout_s=60)

    shared.box.human.answer("card-2", actionId="file", values={})

    answer = answer_to(shared.box, message)
    states = [state["state"] for state in shared.box.human.turns() if state["turnId"] == answer["metadata"]["turnId"]]
    assert (tool_results(shared)[-1]["status"], answer["text"]) == ("submitted", "filed")
    assert "waiting_input" in states and states[-1] == "completed"


def test_a_card_without_actions_is_shown(shared: Stage) -> None:
    """Canon wire 9.11 in a gateway: displayed, and never asked about."""
    mark = shared.box.engine.journal.count

    result = use(shared, CONTROL, action="send_card", card=SUMMARY)

    consumed = [row for row in shared.box.journal(after=mark) if row["path"].endswith("/consume")]
    assert (result["status"], [row for row in consumed if row["body"].get("interactionKind") == "card"]) == (
        "displayed",
        [],
    )


@pytest.mark.parametrize("refused", [False, True])
def test_a_question_is_answered(shared: Stage, refused: bool) -> None:
    """R11.5 in a gateway: the value, or that the person turned it down."""
    name = f"input-{refused}"
    message = shared.box.human.say(None, call_of(CONTROL, action="request_input", inputId=name, prompt="Which ledger?"))
    shared.box.wait("interaction", kind="input", timeout_s=60)

    shared.box.human.answer(name, **({"cancelled": True} if refused else {"value": "2026"}))

    answer_to(shared.box, message)
    result = tool_results(shared)[-1]
    assert (result["status"], result.get("value")) == (("cancelled", None) if refused else ("submitted", "2026"))


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"action": "message_existing", "conversationId": "$team", "text": "hello team"}, "messaged"),
        ({"action": "start_direct", "principalId": "user_dana", "text": "hello Dana"}, "messaged"),
        ({"action": "create_group", "name": "New", "memberIds": ["user_dana"]}, "created"),
        ({"action": "share_contact", "conversationId": "$room", "contactUserId": "user_dana"}, "shared"),
        (
            {"action": "manage_group_members", "conversationId": "$team", "userId": "user_extra", "operation": "add"},
            "added",
        ),
        (
            {
                "action": "forward_message",
                "sourceConversationId": "$room",
                "targetConversationId": "$team",
                "messageId": "$first",
            },
            "forwarded",
        ),
        ({"action": "discover_agents", "query": "sand"}, "discovered"),
    ],
    ids=lambda value: value["action"] if isinstance(value, dict) else value,
)
def test_the_agent_communicates(shared: Stage, arguments: dict[str, Any], status: str) -> None:
    """S11.9-S11.14 in a gateway: each of the seven actions succeeds and the model is told what Canon did."""
    box = shared.box
    if "user_extra" not in box.engine.world.humans:
        box.human.add_person("Extra", user_id="user_extra")
    answer_to(box, box.human.say(None, "[say first]"))
    team = box.human.open_conversation([box.endpoints.owner_id, "user_dana", "agent_sandbox"], name="Crew")
    names = {"$team": team, "$room": box.endpoints.conversation_id, "$first": box.transcript()[0]["id"]}
    resolved = {key: names.get(value, value) if isinstance(value, str) else value for key, value in arguments.items()}

    result = use(shared, COMMUNICATE, **resolved)

    assert (result["success"], result["status"]) == (True, status)


def test_nothing_was_done_that_a_good_client_does_not(shared: Stage) -> None:
    """Over all of the above Canon has nothing to complain about, nor has the host."""
    complaints = [text for text in shared.home.log_records() if " ERROR " in text or "Traceback" in text]

    assert (shared.box.breaches(), [text for text in complaints if "canon" in text.lower()]) == ([], [])
