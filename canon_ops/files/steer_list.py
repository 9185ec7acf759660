"""One step that brings a list nearer to a wanted one, so that each item that stays keeps its lines and comments.

Items are told apart by their value, else (mappings) by what they are called, else by their order among the rest. The
steps, in this order: mend an item that stays, take one out, append a new one, and at last put the items in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import yaml

from canon_ops.files.config_editor import ConfigDocument, ConfigSyntaxError
from canon_ops.files.yaml_difference import Difference, alike, differences
from canon_ops.files.yaml_layout import Step, find_way
from canon_ops.files.yaml_path import Path
from canon_ops.files.yaml_places import comment_block, entry_of, line_start, stop_of
from canon_ops.hints import Any

__all__ = ["match_items", "next_item_step"]

_NAMES = ("id", "name", "key", "provider", "url", "command")  # what Hermes' lists of mappings call their items


def next_item_step(
    document: ConfigDocument,
    path: Path,
    before: list[Any],
    after: list[Any],
    *,
    step: Callable[[ConfigDocument, Difference], ConfigDocument],
) -> ConfigDocument:
    """Carry out the next step.

    Args:
        step: mends one place; called for a place inside an item that stays.

    Raises:
        ConfigRefused, ProofFailed: the list cannot be edited here.
    """
    pairs = match_items(before, after)
    for old, new in pairs:
        difference = next(differences(before[old], after[new], (*path, old), whole_lists=True), None)
        if difference is not None:
            return step(document, difference)
    staying = {old for old, _ in pairs}
    for old in reversed(range(len(before))):
        if old not in staying:
            return document.unset((*path, old))
    kept = {new for _, new in pairs}
    for new in range(len(after)):
        if new not in kept:
            return document.append(path, after[new])
    order = [old for old, _ in sorted(pairs, key=lambda pair: pair[1])]
    return _reordered(document, path, order) or _set_in_place(document, path, before, after)


def match_items(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[int, int]]:
    """Which item of ``before`` is which of ``after``; in the order of ``before``, each at most once."""
    pairs: list[tuple[int, int]] = []
    old, new = list(range(len(before))), list(range(len(after)))

    def pair_up(is_same: Callable[[Any, Any], bool]) -> None:
        for one in list(old):
            other = next((each for each in new if is_same(before[one], after[each])), None)
            if other is not None:
                pairs.append((one, other))
                old.remove(one)
                new.remove(other)

    pair_up(alike)
    pair_up(_are_called_the_same)
    pair_up(lambda one, other: isinstance(one, dict | list) and type(one) is type(other) and not _is_called(one))
    return sorted(pairs)


def _is_called(item: Any) -> bool:
    return isinstance(item, dict) and any(name in item for name in _NAMES)


def _are_called_the_same(one: Any, other: Any) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return False
    name = next((name for name in _NAMES if name in one), None)
    return name is not None and name in other and alike(one[name], other[name])


def _reordered(document: ConfigDocument, path: Path, order: Sequence[int]) -> ConfigDocument | None:
    """The items of a block list in another order, each with its lines; None where they are not lines of their own."""
    layout, text = document.layout, document.layout.text
    node = find_way(layout, path).node
    if not isinstance(node, yaml.SequenceNode) or node.flow_style or len(node.value) < 2:
        return None
    steps = [Step(node, position, position) for position in range(len(node.value))]
    if any(text[line_start(text, start := entry_of(layout, step)) : start].strip() for step in steps):
        return None
    starts = [comment_block(layout, step)[0] for step in steps]
    stop = stop_of(layout, steps[-1])
    newline = layout.document.newline
    has_end = text[:stop].endswith("\n")
    chunks = [text[start:end] for start, end in zip(starts, [*starts[1:], stop], strict=True)]
    if not has_end:
        chunks[-1] += newline
    middle = "".join(chunks[position] for position in order)
    if not has_end:
        middle = middle.removesuffix("\n").removesuffix("\r")
    try:
        return document.with_text(text[: starts[0]] + middle + text[stop:])
    except ConfigSyntaxError:
        return None


def _set_in_place(document: ConfigDocument, path: Path, before: list[Any], after: list[Any]) -> ConfigDocument:
    """Give each place its new value, where the lines cannot be moved."""
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        if not alike(one, other):
            document = document.set((*path, index), other)
    return document
