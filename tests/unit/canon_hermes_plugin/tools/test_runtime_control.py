"""The tool on a real adapter: what it refuses, what it asks Canon, and what the model is told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.desk import Silence
from canon_hermes_plugin.tools.call import Call
from canon_hermes_plugin.tools.runtime_control import ACTIONS
from canon_hermes_plugin.tools.schema import RUNTIME_CONTROL
from canon_hermes_plugin.tools.session import HostSession
from canon_hermes_plugin.tools.silence import NOTE, no_reply
from canon_ops.runtime.clock import ManualClock
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.cards import QUESTION, SUMMARY
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


async def test_the_environment_is_verified_before_a_key_is_used(box: CanonSandbox) -> None:
    """S11.2, D51: the adapter that a tool acts through has asked both servers who they are before they saw its key, and
    a tool's call asks nobody again; an adapter that found another environment is nobody to act as."""
    async with canon_turn(box) as turn:
        connected = [row["path"] for row in box.journal()]
        await turn.control(action="request_approval", question="Pay?")
    called = [row["path"] for row in box.journal()][len(connected) :]
    mark = box.engine.journal.count
    box.fault("health-wrong-environment", times=10, burst=10)
    async with hosted(box, connect=False) as stage:
        is_connected = await stage.adapter.connect()
        refused = await Turn(stage.active, HostSession("conv_direct", "user_owner")).control(
            action="request_approval", question="Pay?"
        )
    after = [row["path"] for row in box.journal(after=mark)]

    first = next(number for number, path in enumerate(connected) if "health" not in path)
    assert first > 0 and not any("health" in path for path in connected[first:])
    assert "/runtime-interaction/request" in called and not any("health" in path for path in called)
    assert (is_connected, refused["success"], [path for path in after if "health" not in path]) == (False, False, [])


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


async def test_background_work_without_a_home_channel_checks_nothing(box: CanonSandbox) -> None:
    """R11.22: neither a conversation nor a home channel: whose approval it would be is not guessed."""
    async with canon_turn(box) as turn:
        approval_id = (await turn.control(action="request_approval", question="Pay?"))["approvalId"]
        assert turn.stage is not None
        result = await no_turn(turn.active, turn.stage).control(action="check_approval", approvalId=approval_id)

    assert (result["success"], "CANON_HOME_CHANNEL" in result["error"]) == (False, True)
    assert asked(box, "/runtime-interaction/consume") == []


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
    """S8.1, S8.3, S8.5, S8.8, S8.9, S8.10: acknowledged in Canon's words; the report goes out over its own client,
    without a probe, has the message and hides the reason."""
    async with canon_turn(box) as turn:
        mark = box.engine.journal.count
        result = await turn.control(action="no_reply", reason="the other agent answered", target="canon:conv_other")
        probes = [row["path"] for row in box.journal(after=mark) if "health" in row["path"]]
        message_id = turn.session.message_id
    box.wait("idle")

    (report,) = asked(box, "/agent/verbs/no_reply")
    assert result == {
        "success": True, "status": "acknowledged", "conversationId": "conv_direct", "note": NOTE,
    }  # fmt: skip
    assert report["envelope"] == {"conversationId": "conv_direct", "messageId": message_id}
    assert (report["body"]["value"], probes) == ({"reason": "given"}, [])
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


@pytest.mark.parametrize("reason", ["Dana is wrong", 7, ["Dana"]])
async def test_a_report_takes_three_seconds_and_tells_no_reason(
    reason: object, caplog: pytest.LogCaptureFixture
) -> None:
    """R8.5, R8.10: then the silence holds without it; what is no text is no reason, and none stands in a log."""
    clock, reports = ManualClock(), []

    async def verb(name: str, envelope: Any, value: Any, *, timeout_s: float) -> None:
        reports.append((name, value, timeout_s))
        await clock.sleep(3600)

    async def act(work: Any, lost: Any = None) -> None:
        api = SimpleNamespace(verb=verb)
        await work(SimpleNamespace(silence=lambda *_: Silence.KEPT, api=api, clock=clock))

    active: Any = SimpleNamespace(owner=lambda _: SimpleNamespace(act=act))
    caplog.set_level("DEBUG")
    call = Call({"reason": reason}, HostSession("conv_direct"), None, is_delegated=False, active=active)
    silenced = asyncio.create_task(no_reply(call))
    await clock.advance(3.0)

    assert (await silenced)["status"] == "acknowledged"
    assert reports == [("no_reply", {"reason": "given"} if isinstance(reason, str) else {}, 3.0)]
    assert "Dana" not in caplog.text and "conv_direct" in caplog.text


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


# --- cards and questions ----------------------------------------------------------------------------------------------


async def test_a_card_is_answered_while_the_tool_waits(box: CanonSandbox) -> None:
    """S11.1, S9.7: the human of the turn answers, whoever the model names; the turn says that it waits."""
    async with canon_turn(box) as turn:
        asking = asyncio.get_running_loop().create_task(
            turn.control(action="request_card", card=QUESTION, cardId="card-1", responseUserId="user_else", turnId="x")
        )
        await box.until("interaction", kind="card")
        box.human.answer("card-1", actionId="file", values={"note": "now"})
        result = await asking

    (body,) = asked(box, "/runtime-interaction/request")
    states = [state["state"] for state in box.human.turns()]
    assert (result["status"], result["actionId"], result["respondedBy"]) == ("submitted", "file", "user_owner")
    assert (body["responseUserId"], body["turnId"] == "x", "waiting_input" in states) == ("user_owner", False, True)


@pytest.mark.parametrize(
    ("argument", "own", "sent"),
    [("given", "own", "given"), (" ", "own", "own"), (7, "own", "own"), (None, None, "hermes-")],
    ids=["the argument", "a blank argument", "an argument of another kind", "none"],
)
async def test_the_id_of_a_card(box: CanonSandbox, argument: object, own: str | None, sent: str) -> None:
    """R11.7: the argument's, else the card's own, else a new one; an action may have blanks around it (R11.2)."""
    card = SUMMARY if own is None else {**SUMMARY, "cardId": own}
    async with canon_turn(box) as turn:
        result = await turn.control(action=" send_card ", card=card, cardId=argument)

    (body,) = asked(box, "/runtime-interaction/request")
    assert (result["success"], body["cardId"].startswith(sent)) == (True, True)
    assert body["responseUserId"] == "user_owner"


async def test_a_card_is_asked_about_later(box: CanonSandbox) -> None:
    """D32: sent without waiting, answered, fetched once, and told again; before that it is listed as open."""
    async with canon_turn(box) as turn:
        sent = await turn.control(action="send_card", card=QUESTION, cardId="card-2")
        listed = await turn.control(action="check_card")
        pending = await turn.control(action="check_card", cardId="card-2")
        box.human.answer("card-2", actionId="file", values={})
        results = [await turn.control(action="check_card", cardId="card-2") for _ in range(2)]

    assert (sent["status"], [card["cardId"] for card in listed["cards"]]) == ("displayed", ["card-2"])
    assert (pending["status"], [result["status"] for result in results]) == ("pending", ["submitted"] * 2)


async def test_a_card_without_actions_is_not_waited_for(box: CanonSandbox) -> None:
    """R11.8: there is nothing to press, so it is displayed and Canon is not asked."""
    async with canon_turn(box) as turn:
        result = await turn.control(action="request_card", card=SUMMARY)

    assert (result["status"], asked(box, "/runtime-interaction/consume")) == ("displayed", [])


@pytest.mark.parametrize("action", ["request_card", "send_card"])
async def test_an_invalid_card_is_not_sent(box: CanonSandbox, action: str) -> None:
    """S11.3, S11.17, R11.6: the first error of the validator, or the missing card, and no request."""
    wrong = {**SUMMARY, "blocks": [{"kind": "summary", "text": "x", "badge": "new"}]}
    async with canon_turn(box) as turn:
        results = [await turn.control(action=action, card=wrong), await turn.control(action=action, card="text")]

    assert [result["success"] for result in results] == [False, False]
    assert all(word in results[0]["error"] for word in ("Invalid canon.card.v1: ", 'has unsupported key "badge"'))
    assert "card" in results[1]["error"]
    assert asked(box, "/runtime-interaction/request") == []


@pytest.mark.parametrize("card_id", ["a b", "x" * 81, "\ud83d", "a\nb", "é", "../..", "{}"], ids=ascii)
async def test_an_id_that_canon_cannot_take(box: CanonSandbox, card_id: str) -> None:
    """R11.7, R12.3: it is told before anything is written down or sent, and says what an id may hold."""
    async with canon_turn(box) as turn:
        shown = await turn.control(action="send_card", card=SUMMARY, cardId=card_id)
        checked = await turn.control(action="check_card", cardId=card_id)
        listed = await turn.control(action="check_card")

    told = "cardId must match /^[A-Za-z0-9_.:-]{1,80}$/"
    assert [shown.get("error"), checked.get("error")] == [told, told]
    assert listed["cards"] == [] and asked(box, "/runtime-interaction/request") == []


@pytest.mark.parametrize(
    ("more", "responder"),
    [
        pytest.param({"kind": "clarify"}, "user_owner", id="clarify"),
        pytest.param({"kind": " Secret "}, None, id="secret"),
        pytest.param({"kind": "sudo"}, None, id="sudo"),
        pytest.param({"sensitive": True}, None, id="sensitive"),
        pytest.param({"questions": [{"id": "q", "question": "Pin?", "isSecret": True}]}, None, id="secret-question"),
    ],
)
async def test_who_is_asked(box: CanonSandbox, more: dict[str, Any], responder: str | None) -> None:
    """S9.6: the human of the turn, whatever the model writes; nobody in particular, that is the owner, for secrets."""
    async with canon_turn(box) as turn:
        asking = asyncio.get_running_loop().create_task(
            turn.control(action="request_input", inputId="in-1", prompt="Which?", responseUserId="user_else", **more)
        )
        await box.until("request", path="/runtime-interaction/request")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    (body, *_) = asked(box, "/runtime-interaction/request")
    assert body.get("responseUserId") == responder


@pytest.mark.parametrize(("told", "seconds"), [(None, 300), (999_999, 1_800), (1, 5)])
@pytest.mark.parametrize(
    "act",
    [{"action": "send_card", "card": SUMMARY}, {"action": "request_input", "inputId": "in-1"}],
    ids=["card", "input"],
)
async def test_how_long_it_may_take(box: CanonSandbox, act: dict[str, Any], told: int | None, seconds: int) -> None:
    """R11.3, R11.5: five minutes, five seconds at least, half an hour at most;"""
    before_ms = box.clock.now_ms()
    async with canon_turn(box) as turn:
        asking = asyncio.get_running_loop().create_task(turn.control(**act, timeoutSeconds=told))
        await box.until("request", path="/runtime-interaction/request")
        after_ms = box.clock.now_ms()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    (body, *_) = asked(box, "/runtime-interaction/request")
    assert before_ms <= body["expiresAt"] - seconds * 1_000 <= after_ms


async def test_a_question_is_answered(box: CanonSandbox) -> None:
    """R11.5: Canon's response with the conversation; without an id nothing is asked (S11.17)."""
    async with canon_turn(box) as turn:
        refused = await turn.control(action="request_input", prompt="Which?")
        asking = asyncio.get_running_loop().create_task(
            turn.control(action="request_input", inputId="in-1", prompt="Which?")
        )
        await box.until("interaction", kind="input")
        box.human.answer("in-1", value="2026")
        result = await asking

    assert "inputId" in refused["error"]
    assert (result["status"], result["value"], result["conversationId"]) == ("submitted", "2026", "conv_direct")
