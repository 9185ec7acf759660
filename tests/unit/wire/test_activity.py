"""Blocks of a turn: what each event does to them."""

from __future__ import annotations

import pytest

from canon_ops.wire.activity import BLOCKS_REMEMBERED, Activity, BlockKind, BlockStatus, preview, shorten
from canon_ops.wire.ids import TurnId

TURN = TurnId("hermes-turn-1")
EMPTY = Activity(TURN)


def kinds(activity: Activity) -> list[str]:
    return [block.kind.value for block in activity.blocks]


def finish(activity: Activity, name: str = "grep", call_id: str | None = None, **more: object) -> Activity:
    arguments: dict[str, object] = {"args": None, "result": None, "status": "ok", "duration_ms": None, **more}
    return activity.tool_finished(name, call_id=call_id, **arguments)  # type: ignore[arg-type]


def test_a_long_name_is_cut_without_dots() -> None:
    """R6.21: a title is the first 80 characters of the tool's name, while it runs and afterwards."""
    name = "mcp_" + "n" * 100

    running = EMPTY.tool_started(name, call_id="tc1", args=None)

    assert [one.blocks[0].title for one in (running, finish(running, name, "tc1"))] == [name[:80]] * 2


def test_a_tool_call_is_one_block() -> None:
    """S6.44: start and finish with one call id meet in one completed block with its duration."""
    activity = finish(EMPTY.tool_started("grep", call_id="tc1", args={"n": 3}), call_id="tc1", duration_ms=142)

    (block,) = activity.blocks
    assert (block.id, block.status, block.title, block.summary) == ("tool:tc1", BlockStatus.COMPLETED, "grep", "142 ms")
    assert block.text == '{"n":3}'


def test_speech_around_a_tool_is_two_segments() -> None:
    """S6.45: text, text finalised, tool, text finalised, all without ids, are three blocks."""
    activity = EMPTY.speech("one", stream_message_id=None, finalized=False)
    first = activity.blocks[0].id
    activity = activity.speech("one\n  two", stream_message_id=None, finalized=True)
    activity = activity.seal_speech().tool_started("grep", call_id="t", args=None)
    activity = activity.speech("three", stream_message_id=None, finalized=True)

    assert kinds(activity) == ["text", "tool", "text"]
    assert activity.blocks[0].id == first != activity.blocks[2].id
    assert [activity.blocks[0].text, activity.blocks[2].text] == ["one\n  two", "three"]
    assert {activity.blocks[0].status, activity.blocks[2].status} == {BlockStatus.COMPLETED}
    assert [block.sequence for block in activity.blocks] == [1, 2, 3]


@pytest.mark.parametrize("status", ["failed", "error", "blocked"])
def test_a_tool_that_failed_says_so(status: str) -> None:
    """S6.46: each of the host's words for it makes a failed block."""
    activity = finish(EMPTY.tool_started("grep", call_id="t", args=None), call_id="t", status=status)

    assert activity.blocks[0].status is BlockStatus.FAILED


def test_a_tool_without_a_call_id_is_one_block_too() -> None:
    """S6.47: start and finish meet by the tool's name."""
    activity = finish(EMPTY.tool_started("grep", call_id=None, args=None))

    assert [block.status for block in activity.blocks] == [BlockStatus.COMPLETED]


def test_calls_of_one_tool_without_ids_finish_in_their_order() -> None:
    """D43: the first call to start is the first to finish, and no third block appears."""
    activity = EMPTY.tool_started("grep", call_id=None, args="a").tool_started("grep", call_id=None, args="b")

    after_one = finish(activity, result="ra")
    after_both = finish(after_one, result="rb")

    assert [block.status for block in after_one.blocks] == [BlockStatus.COMPLETED, BlockStatus.RUNNING]
    assert [block.text for block in after_both.blocks] == ["ra", "rb"]


@pytest.mark.parametrize(("result", "text"), [("done", "done"), (None, "needle")])
def test_a_finish_without_a_start_is_a_block_of_its_own(result: str | None, text: str) -> None:
    """R6.22: a call whose beginning was never seen is still shown, by its arguments when it has no result."""
    activity = finish(EMPTY, result=result, args="needle")

    assert [(block.id, block.text) for block in activity.blocks] == [("tool:grep:1", text)]


def test_what_never_finished_is_closed_with_the_turn() -> None:
    """D43: nothing stays running in a trail."""
    activity = EMPTY.tool_started("grep", call_id="t", args=None)
    activity = activity.speech("x", stream_message_id="s", finalized=False)

    done = activity.finished()

    assert {block.status for block in done.blocks} == {BlockStatus.COMPLETED}
    assert done.open_text is None


def test_an_update_keeps_what_it_does_not_say() -> None:
    """A finish without result, arguments or duration leaves title and text of the start."""
    started = EMPTY.tool_started("grep", call_id="t", args="needle")

    (block,) = finish(started, name="", call_id="t").blocks

    assert (block.title, block.text, block.summary) == ("grep", "needle", "")


def test_a_new_segment_closes_the_one_before() -> None:
    """Speech with another stream message id seals the open segment, which a late edit then corrects in place."""
    activity = EMPTY.speech("first", stream_message_id="s1", finalized=False)
    activity = activity.speech("second", stream_message_id="s2", finalized=False)

    corrected = activity.speech("first, corrected", stream_message_id="s1", finalized=False)

    assert [block.status for block in activity.blocks] == [BlockStatus.COMPLETED, BlockStatus.RUNNING]
    assert [block.text for block in corrected.blocks] == ["first, corrected", "second"]
    assert corrected.blocks[0].status is BlockStatus.COMPLETED


def test_segments_without_ids_are_counted_and_kept_whole() -> None:
    """R6.25: from one on, for each turn; the spaces around a text are the author's."""
    activity = EMPTY.speech(" one\n", stream_message_id=None, finalized=False).seal_speech()
    activity = activity.speech("two", stream_message_id=None, finalized=True)

    assert [(block.id, block.text) for block in activity.blocks] == [
        ("text:hermes-turn-1:1", " one\n"),
        ("text:hermes-turn-1:2", "two"),
    ]


def test_empty_text_opens_no_segment() -> None:
    """Without an id and without text there is nothing to show."""
    assert EMPTY.speech("", stream_message_id=None, finalized=True) is EMPTY


def test_a_subagent_is_a_status_block() -> None:
    """Its role is the title, its summary the text, its duration the summary."""
    activity = EMPTY.subagent_stopped(
        child_session_id="child", role="researcher", summary="found  it", status="ok", duration_ms="12"
    )

    (block,) = activity.blocks
    assert (block.id, block.kind, block.status) == ("subagent:child", BlockKind.STATUS, BlockStatus.COMPLETED)
    assert (block.title, block.text, block.summary) == ("researcher", "found it", "12 ms")


def test_a_subagent_without_session_is_named_by_its_role() -> None:
    """The role is all there is to tell children apart; a summary that is no string is not shown."""
    activity = EMPTY.subagent_stopped(
        child_session_id=None, role="coder", summary={"a": 1}, status="error", duration_ms=-1
    )

    (block,) = activity.blocks
    assert (block.id, block.status, block.text, block.summary) == ("subagent:coder", BlockStatus.FAILED, "", "")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ("  a \n b ", "a b"),
        ({"n": 3, "s": "ש"}, '{"n":3,"s":"ש"}'),
        ("", ""),
        (object, str(object)),
        ("x" * 281, "x" * 277 + "..."),
        ("x" * 280, "x" * 280),
    ],
)
def test_previews_are_short_and_on_one_line(value: object, expected: str) -> None:
    """Any value becomes at most 280 characters."""
    assert preview(value) == expected


@pytest.mark.parametrize(("duration", "summary"), [(0, "0 ms"), ("7", "7 ms"), (1.9, "1 ms")])
def test_a_duration_is_shown_in_whole_milliseconds(duration: object, summary: str) -> None:
    """R6.22: whatever can be read as a number, nothing at all included."""
    assert finish(EMPTY, call_id="t", duration_ms=duration).blocks[0].summary == summary


@pytest.mark.parametrize("duration", [None, "x", float("nan"), float("inf"), [], -5])
def test_a_duration_that_is_none_is_not_shown(duration: object) -> None:
    """Whatever the host says about time, the block is recorded."""
    activity = finish(EMPTY, call_id="t", duration_ms=duration)

    assert activity.blocks[0].summary == ""


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [("", 10, ""), ("short", 10, "short"), ("0123456789", 8, "01234...")],
)
def test_shortening(text: str, limit: int, expected: str) -> None:
    """S6.41: what is cut ends in dots and has exactly the limit's length."""
    assert shorten(text, limit) == expected
    assert len(shorten("x" * 500, 80)) == 80


def test_a_very_long_turn_forgets_its_middle() -> None:
    """D38: memory is bounded; the beginning and the newest stay, and a forgotten segment stays a segment."""
    activity = EMPTY
    for index in range(BLOCKS_REMEMBERED * 2):
        activity = activity.speech(f"text {index}", stream_message_id=f"s{index}", finalized=True)

    assert len(activity.blocks) == BLOCKS_REMEMBERED
    assert activity.blocks[0].sequence == 1
    assert activity.blocks[-1].sequence == BLOCKS_REMEMBERED * 2
    assert activity.has_segment("s100")
    assert activity.speech("late", stream_message_id="s100", finalized=True) == activity
