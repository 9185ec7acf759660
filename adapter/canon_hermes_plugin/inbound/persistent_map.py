"""A map that never changes: an edit gives a new map, which shares nearly all of the old one.

A pure state of many entries needs it: copying a dictionary for each edit costs as much as all of its entries, and many
edits then cost the square of that. Here an edit copies one path from the root, which grows with the logarithm.

The entries lie in small dictionaries at the ends of a tree. One that has too many becomes a branch of sixteen, and four
bits of the key's hash for each level say in which of them a key lies.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, Generic, TypeAlias, TypeVar

__all__ = ["PersistentMap"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

WIDTH: Final = 16  # of a branch
BITS: Final = 4  # that choose one of sixteen
FULL: Final = 8  # entries of an end before it becomes a branch
DEEPEST: Final = 12  # a hash has 61 bits and a sign; keys whose hashes agree up to here share an end of any size

_Node: TypeAlias = "dict[Any, Any] | tuple[_Node, ...]"


class PersistentMap(Generic[K, V]):
    """Entries by key; two maps are not compared."""

    __slots__ = ("_count", "_root")

    def __init__(self) -> None:
        self._root: _Node = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: K) -> bool:
        return key in self._end(key)

    def __getitem__(self, key: K) -> V:
        found: V = self._end(key)[key]
        return found

    def get(self, key: K, default: V) -> V:
        """What stands under ``key``, or ``default``."""
        found: V = self._end(key).get(key, default)
        return found

    def with_entry(self, key: K, value: V) -> PersistentMap[K, V]:
        """The map with ``value`` under ``key``, whatever stood there."""
        return _made(_with(self._root, key, value, 0), self._count + (key not in self))

    def without(self, key: K) -> PersistentMap[K, V]:
        """The map without ``key``; itself when it has no such entry."""
        return _made(_without(self._root, key, 0), self._count - 1) if key in self else self

    def _end(self, key: K) -> dict[Any, Any]:
        node, depth = self._root, 0
        while isinstance(node, tuple):
            node, depth = node[_branch(key, depth)], depth + 1
        return node


def _made(root: _Node, count: int) -> PersistentMap[Any, Any]:
    made: PersistentMap[Any, Any] = PersistentMap()
    made._root, made._count = root, count
    return made


def _branch(key: Hashable, depth: int) -> int:
    return (hash(key) >> (BITS * depth)) % WIDTH


def _with(node: _Node, key: Hashable, value: object, depth: int) -> _Node:
    if isinstance(node, tuple):
        place = _branch(key, depth)
        return (*node[:place], _with(node[place], key, value, depth + 1), *node[place + 1 :])
    end = {**node, key: value}
    if len(end) <= FULL or depth == DEEPEST:
        return end
    branches: list[dict[Any, Any]] = [{} for _ in range(WIDTH)]
    for each, what in end.items():
        branches[_branch(each, depth)][each] = what
    return tuple(branches)


def _without(node: _Node, key: Hashable, depth: int) -> _Node:
    if isinstance(node, dict):
        return {each: value for each, value in node.items() if each != key}
    place = _branch(key, depth)
    rest = (*node[:place], _without(node[place], key, depth + 1), *node[place + 1 :])
    return rest if any(rest) else {}
