"""The colour decision, rule by rule."""

from __future__ import annotations

import pytest

from canon_ops.cli.colour import ColourChoice, wants_colour

CASES: list[tuple[ColourChoice, dict[str, str], bool, bool]] = [
    # choice, environment, is a terminal, expected
    ("auto", {}, True, True),
    ("auto", {}, False, False),
    ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
    ("never", {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
    ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ("auto", {"NO_COLOR": ""}, True, True),
    ("auto", {"FORCE_COLOR": "1"}, False, True),
    ("auto", {"FORCE_COLOR": "3", "CLICOLOR": "0", "TERM": "dumb"}, False, True),
    ("auto", {"FORCE_COLOR": "0", "CLICOLOR_FORCE": "1"}, True, False),
    ("auto", {"FORCE_COLOR": ""}, True, False),
    ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
    ("auto", {"CLICOLOR_FORCE": "1", "CLICOLOR": "0", "TERM": "dumb"}, False, True),
    ("auto", {"CLICOLOR_FORCE": "0"}, False, False),
    ("auto", {"CLICOLOR_FORCE": "0"}, True, True),
    ("auto", {"CLICOLOR": "0"}, True, False),
    ("auto", {"CLICOLOR": "1"}, False, False),
    ("auto", {"TERM": "dumb"}, True, False),
    ("auto", {"TERM": "xterm-256color"}, True, True),
]


@pytest.mark.parametrize(
    ("choice", "environ", "is_terminal", "expected"),
    CASES,
    ids=[f"{choice} {environ} {'terminal' if tty else 'pipe'}" for choice, environ, tty, _ in CASES],
)
def test_the_first_rule_that_speaks_wins(
    choice: ColourChoice, environ: dict[str, str], is_terminal: bool, expected: bool
) -> None:
    """BR-46: the option, then NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR, TERM, and last what the stream is."""
    assert wants_colour(choice, environ, is_terminal=is_terminal) is expected
