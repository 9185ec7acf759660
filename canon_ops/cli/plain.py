"""Output for pipes: one record a line, fields parted by tabs, no colour, no box, nothing cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from re import Match

from canon_ops.cli.output import COMMANDS, Block, Diff, Fields, Item, Line, Raw, Row, Table
from canon_ops.hints import assert_never
from canon_ops.lean import late_pattern

__all__ = ["render"]

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_COMMANDS = late_pattern(COMMANDS)


def render(view: Sequence[Block], *, is_screen: bool = False) -> str:
    """The whole answer as text.

    A tab, a line end, a backslash or a character that a terminal obeys is written as in C where it stands inside a
    field; a text that is itself the answer, and a diff, leave as they are.

    Args:
        is_screen: a terminal stands at the other end all the same; then nothing leaves that it would obey.
    """
    text = "".join(line for block in view for line in _lines(block))
    return _COMMANDS.sub(_escaped, text) if is_screen else text


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Line(text, for_people_only=only_people):
            if not only_people:
                yield _record(text)
        case Fields(pairs):
            yield from (_record(*pair) for pair in pairs)
        case Table(_, rows):
            yield from (_record(*row) for row in rows)
        case Item(mark, name, text, fix):
            yield _record(mark.value, name, text, fix or "")
        case Row(cells):
            yield _record(*cells)
        case Diff(text) | Raw(text):
            yield text if not text or text.endswith("\n") else text + "\n"
        case _:
            assert_never(block)


def _record(*fields: str) -> str:
    return "\t".join(_COMMANDS.sub(_escaped, field.translate(_ESCAPES)) for field in fields) + "\n"


def _escaped(found: Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
