"""A real Hermes gateway with our plugin answers on a loopback Canon: what people see, message by message."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.support.conversing import answer_to, states_of, wait_closed
from tests.support.gateways import Stage
from tests.support.hosts import THIS_HOST
from tests.support.waiting import wait_until

pytestmark = pytest.mark.host

PART_BYTES = 3_800


def test_a_message_is_answered_once(stage: Stage) -> None:
    """One message gets one notifying answer under the server's authority; its turn opens for it, closes, is gone."""
    message = stage.box.human.say(None, "[say hello there]")

    answer = answer_to(stage.box, message)

    turn_id = answer["metadata"]["turnId"]
    opening = next(state for state in stage.box.human.turns() if state.get("turnId") == turn_id)
    sent = next(
        entry["body"]
        for entry in stage.box.journal()
        if entry["path"] == "/messages/send" and entry["body"]["messageId"] == answer["id"]
    )
    assert (answer["text"], answer["metadata"]["turnSemantics"]) == ("hello there", "turn_complete")
    assert (opening["state"], opening["activeMessageIds"]) == ("thinking", [message])
    assert states_of(stage.box, turn_id)[-1] == "completed"
    assert sent["replyAuthority"]["sourceMessageId"] == message
    assert stage.box.node() is None


def test_a_long_answer_grows_and_arrives_in_parts(stage: Stage) -> None:
    """A streamed answer grows on the node without a cursor glyph; it arrives in parts, of which the last notifies."""
    before = len(stage.box.human.node_writes())
    message = stage.box.human.say(None, "[long 1200][slow 1]")

    answer = answer_to(stage.box, message)

    texts = [write["text"] for write in stage.box.human.node_writes()[before:] if write.get("text")]
    parts = [
        entry
        for entry in stage.box.transcript()
        if entry["metadata"].get("messageChunk", {}).get("groupId") == answer["metadata"]["messageChunk"]["groupId"]
    ]
    assert len(texts) >= 3 and all(len(earlier) < len(later) for earlier, later in pairwise(texts))
    assert not any("░" in text or "▉" in text for text in texts)
    assert [part["metadata"]["turnSemantics"] for part in parts] == ["progress"] * (len(parts) - 1) + ["turn_complete"]
    assert all(len(part["text"].encode()) <= PART_BYTES for part in parts)
    assert " ".join(part["text"] for part in parts).split() == texts[-1].split()
    assert texts[-1].split()[-1] == "word1200"


def test_a_tool_call_becomes_activity(stage: Stage) -> None:
    """Words before a tool are sealed into the trail, the tool is shown on the node, and the answer stays whole."""
    before = len(stage.box.human.node_writes())
    message = stage.box.human.say(
        None, '[slow 1][say Looking at it.][tool terminal {"command": "echo canon-works"}][say All done.]'
    )

    answer = answer_to(stage.box, message)

    trail = answer["metadata"]["turnTrail"]
    shown = [
        block["title"]
        for write in stage.box.human.node_writes()[before:]
        for block in write.get("blocks") or ()
        if block["kind"] == "tool"
    ]
    assert answer["text"] == "All done."
    assert [block["kind"] for block in trail] == ["text", "tool", "text"]
    assert (trail[0]["text"], trail[1]["title"], trail[1]["status"]) == ("Looking at it.", "terminal", "completed")
    assert "canon-works" in trail[1]["text"] and trail[1]["summary"].endswith(" ms")
    assert shown and set(shown) == {"terminal"}
    assert "tool" in states_of(stage.box, answer["metadata"]["turnId"])


def test_a_group_sees_the_answer_only(stage: Stage) -> None:
    """S6.29 in a gateway: a group's turn is quiet, so neither narration nor trail appears, and one answer does."""
    human = stage.box.human
    ben = human.add_person("Ben")
    room = human.open_conversation([stage.box.endpoints.owner_id, ben, "agent_sandbox"], name="Trio")
    message = human.say(room, '[tool terminal {"command": "true"}][say Quietly.]')

    answer = answer_to(stage.box, message)

    assert (answer["text"], "turnTrail" in answer["metadata"]) == ("Quietly.", False)
    assert [write for write in human.node_writes(room) if write.get("text")] == []
    assert "streaming" in states_of(stage.box, answer["metadata"]["turnId"], room)


def test_two_conversations_run_side_by_side(stage: Stage) -> None:
    """A slow turn in one conversation does not hold up another; each answer stays in its own."""
    other = stage.box.human.open_conversation([stage.box.endpoints.owner_id, "agent_sandbox"], kind="direct")
    slow = stage.box.human.say(None, "[wait 2][say the slow one]")
    stage.box.wait(lambda world: any(slow in state.get("activeMessageIds", ()) for state in stage.box.human.turns()))
    quick = stage.box.human.say(other, "[say the quick one]")

    quick_answer = answer_to(stage.box, quick)
    slow_answer = answer_to(stage.box, slow)

    assert (quick_answer["text"], quick_answer["conversationId"]) == ("the quick one", other)
    assert (slow_answer["text"], slow_answer["conversationId"]) == ("the slow one", stage.box.endpoints.conversation_id)
    assert quick_answer["position"] < slow_answer["position"]


def test_a_queued_follow_up_has_its_own_turn(stage: Stage) -> None:
    """S6.53 in a gateway: a message sent into a running turn is answered in the same run, as a turn of its own."""
    first = stage.box.human.say(None, "[wait 1][say the first answer]")
    stage.model.wait(where=lambda request: "the first answer" in request.user_text)
    second = stage.box.human.say(None, '[tool terminal {"command": "true"}][say the second answer]')

    answers = [answer_to(stage.box, message) for message in (first, second)]

    assert [answer["text"] for answer in answers] == ["the first answer", "the second answer"]
    assert answers[0]["metadata"]["turnId"] != answers[1]["metadata"]["turnId"]
    assert [block["kind"] for block in answers[1]["metadata"]["turnTrail"]] == ["tool", "text"]


def test_background_arrives_with_the_next_message(stage: Stage) -> None:
    """What did not ask for a turn reaches the model as marked background of the next message, once."""
    stage.box.human.say(None, "the kettle is on", verdict="record_only")
    message = stage.box.human.say(None, "[say noted]")

    answer_to(stage.box, message)

    asked = next(request for request in stage.model.requests if "[say noted]" in request.user_text)
    assert "the kettle is on" in asked.user_text and "not instructions" in asked.user_text


def test_a_command_is_answered_while_a_turn_runs(stage: Stage) -> None:
    """S7.49 in a gateway: the reply to a busy /status is a message of its own, at once; the answer stays whole."""
    slow = stage.box.human.say(None, "[wait 1][say still here]")
    stage.model.wait(where=lambda request: "still here" in request.user_text)
    position = stage.box.transcript()[-1]["position"]
    stage.box.human.say(None, "/status")

    reply = stage.box.wait("turn_complete", after=position)[0]
    answer = answer_to(stage.box, slow)

    assert THIS_HOST.status_text in reply["text"] and reply["id"] != answer["id"]
    assert answer["text"] == "still here"


def test_stop_interrupts_the_turn(stage: Stage) -> None:
    """S2.10 in a gateway: a person's stop signal ends the running turn, which posts no answer."""
    human = stage.box.human
    room = human.open_conversation([stage.box.endpoints.owner_id, "agent_sandbox"], kind="direct")
    slow = human.say(room, "[wait 20][say too late]")
    stage.model.wait(where=lambda request: "too late" in request.user_text)
    turn_id = next(state["turnId"] for state in human.turns(room) if slow in state.get("activeMessageIds", ()))

    human.signal(room, "interrupt")

    wait_closed(stage.box, turn_id, room)
    assert states_of(stage.box, turn_id, room)[-1] == "interrupted"
    assert not any(entry["text"] == "too late" for entry in stage.box.transcript(room))


@pytest.mark.parametrize("fault", ["stream-drop", "stream-drop-mid-frame", "stream-end", "event-duplicate-new-id"])
def test_a_broken_stream_loses_and_doubles_nothing(stage: Stage, fault: str) -> None:
    """S2.17, S2.18 in a gateway: whatever happens to the connection, the message is answered exactly once.

    Before the first event a stream has no place to go on from (X4), so there is one before.
    """
    answer_to(stage.box, stage.box.human.say(None, "[say hello]"))
    armed = stage.box.fault(fault)
    message = stage.box.human.say(None, f"[say after {fault}]")

    answer = answer_to(stage.box, message)
    stage.box.wait("connected")
    echo = stage.box.human.say(None, "[say and on it goes]")
    answer_to(stage.box, echo)

    assert (armed.fired, answer["text"]) == (1, f"after {fault}")
    assert [entry["text"] for entry in stage.box.transcript()].count(f"after {fault}") == 1


def test_the_host_writes_no_complaint_about_us(stage: Stage) -> None:
    """After all of the above the gateway's log holds no error and no traceback."""
    wait_until(lambda: stage.box.human.node() is None)

    complaints = [text for text in stage.home.log_records() if " ERROR " in text or "Traceback" in text]

    assert [text for text in complaints if not any(fault in text for fault in THIS_HOST.own_faults)] == []
