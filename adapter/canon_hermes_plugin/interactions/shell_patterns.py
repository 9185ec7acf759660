"""What a word becomes before it is a program: braces are multiplied out, and patterns stand for names. Pure.

The patterns are those of :class:`~.shell_words.Word`: a backslash protects, :data:`~.shell_words.MADE` may be anything.

Source: canon-adapter D19; bash, "Brace Expansion" and "Pattern Matching".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final

from canon_hermes_plugin.interactions.shell_words import MADE

__all__ = ["TooMany", "braces_out", "may_name", "text_of"]

MOST: Final = 256  # ours: words that one word may become; what makes more is not judged
LONGEST: Final = 256  # ours: a name with patterns in it that is longer is not looked at
_SIGNS: Final = frozenset("*?[" + MADE)
_PIECE: Final = re.compile(r"\\.|[^\\]", re.DOTALL)
_RANGE: Final = re.compile(r"(-?\w+)\.\.(-?\w+)(?:\.\.(-?\d+))?")


class TooMany(Exception):
    """A word becomes more words than are looked at."""


def text_of(pattern: str) -> str:
    """The letters of a pattern, without what is made."""
    return re.sub(r"\\(.)", r"\1", pattern.replace(MADE, ""), flags=re.DOTALL)


def braces_out(pattern: str) -> list[str]:
    """The words that a word becomes, in order.

    Raises:
        TooMany: there are too many.
    """
    found = list(_braced(_PIECE.findall(pattern)))
    return ["".join(one) for one in found]


def _braced(pieces: list[str]) -> Iterator[list[str]]:
    opened = _first_braces(pieces)
    if opened is None:
        yield pieces
        return
    start, end, parts = opened
    count = 0
    for part in parts:
        for inside in _braced(part):
            for rest in _braced(pieces[end + 1 :]):
                count += 1
                if count > MOST:
                    raise TooMany
                yield [*pieces[:start], *inside, *rest]


def _first_braces(pieces: list[str]) -> tuple[int, int, list[list[str]]] | None:
    """The first braces that hold more than one part, or a range: where they stand, and the parts."""
    if pieces.count("{") > MOST:
        raise TooMany
    for start, piece in enumerate(pieces):
        if piece != "{":
            continue
        depth, commas = 0, [start]
        for at in range(start, len(pieces)):
            depth += (pieces[at] == "{") - (pieces[at] == "}")
            if pieces[at] == "," and depth == 1:
                commas.append(at)
            if depth == 0:
                cuts = [*commas, at]
                parts = [pieces[one + 1 : two] for one, two in pairwise(cuts)]
                if len(parts) > 1:
                    return start, at, parts
                if letters := _ranged("".join(parts[0])):
                    return start, at, letters
                break
    return None


def _ranged(inside: str) -> list[list[str]]:
    found = _RANGE.fullmatch(inside)
    if found is None:
        return []
    first, last, step = found[1], found[2], abs(int(found[3] or 1)) or 1
    if len(first) == len(last) == 1 and not (first + last).isdigit():
        low, high = ord(first), ord(last)
        codes = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
        return [[chr(code)] for code in codes]
    if re.fullmatch(r"-?\d+", first) and re.fullmatch(r"-?\d+", last):
        return [[first], [last]]  # numbers are in no name
    return []


def may_name(pattern: str, names: Collection[str]) -> bool:
    """Whether a pattern may stand for a file that has one of the names, in any folder; in any case of letters."""
    leaf = _after_last_slash(pattern)
    if not _SIGNS.intersection(leaf):
        return "".join(piece[-1] for piece in leaf).lower() in names
    if len(leaf) > LONGEST:
        return True
    regex = re.compile("".join(_regex_of(leaf)), re.IGNORECASE | re.DOTALL)
    return any(regex.fullmatch(name) is not None for name in names)


def _after_last_slash(pattern: str) -> list[str]:
    pieces = _PIECE.findall(pattern)
    last = max((at for at, piece in enumerate(pieces) if piece == "/"), default=-1)
    return pieces[last + 1 :]


def _regex_of(pieces: list[str]) -> Iterator[str]:
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        at += 1
        match piece:
            case "*" | "\0":
                yield ".*"
            case "?":
                yield "."
            case "[" if (end := _end_of_set(pieces, at)) is not None:
                yield _set_of(pieces[at:end])
                at = end + 1
            case _:
                yield re.escape(piece[-1])


def _end_of_set(pieces: list[str], at: int) -> int | None:
    """Where the bracket closes; the first character is one of the set, and a class has brackets of its own."""
    at += pieces[at : at + 1] in (["!"], ["^"])
    at += pieces[at : at + 1] == ["]"]
    while at < len(pieces):
        if pieces[at] == "]":
            return at
        kind = pieces[at + 1] if pieces[at] == "[" and at + 1 < len(pieces) else ""
        if kind in (":", "=", ".") and kind:
            while at + 1 < len(pieces) and pieces[at + 1] != "]":
                at += 1
            at += 1
        at += 1
    return None


def _set_of(pieces: list[str]) -> str:
    """The characters between brackets; classes such as ``[:alpha:]`` count as any."""
    inside = "".join(piece[-1] for piece in pieces)
    if ":" in inside or "=" in inside or "." in inside:
        return "."
    negated = inside[:1] in ("!", "^")
    letters = re.sub(r"([\\\]\[^&~|])", r"\\\1", inside[1:] if negated else inside)
    try:
        re.compile(f"[{letters}]")
    except re.error:
        return "."
    return f"[^{letters}]" if negated else f"[{letters}]"
