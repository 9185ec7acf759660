"""The splitter against its published table, and the one refinement: what people see as one character stays whole."""

from __future__ import annotations

import pytest

from canon_ops.wire.splitting import PART_BYTES, byte_length, fits, split

FOX = "The quick brown fox jumps over the lazy dog. " * 175


@pytest.mark.parametrize("text", ["hello", "שלום", ""], ids=["S7.1-ascii", "S7.1-hebrew", "S7.1-empty"])
def test_a_text_within_the_budget_is_one_part(text: str) -> None:
    """S7.1: it is returned unchanged, also when it is empty."""
    assert split(text) == (text,)


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        pytest.param("a" * 3800, [3800], id="S7.2-exactly"),
        pytest.param("a" * 3801, [3800, 1], id="S7.2-one-more"),
        pytest.param("ש" * 3900, [1900, 1900, 100], id="S7.3"),
        pytest.param("ש" * 5000, [1900, 1900, 1200], id="S7.4"),
        pytest.param("🙂" * 2000, [950, 950, 100], id="S7.5"),
        pytest.param("🙂" * 951, [950, 1], id="R7.10-bytes-and-not-characters"),
        pytest.param("a" * 3700 + "\n\n" + "b" * 500, [3700, 500], id="S7.6-blank-line"),
        pytest.param("a" * 3700 + "\n" + "b" * 500, [3700, 500], id="S7.6-newline"),
        pytest.param("a" * 3700 + " " + "b" * 500, [3700, 500], id="S7.6-space"),
        pytest.param("a" * 3399 + " " + "b" * 500, [3800, 100], id="S7.7-outside-the-window"),
        pytest.param("a" * 3400 + " " + "b" * 500, [3400, 500], id="S7.7-at-its-edge"),
        pytest.param("a" * 2203 + " " + "🙂" * 400, [2203, 400], id="R7.11-edge-of-wide-characters"),
        pytest.param("a" * 2199 + " " + "🙂" * 401, [2600, 1], id="R7.11-beyond-wide-characters"),
        pytest.param("a " + "b" * 7600, [3800, 3800, 2], id="S7.8"),
        pytest.param("a" * 3600 + "\n\n" + "b" * 100 + "\n" + "c" * 50 + " " + "d" * 500, [3600, 652], id="S7.9"),
        pytest.param("a" * 3700 + "\n\n\n\n" + "b" * 500, [3702, 500], id="S7.10"),
        pytest.param("a" * 3799 + "\n\n" + "b", [3799, 2], id="S7.11"),
        pytest.param(FOX, [3799, 3799, 275], id="S7.12"),
    ],
)
def test_parts_have_the_published_lengths(text: str, lengths: list[int]) -> None:
    """Each row of the table gives parts of exactly these lengths, in code points."""
    assert [len(part) for part in split(text)] == lengths


@pytest.mark.parametrize("text", ["ש" * 3900, "🙂" * 2000, "a" * 9000], ids=["S7.3", "S7.5", "ascii"])
def test_parts_without_separators_join_to_the_text(text: str) -> None:
    """Where nothing is dropped at a cut, the parts are the text."""
    assert "".join(split(text)) == text


def test_a_cut_in_a_blank_line_leaves_its_second_half() -> None:
    """S7.11: the newline beyond the budget begins the second part."""
    assert split("a" * 3799 + "\n\n" + "b")[1] == "\nb"


def test_no_budget_exceeds_the_server_cap() -> None:
    """S7.13: a larger budget is read as the cap of the server."""
    assert [len(part) for part in split("a" * 4596, 10_000)] == [4096, 500]


def test_a_budget_below_one_code_point_is_refused() -> None:
    """S7.14: three bytes cannot hold every code point."""
    with pytest.raises(ValueError, match="at least 4"):
        split("abc", 3)


def test_lone_surrogates_count_three_bytes_and_survive() -> None:
    """S7.15: they are measured, and they are cut around, without raising."""
    assert byte_length("\ud83d") == 3
    assert byte_length("ok\ud83d") == 5

    text = "a" * 3800 + "\ud83d" + "b" * 10

    assert len(split(text)) == 2
    assert "".join(split(text)) == text


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param("e\u0301", id="letter-and-accent"),
        pytest.param("ש\u05c1\u05b8", id="hebrew-points"),
        pytest.param("👨\u200d👩\u200d👧", id="family"),
        pytest.param("👍🏽", id="skin-tone"),
        pytest.param("❤\ufe0f", id="variation-selector"),
        pytest.param("1\ufe0f\u20e3", id="keycap"),
        pytest.param("🇮🇱", id="flag"),
        pytest.param("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", id="tag-flag"),
        pytest.param("\u1100\u1161\u11a8", id="hangul-jamo"),
        pytest.param("가\u11a8", id="hangul-syllable-and-tail"),
        pytest.param("नि", id="spacing-mark"),
        pytest.param("\r\n", id="carriage-return"),
    ],
)
def test_a_visible_character_is_not_cut(cluster: str) -> None:
    """X6: wherever the budget ends inside a cluster, the part ends before the cluster."""
    size = byte_length(cluster)
    for inside in range(1, size):
        text = "x" * (PART_BYTES - inside) + cluster + "y" * 10

        parts = split(text)

        assert parts[0] == "x" * (PART_BYTES - inside)
        assert parts[1] == cluster + "y" * 10


def test_flags_in_a_row_are_cut_between_flags() -> None:
    """X6: in a run of regional indicators every second boundary is a cut."""
    text = "x" + "🇮🇱" * 1000

    parts = split(text)

    assert parts[0] == "x" + "🇮🇱" * 474
    assert all(part.startswith("🇮🇱") for part in parts[1:])


def test_a_cluster_longer_than_a_part_is_cut_all_the_same() -> None:
    """X6: a letter under thousands of accents cannot be kept whole, and must not stop the splitter."""
    text = "e" + "\u0301" * 4000

    parts = split(text)

    assert "".join(parts) == text
    assert all(0 < byte_length(part) <= PART_BYTES for part in parts)


def test_a_separator_wins_over_clusters() -> None:
    """X6: the published algorithm decides first; a cut on a space is not moved."""
    text = "x" * 3700 + " " + "👨\u200d👩\u200d👧" * 40

    assert split(text)[0] == "x" * 3700


@pytest.mark.parametrize(("text", "limit", "expected"), [("ab", 2, True), ("ש", 1, False), ("שש", 3, False)])
def test_fits_counts_bytes(text: str, limit: int, expected: bool) -> None:
    """The cheap test agrees with the measured length."""
    assert fits(text, limit) is expected
