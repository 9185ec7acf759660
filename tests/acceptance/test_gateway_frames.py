"""Whole turns through a real gateway, checked request by request: states, node, transcript.

The scenarios of Canon wire 8.7 on whatever host is installed here; ``make test-hosts`` plays them on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.conversing import answer_to, states_of, wait_closed
from tests.support.gateways import Stage
from tests.support.turn_frames import assert_in_order, frames_of, texts_grow

pytestmark = pytest.mark.host

PART_BYTES = 3_800


@pytest.fixture(autouse=True)
def nothing_out_of_order(stage: Stage) -> Iterator[None]:
    """Whatever a scenario does, the client keeps the promises of Canon wire 11.9."""
    yield
    assert stage.box.breaches() == []


def run(command: str) -> str:
    return f'[tool terminal {{"command": "{command}"}}]'


def test_a_streamed_answer_with_two_tools(stage: Stage) -> None:
    """Speech, a tool, speech, a tool, an answer that grows: each step appears when it happens, one message stays."""
    box = stage.box
    first, second = run("sleep 1; echo one"), run("sleep 1; echo two")
    script = f"[slow 1][say First I look.]{first}[slow 1][say Then I compare.]{second}[slow 2][long 80]"
    message = box.human.say(None, script)

    answer = answer_to(box, message)

    turn = frames_of(box, answer["metadata"]["turnId"])
    trail = answer["metadata"]["turnTrail"]
    growing = [text for text in turn.texts if text.startswith("word1")]
    assert_in_order(turn)
    assert [block["kind"] for block in trail] == ["text", "tool", "text", "tool", "text"]
    assert [block.get("text") for block in trail if block["kind"] == "text"][:2] == ["First I look.", "Then I compare."]
    assert [block["status"] for block in trail] == ["completed"] * 5
    assert answer["text"].split() == [f"word{number}" for number in range(1, 81)]
    assert len(growing) >= 3 and texts_grow(growing)
    assert [("terminal", "running")] in turn.tools
    assert [("terminal", "completed"), ("terminal", "running")] in turn.tools
    assert turn.tools[-1] == [("terminal", "completed")] * 2
    order = list(dict.fromkeys(one for one in turn.kinds if one not in ("write", "streaming")))
    assert order == ["thinking", "tool", "send", "clear", "completed"]
    assert box.node() is None


def test_an_answer_of_twelve_kilobytes(stage: Stage) -> None:
    """It grows on one node, is posted in parts of which the last notifies, and the parts say what the node said."""
    box = stage.box
    message = box.human.say(None, "[slow 2][long 1600]")
    box.wait(lambda world: any(node.text for node in world.nodes.values()), timeout_s=60)
    live = (box.node() or {})["text"]

    answer = answer_to(box, message)

    turn = frames_of(box, answer["metadata"]["turnId"])
    parts = turn.of("send")
    group = answer["metadata"]["messageChunk"]["groupId"]
    assert_in_order(turn)
    assert len(answer["text"].encode()) + sum(len(part["text"].encode()) for part in parts[:-1]) > 12_000
    assert texts_grow(turn.texts) and len(turn.texts) >= 3 and turn.texts[-1].startswith(live.rstrip())
    assert [part["messageId"] for part in parts] == [f"{group}-part-{index}" for index in range(1, len(parts) + 1)]
    assert [part["metadata"]["turnSemantics"] for part in parts] == ["progress"] * (len(parts) - 1) + ["turn_complete"]
    assert [part["metadata"].get("replyBehavior") for part in parts[:-1]] == ["suppress_auto_reply"] * (len(parts) - 1)
    assert all(len(part["text"].encode()) <= PART_BYTES for part in parts)
    assert {part["replyAuthority"]["sourceMessageId"] for part in parts} == {message}
    assert [kind for kind in turn.kinds if kind not in ("write", "streaming")] == [
        "thinking",
        "send",
        "clear",
        "completed",
    ]


def test_two_open_turns_in_a_quiet_group(stage: Stage) -> None:
    """Two members are answered side by side: each gets their own answer, nobody sees narration, states stay apart."""
    box, human = stage.box, stage.box.human
    ann, ben = box.endpoints.owner_id, human.add_person("Ben")
    room = human.open_conversation([ann, ben, "agent_sandbox"], name="Trio")
    first = human.say(room, f"[wait 3]{run('true')}[say for Ann]", sender=ann)
    stage.model.wait(where=lambda request: "for Ann" in request.user_text)
    second = human.say(room, "[wait 1][say for Ben]", sender=ben)

    answers = [answer_to(box, message) for message in (second, first)]

    turns = [frames_of(box, answer["metadata"]["turnId"], room) for answer in answers]
    assert [answer["text"] for answer in answers] == ["for Ben", "for Ann"]
    assert turns[0].turn_id != turns[1].turn_id
    for turn, message in zip(turns, (second, first), strict=True):
        assert_in_order(turn)
        (sent,) = turn.of("send")
        assert (sent["replyAuthority"]["sourceMessageId"], "turnTrail" in sent["metadata"]) == (message, False)
        assert (turn.texts, turn.of("write"), turn.states[-1]) == ([], [], "completed")
    assert (
        turns[0].frames[0].number < turns[1].frames[-1].number and turns[1].frames[0].number < turns[0].frames[0].number
    )
    told = [(state["turnId"], state["state"]) for state in human.turns(room)]
    ended = told.index((turns[0].turn_id, "completed"))
    assert told[ended + 1][0] == turns[1].turn_id, "the turn that goes on is said again, so that nobody looks idle"
    assert box.node(room) is None


def test_a_queued_follow_up(stage: Stage) -> None:
    """The first turn says that somebody waits, closes with its answer, and both answers stand in order."""
    box = stage.box
    first = box.human.say(None, "[wait 3][slow 1][say the first answer]")
    stage.model.wait(where=lambda request: "the first answer" in request.user_text)
    second = box.human.say(None, f"{run('true')}[say the second answer]")

    answers = [answer_to(box, message) for message in (first, second)]

    one, two = (frames_of(box, answer["metadata"]["turnId"]) for answer in answers)
    for turn, message in ((one, first), (two, second)):
        assert turn.frames[0].body["activeMessageIds"] == [message]
        assert {body["replyAuthority"]["sourceMessageId"] for body in turn.of("send")} == {message}
    assert_in_order(two)
    assert [answer["text"] for answer in answers] == ["the first answer", "the second answer"]
    assert 1 in [state["queueDepth"] for state in one.of("state")] and two.of("state")[-1]["queueDepth"] == 0
    assert one.states[-1] == two.states[-1] == "completed"
    order = [kind for kind in one.kinds if kind in ("send", "completed")]
    assert order == ["send", "completed"], "the state that closes a turn comes after its answer, whoever follows"
    told = [(state["turnId"], state["state"]) for state in box.human.turns()]
    after = told[told.index((one.turn_id, "completed")) + 1 :]
    assert after and after[0][0] == two.turn_id, "and the follow-up, which is at work by then, is said again"
    assert "turnTrail" not in answers[0]["metadata"] or not any(
        block["kind"] == "tool" for block in answers[0]["metadata"]["turnTrail"]
    )


def test_a_stopped_turn(stage: Stage) -> None:
    """Stop in the middle of a growing answer: the node goes, the turn is interrupted, nothing of it is posted by us."""
    box, human = stage.box, stage.box.human
    room = human.open_conversation([box.endpoints.owner_id, "agent_sandbox"], kind="direct")
    message = human.say(room, "[slow 30][long 400]")
    box.wait(lambda world: any(place[0] == room and node.text for place, node in world.nodes.items()), timeout_s=60)
    turn_id = next(state["turnId"] for state in human.turns(room) if message in state.get("activeMessageIds", ()))

    human.signal(room, "interrupt")
    wait_closed(box, turn_id, room)

    turn = frames_of(box, turn_id, room)
    assert turn.states[-1] == "interrupted" and turn.states.count("interrupted") == 1
    assert turn.of("send") == [] and box.node(room) is None
    (kept,) = [entry for entry in box.transcript(room) if entry["text"].startswith("word1")]
    assert (kept["origin"], kept["text"], kept["metadata"]["turnId"]) == ("server", turn.texts[-1], turn_id)


def test_a_provider_error(stage: Stage) -> None:
    """The model refuses: people get one sentence about it, the turn closes, and what they say next is answered."""
    box, human = stage.box, stage.box.human
    room = human.open_conversation([box.endpoints.owner_id, "agent_sandbox"], kind="direct")
    message = human.say(room, "[http 400]")
    notice = box.wait("messages", conversation_id=room, timeout_s=60)[0]
    box.wait("idle", conversation_id=room, timeout_s=60)
    answer = answer_to(box, human.say(room, "and now [say better now]"))

    turn_id = next(state["turnId"] for state in human.turns(room) if message in state.get("activeMessageIds", ()))
    said = [entry["text"] for entry in box.transcript(room) if entry["origin"] == "agent"]
    assert said == [notice["text"], "better now"] and notice["text"].count("provider") + notice["text"].count("400") > 0
    assert states_of(box, turn_id, room)[-1] in ("completed", "interrupted")
    assert answer["metadata"]["turnId"] != turn_id and box.node(room) is None


def test_every_turn_closes_once(stage: Stage) -> None:
    """After everything above: whatever became of a turn, it was closed exactly once."""
    closed = [state["turnId"] for state in stage.box.human.turns() if state["state"] in ("completed", "interrupted")]

    assert closed and sorted(closed) == sorted({state["turnId"] for state in stage.box.human.turns()})
