"""When the node is written: one write at a time, the newest wins, bytes are paced."""

from __future__ import annotations

import json
from typing import Any

from canon_hermes_plugin.streaming.preview import (
    AHEAD_MS,
    BYTES_PER_SECOND,
    Frame,
    Preview,
    Write,
    drain,
    drop,
    due,
    finished,
    offer,
)

NOW = 1_790_000_000_000
TOOL: tuple[dict[str, Any], ...] = ({"id": "tool:1", "kind": "tool"},)
TOOLS: tuple[dict[str, Any], ...] = (*TOOL, {"id": "tool:2", "kind": "tool"})


def text(value: str, blocks: tuple[dict[str, Any], ...] = ()) -> Frame:
    return Frame(value, blocks)


def written(preview: Preview, frame: Frame, *, now_ms: int = NOW) -> Preview:
    """The preview after the frame was written and the write came back."""
    step = offer(preview, frame, now_ms=now_ms)
    assert step.write is not None
    return finished(step.preview, delivered=True)


def test_the_first_text_is_written_at_once_and_replaces_everything() -> None:
    """The node may be somebody else's: the first write says text and blocks."""
    step = offer(Preview(), text("hello"), now_ms=NOW)

    assert step.write == Write("hello", ())
    assert step.preview.in_flight


def test_only_one_write_is_in_flight() -> None:
    """What is offered meanwhile waits; the newest of it is written when the write has come back."""
    preview = offer(Preview(), text("one"), now_ms=NOW).preview
    second = offer(preview, text("one two"), now_ms=NOW + 1)
    third = offer(second.preview, text("one two three"), now_ms=NOW + 2)

    after = due(finished(third.preview, delivered=True), now_ms=NOW + 3)

    assert (second.write, third.write) == (None, None)
    assert after.write == Write("one two three", None)


def test_an_unchanged_frame_is_not_written() -> None:
    """Finalising with the same text costs nothing."""
    preview = written(Preview(), text("same"))

    step = offer(preview, text("same"), now_ms=NOW + 1)

    assert step.write is None
    assert step.preview.is_idle


def test_unchanged_fields_are_left_out() -> None:
    """D38: a write carries what has changed, the server keeps the rest."""
    preview = written(Preview(), text("a", TOOL))

    more_text = offer(preview, text("ab", TOOL), now_ms=NOW + 100)
    more_tools = offer(preview, text("a", TOOLS), now_ms=NOW + 100)

    assert more_text.write == Write("ab", None)
    assert more_tools.write == Write(None, TOOLS)


def test_activity_alone_is_written_twice_a_second() -> None:
    """R6.19: the latest state waits for its moment."""
    preview = written(Preview(), Frame(None, TOOL))

    early = offer(preview, Frame(None, TOOLS), now_ms=NOW + 100)
    later = due(early.preview, now_ms=NOW + 500)

    assert (early.write, early.wake_ms) == (None, NOW + 500)
    assert later.write == Write(None, TOOLS)


def test_a_text_does_not_wait_for_the_moment_of_activity() -> None:
    """A draft takes waiting activity with it."""
    preview = written(Preview(), Frame(None, TOOL))
    preview = offer(preview, Frame(None, TOOLS), now_ms=NOW + 100).preview

    step = offer(preview, text("hello", TOOLS), now_ms=NOW + 101)

    assert step.write == Write("hello", TOOLS)


def test_activity_keeps_a_waiting_text() -> None:
    """A tool that starts while a text waits does not lose it."""
    preview = offer(Preview(), text("one"), now_ms=NOW).preview
    preview = offer(preview, text("one two"), now_ms=NOW).preview

    preview = offer(preview, Frame(None, TOOL), now_ms=NOW).preview
    step = due(finished(preview, delivered=True), now_ms=NOW + 1)

    assert step.write == Write("one two", TOOL)


def test_a_long_text_slows_itself_down() -> None:
    """D38: after more than half a second's worth of bytes the next write waits."""
    size = BYTES_PER_SECOND * 2
    preview = written(Preview(), text("x" * size))

    step = offer(preview, text("x" * size + "y"), now_ms=NOW + 1)

    assert step.write is None
    assert step.wake_ms is not None
    assert 2_000 - AHEAD_MS <= step.wake_ms - NOW <= 2_100
    assert due(step.preview, now_ms=step.wake_ms).write is not None


def test_draining_ignores_the_pace() -> None:
    """Before the final message the last text goes out at once."""
    preview = written(Preview(), text("x" * BYTES_PER_SECOND * 2))
    waiting = offer(preview, text("the end"), now_ms=NOW + 1).preview

    assert drain(waiting, now_ms=NOW + 1).write == Write("the end", None)


def test_draining_waits_for_the_write_in_flight() -> None:
    """There is still only one."""
    preview = offer(Preview(), text("one"), now_ms=NOW).preview
    preview = offer(preview, text("two"), now_ms=NOW).preview

    assert drain(preview, now_ms=NOW).write is None


def test_after_a_failure_everything_is_said_again() -> None:
    """Nobody knows what the node holds, and the host's result says that the preview was dropped."""
    preview = offer(Preview(), text("one", TOOL), now_ms=NOW).preview

    failed = finished(preview, delivered=False)

    assert failed.dropped
    assert offer(failed, text("one", TOOL), now_ms=NOW + 1).write == Write("one", TOOL)


def test_what_waits_can_be_dropped() -> None:
    """After a silence nothing more is shown; the write in flight still comes back."""
    preview = offer(Preview(), text("one"), now_ms=NOW).preview
    preview = drop(offer(preview, text("two"), now_ms=NOW).preview)

    assert not preview.is_idle
    assert due(finished(preview, delivered=True), now_ms=NOW + 9_999).write is None


def test_a_clock_that_is_set_back_does_not_stop_the_preview() -> None:
    """An hour lost by the wall clock is not an hour without a preview."""
    preview = written(Preview(), text("x" * BYTES_PER_SECOND * 2))

    assert offer(preview, text("next"), now_ms=NOW - 3_600_000).write is not None


def test_a_long_answer_posts_a_bounded_multiple_of_itself() -> None:
    """D38: 59 kB over a minute at 20 ms a write post at most thirty times their bytes; every text is the newest."""
    answer = "An answer with some words in it. " * 1_800
    preview, posted, shown, returns_ms = Preview(), 0, "", None
    wake_ms: int | None = None
    for tick in range(0, 60_001, 10):
        now_ms = NOW + tick
        steps = []
        if returns_ms is not None and now_ms >= returns_ms:
            preview, returns_ms = finished(preview, delivered=True), None
            steps.append(due(preview, now_ms=now_ms))
            preview = steps[-1].preview
        if tick % 50 == 0:  # the host edits twenty times a second
            steps.append(offer(preview, text(answer[: len(answer) * tick // 60_000]), now_ms=now_ms))
            preview = steps[-1].preview
        elif wake_ms is not None and now_ms >= wake_ms:
            steps.append(due(preview, now_ms=now_ms))
            preview = steps[-1].preview
        for step in steps:
            wake_ms = step.wake_ms or wake_ms
            if step.write is not None:
                posted += len(json.dumps({"text": step.write.text}))
                shown = step.write.text or shown
                returns_ms = now_ms + 20
    if preview.in_flight:
        preview = finished(preview, delivered=True)
    last = drain(preview, now_ms=NOW + 60_001).write
    posted += len(json.dumps({"text": last.text})) if last else 0

    assert (last.text if last else shown) == answer
    assert 5 * len(answer) < posted <= 30 * len(answer)
