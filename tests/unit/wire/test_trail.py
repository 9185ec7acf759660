"""Blocks as JSON: compact form, bounds, head and tail, and the speech an answer repeats."""

from __future__ import annotations

import json
from typing import Any

import pytest

from canon_ops.wire.activity import Activity
from canon_ops.wire.ids import TurnId
from canon_ops.wire.trail import (
    TRAIL_BYTES,
    BlockObject,
    compact,
    final_trail,
    fits_metadata,
    live_blocks,
    without_repeated_speech,
)

TURN = TurnId("hermes-turn-1")


def tools(count: int, *, turn: str = TURN, text: str = "z" * 280, name: str = "some_tool_name") -> Activity:
    """S6.43: ``count`` completed tools as the scenario describes them."""
    activity = Activity(TurnId(turn))
    for index in range(count):
        activity = activity.tool_started(name, call_id=str(index), args=None).tool_finished(
            name, call_id=str(index), args=None, result=text, status="ok", duration_ms=123
        )
    return activity


def busy(count: int) -> Activity:
    """S6.48: ``count`` tools with arguments and results of 200 characters."""
    activity = Activity(TurnId("hermes-turn-9"))
    for index in range(count):
        name, call, args = f"tool_{index}", f"c{index}", {"i": index, "blob": "q" * 200}
        activity = activity.tool_started(name, call_id=call, args=args).tool_finished(
            name, call_id=call, args=args, result="q" * 200, status="ok", duration_ms=index
        )
    return activity


def size(trail: tuple[BlockObject, ...]) -> int:
    return len(json.dumps({"turnTrail": trail}, ensure_ascii=False, separators=(",", ":")).encode())


def test_a_compact_block_has_known_keys_in_order() -> None:
    """S6.42: extras go, a long text is cut to 280, and the order is fixed."""
    block = compact(
        {"text": "x" * 400, "extra": 1, "id": "b", "kind": "tool", "status": "completed", "turnId": TURN, "sequence": 2}
    )

    assert list(block) == ["id", "turnId", "kind", "status", "sequence", "text"]
    assert len(block["text"]) == 280


@pytest.mark.parametrize(
    ("key", "limit"), [("id", 120), ("turnId", 120), ("title", 80), ("text", 280), ("summary", 120)]
)
def test_a_compact_field_has_its_limit(key: str, limit: int) -> None:
    """Each text field is cut to exactly its limit, dots included."""
    assert compact({key: "x" * 1000}) == {key: "x" * (limit - 3) + "..."}


def test_many_small_blocks_are_twenty() -> None:
    """S6.43: fifty tiny blocks give twenty at most, the first of them first."""
    trail = final_trail(tools(50, turn="t", text="", name="t"))

    assert len(trail) == 20
    assert trail[0]["sequence"] == 1


def test_fat_blocks_stop_at_the_byte_bound() -> None:
    """S6.43: five blocks of a full text fit, and the first five measure 2,130 bytes."""
    assert len(final_trail(tools(20))) == 5
    assert size(final_trail(tools(5))) == 2_130


def test_the_byte_bound_is_exact() -> None:
    """S6.43: a trail of 2,500 bytes is whole, and one byte more costs it a block."""
    sizes = []
    for characters in range(281):
        started = tools(5).tool_started("t", call_id="last", args=None)
        last = started.tool_finished(
            "t", call_id="last", args=None, result="z" * characters, status="ok", duration_ms=1
        )
        sizes.append(size(final_trail(last)))

    assert max(sizes) == 2_500
    assert sizes[sizes.index(2_500) + 1] < 2_500


def test_a_busy_turn_shows_seven_and_thirty() -> None:
    """S6.48: forty tools give a trail of seven blocks and a live view of thirty with known keys."""
    trail, live = final_trail(busy(40)), live_blocks(busy(40))

    assert len(trail) == 7
    assert size(trail) <= TRAIL_BYTES
    assert size(final_trail(busy(7))) == 2_353
    assert len(live) == 30
    assert {key for block in live for key in block} <= {
        "id", "turnId", "kind", "status", "sequence", "title", "text", "summary",
    }  # fmt: skip


def test_the_newest_activity_is_seen() -> None:
    """D38: trail and live view keep the beginning and the end, in order, and drop the middle."""
    for shown in (final_trail(busy(40)), live_blocks(busy(40))):
        sequences = [block["sequence"] for block in shown]

        assert sequences[0] == 1
        assert sequences[-1] == 40
        assert sequences == sorted(sequences)


def test_a_trail_that_fits_is_whole() -> None:
    """Nothing is dropped or moved when everything fits."""
    assert [block["sequence"] for block in final_trail(busy(6))] == [1, 2, 3, 4, 5, 6]


def test_hebrew_titles_survive() -> None:
    """S6.18: a title, arguments and a result in Hebrew come out as they went in."""
    activity = Activity(TURN).tool_started("חיפוש", call_id="t", args={"מה": "שלום"})
    activity = activity.tool_finished("חיפוש", call_id="t", args=None, result="נמצא", status="ok", duration_ms=1)

    (block,) = final_trail(activity)

    assert (block["title"], block["text"]) == ("חיפוש", "נמצא")


def speech(text: str) -> dict[str, Any]:
    return {"kind": "text", "text": text}


GREP = {"kind": "tool", "title": "grep"}
ANSWER = "The answer is long. " * 30


def test_repeated_speech_leaves_the_trail() -> None:
    """S7.17: the shortened beginning of the answer goes, what was said before the tool and the tool stay."""
    trail = [speech("I will inspect it."), GREP, speech(ANSWER[:277] + "...")]

    assert without_repeated_speech(trail, ANSWER) == (speech("I will inspect it."), GREP)


def test_an_unrelated_answer_changes_nothing() -> None:
    """S7.18: speech that the answer does not repeat stays."""
    trail = [speech("I will inspect it."), GREP]

    assert without_repeated_speech(trail, "Something else") == tuple(trail)


def test_every_staged_part_counts_as_repeated() -> None:
    """S7.53: each of the parts that were joined with newlines is found, also the long one by its beginning."""
    short, long = "0123456789", "x" * 5_000
    trail = [speech("Let me look."), GREP, speech(short), speech(long[:277] + "...")]

    assert without_repeated_speech(trail, f"{short}\n{long}") == (speech("Let me look."), GREP)


@pytest.mark.parametrize("text", ["answer is", "The answer", "long"])
def test_words_inside_a_line_are_no_repetition(text: str) -> None:
    """Only whole lines, or the cut beginning of one, repeat."""
    assert without_repeated_speech([speech(text)], "The answer is long") == (speech(text),)


def test_metadata_is_measured_in_utf16() -> None:
    """An emoji counts two units, as the server counts it."""
    overhead = len('{"k":""}')

    assert fits_metadata({"k": "🙂" * ((4_096 - overhead) // 2)})
    assert not fits_metadata({"k": "🙂" * ((4_096 - overhead) // 2 + 1)})
