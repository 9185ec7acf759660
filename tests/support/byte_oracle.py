"""Which bytes of config.yaml one plain edit may touch, told by PyYAML alone. Nothing here is the editor's.

An edit has a range, from the first byte that is about the entry to the last one. Outside of it every byte stays:
blanks, blank lines, quotes, comments, line ends. What is new takes nothing away, and what goes leaves nothing new.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import yaml

from tests.support.comment_oracle import tokens_of

__all__ = ["assert_bytes_added", "assert_bytes_dropped", "assert_bytes_replaced", "gaps", "spellings"]

Path = tuple[Any, ...]


@dataclass(slots=True)
class Node:
    """A value. ``end`` is behind its last character: PyYAML's own mark of a block lies at the next token."""

    kind: str
    start: int
    end: int
    style: str | None = None
    is_flow: bool = False
    text: str = ""
    is_anchored: bool = False
    entries: list[Entry] = field(default_factory=list)

    @property
    def is_section(self) -> bool:
        return self.kind in ("map", "seq")


@dataclass(slots=True)
class Entry:
    """A key with its value, or an item. ``start`` is its key or dash, ``slot`` is behind its colon or dash."""

    name: Any
    start: int
    slot: int
    value: Node
    key: Node | None = None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.events: list[Any] = list(yaml.parse(text, yaml.SafeLoader))
        tokens: Any = tokens_of(text)
        self.dashes = [int(each.start_mark.index) for each in tokens if isinstance(each, yaml.BlockEntryToken)]
        self.colons = [
            int(each.start_mark.index)
            for each in tokens
            if isinstance(each, yaml.ValueToken) and text[each.start_mark.index : each.start_mark.index + 1] == ":"
        ]
        self.at = 0

    def root(self) -> Node | None:
        starts = [number for number, each in enumerate(self.events) if isinstance(each, yaml.DocumentStartEvent)]
        if not starts:
            return None
        self.at = starts[0] + 1
        return self.node()

    def node(self) -> Node:
        event = self.events[self.at]
        self.at += 1
        start, end = int(event.start_mark.index), int(event.end_mark.index)
        if isinstance(event, yaml.AliasEvent):
            return Node("alias", start, end, text=str(event.anchor))
        anchored = event.anchor is not None
        if isinstance(event, yaml.ScalarEvent):
            return Node("scalar", start, end, event.style, text=event.value, is_anchored=anchored)
        found = Node(
            "map" if isinstance(event, yaml.MappingStartEvent) else "seq",
            start, end, is_flow=bool(event.flow_style), is_anchored=anchored,
        )  # fmt: skip
        while not isinstance(self.events[self.at], (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            found.entries.append(self.pair() if found.kind == "map" else self.item(found))
        if found.is_flow:
            found.end = int(self.events[self.at].end_mark.index)
        else:
            found.end = max(max(each.slot, each.value.end) for each in found.entries)
        self.at += 1
        return found

    def pair(self) -> Entry:
        key = self.node()
        value = self.node()
        following = bisect_right(self.colons, key.end - 1)
        colon = self.colons[following] if following < len(self.colons) else len(self.text)
        has_colon = not self.text[key.end : colon].strip() and colon < len(self.text)
        slot = colon + 1 if has_colon else key.end
        if value.kind == "scalar" and value.start == value.end:
            value.start = value.end = slot  # null: its mark may lie at the next token
        return Entry(key.text, key.start, slot, value, key)

    def item(self, parent: Node) -> Entry:
        number = len(parent.entries)
        value = self.node()
        if parent.is_flow:
            return Entry(number, value.start, value.start, value)
        # The dashes of a list stand in one column, and of those before the item the last one is its own.
        column = _column(self.text, next(each for each in self.dashes if each >= parent.start))
        before = [each for each in self.dashes if each < max(value.start, 1) and _column(self.text, each) == column]
        dash = before[-1]
        if value.kind == "scalar" and value.start == value.end:
            value.start = value.end = dash + 1
        return Entry(number, dash, dash + 1, value)


def _column(text: str, index: int) -> int:
    return index - text.rfind("\n", 0, index) - 1


@lru_cache(maxsize=64)
def _root(text: str) -> Node | None:
    return _Reader(text).root()


def entry_at(text: str, path: Path) -> tuple[Node, Entry]:
    """The entry at ``path`` with the section that it is in; ``text`` has no byte-order mark."""
    parent = _root(text)
    assert parent is not None
    found = None
    for depth, name in enumerate(path):
        found = next(each for each in parent.entries if str(each.name) == str(name))
        if depth < len(path) - 1:
            parent = found.value
    assert found is not None
    return parent, found


def spellings(text: str) -> dict[Path, tuple[str, str]]:
    """How each single value is written, by its path: from its key or dash to its end, and to the end of its line."""
    text = text.removeprefix("\ufeff")
    found: dict[Path, tuple[str, str]] = {}

    def walk(node: Node, path: Path) -> None:
        for each in node.entries:
            inner = (*path, each.name)
            if each.value.entries:
                walk(each.value, inner)
                continue
            end = max(each.slot, each.value.end)
            if each.value.style in ("|", ">"):  # its mark lies at the next token
                found[inner] = text[each.start : end].rstrip("\r\n"), ""
            else:
                found[inner] = text[each.start : end], "" if node.is_flow else text[end : _line_end(text, end)].rstrip()

    root = _root(text)
    if root is not None:
        walk(root, ())
    return found


# -- what may differ --------------------------------------------------------------------------------------------------


def assert_bytes_replaced(text: str, after: str, path: Path) -> None:
    """A new value: from behind the colon or dash to the end of the old value, and of its line where it needs more."""
    text, after = _bare(text, after)
    _, entry = entry_at(text, path)
    _, now = entry_at(after, path)
    value = entry.value
    is_one_line = not _is_tall(text, value) and not _is_tall(after, now.value)
    if is_one_line and value.start < value.end:
        low, high = value.start, value.end
    elif is_one_line:
        low, high = entry.slot, entry.slot
    else:
        low, high = entry.slot, _line_end(text, value.end)
        if value.style in ("|", ">"):
            high = max(high, value.end)
    _assert_same_outside(text, after, low, high)


def assert_bytes_added(text: str, after: str) -> None:
    """A new key or item: not a byte of the old text goes. Brackets may need a comma in another place."""
    text, after = _bare(text, after)
    head = _common(text, after)
    tail = _common(text[head:][::-1], after[head:][::-1])
    if head + tail == len(text):
        return
    assert after[head] == ",", (text, after)
    rest = after[:head] + after[head + 1 :]
    head = _common(text, rest)
    assert head + _common(text[head:][::-1], rest[head:][::-1]) == len(text), (text, after)


def assert_bytes_dropped(text: str, after: str, path: Path) -> None:
    """No entry any more: its lines go, the comment lines directly above it, and commas. Nothing else does."""
    text, after = _bare(text, after)
    parent, entry = entry_at(text, path)
    if parent.is_flow:
        # Between the brackets; what is not about the entry but commas and blanks must still be there.
        position = next(number for number, each in enumerate(parent.entries) if each is entry)
        low = parent.entries[position - 1].value.end if position else parent.start + 1
        high = parent.end - 1
        if position + 1 < len(parent.entries):
            high = parent.entries[position + 1].start
        _assert_same_outside(text, after, low, high)
        assert _is_within(after[low : len(after) - (len(text) - high)], text[low:high]), (path, text, after)
        return
    low, high = _begin(text, entry.start), _line_end(text, max(entry.slot, entry.value.end))
    if entry.value.style in ("|", ">") or _ends_in_block(entry.value):
        high = max(high, _block_end(text, entry.value))
    begins_line = not text[low : entry.start].strip()
    if begins_line:
        low = _above(text, low, entry.start - low)
    if len(parent.entries) == 1 and len(path) > 1:
        _, around = entry_at(text, path[:-1])
        brackets = "{}" if parent.kind == "map" else "[]"
        _assert_same_outside(text, after, around.slot, high)
        middle = after[around.slot : len(after) - (len(text) - high)]
        assert brackets in middle, (path, text, after)
        rest = re.sub(rf" ?{re.escape(brackets)}", "", middle, count=1)
        assert _is_within(rest, text[around.slot : high]), (path, text, after)
        return
    if not begins_line:  # the first entry behind a dash: the next one moves up, or its comments keep it where it is
        low = entry.start - (len(text[: entry.start]) - len(text[: entry.start].rstrip(" ")))
        if len(parent.entries) > 1:
            high = parent.entries[1].start
        _assert_same_outside(text, after, low, high)
        assert _is_within(after[low : len(after) - (len(text) - high)], text[low:high]), (path, text, after)
        return
    if len(parent.entries) == 1:  # the only key of all: the blank line between it and the comments above goes too
        above = _begin(text, low - 1) if low else 0
        low = above if low and not text[above:low].strip() else low
    if high == len(text) and not text.endswith("\n"):  # the file goes on ending without a line end
        low = len(text[:low].removesuffix("\n").removesuffix("\r"))
    _assert_same_outside(text, after, low, high)
    middle = after[low : len(after) - (len(text) - high)]
    assert not middle.strip("\r\n{}"), (path, text, after)


def _bare(*texts: str) -> tuple[str, ...]:
    return tuple(each.removeprefix("\ufeff") for each in texts)


def _is_tall(text: str, node: Node) -> bool:
    """Whether a value needs more than its place on one line."""
    if node.style in ("|", ">"):
        return True
    return "\n" in text[node.start : node.end] or (node.is_section and not node.is_flow)


def _assert_same_outside(text: str, after: str, low: int, high: int) -> None:
    assert after[:low] == text[:low], ("before", text[:low], text, after)
    behind = text[high:]
    assert len(after) >= low + len(behind), ("behind", behind, text, after)
    assert not behind or after.endswith(behind), ("behind", behind, text, after)


def _begin(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    if index and text[index - 1] == "\n":
        return index
    return text.find("\n", index) % (len(text) + 1) + (1 if "\n" in text[index:] else 0)


def _above(text: str, low: int, column: int) -> int:
    """Where the comment lines directly above a line begin, in its column."""
    while low:
        line = _begin(text, low - 1)
        if not re.match(rf" {{{column}}}#", text[line:low]) or _is_in_scalar(text, line + column):
            break
        low = line
    return low


@lru_cache(maxsize=64)
def _scalars(text: str) -> list[tuple[int, int]]:
    return [
        (int(each.start_mark.index), int(each.end_mark.index))
        for each in tokens_of(text)
        if isinstance(each, yaml.ScalarToken)
    ]


def _is_in_scalar(text: str, index: int) -> bool:
    return any(start <= index < end for start, end in _scalars(text))


def _ends_in_block(node: Node) -> bool:
    while node.entries and not node.is_flow:
        node = node.entries[-1].value
    return node.style in ("|", ">")


def _block_end(text: str, node: Node) -> int:
    """Behind a text that keeps the blank lines below it; those of others are not its own."""
    while node.entries and not node.is_flow:
        node = node.entries[-1].value
    head = text[node.start : _line_end(text, node.start)].split("#")[0]
    return node.end if "+" in head else 0


def _common(one: str, other: str) -> int:
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return number
    return min(len(one), len(other))


def _is_within(part: str, whole: str) -> bool:
    """Whether ``part`` is ``whole`` with something taken out."""
    rest = iter(whole)
    return all(each in rest for each in part)


def gaps(text: str) -> dict[tuple[Path, Path], str]:
    """What stands between two single values, by their paths: names, blanks, comments, dashes. () is begin and end."""
    text = text.removeprefix("\ufeff")
    leaves: list[tuple[Path, Node]] = []

    def walk(node: Node, path: Path) -> None:
        for each in node.entries:
            inner = (*path, each.name)
            if each.value.entries:
                walk(each.value, inner)
            else:
                leaves.append((inner, each.value))

    root = _root(text)
    if root is not None:
        walk(root, ())
    if not leaves:
        return {}
    nowhere: Path = ()
    leaves = [(nowhere, Node("", 0, 0)), *leaves, (nowhere, Node("", len(text), len(text)))]
    return {(one, other): text[left.end : right.start] for (one, left), (other, right) in pairwise(leaves)}
