"""A model asks a human for a yes that may take days; the gateway is killed, started again, and tells it the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.store import ApprovalStore
from tests.support.asking import CONTROL, call_of, tool_results, wakes
from tests.support.conversing import answer_to
from tests.support.gateways import Stage, canon_stage
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.host, pytest.mark.timeout(240)]

NO_GUARD = {"gateway": {"restart_loop_guard": {"max_restarts": 0}}}


def entry_of(stage: Stage, approval_id: str) -> dict[str, Any]:
    """An entry of the registry, as the gateway left it on the disk."""
    store = ApprovalStore(stage.home.canon_folder / "detached-approvals.json")
    entry = store.read().get(approval_id)
    assert entry is not None
    return dict(entry.fields)


def ask(stage: Stage, question: str, room: str | None = None, sender: str | None = None) -> dict[str, Any]:
    """Let the model ask for an approval, and see its turn end; what the tool told the model."""
    say = call_of(CONTROL, said="asked", action="request_approval", title="File", question=question)
    answer_to(stage.box, stage.box.human.say(room, say, sender))
    return tool_results(stage)[-1]


def test_an_approval_outlives_its_gateway(tmp_path: Path) -> None:
    """S10.27, S10.37, D27, D48: the answer comes while no gateway runs; the next one wakes the session that asked."""
    with canon_stage(tmp_path, config=NO_GUARD) as stage:
        asked = ask(stage, "File the invoice?")
        approval_id = asked["approvalId"]
        before = entry_of(stage, approval_id)

        stage.gateway.kill()
        stage.box.human.approve(approval_id)
        stage.start_again()
        wait_until(lambda: wakes(stage, approval_id), timeout_s=60)
        stage.box.wait("idle", timeout_s=30)

        after = entry_of(stage, approval_id)
        assert (asked["status"], asked["success"], "check_approval" in asked["note"]) == ("pending", True, True)
        assert (before["status"], before["responseUserId"]) == ("pending", stage.box.endpoints.owner_id)
        assert wakes(stage, approval_id) == [f"Canon approval {approval_id} resolved: allow — File the invoice?"]
        assert (after["status"], after["decision"], after["wakeStatus"]) == ("resolved", "allow", "delivered")
        assert stage.box.breaches() == []


def test_the_answer_of_the_wrong_human_counts_for_nothing(tmp_path: Path) -> None:
    """S10.20 in a gateway: Canon names another responder than was asked, so nothing is decided and nobody is woken."""
    with canon_stage(tmp_path) as stage:
        approval_id = ask(stage, "Pay?")["approvalId"]
        stage.box.engine.act(
            lambda world, now_ms: setattr(world.interactions["approval", approval_id], "responder_id", "user_else")
        )

        stage.box.human.approve(approval_id)
        wait_until(lambda: entry_of(stage, approval_id)["status"] == "orphaned", timeout_s=60)
        check = call_of(CONTROL, action="check_approval", approvalId=approval_id)
        answer_to(stage.box, stage.box.human.say(None, check))

        result, entry = tool_results(stage)[-1], entry_of(stage, approval_id)
        assert (result["status"], "decision" in result, "re-issue" in result["note"]) == ("unknown", False, True)
        assert (entry["identityMismatch"], entry["respondedBy"]) == (True, "user_else")
        assert wakes(stage, approval_id) == []


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with canon_stage(tmp_path_factory.mktemp("approvals")) as stage:
        yield stage


def test_a_denial_wakes_with_the_denial(shared: Stage) -> None:
    """S10.28 in a gateway: told twice by the stream, the model hears the human's no once."""
    approval_id = ask(shared, "Delete it?")["approvalId"]

    shared.box.human.answer(approval_id, decision="deny", receipt="twice")
    wait_until(lambda: wakes(shared, approval_id), timeout_s=60)
    shared.box.wait("idle", timeout_s=30)

    assert wakes(shared, approval_id) == [f"Canon approval {approval_id} resolved: deny — Delete it?"]
    assert entry_of(shared, approval_id)["decision"] == "deny"


def test_a_receipt_that_lies_decides_nothing(shared: Stage) -> None:
    """R10.30: the stream's message says deny, Canon's own word is allow, and that one counts."""
    approval_id = ask(shared, "Which of the two?")["approvalId"]

    shared.box.human.answer(approval_id, decision="allow", receipt="contradicting")
    wait_until(lambda: wakes(shared, approval_id), timeout_s=60)

    assert wakes(shared, approval_id) == [f"Canon approval {approval_id} resolved: allow — Which of the two?"]


def test_a_receipt_that_overtakes_the_creation(shared: Stage) -> None:
    """S10.30 in a gateway: the answer is on the stream before the create call is answered; one turn tells of it."""
    shared.box.human.prepare_answer(decision="allow")

    approval_id = ask(shared, "At once?")["approvalId"]
    wait_until(lambda: wakes(shared, approval_id), timeout_s=60)
    shared.box.wait("idle", timeout_s=30)

    assert wakes(shared, approval_id) == [f"Canon approval {approval_id} resolved: allow — At once?"]
    assert entry_of(shared, approval_id)["wakeStatus"] == "delivered"


def test_an_explicit_check_gets_the_answer_and_no_wake(shared: Stage) -> None:
    """S10.18, S10.36 in a gateway: the check consumes once, repeats from the registry, and nothing follows."""
    approval_id = ask(shared, "Check me?")["approvalId"]
    shared.box.human.answer(approval_id, decision="allow", receipt="never")
    check = call_of(CONTROL, action="check_approval", approvalId=approval_id)
    mark = shared.box.engine.journal.count

    for _ in range(2):
        answer_to(shared.box, shared.box.human.say(None, check))

    results = tool_results(shared)[-2:]
    consumes = [row for row in shared.box.journal(after=mark) if row["path"] == "/runtime-interaction/consume"]
    assert [(result["status"], result["decision"]) for result in results] == [("resolved", "allow")] * 2
    assert (len(consumes), wakes(shared, approval_id)) == (1, [])


def test_nobody_answered_in_time(shared: Stage) -> None:
    """S10.23 in a gateway: Canon says that it expired; that is no denial, and the model is told to ask anew."""
    approval_id = ask(shared, "Still there?")["approvalId"]
    shared.box.engine.act(
        lambda world, now_ms: setattr(world.interactions["approval", approval_id], "expires_at_ms", now_ms - 1)
    )

    answer_to(shared.box, shared.box.human.say(None, call_of(CONTROL, action="check_approval", approvalId=approval_id)))

    result = tool_results(shared)[-1]
    assert (result["status"], "re-issue" in result["note"], "decision" in result) == ("expired", True, False)


def test_another_conversations_approval_is_refused_before_the_network(shared: Stage) -> None:
    """S11.16, S10.46, C11 in a gateway: the tool refuses in the wrong room; Canon is not asked, nothing is consumed."""
    approval_id = ask(shared, "Here only?")["approvalId"]
    other = shared.box.human.open_conversation([shared.box.endpoints.owner_id, "agent_sandbox"], kind="direct")
    mark = shared.box.engine.journal.count

    check = call_of(CONTROL, action="check_approval", approvalId=approval_id)
    answer_to(shared.box, shared.box.human.say(other, check))

    result = tool_results(shared)[-1]
    consumes = [row for row in shared.box.journal(after=mark) if row["path"] == "/runtime-interaction/consume"]
    assert result["success"] is False and "different Canon conversation" in result["error"]
    assert (consumes, entry_of(shared, approval_id)["status"]) == ([], "pending")


def test_a_model_cannot_reach_another_room(shared: Stage) -> None:
    """R11.23, D13 in a gateway: a target of another conversation is refused, and nothing is sent or reserved."""
    other = shared.box.human.open_conversation([shared.box.endpoints.owner_id, "agent_sandbox"], kind="direct")
    mark = shared.box.engine.journal.count

    say = call_of(CONTROL, action="request_approval", question="Pay?", target=f"canon:{other}")
    answer_to(shared.box, shared.box.human.say(None, say))

    created = [row for row in shared.box.journal(after=mark) if row["path"] == "/runtime-interaction/request"]
    assert (tool_results(shared)[-1]["success"], created) == (False, [])


def test_a_group_is_woken_for_the_member_who_asked(shared: Stage) -> None:
    """D48, S10.12 in a gateway: a member's turn asks that member, and the member's own session hears the answer."""
    human = shared.box.human
    ben = human.add_person("Ben")
    room = human.open_conversation([shared.box.endpoints.owner_id, ben, "agent_sandbox"], name="Trio")
    approval_id = ask(shared, "For Ben?", room, ben)["approvalId"]
    asked = entry_of(shared, approval_id)

    human.approve(approval_id)
    wait_until(lambda: wakes(shared, approval_id), timeout_s=60)
    shared.box.wait("idle", timeout_s=30)

    woken = next(request for request in shared.model.requests if f"{approval_id} resolved" in request.user_text)
    earlier = [message for message in woken.body["messages"] if "For Ben?" in str(message)]
    assert asked["responseUserId"] == ben and asked["requestingSessionKey"].endswith(ben)
    assert earlier != [] and entry_of(shared, approval_id)["wakeStatus"] == "delivered"


def test_silence_is_silent(shared: Stage) -> None:
    """S8.1, S8.5 in a gateway: nothing is posted, and Canon hears that a reason was given, not which."""
    mark = shared.box.engine.journal.count
    position = shared.box.transcript()[-1]["position"]

    say = call_of(CONTROL, said="this is not posted", action="no_reply", reason="nothing to add", target="canon:conv_x")
    message = shared.box.human.say(None, say)

    shared.box.wait("request", path="/agent/verbs/no_reply", after=mark, timeout_s=60)
    shared.box.wait("idle", timeout_s=30)
    [report] = [row for row in shared.box.human.silences() if row["messageId"] == message]
    assert (report["hasReason"], tool_results(shared)[-1]["status"]) == (True, "acknowledged")
    assert [row["origin"] for row in shared.box.transcript(after=position)] == ["human"]
    assert "nothing to add" not in str(
        [row["body"] for row in shared.box.journal(after=mark) if "verbs" in row["path"]]
    )


def test_nothing_was_done_that_a_good_client_does_not(shared: Stage) -> None:
    """Over all of the above Canon has nothing to complain about, nor has the host."""
    complaints = [text for text in shared.home.log_records() if " ERROR " in text or "Traceback" in text]

    assert (shared.box.breaches(), [text for text in complaints if "canon" in text.lower()]) == ([], [])
