"""Takes the host's typing glyph off an unfinished draft, and leaves every glyph that the author wrote.

While the model speaks, the host appends a cursor to the text, and some hosts then close an open code fence behind it.
Only a glyph in exactly that place is the host's; the same character anywhere else belongs to the text.

Source: Canon adapter R6.18.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["without_cursor"]


def without_cursor(text: str, cursor: str, close_code_fences: Callable[[str], str]) -> str:
    """``text`` without the host's cursor.

    Args:
        cursor: what the host appends; empty when it appends nothing.
        close_code_fences: what the host does to a text with an open fence; it returns other texts unchanged.
    """
    position = text.rfind(cursor) if cursor else -1
    if position < 0:
        return text
    end = position + len(cursor)
    if close_code_fences(text[:end]) != text:
        return text
    return text[:position] + text[end:]
