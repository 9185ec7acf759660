"""What pipes get."""

from __future__ import annotations

from canon_ops.cli.output import Diff, Fields, Item, Line, Mark, Table
from canon_ops.cli.plain import render


def test_each_record_is_one_line_of_tab_separated_fields() -> None:
    """No heading, no padding, no cut, and a fix as the last field."""
    long = "x" * 300
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
