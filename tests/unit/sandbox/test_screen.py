"""What people see of a room, and whether a turn was seamless there: both must be able to say no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from canon_ops.sandbox.state import World
from tests.support.canon_calls import call
from tests.support.sandboxes import canon_box
from tests.support.screen import Screen, Sight, assert_seamless

Step = Callable[[World], Any]


def request(path: str, **body: Any) -> Step:
    return lambda world: call(world, "POST", path, {"conversationId": "conv_direct", **body})


OPENED = request("/runtime/turn", state="thinking", turnId="t1", updatedAt=1)
GROWN = request("/streaming", text="half an", turnId="t1", status="streaming")
ANSWERED = request(
    "/messages/send", text="half an answer", messageId="a1", metadata={"turnSemantics": "turn_complete", "turnId": "t1"}
)
EMPTIED = request("/streaming", text="", turnId="t1", status="thinking")
CLEARED = request("/streaming", streaming=False)
CLOSED = request("/runtime/turn", state="completed", turnId="t1", updatedAt=2)


def seen(*steps: Step) -> list[Sight]:
    """The sights of a room in which these things happen, each looked at."""
    with canon_box() as box, Screen(box, "conv_direct") as screen:
        for step in steps:
            box.engine.act(_timeless(step))
            screen.look()
    return screen.sights


def _timeless(step: Step) -> Callable[[World, int], Any]:
    return lambda world, now_ms: step(world)


def test_every_change_is_a_sight() -> None:
    """A person sees the state, the growing text, the answer beside it, and the answer alone, in this order."""
    sights = seen(OPENED, GROWN, ANSWERED, CLEARED, CLOSED)

    assert [(sight.state, sight.text, len(sight.posted)) for sight in sights] == [
        (None, "", 0),
        ("thinking", "", 0),
        ("thinking", "half an", 0),
        ("thinking", "half an", 1),
        ("thinking", "", 1),
        ("completed", "", 1),
    ]
    assert_seamless(sights)


@pytest.mark.parametrize(
    "steps",
    [
        (OPENED, GROWN, EMPTIED, ANSWERED, CLEARED, CLOSED),
        (OPENED, GROWN, ANSWERED, CLOSED),
        (OPENED, GROWN, ANSWERED, CLEARED),
    ],
    ids=["the words were gone for a moment", "the node stayed", "the turn stayed open"],
)
def test_a_seam_is_seen(steps: tuple[Step, ...]) -> None:
    """Each break of the promise is found, whatever comes after it."""
    with pytest.raises(AssertionError):
        assert_seamless(seen(*steps))


def test_a_message_that_vanishes_is_seen() -> None:
    """What was posted once has to stay."""
    stood = Sight((("agent", "t1", "half an answer"),))

    with pytest.raises(AssertionError, match="vanished"):
        assert_seamless([stood, Sight()])
