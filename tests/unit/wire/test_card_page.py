"""The page that teaches agents to write cards: everything that the validator knows stands there."""

from __future__ import annotations

import pytest

from canon_ops.wire.cards import RUNTIME_CARD_LIMITS, validate_card
from canon_ops.wire.cards.limits import BLOCK_KINDS, COLUMN_TYPES, FIELD_TYPES, LIST_STATUSES, MEDIA_KINDS, TONES
from canon_ops.wire.cards.page import EXAMPLES, PURPOSES, skill_page

PAGE = skill_page()


@pytest.mark.parametrize("word", [*BLOCK_KINDS, *FIELD_TYPES, *COLUMN_TYPES, *TONES, *LIST_STATUSES, *MEDIA_KINDS])
def test_every_word_is_on_the_page(word: str) -> None:
    """S12.36: kinds, types, tones and states."""
    assert f"`{word}`" in PAGE


@pytest.mark.parametrize("name", [name for name in RUNTIME_CARD_LIMITS if name != "totalActions"])
def test_every_limit_is_on_the_page(name: str) -> None:
    """S12.36: as the end of a range, or as what a number must not exceed."""
    assert any(f"{words} {RUNTIME_CARD_LIMITS[name]}" in PAGE for words in ("1 to", "at most")), name


def test_every_kind_has_a_purpose() -> None:
    assert {*PURPOSES} == {*BLOCK_KINDS}


def test_the_examples_are_right() -> None:
    """S1.5: an agent that copies them is not refused."""
    assert [validate_card(card)["errors"] for card in EXAMPLES] == [[], []]


def test_only_what_a_type_may_have_is_said_of_it() -> None:
    """R12.7: a currency code is for currencies, rows are for line items, dates have dates as bounds."""
    lines = PAGE.split("decides what else")[1].split("is never above")[0].splitlines()
    said = {line.split("`")[1]: line for line in lines if line.startswith("- `")}

    assert "currencyCode" in said["currency"] and "currencyCode" not in said["number"]
    assert "maxRows" in said["lineItems"] and "min`" not in said["textarea"]
    assert "YYYY-MM-DD" in said["date"]
