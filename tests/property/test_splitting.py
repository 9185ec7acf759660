"""The splitter on any text: nothing lost but separators, nothing too large, nothing cut that people see as one."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from canon_ops.wire.splitting import byte_length, split

ANY = st.text(st.characters(), max_size=400)  # surrogates included
PIECES = st.sampled_from(
    [
        "a",
        "ש",
        "🙂",
        "e\u0301",
        "👨\u200d👩\u200d👧",
        "🇮🇱",
        "👍🏽",
        "가\u11a8",
        "\n",
        "\n\n",
        " ",
        "\r\n",
        "\ud83d",
        "longer word",
    ]
)
MIXED = st.lists(PIECES, max_size=300).map("".join)
GAPS = ("", " ", "\n", "\n\n")
BUDGETS = st.integers(min_value=4, max_value=120)


@given(text=ANY | MIXED, budget=BUDGETS)
def test_parts_fit_and_are_not_empty(text: str, budget: int) -> None:
    """Every part of a text in several parts has one byte at least and at most the budget."""
    parts = split(text, budget)

    assert all(byte_length(part) <= budget for part in parts)
    assert len(parts) == 1 or all(parts)


@given(text=ANY | MIXED, budget=BUDGETS)
def test_only_separators_are_dropped(text: str, budget: int) -> None:
    """Between two parts stands nothing, a space, a newline or a blank line; otherwise the text is whole, in order."""
    first, *others = split(text, budget)
    reached = {len(first)} if text.startswith(first) else set()  # where the text may be after the parts so far
    for part in others:
        gaps = {position + len(gap) for position in reached for gap in GAPS if text.startswith(gap, position)}
        reached = {position + len(part) for position in gaps if text.startswith(part, position)}

    assert len(text) in reached


@given(text=st.text(st.characters(exclude_characters="\n "), max_size=400), budget=BUDGETS)
def test_without_separators_the_join_is_the_text(text: str, budget: int) -> None:
    """Where nothing can be dropped, nothing is."""
    assert "".join(split(text, budget)) == text


def by_the_book(text: str, budget: int) -> list[str]:
    """R7.11 word for word, without regard to clusters or speed."""
    parts = []
    while byte_length(text) > budget:
        cut = max(size for size in range(1, budget + 1) if byte_length(text[:size]) <= budget)
        for separator in ("\n\n", "\n", " "):
            position = text[:cut].rfind(separator)
            if position >= max(1, cut - 400):
                parts.append(text[:position])
                text = text[position + len(separator) :]
                break
        else:
            parts.append(text[:cut])
            text = text[cut:]
    return [*parts, text]


PLAIN = st.lists(st.sampled_from(["a", "ש", "🙂", "\n", "\n\n", " ", "word " * 30, "x" * 150, "ש" * 90]), max_size=60)


@given(text=PLAIN.map("".join), budget=st.integers(min_value=4, max_value=900))
def test_where_no_cluster_is_cut_the_published_algorithm_decides(text: str, budget: int) -> None:
    """R7.11: the fast splitter and the algorithm as written agree on every text without clusters."""
    assert list(split(text, budget)) == by_the_book(text, budget)


@given(text=MIXED, budget=st.integers(min_value=40, max_value=120))
def test_no_part_begins_inside_a_cluster(text: str, budget: int) -> None:
    """X6: a budget that holds every cluster cuts none: no part begins with what changes its neighbour."""
    position = 0
    for part in split(text, budget):
        position = text.index(part, position)
        before = text[position - 1] if position else " "
        if part and before not in " \n":
            assert unicodedata.category(part[0]) not in {"Mn", "Mc", "Me"}
            assert part[0] != "\u200d"
            assert before != "\u200d"
            assert not (before == "\r" and part[0] == "\n")
        position += len(part)


@given(text=ANY | MIXED, budget=BUDGETS)
def test_splitting_a_part_changes_nothing(text: str, budget: int) -> None:
    """A part fits, so it is one part of itself."""
    assert all(split(part, budget) == (part,) for part in split(text, budget))
