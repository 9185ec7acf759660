"""What the host adds to the text of a draft, taken off again: a cursor at its end, a mark of a tool at its beginning.

While the model speaks, the host appends a cursor glyph, and some hosts then close an open code fence behind it. Only a
glyph in exactly that place is the host's; the same character anywhere else belongs to the text.

The first speech after a round of tools begins with a blank line, which every audited host puts there (0.21 takes it
off again in its last edit). It is no part of the answer, but it tells what came first: the host's drafts lag behind its
tools, so the words before a quick tool may reach us after it.

Source: Canon adapter R6.18; hermes-host 9.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["AFTER_TOOLS", "without_cursor"]

AFTER_TOOLS: Final = "\n\n"


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
