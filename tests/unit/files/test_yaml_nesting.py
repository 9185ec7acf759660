"""What is nested deeper than anybody walks through is refused by one number, wherever it comes from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.config_refusals import ConfigRefused
from canon_ops.files.yaml_path import MOST_NESTED, BadPath, parse_path
from canon_ops.files.yaml_reader import ConfigSyntaxError, read_yaml


def nested(levels: int) -> dict[str, bytes]:
    """Texts whose deepest value stands in ``levels`` mappings and lists, one for each way to write them."""
    inside = levels - 1
    return {
        "blocks": b"".join(b" " * depth + b"k:\n" for depth in range(inside)) + b" " * inside + b"v: 1\n",
        "braces": b"k: " + b"{k: " * inside + b"1" + b"}" * inside + b"\n",
        "brackets": b"k: " + b"[" * inside + b"1" + b"]" * inside + b"\n",
        "dashes": b"k:\n" + b"- " * inside + b"1\n",
        "dashes among keys": (
            b"".join(b" " * depth + (b"k:\n" if depth % 2 == 0 else b"-\n") for depth in range(inside))
            + b" " * inside
            + (b"v: 1\n" if inside % 2 == 0 else b"- 1\n")
        ),
        "aliases": (
            b"a1: &a1 [1]\n"
            + b"".join(b"a%d: &a%d [*a%d]\n" % (n, n, n - 1) for n in range(2, inside))
            + b"k: [*a%d]\n" % (inside - 1)
        ),
    }


WAYS = list(nested(10))


@pytest.mark.parametrize("way", WAYS)
def test_the_deepest_is_read_and_edited(way: str) -> None:
    """At the limit a text is read, and a key beside the deep one is set and taken out again byte for byte."""
    text = nested(MOST_NESTED)[way]

    document = ConfigDocument.parse(text, "config.yaml")
    there = document.set(("beside",), 1)

    assert there.find(("beside",)) is not None
    assert there.unset(("beside",)).data == text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("levels", [MOST_NESTED + 1, MOST_NESTED + 10, 2 * MOST_NESTED])
def test_a_level_more_is_refused_in_a_sentence(way: str, levels: int) -> None:
    """Beyond it nobody finds that out by running out of stack, in whatever way the levels are written."""
    with pytest.raises(ConfigSyntaxError, match=r"nested|repeat"):
        read_yaml(nested(levels)[way], "config.yaml")


@pytest.mark.parametrize("way", WAYS)
def test_the_place_is_named(way: str) -> None:
    """The sentence names the line with the level that is too many."""
    text = nested(MOST_NESTED + 1)[way]

    with pytest.raises(ConfigSyntaxError) as raised:
        read_yaml(text, "config.yaml")

    last = text.count(b"\n")
    # The innermost value of a chain of aliases is where the chain begins.
    assert raised.value.line == (1 if way == "aliases" else last)


def _value(levels: int) -> Any:
    return json.loads("[" * levels + "1" + "]" * levels)


@pytest.mark.parametrize("edit", ["set new", "set there", "add", "set below"])
def test_a_value_may_fill_what_is_left_and_no_more(edit: str) -> None:
    """The levels above a value count, whatever edit brings it in."""
    document = ConfigDocument.parse(b"there: 1\nlist: []\ndeep: {er: {}}\n", "config.yaml")
    edits = {
        "set new": lambda value: document.set(("new",), value),
        "set there": lambda value: document.set(("there",), value),
        "add": lambda value: document.add(("list",), value[0]),
        "set below": lambda value: document.set(("deep", "er", "key", "word"), value[0][0][0]),
    }

    assert edits[edit](_value(MOST_NESTED - 1)).data != document.data
    with pytest.raises(ConfigRefused) as raised:
        edits[edit](_value(MOST_NESTED))

    assert raised.value.code == "config_nesting"
    assert f"nested {MOST_NESTED + 1} deep" in str(raised.value)


@pytest.mark.parametrize("part", ["k.", "k[0]."])
def test_a_path_longer_than_values_are_nested_names_nothing(part: str) -> None:
    """So long a path is a slip of the shell, and said so before anything is read."""
    with pytest.raises(BadPath, match="10,000 parts"):
        parse_path((part * 10_000)[: 10_000 * len("k.") - 1] if part == "k." else (part * 5_000).rstrip("."))
    assert len(parse_path("k." * (MOST_NESTED - 1) + "k")) == MOST_NESTED
