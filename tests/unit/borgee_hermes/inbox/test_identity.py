"""What makes two events one, and texts that no database could hold."""

from __future__ import annotations

import json
import sqlite3

import pytest

from borgee_hermes.bpp.events import Kind, Reaction
from borgee_hermes.inbox.identity import dedupe_key, payload_hash, storable


@pytest.mark.parametrize("kind", list(Kind), ids=str)
def test_a_key_begins_with_its_kind(kind: Kind) -> None:
    """A7: kind, channel, message and the hash of the content, in this order."""
    assert dedupe_key(kind, "ch-1", "m-1", "abc") == f"{kind}:ch-1:m-1:abc"


def test_what_is_said_decides() -> None:
    """The hash changes with body, author, time and reaction."""
    plain = payload_hash(Kind.MESSAGE, "ch-1", "m-1", "u-1", "hello", 1, None)

    others = {
        payload_hash(Kind.MESSAGE, "ch-1", "m-1", "u-1", "hello!", 1, None),
        payload_hash(Kind.MESSAGE, "ch-1", "m-1", "u-2", "hello", 1, None),
        payload_hash(Kind.MESSAGE, "ch-1", "m-1", "u-1", "hello", 2, None),
        payload_hash(Kind.REACTION, "ch-1", "m-1", "u-1", "", 1, Reaction("+1", "u-2", True)),
        payload_hash(Kind.REACTION, "ch-1", "m-1", "u-1", "", 1, Reaction("+1", "u-2", False)),
    }

    assert len(others | {plain}) == 6


@pytest.mark.parametrize(
    ("wire", "stored"),
    [
        (r'"plain"', "plain"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"a\ud83db"', "a�b"),
        (r'"\ude00"', "�"),
        (r'"nul\u0000"', "nul\0"),
    ],
)
def test_every_text_of_the_wire_can_be_hashed_and_stored(wire: str, stored: str) -> None:
    """W15: half of a torn character neither raises nor ends the adapter."""
    text = json.loads(wire)

    assert len(payload_hash(Kind.MESSAGE, "ch-1", "m-1", "u-1", text, 1, None)) == 64
    with sqlite3.connect(":memory:") as connection:
        assert connection.execute("SELECT ?", (storable(text),)).fetchone() == (stored,)
    connection.close()
