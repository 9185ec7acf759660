"""The tool on a real adapter: what it refuses, what it asks Canon, and what the model is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from canon_hermes_plugin.tools.runtime_control import ACTIONS
from canon_hermes_plugin.tools.schema import RUNTIME_CONTROL
from canon_hermes_plugin.tools.silence import NOTE
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.hosted_adapter import hosted
from tests.support.tool_calls import Turn, canon_turn, control, no_turn

pytestmark = pytest.mark.host

HOME = "conv_home"


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def asked(box: CanonSandbox, path: str) -> list[dict[str, Any]]:
    return [row["body"] for row in box.journal() if row["path"] == path]


async def test_an_unknown_action_names_those_that_exist() -> None:
    """S1.15: the error lists the actions of the schema and no other word that looks like one."""
    result = await control({"action": "sudo_rm"})

    words = set(re.findall(r"\w*_\w*", result["error"]))
    assert (result["success"], words) == (False, set(ACTIONS))
    assert RUNTIME_CONTROL["parameters"]["properties"]["action"]["enum"] == [*ACTIONS]


def test_the_schema_tells_what_matters() -> None:
    """S1.16: silence, waking and the meaning of unknown stand in the description."""
    text = RUNTIME_CONTROL["description"]

    assert all(word in text for word in ("no_reply", "returns at once", "not a denial", "ignores target", "discarded"))
    assert "reason" in RUNTIME_CONTROL["parameters"]["properties"]


async def test_without_an_adapter_nothing_is_guessed() -> None:
    """D51: a process without a connected adapter has nobody to act as."""
    result = await control({"action": "request_approval", "question": "Pay?"})

    assert result["success"] is False and "No unambiguous" in result["error"]


async def test_what_is_missing_is_named(box: CanonSandbox) -> None:
    """S11.17, S10.17: a call without what it needs fails with the name of it, and Canon hears nothing."""
    async with canon_turn(box) as turn:
        results = [await turn.control(action="check_approval"), await turn.control(action="request_approval")]

    assert [result["success"] for result in results] == [False, False]
    assert "approvalId" in results[0]["error"] and "question" in results[1]["error"]
    assert asked(box, "/runtime-interaction/request") == []


async def test_the_human_of_the_turn_is_asked(box: CanonSandbox) -> None:
    """S10.12, R9.17: whom the model names does not count, nor how long a number it writes."""
    async with canon_turn(box) as turn:
        result = await turn.control(
            action="request_approval", question="Pay?", responseUserId="user_else", timeoutSeconds=10**12
        )

    (body,) = asked(box, "/runtime-interaction/request")
    assert (result["status"], result["responseUserId"], body["responseUserId"]) == ("pending",) + ("user_owner",) * 2
    assert (body["allowSessionRule"], body["native"]["method"]) == (False, "detached_approval")


async def test_background_work_asks_the_owner_in_the_home_channel(box: CanonSandbox) -> None:
    """R11.4, R11.22: outside of a turn the home channel is asked, without a responder, and is where to check."""
    async with hosted(box, home_channel="conv_direct") as stage:
        outside = no_turn(stage.active, stage)
        result = await outside.control(action="request_approval", title="Backup")
        box.human.answer(result["approvalId"], decision="allow", receipt="never")
        check = await outside.control(action="check_approval", approvalId=result["approvalId"])

    (body,) = asked(box, "/runtime-interaction/request")
    assert (result["conversationId"], "responseUserId" in body, body["toolName"]) == ("conv_direct", False, "Backup")
    assert (check["status"], check["decision"], check["respondedBy"]) == ("resolved", "allow", "user_owner")


async def test_an_approval_is_checked_where_it_was_asked_for(box: CanonSandbox) -> None:
    """S11.16, C11: another conversation's id fails before Canon is asked; an id that nobody knows is unknown."""
    other = box.human.open_conversation(["user_owner", "agent_sandbox"], kind="direct")
    async with canon_turn(box) as turn:
        result = await turn.control(action="request_approval", question="Pay?")
        elsewhere = Turn(turn.active, type(turn.session)(other, "user_owner"))
        refused = await elsewhere.control(action="check_approval", approvalId=result["approvalId"])
        unknown = await elsewhere.control(action="check_approval", approvalId="hermes-0")

    assert refused["success"] is False and "different Canon conversation" in refused["error"]
    assert (unknown["status"], asked(box, "/runtime-interaction/consume")) == ("unknown", [])


async def test_silence(box: CanonSandbox) -> None:
    """S8.1, S8.3, S8.5, S8.8: acknowledged in Canon's words; the report has the message and hides the reason."""
    async with canon_turn(box) as turn:
        result = await turn.control(action="no_reply", reason="the other agent answered", target="canon:conv_other")
        message_id = turn.session.message_id
    box.wait("idle")

    (report,) = asked(box, "/agent/verbs/no_reply")
    assert result == {
        "success": True, "status": "acknowledged", "conversationId": "conv_direct", "note": NOTE,
    }  # fmt: skip
    assert report["envelope"] == {"conversationId": "conv_direct", "messageId": message_id}
    assert report["body"]["value"] == {"reason": "given"}
    assert [entry["origin"] for entry in box.transcript()] == ["human"]


async def test_a_blank_reason_is_none(box: CanonSandbox) -> None:
    """S8.7, S8.8: without a reason and a message id the report says neither."""
    async with canon_turn(box) as turn:
        turn.session = type(turn.session)(turn.session.conversation_id, session_key=turn.session.session_key)
        result = await turn.control(action="no_reply", reason="  ")

    (report,) = asked(box, "/agent/verbs/no_reply")
    assert (result["status"], report["envelope"]) == ("acknowledged", {"conversationId": "conv_direct"})
    assert report["body"]["value"] == {}


async def test_a_report_that_fails_changes_nothing(box: CanonSandbox) -> None:
    """S8.6: the silence holds whatever Canon says to the report."""
    armed = box.fault("verb-closed")
    async with canon_turn(box) as turn:
        result = await turn.control(action="no_reply")
    box.wait("idle")

    assert (armed.fired, result["status"]) == (1, "acknowledged")
    assert [entry["origin"] for entry in box.transcript()] == ["human"]


@pytest.mark.parametrize("case", ["outside", "delegated", "closed"])
async def test_nothing_to_silence(box: CanonSandbox, case: str) -> None:
    """S8.2, S8.4, S8.15, S8.25: outside of a turn, from a delegated child, in a room without one: refused."""
    async with canon_turn(box, home_channel=HOME) as turn:
        if case == "outside":
            turn.session = type(turn.session)()
        if case == "delegated":
            turn.is_delegated = True
        if case == "closed":
            other = box.human.open_conversation(["user_owner", "agent_sandbox"], kind="direct")
            turn.session = type(turn.session)(other, "user_owner")
        result = await turn.control(action="no_reply")

    assert (result["success"], "status" in result, asked(box, "/agent/verbs/no_reply")) == (False, False, [])
