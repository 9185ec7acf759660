"""Taking the host's cursor glyph off an unfinished draft, and nothing that the model wrote itself.

The host appends a cursor to each draft and then closes code fences that are still open. The last glyph is the host's
exactly if closing the fences of the text up to it gives the whole text; any other glyph was authored.

Source: canon-adapter R6.18; decision H3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

__all__ = ["close_code_fences", "without_cursor"]

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")


def without_cursor(text: str, cursor: str, close_fences: Callable[[str], str]) -> str:
    """``text`` without the host's cursor; the fence that the host closed behind it stays closed.

    Only for drafts: a finished text and a text outside of a turn carry no cursor and are not to be touched.

    Args:
        cursor: what the host appends; empty when it appends nothing.
        close_fences: the host's own function, or :func:`close_code_fences` where it has none.
    """
    position = text.rfind(cursor) if cursor else -1
    if position < 0:
        return text
    end = position + len(cursor)
    if close_fences(text[:end]) != text:
        return text
    return text[:position] + text[end:]


def close_code_fences(text: str) -> str:
    """``text`` with the code fence closed that is open at its end: for hosts that do not do it themselves.

    Such hosts leave drafts as they are, so on them this is only asked about texts without an open fence.
    """
    opened = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match is None:
            continue
        fence = match.group(1)
        if not opened:
            opened = fence
        elif fence[0] == opened[0] and len(fence) >= len(opened) and line.strip() == fence:
            opened = ""
    return f"{text}\n{opened}" if opened else text
