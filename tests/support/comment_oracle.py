"""Whose each comment of a text is, told by PyYAML's tokens and marks alone: nothing here is the editor's.

A comment stands beside an entry, above one, or at the tail of one. Indentation alone decides between the last two: what
holds a comment is the last entry before it that is indented less, as it would hold a key that stood there. When the
next entry is held by the same, the comment is above that; otherwise it is the tail of its holder. For texts without
anchors, tags and explicit keys: those begin before their marks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

from canon_ops.files.yaml_path import Path

__all__ = ["numbered", "owners", "places_of_comments", "same_owner", "strayed", "tokens_of"]

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
    gap = -1  # between which entries the last comment stood, and what held it
    held: Path = ()
    for start, words in _comments(read):
        assert words not in found, words
        following = bisect_right(read.entries, start, key=lambda entry: entry[0])
        beside = _beside(read, start, following)
        if beside is not None:
            found[words] = "beside", beside
            continue
        holder = _holder(read, start, following)
        if gap == following:  # what a comment has closed stays closed for the next one
            holder = min(holder, held, key=len)
        gap, held = following, holder
        after = read.entries[following][1] if following < len(read.entries) else None
        if after is not None and after[: len(holder)] == holder:
            found[words] = "above", after
        else:
            found[words] = ("tail", holder) if holder else ("above", ())
    return found


def numbered(text: str) -> str:
    """The same text with a number behind each comment."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    read = _scanned(text)
    for number, (start, words) in reversed(list(enumerate(_comments(read)))):
        text = read.text
        read.text = f"{text[:start]}{words} {number}{text[start + len(words) :]}"
    return mark + read.text


def places_of_comments(text: str) -> list[tuple[int, str]]:
    """Where each comment begins, and its words; a byte-order mark does not count."""
    return _comments(_scanned(text))


def _scanned(text: str) -> _Text:
    text = text.removeprefix("\ufeff")
    return _Text(text, [token for token in tokens_of(text) if token.end_mark.index > token.start_mark.index])


@lru_cache(maxsize=64)  # several oracles ask about one text
def tokens_of(text: str) -> tuple[Any, ...]:
    """PyYAML's tokens of a text without byte-order mark; nobody changes them."""
    return tuple(yaml.scan(text, yaml.SafeLoader))


def _read(text: str) -> _Text:
    read = _scanned(text)
    root = yaml.compose(read.text, yaml.SafeLoader)
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


def _beside(read: _Text, start: int, following: int) -> Path | None:
    """The entry on whose line a comment stands; behind closing brackets, the one whose value they are."""
    line = read.text.rfind("\n", 0, start) + 1
    if read.text[line:start].strip(" \t") in ("", "---", "..."):
        return None
    closed = [flow for flow in read.flows if line < flow[1] <= start and not read.text[flow[1] : start].strip(" \t,")]
    return min(closed)[2] if closed else read.entries[following - 1][1] if following else ()


def _holder(read: _Text, start: int, following: int) -> Path:
    """The last entry before a comment that is indented less; inside brackets, the entry whose value they are."""
    inside = [path for begin, end, path in read.flows if begin < start < end]
    if inside:
        return max(inside, key=len)
    begin, holder = read.entries[following - 1] if following else (0, ())
    if re.search(r"^\.\.\.", read.text[begin:start], re.MULTILINE):
        return ()
    around = [path for _, end, path in read.flows if end <= start and holder[: len(path)] == path]
    holder = min(around, key=len, default=holder)
    columns = {path: read.column(index) for index, path in read.entries}
    while holder and columns[holder] >= read.column(start):
        holder = holder[:-1]
    return holder


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
