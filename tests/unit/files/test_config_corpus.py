"""Every operation on every place of every text of the corpus, held against readers that are not ours.

The oracles are in tests/support: config_oracle.py for values and bytes, edit_oracle.py for whose each comment is. Where
an edit is undone, the bytes themselves are compared. Each comment has a number behind it: it is known by its words.
"""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.files.config_editor import ConfigRefused, NoSuchKey
from canon_ops.files.yaml_path import Path
from canon_ops.files.yaml_reader import same
from tests.support.comment_oracle import numbered
from tests.support.config_corpus import READABLE
from tests.support.config_oracle import (
    assert_only,
    assert_same_around,
    edited,
    every_place,
    parse,
    read,
    shares,
    with_entry,
    with_items,
    with_value,
    without_entry,
)
from tests.support.edit_oracle import assert_added, assert_dropped, assert_replaced

every_text = pytest.mark.parametrize("text", [pytest.param(numbered(text), id=name) for name, text in READABLE.items()])

MORE = ["off", True, 7, 1.5, "é😀", "[a"]


@every_text
def test_an_unchanged_text_is_the_same_bytes(text: str) -> None:
    """Reading and writing changes nothing (BR-03, BR-16, BR-18, N-5, N-6)."""
    assert parse(text).data == text.encode()
    assert same(parse(text).value, read(text))


@every_text
@pytest.mark.parametrize(
    "value",
    ["new text", "it's # x: y", None, "l1\nl2", *(pytest.param(value, marks=pytest.mark.long) for value in MORE)],
    ids=repr,
)
def test_set_an_existing_value(text: str, value: Any) -> None:
    """set replaces one value; comments all stay unless a whole section went."""
    for path, old in every_place(text):
        after = edited(text, "set", path, value)
        if after is None or shares(text, path):
            continue
        assert_only(text, after, with_value(read(text), path, value))
        assert_same_around(text, after, path)
        assert_replaced(text, after, path, was_section=isinstance(old, dict | list))


@every_text
@pytest.mark.parametrize(
    "value", [[], {}, pytest.param(["a", "off"], marks=pytest.mark.long), {"k": {"l": [1, "x: y"]}}], ids=repr
)
def test_set_a_collection(text: str, value: Any) -> None:
    """set replaces any value by a list or a mapping."""
    for path, old in every_place(text):
        after = edited(text, "set", path, value)
        if after is None or shares(text, path):
            continue
        assert_only(text, after, with_value(read(text), path, value))
        assert_same_around(text, after, path)
        assert_replaced(text, after, path, was_section=isinstance(old, dict | list))


@every_text
@pytest.mark.parametrize("value", ["x", {"deep": {"er": [1, {"a": "off"}]}}, []], ids=repr)
def test_set_a_new_key_and_unset_it(text: str, value: Any) -> None:
    """A new key in any mapping changes nothing else, and unset gives back the very bytes."""
    mappings: list[Path] = [(), *(path for path, _ in every_place(text, kind=dict))]
    for path in mappings:
        new = (*path, "brand_new")
        after = edited(text, "set", new, value)
        if after is None:
            continue
        assert_only(text, after, with_entry(text, path, "brand_new", value))
        assert_same_around(text, after, path, below=True)
        assert_added(text, after)
        assert parse(after).unset(new).data == text.encode(), (path, after)


@every_text
def test_set_below_what_is_missing(text: str) -> None:
    """Missing mappings on the way are made; unset of the topmost one gives back the very bytes."""
    after = edited(text, "set", ("new", "deep", "key.with.dots"), "12:30")

    assert after is not None
    assert_only(text, after, {**read(text), "new": {"deep": {"key.with.dots": "12:30"}}})
    assert_added(text, after)
    assert parse(after).unset(("new",)).data == text.encode()


@every_text
def test_unset(text: str) -> None:
    """unset removes one entry; every comment stays but those of the entry."""
    for path, _ in every_place(text):
        after = edited(text, "unset", path)
        if after is None:
            continue
        assert_only(text, after, without_entry(text, path))
        assert_same_around(text, after, path, comment_above=True)
        assert_dropped(text, after, path)
        assert not same(read(after), read(text))


@every_text
def test_add_to_a_list_and_remove_again(text: str) -> None:
    """An added item stands last, twice adds nothing, and remove gives back the very bytes."""
    for path, old in every_place(text, kind=list):
        after = edited(text, "add", path, "added")
        if after is None:
            continue
        assert_only(text, after, with_items(read(text), path, [*old, "added"]))
        assert_same_around(text, after, path, below=True)
        assert_added(text, after)
        assert parse(after).add(path, "added").data == after.encode()
        assert parse(after).remove(path, "added").data == text.encode(), (path, after)


@every_text
def test_add_to_a_null_or_missing_list(text: str) -> None:
    """A missing list, and a null where a list belongs, become a list of one (N-1)."""
    nulls = [path for path, value in every_place(text) if value is None]
    for path in [("made", "list"), *nulls]:
        after = edited(text, "add", path, "x")
        if after is None:
            continue
        tree = {**read(text), "made": {}} if path[0] == "made" else read(text)
        assert_only(text, after, with_value(tree, path, ["x"]))
        if path[0] == "made":
            assert_added(text, after)
        else:
            assert_replaced(text, after, path, was_section=False)


@every_text
def test_remove_every_item(text: str) -> None:
    """Each item of each list can be removed by value, down to the empty list."""
    for path, old in every_place(text, kind=list):
        for item in old:
            after = edited(text, "remove", path, item)
            if after is None:
                continue
            gone = [place for place, other in enumerate(old) if same(other, item)]
            left = [other for other in old if not same(other, item)]
            assert_only(text, after, with_items(read(text), path, left))
            if len(gone) == 1:
                assert_dropped(text, after, (*path, gone[0]))
        emptied: str | None = text
        for item in old:
            emptied = edited(emptied, "remove", path, item) if emptied is not None else None
        if emptied is not None:
            assert_only(text, emptied, with_items(read(text), path, []))


@every_text
def test_ensure_mapping(text: str) -> None:
    """A missing or null section becomes an empty mapping; what is there stays as it is."""
    for path, value in [(("sure", "ly"), None), *every_place(text)]:
        if value is not None and not isinstance(value, dict):
            with pytest.raises((ConfigRefused, NoSuchKey)):
                parse(text).ensure_mapping(path)
            continue
        after = edited(text, "ensure_mapping", path)
        if isinstance(value, dict):
            assert after == text
        elif after is not None:
            tree = {**read(text), "sure": {}} if path[0] == "sure" else read(text)
            assert_only(text, after, with_value(tree, path, {}))
            if path[0] == "sure":
                assert_added(text, after)
            else:
                assert_replaced(text, after, path, was_section=False)


def test_the_corpus_is_large() -> None:
    """Every text by itself, none a copy of another."""
    assert len(set(READABLE.values())) == len(READABLE) >= 80
