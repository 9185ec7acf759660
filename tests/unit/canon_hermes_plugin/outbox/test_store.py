"""The outbox on disk: the exact operation, until Canon has it or a person gives it up."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canon_hermes_plugin.outbox import store
from canon_hermes_plugin.outbox.codec import decode, encode
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.outbox.store import Owed, State
from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import SendMessage, encode_body
from tests.support.canon_state import ANOTHER, AUTHORITY, NOW, OWNER, Rows, an_operation


def kept(rows: Rows, operation: Operation) -> None:
    rows(store.keep, OWNER, operation, now_ms=NOW)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
LONE = st.sampled_from(["\ud83d", "a\udc00b", "\U0001f642"])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine
@given(
    text=st.text() | LONE,
    metadata=st.dictionaries(st.text(), JSON, max_size=4),
    options=st.dictionaries(st.text(), JSON, max_size=3),
    reply_to=st.none() | st.text(min_size=1),
    authority=st.none() | st.just(AUTHORITY),
    attachments=st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=2),
)
def test_a_stored_message_has_the_same_bytes(
    text: str,
    metadata: dict[str, object],
    options: dict[str, object],
    reply_to: str | None,
    authority: ReplyAuthority | None,
    attachments: list[dict[str, object]],
) -> None:
    """R7.17: whatever a message holds, its body after a restart is the body before it, to the byte."""
    message = SendMessage("c1", text, "id-1", reply_to, metadata, "text", tuple(attachments), authority, options)

    again = decode(encode(message))

    assert again == message
    assert encode_body(again.body()) == encode_body(message.body())


def test_an_operation_comes_back_whole(rows: Rows) -> None:
    """X1: parts, ids, metadata and authority, in order, and how many of them Canon has."""
    operation = an_operation("x" * 9_000)
    kept(rows, operation)
    rows(store.confirm, OWNER, replace(operation, confirmed=2), now_ms=NOW)

    assert rows(store.pending, OWNER) == [replace(operation, confirmed=2)]
    assert len(operation.messages) == 3


def test_a_settled_operation_leaves_nothing(rows: Rows) -> None:
    """Parts go with their operation."""
    operation = an_operation()
    kept(rows, operation)
    rows(store.settle, OWNER, operation)

    assert rows(store.pending, OWNER) == []
    assert rows.table("SELECT count(*) FROM outbox_parts") == [(0,)]
    assert rows(store.state_of, OWNER, operation) is None


def test_the_same_operation_again_keeps_its_progress(rows: Rows) -> None:
    """A repetition of what is kept changes nothing but wakes it; what is to be sent is what stood there."""
    operation = an_operation("x" * 5_000)
    kept(rows, operation)
    rows(store.confirm, OWNER, replace(operation, confirmed=1), now_ms=NOW)
    rows(store.put_aside, OWNER, operation, State.HELD, "busy", now_ms=NOW)
    again = rows(store.keep, OWNER, operation, now_ms=NOW)

    assert [again] == rows(store.pending, OWNER) == [replace(operation, confirmed=1)]


@pytest.mark.parametrize("ordinal", [1, 2], ids=["under the same ids", "as the turn's second"])
def test_nothing_takes_the_place_of_what_may_have_landed(rows: Rows, ordinal: int) -> None:
    """D54: another text of the turn is told what stands there, and that stays; it is taken when nothing has landed."""
    first, other = an_operation("first"), replace(an_operation("other"), ordinal=ordinal)
    kept(rows, first)
    rows(store.put_aside, OWNER, first, State.HELD, "lost", now_ms=NOW)
    doubtful = rows(store.keep, OWNER, other, now_ms=NOW), rows(store.state_of, OWNER, first)
    rows(store.put_aside, OWNER, first, State.REFUSED, "no", in_doubt=False, now_ms=NOW)
    certain = rows(store.keep, OWNER, other, now_ms=NOW)

    assert doubtful == (first, State.HELD)
    assert certain == other and rows(store.pending, OWNER) == [other]


def test_what_a_person_sends_again_may_land(rows: Rows) -> None:
    """X9, D54: a refusal was certain, the retry is not: until it is settled nothing takes its place."""
    first = an_operation("first")
    kept(rows, first)
    rows(store.put_aside, OWNER, first, State.REFUSED, "no", in_doubt=False, now_ms=NOW)
    rows(store.retry, rows(store.all_postings)[0].number, now_ms=NOW)

    assert rows(store.keep, OWNER, an_operation("other"), now_ms=NOW) == first


@pytest.mark.parametrize(
    ("text", "room", "later_ms", "is_found"),
    [
        ("again", "c9", 0, True),
        ("again", "c9", store.REPEATED_WITHIN_MS, True),
        ("again", "c9", store.REPEATED_WITHIN_MS + 1, False),
        ("another", "c9", 0, False),
        ("again", "c8", 0, False),
        ("again", None, 0, False),
    ],
    ids=["at once", "late", "too late", "another text", "another room", "an answer"],
)
def test_a_repetition_from_another_turn_is_found(
    rows: Rows, text: str, room: str | None, later_ms: int, is_found: bool
) -> None:
    """D54: what the host was told that it failed, and says again soon, is that operation; an answer is its own."""
    held = an_operation("again", "t1", "c9")
    kept(rows, held)
    unheld = rows(store.repeated, OWNER, an_operation("again", "t2", "c9"), now_ms=NOW)
    rows(store.put_aside, OWNER, held, State.HELD, "lost", now_ms=NOW)
    found = rows(store.repeated, OWNER, an_operation(text, "t2", room), now_ms=NOW + later_ms)

    assert unheld is None, "one that is on its way is not held for anybody"
    assert found == (held if is_found else None)
    assert rows(store.state_of, OWNER, held) is (State.PENDING if is_found else State.HELD)


def test_what_is_owed_is_counted_with_the_age_of_the_oldest(rows: Rows) -> None:
    """X9: what was refused or held waits for somebody else, and another agent's is its own gateway's."""
    nothing = rows(store.owed, OWNER)
    for number, turn in enumerate(("t1", "t2", "t3")):
        rows(store.keep, OWNER, an_operation(turn=turn), now_ms=NOW + number)
    rows(store.keep, ANOTHER, an_operation(turn="t4"), now_ms=NOW - 1)
    rows(store.put_aside, OWNER, an_operation(turn="t1"), State.REFUSED, "no", now_ms=NOW + 9)

    assert (nothing, rows(store.owed, OWNER)) == (Owed(0, None), Owed(2, NOW + 1))


def test_what_nobody_tries_is_shown_and_waits_for_a_person(rows: Rows) -> None:
    """X9: a refused operation stands there with its reason until it is retried or discarded."""
    refused, held = an_operation(turn="t1"), an_operation(turn="t2")
    kept(rows, refused)
    kept(rows, held)
    rows(store.note_failure, OWNER, refused, "busy", now_ms=NOW)
    rows(store.put_aside, OWNER, refused, State.REFUSED, "no such room", now_ms=NOW + 1)
    rows(store.put_aside, OWNER, held, State.HELD, "busy", now_ms=NOW + 1)
    first, second = rows(store.all_postings)

    assert (first.state, first.attempts, first.error) == (State.REFUSED, 1, "no such room")
    assert (second.state, second.conversation_id, second.turn_id) == (State.HELD, "c1", "t2")
    assert rows(store.pending, OWNER) == []
    assert [rows(store.retry, first.number, now_ms=NOW) for _ in range(2)] == [True, False]
    assert [rows(store.discard, second.number) for _ in range(2)] == [True, False]
    assert rows(store.pending, OWNER) == [refused]
    assert rows(store.stored, second.number) is None


def test_another_agents_operations_are_shown_and_not_sent(rows: Rows) -> None:
    """X1: the list has every owner's, what is owed only one's."""
    rows(store.keep, ANOTHER, an_operation(), now_ms=NOW)

    assert rows(store.pending, OWNER) == []
    assert [posting.owner for posting in rows(store.all_postings)] == [ANOTHER]


def test_stored_text_is_ascii(rows: Rows) -> None:
    """A lone surrogate, which SQLite cannot hold, stays an escape."""
    kept(rows, an_operation("half \ud83d"))
    ((text,),) = rows.table("SELECT message FROM outbox_parts")

    assert text.isascii()
    assert json.loads(text)["text"] == "half \ud83d"
