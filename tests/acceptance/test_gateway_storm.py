"""A real gateway while Canon misbehaves under its messages: each is answered once, or it is known why not.

``tests/support/storm.py`` says of every fault of the sandbox whether it blows here or in which test it is met; those of
questions to people are met by contract tests, because what they cost is seen only after minutes of leases.

The faults come from the sandbox's table and count for themselves; one that never fired would prove nothing, so each is
asserted and its counts are printed. ``make storm-canon`` lets it blow for half an hour (``STORM_S`` says how long); a
short spell of it is part of every test run.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.outbound.standalone import send_standalone
from canon_ops.sandbox.fault_kinds import KINDS
from canon_ops.sandbox.faults import Armed
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support import storm
from tests.support.crash_canon import answer_questions
from tests.support.environments import CHECKOUT
from tests.support.faults_met import faults_met
from tests.support.gateways import Stage, canon_stage
from tests.support.hosted_adapter import hosted, platform_config
from tests.support.storm import Talk, talk_for
from tests.support.struck import reports, table, unfired
from tests.support.vitals import resident_mb
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.host]

CONVERSATIONS = 10
SPELL_S = 90.0
GROWTH_MB = 24.0  # of a gateway of some hundred: the host keeps each conversation's history in memory


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def test_every_fault_has_its_place() -> None:
    """T7: a fault that is added to the sandbox must be met by the storm, or said to be met elsewhere."""
    places = [
        *storm.WEATHER, *storm.MARKED, *storm.LULLS, *storm.ENDINGS, *storm.CONNECTING, *storm.VERBS, *storm.ELSEWHERE,
    ]  # fmt: skip

    assert Counter(places) == Counter(KINDS.keys())


def test_a_fault_that_is_met_elsewhere_is_met_there() -> None:
    """T7: a test of the module that is named for it arms it."""
    met = {file: faults_met(CHECKOUT.joinpath(file).read_text(encoding="utf-8")) for file in storm.ELSEWHERE.values()}

    assert [name for name, file in storm.ELSEWHERE.items() if name not in met[file]] == []


def test_a_fault_that_never_struck_is_named() -> None:
    """T7: over all rounds that armed it, also one that nothing met."""
    rows = [
        {"name": "twice", "met": 3, "fired": 0},
        {"name": "never", "met": 7, "fired": 0},
        {"name": "twice", "met": 2, "fired": 1},
        {"name": "unmet", "met": 0, "fired": 0},
    ]

    assert unfired(rows) == ["never", "unmet"]
    assert [line.split() for line in table(rows).splitlines()] == [
        ["never", "fired", "0", "met", "7"],
        ["twice", "fired", "1", "met", "5"],
        ["unmet", "fired", "0", "met", "0"],
    ]


def test_a_fault_that_is_only_spoken_of_is_not_met() -> None:
    """Comments, docstrings, tables that nothing arms, and what is no test do not count; all ways of arming do."""
    source = '''
TABLE = {"a-table": 1}
UNUSED = {"unused": 1}
def helper(box): box.fault("of-a-helper")
@mark("decorated")
@mark("name", TABLE)
def test_one(box, name):
    """in-a-docstring"""
    box.fault(name)  # in-a-comment
async def test_two(box):
    box.fault("plain", times=1)
    for name in ("loop-1", "loop-2"):
        box.fault(name)
def test_three(box): said("only-said")
'''

    assert faults_met(source) == {"a-table", "decorated", "name", "plain", "loop-1", "loop-2"}


def arm(box: CanonSandbox) -> list[Armed]:
    """Everything that blows while people talk; marked messages first, so that nothing else spoils them instead."""
    marked = [box.fault(name, times=None, burst=None, **where) for name, where in storm.MARKED.items()]
    return marked + [
        box.fault(name, **{"times": None, **settings})
        for name, schedules in storm.WEATHER.items()
        for settings in schedules
    ]


def arm_for_people(box: CanonSandbox) -> list[Armed]:
    """What blows over those who are asked, and over files."""
    return [box.fault(name, times=None, **settings) for name, settings in storm.PEOPLE.items()]


@contextmanager
def answering(stage: Stage) -> Iterator[None]:
    """People answer what they are asked."""
    done = threading.Event()
    answerer = threading.Thread(target=answer_questions, args=(stage, done))
    answerer.start()
    try:
        yield
    finally:
        done.set()
        answerer.join()


def rooms_of(box: CanonSandbox) -> list[str]:
    owner = box.endpoints.owner_id
    return [box.human.open_conversation([owner, "agent_sandbox"], kind="direct") for _ in range(CONVERSATIONS)]


def check(box: CanonSandbox, rooms: list[str], talk: Talk) -> None:
    """Each message has its one answer, whole; nothing else was said; and what Canon wire 11.9 asks of every client."""
    said = [entry for room in rooms for entry in box.transcript(room) if entry["origin"] == "agent"]
    finals = [entry for entry in said if entry["metadata"]["turnSemantics"] == "turn_complete"]
    answers = {message: [whole(said, answer) for answer in box.wait("answer", to=message)] for message in talk.answers}
    assert answers == {message: [text] for message, text in talk.answers.items()}
    assert len(finals) == len(talk.answers)
    assert box.breaches() == []


def whole(said: list[dict[str, Any]], answer: dict[str, Any]) -> str:
    """An answer with the parts that precede it."""
    group = answer["metadata"].get("messageChunk", {}).get("groupId")
    parts = [entry for entry in said if entry["metadata"].get("messageChunk", {}).get("groupId") == group]
    return " ".join(entry["text"] for entry in (parts if group else [answer]))


def settle(box: CanonSandbox) -> None:
    box.human.calm()
    box.wait("connected", timeout_s=60)
    box.wait("idle", timeout_s=90)


def announce(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        print(text, flush=True)  # noqa: T201


@pytest.mark.timeout(300)
def test_a_spell_of_storm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S2.17, S2.18, S6.15, S7.29 under load: whatever fails on the way, each message is answered exactly once."""
    with canon_stage(tmp_path, limit_per_occasion=2) as stage:
        box, talk = stage.box, Talk()
        rooms = rooms_of(box)
        box.wait("answer", to=box.human.say(None, "[say ready]"), timeout_s=60)
        armed = arm(box)
        for spell in range(16):
            talk_for(box, rooms, 15 if spell == 0 else 5, talk, seed=spell)
            if not waited_for(armed):
                break
        settle(box)
        check(box, rooms, talk)

    announce(capsys, f"\n{table(reports(armed))}\n  {len(talk)} messages")
    assert waited_for(armed) == [] and len(talk) > 15


def waited_for(armed: list[Armed]) -> list[str]:
    """The faults that have not struck yet, without those that need minutes: the long storm waits for them."""
    rare = {"runtime-status-500", "signal-500", "stream-end-at-once"}
    return [name for name in unfired(reports(armed)) if name not in rare]


@pytest.mark.long
@pytest.mark.timeout(7_200)
def test_a_long_storm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half an hour of the same, with everything that takes its time, with people who are asked and send pictures.

    The gateway's memory stays where it was, and no request to a person is left behind.
    """
    seconds, armed, memory = float(os.environ.get("STORM_S", "1800")), list[Armed](), list[float]()
    options, leave = CanonOptions(journal_entries=200_000), {"HERMES_ALLOW_PRIVATE_URLS": "true"}
    with canon_stage(tmp_path, options=options, limit_per_occasion=2, dotenv=leave) as stage:
        box, talk = stage.box, Talk()
        rooms = rooms_of(box)
        box.wait("answer", to=box.human.say(None, "[say ready]"), timeout_s=60)
        end, lulls, spell = time.monotonic() + seconds, list(storm.LULLS), 0
        while time.monotonic() < end or lulls:
            spell += 1
            armed += [*arm(box), *arm_for_people(box)]
            with answering(stage):
                length_s = min(SPELL_S, max(10.0, end - time.monotonic()))
                talk_for(box, rooms, length_s, talk, seed=spell, with_people=True)
            settle(box)
            memory.append(resident_mb(stage.gateway.pid))
            announce(capsys, f"  spell {spell}: {len(talk)} messages, {memory[-1]:.0f} MB")
            if lulls:
                armed.append(lull(stage, lulls.pop(0)))
        check(box, rooms, talk)
        announce(capsys, f"{table(reports(armed))}\n  {len(talk)} messages")
        wait_until(lambda: {one["state"] for one in box.human.interactions()} <= {"gone"})
        armed += [ending(stage, name) for name in storm.ENDINGS]

    announce(capsys, table(reports(armed[-len(storm.ENDINGS) :])))
    assert unfired(reports(armed)) == []
    third = max(1, len(memory) // 3)
    growth = statistics.median(memory[-third:]) - statistics.median(memory[third : 2 * third] or memory[:third])
    assert growth < GROWTH_MB, memory


def lull(stage: Stage, name: str) -> Armed:
    """Send one that takes its time, and see the agent answer after it."""
    box = stage.box
    if name == "rate-limits":
        return rate_limited(box)
    fault = box.fault(name, times=1)
    if name.startswith("stream-"):
        box.human.drop_streams()
        wait_until(lambda: fault.fired, timeout_s=120)
        wait_until(lambda: box.engine.streams, timeout_s=120)
    asked(box, f"[say after {name}]", f"after {name}")
    settle(box)
    return fault


def rate_limited(box: CanonSandbox) -> Armed:
    """Say so much in one conversation that the server asks for a pause, and see it kept: the answer comes whole.

    The limit is 120 messages in five minutes; the sandbox's clock is put forward so that the pause is a short one.
    """
    fault, began = box.fault("rate-limits", times=None), time.monotonic()
    for _ in range(6):
        asked(box, "[long 7000]", "word7000")  # eighteen parts
    box.human.advance(max(0.0, 290 - (time.monotonic() - began)))
    for _ in range(2):
        asked(box, "[long 7000]", "word7000")
    settle(box)
    return fault


def asked(box: CanonSandbox, script: str, end: str) -> None:
    (answer,) = box.wait("answer", to=box.human.say(None, script), timeout_s=300)
    assert answer["text"].endswith(end)


def ending(stage: Stage, name: str) -> Armed:
    """A refused key ends the gateway, since it has nothing else to do; started again, it answers."""
    box = stage.box
    fault = box.fault(name, times=1)
    box.human.drop_streams()
    wait_until(lambda: not stage.gateway.is_running, timeout_s=60)
    assert "auth_failed" in stage.home.gateway_log
    stage.start_again()
    (answer,) = box.wait("answer", to=box.human.say(None, f"[say after {name}]"), timeout_s=60)
    assert answer["text"] == f"after {name}"
    return fault


@pytest.mark.parametrize("name", [name for name in storm.CONNECTING if name != "health-slow"])
async def test_trouble_while_connecting(box: CanonSandbox, name: str) -> None:
    """11.8: what a person must mend is fatal, what passes by itself is tried again, an unwell service is accepted."""
    expected = storm.CONNECTING[name]
    fault = box.fault(name, times=None)
    async with hosted(box, connect=False) as stage:
        connected = await stage.adapter.connect()
        found = None if connected else (stage.adapter.fatal_error_code, stage.adapter.fatal_error_retryable)

    assert (found, fault.fired > 0) == (expected, True)


@pytest.mark.long
async def test_a_slow_identity(box: CanonSandbox) -> None:
    """11.8, D20: after eleven seconds nobody waits for an identity any more; it may come with the next attempt."""
    fault = box.fault("health-slow", times=None)
    async with hosted(box, connect=False) as stage:
        connected = await stage.adapter.connect()
        found = (connected, stage.adapter.fatal_error_code, stage.adapter.fatal_error_retryable)

    assert (found, fault.fired > 0) == ((False, *(storm.CONNECTING["health-slow"] or ())), True)


@pytest.mark.parametrize("name", storm.VERBS)
async def test_trouble_with_a_message_from_outside(box: CanonSandbox, tmp_path: Path, name: str) -> None:
    """11.8: a malformed answer is never a success, and a message whose answer was lost is stored once."""
    fault = box.fault(name)

    result = await send_standalone(
        platform_config(box), box.endpoints.conversation_id, "hello", refusal=lambda: None, home=tmp_path
    )

    stored = [entry for entry in box.transcript() if entry["origin"] == "agent"]
    assert ("success" in result, fault.fired) == (storm.VERBS[name], 1), result
    assert len(stored) <= 1
