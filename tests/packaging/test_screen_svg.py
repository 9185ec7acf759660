"""A picture of a screen is well-formed, holds every character in its place, and asks nobody for anything."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

from scripts.screen_svg import CHARACTER, COLOURS, MARGIN, screen_svg
from tests.support.terminal import Run, Screen

SVG = "{http://www.w3.org/2000/svg}"


def test_each_run_stands_in_its_column_with_its_colour() -> None:
    """Marks of XML are text, blanks are kept, and what has no colour of its own has the picture's."""
    rows = [
        [Run("a<b & ", "default", False), Run("c", "red", True)],
        [],
        [Run("   ", "default", False), Run("d", "0a0b0c", False)],
    ]

    root = ElementTree.fromstring(screen_svg(rows, columns=20, title="<what> it is"))  # noqa: S314 - it is ours

    texts = root.findall(f".//{SVG}text")
    assert root.findtext(f"{SVG}title") == "<what> it is"
    assert [text.text for text in texts] == ["a<b & ", "c", "d"]
    columns = [round((float(text.attrib["x"]) - MARGIN) / CHARACTER) for text in texts]
    assert columns == [0, 6, 3]
    assert [text.get("fill") for text in texts] == [None, COLOURS["red"], None]
    assert [text.get("font-weight") for text in texts] == [None, "bold", None]
    assert float(texts[2].attrib["y"]) - float(texts[0].attrib["y"]) == 2 * 19


def test_a_picture_asks_nobody() -> None:
    """No script, no style sheet, no font and no picture from elsewhere; the name space is the only address."""
    text = screen_svg([[Run("x", "green", False)]], columns=3, title="x")

    assert text.count("http") == 1
    assert not any(word in text for word in ("<script", "<style", "@import", "href", "url("))


def test_a_screen_gives_its_lines_in_runs() -> None:
    """Colours and weight begin and end where the program said so; blanks at the end are no part of it."""
    program = r"print('plain \x1b[31;1mred\x1b[0m end   '); print(); print('\x1b[32mgreen\x1b[0m')"

    with Screen([sys.executable, "-c", program], {}, columns=30, rows=5) as screen:
        assert screen.finish() == 0
        rows = screen.rows

    assert rows[0] == [Run("plain ", "default", False), Run("red", "red", True), Run(" end", "default", False)]
    assert rows[1:] == [[], [Run("green", "green", False)]]
