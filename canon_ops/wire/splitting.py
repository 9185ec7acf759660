"""Cutting an answer into messages that the server accepts, without losing a character that matters.

The server counts UTF-8 bytes. A cut falls on a blank line, else a newline, else a space near the end of the part, and
the separator is dropped there; where there is none, it falls between two code points. One refinement stands on top of
the published algorithm: a cut that would fall inside what people see as one character (a letter with its accents, a
flag, a family) moves back to where that character starts. Code fences are never touched.

The rules for such clusters are the part of Unicode's that the standard library can tell: combining marks, joiners,
variation selectors, skin tones, tags, pairs of regional indicators, Hangul syllables. A cluster that is longer than a
whole part is cut all the same.

Lone surrogates count three bytes and pass through: a model may emit one, and refusing the answer would lose it.

Source: Canon wire 7.7; canon-adapter R7.10, R7.11.
"""

from __future__ import annotations

import unicodedata
from typing import Final

__all__ = ["ACCUMULATION_BYTES", "PART_BYTES", "TEXT_CAP_BYTES", "byte_length", "fits", "split"]

TEXT_CAP_BYTES: Final = 4_096  # server cap on the text of one message, Canon wire 7.7
PART_BYTES: Final = 3_800
ACCUMULATION_BYTES: Final = 60_800  # what a streamed segment may grow to: 16 parts

_WINDOW: Final = 400  # code points before the cut in which a separator is looked for
_SMALLEST_BUDGET: Final = 4  # one code point of four bytes must fit
_SEPARATORS: Final = (b"\n\n", b"\n", b" ")
_LINE_FEED: Final = 0x0A

_JOINER: Final = "\u200d"
_NON_JOINER: Final = "\u200c"
_MARKS: Final = {"Mn", "Me", "Mc"}  # variation selectors and keycaps are marks too
_PICTOGRAPHS: Final = {"So", "Sm", "Po", "Cn"}  # categories that hold them; Cn: newer than this Python
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
_TAGS: Final = range(0xE0020, 0xE0080)
_REGIONAL: Final = range(0x1F1E6, 0x1F200)
_HANGUL_L: Final = range(0x1100, 0x1160)
_HANGUL_V: Final = range(0x1160, 0x11A8)
_HANGUL_T: Final = range(0x11A8, 0x1200)
_HANGUL_SYLLABLES: Final = range(0xAC00, 0xD7A4)
_HANGUL_TAILS: Final = 28  # syllables per leading pair; the first of them has no tail


def byte_length(text: str) -> int:
    """How many bytes the server counts; a lone surrogate counts three."""
    return len(text.encode("utf-8", "surrogatepass"))


def fits(text: str, max_bytes: int) -> bool:
    """Whether ``text`` has at most ``max_bytes`` bytes; cheap for texts far above or below."""
    if len(text) > max_bytes:
        return False
    return len(text) * 4 <= max_bytes or byte_length(text) <= max_bytes


def split(text: str, max_bytes: int = PART_BYTES) -> tuple[str, ...]:
    """Cut ``text`` into parts of at most ``max_bytes`` bytes; a text that fits is one part, unchanged.

    Parts are never empty, and apart from the separators dropped at the cuts their join is the text. Time is linear in
    the length of the text.

    Raises:
        ValueError: ``max_bytes`` is below 4, so that a single code point might not fit.
    """
    if max_bytes < _SMALLEST_BUDGET:
        raise ValueError(f"a part needs at least {_SMALLEST_BUDGET} bytes, not {max_bytes}")
    budget = min(max_bytes, TEXT_CAP_BYTES)
    if fits(text, budget):
        return (text,)
    data = text.encode("utf-8", "surrogatepass")
    parts: list[str] = []
    start = 0
    while len(data) - start > budget:
        end, resume = _boundary(data, start, _code_point_start(data, start + budget))
        parts.append(_decoded(data, start, end))
        start = resume
    return (*parts, _decoded(data, start, len(data)))


def _decoded(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "surrogatepass")


def _code_point_start(data: bytes, position: int) -> int:
    """``position``, moved back to the first byte of the code point it falls into."""
    while data[position] & 0xC0 == 0x80:
        position -= 1
    return position


def _boundary(data: bytes, start: int, cut: int) -> tuple[int, int]:
    """Where the part that begins at ``start`` ends, and where the next one begins, in bytes."""
    window = max(start, cut - 4 * _WINDOW)  # bytes that hold the window whatever its code points are
    for separator in _SEPARATORS:
        position = data.rfind(separator, window, cut)
        if position > start and len(_decoded(data, position, cut)) <= _WINDOW:
            return position, position + len(separator)
    whole = _whole_clusters(data, start, cut)
    return whole, whole


def _whole_clusters(data: bytes, start: int, cut: int) -> int:
    """``cut``, moved back to the start of the cluster it falls into."""
    if data[cut] < 0x80 and data[cut] != _LINE_FEED:
        return cut  # no ASCII character but a newline belongs to the one before it
    inside = _decoded(data, start, cut)
    following = _decoded(data, cut, cut + _width(data[cut]))
    return start + byte_length(inside[: _cluster_start(inside + following)])


def _width(first_byte: int) -> int:
    """How many bytes the code point has that begins with this one."""
    if first_byte < 0x80:
        return 1
    return 2 if first_byte < 0xE0 else 3 if first_byte < 0xF0 else 4


def _cluster_start(text: str) -> int:
    """Where the cluster of the last code point begins; at that code point when the cluster is the whole text."""
    last = len(text) - 1
    position = last
    while position > 0 and _joined(text, position):
        position -= 1
    return position or last


def _joined(text: str, position: int) -> bool:
    """Whether the code points before and at ``position`` belong to one cluster."""
    before, after = text[position - 1], text[position]
    if after < "\u0300" and before < "\u0300":
        return before == "\r" and after == "\n"
    if before in "\r\n":
        return False
    return (
        _extends(after)
        or (before == _JOINER and unicodedata.category(after) in _PICTOGRAPHS)
        or _is_second_regional(text, position)
        or _is_hangul_pair(ord(before), ord(after))
    )


def _extends(character: str) -> bool:
    """Whether the character only changes the one before it."""
    code = ord(character)
    return (
        character in (_JOINER, _NON_JOINER)
        or code in _SKIN_TONES
        or code in _TAGS
        or unicodedata.category(character) in _MARKS
    )


def _is_second_regional(text: str, position: int) -> bool:
    if ord(text[position]) not in _REGIONAL or ord(text[position - 1]) not in _REGIONAL:
        return False
    first = position - 1
    while first > 0 and ord(text[first - 1]) in _REGIONAL:
        first -= 1
    return (position - first) % 2 == 1


def _is_hangul_pair(before: int, after: int) -> bool:
    if before in _HANGUL_L:
        return after in _HANGUL_L or after in _HANGUL_V or after in _HANGUL_SYLLABLES
    takes_vowel = before in _HANGUL_SYLLABLES and (before - _HANGUL_SYLLABLES.start) % _HANGUL_TAILS == 0
    if after in _HANGUL_V:
        return before in _HANGUL_V or takes_vowel
    if after in _HANGUL_T:
        return before in _HANGUL_V or before in _HANGUL_T or before in _HANGUL_SYLLABLES
    return False
