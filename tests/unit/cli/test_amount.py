"""Numbers that a clock can use."""

from __future__ import annotations

import importlib

import click
import pytest

from canon_ops.cli.amount import Amount
from canon_ops.cli.tree import leaves


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-inf", "Infinity", "1e300", "10000001", "0", "-1", "x", ""])
def test_what_no_clock_takes_is_a_wrong_call(text: str) -> None:
    """Each is refused where it is given."""
    with pytest.raises(click.UsageError):
        Amount(min=0, min_open=True).convert(text, None, None)


@pytest.mark.parametrize(("text", "found"), [("0.5", 0.5), ("10_000_000", 10_000_000.0), ("1e3", 1_000.0)])
def test_a_number_is_a_number(text: str, found: float) -> None:
    """Python's own spellings count."""
    assert Amount(min=0).convert(text, None, None) == found


def test_every_fraction_of_every_command_has_an_end() -> None:
    """A number with a fraction is an Amount, whoever asks for it."""
    for words, entry in leaves():
        module, _, attribute = entry.target.partition(":")
        command = getattr(importlib.import_module(f"canon_ops.cli.commands.{module}"), attribute)
        for parameter in command.params:
            if isinstance(parameter.type, click.types.FloatParamType):
                assert isinstance(parameter.type, Amount), (words, parameter.name)
