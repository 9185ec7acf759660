"""Names that are written so that nobody finds them: with quotes or escapes in the middle of the word. Pure.

A shell takes quotes and backslashes away wherever it reads, and so do the programs to which it hands a text: ``git``
for an alias, ``tar`` for an action, ``sed`` for its ``e``. Which of them reads a text how often is in no table that
could be whole. But nobody writes ``do\\as``, ``su''do`` or ``\\x73udo`` who means a word: the spelling is the sign.

Source: canon-adapter R9.12, D19; docs/decisions/0083.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["SpelledApart", "named_in"]

_BETWEEN = r"""(?:[\\'"`]|\$[@*0-9'"]|\$\{[^{}]{0,64}\}|\$\(\))*"""  # what leaves nothing behind, or may


class SpelledApart:
    """Looks for names with something between their letters, or with letters that stand as numbers.

    Args:
        names: lower-case; they are found in any case.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        spelled = (_BETWEEN.join(map(_letter, name)) for name in sorted(self._names, key=len, reverse=True))
        self._found = re.compile(rf"(?<![\w-])(?:{'|'.join(spelled)})(?![\w-])", re.IGNORECASE)

    def is_in(self, text: str) -> bool:
        """Whether a name stands there otherwise than in plain letters."""
        return any(found[0].lower() not in self._names for found in self._found.finditer(text))


def named_in(names: Iterable[str]) -> re.Pattern[str]:
    """Finds a plain name that signs set off from what stands beside it: ``exec=doas``, ``!doas``, ``ext::doas``."""
    return re.compile(rf"(?<![\w./-])(?:{'|'.join(sorted(names))})(?![\w./-])", re.IGNORECASE)


def _letter(char: str) -> str:
    """A letter, or its number as shells and most languages write it."""
    codes = {ord(char), ord(char.upper())}
    numbers = "|".join(
        rf"[xX]\{{?0{{0,6}}{code:x}\}}?|[uU]\{{?0{{0,6}}{code:x}\}}?|0?{code:o}" for code in sorted(codes)
    )
    return rf"(?:{re.escape(char)}|\\(?:{numbers}))"
