"""Where values are nested deeper than anybody walks through.

Source: docs/security.md, a configuration file.
"""

from __future__ import annotations

import yaml

from canon_ops.files.yaml_path import MOST_NESTED
from canon_ops.files.yaml_repetition import parts_of
from canon_ops.hints import Any

__all__ = ["first_too_deep", "levels"]


def first_too_deep(root: yaml.Node) -> yaml.Node | None:
    """A mapping or list that stands in ``MOST_NESTED`` others, once every alias is written out; None without one.

    Args:
        root: of a tree in which nothing holds itself.
    """
    heights: dict[int, int] = {}  # how many levels each node has below it, itself included; a scalar has none
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    while waiting:
        node, is_left = waiting.pop()
        if is_left:
            heights[id(node)] = 1 + max((heights[id(part)] for part in parts_of(node)), default=0)
        elif isinstance(node, yaml.ScalarNode):
            heights[id(node)] = 0
        elif id(node) not in heights:
            waiting.append((node, True))
            waiting += [(part, False) for part in parts_of(node)]
    node, depth = root, 1
    while heights[id(root)] > MOST_NESTED and depth <= MOST_NESTED:
        node, depth = max(parts_of(node), key=lambda part: heights[id(part)]), depth + 1
    return node if depth > MOST_NESTED else None


def levels(value: Any) -> int:
    """How many mappings and lists are nested in ``value``, itself included; 0 for a text, a number, null."""
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        if isinstance(one, dict | list):
            deepest = max(deepest, depth)
            waiting += [(part, depth + 1) for part in (one.values() if isinstance(one, dict) else one)]
    return deepest
