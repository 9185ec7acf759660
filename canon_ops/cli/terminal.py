"""Output for people at a terminal: marks, aligned fields, tables, coloured diffs.

Single lines are painted here; rich is imported only when a table is drawn. Data never passes a markup parser, and
control characters in it are shown instead of obeyed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from canon_ops.cli.output import Block, Diff, Fields, Item, Line, Mark, Raw, Row, Table

__all__ = ["Canvas", "mark_of", "paint", "render", "visible", "wrapped"]

_SIGNS = {
    Mark.OK: ("✓", "ok", "32"),
    Mark.INFO: ("i", "i", "36"),
    Mark.WARNING: ("!", "!", "33"),
    Mark.ERROR: ("✗", "x", "31"),
    Mark.SKIPPED: ("-", "-", "2"),
    Mark.UNKNOWN: ("?", "?", "35"),
}
_DIFF_COLOURS = (("+++", "1"), ("---", "1"), ("@@", "36"), ("+", "32"), ("-", "31"))
BOLD, DIM, RED, YELLOW = "1", "2", "31", "33"


@dataclass(frozen=True, slots=True)
class Canvas:
    """What can be drawn on.

    Attributes:
        width: columns, for tables and for sentences that wrap.
        colour: whether escape sequences are wanted.
        unicode: whether the stream can encode marks beyond ASCII.
    """

    width: int
    colour: bool
    unicode: bool


def render(view: Sequence[Block], canvas: Canvas) -> str:
    """The whole answer as text for one terminal."""
    names = max((len(block.name) for block in view if isinstance(block, Item)), default=0)
    return "".join(f"{line}\n" for block in view for line in _lines(block, canvas, names))


def paint(text: str, code: str, *, colour: bool) -> str:
    """Wrap ``text`` in one SGR code, or leave it."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text


def mark_of(mark: Mark, canvas: Canvas) -> str:
    """The mark alone, in its colour, in the form that the stream can show."""
    sign, ascii_sign, code = _SIGNS[mark]
    return paint(sign if canvas.unicode else ascii_sign, code, colour=canvas.colour)


def visible(text: str) -> str:
    """Control characters written out, so that data cannot move the cursor, rename the window or reverse the line."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char.isprintable() or char in "\n\t\N{NO-BREAK SPACE}\N{ZERO WIDTH JOINER}":
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def _lines(block: Block, canvas: Canvas, name_width: int) -> Iterator[str]:
    match block:
        case Line(text, mark):
            yield f"{mark_of(mark, canvas)} {visible(text)}" if mark else visible(text)
        case Fields(pairs):
            label_width = max((len(label) for label, _ in pairs), default=0)
            for label, value in pairs:
                yield f"{paint(label, DIM, colour=canvas.colour)}{' ' * (label_width - len(label))}  {visible(value)}"
        case Table():
            yield from _table(block, canvas)
        case Item():
            yield from _item(block, canvas, name_width)
        case Row(cells, mark):
            sign = mark_of(mark, canvas) if mark else " "
            yield f"{sign} {visible('  '.join(cells))}".replace("\n", "\n    ")
        case Diff(text):
            for line in text.splitlines():
                code = next((code for start, code in _DIFF_COLOURS if line.startswith(start)), "")
                yield paint(visible(line), code, colour=canvas.colour and bool(code))
        case Raw(text):
            yield visible(text.removesuffix("\n"))
        case _:
            assert_never(block)


def _item(item: Item, canvas: Canvas, name_width: int) -> Iterator[str]:
    """``mark  name  sentence``, the sentence wrapped under itself, ``fix:`` on a line of its own."""
    sign_width = 1 if canvas.unicode else 2
    shown = _SIGNS[item.mark][0 if canvas.unicode else 1]
    margin = sign_width + 1 + name_width + 2
    sentence = wrapped(visible(item.text), canvas.width, margin)
    yield (
        f"{mark_of(item.mark, canvas)}{' ' * (sign_width - len(shown) + 1)}{item.name.ljust(name_width)}  {sentence[0]}"
    )
    yield from sentence[1:]
    if item.fix:
        yield f"{' ' * (sign_width + 1)}{paint('fix:', BOLD, colour=canvas.colour)} {visible(item.fix)}"


def wrapped(text: str, width: int, margin: int) -> list[str]:
    """Lines of ``text`` that fit right of ``margin``; long words (paths) stay whole, so that they can be copied."""
    indent = " " * margin
    lines = textwrap.wrap(
        text, max(width - margin, 20), break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    return [lines[0] if lines else "", *(indent + line for line in lines[1:])]


def _table(table: Table, canvas: Canvas) -> list[str]:
    from io import StringIO

    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="bold" if canvas.colour else "")
    for index, column in enumerate(table.columns):
        justify: Literal["right", "left"] = "right" if index in table.right else "left"
        drawn.add_column(Text(column), justify=justify, overflow="fold", no_wrap=index in table.whole)
    for row in table.rows:
        drawn.add_row(*(Text(visible(cell)) for cell in row))
    paper = StringIO()
    console = Console(
        file=paper,
        width=canvas.width,
        force_terminal=canvas.colour,
        color_system="standard" if canvas.colour else None,
        no_color=not canvas.colour,
        legacy_windows=False,
        _environ={},  # the decision about colour and width is ours: colour.py, streams.py
    )
    console.print(drawn)
    return [line.rstrip() for line in paper.getvalue().splitlines()]
