"""Keys that are there twice, and words that two YAML readers take for different values."""

from __future__ import annotations

import pytest

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.yaml_survey import Twice, bare_words, keys_twice


def parsed(text: str) -> ConfigDocument:
    return ConfigDocument.parse(text.encode())


def test_keys_twice_are_found_at_any_depth() -> None:
    """With every line; an alias does not repeat them."""
    document = parsed("a: 1\nb: &b\n  c: 1\n  c: 2\n  c: 3\nd: *b\na: 2\n")

    assert keys_twice(document) == (Twice("a", (1, 7)), Twice("b.c", (3, 4, 5)))


@pytest.mark.parametrize(
    "word", ["off", "yes", "On", "0600", "12:30", "1_000", "2026-01-02", "1e3", "0o17", "08", "0b11", "+12:30:45"]
)
def test_a_treacherous_word_is_found(word: str) -> None:
    """YAML 1.1 and 1.2 take the bare word for different values (BR-07)."""
    (found,) = bare_words(parsed(f"a:\n  b: {word}\n"))

    assert (found.path, found.word, found.line, found.column) == ("a.b", word, 2, 6)


@pytest.mark.parametrize("word", ["true", "False", "7", "-1", "1.5", "0x1f", ".inf", "null", "~", "", "word", "'off'"])
def test_an_ordinary_word_is_not(word: str) -> None:
    """Both readers agree."""
    assert bare_words(parsed(f"a: {word}\n")) == ()
