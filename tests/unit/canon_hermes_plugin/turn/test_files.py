"""Files of the agent in a turn: staged like its text, delivered with it, dropped with it."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.outbox.operations import Book, Refused, Reserved, reserve
from canon_hermes_plugin.turn.effects import Final
from canon_hermes_plugin.turn.events import FileStaged, Outcome, OutgoingFile, Silenced
from canon_hermes_plugin.turn.machine import ANSWER_MARK
from canon_hermes_plugin.turn.registry import Caller
from canon_hermes_plugin.turn.routing import Attach, Hushed, Open, Stale, route_file
from canon_ops.wire.ids import TurnId
from tests.support.canon_state import AUTHORITY
from tests.support.pure_desk import C1, PureDesk

NOTIFY: dict[str, Any] = {"notify": True}


def a_file(name: str, caption: str = "", **more: Any) -> FileStaged:
    return FileStaged(OutgoingFile({"kind": "image", "url": f"https://h/{name}"}, "image", caption), **more)


def posted(desk: PureDesk) -> list[tuple[str, str | None, str]]:
    """Text, file and semantics of each message."""
    return [
        (one.text, one.attachments[0]["url"][10:] if one.attachments else None, one.metadata["turnSemantics"])
        for one in desk.sent
    ]


def test_two_pictures_and_an_answer_notify_once() -> None:
    """S7.47, C5, X5: the files in their order as progress, the answer last, one turn_complete, ids that repeat."""
    desk = PureDesk()
    turn = desk.open()
    desk.event(turn, a_file("a", "first"))
    desk.send(turn, "The answer.", **NOTIFY)
    desk.event(turn, a_file("b"))

    before = list(desk.sent)
    desk.complete(turn)

    assert before == []
    assert posted(desk) == [
        ("first", "a", "progress"), ("", "b", "progress"), ("The answer.", None, "turn_complete"),
    ]  # fmt: skip
    assert [one.metadata.get("replyBehavior") for one in desk.sent] == ["suppress_auto_reply"] * 2 + [None]
    base = desk.sent[-1].message_id or ""
    assert [(one.message_id or "").rpartition("-part-")[2] for one in desk.sent] == ["1", "2", "3"]
    assert base.startswith("hermes-final-") and len({one.message_id for one in desk.sent}) == 3
    assert all("messageChunk" not in one.metadata and one.content_type in ("image", None) for one in desk.sent)


def test_another_file_under_the_same_words_is_no_repetition() -> None:
    """R7.17: what a message shows is a part of what it says; an unsettled one is not replaced by another picture."""
    turn_id = TurnId("hermes-turn-1")
    first, again, other = (Final(turn_id, C1, "", files=(a_file(name, "look"),)) for name in ("a", "a", "b"))
    book = reserve(Book(), first).book  # type: ignore[union-attr]  # an empty book refuses nothing

    assert isinstance(reserve(book, again), Reserved)
    assert isinstance(reserve(book, other), Refused)


def test_the_leave_to_answer_goes_with_every_file() -> None:
    """R3.31: with each file of the run and with its text."""
    desk = PureDesk()
    turn = desk.open(authority=AUTHORITY)
    for name in ("a", "b"):
        desk.event(turn, a_file(name))
    desk.send(turn, "The answer.", **NOTIFY)

    desk.complete(turn)

    assert [one.reply_authority for one in desk.sent] == [AUTHORITY] * 3


def test_without_a_text_the_last_file_is_the_answer() -> None:
    """X5: nothing follows it, so it completes the turn, answers its message and carries the trail."""
    desk = PureDesk()
    turn = desk.open(source_message_id="m1")
    desk.tool(turn)
    for name in ("a", "b"):
        desk.event(turn, a_file(name, f"caption {name}"))

    desk.complete(turn)

    assert posted(desk) == [("caption a", "a", "progress"), ("caption b", "b", "turn_complete")]
    assert "turnTrail" in desk.sent[-1].metadata and "turnTrail" not in desk.sent[0].metadata
    assert {one.reply_to for one in desk.sent} == {"m1"}
    assert desk.sent[-1].metadata["turnComplete"] is True


@pytest.mark.parametrize("case", ["silenced before", "silenced after", "failed", "stopped"])
def test_files_go_with_their_answer(case: str) -> None:
    """X5, R7.31: after a silence, a failure or a stop none of them is posted."""
    desk = PureDesk()
    turn = desk.open()
    if case == "silenced before":
        desk.event(turn, Silenced())
    desk.event(turn, a_file("a"))
    desk.send(turn, "The answer.", **NOTIFY)
    if case == "silenced after":
        desk.event(turn, Silenced())

    desk.complete(turn, {"failed": Outcome.FAILURE, "stopped": Outcome.CANCELLED}.get(case, Outcome.SUCCESS))

    assert desk.sent == []


def test_a_tool_does_not_drop_a_file() -> None:
    """What was said before a tool is narration; what was sent stays sent."""
    desk = PureDesk()
    turn = desk.open()
    desk.event(turn, a_file("a"))
    desk.send(turn, "narration", expect_edits=True)
    desk.tool(turn)
    desk.send(turn, "The answer.", **NOTIFY)

    desk.complete(turn)

    assert posted(desk) == [("", "a", "progress"), ("The answer.", None, "turn_complete")]


def test_a_long_answer_keeps_its_chunks_beside_files() -> None:
    """R7.13: the parts of the text count the text; the file is a message of its own before them."""
    desk = PureDesk()
    turn = desk.open()
    desk.event(turn, a_file("a"))
    desk.send(turn, "word " * 1_000, **NOTIFY)

    desk.complete(turn)

    chunks = [one.metadata.get("messageChunk") for one in desk.sent]
    assert [chunk and (chunk["index"], chunk["count"]) for chunk in chunks] == [None, (1, 2), (2, 2)]
    assert [one.metadata["turnSemantics"] for one in desk.sent] == ["progress", "progress", "turn_complete"]


def test_a_long_caption_is_cut_like_an_answer() -> None:
    """D14, R7.31: five kilobytes are two messages, the file is on the second; both within the server's cap."""
    desk = PureDesk()
    turn = desk.open()
    desk.event(turn, a_file("a", "ש" * 2_500))

    desk.complete(turn)

    assert [len(one.text.encode()) <= 3_800 for one in desk.sent] == [True, True]
    assert [bool(one.attachments) for one in desk.sent] == [False, True]
    assert [one.metadata["turnSemantics"] for one in desk.sent] == ["progress", "turn_complete"]


def test_a_recovered_run_marks_its_file() -> None:
    """X3: work may be done twice, and an answer without a text says so in its caption."""
    desk = PureDesk()
    turn = desk.open(is_recovered=True)
    desk.event(turn, a_file("a", "chart"))

    desk.complete(turn)

    assert posted(desk) == [(f"{ANSWER_MARK}chart", "a", "turn_complete")]


def test_a_files_own_metadata_and_options_stay_its_own() -> None:
    """R7.9: what the host said of a file goes onto its message, and cannot change what the message is."""
    desk = PureDesk()
    turn = desk.open()
    desk.event(turn, a_file("a", metadata={"mine": 1, "turnSemantics": "control"}, options={"mentions": ["u"]}))
    desk.send(turn, "The answer.", canon_metadata={"other": 2}, notify=True)

    desk.complete(turn)

    file, text = desk.sent
    assert (file.metadata.get("mine"), file.metadata["turnSemantics"], file.options) == (
        1,
        "progress",
        {"mentions": ["u"]},
    )
    assert ("mine" in text.metadata, text.metadata["other"], text.options) == (False, 2, {})


def test_a_silence_that_was_lifted_posts_the_file() -> None:
    """Only the files of a turn that ends silent are dropped."""
    desk = PureDesk()
    turn = desk.open()
    desk.event(turn, a_file("a"))

    desk.complete(turn)

    assert posted(desk) == [("", "a", "turn_complete")]


def test_whose_file_it_is() -> None:
    """R7.31: a run's own file waits for its end; a file from elsewhere is a message of its own at once; of a run that
    is over, or of an adapter that is gone, it is nobody's; in a silent run nobody wants it."""
    desk = PureDesk()
    turn = desk.open()

    own = route_file(desk.turns, C1, turn, connected=True)
    other = route_file(desk.turns, C1, Caller(), connected=True)
    gone = route_file(desk.turns, C1, turn, connected=False)
    desk.event(turn, Silenced())
    silent = route_file(desk.turns, C1, turn, connected=True)
    desk.complete(turn)
    late = route_file(desk.turns, C1, turn, connected=True)

    assert isinstance(own, Attach) and isinstance(other, Open)
    assert (gone, late) == (Stale(), Stale())
    assert isinstance(silent, Hushed) and silent.raw["silenced"] is True
