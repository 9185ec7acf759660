"""Kill a real gateway again and again while people talk to it, and count what became of every message.

A *schedule* is a seeded list of kills: how long the gateway lives after it was started, or after it was ready.
Meanwhile people in several conversations say one thing after the other, or three at once, so that two of them come
while the agent for the first is being made; each has the answer that it must get, by itself or, where the host joins
messages, together with another. They know nothing of the kills. When the last kill is done the gateway lives, and
everything that was said must be answered.

What is allowed: a second answer, when it carries the mark. What is not: a message without an answer, a second answer
without the mark, a message of the server's own making (a dead turn's narration), a row that is never settled.

A message at which the gateway has died ten times is given up, and its people are told so (inbox/items.py); a kill waits
for one that has nearly come so far, because on a slow machine each of its runs would end in the next kill.

What each kill hit is read from the disk that it left, with nobody writing any more: how far every message had come,
what the outbox owed, what stood on the node. The steps of all rooms together are the kill's *trace*, see
:data:`tests.support.crash_outcome.STEPS`.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from canon_hermes_plugin.inbox.items import RUNS
from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.place import state_path
from canon_hermes_plugin.turn.machine import ANSWER_MARK
from canon_ops.durable import Snapshot, read_once
from canon_ops.sandbox.answering import AnswerRefused
from canon_ops.sandbox.stage import WaitTimeout
from canon_ops.sandbox.state import World
from tests.support.asking import question_of, template_of
from tests.support.crash_outcome import Outcome
from tests.support.files import PDF, PNG
from tests.support.gateways import Stage, canon_stage, start_gateway
from tests.support.homes import GatewayHome

__all__ = [
    "ASKING",
    "Kill",
    "Moment",
    "answer_questions",
    "crash",
    "crash_bursts",
    "is_salvaged",
    "schedule",
    "unsettled",
]

ROOMS = 4
BURSTS = 0.3  # of what is said comes three at once
ANSWER_S = 45.0
SETTLED_S = 240.0
READY_S = 180.0  # a busy machine starts a gateway in more than a minute
ANSWERS = (
    "[say {answer}]",
    "[slow 2] [say {answer}]",
    '[tool todo {{"todos": []}}] [say {answer}]',
    "[wait 1] [say {answer}]",
    "[slow 2] [say {answer}\nMEDIA:{file}]",
)
LOST_FILE = "could not be fetched"


ASKING = (
    template_of(question_of("Which?", "a", "b", said="<answer>")),
    '[tool terminal {{"command": "rm -rf /tmp/canon-crash-nothing"}}][say {answer}]',
)
"""What makes an agent wait for a person, who answers after a moment whoever asked."""


class Moment(StrEnum):
    """From when on a gateway's last seconds are counted."""

    START = "startup"  # of its process: it dies in its start-up window
    READY = "ready"  # it was ready
    ANSWER = "answer"  # it brought an answer, so that schedules go on however slow the machine is


@dataclass(frozen=True, slots=True)
class Kill:
    """One SIGKILL, so many seconds after a moment."""

    moment: Moment
    after_s: float


def schedule(seed: int, kills: int) -> list[Kill]:
    """Kills at random moments: a fifth of them while the gateway starts, two fifths soon after, two after an answer."""
    rng = random.Random(seed)
    moments = rng.choices(list(Moment), weights=(1, 2, 2), k=kills)
    return [Kill(moment, rng.uniform(0.3, 4.0) if moment is Moment.START else rng.uniform(0, 3)) for moment in moments]


def crash(
    folder: Path,
    kills: Sequence[Kill],
    *,
    seed: int,
    guard: bool = False,
    rest_s: float = 0.0,
    scripts: Sequence[str] = ANSWERS,
) -> Outcome:
    """Play a schedule.

    Args:
        guard: leave the host's guards against restart loops on.
        rest_s: how long the gateway is left alone before each kill, once it is ready.
        scripts: what the agent does for each message, one of them at random.
    """
    outcome = Outcome()
    with _conversing(folder, guard=guard) as (stage, rooms):
        done = threading.Event()
        talker = threading.Thread(target=_talk, args=(stage, rooms, outcome, done, random.Random(seed), scripts))
        with _answering(stage):
            talker.start()
            try:
                for kill in kills:
                    outcome.spared += _spare(stage)
                    _note(outcome, *_kill(stage, kill, rest_s, rooms))
            finally:
                done.set()
                talker.join()
            stage.gateway.wait_ready(timeout_s=READY_S)
            _wait_for_answers(stage, outcome)
        _look(stage, rooms, outcome)
    return outcome


def crash_bursts(folder: Path, cycles: int, *, seed: int) -> Outcome:
    """Kill a gateway before or behind bursts in all rooms, and the next one while it takes up what was left; then wait.

    What a gateway finds left reaches the host before, while and after the host has made its rooms' agents and has our
    adapter among its platforms.
    """
    outcome = Outcome()
    rng = random.Random(seed)
    with _conversing(folder) as (stage, rooms):
        for _ in range(cycles):
            kills = [Kill(Moment.READY, rng.uniform(0, 1.5)), Kill(Moment.START, rng.uniform(2, 4))]
            if rng.random() < 0.5:
                _note(outcome, *_kill(stage, kills.pop(0), 0.0, rooms))
            for room in rooms:
                _say(stage, room, 3, outcome, rng, ANSWERS)
            for kill in kills:
                _note(outcome, *_kill(stage, kill, 0.0, rooms))
            stage.gateway.wait_ready(timeout_s=READY_S)
            _wait_for_answers(stage, outcome)
        _look(stage, rooms, outcome)
    return outcome


@contextmanager
def _conversing(folder: Path, *, guard: bool = False) -> Iterator[tuple[Stage, list[str]]]:
    """A gateway that has answered once, and the rooms in which people talk to it."""
    config: dict[str, Any] = {"platforms": {"canon": {"typing_indicator": False}}}
    if not guard:
        # Neither the guard, nor the pause of minutes that the host takes when it is started ten times in two.
        config["gateway"] = {"restart_loop_guard": {"max_restarts": 0}, "respawn_storm": {"max_starts": 0}}
    folder.joinpath("report.pdf").write_bytes(PDF)
    with canon_stage(folder, config=config, dotenv={"HERMES_ALLOW_PRIVATE_URLS": "true"}) as stage:
        human = stage.box.human
        people = [stage.box.endpoints.owner_id, "agent_sandbox"]
        rooms = [human.open_conversation(people, kind="direct") for _ in range(ROOMS)]
        stage.box.wait("answer", to=human.say(None, "[say ready]"), timeout_s=60)
        yield stage, rooms


@contextmanager
def _answering(stage: Stage) -> Iterator[None]:
    """Somebody who answers whatever people are asked."""
    settled = threading.Event()
    answerer = threading.Thread(target=answer_questions, args=(stage, settled))
    answerer.start()
    try:
        yield
    finally:
        settled.set()
        answerer.join()


def _note(outcome: Outcome, phase: str, steps: Sequence[str]) -> None:
    outcome.phases[phase] += 1
    outcome.traces[(phase, *steps)] += 1
    outcome.coverage.update((step, phase) for step in steps)


def _spare(stage: Stage) -> bool:
    """Let the gateway live until no message is one death away from being given up; whether that was needed."""
    if _most_runs(stage) < RUNS - 1:
        return False
    stage.gateway.wait_ready(timeout_s=READY_S)
    deadline = time.monotonic() + SETTLED_S
    while _most_runs(stage) >= RUNS - 1 and time.monotonic() < deadline:
        time.sleep(0.5)
    return True


def _most_runs(stage: Stage) -> int:
    sql = "SELECT coalesce(max(runs), 0) FROM inbox WHERE state <> 'settled'"
    return int(read_once(state_path(stage.home.home.path), SCHEMA, lambda snapshot: snapshot.value(sql)))


def _kill(stage: Stage, kill: Kill, rest_s: float, rooms: Sequence[str]) -> tuple[str, list[str]]:
    """Let the gateway live for a while, kill it, start the next one; its phase at the kill, and each room's step."""
    phase = "starting"
    if kill.moment is not Moment.START:
        stage.gateway.wait_ready(timeout_s=READY_S)
        time.sleep(rest_s)
        if kill.moment is Moment.ANSWER:
            had = len(_finals(stage.box.engine.world))
            with suppress(WaitTimeout):
                stage.box.wait(lambda world: len(_finals(world)) > had, timeout_s=ANSWER_S)
        phase = "idle"
    time.sleep(kill.after_s)  # the schedule's own time, not a wait for anything
    if phase == "idle" and stage.box.engine.read(_is_at_work):
        phase = "at work"
    stage.gateway.kill()
    steps = _steps(stage, rooms)
    stage.gateway = start_gateway(stage.home, stage.log)
    return phase, steps


def _steps(stage: Stage, rooms: Sequence[str]) -> list[str]:
    def look(snapshot: Snapshot) -> tuple[dict[str, str], set[str], set[str]]:
        items = snapshot.all("SELECT conversation_id, state FROM inbox WHERE state <> 'settled' ORDER BY number DESC")
        owed = snapshot.all("SELECT conversation_id FROM outbox")
        turns = snapshot.all("SELECT conversation_id FROM turns")
        return dict(map(tuple, items)), {row[0] for row in owed}, {row[0] for row in turns}

    states, owed, turns = read_once(state_path(stage.home.home.path), SCHEMA, look)
    shown = stage.box.engine.read(
        lambda world: {room for (room, _), node in world.nodes.items() if not node.is_empty()}
    )
    asked = {one["conversation_id"] for one in stage.box.human.interactions(state="pending")}
    return [_step(room, states, owed, turns, shown, asked) for room in rooms]


def _step(
    room: str, states: Mapping[str, str], owed: Set[str], turns: Set[str], shown: Set[str], asked: Set[str]
) -> str:
    if room in owed:
        return "owed"
    state = states.get(room)
    if state is None:
        return "closing" if room in turns else "quiet"
    if state == "started" and room in asked:
        return "asked"
    return "shown" if state == "started" and room in shown else state


def _finals(world: World) -> list[str]:
    return [
        message.message_id
        for room in world.conversations.values()
        for message in list(room.messages.values())
        if message.origin == "agent" and message.semantics == "turn_complete"
    ]


def _is_at_work(world: World) -> bool:
    """Whether a turn is open as far as people see."""
    closed = {"completed", "interrupted", "idle"}
    return any(log.last is not None and log.last["state"] not in closed for log in world.turns.values())


def answer_questions(stage: Stage, done: threading.Event) -> None:
    """Let people answer whatever they are asked, some moments later, whether or not somebody still waits for it."""
    human = stage.box.human
    while not done.wait(0.7):
        for asked in human.interactions(state="pending"):
            content = {"decision": "allow"} if asked["kind"] == "approval" else {"value": "a"}
            with suppress(AnswerRefused):  # it was taken back in this very moment
                human.answer(asked["id"], kind=asked["kind"], **content)


def _talk(
    stage: Stage,
    rooms: Sequence[str],
    outcome: Outcome,
    done: threading.Event,
    rng: random.Random,
    scripts: Sequence[str],
) -> None:
    """Say something in each room, and the next thing when that was answered, until told to stop."""
    waiting: dict[str, list[str]] = {}
    while not done.is_set():
        for room in rooms:
            if all(_is_answered(stage, outcome, asked) for asked in waiting.get(room, ())):
                waiting[room] = _say(stage, room, 3 if rng.random() < BURSTS else 1, outcome, rng, scripts)
        done.wait(0.2)


def _say(
    stage: Stage, room: str, count: int, outcome: Outcome, rng: random.Random, scripts: Sequence[str]
) -> list[str]:
    """Say so much at once in a room, some of it with a file; the messages, each with an answer of its own."""
    said = []
    for _ in range(count):
        answer = f"answer {len(outcome.wanted) + 1} of {room}"
        text = rng.choice(scripts).format(answer=answer, file=stage.log.with_name("report.pdf"))
        message = stage.box.human.say(room, text, attachments=_files(stage, room) if rng.random() < 0.3 else [])
        outcome.wanted[message] = answer
        said.append(message)
    return said


def _is_answered(stage: Stage, outcome: Outcome, message_id: str) -> bool:
    """Whether a message has an answer, or has reached the model joined with another that has one."""
    wanted = outcome.wanted[message_id]
    if message_id in outcome.joined or any(_holds(text, wanted) for text in _answers_to(stage, message_id)):
        return True
    room = wanted.rpartition(" of ")[2]
    others = [other for other in outcome.wanted.values() if other.endswith(room) and other != wanted]
    prompts = [request.user_text for request in stage.model.requests if _holds(request.user_text, wanted)]
    joined = [other for other in others if any(_holds(prompt, other) for prompt in prompts)]
    if _saying(stage, wanted) or any(_saying(stage, other) for other in joined):
        outcome.joined.add(message_id)
    return message_id in outcome.joined


def _saying(stage: Stage, answer: str) -> list[str]:
    """The finished messages of the agent in which an answer is said."""
    texts = [
        str(entry["text"])
        for entry in stage.box.transcript(answer.rpartition(" of ")[2])
        if entry["origin"] == "agent" and entry["metadata"].get("turnSemantics") == "turn_complete"
    ]
    return [text for text in texts if _holds(text, answer)]


def _holds(text: str, answer: str) -> bool:
    """Whether an answer is said; ``answer 1 of x`` is not in ``answer 11 of x``."""
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text) is not None


def _files(stage: Stage, room: str) -> list[dict[str, Any]]:
    """What some messages carry: each run of them fetches it anew."""
    return [stage.box.human.upload(PNG, mime_type="image/png", file_name="photo.png", conversation_id=room)]


def _answers_to(stage: Stage, message_id: str) -> list[str]:
    try:
        found = stage.box.wait("answer", to=message_id, timeout_s=0)
    except WaitTimeout:
        return []
    return [str(each["text"]) for each in found]


def _wait_for_answers(stage: Stage, outcome: Outcome) -> None:
    deadline = time.monotonic() + SETTLED_S
    while time.monotonic() < deadline:
        outcome.answers = {message: _answers_to(stage, message) for message in outcome.wanted}
        for message in outcome.lost:
            _is_answered(stage, outcome, message)
        if not outcome.lost and not _left(stage):
            return
        time.sleep(0.5)


def _look(stage: Stage, rooms: Sequence[str], outcome: Outcome) -> None:
    outcome.answers = {message: _answers_to(stage, message) for message in outcome.wanted}
    transcripts = [entry for room in (None, *rooms) for entry in stage.box.transcript(room)]
    outcome.salvaged = [str(entry["text"]) for entry in transcripts if is_salvaged(entry)]
    allowed = {"one final a turn", "one answer a message"}  # counted here, with their marks
    outcome.breaches = [f"{each.rule}: {each.what}" for each in stage.box.breaches() if each.rule not in allowed]
    for answer in outcome.wanted.values():
        unmarked = [text for text in _saying(stage, answer) if not text.startswith(ANSWER_MARK)]
        outcome.breaches += [f"{answer} is said {len(unmarked)} times without a mark"] * (len(unmarked) > 1)
    sent = Counter(str(entry["metadata"].get("turnId")) for entry in transcripts if _is_file_of_ours(entry))
    for turn, count in sent.items():
        said = [str(entry["text"]) for entry in transcripts if entry["metadata"].get("turnId") == turn]
        most = max(1, len(set(re.findall(r"answer \d+ of", " ".join(said)))))  # a run of joined messages answers each
        outcome.breaches += [f"the file of {turn} was sent {count} times"] * (count > most)
    lost = [request.user_text for request in stage.model.requests if LOST_FILE in request.user_text]
    outcome.breaches += [f"a run without its file: {text}" for text in lost]
    outcome.left = _left(stage)


def _is_file_of_ours(entry: Mapping[str, Any]) -> bool:
    return entry["origin"] == "agent" and bool(entry["attachments"])


def is_salvaged(entry: Mapping[str, Any]) -> bool:
    """Whether the server made a message of a node; requests and the receipts of their answers are its own, too."""
    return entry["origin"] == "server" and "turnTrail" in entry.get("metadata", {})


def _left(stage: Stage) -> list[tuple[str, str]]:
    asked = [(one["id"], "pending") for one in stage.box.human.interactions(state="pending")]
    return unsettled(stage.home) + asked


def unsettled(home: GatewayHome) -> list[tuple[str, str]]:
    """What an adapter's own file says is not done yet: messages, answers, and questions to people."""
    sql = """SELECT item_id, state FROM inbox WHERE state <> 'settled' UNION ALL SELECT turn_id, state FROM outbox
        UNION ALL SELECT request_id, 'asked' FROM open_requests"""
    path = state_path(home.home.path)
    return [tuple(row) for row in read_once(path, SCHEMA, lambda snapshot: snapshot.all(sql))]
