"""Ids: the derivation's vectors, its errors, and the shapes."""

from __future__ import annotations

import pytest

from canon_ops.wire.ids import (
    MESSAGE_ID_CHARS,
    ConversationId,
    TurnId,
    message_id,
    own_message_id,
    part_id,
    stream_message_id,
    turn_id,
    turn_of,
)

C1 = ConversationId("c1")
TURN = TurnId("hermes-turn-1")


@pytest.mark.parametrize(
    ("conversation", "turn", "ordinal", "expected"),
    [
        ("c1", "hermes-turn-1", 1, "hermes-final-96a38186e882bb5873aa91a2693676a6"),
        ("c1", "hermes-turn-1", 2, "hermes-final-b8a8f28456d38fd8caf39d3ee06152b3"),
        ("שלום", "t:1", 1, "hermes-final-21ce49f19c42735e1f5e70458a25ccb4"),
    ],
)
def test_message_ids_match_the_published_vectors(conversation: str, turn: str, ordinal: int, expected: str) -> None:
    """S7.19: the id is a function of conversation, turn and ordinal, the same for everybody."""
    assert message_id(ConversationId(conversation), TurnId(turn), ordinal) == expected


def test_message_ids_tell_operations_apart_and_show_nothing() -> None:
    """S7.19: ordinals and turns differ, the shape holds, and neither private id stands in it."""
    first, second = message_id(C1, TURN, 1), message_id(C1, TURN, 2)
    other = message_id(C1, TurnId("hermes-turn-2"), 1)

    assert len({first, second, other}) == 3
    assert first is not None
    assert first.startswith("hermes-final-")
    assert len(first) <= MESSAGE_ID_CHARS
    assert "conversation-of-ours" not in str(message_id(ConversationId("conversation-of-ours"), TURN, 1))
    assert TURN not in first


def test_without_a_turn_there_is_no_id() -> None:
    """S7.19: a message of no turn is not named."""
    assert message_id(C1, None, 1) is None


@pytest.mark.parametrize("ordinal", [0, -1])
def test_an_ordinal_below_one_is_refused(ordinal: int) -> None:
    """S7.19: ordinals count from one."""
    with pytest.raises(ValueError, match="1 or more"):
        message_id(C1, TURN, ordinal)


@pytest.mark.parametrize("ordinal", [True, 1.0, "1", None])
def test_an_ordinal_of_another_type_is_refused(ordinal: object) -> None:
    """S7.19: a boolean is not an ordinal either."""
    with pytest.raises(TypeError):
        message_id(C1, TURN, ordinal)  # type: ignore[arg-type]


def test_fields_are_framed_by_length() -> None:
    """Moving a character from one field to the next makes another id."""
    assert message_id(ConversationId("ab"), TurnId("c"), 1) != message_id(ConversationId("a"), TurnId("bc"), 1)


def test_a_long_base_makes_room_for_the_part() -> None:
    """S7.20: the suffix is kept whole and the id has the allowed length."""
    part = part_id("x" * 500, 123)

    assert part.endswith("-part-123")
    assert len(part) == MESSAGE_ID_CHARS


def test_a_short_base_is_kept() -> None:
    """A base that fits is the beginning of the part's id."""
    assert part_id("base", 2) == "base-part-2"


def test_a_stream_message_names_its_turn() -> None:
    """The turn is everything between the prefix and the last colon, colons of its own included."""
    stream = stream_message_id(TurnId("t:1"), "0" * 32)

    assert stream == f"canon-stream:t:1:{'0' * 32}"
    assert turn_of(stream) == "t:1"


@pytest.mark.parametrize("text", ["", "hermes-turn-1", "canon-stream:", "canon-stream:x", "canon-stream::0", "m-1"])
def test_other_ids_name_no_turn(text: str) -> None:
    """Only a whole stream message id does."""
    assert turn_of(text) is None


def test_fresh_ids_have_their_shapes() -> None:
    """Turns and own messages are told apart by their prefixes."""
    assert turn_id("0123456789abcdef0123") == "hermes-0123456789abcdef0123"
    assert own_message_id("f" * 32) == "standalone:" + "f" * 32


@pytest.mark.parametrize("digits", ["", "0123", "0123456789ABCDEF0123", "0123456789abcdef0123\n"])
def test_digits_of_another_shape_are_refused(digits: str) -> None:
    """A caller that hands in the wrong randomness learns it at once."""
    with pytest.raises(ValueError, match="not"):
        turn_id(digits)
