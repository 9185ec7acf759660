"""Messages through a real gateway while Canon misbehaves: each is answered exactly once.

Two hundred plain ones; and a smaller number whose agents ask people, wait for leave, get files and send some.

The stream is dropped, events come twice, sends are refused in bursts of at most two, or carried out before an error or
a reset. A fault that never struck would prove nothing, so each must stand in the journal as often as its counter says.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from canon_ops.sandbox.faults import Armed
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.asking import question_of, template_of
from tests.support.crash_canon import answer_questions
from tests.support.files import PDF, PNG
from tests.support.gateways import Stage, canon_stage
from tests.support.struck import reports, table, unfired
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.host, pytest.mark.long, pytest.mark.timeout(900)]

CONVERSATIONS = 10
MESSAGES = 20
FAULTS: Final[dict[str, dict[str, Any]]] = {
    # the stream; an occasion is an event
    "stream-drop": {"every": 31},
    "stream-drop-mid-frame": {"every": 37, "skip": 5},
    "stream-end": {"every": 41, "skip": 3},
    "event-duplicate": {"every": 5},
    "event-duplicate-new-id": {"every": 7},
    # sends; an occasion is a message with all its attempts, of which at most two meet a fault
    "send-429": {"every": 19, "burst": 2},
    "send-503": {"every": 10, "burst": 2},
    "send-500-after-commit": {"every": 6},
    "send-lost-response": {"every": 8},
}


def script(number: int, text: str) -> str:
    """Plain answers, slow ones, and some behind a tool."""
    if number % 5 == 4:
        return f'[tool terminal {{"command": "true"}}][say {text}]'
    return f"[slow 1][say {text}]" if number % 5 == 2 else f"[say {text}]"


def converse(box: CanonSandbox, room: str) -> dict[str, str]:
    """A person who asks, waits for the answer, and asks again; gives back message → the answer it must get."""
    asked: dict[str, str] = {}
    for number in range(MESSAGES):
        text = f"answer {number} in {room}"
        message = box.human.say(room, script(number, text))
        asked[message] = text
        box.wait("answer", to=message, timeout_s=120)
    return asked


def noted(box: CanonSandbox) -> Counter[str]:
    """How often each fault stands in the journal: against a request, or against an event of a stream."""
    return Counter(
        fault for entry in box.journal() for fault in (entry["fault"], *entry["spoiled"]) if fault is not None
    )


def report(armed: Sequence[Armed], *, sent: int, answered: int, duplicates: int) -> str:
    """A table of the faults, and the sum of the messages."""
    return f"{table(reports(armed))}\nmessages: {sent} sent, {answered} answered, {duplicates} duplicates"


def test_two_hundred_messages_are_each_answered_exactly_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S2.17, S2.18, S6.15, S7.29 under load: no message is lost, none is answered twice, whatever fails on the way."""
    options = CanonOptions(journal_entries=100_000)
    with canon_stage(tmp_path, options=options, limit_per_occasion=2) as stage:
        box, human = stage.box, stage.box.human
        people = [box.endpoints.owner_id, "agent_sandbox"]
        rooms = [human.open_conversation(people, kind="direct") for _ in range(CONVERSATIONS)]
        # A stream without a cursor cannot be replayed (decisions X4): the first event must arrive before the chaos.
        box.wait("answer", to=human.say(None, "[say ready]"), timeout_s=60)
        armed = [box.fault(name, times=None, **settings) for name, settings in FAULTS.items()]

        with ThreadPoolExecutor(CONVERSATIONS) as pool:
            asked = {
                message: text for part in pool.map(partial(converse, box), rooms) for message, text in part.items()
            }
        human.calm()
        box.wait("connected", timeout_s=60)
        box.wait("idle", timeout_s=60)

        heard = Counter(entry["text"] for room in rooms for entry in box.transcript(room) if entry["origin"] == "agent")
        answers = {message: [answer["text"] for answer in box.wait("answer", to=message)] for message in asked}
        journal, breaches = noted(box), box.breaches()

    duplicates = sum(heard.values()) - len(heard)
    with capsys.disabled():
        told = report(armed, sent=len(asked), answered=sum(map(bool, answers.values())), duplicates=duplicates)
        print(f"\n{told}")  # noqa: T201
    assert answers == {message: [text] for message, text in asked.items()}
    assert heard == Counter(asked.values()) and len(asked) == CONVERSATIONS * MESSAGES
    assert {fault.kind.name: fault.fired for fault in armed} == {name: journal[name] for name in FAULTS}
    assert unfired(reports(armed)) == []
    assert breaches == []


GUESTS = 5
SCENES = (
    # what the agent does, whether a file comes along; each is played twice by everybody
    (template_of(question_of("Which?", "a", "b", said="<answer>")), False),
    ('[tool terminal {{"command": "rm -rf /tmp/canon-chaos-nothing"}}][say {answer}]', False),
    ("[say {answer}\nMEDIA:{file}]", False),
    ("[slow 1][say {answer}]", True),
    (template_of(question_of("And now?", "a", "b", said="<answer>")), True),
)
TROUBLE: Final[dict[str, dict[str, Any]]] = {
    **{name: FAULTS[name] for name in ("event-duplicate", "event-duplicate-new-id", "send-500-after-commit")},
    "stream-drop": {"every": 29},
    "send-lost-response": {"every": 7},
    # a card of which nobody knows whether it was made is taken back, answered or not; the host asks in words instead
    "interaction-500-after-commit": {"every": 4},
    "interaction-lost-response": {"every": 5, "skip": 2},
    # asked again a moment later
    "consume-500": {"every": 5},
    "consume-503": {"every": 7},
    # live surfaces of a turn that waits
    "turn-500": {"every": 9},
    "typing-500": {"every": 5},
    "read-500": {"every": 3},
    # a file that cannot be had is said to be missing, one that comes late is waited for
    "media-404": {"every": 4},
    "delay": {"path": "/files/*", "method": "GET", "every": 3, "seconds": 0.7},
    "answer-after-commit": {"path": "/media/upload", "every": 3},
}


def visit(stage: Stage, room: str) -> dict[str, str]:
    """A person who plays each scene twice; gives back message → the answer it must get."""
    asked: dict[str, str] = {}
    for number in range(2 * len(SCENES)):
        script, has_file = SCENES[number % len(SCENES)]
        answer = f"answer {number} in {room}"
        upload = partial(stage.box.human.upload, PNG, mime_type="image/png", file_name="photo.png")
        files = [upload(conversation_id=room)] if has_file else []
        text = script.format(answer=answer, file=stage.log.with_name("report.pdf"))
        message = stage.box.human.say(room, text, attachments=files)
        asked[message] = answer
        stage.box.wait("answer", to=message, timeout_s=120)
    return asked


def test_people_are_asked_once_and_files_go_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S7.47, D1, D16 and D17 under load: each question is put once, each file sent once, and no card is left behind."""
    tmp_path.joinpath("report.pdf").write_bytes(PDF)
    options, leave = CanonOptions(journal_entries=100_000), {"HERMES_ALLOW_PRIVATE_URLS": "true"}
    with canon_stage(tmp_path, options=options, limit_per_occasion=2, dotenv=leave) as stage:
        box, human = stage.box, stage.box.human
        people = [box.endpoints.owner_id, "agent_sandbox"]
        rooms = [human.open_conversation(people, kind="direct") for _ in range(GUESTS)]
        box.wait("answer", to=human.say(None, "[say ready]"), timeout_s=60)
        armed = [box.fault(name, times=None, **settings) for name, settings in TROUBLE.items()]
        done = threading.Event()
        answerer = threading.Thread(target=answer_questions, args=(stage, done))
        answerer.start()
        try:
            with ThreadPoolExecutor(GUESTS) as pool:
                visits = pool.map(partial(visit, stage), rooms)
                asked = {message: text for part in visits for message, text in part.items()}
        finally:
            done.set()
            answerer.join()
        human.calm()
        box.wait("connected", timeout_s=60)
        box.wait("idle", timeout_s=60)

        said = [entry for room in rooms for entry in box.transcript(room) if entry["origin"] == "agent"]
        answers = {message: [answer["text"] for answer in box.wait("answer", to=message)] for message in asked}
        requests, journal, breaches = human.interactions(), noted(box), box.breaches()
        wait_until(lambda: {one["state"] for one in human.interactions()} == {"gone"})

    finals = [entry for entry in said if entry["metadata"]["turnSemantics"] == "turn_complete"]
    sent = Counter(str(entry["metadata"].get("turnId")) for entry in said if entry.get("attachments"))
    kinds = Counter(str(one["kind"]) for one in requests)
    with capsys.disabled():
        told = report(armed, sent=len(asked), answered=len(finals), duplicates=len(finals) - len(asked))
        print(f"\n{told}\nasked: {dict(kinds)}, files sent: {sum(sent.values())}")  # noqa: T201
    assert answers == {message: [text] for message, text in asked.items()}
    assert len(finals) == len(asked) == GUESTS * 2 * len(SCENES)
    assert kinds == {"input": GUESTS * 4, "approval": GUESTS * 2}
    assert sorted(sent.values()) == [1] * (GUESTS * 2)
    assert {fault.kind.name: fault.fired for fault in armed} == {name: journal[name] for name in TROUBLE}
    assert unfired(reports(armed)) == []
    assert breaches == []
