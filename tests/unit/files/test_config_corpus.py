"""Every operation on every place of every text of the corpus, held against readers that are not ours.

The oracle is PyYAML's pure loader for values (the gateway's), yaml-edit's own list for comments, and a plain comparison
of bytes for the undone edit.
"""

from __future__ import annotations

import copy
import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
import yaml_edit

from canon_ops.files.config_editor import ConfigDocument, ConfigRefused, NoSuchKey
from canon_ops.files.yaml_path import Path
from canon_ops.files.yaml_reader import same
from tests.support.config_corpus import READABLE


def read(text: str) -> Any:
    return yaml.safe_load(text) or {}


def comments(text: str) -> Counter[str]:
    return Counter(comment.text().rstrip("\r") for comment in yaml_edit.YamlFile.parse(text).comments())


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place of a tree that a path can name."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)):
                yield from places(item, (*path, str(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def at(tree: Any, path: Path) -> Any:
    for name in path:
        tree = tree[_key(tree, name)]
    return tree


def _key(tree: Any, name: str | int) -> Any:
    return int(name) if isinstance(tree, dict) and name not in tree and str(name).isdigit() else name


def with_value(tree: Any, path: Path, value: Any) -> Any:
    tree = copy.deepcopy(tree)
    parent = at(tree, path[:-1])
    parent[_key(parent, path[-1])] = value
    return tree


def without(tree: Any, path: Path) -> Any:
    tree = copy.deepcopy(tree)
    parent = at(tree, path[:-1])
    del parent[_key(parent, path[-1])]
    return tree


def parse(text: str) -> ConfigDocument:
    return ConfigDocument.parse(text.encode())


def remove_from(path: Path, document: ConfigDocument, item: Any) -> ConfigDocument:
    return document.remove(path, item)


every_text = pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in READABLE.items()])


def every_place(text: str, *, kind: type | tuple[type, ...] = object) -> list[tuple[Path, Any]]:
    return [(path, value) for path, value in places(read(text)) if isinstance(value, kind)]


def edited(text: str, edit: Any) -> str | None:
    """The text after ``edit``; None when the place is refused because of an anchor."""
    try:
        after: str = edit(parse(text)).data.decode()
    except ConfigRefused as error:
        if error.code in ("config_alias", "config_anchor") and any(mark in text for mark in ("&", "*")):
            return None
        raise
    return after


def assert_only(text: str, after: str, expected: Any) -> None:
    """The pure loader reads ``expected``, and line ends and byte-order mark are as before.

    A change at an anchor shows at its aliases too, which the plain oracle does not know: those have tests of their own.
    """
    assert "&" in text or same(read(after), expected), (text, after)
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        assert after.count("\r\n") == after.count("\n"), (text, after)
    if text and not text.endswith("\n") and not text.startswith("#"):
        assert not after.endswith("\n"), (text, after)


def shares(text: str, path: Path) -> bool:
    """A change at this place is seen through an alias too: the plain oracle does not know that for scalars."""
    return "&" in text and not isinstance(at(read(text), path), dict | list)


@every_text
def test_an_unchanged_text_is_the_same_bytes(text: str) -> None:
    """Reading and writing changes nothing (BR-03, BR-16, BR-18, N-5, N-6)."""
    assert parse(text).data == text.encode()
    assert same(parse(text).value, read(text))


@every_text
@pytest.mark.parametrize(
    "value", ["new text", "off", "it's # x: y", True, None, 7, 1.5, "l1\nl2", "é😀", "[a"], ids=repr
)
def test_set_an_existing_value(text: str, value: Any) -> None:
    """set replaces one value; comments all stay unless a whole section went."""
    for path, old in every_place(text):
        after = edited(text, lambda document, path=path: document.set(path, value))
        if after is None or shares(text, path):
            continue
        assert_only(text, after, with_value(read(text), path, value))
        if not isinstance(old, dict | list):
            assert comments(after) == comments(text), (path, after)


@every_text
@pytest.mark.parametrize("value", [[], {}, ["a", "off"], {"k": {"l": [1, "x: y"]}}], ids=repr)
def test_set_a_collection(text: str, value: Any) -> None:
    """set replaces any value by a list or a mapping."""
    for path, old in every_place(text):
        after = edited(text, lambda document, path=path: document.set(path, value))
        if after is None or shares(text, path):
            continue
        assert_only(text, after, with_value(read(text), path, value))
        if not isinstance(old, dict | list):
            assert comments(after) == comments(text), (path, after)


@every_text
@pytest.mark.parametrize("value", ["x", {"deep": {"er": [1, {"a": "off"}]}}, []], ids=repr)
def test_set_a_new_key_and_unset_it(text: str, value: Any) -> None:
    """A new key in any mapping changes nothing else, and unset gives back the very bytes."""
    mappings: list[Path] = [(), *(path for path, _ in every_place(text, kind=dict))]
    for path in mappings:
        new = (*path, "brand_new")
        after = edited(text, lambda document, new=new: document.set(new, value))
        if after is None:
            continue
        assert_only(text, after, with_value(read(text), new, value))
        assert comments(after) == comments(text), (path, after)
        assert parse(after).unset(new).data == text.encode(), (path, after)


@every_text
def test_set_below_what_is_missing(text: str) -> None:
    """Missing mappings on the way are made; unset of the topmost one gives back the very bytes."""
    after = edited(text, lambda document: document.set(("new", "deep", "key.with.dots"), "12:30"))

    assert after is not None
    assert_only(text, after, {**read(text), "new": {"deep": {"key.with.dots": "12:30"}}})
    assert comments(after) == comments(text)
    assert parse(after).unset(("new",)).data == text.encode()


@every_text
def test_unset(text: str) -> None:
    """unset removes one entry; every comment stays but those of the entry."""
    for path, _ in every_place(text):
        after = edited(text, lambda document, path=path: document.unset(path))
        if after is None:
            continue
        assert_only(text, after, without(read(text), path))
        assert not comments(after) - comments(text)
        assert not same(read(after), read(text))


@every_text
def test_add_to_a_list_and_remove_again(text: str) -> None:
    """An added item stands last, twice adds nothing, and remove gives back the very bytes."""
    for path, old in every_place(text, kind=list):
        after = edited(text, lambda document, path=path: document.add(path, "added"))
        if after is None:
            continue
        assert_only(text, after, with_value(read(text), path, [*old, "added"]) if "&" not in text else read(after))
        assert comments(after) == comments(text)
        assert parse(after).add(path, "added").data == after.encode()
        assert parse(after).remove(path, "added").data == text.encode(), (path, after)


@every_text
def test_add_to_a_null_or_missing_list(text: str) -> None:
    """A missing list, and a null where a list belongs, become a list of one (N-1)."""
    nulls = [path for path, value in every_place(text) if value is None]
    for path in [("made", "list"), *nulls]:
        after = edited(text, lambda document, path=path: document.add(path, "x"))
        if after is None:
            continue
        tree = {**read(text), "made": {}} if path[0] == "made" else read(text)
        assert_only(text, after, with_value(tree, path, ["x"]))
        assert comments(after) == comments(text), (path, after)


@every_text
def test_remove_every_item(text: str) -> None:
    """Each item of each list can be removed by value, down to the empty list."""
    for path, old in every_place(text, kind=list):
        for item in old:
            after = edited(text, lambda document, path=path, item=item: document.remove(path, item))
            if after is None:
                continue
            left = [other for other in old if not same(other, item)]
            if "&" not in text:
                assert_only(text, after, with_value(read(text), path, left))
            assert not comments(after) - comments(text)
        emptied = edited(
            text,
            lambda document, path=path, old=old: functools.reduce(functools.partial(remove_from, path), old, document),
        )
        if emptied is not None and "&" not in text:
            assert_only(text, emptied, with_value(read(text), path, []))


@every_text
def test_ensure_mapping(text: str) -> None:
    """A missing or null section becomes an empty mapping; what is there stays as it is."""
    for path, value in [(("sure", "ly"), None), *every_place(text)]:
        if value is not None and not isinstance(value, dict):
            with pytest.raises((ConfigRefused, NoSuchKey)):
                parse(text).ensure_mapping(path)
            continue
        after = edited(text, lambda document, path=path: document.ensure_mapping(path))
        if isinstance(value, dict):
            assert after == text
        elif after is not None:
            tree = {**read(text), "sure": {}} if path[0] == "sure" else read(text)
            assert_only(text, after, with_value(tree, path, {}))
