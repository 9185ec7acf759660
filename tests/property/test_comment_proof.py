"""The proof of comments against edits that were tampered with (decision 0068), on random documents.

Each edit is a true one; then one comment of its result is lost, moved, indented otherwise, exchanged or made up. What
the oracle of :mod:`tests.support.edit_oracle` refuses, the proof must refuse too, though the whole text is announced
and every comment may go.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canon_ops.files.config_editor import ConfigSyntaxError
from canon_ops.files.yaml_layout import find_way
from canon_ops.files.yaml_path import Path
from canon_ops.files.yaml_proofs import Added, Change, Dropped, ProofFailed, Replaced, prove
from tests.support.comment_oracle import numbered
from tests.support.config_oracle import edited, equal, every_place, parse, read
from tests.support.config_texts import write_text
from tests.support.edit_oracle import assert_added, assert_dropped, assert_replaced
from tests.support.tampering import tampered

VALUES: tuple[Any, ...] = ("plain", "two\nlines", None, -1.5, [], {}, ["x", "off"], {"k": {"l": [1]}})
ADDED = "added"


def check(source: random.Random, done: Counter[str]) -> None:
    """One document, one edit, a few times tampered with."""
    text = write_text(source)
    try:
        places = every_place(text)
    except yaml.YAMLError:
        return
    text = numbered(text)
    operation = source.choice(("set", "unset", "grow", "add"))
    kind: Any = {"grow": dict, "add": list}.get(operation, object)
    found = [place for place in places if isinstance(place[1], kind)]
    if not found:
        return
    path, old = source.choice(found)
    value = source.choice(VALUES)
    arguments = {"set": (path, value), "unset": (path,), "grow": ((*path, "brand_new"), value), "add": (path, ADDED)}
    try:
        after = edited(text, "set" if operation == "grow" else operation, *arguments[operation])
    except ProofFailed:
        return
    if after is None or after == text:
        return
    change = change_of(text, operation, path, value)
    assert is_proven(text, after, change), (path, text, after)
    for _ in range(3):
        bad = tampered(source, after)
        if bad is None or not _reads_alike(after, bad) or oracle_takes(text, bad, operation, path, old):
            done["harmless"] += 1
            continue
        assert not is_proven(text, bad, change), (operation, path, text, after, bad)
        done[operation] += 1


def change_of(text: str, operation: str, path: Path, value: Any) -> Change:
    address = find_way(parse(text).layout, path).address
    if operation == "set":
        return Replaced(address, value)
    if operation == "unset":
        return Dropped(address)
    return Added(address, "brand_new", value) if operation == "grow" else Added(address, None, ADDED)


def is_proven(text: str, after: str, change: Change) -> bool:
    """Whether the proofs take the new text; the announcement is of no help."""
    try:
        old, new = parse(text).layout, parse(after).layout
        prove(old, new, span=(0, len(old.text)), gone=(0, len(old.text)), change=change)
    except (ProofFailed, ConfigSyntaxError):
        return False
    return True


def oracle_takes(text: str, after: str, operation: str, path: Path, old: Any) -> bool:
    try:
        if operation == "set":
            assert_replaced(text, after, path, was_section=isinstance(old, dict | list))
        elif operation == "unset":
            assert_dropped(text, after, path)
        else:
            assert_added(text, after)
    except AssertionError:
        return False
    return True


def _reads_alike(after: str, bad: str) -> bool:
    try:
        return equal(read(bad), read(after))
    except yaml.YAMLError:
        return False


@given(st.integers(min_value=0, max_value=2**48))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_tampering_with_a_comment_is_proven(seed: int) -> None:
    """set, unset, new keys and new items at random places of random documents; the seed tells which."""
    check(random.Random(seed), Counter())


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_tampering_with_a_comment_is_proven_many_times() -> None:
    """The same until each kind of edit was tampered with 1,000 times, from a fixed seed."""
    source, done = random.Random(20260102), Counter[str]()
    while min(done[each] for each in ("set", "unset", "grow", "add")) < 1_000:
        check(source, done)
