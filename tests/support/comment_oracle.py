"""Whose each comment of a text is, told by PyYAML's tokens and marks alone: nothing here is the editor's.

A comment stands beside an entry, above one, or below the last entry of a section that is indented less than it. For
texts without anchors, tags and explicit keys: those begin before their marks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

import yaml

from canon_ops.files.yaml_path import Path

__all__ = ["numbered", "owners", "same_owner", "strayed"]

Owner = tuple[str, Path]
"""How it stands (``beside``, ``above``, ``tail``) and the path of the entry or section; () above nothing is the end."""


@dataclass(slots=True)
class _Text:
    text: str
    tokens: list[Any]
    entries: list[tuple[int, Path]] = field(default_factory=list)  # where each begins: its key, its dash, its item
    flows: list[tuple[int, int, Path]] = field(default_factory=list)

    def column(self, index: int) -> int:
        return index - self.text.rfind("\n", 0, index) - 1


def owners(text: str) -> dict[str, Owner]:
    """Each comment by its words, which must be unlike any other's."""
    read = _read(text)
    found: dict[str, Owner] = {}
    above: Path | None = None
    for start, words in _comments(read):
        assert words not in found, words
        kind, path = _owner(read, start)
        following = bisect_right(read.entries, start, key=lambda entry: entry[0])
        next_one = read.entries[following][1] if following < len(read.entries) else ()
        if kind == "tail" and above == next_one:  # one before it is about what follows, and so is this one
            kind, path = "above", next_one
        above = next_one if kind == "above" else above if kind == "beside" else None
        found[words] = kind, path
    return found


def numbered(text: str) -> str:
    """The same text with a number behind each comment."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    read = _read(text)
    for number, (start, words) in reversed(list(enumerate(_comments(read)))):
        text = read.text
        read.text = f"{text[:start]}{words} {number}{text[start + len(words) :]}"
    return mark + read.text


def _read(text: str) -> _Text:
    text = text.removeprefix("\ufeff")
    tokens = [token for token in yaml.scan(text, yaml.SafeLoader) if token.end_mark.index > token.start_mark.index]
    read = _Text(text, tokens)
    root = yaml.compose(text, yaml.SafeLoader)
    if root is not None:
        _walk(root, (), read)
    read.entries.sort()
    return read


def _walk(node: Any, path: Path, read: _Text) -> None:
    if isinstance(node, yaml.ScalarNode):
        return
    begin, end = int(node.start_mark.index), int(node.end_mark.index)
    if node.flow_style:
        read.flows.append((begin, end, path))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            read.entries.append((int(key.start_mark.index), (*path, str(key.value))))
            _walk(value, (*path, str(key.value)), read)
        return
    starts = [int(item.start_mark.index) for item in node.value]
    if not node.flow_style:
        column = node.start_mark.column
        starts = [
            int(token.start_mark.index)
            for token in read.tokens
            if isinstance(token, yaml.BlockEntryToken)
            and begin <= token.start_mark.index < end
            and token.start_mark.column == column
        ]
    assert len(starts) == len(node.value)
    for number, (start, item) in enumerate(zip(starts, node.value, strict=True)):
        read.entries.append((start, (*path, number)))
        _walk(item, (*path, number), read)


def _comments(read: _Text) -> list[tuple[int, str]]:
    """Where comments can be: between tokens, and behind the head of a block text."""
    found, last = [], 0
    for token in read.tokens:
        start, end = int(token.start_mark.index), int(token.end_mark.index)
        gap = [(last, start)]
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            gap.append((start + 1, read.text.find("\n", start) % (end + 1)))
        for begin, stop in gap:
            found += [(begin + match.start(), match[0]) for match in re.finditer("#[^\r\n]*", read.text[begin:stop])]
        last = max(last, end)
    found += [(last + match.start(), match[0]) for match in re.finditer("#[^\r\n]*", read.text[last:])]
    return found


def _owner(read: _Text, start: int) -> Owner:
    line = read.text.rfind("\n", 0, start) + 1
    following = bisect_right(read.entries, start, key=lambda entry: entry[0])
    before = read.entries[following - 1][1] if following else ()
    if read.text[line:start].strip(" \t") not in ("", "---", "..."):
        closed = [flow for flow in read.flows if line < flow[1] <= start and not read.text[flow[1] : start].strip()]
        return "beside", min(closed)[2] if closed else before
    inside = [path for begin, end, path in read.flows if begin < start < end]
    after = read.entries[following] if following < len(read.entries) else None
    if inside:
        section = max(inside, key=len)
        is_above = after is not None and after[1][: len(section)] == section
        return ("above", after[1]) if after is not None and is_above else ("tail", section)
    column = read.column(start)
    if after is not None and column <= read.column(after[0]):
        return "above", after[1]
    around = [path for _, end, path in read.flows if end <= start and before[: len(path)] == path]
    before = min(around, key=len, default=before)
    columns = {path: read.column(index) for index, path in read.entries}
    while before and columns[before] > column:
        before = before[:-1]
    while len(before) > 1 and columns[before[:-1]] >= column:
        before = before[:-1]
    section = before[:-1]
    if section and (after is None or after[1][: len(section)] != section):
        return "tail", section
    return "above", after[1] if after is not None else ()


def strayed(before: str, after: str, gone: Container[str] = ()) -> dict[str, tuple[Owner, Owner | None]]:
    """Comments of ``before`` that ``after`` lacks, or has at another entry; its own comments are numbered."""
    now = owners(after)
    return {
        words: (owner, now.get(words))
        for words, owner in owners(before).items()
        if words not in gone and not same_owner(owner, now.get(words))
    }


def same_owner(old: Owner, new: Owner | None) -> bool:
    """Whether two owners are one: an item and its first key begin together, and so share what stands there.

    A comment beside an entry may stand above it, where nothing can stand beside it any more.
    """
    if new is None:
        return False
    one, other = sorted((old[1], new[1]), key=len)
    together = len(one) != len(other) and bool(one) and isinstance(one[-1], int) and other[: len(one)] == one
    is_above_now = (old[0], new[0]) == ("beside", "above")  # where the value takes several lines now
    is_one_entry = old[1] == new[1] or (together and "tail" not in (old[0], new[0]))
    return old == new or (is_one_entry and (old[0] == new[0] or is_above_now))
