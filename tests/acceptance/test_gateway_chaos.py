"""Two hundred messages through a real gateway while Canon misbehaves: each is answered exactly once.

The faults come from the sandbox's table and count for themselves; a fault that never fired would prove nothing, so
each one is asserted, and the count of requests or events it met is printed.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from canon_ops.sandbox.server import CanonSandbox
from canon_ops.sandbox.state import World
from tests.support.gateways import canon_stage

pytestmark = [pytest.mark.host, pytest.mark.timeout(300)]

CONVERSATIONS = 10
MESSAGES = 20
FAULTS = {
    "stream-drop": {"every": 31},
    "stream-drop-mid-frame": {"every": 37, "skip": 5},
    "stream-end": {"every": 41, "skip": 3},
    "event-duplicate": {"every": 5},
    "event-duplicate-new-id": {"every": 7},
    "send-429": {"every": 19, "burst": 2},
    "send-503": {"every": 10, "burst": 2},
    "send-500-after-commit": {"every": 6},
    "send-lost-response": {"every": 8},
}


def has_finals(room: str, count: int, world: World) -> bool:
    """Whether this many finished answers stand in a room."""
    messages = world.conversations[room].messages.values()
    return sum(message.semantics == "turn_complete" and message.origin == "agent" for message in messages) >= count


def converse(box: CanonSandbox, room: str) -> dict[str, str]:
    """A person who asks, waits for the answer, and asks again; gives back message → the answer it must get."""
    asked: dict[str, str] = {}
    for number in range(MESSAGES):
        text = f"answer {number} in {room}"
        asked[box.human.say(room, f"[say {text}]")] = text
        box.wait(partial(has_finals, room, number + 1), timeout_s=60)
    return asked


def test_each_message_is_answered_exactly_once_in_a_storm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S2.17, S2.18, S6.15, S7.29 under load: no message is lost, none is answered twice, whatever fails on the way."""
    quiet_dots = {"platforms": {"canon": {"typing_indicator": False}}}  # half of all requests, and not the subject
    with canon_stage(tmp_path, limit_per_occasion=2, config=quiet_dots) as stage:
        box, human = stage.box, stage.box.human
        rooms = [
            human.open_conversation([box.endpoints.owner_id, "agent_sandbox"], kind="direct")
            for _ in range(CONVERSATIONS)
        ]
        # A stream without a cursor cannot be replayed (decisions X4): the first event must arrive before the storm.
        box.wait("answer", to=human.say(None, "[say ready]"), timeout_s=60)
        armed = [box.fault(name, times=None, **settings) for name, settings in FAULTS.items()]

        with ThreadPoolExecutor(CONVERSATIONS) as people:
            asked = {
                message: text for part in people.map(partial(converse, box), rooms) for message, text in part.items()
            }
        human.calm()
        box.wait("idle", timeout_s=30)

        heard = Counter(entry["text"] for room in rooms for entry in box.transcript(room) if entry["origin"] == "agent")
        answers = {message: [answer["text"] for answer in box.wait("answer", to=message)] for message in asked}

    with capsys.disabled():
        for fault in armed:
            print(f"\n  {fault.kind.name}: fired {fault.fired} times, met {fault.met}", end="")  # noqa: T201
    assert answers == {message: [text] for message, text in asked.items()}
    assert heard == Counter(asked.values()) and len(asked) == CONVERSATIONS * MESSAGES
    assert all(fault.fired for fault in armed)
