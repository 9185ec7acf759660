"""What an edit of config.yaml must and must not do, told by readers that are not ours.

Values: PyYAML's pure loader, the gateway's. Comments: between its tokens. Lines: PyYAML's marks say which lines an
entry stands on; all lines before and behind it must be the same afterwards.
"""

from __future__ import annotations

import copy
import io
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml

from canon_ops.files.config_editor import ConfigDocument, ConfigRefused
from canon_ops.files.yaml_path import Path
from tests.support.comment_oracle import places_of_comments

__all__ = [
    "assert_only",
    "assert_same_around",
    "at",
    "comments",
    "edited",
    "equal",
    "every_place",
    "lines_of",
    "parse",
    "places",
    "read",
    "shares",
    "with_value",
    "without",
]


def read(text: str) -> Any:
    """What the pure loader reads, in a copy of its own."""
    return copy.deepcopy(_read(text))


@lru_cache(maxsize=64)  # the loader is slow, and the text before an edit is asked about at each of its places
def _read(text: str) -> Any:
    return yaml.safe_load(text) or {}


@lru_cache(maxsize=64)
def _composed(text: str) -> Any:
    """The nodes with their marks; nobody changes them."""
    return yaml.compose(text, yaml.SafeLoader)


def comments(text: str) -> Counter[str]:
    return Counter(words for _, words in places_of_comments(text))


def equal(one: Any, other: Any) -> bool:
    """Equal in value, type and order, all the way down."""
    return bool(_spelt(one) == _spelt(other))


def _spelt(value: Any) -> Any:
    """A value in which all that must be equal is told by ``==``."""
    if isinstance(value, dict):
        return "dict", [(_spelt(key), _spelt(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [_spelt(each) for each in value]
    return type(value), str(value) if value != value else value  # not a number equals nothing


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


def with_items(tree: Any, path: Path, items: list[Any]) -> Any:
    """The tree with other items in the list at ``path``, wherever that list is repeated too."""
    tree = copy.deepcopy(tree)
    at(tree, path)[:] = items
    return tree


def with_entry(text: str, path: Path, key: str, value: Any) -> Any:
    """What is read when the mapping at ``path`` has one more entry, which shows wherever it is repeated or merged."""
    root, node = _nodes(text, path)
    node.value.append(
        (yaml.ScalarNode("tag:yaml.org,2002:str", key), yaml.SafeDumper(io.StringIO()).represent_data(value))
    )
    return yaml.SafeLoader("").construct_document(root)


def without_entry(text: str, path: Path) -> Any:
    """What is read when the entry at ``path`` is gone, also from wherever it is merged."""
    root, node = _nodes(text, path[:-1])
    if isinstance(node, yaml.MappingNode):
        node.value[:] = [entry for entry in node.value if entry[0].value != str(path[-1])]
    else:
        del node.value[int(path[-1])]
    return yaml.SafeLoader("").construct_document(root)


def _nodes(text: str, path: Path) -> tuple[Any, Any]:
    """The whole tree, and the node at ``path``; of a text without a tree, two of an empty mapping."""
    root: Any = yaml.compose(text.removeprefix("\ufeff"), yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        root = yaml.MappingNode("tag:yaml.org,2002:map", [])
    node = root
    for name in path:
        node = _below_node(node, name)
    return root, node


def _below_node(node: Any, name: str | int) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next(value for key, value in node.value if key.value == str(name))
    return node.value[int(name)]


def without(tree: Any, path: Path) -> Any:
    tree = copy.deepcopy(tree)
    parent = at(tree, path[:-1])
    del parent[_key(parent, path[-1])]
    return tree


def parse(text: str) -> ConfigDocument:
    return ConfigDocument.parse(text.encode())


def every_place(text: str, *, kind: type | tuple[type, ...] = object) -> list[tuple[Path, Any]]:
    return [(path, value) for path, value in places(read(text)) if isinstance(value, kind)]


def edited(text: str, operation: str, *arguments: Any) -> str | None:
    """The text after an operation; None when the place is refused because of an anchor."""
    try:
        document: ConfigDocument = getattr(parse(text), operation)(*arguments)
        after = document.data.decode()
    except ConfigRefused as error:
        if error.code in ("config_alias", "config_anchor") and any(mark in text for mark in ("&", "*")):
            return None
        raise
    return after


def assert_only(text: str, after: str, expected: Any) -> None:
    """The pure loader reads ``expected``, and line ends and byte-order mark are as before."""
    assert equal(read(after), expected), (text, after)
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        assert after.count("\r\n") == after.count("\n"), (text, after)
    blank_lines = "\n\n" in text.replace("\r", "")  # a blank line before the last entry then is the last line
    if text and not text.endswith("\n") and not text.startswith("#") and not blank_lines:
        assert not after.endswith("\n"), (text, after)


def shares(text: str, path: Path) -> bool:
    """A change at this place is seen through an alias too: the plain oracle does not know that for scalars."""
    return "&" in text and not isinstance(at(read(text), path), dict | list)


def lines_of(text: str, path: Path) -> tuple[int, int]:
    """The first and the last line (from 0) that the entry at ``path`` stands on."""
    node: Any = _composed(text.removeprefix("\ufeff"))
    first = int(node.start_mark.line) if node is not None else 0
    for name in path:
        parent_is_flow = bool(node.flow_style)
        if isinstance(node, yaml.MappingNode):
            key, node = next((key, value) for key, value in node.value if key.value == str(name))
            first = int(key.start_mark.line)
        else:
            parent, node = node, node.value[int(name)]
            if node.start_mark.index < parent.start_mark.index:
                break  # an alias: it is somewhere on the lines of its list
            column = _column_of_dashes(parent)
            first = int(node.start_mark.line)
            lines = text.removeprefix("\ufeff").split("\n")
            while not parent_is_flow and lines[first][column : column + 1] != "-":
                first -= 1  # the dash stands on a line of its own
    return first, max(first, _last_line(node)) if node is not None else 0


def _column_of_dashes(parent: Any) -> int:
    """Where the dashes of a block list stand: its mark, but a tag or an anchor stands before them."""
    buffer, column = parent.start_mark.buffer, int(parent.start_mark.column)
    if buffer is None or buffer[parent.start_mark.pointer] in "-[":
        return column
    item = parent.value[0].start_mark
    return int(item.column) - len("- ")


def _last_line(node: Any) -> int:
    if isinstance(node, yaml.ScalarNode):
        block = node.style in ("|", ">")
        return int(node.end_mark.line) - 1 if block and node.end_mark.column == 0 else int(node.end_mark.line)
    if node.flow_style or not node.value:
        return int(node.end_mark.line)
    parts = [part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,))]
    return max(map(_last_line, parts))


def assert_same_around(text: str, after: str, path: Path, *, comment_above: bool = False, below: bool = False) -> None:
    """Every line before and behind the entry at ``path`` is the same (``assert_only`` looks at the line ends).

    Args:
        comment_above: the comment lines directly above the entry, and the line before them, belong to the edit too.
        below: something was added to the section at ``path``: it begins below the comments that its last entry holds.
    """
    if not read(text):
        return  # aliases share marks with their anchors; explicit keys and tags begin before their mark
    if comment_above and len(path) > 1 and len(at(read(text), path[:-1])) == 1:
        path = path[:-1]  # the last entry: its collection becomes empty
    first, last = lines_of(text, path)
    old, new = ([line.rstrip("\r") for line in one.removeprefix("\ufeff").split("\n")] for one in (text, after))
    if comment_above:
        if old[first].lstrip().startswith("- ") and (isinstance(path[-1], str) or "- -" in old[first]):
            # What follows the first entry behind a dash moves up to it; its comments are all still there.
            following = Counter(line.strip() for line in old[last + 1 :] if line.strip().startswith("#"))
            assert not following - Counter(line.strip() for line in new), (path, text, after)
            return
        while first > 0 and old[first - 1].strip().startswith(("#", "-")):
            first -= 1
        first = max(0, first - 1)
    if below:
        last = _below(old, last, text, path)
    behind = old[last + 1 :]
    assert new[:first] == old[:first], (path, text, after)
    assert not behind or new[-len(behind) :] == behind, (path, text, after)
    assert len(new) >= first + len(behind), (path, text, after)


def _below(lines: list[str], last: int, text: str, path: Path) -> int:
    """The last comment line below a section that is indented deeper than its entries; or its own last line."""
    node: Any = yaml.compose(text.removeprefix("\ufeff"), yaml.SafeLoader)
    for name in path:
        node = (
            next(value for key, value in node.value if key.value == str(name))
            if isinstance(node, yaml.MappingNode)
            else node.value[int(name)]
        )
    if node.flow_style or not isinstance(node, yaml.CollectionNode):
        return last
    for number in range(last + 1, len(lines)):
        line = lines[number]
        if line.strip() and not re.match(rf" {{{node.start_mark.column + 1},}}#", line):
            break
        last = number if line.strip() else last
    return last
