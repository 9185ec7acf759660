"""Output for people at a terminal: marks, aligned fields, tables, coloured diffs.

Single lines are painted here; rich is imported only when a table is drawn. Data never passes a markup parser, and
control characters in it are shown instead of obeyed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal, assert_never

from canon_ops.cli.output import Block, Diff, Fields, Item, Line, Mark, Raw, Row, Table
from canon_ops.lean import dataclass

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
            yield from _line(text, mark, canvas)
        case Fields(pairs):
            shown = [(visible(label), value) for label, value in pairs]
            label_width = max((len(label) for label, _ in shown), default=0)
            for label, value in shown:
                first, *others = wrapped(visible(value), canvas.width, label_width + 2)
                yield f"{paint(label, DIM, colour=canvas.colour)}{' ' * (label_width - len(label))}  {first}"
                yield from others
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


def _line(text: str, mark: Mark | None, canvas: Canvas) -> Iterator[str]:
    """A sentence is wrapped; what ends otherwise is a path or a command, which is copied as a whole."""
    sign = f"{mark_of(mark, canvas)} " if mark else ""
    margin = len(_SIGNS[mark][0 if canvas.unicode else 1]) + 1 if mark else 0
    is_sentence = text.endswith(".") and "\n" not in text
    first, *others = wrapped(visible(text), canvas.width, margin) if is_sentence else [visible(text)]
    yield f"{sign}{first}"
    yield from others


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


def _widths(table: Table, available: int) -> list[int] | None:
    """The width of each column so that no word is broken; None when that is too much for one line.

    The column with the most to spare gives way first, and none becomes narrower than its longest word.
    """
    from rich.cells import cell_len

    columns = [[heading, *(visible(row[index]) for row in table.rows)] for index, heading in enumerate(table.columns)]
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    narrowest = [
        widths[index]
        if index in table.whole
        else max((cell_len(word) for cell in column for word in cell.split()), default=0)
        for index, column in enumerate(columns)
    ]
    gaps = 2 * (len(columns) - 1)  # rich pads each column by one on both sides
    while (over := sum(widths) + gaps - available) > 0:
        spare, index = max((widths[number] - narrowest[number], number) for number in range(len(widths)))
        if spare <= 0:
            return None
        widths[index] -= min(over, max(1, spare // 2))
    return widths


def _stacked(table: Table, canvas: Canvas) -> list[str]:
    """Records one below the other, for a terminal that is too narrow for their table.

    The first column leads, together with the second where it does not tell the records apart.
    """
    leads = 1 if len({row[0] for row in table.rows}) == len(table.rows) else 2
    inner = Canvas(max(canvas.width - 2, 20), canvas.colour, canvas.unicode)
    lines: list[str] = []
    for row in table.rows:
        cells = zip(table.columns[leads:], row[leads:], strict=True)
        pairs = [(heading, cell) for heading, cell in cells if cell]
        lines.append(paint(visible(" ".join(row[:leads])), BOLD, colour=canvas.colour))
        lines += [f"  {line}" for line in _lines(Fields(pairs), inner, 0)]
    return lines


def _table(table: Table, canvas: Canvas) -> list[str]:
    from io import StringIO

    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    widths = _widths(table, canvas.width)
    if widths is None:
        return _stacked(table, canvas)
    drawn = RichTable(box=None, pad_edge=False, header_style="bold" if canvas.colour else "")
    for index, (column, width) in enumerate(zip(table.columns, widths, strict=True)):
        justify: Literal["right", "left"] = "right" if index in table.right else "left"
        drawn.add_column(Text(column), justify=justify, overflow="fold", no_wrap=index in table.whole, width=width)
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
