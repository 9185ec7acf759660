"""What the host is told about a connection that comes and goes."""

from __future__ import annotations

import asyncio

import pytest

from borgee_hermes.bpp.state import Status
from borgee_hermes.standing import GRACE_S, Standing
from canon_ops.runtime.clock import ManualClock

ON, OFF = "connected", "disconnected"


class Marks:
    def __init__(self) -> None:
        self.told: list[str] = []

    def mark_connected(self) -> None:
        self.told.append(ON)

    def mark_disconnected(self) -> None:
        self.told.append(OFF)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


AWAY, BACK = Status.RECONNECTING, Status.ONLINE
SHORT, LONG = GRACE_S - 1, GRACE_S + 1


@pytest.mark.parametrize(
    ("course", "told"),
    [
        ([BACK, AWAY, SHORT, BACK, LONG], []),
        ([BACK, AWAY, LONG], [OFF]),
        ([BACK, AWAY, LONG, AWAY, LONG, AWAY], [OFF]),
        ([BACK, AWAY, LONG, BACK], [OFF, ON]),
        ([BACK, AWAY, SHORT, BACK, AWAY, SHORT, BACK], []),
        ([BACK, AWAY, SHORT, AWAY, 2.0], [OFF]),
        ([BACK, AWAY, LONG, BACK, AWAY, LONG, BACK], [OFF, ON, OFF, ON]),
        ([BACK, AWAY, SHORT, Status.ERROR, LONG], []),
        ([BACK, AWAY, SHORT, Status.CLOSED, LONG], []),
    ],
    ids=["short", "long", "told once", "and back", "flaps", "attempts are one outage", "twice", "gave up", "closed"],
)
async def test_only_a_long_absence_is_told(course: list[Status | float], told: list[str]) -> None:
    """W3: an absence counts as a whole, however many attempts are in it; each is told once, and so is its end."""
    marks, clock = Marks(), ManualClock(0)
    standing = Standing(marks, clock)

    for step in course:
        if isinstance(step, Status):
            standing.see(step)
        else:
            await settle()
            await clock.advance(step)
        await settle()
    standing.close()
    await settle()

    assert marks.told == told
