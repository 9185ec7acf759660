"""Aliases that repeat without measure are refused before anybody walks through what they stand for."""

from __future__ import annotations

import time

import pytest

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.yaml_reader import ConfigSyntaxError, read_yaml
from canon_ops.files.yaml_repetition import MOST_REPEATED, written_out


def bomb(levels: int, width: int, row: str) -> bytes:
    """Each line repeats the line above ``width`` times."""
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{level}: &a{level} " + row.format(", ".join([f"*a{level - 1}"] * width)) for level in range(1, levels)]
    return "\n".join([*lines, "platforms: {canon: {enabled: true}}", ""]).encode()


HOSTILE = {
    "lists of lists": bomb(25, 10, "[{}]"),
    "merges of merges": bomb(40, 3, "{{<<: [{}], x: 1}}"),
    "a number of a thousand digits": bomb(1_000, 10, "[{}]"),
    "a mapping in itself": b"a: &a\n  b: *a\n",
    "a list in itself": b"a: &a [1, *a]\n",
    "a key in itself": b"? &a [*a]\n: 1\n",
    "a circle of two": b"a: &a\n  b: &b {c: *a, d: *b}\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_has_no_end_is_refused_at_once(text: bytes) -> None:
    """Reading and editing refuse it, in the time of one walk through the text."""
    before = time.process_time()

    with pytest.raises(ConfigSyntaxError) as raised:
        read_yaml(text, "config.yaml")
    with pytest.raises(ConfigSyntaxError):
        ConfigDocument.parse(text, "config.yaml").set(("display", "skin"), "ocean")

    assert raised.value.code == "config_aliases"
    assert time.process_time() - before < 10


def test_ordinary_aliases_are_read() -> None:
    """Repetition within reason is what aliases are for: also one value a thousand times."""
    text = b"base: &base {x: 1, y: [1, 2]}\n" + b"".join(b"s%d: {<<: *base, z: *base}\n" % i for i in range(1_000))

    found = read_yaml(text, "config.yaml")

    assert found.root is not None
    assert 0 < written_out(found.root)[0] < MOST_REPEATED
    assert found.value["s999"] == {"x": 1, "y": [1, 2], "z": {"x": 1, "y": [1, 2]}}


def test_without_aliases_nothing_is_more() -> None:
    """What stands in the text is counted once."""
    found = read_yaml(b"a: {b: [1, 2]}\nc: d\n", "config.yaml")

    assert found.root is not None
    assert written_out(found.root) == (0, None)
