"""Durable messages: parts, their ids and metadata, and what a repetition may say."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.outbox.operations import (
    Book,
    Operation,
    Refused,
    Reserved,
    leading_metadata,
    recall,
    release,
    reserve,
    sent,
    settle,
)
from canon_hermes_plugin.turn.effects import Final
from canon_ops.wire.dispatch import TurnSemantics
from canon_ops.wire.ids import ConversationId, TurnId, message_id
from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.retry import Outcome, TransportKind, certainly_not_handled
from canon_ops.wire.splitting import PART_BYTES, byte_length, split

C1 = ConversationId("c1")
OWN = TurnId("standalone:" + "0" * 32)
TURN = TurnId("hermes-turn-1")
LOST = Outcome(transport=TransportKind.READ_TIMEOUT)
AUTHORITY = ReplyAuthority("m1", "t" * 32, "2030-01-01T00:00:00.000Z")
LONG = "ש" * 3_900


def final(text: str, **fields: Any) -> Final:
    return Final(fields.pop("turn_id", TURN), C1, text, **fields)


def reserved(book: Book, message: Final) -> Reserved:
    answer = reserve(book, message)
    assert isinstance(answer, Reserved)
    return answer


def delivered(book: Book, message: Final) -> tuple[Book, Operation]:
    """The whole message reaches Canon at once."""
    answer = reserved(book, message)
    book, operation = answer.book, answer.operation
    for _ in operation.remaining:
        book, operation = sent(book, operation)
    return settle(book, operation), operation


def chunks(operation: Operation) -> list[Any]:
    return [message.metadata.get("messageChunk") for message in operation.messages]


def test_s7_23_a_short_message_has_no_chunk() -> None:
    """S7.23, S7.41: one plain message under its own id."""
    (message,) = reserved(Book(), final("hello")).operation.messages

    assert message == SendMessage(
        conversation_id="c1",
        text="hello",
        message_id=message_id(C1, TURN, 1),
        metadata={"turnSemantics": "turn_complete", "turnComplete": True, "turnId": TURN},
    )


def test_a_turn_that_the_host_names_is_kept() -> None:
    """R7.5: the turn is named where the host's own metadata names none."""
    (message,) = reserved(Book(), final("hello", metadata={"turnId": "of-the-host"})).operation.messages

    assert message.metadata["turnId"] == "of-the-host"


def test_what_is_recalled_does_not_give_earlier_ids_away() -> None:
    """R7.16, R7.19: an operation of before a restart that did not land leaves its own ordinal free, and no earlier one.

    The message under an earlier one is on Canon, which would take another text for its repetition and drop it.
    """
    book, _ = delivered(Book(), final("first"))
    second = reserved(book, final("second")).operation

    after = release(recall(Book(), second), second, may_have_landed=False).book

    assert reserved(after, final("third")).operation.base_id == second.base_id == message_id(C1, TURN, 2)


def test_s7_24_parts_without_a_turn() -> None:
    """S7.24: each part replies, the leading ones neither notify nor carry options; no turn is named, each part is."""
    message = final(LONG, turn_id=OWN, names_turn=False, reply_to="m-original", options={"mentions": ["u"]})

    operation = reserved(Book(), message).operation

    base = message_id(C1, OWN, 1)
    assert [part.reply_to for part in operation.messages] == ["m-original"] * 3
    assert [part.message_id for part in operation.messages] == [f"{base}-part-{index}" for index in (1, 2, 3)]
    assert chunks(operation) == [{"type": "text", "index": index, "count": 3, "groupId": base} for index in (1, 2, 3)]
    assert not any("turnId" in part.metadata for part in operation.messages)
    for part in operation.messages[:2]:
        assert part.metadata["turnSemantics"] == "progress"
        assert part.metadata["replyBehavior"] == "suppress_auto_reply"
        assert part.options == {}
    last = operation.messages[-1]
    assert (last.metadata["turnSemantics"], last.metadata["turnComplete"]) == ("turn_complete", True)
    assert "replyBehavior" not in last.metadata
    assert last.options == {"mentions": ["u"]}


def test_s7_16_a_leading_part_drops_what_only_the_last_may_say() -> None:
    """S7.16: semantics, completion, trail and chunk are replaced, everything else survives."""
    metadata = {
        "turnSemantics": "turn_complete",
        "turnComplete": True,
        "turnId": "t",
        "turnTrail": [{}],
        "messageChunk": {"index": 3, "count": 3},
        "hermes": {"source": "x"},
    }

    leading = leading_metadata(metadata, {"type": "text", "index": 1, "count": 3})

    assert leading == {
        "turnId": "t",
        "hermes": {"source": "x"},
        "turnSemantics": "progress",
        "replyBehavior": "suppress_auto_reply",
        "messageChunk": {"type": "text", "index": 1, "count": 3},
    }


TRAIL = ({"kind": "text", "text": "I will look."}, {"kind": "tool", "title": "grep"})


def test_s7_25_the_trail_rides_on_the_last_part() -> None:
    """S7.25: leading parts have none, the last keeps the speech from before the tool."""
    operation = reserved(Book(), final(LONG, trail=TRAIL)).operation

    assert ["turnTrail" in part.metadata for part in operation.messages] == [False, False, True]
    assert [block["kind"] for block in operation.messages[-1].metadata["turnTrail"]] == ["text", "tool"]


def test_s7_26_a_quiet_final_has_no_trail() -> None:
    """S7.26: all parts are there, none carries a trail, the last notifies."""
    operation = reserved(Book(), final(LONG)).operation

    assert not any("turnTrail" in part.metadata for part in operation.messages)
    assert [part.metadata["turnSemantics"] for part in operation.messages] == ["progress", "progress", "turn_complete"]


def test_s7_53_a_split_answer_does_not_repeat_itself_in_its_trail() -> None:
    """S7.53: of two staged parts no block is left, the speech before the tool is."""
    long = "x" * 5_000
    spoken = ({"kind": "text", "text": "0123456789"}, {"kind": "text", "text": long[:277] + "..."})

    operation = reserved(Book(), final(f"0123456789\n{long}", trail=(*TRAIL, *spoken))).operation

    assert operation.messages[-1].metadata["turnTrail"] == list(TRAIL)


def test_a_whole_answer_keeps_its_speech() -> None:
    """Canon wire 7.6: in one part the trail of a turn without tools repeats the answer."""
    spoken = ({"kind": "text", "text": "Hello."},)

    assert reserved(Book(), final("Hello.", trail=spoken)).operation.messages[0].metadata["turnTrail"] == list(spoken)


def test_a_trail_that_does_not_fit_is_left_off() -> None:
    """R6.29: metadata beyond the server's cap would cost the answer."""
    operation = reserved(Book(), final("hi", trail=TRAIL, metadata={"k": "x" * 4_000})).operation

    assert operation.messages[0].metadata == {
        "k": "x" * 4_000,
        "turnSemantics": "turn_complete",
        "turnComplete": True,
        "turnId": TURN,
    }


def test_s3_33_every_part_carries_the_authority() -> None:
    """S3.33: the capability is on each part, the notification on the last."""
    operation = reserved(Book(), final("ש" * 3_900, authority=AUTHORITY)).operation

    assert [part.reply_authority for part in operation.messages] == [AUTHORITY] * 3
    assert [part.metadata["turnSemantics"] for part in operation.messages].count("turn_complete") == 1


def test_s7_29_parts_have_ids_of_one_group() -> None:
    """S7.29: base and index make the ids, the base is the group."""
    operation = reserved(Book(), final("ש" * 5_000)).operation
    base = message_id(C1, TURN, 1)

    assert [part.message_id for part in operation.messages] == [f"{base}-part-{index}" for index in (1, 2, 3)]
    assert {chunk["groupId"] for chunk in chunks(operation)} == {base}
    assert operation.base_id == base


def test_s7_29_a_lost_part_is_repeated_alone() -> None:
    """S7.29, S7.37: what Canon has confirmed is not sent again; the failed part comes first, with the same body."""
    answer = reserved(Book(), final("ש" * 5_000))
    book, operation = sent(answer.book, answer.operation)
    book = release(book, operation, may_have_landed=True).book

    again = reserved(book, final("ש" * 5_000))

    assert again.is_replay
    assert again.operation.remaining == answer.operation.messages[1:]


@pytest.mark.parametrize("attempt", [LOST, Outcome(status=400), Outcome(status=429), Outcome()])
def test_several_parts_are_always_kept(attempt: Outcome) -> None:
    """R7.19, S7.28: a reader may have seen the first part, so nothing else may take its place."""
    answer = reserved(Book(), final(LONG))

    assert release(answer.book, answer.operation, may_have_landed=not certainly_not_handled(attempt)).is_kept


@pytest.mark.parametrize(
    ("attempt", "is_kept"),
    [
        pytest.param(Outcome(status=400), False, id="S7.27-refused"),
        pytest.param(Outcome(status=429), False, id="pre-handler"),
        pytest.param(Outcome(status=503), False, id="pre-handler-503"),
        pytest.param(Outcome(transport=TransportKind.REFUSED), False, id="not connected"),
        pytest.param(Outcome(status=409), True, id="something is there"),
        pytest.param(Outcome(status=500), True, id="open question"),
        pytest.param(LOST, True, id="lost response"),
        pytest.param(Outcome(), True, id="unreadable answer"),
    ],
)
def test_a_single_part_is_forgotten_only_when_that_is_safe(attempt: Outcome, is_kept: bool) -> None:
    """R7.19: after a certain failure another text may take the place and the ordinal."""
    answer = reserved(Book(), final("first"))

    after = release(answer.book, answer.operation, may_have_landed=not certainly_not_handled(attempt))

    assert after.is_kept is is_kept
    other = reserve(after.book, final("second"))
    assert isinstance(other, Refused) is is_kept
    if isinstance(other, Reserved):
        assert other.operation.messages[0].message_id == message_id(C1, TURN, 1)


def test_s7_32_an_equal_text_after_settling_is_a_new_message() -> None:
    """S7.32, S7.33, S7.35: ordinals one and two, two different ids."""
    book, first = delivered(Book(), final("same"))
    _, second = delivered(book, final("same"))

    assert (first.ordinal, second.ordinal) == (1, 2)
    assert first.messages[0].message_id != second.messages[0].message_id


def test_s7_34_an_unsettled_delivery_is_not_replaced() -> None:
    """S7.34: another text is refused in words that say why."""
    answer = reserved(Book(), final("first"))
    book = release(answer.book, answer.operation, may_have_landed=True).book

    refused = reserve(book, final("second"))

    assert isinstance(refused, Refused)
    assert "refused to replace" in refused.sentence
    assert refused.operation == answer.operation


@pytest.mark.parametrize("recovery", [final("hello"), final("hello", metadata={"other": 1}, trail=TRAIL)])
def test_s7_36_a_repetition_is_the_first_attempt_to_the_byte(recovery: Final) -> None:
    """S7.36: the original reply target and metadata win over what the recovery says."""
    answer = reserved(Book(), final("hello", reply_to="m-original"))
    book = release(answer.book, answer.operation, may_have_landed=True).book

    again = reserved(book, recovery)

    assert again.is_replay
    assert again.operation == answer.operation
    assert again.operation.messages[0].reply_to == "m-original"


def test_a_message_beside_the_turns_does_not_name_one() -> None:
    """R7.43: its ids are made from its own token, which is never said."""
    (message,) = reserved(Book(), final("done", turn_id=OWN, names_turn=False)).operation.messages

    assert message.message_id == message_id(C1, OWN, 1)
    assert message.metadata == {"turnSemantics": "turn_complete", "turnComplete": True}


def test_a_control_message_completes_nothing() -> None:
    """R9.19: the host's prompt is not the answer."""
    (message,) = reserved(
        Book(), final("Approve?", semantics=TurnSemantics.CONTROL, names_turn=False)
    ).operation.messages

    assert message.metadata == {"turnSemantics": "control"}


def test_s7_42_a_very_long_answer_notifies_once() -> None:
    """S7.40, S7.42: 65.8 kB are parts as the splitter makes them, one of which notifies."""
    text = "word " * 13_160

    operation = reserved(Book(), final(text)).operation

    assert operation.texts == split(text)
    assert all(byte_length(part) <= PART_BYTES for part in operation.texts)
    semantics = [part.metadata["turnSemantics"] for part in operation.messages]
    assert semantics == ["progress"] * (len(semantics) - 1) + ["turn_complete"]


def test_the_book_is_bounded() -> None:
    """D42: settled ordinals of long gone turns are forgotten one by one, unsettled operations never."""
    book = reserved(Book(), final("kept", turn_id=TurnId("unsettled"))).book
    for number in range(1_100):
        book, _ = delivered(book, final("x", turn_id=TurnId(f"t{number}")))

    assert len(book.settled) == 1_024
    assert "t1099" in book.settled
    assert set(book.unsettled) == {"unsettled"}
