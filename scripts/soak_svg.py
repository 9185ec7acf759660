"""A soak as a picture: one strip a measure, one line a gateway, a mark for each replacement. Pure.

An SVG that needs no font from elsewhere and no script, readable on a light page and on a dark one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from tests.support.soaking import Point

__all__ = ["COLOURS", "Line", "Mark", "Strip", "soak_svg"]

WIDTH: Final = 860
LEFT: Final = 240  # names and numbers stand there
RIGHT: Final = 20
STRIP: Final = 96  # from the top of one strip to that of the next
DRAWN: Final = 68  # of them
TOP: Final = 48
GROUND: Final = "#1b1f27"
INK: Final = "#d8dee9"
FAINT: Final = "#4a5260"
COLOURS: Final = ("#7fb4f0", "#f0cf7f")


@dataclass(frozen=True, slots=True)
class Line:
    """What one process came to, oldest first; a gateway that was replaced has one line a life."""

    gateway: int
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Strip:
    """One measure over the whole time."""

    name: str
    unit: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Mark:
    """A gateway was away from here to there."""

    gateway: int
    begin_s: float
    end_s: float


def soak_svg(
    strips: Sequence[Strip], marks: Sequence[Mark], *, seconds: float, title: str, names: Sequence[str]
) -> str:
    """Draw everything over the same time.

    Args:
        seconds: the whole of it.
        title: what it shows, for those who do not see it too.
        names: of the gateways.
    """
    height = TOP + len(strips) * STRIP + 16
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{GROUND}"/>',
            f'<g font-family="ui-sans-serif,Helvetica,Arial,sans-serif" font-size="12" fill="{INK}">',
            *_legend(names),
            *(line for row, strip in enumerate(strips) for line in _strip(strip, marks, TOP + row * STRIP, seconds)),
            *_times(seconds, TOP + (len(strips) - 1) * STRIP + DRAWN + 16),
            "</g>",
            "</svg>",
            "",
        )
    )


def _legend(names: Sequence[str]) -> Iterator[str]:
    for number, name in enumerate(names):
        x = LEFT + number * 120
        yield f'<rect x="{x}" y="16" width="14" height="4" fill="{COLOURS[number % len(COLOURS)]}"/>'
        yield f'<text x="{x + 20}" y="23">gateway {escape(name)}</text>'
    yield f'<text x="{LEFT + len(names) * 120}" y="23" fill="{INK}" opacity="0.7">shaded: being replaced</text>'


def _strip(strip: Strip, marks: Sequence[Mark], top: float, seconds: float) -> Iterator[str]:
    """From zero to a tenth above the highest, so that a line which looks level is level."""
    values = [value for line in strip.lines for _, value in line.points]
    low, high = min([0.0, *values]), max([1.0, *values]) * 1.1
    yield f'<text x="12" y="{top + DRAWN / 2 + 6:.1f}">{escape(strip.name)}</text>'
    for at, value in ((top + 4, high), (top + DRAWN, low)):
        number, place = _number(value, strip.unit), f'x="{LEFT - 8}" y="{at + 4:.1f}"'
        yield f'<text {place} text-anchor="end" opacity="0.7">{number}</text>'
        span = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"'
        yield f'<line {span} stroke="{FAINT}" stroke-width="0.5"/>'
    for mark in marks:
        x, end = _x(mark.begin_s, seconds), _x(mark.end_s, seconds)
        place = f'x="{x:.1f}" y="{top + 4:.1f}" width="{end - x:.1f}" height="{DRAWN - 4}"'
        yield f'<rect {place} fill="{COLOURS[mark.gateway % len(COLOURS)]}" opacity="0.15"/>'
    for line in strip.lines:
        drawn = " ".join(
            f"{_x(at_s, seconds):.1f},{top + 4 + (DRAWN - 4) * (high - value) / (high - low):.1f}"
            for at_s, value in line.points
        )
        colour = COLOURS[line.gateway % len(COLOURS)]
        yield f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.2"/>'


def _times(seconds: float, y: float) -> Iterator[str]:
    for quarter in range(5):
        at_s = seconds * quarter / 4
        anchor = "end" if quarter == 4 else "middle" if quarter else "start"
        place = f'x="{_x(at_s, seconds):.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        yield f'<text {place} opacity="0.7">{at_s / 60:.0f} min</text>'


def _x(at_s: float, seconds: float) -> float:
    return LEFT + (WIDTH - RIGHT - LEFT) * min(max(at_s / seconds, 0.0), 1.0)


def _number(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}".strip()
