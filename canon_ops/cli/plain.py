"""Output for pipes: one record a line, fields parted by tabs, no colour, no box, nothing cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from canon_ops.cli.output import Block, Diff, Fields, Item, Line, Raw, Row, Table

__all__ = ["render"]

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def render(view: Sequence[Block]) -> str:
    """The whole answer as text; a tab, a line end or a backslash inside a field is written as in C."""
    return "".join(line for block in view for line in _lines(block))


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
    return "\t".join(field.translate(_ESCAPES) for field in fields) + "\n"
