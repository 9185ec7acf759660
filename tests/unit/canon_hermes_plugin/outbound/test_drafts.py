"""The host's cursor, and only the host's."""

from __future__ import annotations

import pytest

from canon_hermes_plugin.outbound.drafts import without_cursor

CURSOR = " ▉"


def closing(text: str) -> str:
    """A host that closes an open fence, as 0.21 does."""
    return text + "\n```" if text.count("```") % 2 else text


@pytest.mark.parametrize(
    ("shown", "authored"),
    [
        pytest.param("half a sen ▉", "half a sen", id="end"),
        pytest.param("Keep the literal ▉ and this suffix ▉ ▉", "Keep the literal ▉ and this suffix ▉", id="last-only"),
        pytest.param("Keep the literal ▉ in the middle", "Keep the literal ▉ in the middle", id="authored"),
        pytest.param("```\ncode ▉\n```", "```\ncode\n```", id="before-a-closed-fence"),
        pytest.param("```\ncode ▉\n``` and more", "```\ncode ▉\n``` and more", id="inside-a-whole-fence"),
        pytest.param("", "", id="empty"),
    ],
)
def test_only_the_hosts_cursor_goes(shown: str, authored: str) -> None:
    """S6.25: the last glyph goes when the text up to it, fences closed by the host, is the whole text."""
    assert without_cursor(shown, CURSOR, closing) == authored


def test_no_cursor_changes_nothing() -> None:
    """An empty cursor leaves every text alone."""
    assert without_cursor("literal ▉", "", closing) == "literal ▉"
