"""What people see: whole screens, compared character by character."""

from __future__ import annotations

import pytest

from canon_ops.cli.output import Diff, Fields, Item, Line, Mark, Table
from canon_ops.cli.terminal import Canvas, render

PLAIN_CANVAS = Canvas(width=60, colour=False, unicode=True)
VIEW = (
    Line("Hermes profile default: /home/a/.hermes/config.yaml"),
    Fields((("canon-ops", "0.1.0"), ("python", "3.13.1"))),
    Item(Mark.OK, "host.found", "Hermes 0.19.0 is here."),
    Item(
        Mark.ERROR,
        "plugin.installed",
        "The plugin is not in the host's interpreter /opt/hermes/venv/bin/python, so the gateway cannot load it.",
        "canon-ops install canon",
    ),
)


def test_a_report_wraps_sentences_under_themselves_and_puts_the_fix_below() -> None:
    """Marks, names and sentences stand in columns; a path is never broken."""
    assert render(VIEW, PLAIN_CANVAS) == (
        "Hermes profile default: /home/a/.hermes/config.yaml\n"
        "canon-ops  0.1.0\n"
        "python     3.13.1\n"
        "✓ host.found        Hermes 0.19.0 is here.\n"
        "✗ plugin.installed  The plugin is not in the host's\n"
        "                    interpreter /opt/hermes/venv/bin/python,\n"
        "                    so the gateway cannot load it.\n"
        "  fix: canon-ops install canon\n"
    )


def test_marks_have_ascii_forms() -> None:
    """A stream that cannot encode the signs gets letters, in the same columns."""
    view = [Item(mark, mark.value, "Sentence.") for mark in Mark]

    drawn = render(view, Canvas(width=80, colour=False, unicode=False))

    assert drawn == (
        "ok ok       Sentence.\n"
        "i  info     Sentence.\n"
        "!  warning  Sentence.\n"
        "x  error    Sentence.\n"
        "-  skipped  Sentence.\n"
        "?  unknown  Sentence.\n"
    )


def test_colour_paints_marks_and_diffs_and_nothing_else() -> None:
    """With colour on, the words stay the words."""
    view = (Item(Mark.OK, "a", "b"), Diff("--- x\n+++ x\n@@ -1 +1 @@\n-old\n+new\n same\n"))

    drawn = render(view, Canvas(width=80, colour=True, unicode=True))

    assert drawn == (
        "\x1b[32m✓\x1b[0m a  b\n"
        "\x1b[1m--- x\x1b[0m\n\x1b[1m+++ x\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n"
        "\x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n same\n"
    )


def test_a_table_folds_long_cells_and_reads_no_markup() -> None:
    """Square brackets are text, numbers align right, nothing is cut."""
    table = Table(("name", "count", "where"), (("a", "1", "[/some/path]"), ("bb", "200", "x" * 30)), frozenset({1}))

    drawn = render((table,), Canvas(width=32, colour=False, unicode=True))

    assert drawn == (
        "name  count  where\n"
        "a         1  [/some/path]\n"
        "bb      200  xxxxxxxxxxxxxxxxxxx\n"
        "             xxxxxxxxxxx\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("a\x1b[2Jb\x07", "a\\x1b[2Jb\\x07"),
        ("name\u202egnp.exe", "name\\u202egnp.exe"),
        ("caf\u00e9 \N{NO-BREAK SPACE}10", "caf\u00e9 \N{NO-BREAK SPACE}10"),
        ("\N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET}", "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET}"),
        ("\udc80", "\\udc80"),
    ],
    ids=["escape and bell", "reversed text", "no-break space", "joined emoji", "undecodable byte"],
)
def test_control_characters_in_data_are_shown_not_obeyed(data: str, shown: str) -> None:
    """A file name cannot clear the screen or read backwards; ordinary text of any language stays as it is."""
    assert render((Line(data),), PLAIN_CANVAS) == f"{shown}\n"
