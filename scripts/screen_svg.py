"""A screen as a picture: lines of coloured text in an SVG that needs no font from elsewhere and no script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from tests.support.terminal import Run

__all__ = ["screen_svg"]

CHARACTER: Final = 8.43  # of a monospaced font of 14 px; textLength holds each run to it, whatever the font
LINE: Final = 19
MARGIN: Final = 16
INK: Final = "#d8dee9"
COLOURS: Final = {
    "red": "#ff7a85",
    "green": "#9fd67f",
    "brown": "#f0cf7f",  # what pyte calls yellow
    "yellow": "#f0cf7f",
    "blue": "#7fb4f0",
    "magenta": "#d7a1e0",
    "cyan": "#7fd6d0",
    "white": "#ffffff",
    "brightblack": "#8b93a3",
}


def screen_svg(rows: Sequence[Sequence[Run]], *, columns: int, title: str) -> str:
    """The picture of ``rows`` on a dark ground, readable on a light page and on a dark one.

    Args:
        columns: how wide the screen was.
        title: what it shows, for those who do not see it.
    """
    width, height = round(columns * CHARACTER + 2 * MARGIN), len(rows) * LINE + 2 * MARGIN
    lines = [line for number, row in enumerate(rows) for line in _line(row, MARGIN + (number + 1) * LINE - 5)]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#1b1f27"/>',
            f'<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="{INK}" xml:space="preserve">',
            *lines,
            "</g>",
            "</svg>",
            "",
        )
    )


def _line(row: Sequence[Run], y: int) -> list[str]:
    found, column = [], 0
    for run in row:
        if run.text.strip():
            x = MARGIN + column * CHARACTER
            colour = f' fill="{COLOURS.get(run.colour, INK)}"' if run.colour in COLOURS else ""
            bold = ' font-weight="bold"' if run.bold else ""
            length = f'textLength="{len(run.text) * CHARACTER:.1f}"'
            found.append(f'<text x="{x:.1f}" y="{y}" {length}{colour}{bold}>{escape(run.text)}</text>')
        column += len(run.text)
    return found
