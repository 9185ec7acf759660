"""Where the comments of config.yaml must be after one plain edit, told by :mod:`comment_oracle`.

Texts are numbered first (``numbered``), so that each comment is known by its words. Texts with anchors, tags and
explicit keys have no owners by that oracle; of those only the number of comments is compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import yaml

from canon_ops.files.yaml_path import Path
from tests.support.comment_oracle import Owner, owners, same_owner
from tests.support.config_oracle import comments, lines_of, read

__all__ = ["assert_added", "assert_dropped", "assert_replaced"]

_NO_OWNERS = re.compile(r"[&*]\w|\? |!!")


@lru_cache(maxsize=64)
def _owners(text: str) -> Mapping[str, Owner]:
    return MappingProxyType(owners(text) if "#" in text else {})


def _is_told(text: str) -> bool:
    return not _NO_OWNERS.search(text)


def assert_added(text: str, after: str) -> None:
    """A new key or item: every comment is where it was, and there is no other."""
    if not _is_told(text):
        assert comments(after) == comments(text), (text, after)
        return
    old, new = _owners(text), _owners(after)
    assert list(new) == list(old), (text, after)
    for words, owner in old.items():
        is_first = not read(text)  # what stands above nothing stands above the first key
        assert is_first or same_owner(owner, new[words]), (words, owner, new[words], text, after)


def assert_replaced(text: str, after: str, path: Path, *, was_section: bool) -> None:
    """A new value at ``path``: comments inside a section may go with it, all others are where they were.

    What the entry itself holds, it holds still: whether under a new item or key of its value is the indent's matter.
    """
    if not _is_told(text):
        assert was_section or comments(after) == comments(text), (text, after)
        return
    old, new = _owners(text), _owners(after)
    inside = _on_lines(text, path)[1:] if was_section else []
    assert list(new) == [words for words in old if words in new], (path, text, after)
    for words, owner in old.items():
        if words not in new:
            is_in_brackets = was_section and owner[1][: len(path)] == path
            if owner == ("beside", path):  # goes only where another one stands there
                is_in_brackets = owner in [new[other] for other in new]
            assert is_in_brackets or any(words in each for each in inside), (words, owner, path, text, after)
        elif not same_owner(owner, new[words]):
            is_held = owner[1][: len(path)] == path == new[words][1][: len(path)]
            assert is_held, (words, owner, new[words], path, text, after)


def assert_dropped(text: str, after: str, path: Path) -> None:
    """No entry at ``path`` any more: with it goes what stands on its lines and directly above it, and nothing else."""
    if not _is_told(text):
        assert not comments(after) - comments(text), (text, after)
        return
    old, new = _owners(text), _owners(after)
    assert list(new) == [words for words in old if words in new], (path, text, after)
    lines = _on_lines(text, path)
    going = [*_directly_above(text, path), *lines]
    in_block = _is_in_block(text, path)
    closing = ("above", path) in [old[words] for words in new]  # it stays, and now may close what is held below
    for words, owner in old.items():
        is_own = owner[1][: len(path)] == path
        goes = is_own and any(line.endswith(words) for line in going)
        if words not in new:
            assert goes or (is_own and not in_block), (words, owner, path, text, after)
            continue
        assert not (goes and in_block), (words, owner, path, text, after)
        now = new[words]
        if is_own or (closing and owner[0] == "tail" and path[: len(owner[1])] == owner[1]):
            assert now[0] != "beside" or not in_block, (words, owner, now, path, text, after)
        else:
            assert same_owner((owner[0], _moved_up(owner[1], path)), now), (words, owner, now, path, text, after)


def _on_lines(text: str, path: Path) -> list[str]:
    """The lines that an entry stands on."""
    lines = text.removeprefix("\ufeff").replace("\r", "").split("\n")
    first, last = lines_of(text, path)
    return lines[first : last + 1]


def _directly_above(text: str, path: Path) -> list[str]:
    """The comment lines right above an entry, in its column."""
    lines = text.removeprefix("\ufeff").replace("\r", "").split("\n")
    first, _ = lines_of(text, path)
    column = len(lines[first]) - len(lines[first].lstrip(" "))
    found = []
    while first and re.match(rf" {{{column}}}#", lines[first - 1]):
        first -= 1
        found.append(lines[first])
    return found


def _is_in_block(text: str, path: Path) -> bool:
    """Whether no brackets are around the entry, and it begins its line: only then its lines are its own."""
    node: Any = yaml.compose(text.removeprefix("\ufeff"), yaml.SafeLoader)
    for name in path:
        if node.flow_style:
            return False
        if isinstance(node, yaml.MappingNode):
            key, node = next((key, value) for key, value in node.value if key.value == str(name))
            line = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")[key.start_mark.line]
            is_first = not line[: key.start_mark.column].strip()
        else:
            line = text.removeprefix("\ufeff").split("\n")[node.start_mark.line]
            is_first = name != 0 or not line[: node.start_mark.column].strip()
            node = node.value[int(name)]
    return is_first


def _moved_up(owner: Path, dropped: Path) -> Path:
    """What an owner is called when an item before it is gone."""
    depth, last = len(dropped) - 1, dropped[-1]
    if not isinstance(last, int) or owner[:depth] != dropped[:depth] or len(owner) <= depth:
        return owner
    index = owner[depth]
    assert isinstance(index, int)
    return (*owner[:depth], index - 1, *owner[depth + 1 :]) if index > last else owner
