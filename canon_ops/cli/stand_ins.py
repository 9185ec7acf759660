"""Words of the process as text, whatever the locale.

Python reads arguments and variables in the locale's encoding, and puts a stand-in for each byte that this one lacks.
Where it knows nothing but ASCII, that is every byte of an accent; the word is UTF-8 nevertheless.
"""

from __future__ import annotations

import os

from canon_ops.lean import late_pattern

__all__ = ["holds_stand_ins", "without_stand_ins"]

_STAND_IN = late_pattern("[\udc80-\udcff]")


def holds_stand_ins(word: str) -> bool:
    """Whether some of ``word`` is bytes that the locale's encoding lacks."""
    return not word.isascii() and _STAND_IN.search(word) is not None


def without_stand_ins(word: str) -> str | None:
    """``word`` as the UTF-8 that its bytes are; None when they are none."""
    if not holds_stand_ins(word):
        return word
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        return None
