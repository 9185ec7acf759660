"""How much a tree holds once its aliases are written out, and whether one leads back into itself.

PyYAML builds what an anchor names once, so twenty lines that each repeat the line above ten times are read in no time,
and fill every memory as soon as somebody walks through what was read: Hermes does when it merges its defaults, and so
do we. A mapping that holds itself has no end at all.

Source: docs/security.md, a configuration file.
"""

from __future__ import annotations

import yaml

__all__ = ["MOST_REPEATED", "parts_of", "written_out"]

MOST_REPEATED = 100_000  # nodes beyond those that stand in the text; the longest configuration seen has two thousand

_ENOUGH = 10**12  # no need to count further


def written_out(root: yaml.Node) -> tuple[int, yaml.Node | None]:
    """How many nodes ``root`` has beyond those that stand in the text, once every alias is written out.

    Returns:
        The number and None; or -1 and the node that holds itself. It takes the time of one walk through the text.
    """
    sizes: dict[int, int] = {}
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    while waiting:
        node, is_left = waiting.pop()
        if is_left:
            sizes[id(node)] = min(1 + sum(sizes[id(part)] for part in parts_of(node)), _ENOUGH)
        elif id(node) not in sizes:
            parts = parts_of(node)
            sizes[id(node)] = 0 if parts else 1  # 0: being walked through
            if parts:
                waiting.append((node, True))
                waiting += [(part, False) for part in reversed(parts)]
        elif sizes[id(node)] == 0:
            return -1, node
    return sizes[id(root)] - len(sizes), None


def parts_of(node: yaml.Node) -> list[yaml.Node]:
    """The nodes directly in ``node``: keys and values, or items; a scalar has none."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
