"""What people say into a running turn of a real gateway: it waits, interrupts, goes into the turn, or clears the desk.

The host's own setting says ``interrupt``; what a message says of itself counts instead. Everything is shown with a
session for each member of a group, and with one that all members share.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import CONTROL, call_of, tool_results, wakes
from tests.support.conversing import answer_to, states_of
from tests.support.files import PNG
from tests.support.gateways import Stage, canon_stage
from tests.support.held_file import held_file
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.host, pytest.mark.timeout(600)]

LONG_S = 180  # a busy machine is no failure
MANY = 6
LONG_WORK = '[tool terminal {"command": "sleep 30"}]'  # a person's word comes before its end on any machine


SESSIONS = {"a session each": True, "one session": False}
EACH = [pytest.mark.long, pytest.mark.everywhere]
BUSY = {"display": {"busy_input_mode": "interrupt"}}
INSIDE = {"HERMES_ALLOW_PRIVATE_URLS": "true"}  # the sandbox's files lie on loopback
_ROOMS: dict[int, str] = {}  # what a stage's rooms are


@pytest.fixture(
    scope="module",
    params=["one session", pytest.param("a session each", marks=EACH)],
)
def group_stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A gateway whose group members have a session each, or share one."""
    config = {"group_sessions_per_user": SESSIONS[request.param], **BUSY}
    with canon_stage(tmp_path_factory.mktemp("busy"), config=config) as running:
        yield running


@pytest.fixture
def is_shared(request: pytest.FixtureRequest) -> bool:
    """Whether the members of ``group_stage`` share a session."""
    return "one session" in request.node.name


@pytest.fixture(
    scope="module",
    params=["direct", *(pytest.param(f"group, {sessions}", marks=EACH) for sessions in SESSIONS)],
)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A gateway whose own setting would interrupt, and the kind of its rooms."""
    kind, _, sessions = str(request.param).partition(", ")
    config = {"group_sessions_per_user": SESSIONS.get(sessions, True), **BUSY}
    with canon_stage(tmp_path_factory.mktemp("busy"), config=config, dotenv=INSIDE) as running:
        _ROOMS[id(running)] = kind
        yield running


def room_of(stage: Stage) -> str:
    """A room of its own for a test."""
    if _ROOMS[id(stage)] == "group":
        return group_of(stage)[0]
    return stage.box.human.open_conversation([stage.box.endpoints.owner_id, "agent_sandbox"], kind="direct")


def group_of(stage: Stage) -> tuple[str, str]:
    """A group with one more member, and that member."""
    ben = stage.box.human.add_person("Ben")
    return stage.box.human.open_conversation([stage.box.endpoints.owner_id, ben, "agent_sandbox"], name="Trio"), ben


def say_into(stage: Stage, room: str, text: str, sender: str | None = None, **more: Any) -> str:
    """A message that its composer put on the queued shelf."""
    intent = {"deliveryIntent": more.pop("intent")} if "intent" in more else {}
    metadata = {"inboundDisposition": "queued", **intent}
    return stage.box.human.say(room, text, sender, metadata=metadata, **more)


class Work:
    """Work of a tool that a test ends, when what was to happen meanwhile has happened (or itself, after a minute)."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._begun, self._end = folder / "begun", folder / "end"

    def __str__(self) -> str:
        waits = (
            f"touch {self._begun}; n=0; until test -e {self._end} || test $n -gt 600; do sleep 0.1; n=$((n+1)); done"
        )
        return f"[wait 0.5][tool terminal {json.dumps({'command': waits})}]"

    def has_begun(self) -> bool:
        """Whether it goes on; the host knows its agent by then, a moment after the first answer."""
        return self._begun.exists()

    def end(self) -> None:
        """Let the tool give its result."""
        self._end.touch()


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """The work of a test's turn."""
    return Work(tmp_path)


def working(stage: Stage, room: str, text: str, sender: str | None = None, *, work: Work | str) -> tuple[str, str]:
    """A message whose turn runs a tool by now (asks for one, where the work is not a test's to end), and the turn."""
    message = stage.box.human.say(room, f"{work}{text}", sender)
    stage.model.wait(where=lambda request: text in request.user_text, timeout_s=LONG_S)
    wait_until(
        lambda: any(message in state.get("activeMessageIds", ()) for state in stage.box.human.turns(room)),
        timeout_s=LONG_S,
    )
    turn_id = next(
        state["turnId"] for state in stage.box.human.turns(room) if message in state.get("activeMessageIds", ())
    )
    if isinstance(work, Work):
        wait_until(work.has_begun, timeout_s=LONG_S)
    return message, turn_id


def waits_in(stage: Stage, room: str) -> int:
    """How many messages wait behind the turn of a room, as Canon shows it."""
    return max((state.get("queueDepth") or 0 for state in stage.box.human.turns(room)), default=0)


def disposition(stage: Stage, room: str, message_id: str) -> str | None:
    row = next(row for row in stage.box.transcript(room) if row["id"] == message_id)
    found: str | None = row["metadata"].get("inboundDisposition")
    return found


def texts(stage: Stage, room: str) -> list[str]:
    """What the agent posted; of a turn that was stopped Canon keeps the activity, which has no words."""
    return [row["text"] for row in stage.box.transcript(room) if row["origin"] != "human" and row["text"]]


def heard_as_tool_result(stage: Stage, words: str) -> bool:
    """Whether the model got the words behind the result of a tool: in it, or as the message behind it."""
    return any(
        words in str(message["content"]) and "tool" in (before["role"], message["role"])
        for request in stage.model.requests
        for before, message in pairwise(request.body["messages"])
    )


def picture_bytes(name: str, room: str) -> bytes:
    """A picture like no other; what follows the end of one is nobody's business."""
    return PNG + f"{name} of {room}".encode()


def has_heard(stage: Stage, words: str) -> bool:
    """Whether the model was told something as the words of a person."""
    return any(words in request.user_text for request in stage.model.requests)


def pictures_of(stage: Stage) -> list[bytes]:
    """The pictures that the host has on its disk."""
    return [file.read_bytes() for file in stage.home.path.glob("cache/images/*")]


def test_words_go_into_the_running_turn(stage: Stage, work: Work) -> None:
    """S5.6, D12, D64 in a gateway: the model reads them with its tool's result; they leave the shelf, and are read."""
    room = room_of(stage)
    message, turn_id = working(stage, room, "[say the whole answer]", work=work)

    steered = say_into(stage, room, "also check the logs", intent="interleave")
    wait_until(lambda: disposition(stage, room, steered) == "accepted_now", timeout_s=LONG_S)
    work.end()
    answer = answer_to(stage.box, message, timeout_s=LONG_S)

    assert (answer["text"], answer["metadata"]["turnId"]) == ("the whole answer", turn_id)
    assert heard_as_tool_result(stage, "also check the logs")
    assert texts(stage, room) == ["the whole answer"]
    assert any(row["path"].endswith(f"/{room}/read") for row in stage.box.journal())


def test_a_picture_is_not_lost_in_a_running_turn(stage: Stage, work: Work) -> None:
    """D12, S4.30 in a gateway: a message with an attachment waits instead; its own turn has the very picture."""
    room = room_of(stage)
    message, turn_id = working(stage, room, "[say without a picture]", work=work)
    picture = stage.box.human.upload(PNG, mime_type="image/png", file_name="cat.png", conversation_id=room)

    second = say_into(stage, room, "[say with a picture]", intent="interleave", attachments=[picture])
    wait_until(lambda: waits_in(stage, room), timeout_s=LONG_S)
    work.end()
    answers = [answer_to(stage.box, one, timeout_s=LONG_S) for one in (message, second)]
    asked = next(one for one in reversed(stage.model.requests) if "with a picture" in one.user_text)
    shown = json.dumps([one for one in asked.body["messages"] if one["role"] == "user"][-1])

    assert [answer["text"] for answer in answers] == ["without a picture", "with a picture"]
    assert answers[1]["metadata"]["turnId"] != turn_id
    assert "images/img_" in shown or "image_url" in shown
    assert [file.read_bytes() for file in stage.home.path.glob("cache/images/*")].count(PNG) == 1
    assert disposition(stage, room, second) == "accepted_now"


def test_an_interruption_stops_the_turn(stage: Stage) -> None:
    """S5.4 in a gateway: the running turn ends without a word, and the message is answered next."""
    room = room_of(stage)
    _, turn_id = working(stage, room, "[say too late]", work=LONG_WORK)

    second = say_into(stage, room, "Not that: [say the new course]", intent="interrupt")
    answer = answer_to(stage.box, second, timeout_s=LONG_S)

    assert (answer["text"], texts(stage, room)) == ("the new course", ["the new course"])
    assert states_of(stage.box, turn_id, room)[-1] == "interrupted"
    assert disposition(stage, room, second) == "accepted_now"


def test_an_interruption_brings_its_picture(stage: Stage) -> None:
    """S5.4, S4.4 in a gateway: the running turn ends without a word, and the picture is in the turn that comes next."""
    room = room_of(stage)
    _, turn_id = working(stage, room, "[say too late]", work=LONG_WORK)
    data = picture_bytes("interrupt", room)
    picture = stage.box.human.upload(data, mime_type="image/png", file_name="new.png", conversation_id=room)

    second = say_into(stage, room, "Not that: [say seen instead]", intent="interrupt", attachments=[picture])
    answer = answer_to(stage.box, second, timeout_s=LONG_S)

    assert (answer["text"], texts(stage, room)) == ("seen instead", ["seen instead"])
    assert states_of(stage.box, turn_id, room)[-1] == "interrupted"
    assert pictures_of(stage).count(data) == 1
    assert disposition(stage, room, second) == "accepted_now"


def test_three_pictures_wait(stage: Stage, work: Work) -> None:
    """S5.28, D60 in a gateway: however the host merges them, each picture reaches a turn once and leaves the shelf."""
    room = room_of(stage)
    first, _ = working(stage, room, "[say answer 0]", work=work)
    pictures = [picture_bytes(f"{number}", room) for number in (1, 2, 3)]

    waiting = [
        say_into(
            stage,
            room,
            f"[say answer {number}]",
            attachments=[
                stage.box.human.upload(data, mime_type="image/png", file_name=f"{number}.png", conversation_id=room)
            ],
        )
        for number, data in enumerate(pictures, 1)
    ]
    wait_until(lambda: all(data in pictures_of(stage) for data in pictures), timeout_s=LONG_S)
    work.end()
    answer_to(stage.box, first, timeout_s=LONG_S)
    wait_until(lambda: [disposition(stage, room, one) for one in waiting] == ["accepted_now"] * 3, timeout_s=LONG_S)
    wait_until(lambda: all(has_heard(stage, f"[say answer {number}]") for number in (1, 2, 3)), timeout_s=LONG_S)
    answer_to(stage.box, waiting[0], timeout_s=LONG_S)
    stage.box.wait("idle", timeout_s=LONG_S)

    assert [pictures_of(stage).count(data) for data in pictures] == [1, 1, 1]
    assert texts(stage, room)[0] == "answer 0"
    assert len(texts(stage, room)) == len(set(texts(stage, room)))


def test_many_wait_their_turn(stage: Stage, work: Work, tmp_path: Path) -> None:
    """S5.2, S5.26, D4 in a gateway: each is answered as a turn of its own, in order, and is released when it begins.

    More of them than the host answers in one run without writing one over another.
    """
    room = room_of(stage)
    first, _ = working(stage, room, "[say answer 0]", work=work)

    seconds_work = Work(tmp_path / "second")
    works = {2: seconds_work}
    waiting = [say_into(stage, room, f"{works.get(number, '')}[say answer {number}]") for number in range(1, MANY + 1)]
    wait_until(lambda: waits_in(stage, room) == MANY, timeout_s=LONG_S)
    work.end()
    wait_until(lambda: disposition(stage, room, waiting[1]) == "accepted_now", timeout_s=LONG_S)
    third_meanwhile = disposition(stage, room, waiting[2])
    seconds_work.end()
    answers = [answer_to(stage.box, message, timeout_s=LONG_S) for message in (first, *waiting)]

    assert texts(stage, room) == [f"answer {number}" for number in range(MANY + 1)]
    assert len({answer["metadata"]["turnId"] for answer in answers}) == MANY + 1
    assert third_meanwhile == "queued"
    assert [disposition(stage, room, message) for message in waiting] == ["accepted_now"] * MANY


def test_a_message_that_stops_takes_the_place_of_all(stage: Stage) -> None:
    """S5.9 in a gateway: what waited never runs and truthfully stays queued; the turn that ran ends without a word,
    before the files of the message that stops it are there (D25)."""
    room = room_of(stage)
    _, turn_id = working(stage, room, "[say too late]", work=LONG_WORK)
    waiting = [say_into(stage, room, f"[say waited {number}]") for number in (1, 2)]

    with held_file(PNG, mime_type="image/png") as held:
        picture = {"kind": "image", "url": held.url, "mimeType": "image/png", "fileName": "cat.png"}
        last = say_into(stage, room, "Not that: [say instead]", intent="stop", attachments=[picture])
        wait_until(lambda: states_of(stage.box, turn_id, room)[-1:] == ["interrupted"], timeout_s=LONG_S)
        wait_until(held.asked.is_set, timeout_s=LONG_S)
        said_meanwhile = texts(stage, room)
        held.released.set()
        answer_to(stage.box, last, timeout_s=LONG_S)
    stage.box.wait("idle", timeout_s=LONG_S)

    assert (said_meanwhile, texts(stage, room)) == ([], ["instead"])
    assert [disposition(stage, room, message) for message in (*waiting, last)] == ["queued", "queued", "accepted_now"]


def test_the_owner_clears_a_members_turn(group_stage: Stage) -> None:
    """S5.36, D10 in a gateway: stop-and-clear means what runs and waits in the room, whoever presses the button."""
    stage = group_stage
    room, ben = group_of(stage)
    _, turn_id = working(stage, room, "[say too late]", ben, work=LONG_WORK)
    waiting = say_into(stage, room, "[say waited]", ben)
    wait_until(lambda: waits_in(stage, room), timeout_s=LONG_S)

    stage.box.human.signal(room, "stop_and_drop", stage.box.endpoints.owner_id)
    wait_until(lambda: states_of(stage.box, turn_id, room)[-1:] == ["interrupted"], timeout_s=LONG_S)
    after = stage.box.human.say(room, "[say all clear]", ben)
    answer_to(stage.box, after, timeout_s=LONG_S)
    stage.box.wait("idle", timeout_s=LONG_S)

    assert states_of(stage.box, turn_id, room)[-1] == "interrupted"
    assert not {"too late", "waited"} & set(texts(stage, room))
    assert disposition(stage, room, waiting) == "queued"


def test_a_members_words_in_anothers_turn(group_stage: Stage, is_shared: bool, work: Work) -> None:
    """D12, D64: where members share a session they go into the turn, and the model hears who speaks; where they do
    not, they are a turn of the member's own beside it. Either way they leave the shelf."""
    stage = group_stage
    room, ben = group_of(stage)
    message, turn_id = working(stage, room, "[say for the owner]", work=work)

    said = say_into(stage, room, "[say for Ben]", ben, intent="interleave")
    wait_until(lambda: disposition(stage, room, said) == "accepted_now", timeout_s=LONG_S)
    work.end()
    answer = answer_to(stage.box, message, timeout_s=LONG_S)
    stage.box.wait("idle", timeout_s=LONG_S)

    assert (answer["text"], answer["metadata"]["turnId"]) == ("for the owner", turn_id)
    assert heard_as_tool_result(stage, "[Ben] [say for Ben]") == is_shared
    assert sorted(texts(stage, room)) == (["for the owner"] if is_shared else ["for Ben", "for the owner"])
    if not is_shared:
        assert answer_to(stage.box, said, timeout_s=LONG_S)["metadata"]["turnId"] != turn_id


def test_silence_after_words(stage: Stage) -> None:
    """S8.17, S8.26 in a gateway: what was said before and after the silence is posted nowhere; the node is empty."""
    room = room_of(stage)
    said = "[say a word before]" + call_of(CONTROL, said="a word after", action="no_reply")
    mark = stage.box.engine.journal.count

    message = stage.box.human.say(room, said)
    stage.box.wait("request", path="/agent/verbs/no_reply", after=mark, timeout_s=LONG_S)
    stage.box.wait("idle", timeout_s=LONG_S)

    turn_id = next(s["turnId"] for s in stage.box.human.turns(room) if message in s.get("activeMessageIds", ()))
    assert texts(stage, room) == []
    assert states_of(stage.box, turn_id, room)[-1] == "completed"
    assert stage.box.node(room) is None


def test_words_lift_a_silence(stage: Stage, work: Work) -> None:
    """S8.16, D11 in a gateway: somebody says something into a turn that chose silence, and the answer is posted."""
    room = room_of(stage)
    silence = '[wait 0.5][tool canon_runtime_control {"action": "no_reply"}]'  # into a run, not the making of its agent
    mark = stage.box.engine.journal.count
    message = stage.box.human.say(room, f"{silence}{work}[say after all]")
    stage.box.wait("request", path="/agent/verbs/no_reply", after=mark, timeout_s=LONG_S)

    said = say_into(stage, room, "please do answer", intent="interleave")
    wait_until(lambda: disposition(stage, room, said) == "accepted_now", timeout_s=LONG_S)
    work.end()
    answer = answer_to(stage.box, message, timeout_s=LONG_S)

    assert answer["text"] == "after all"
    assert tool_results(stage)[-1]["status"] == "acknowledged"


def test_words_that_come_too_late_get_a_turn(stage: Stage) -> None:
    """R6.34 in a gateway: words that the model did not read any more are answered as a turn of their own, once."""
    room = room_of(stage)
    message = stage.box.human.say(room, "[slow 3][say one two three four five six]")
    wait_until(lambda: stage.box.node(room) is not None, timeout_s=LONG_S)

    late = say_into(stage, room, "[say and seven]", intent="interleave")
    answers = [answer_to(stage.box, one, timeout_s=LONG_S) for one in (message, late)]

    assert texts(stage, room) == ["one two three four five six", "and seven"]
    assert answers[0]["metadata"]["turnId"] != answers[1]["metadata"]["turnId"]


def test_a_decision_that_the_host_threw_away_comes_again(stage: Stage) -> None:
    """D27 in a gateway: a wake waits behind a turn, a person stops the turn, and the model hears it all the same."""
    room = room_of(stage)
    ask = call_of(CONTROL, said="asked", action="request_approval", title="File", question="File it?")
    answer_to(stage.box, stage.box.human.say(room, ask), timeout_s=LONG_S)
    approval_id = tool_results(stage)[-1]["approvalId"]
    _, turn_id = working(stage, room, "[say too late]", work=LONG_WORK)

    stage.box.human.approve(approval_id)
    wait_until(lambda: waits_in(stage, room), timeout_s=LONG_S)
    stage.box.human.say(room, "/stop")
    wait_until(lambda: states_of(stage.box, turn_id, room)[-1:] == ["interrupted"], timeout_s=LONG_S)

    wait_until(lambda: wakes(stage, approval_id) != [], timeout_s=LONG_S)  # perhaps with the words of the stopped turn


def test_nobody_complains(stage: Stage) -> None:
    """Over all of the above Canon saw nothing that a good client does not do, and the host wrote no error about us."""
    complaints = [text for text in stage.home.log_records() if " ERROR " in text or "Traceback" in text]

    assert (stage.box.breaches(), [text for text in complaints if "canon" in text.lower()]) == ([], [])
