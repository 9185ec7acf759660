"""Whole turns through a real gateway: checked request by request, and as people see them at every moment.

What is sent is read from the requests (turn_frames.py), what is seen from the room itself (screen.py): the transcript
and the live node together. The scenarios of Canon wire 8.7 on whatever host is installed here; ``make test-hosts``
plays them on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from tests.support.conversing import answer_to, states_of, wait_closed
from tests.support.gateways import Stage
from tests.support.screen import CLOSED, Screen, Sight, assert_seamless
from tests.support.turn_frames import assert_in_order, frames_of, texts_grow

pytestmark = pytest.mark.host

PART_BYTES = 3_800

T = TypeVar("T")


@pytest.fixture(autouse=True)
def nothing_out_of_order(stage: Stage) -> Iterator[None]:
    """Whatever a scenario does: the client keeps the promises of Canon wire 11.9, and each turn is closed once."""
    yield
    stage.box.wait(lambda world: all(log.last is None or log.last["state"] in CLOSED for log in world.turns.values()))
    rooms = stage.box.engine.read(lambda world: list(world.conversations))
    told = [state for room in rooms for state in stage.box.human.turns(room)]
    closed = [state["turnId"] for state in told if state["state"] in CLOSED]
    assert sorted(closed) == sorted({state["turnId"] for state in told}) != []
    assert stage.box.breaches(in_peace=True) == []


def a_direct_room(stage: Stage) -> str:
    """Each scenario has a room of its own, so that what is seen there is its own too."""
    return stage.box.human.open_conversation([stage.box.endpoints.owner_id, "agent_sandbox"], kind="direct")


def run(command: str) -> str:
    return f'[tool terminal {{"command": "{command}"}}]'


def seen(screen: Screen, what: Callable[[Sight], T]) -> list[T]:
    """One side of what was seen, each value as long as it stood there."""
    values = [what(sight) for sight in screen.sights]
    return [value for before, value in zip([None, *values], values, strict=False) if value != before]


def test_a_streamed_answer_with_two_tools(stage: Stage) -> None:
    """Speech, a tool, speech, a tool, an answer that grows: each step appears when it happens, one message stays."""
    box, room = stage.box, a_direct_room(stage)
    first, second = run("sleep 1; echo one"), run("sleep 1; echo two")
    script = f"[slow 1][say First I look.]{first}[slow 1][say Then I compare.]{second}[slow 2][long 80]"
    with Screen(box, room) as screen:
        message = box.human.say(room, script)
        answer = answer_to(box, message)

    turn = frames_of(box, answer["metadata"]["turnId"], room)
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
    assert_seamless(screen.sights)
    assert {sight.node_turn for sight in screen.sights} == {None, turn.turn_id}
    assert seen(screen, lambda sight: [status for _, status in sight.tools]) == [
        [], ["running"], ["completed"], ["completed", "running"], ["completed", "completed"], [],
    ]  # fmt: skip
    assert screen.sights[-1].posted == (("agent", turn.turn_id, answer["text"]),)


def test_an_answer_of_twelve_kilobytes(stage: Stage) -> None:
    """It grows on one node, is posted in parts of which the last notifies, and the parts say what the node said."""
    box, room = stage.box, a_direct_room(stage)
    with Screen(box, room) as screen:
        message = box.human.say(room, "[slow 2][long 1600]")
        answer = answer_to(box, message)

    turn = frames_of(box, answer["metadata"]["turnId"], room)
    parts = turn.of("send")
    group = answer["metadata"]["messageChunk"]["groupId"]
    assert_in_order(turn)
    assert len(answer["text"].encode()) + sum(len(part["text"].encode()) for part in parts[:-1]) > 12_000
    assert texts_grow(turn.texts) and len(turn.texts) >= 3
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
    assert_seamless(screen.sights)
    live = [sight.text for sight in screen.sights if sight.text]
    assert texts_grow(list(dict.fromkeys(live))) and len(set(live)) >= 3
    said = screen.sights[-1].said(turn.turn_id)
    assert (said, " ".join(said).split()) == ([part["text"] for part in parts], live[-1].split())
    assert " ".join(said).split() == [f"word{number}" for number in range(1, 1_601)]


def test_two_open_turns_in_a_quiet_group(stage: Stage) -> None:
    """Two members are answered side by side: each gets their own answer, nobody sees narration, states stay apart."""
    box, human = stage.box, stage.box.human
    ann, ben = box.endpoints.owner_id, human.add_person("Ben")
    room = human.open_conversation([ann, ben, "agent_sandbox"], name="Trio")
    with Screen(box, room) as screen:
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
    assert_seamless(screen.sights)
    assert {sight.shows for sight in screen.sights} == {None}, "a quiet turn shows nothing but its answer"
    assert [text for *_, text in screen.sights[-1].posted] == ["for Ben", "for Ann"]
    between = [sight for sight in screen.sights if len(sight.posted) == 1]
    assert (between[-1].turn, between[-1].state) != (turns[0].turn_id, "completed"), "Ann is still being answered"


def test_a_queued_follow_up(stage: Stage) -> None:
    """The first turn says that somebody waits, closes with its answer, and both answers stand in order."""
    box, room = stage.box, a_direct_room(stage)
    with Screen(box, room) as screen:
        first = box.human.say(room, "[wait 3][slow 1][say the first answer]")
        stage.model.wait(where=lambda request: "the first answer" in request.user_text)
        second = box.human.say(room, f"{run('true')}[say the second answer]")
        answers = [answer_to(box, message) for message in (first, second)]

    one, two = (frames_of(box, answer["metadata"]["turnId"], room) for answer in answers)
    for turn, message in ((one, first), (two, second)):
        assert turn.frames[0].body["activeMessageIds"] == [message]
        assert {body["replyAuthority"]["sourceMessageId"] for body in turn.of("send")} == {message}
    for turn in (one, two):
        assert_in_order(turn)
    assert [answer["text"] for answer in answers] == ["the first answer", "the second answer"]
    assert 1 in [state["queueDepth"] for state in one.of("state")] and two.of("state")[-1]["queueDepth"] == 0
    assert one.states[-1] == two.states[-1] == "completed"
    told = [(state["turnId"], state["state"]) for state in box.human.turns(room)]
    after = told[told.index((one.turn_id, "completed")) + 1 :]
    assert after and after[0][0] == two.turn_id, "and then the follow-up says that it is at work"
    assert "turnTrail" not in answers[0]["metadata"] or not any(
        block["kind"] == "tool" for block in answers[0]["metadata"]["turnTrail"]
    )
    assert_seamless(screen.sights)
    assert [text for *_, text in screen.sights[-1].posted] == ["the first answer", "the second answer"]
    held = [sight for sight in screen.sights if sight.shows == two.turn_id]
    assert held and all(sight.said(one.turn_id) for sight in held), "the node is the second's after the first answer"
    assert not any(sight.tools for sight in screen.sights if sight.node_turn == one.turn_id)


def test_a_stopped_turn(stage: Stage) -> None:
    """Stop in the middle of a growing answer: the node goes, the turn is interrupted, nothing of it is posted by us."""
    box, human = stage.box, stage.box.human
    room = a_direct_room(stage)
    with Screen(box, room) as screen:
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
    assert_seamless(screen.sights)
    assert [sight.text for sight in screen.sights if sight.text][-1] == kept["text"], "what was read stays as it was"


@pytest.mark.parametrize("code", [400, 401, pytest.param(500, marks=pytest.mark.long)])
def test_a_provider_error(stage: Stage, code: int) -> None:
    """D15: the model refuses: people read one sentence about it, the turn has failed, and the next one is answered.

    A request that is wrong, a key that is invalid, a provider that is down however often the host asks again.
    """
    box, human = stage.box, stage.box.human
    room = a_direct_room(stage)
    with Screen(box, room) as screen:
        message = human.say(room, f"[http {code}]")
        notice = box.wait("messages", conversation_id=room, timeout_s=180)[0]
        box.wait("idle", conversation_id=room, timeout_s=60)
        answer = answer_to(box, human.say(room, "and now [say better now]"))

    turn_id = next(state["turnId"] for state in human.turns(room) if message in state.get("activeMessageIds", ()))
    said = [entry["text"] for entry in box.transcript(room) if entry["origin"] == "agent"]
    assert said == [notice["text"], "better now"] and ("provider" in notice["text"] or str(code) in notice["text"])
    assert states_of(box, turn_id, room)[-1] == "interrupted"
    assert answer["metadata"]["turnId"] != turn_id
    turn = frames_of(box, turn_id, room)
    assert_in_order(turn)
    assert [sent["text"] for sent in turn.of("send")] == [notice["text"]]
    assert_seamless(screen.sights)
    assert {sight.text for sight in screen.sights if sight.shows == turn_id} <= {notice["text"]}, (
        "nothing else is shown"
    )
    assert [text for *_, text in screen.sights[-1].posted] == said
