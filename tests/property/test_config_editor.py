"""Random documents, random edits: nothing but the edit changes.

Three oracles look at each: values and lines (:mod:`tests.support.config_oracle`), comments and their entries
(:mod:`tests.support.edit_oracle`), and every byte (:mod:`tests.support.byte_oracle`).
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.yaml_path import Path
from canon_ops.files.yaml_proofs import ProofFailed
from tests.support.byte_oracle import assert_bytes_added, assert_bytes_dropped, assert_bytes_replaced
from tests.support.comment_oracle import numbered
from tests.support.config_oracle import (
    assert_only,
    assert_same_around,
    edited,
    equal,
    every_place,
    parse,
    read,
    with_value,
    without,
)
from tests.support.config_texts import write_text
from tests.support.edit_oracle import assert_added, assert_dropped, assert_replaced

VALUES: tuple[Any, ...] = (
    "plain", "off", "12:30", "it's # x", "", "two\nlines", "😀", "a: b", "tab\t", True, None, 0, -1.5,
    [], {}, ["x", "off"], {"k": {"l": [1]}}, "x, y", "[z", "~", "0x10", "- q",
)  # fmt: skip


def check(source: random.Random) -> str:
    """One document, one edit; the name of the edit."""
    text = write_text(source)
    try:
        tree = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        return "unreadable"
    text = numbered(text)
    assert parse(text).data == text.encode()
    assert equal(parse(text).value, tree)
    operation = source.choice(("set", "set", "unset", "grow", "grow", "add", "add", "remove"))
    kind: Any = {"grow": dict, "add": list, "remove": list}.get(operation, object)
    found = [place for place in every_place(text, kind=kind) if operation != "remove" or place[1]]
    if operation == "grow":
        found.append(((), tree))
    if not found:
        return "no such place"
    path, old = source.choice(found)
    value = source.choice(VALUES)
    try:
        if operation == "set":
            check_set(text, path, old, value)
        elif operation == "unset":
            check_unset(text, path)
        elif operation == "grow":
            check_grow(text, path, value)
        elif operation == "add":
            check_add(text, path, old)
        else:
            check_remove(text, path, old, source.choice(old))
    except ProofFailed:
        # A block text takes in whatever deeper line follows it: what stands between must not go, nor a line end come.
        assert re.search(r"[|>][-+]?\s", text), text
        return "refused"
    return operation


def check_set(text: str, path: Path, old: Any, value: Any) -> None:
    after = edited(text, "set", path, value)
    assert after is not None
    assert_only(text, after, with_value(read(text), path, value))
    assert_same_around(text, after, path)
    assert_replaced(text, after, path, was_section=isinstance(old, dict | list))
    assert_bytes_replaced(text, after, path)


def check_unset(text: str, path: Path) -> None:
    after = edited(text, "unset", path)
    assert after is not None
    assert_only(text, after, without(read(text), path))
    assert_same_around(text, after, path, comment_above=True)
    assert_dropped(text, after, path)
    assert_bytes_dropped(text, after, path)


def check_grow(text: str, path: Path, value: Any) -> None:
    new = (*path, "brand_new")
    after = edited(text, "set", new, value)
    assert after is not None
    assert_only(text, after, with_value(read(text), new, value))
    assert_same_around(text, after, path, below=True)
    assert_added(text, after)
    assert_bytes_added(text, after)
    assert parse(after).unset(new).data == text.encode(), (path, text, after)


def check_add(text: str, path: Path, old: list[Any]) -> None:
    after = edited(text, "add", path, "added")
    assert after is not None
    assert_only(text, after, with_value(read(text), path, [*old, "added"]))
    assert_same_around(text, after, path, below=True)
    assert_added(text, after)
    assert_bytes_added(text, after)
    assert parse(after).remove(path, "added").data == text.encode(), (path, text, after)


def check_remove(text: str, path: Path, old: list[Any], item: Any) -> None:
    after = edited(text, "remove", path, item)
    assert after is not None
    places = [place for place, other in enumerate(old) if type(other) is type(item) and other == item]
    left = [other for place, other in enumerate(old) if place not in places]
    assert_only(text, after, with_value(read(text), path, left))
    if len(places) == 1:
        assert_dropped(text, after, (*path, places[0]))
        assert_bytes_dropped(text, after, (*path, places[0]))


@given(st.integers(min_value=0, max_value=2**48))
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_edit_changes_nothing_else(seed: int) -> None:
    """set, unset, new keys, add and remove at random places of random documents; the seed tells which."""
    assume(check(random.Random(seed)) not in ("unreadable", "no such place"))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_an_edit_changes_nothing_else_many_times() -> None:
    """The same, at least 20,000 times, from a fixed seed."""
    source = random.Random(20260101)
    done: dict[str, int] = {}
    while sum(done.get(name, 0) for name in ("set", "unset", "grow", "add", "remove")) < 20_000:
        name = check(source)
        done[name] = done.get(name, 0) + 1
    assert min(done[name] for name in ("set", "unset", "grow", "add", "remove")) > 500, done
    assert done.get("refused", 0) < 100, done


def test_the_texts_are_worth_it() -> None:
    """The random texts have what the test is about: most are readable, and the shapes all occur."""
    source = random.Random(1)
    texts = [write_text(source) for _ in range(300)]
    readable = [text for text in texts if _reads(text)]

    assert len(readable) > 270
    for shape in ("[\n", "|", "#", "\r\n", "\ufeff", "---", "- ", "{", ":\n"):
        assert sum(shape in text for text in readable) > 5, shape


def _reads(text: str) -> bool:
    try:
        ConfigDocument.parse(text.encode())
    except Exception:
        return False
    return True
