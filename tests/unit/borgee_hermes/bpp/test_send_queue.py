"""The two lanes in front of a connection."""

from __future__ import annotations

import pytest

from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.send_queue import Lane, SendQueue


def queue(**limits: int) -> SendQueue:
    return SendQueue(Limits(**limits))


def test_a_regular_frame_passes_after_eight_reserved_ones() -> None:
    """Answers go first, but not for ever (W-25)."""
    waiting = queue()
    waiting.offer(Lane.REGULAR, "action", b"x")
    for number in range(9):
        waiting.offer(Lane.RESERVED, f"answer {number}", b"x")

    order = [taken[0] for taken in iter(waiting.take, None)]

    assert order == [*(f"answer {number}" for number in range(8)), "action", "answer 8"]


@pytest.mark.parametrize("lane", list(Lane))
def test_each_lane_has_two_bounds(lane: Lane) -> None:
    """Frames and bytes, exact; what is refused changes nothing."""
    waiting = queue(regular_frames=3, regular_bytes=10, reserved_frames=3, reserved_bytes=10)

    assert [waiting.offer(lane, str(number), b"x" * size) for number, size in enumerate([4, 4, 3, 2, 0, 0])] == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]
    assert len(waiting) == 3


def test_room_comes_back() -> None:
    """By taking, and by withdrawing."""
    waiting = queue(regular_frames=2, regular_bytes=8)
    waiting.offer(Lane.REGULAR, "a", b"x" * 4)
    waiting.offer(Lane.REGULAR, "b", b"x" * 4)
    assert not waiting.has_room(Lane.REGULAR, 4)

    assert waiting.withdraw("b")
    assert not waiting.withdraw("b")
    assert waiting.offer(Lane.REGULAR, "c", b"x" * 4)
    assert waiting.take() == ("a", b"xxxx")
    assert waiting.offer(Lane.REGULAR, "d", b"x" * 4)


def test_clearing_gives_the_regular_frames_back() -> None:
    """In their order; answers are of no use on another connection."""
    waiting = queue()
    waiting.offer(Lane.REGULAR, "a", b"1")
    waiting.offer(Lane.RESERVED, "answer", b"2")
    waiting.offer(Lane.REGULAR, "b", b"3")

    assert waiting.clear() == [("a", b"1"), ("b", b"3")]
    assert waiting.take() is None
    assert len(waiting) == 0
