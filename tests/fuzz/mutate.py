"""From good inputs to bad ones, by the hand of a seeded random source: the same seed gives the same inputs.

Most of what a parser does is reached by inputs that are nearly right, so each one begins as a good one and suffers a
few edits: something is cut out, doubled, moved, swapped with a piece of another good input, or a word of the grammar is
put where it does not belong.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

__all__ = ["MOST_BYTES", "mutated"]

MOST_BYTES = 4_096
EDITS = (0, 1, 1, 2, 2, 3, 5, 8)
ODD = (
    b"\x00", b"\x1b[2J", b"\x7f", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xe2\x80\xae",
    b"\xf0\x9f\x9a\x80", b"\\ud800", b"\\u0000", b"\r", b"\r\n", b"\n", b"\t", b" ", b"\\", b'"', b"'", b"#", b"${A}",
    b"9" * 400, b"-1", b"1e999", b"NaN", b"null", b"true", b"[" * 120, b"{" * 120, b"a" * 300, b"../", b"%00", b"",
)  # fmt: skip


def mutated(random: Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """One input.

    Args:
        seeds: good inputs.
        words: of their grammar.
    """
    data = random.choice(seeds)
    for _ in range(random.choice(EDITS)):
        data = _edited(random, data, seeds, words)
    return data[:MOST_BYTES]


def _edited(random: Random, data: bytes, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 1, 1, 2, 4, 16, 64)))
    match random.randrange(8):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:end] + data[start:end] * random.choice((1, 2, 30)) + data[end:]
        case 2:
            return data[:start] + random.choice(words) + data[end:]
        case 3:
            return data[:start] + random.choice(ODD) + data[end:]
        case 4:
            return data[:start] + bytes([random.randrange(256)]) + data[end:]
        case 5:
            other = random.choice(seeds)
            cut = random.randint(0, len(other))
            return data[:start] + other[cut : cut + random.choice((1, 8, 64, 512))] + data[end:]
        case 6:
            lines = data.split(b"\n")
            random.shuffle(lines)
            return b"\n".join(lines)
        case _:
            return data[:start]
