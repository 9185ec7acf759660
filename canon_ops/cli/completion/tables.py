"""The tables of a script that bash and zsh write alike: patterns of ``case``, and the text that each one means.

An option that takes the same in every command that has it is one row with a star for the command.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from canon_ops.cli.completion.outline import Node

__all__ = ["HEADER", "REGENERATE", "argument_rows", "default_rows", "taken_rows"]

REGENERATE = "make generate"
HEADER = f"Generated from the command tree; `{REGENERATE}` writes it."

Rows = list[tuple[list[str], str]]


def default_rows(nodes: Sequence[Node]) -> Rows:
    """Group → the member that it means."""
    return [([f"'{node.path}'"], node.default) for node in nodes if node.default]


def taken_rows(nodes: Sequence[Node]) -> Rows:
    """Command and option → what the option takes; what takes nothing has no row."""
    meanings: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        valued = {taken.option: taken.takes for taken in node.valued}
        for offer in node.options:
            meanings[offer.text].add(valued.get(offer.text, ""))
    grouped: dict[str, list[str]] = defaultdict(list)
    for option, found in meanings.items():
        if len(found) == 1 and (takes := next(iter(found))):
            grouped[takes].append(f"*' {option}'")
    alike = {option for option, found in meanings.items() if len(found) == 1}
    for node in nodes:
        for taken in node.valued:
            if taken.option not in alike:
                grouped[taken.takes].append(f"'{node.path} {taken.option}'")
    return [(patterns, takes) for takes, patterns in sorted(grouped.items())]


def argument_rows(nodes: Sequence[Node]) -> Rows:
    """Command and number of the argument, from 1 → what it takes."""
    rows: Rows = []
    for node in nodes:
        last = len(node.arguments)
        for number, takes in enumerate(node.arguments, 1):
            patterns = [f"'{node.path} {number}'"]
            if number == last and node.repeats:
                patterns = [f"'{node.path} '*"]
            rows.append((patterns, takes))
    return rows
