"""The host's cursor glyph, and glyphs that the model wrote."""

from __future__ import annotations

import pytest

from canon_hermes_plugin.streaming.glyph import close_code_fences, without_cursor

TEXTS = ["Keep the literal ▉ and this suffix ▉", "`literal ▉ ", "```python\nprint('literal ▉')", "plain"]


@pytest.mark.parametrize("cursor", [" ▉", " <stream>", ""], ids=["S6.25-block", "S6.25-tag", "S6.25-none"])
@pytest.mark.parametrize("text", TEXTS)
def test_only_the_hosts_glyph_is_removed(text: str, cursor: str) -> None:
    """S6.25: a draft as the host shows it becomes the fence-closed text, authored glyphs included."""
    draft = close_code_fences(text + cursor)

    assert without_cursor(draft, cursor, close_code_fences) == close_code_fences(text)


def test_a_glyph_in_the_middle_is_the_models() -> None:
    """What stands behind it is more than a closed fence, so nothing is removed."""
    assert without_cursor("literal ▉ and more", " ▉", close_code_fences) == "literal ▉ and more"


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("no fence", "no fence"),
        ("```\ncode", "```\ncode\n```"),
        ("```\ncode\n```", "```\ncode\n```"),
        ("````\n```\n", "````\n```\n\n````"),
        ("~~~ text\ncode", "~~~ text\ncode\n~~~"),
        ("```\ncode\n``` not a close", "```\ncode\n``` not a close\n```"),
    ],
)
def test_open_fences_are_closed(text: str, closed: str) -> None:
    """The fallback follows the usual rules of fences."""
    assert close_code_fences(text) == closed
