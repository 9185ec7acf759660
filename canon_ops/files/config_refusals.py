"""Places of config.yaml that must not be edited, and the sentences that say what to do instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import yaml

from canon_ops.errors import NotFoundError, RefusedError
from canon_ops.files.yaml_layout import Layout, Way, find_way
from canon_ops.files.yaml_path import Path, format_path
from canon_ops.files.yaml_reader import construct
from canon_ops.hints import Any, ClassVar
from canon_ops.lean import late_pattern

__all__ = [
    "AnchorInUse",
    "ConfigRefused",
    "DuplicateKey",
    "NoSuchIndex",
    "NoSuchKey",
    "ThroughAlias",
    "WrongKind",
    "place",
    "refuse_anchors",
    "way_to_edit",
    "wrong_kind",
]

_ANCHOR = late_pattern(r"&([^\s,\[\]{}]+)")


class ConfigRefused(RefusedError):
    """The edit is clear, but this place must not be edited like that; the message says what to do instead."""

    code: ClassVar[str] = "config_refused"


class NestedTooDeeply(ConfigRefused):
    """The value would be nested deeper than anybody reads it."""

    code: ClassVar[str] = "config_nesting"


class DuplicateKey(ConfigRefused):
    """The key is there more than once; Hermes reads the last."""

    code: ClassVar[str] = "config_duplicate_key"


class ThroughAlias(ConfigRefused):
    """The place is reached only through an alias or a merge key."""

    code: ClassVar[str] = "config_alias"


class AnchorInUse(ConfigRefused):
    """The value is repeated by aliases elsewhere."""

    code: ClassVar[str] = "config_anchor"


class WrongKind(ConfigRefused):
    """There is a value of another kind than the edit needs."""

    code: ClassVar[str] = "config_kind"


class NoSuchKey(NotFoundError):
    """The path leads nowhere."""

    code: ClassVar[str] = "config_not_found"


class NoSuchIndex(NoSuchKey):
    """The list is shorter."""

    code: ClassVar[str] = "config_index"


def place(layout: Layout, index: int) -> dict[str, Any]:
    """``file``, ``line`` and ``column`` of a character, as errors take them."""
    line, column = layout.document.line_column(index)
    return {"file": layout.document.file, "line": line, "column": column}


def way_to_edit(layout: Layout, path: Path) -> Way | None:
    """The way to ``path``, on which nothing forbids an edit; None in an empty document.

    Raises:
        DuplicateKey, ThroughAlias, ConfigRefused: something does.
    """
    if not path:
        raise ConfigRefused("the whole document is not one value", fix="name a key")
    if layout.document.root is None:
        return None
    way = find_way(layout, path)
    if way.duplicate:
        lines = [layout.document.line_column(start)[0] for start in way.duplicate]
        raise DuplicateKey(
            f"{format_path(path[: len(way.steps)])} stands in lines {', '.join(map(str, lines))}; "
            f"Hermes reads line {lines[-1]} only",
            fix=f"keep one of them: {layout.document.file}:{lines[0]}",
            **place(layout, way.duplicate[0]),
        )
    if way.alias is not None:
        anchor = layout.text[way.alias[0] + 1 : way.alias[1]]
        raise ThroughAlias(
            f"{format_path(path)} is reached through the alias *{anchor}",
            fix=f"edit the value at the anchor &{anchor}{_line_of(layout, anchor)}",
            **place(layout, way.alias[0]),
        )
    if way.rest:
        _refuse_merged(layout, way)
    if way.unlike is not None:
        word = way.rest[0]
        raise ConfigRefused(
            f"the key {word} is there, but Hermes reads the bare word as something else than text",
            fix=f'write it in quotes in the file: "{word}":',
            **place(layout, way.unlike),
        )
    return way


def _refuse_merged(layout: Layout, way: Way) -> None:
    """Refuse a name that a merge key brings in."""
    node, name = way.node, way.rest[0]
    if not isinstance(node, yaml.MappingNode):
        return
    for position, (key, _) in enumerate(node.value):
        if key.tag == "tag:yaml.org,2002:merge" and name in construct(node):
            span = layout.aliases.get((id(node), 2 * position + 1))
            anchor = layout.text[span[0] + 1 : span[1]] if span else ""
            where = f"the anchor &{anchor}{_line_of(layout, anchor)}" if anchor else "what the merge key << names"
            raise ThroughAlias(
                f"{format_path((*[step.name for step in way.steps], name))} comes from a merge key (<<)",
                fix=f"edit {where}",
                **place(layout, int(key.start_mark.index)),
            )


def _line_of(layout: Layout, anchor: str) -> str:
    match = re.search(rf"&{re.escape(anchor)}(?![^\s,\[\]{{}}])", layout.text)
    return f", line {layout.document.line_column(match.start())[0]}" if match else ""


def refuse_anchors(layout: Layout, node: yaml.Node, *, but_itself: bool = False) -> None:
    """Refuse to take away an anchor that an alias elsewhere needs.

    Args:
        node: what goes, with all that is in it.
        but_itself: the node is only replaced by another value at the same anchor.

    Raises:
        AnchorInUse: an alias repeats ``node`` or something in it.
    """
    inside = _own_nodes(layout, node)
    ids = {id(inner) for inner in inside}
    for inner in inside:
        if (
            id(inner) not in layout.shared
            or (but_itself and inner is node)
            or not _is_named_outside(layout, inner, ids)
        ):
            continue
        start = int(inner.start_mark.index)
        match = _ANCHOR.search(layout.text, start)
        anchor = match[1] if match else "?"
        raise AnchorInUse(
            f"the anchor &{anchor} stands inside this value and is used elsewhere (*{anchor})",
            fix=f"write the value out where *{anchor} stands, then try again",
            **place(layout, start),
        )


def wrong_kind(path: Path, value: Any, wanted: str, **where: Any) -> WrongKind:
    """The refusal of a value that is no ``wanted``; the value itself may be a secret and is not quoted."""
    if isinstance(value, dict | list):
        kind = "a mapping" if isinstance(value, dict) else "a list"
    else:
        kind = "a text" if isinstance(value, str) else "a single value"
    shown = f"canon-ops config get {shlex.quote(format_path(path))}   # see what is there; config unset takes it out"
    fix = "--convert turns it into a list" if isinstance(value, str) and wanted == "a list" else shown
    return WrongKind(f"{format_path(path)} holds {kind}, where Hermes wants {wanted}", fix=fix, **where)


def _is_named_outside(layout: Layout, anchored: yaml.Node, inside: set[int]) -> bool:
    """Whether an alias that stands in none of the collections ``inside`` repeats ``anchored``."""
    root = layout.document.root
    return root is not None and any(
        id(node) not in inside and (id(node), slot) in layout.aliases and part is anchored
        for node in _own_nodes(layout, root)
        for slot, part in _parts(node)
    )


def _own_nodes(layout: Layout, node: yaml.Node) -> list[yaml.Node]:
    """``node`` and all that is written in it; what an alias in it repeats stands elsewhere."""
    found: list[yaml.Node] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += [part for slot, part in _parts(one) if (id(one), slot) not in layout.aliases]
    return found


def _parts(node: yaml.Node) -> Iterator[tuple[int, yaml.Node]]:
    """The nodes directly in a collection, each with its slot as :attr:`Layout.aliases` counts them."""
    if isinstance(node, yaml.MappingNode):
        for position, (key, value) in enumerate(node.value):
            yield 2 * position, key
            yield 2 * position + 1, value
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield 2 * position + 1, item
