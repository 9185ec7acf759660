"""What pipes get."""

from __future__ import annotations

import pytest

from canon_ops.cli.output import Block, Diff, Fields, Item, Line, Mark, Raw, Row, Table
from canon_ops.cli.plain import render


def test_each_record_is_one_line_of_tab_separated_fields() -> None:
    """BR-46: no heading, no padding, no markup, no cut, and a fix as the last field."""
    long = "[/some/path] " + "x" * 300
    view = (
        Line("One sentence."),
        Fields((("name", "value"),)),
        Table(("head", "head"), (("a", long), ("b", "2"))),
        Item(Mark.WARNING, "env.mode", "Others can read it.", "chmod 600 .env"),
        Item(Mark.OK, "env.parse", "It parses."),
        Diff("-a\n+b"),
    )

    assert render(view) == (
        "One sentence.\n"
        "name\tvalue\n"
        f"a\t{long}\nb\t2\n"
        "warning\tenv.mode\tOthers can read it.\tchmod 600 .env\n"
        "ok\tenv.parse\tIt parses.\t\n"
        "-a\n+b\n"
    )


def test_a_field_cannot_break_the_record() -> None:
    """Tabs, line ends and backslashes inside a field are escaped."""
    assert render((Fields((("a\tb", "c\nd\r\\e"),)),)) == "a\\tb\tc\\nd\\r\\\\e\n"


HOSTILE = "a\x1b]0;title\x07b\x9b2Jc\u202ed\x7fe\u2028f\u061cg"
SHOWN = "a\\x1b]0;title\\x07b\\x9b2Jc\\u202ed\\x7fe\\u2028f\\u061cg"


@pytest.mark.parametrize(
    "block",
    [
        Line(HOSTILE),
        Fields(((HOSTILE, HOSTILE),)),
        Table(("head",), ((HOSTILE,),)),
        Item(Mark.OK, HOSTILE, HOSTILE, HOSTILE),
        Row((HOSTILE,)),
    ],
    ids=lambda block: type(block).__name__,
)
def test_what_a_terminal_obeys_is_written_out(block: Block) -> None:
    """A pipe ends on a screen often enough: names and bodies of strangers cannot move its cursor or turn its lines."""
    shown = render((block,))

    assert SHOWN in shown
    assert shown.replace("\t", "").replace("\n", "").isprintable()


def test_a_text_that_is_the_answer_is_written_out_on_a_screen_only() -> None:
    """A program gets its bytes; ``--plain`` on a terminal shows nothing that the terminal would obey."""
    view = (Raw(f"{HOSTILE}\n"), Diff(f"-{HOSTILE}\n+b\tc"))

    assert render(view) == f"{HOSTILE}\n-{HOSTILE}\n+b\tc\n"
    assert render(view, is_screen=True) == f"{SHOWN}\n-{SHOWN}\n+b\tc\n"
