"""Values from the command line."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.files.values import BadValue, parse_value
from canon_ops.files.yaml_reader import same


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("0", 0),
        ("-12", -12),
        ("1.50", 1.5),
        ("off", "off"),
        ("True", "True"),
        ("007", "007"),  # N-10
        ("12:30", "12:30"),
        ("1e3", "1e3"),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("+1", "+1"),
        (".5", ".5"),
        ("", ""),
        ("~", "~"),
        ("[canon-hermes]", "[canon-hermes]"),  # N-9
        ("1" * 400 + ".0", "1" * 400 + ".0"),
    ],
)
def test_auto_reads_only_what_nobody_misreads(text: str, value: Any) -> None:
    """BR-07, N-9, N-10: everything but plain numbers, true, false and null is text."""
    assert same(parse_value(text), value)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("007", "int", 7),
        ("true", "str", "true"),
        ("off", "bool", False),
        ("YES", "bool", True),
        ("1e3", "float", 1000.0),
        ("3", "float", 3.0),
        ("", "null", None),
        ('{"a": [1, null]}', "json", {"a": [1, None]}),
        ('"x"', "json", "x"),
    ],
)
def test_a_type_can_be_asked_for(text: str, kind: str, value: Any) -> None:
    """--type says what the text is."""
    assert same(parse_value(text, kind), value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", "int"),
        ("1.5", "int"),
        ("maybe", "bool"),
        ("x", "float"),
        ("1e999", "float"),
        ("nan", "float"),
        ("x", "null"),
        ("{", "json"),
        ("NaN", "json"),
        ('{"a": 1, "a": 2}', "json"),
        ("x", "colour"),
    ],
)
def test_what_is_not_of_the_type_is_refused(text: str, kind: str) -> None:
    """A value that does not fit its type is a usage error that offers --type str, or the list of types."""
    with pytest.raises(BadValue) as caught:
        parse_value(text, kind)

    assert caught.value.fix is not None
