"""Names of places in config.yaml: ``a.b.c``, ``list[1].x`` or ``list.1.x``, ``a."b.c"[0]``.

A number between dots stays text here: whether it is an index or a key called "1" is known only where the document is.
"""

from __future__ import annotations

import re

from canon_ops.errors import UsageError
from canon_ops.hints import ClassVar
from canon_ops.lean import late_pattern

__all__ = ["MOST_NESTED", "BadPath", "Path", "format_path", "parse_path"]

Path = tuple[str | int, ...]

# Whoever walks through values calls himself once or twice a level, and Python ends that at a thousand calls, fewer
# where many stand on the stack already: the same text would be read in one place and be a fault in another. The editing
# engine ends at 256. So there is one number for all, far above what anybody writes.
MOST_NESTED = 250

_BARE = late_pattern(r"""[^.\[\]"'\s][^.\[\]"']*""")
_INDEX = late_pattern(r"\[\s*(\d{1,1000})\s*\]")
_DOUBLE = late_pattern(r'"((?:[^"\\]|\\.)*)"')
_SINGLE = late_pattern(r"'((?:[^']|'')*)'")


class BadPath(UsageError):
    """The text is not a path."""

    code: ClassVar[str] = "config_path"


def parse_path(text: str) -> Path:
    """Split a path into keys (text) and indexes (numbers).

    Raises:
        BadPath: empty, an empty part, an unclosed quote or bracket, or more parts than values may be nested.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        index = _INDEX.match(text, position)
        if index and parts:
            parts.append(int(index[1]))
            position = index.end()
            continue
        if parts:
            if text[position] != ".":
                raise _bad(text, position)
            position += 1
        key, position = _read_key(text, position)
        parts.append(key)
    if len(parts) > MOST_NESTED:
        raise BadPath(
            f"the path has {len(parts):,} parts, and a configuration nests {MOST_NESTED} at most",
            fix="name a place with fewer parts",
        )
    if not parts:
        raise BadPath("an empty path names nothing", fix="for example: plugins.enabled")
    return tuple(parts)


def format_path(path: Path) -> str:
    """The shortest text that ``parse_path`` reads as ``path``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        bare = _BARE.fullmatch(part) and part == part.strip()
        quoted = part.replace("\\", "\\\\").replace('"', '\\"')
        text += ("." if text else "") + (part if bare else f'"{quoted}"')
    return text


def _read_key(text: str, position: int) -> tuple[str, int]:
    if match := _DOUBLE.match(text, position):
        return re.sub(r"\\(.)", r"\1", match[1]), match.end()
    if match := _SINGLE.match(text, position):
        return match[1].replace("''", "'"), match.end()
    if match := _BARE.match(text, position):
        return match[0].rstrip(), match.end()
    raise _bad(text, position)


def _bad(text: str, position: int) -> BadPath:
    where = f"at character {position + 1}" if position < len(text) else "at its end"
    return BadPath(
        f"{text!r} is not a path: a key is expected {where}",
        fix="""write a.b.c, list[1].x, and keys with dots or brackets in quotes: a."b.c"[0]""",
    )
