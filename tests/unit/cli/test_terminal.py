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
    """BR-46: square brackets are text, numbers align right, nothing is cut."""
    rows = (("a", "1", "[/some/path]"), ("bb", "200", " ".join(["xxxxxxxxx"] * 3)))
    table = Table(("name", "count", "where"), rows, frozenset({1}))

    drawn = render((table,), Canvas(width=32, colour=False, unicode=True))

    assert drawn == (
        "name  count  where\n"
        "a         1  [/some/path]\n"
        "bb      200  xxxxxxxxx xxxxxxxxx\n"
        "             xxxxxxxxx\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("a\x1b[2Jb\x07", "a\\x1b[2Jb\\x07"),
        ("name\u202egnp.exe", "name\\u202egnp.exe"),
        ("a\u061c1", "a\\u061c1"),
        ("caf\u00e9 \N{NO-BREAK SPACE}10", "caf\u00e9 \N{NO-BREAK SPACE}10"),
        ("\N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET}", "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET}"),
        ("\udc80", "\\udc80"),
    ],
    ids=["escape and bell", "reversed text", "arabic mark", "no-break space", "joined emoji", "undecodable byte"],
)
def test_control_characters_in_data_are_shown_not_obeyed(data: str, shown: str) -> None:
    """A file name cannot clear the screen or read backwards; ordinary text of any language stays as it is."""
    assert render((Line(data),), PLAIN_CANVAS) == f"{shown}\n"


KEYS = Table(
    ("key", "value", "advice"),
    (("display.platforms.canon.interim_assistant_messages", "true", "recommended: false"), ("a.b", "", "fine")),
)


def test_a_table_gives_way_without_breaking_a_word() -> None:
    """The sentence wraps; names and numbers beside it stay whole."""
    table = Table(("name", "problems"), (("canon.agent.profile", "It lacks agentName, registeredAt and baseUrl."),))

    lines = render((table,), Canvas(40, colour=False, unicode=True)).splitlines()

    assert lines[1].startswith("canon.agent.profile  It lacks")
    assert all(len(line) <= 40 for line in lines)
    assert " ".join(" ".join(lines[1:]).split()) == "canon.agent.profile It lacks agentName, registeredAt and baseUrl."


def test_a_table_that_cannot_fit_becomes_records() -> None:
    """Every name can be copied; an empty cell has no line."""
    drawn = render((KEYS,), Canvas(60, colour=False, unicode=True))

    assert drawn == (
        "display.platforms.canon.interim_assistant_messages\n"
        "  value   true\n"
        "  advice  recommended: false\n"
        "a.b\n"
        "  advice  fine\n"
    )
    assert render((KEYS,), Canvas(100, colour=False, unicode=True)).splitlines()[0].split() == [
        "key",
        "value",
        "advice",
    ]


def test_records_are_led_by_what_tells_them_apart() -> None:
    """Where the first column repeats itself, the second joins it."""
    table = Table(("platform", "setting", "value"), (("canon", "one", "x" * 30), ("canon", "two", "y" * 30)))

    assert render((table,), Canvas(35, colour=False, unicode=True)).splitlines()[::2] == ["canon one", "canon two"]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_sentences_wrap_and_commands_do_not(width: int) -> None:
    """What ends with a full stop is a sentence; a command line is copied as a whole, however long."""
    sentence = "Every line of .env is read alike by the gateway, by Hermes' commands and by a shell."
    command = "Next: canon-ops doctor --hermes-home /a/rather/long/folder --only creds.accepted"

    lines = render((Line(sentence, Mark.OK), Line(command)), Canvas(width, colour=False, unicode=True)).splitlines()

    assert lines[-1] == command
    assert all(len(line) <= max(width, 22) for line in lines[:-1])
    assert " ".join(" ".join(lines[:-1]).split()) == f"✓ {sentence}"
