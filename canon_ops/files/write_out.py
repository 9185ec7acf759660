"""Write out what an alias or a merge key only names, at one place, so that the place can have a value of its own."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from canon_ops.errors import RefusedError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.engine import YamlEdit
from canon_ops.files.yaml_layout import MERGE_TAG, Layout, Step, find_way
from canon_ops.files.yaml_path import Path
from canon_ops.files.yaml_places import end_of, entry_of
from canon_ops.files.yaml_reader import construct
from canon_ops.hints import Any, ClassVar

__all__ = ["Stuck", "write_out_alias", "write_out_anchors", "write_out_merge"]

_PLACE = "merged-place-of-a-key"  # stands for a merge key while what it brought in is written out


class Stuck(RefusedError):
    """No small edit makes the text read as wanted; the caller goes another way."""

    code: ClassVar[str] = "config_stuck"


def write_out_alias(document: ConfigDocument, path: Path) -> ConfigDocument:
    """Replace the first alias on the way to ``path`` by the value that it names.

    Raises:
        Stuck: there is none.
    """
    way = find_way(document.layout, path)
    for number, step in enumerate(way.steps):
        span = document.layout.aliases.get((id(step.parent), 2 * step.position + 1))
        if span is not None:
            entry = step.parent.value[step.position]
            node = entry[1] if isinstance(entry, tuple) else entry
            text = document.layout.text
            opened = document.with_text(f"{text[: span[0]]}0{text[span[1] :]}")
            return opened.set(path[: number + 1], construct(node))
    raise Stuck("there is no alias on the way", file=document.file)


def write_out_merge(document: ConfigDocument, path: Path) -> ConfigDocument:
    """Replace the merge keys of the mapping at ``path`` by the keys that they bring in.

    Raises:
        Stuck: there is none.
    """
    layout = document.layout
    node = find_way(layout, path).node
    merges = [position for position, (key, _) in enumerate(node.value) if key.tag == MERGE_TAG]
    if not merges:
        raise Stuck("there is no merge key", file=document.file)
    own = {construct(key) for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.tag != MERGE_TAG}
    brought = {key: value for key, value in construct(node).items() if key not in own}
    step = Step(node, merges[0], "<<")
    place = YamlEdit().render(0, key=_PLACE, room="brackets")
    text = layout.text
    opened = document.with_text(f"{text[: entry_of(layout, step)]}{place}{text[end_of(layout, step) :]}")
    for key, value in brought.items():
        opened = opened.set((*path, key), value) if _is_absent(opened, path, key) else opened
    return opened.unset((*path, _PLACE))


def write_out_anchors(document: ConfigDocument, path: Path) -> ConfigDocument:
    """Write out the first alias that repeats something at or below ``path`` from elsewhere.

    Raises:
        Stuck: there is none that could be.
    """
    layout = document.layout
    inside = {id(node) for node in _nodes(find_way(layout, path).node)}
    for where, node, is_merge in _alias_places(layout, layout.document.root, ()):
        if id(node) in inside and where[: len(path)] != path:
            return write_out_merge(document, where) if is_merge else write_out_alias(document, where)
    raise Stuck("no alias repeats what is there", file=document.file)


def _is_absent(document: ConfigDocument, path: Path, key: Any) -> bool:
    """Whether the mapping itself lacks ``key`` (another merge key may still bring it in)."""
    node = find_way(document.layout, path).node
    return all(
        construct(own) != key for own, _ in node.value if isinstance(own, yaml.ScalarNode) and own.tag != MERGE_TAG
    )


def _nodes(node: yaml.Node) -> Iterator[yaml.Node]:
    yield node
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for part in pair:
                yield from _nodes(part)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _nodes(item)


def _alias_places(layout: Layout, node: yaml.Node | None, path: Path) -> Iterator[tuple[Path, yaml.Node, bool]]:
    """Every place where an alias stands as a value: its path, what it names, and whether a merge key names it."""
    if isinstance(node, yaml.MappingNode):
        for position, (key, value) in enumerate(node.value):
            is_merge = key.tag == MERGE_TAG
            here = path if is_merge else (*path, str(key.value) if isinstance(key, yaml.ScalarNode) else "?")
            if (id(node), 2 * position + 1) in layout.aliases:
                yield here, value, is_merge
            elif is_merge and isinstance(value, yaml.SequenceNode):
                yield from ((path, item, True) for item in value.value)
            else:
                yield from _alias_places(layout, value, here)
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            here = (*path, position)
            if (id(node), 2 * position + 1) in layout.aliases:
                yield here, item, False
            else:
                yield from _alias_places(layout, item, here)
