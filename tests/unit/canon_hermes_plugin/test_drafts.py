"""The host's cursor glyph, and glyphs that the model wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from canon_hermes_plugin.drafts import without_cursor

CURSORS = {"S6.25-block": " ▉", "S6.25-tag": " <stream>", "S6.25-none": ""}
TEXTS = {
    "literal-and-suffix": "Keep the literal ▉ and this suffix ▉",
    "inline-code": "`literal ▉ ",
    "open-fence": "```python\nprint('literal ▉')",
    "plain": "plain",
}


def closing(text: str) -> str:
    """Closes an open fence, as some hosts do."""
    return f"{text}\n```" if text.count("```") % 2 else text


def untouched(text: str) -> str:
    """Other hosts show a draft as it is."""
    return text


@pytest.mark.parametrize("close", [closing, untouched])
@pytest.mark.parametrize("cursor", CURSORS.values(), ids=CURSORS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_s6_25_only_the_hosts_glyph_is_removed(text: str, cursor: str, close: Callable[[str], str]) -> None:
    """S6.25: a draft as the host shows it becomes the text as it would show it without a cursor."""
    draft = close(text + cursor)

    assert without_cursor(draft, cursor, close) == close(text)


@pytest.mark.parametrize("close", [closing, untouched])
def test_a_glyph_in_the_middle_is_the_models(close: Callable[[str], str]) -> None:
    """What stands behind it is more than a closed fence, so nothing is removed."""
    assert without_cursor("literal ▉ and more", " ▉", close) == "literal ▉ and more"
