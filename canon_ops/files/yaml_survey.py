"""What a person may not see in a config.yaml that Hermes can read: keys that are there twice, and treacherous words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.yaml_layout import MERGE_TAG
from canon_ops.files.yaml_path import format_path
from canon_ops.files.yaml_reader import construct
from canon_ops.lean import dataclass

__all__ = ["BareWord", "Twice", "bare_words", "keys_twice"]

_CORE_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_CORE_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+")
_CORE_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_BY_TAG = {
    "tag:yaml.org,2002:bool": _CORE_BOOL,
    "tag:yaml.org,2002:int": _CORE_INT,
    "tag:yaml.org,2002:float": _CORE_FLOAT,
}


@dataclass(frozen=True, slots=True)
class Twice:
    """A key that stands in several lines of one mapping; Hermes reads the last."""

    path: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BareWord:
    """A word without quotes that Hermes (YAML 1.1) and a reader of YAML 1.2 take for different values.

    Attributes:
        word: as it is written.
        value: what Hermes reads.
    """

    path: str
    word: str
    value: Any
    line: int
    column: int


def keys_twice(document: ConfigDocument) -> tuple[Twice, ...]:
    """Every key that is there more than once, in the order of the text."""
    found = []
    for path, node in _mappings(document):
        places: dict[tuple[str, str], list[int]] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != MERGE_TAG:
                places.setdefault((key.tag, key.value), []).append(int(key.start_mark.line) + 1)
        found += [
            Twice(format_path((*path, name)), tuple(lines)) for (_, name), lines in places.items() if len(lines) > 1
        ]
    return tuple(sorted(found, key=lambda each: each.lines))


def bare_words(document: ConfigDocument) -> tuple[BareWord, ...]:
    """Every value that is written in one of those words, in the order of the text (case BR-07)."""
    found = []
    for path, node in _scalars(document.layout.document.root, ()):
        if node.style or not node.value:
            continue
        core = _BY_TAG.get(node.tag)
        is_alike = core.fullmatch(node.value) if core else not _differs_as_other(node)
        if not is_alike:
            line, column = int(node.start_mark.line) + 1, int(node.start_mark.column) + 1
            found.append(BareWord(format_path(path), node.value, construct(node), line, column))
    return tuple(found)


def _differs_as_other(node: yaml.ScalarNode) -> bool:
    """A date is a text in YAML 1.2; a text here may be a number there (``1e3``, ``0o17``)."""
    if node.tag == "tag:yaml.org,2002:timestamp":
        return True
    is_text = node.tag == "tag:yaml.org,2002:str"
    return is_text and bool(_CORE_FLOAT.fullmatch(node.value) or re.fullmatch(r"0o[0-7]+|[-+]?[0-9]+", node.value))


def _mappings(document: ConfigDocument) -> Iterator[tuple[tuple[str | int, ...], yaml.MappingNode]]:
    for path, node in _nodes(document.layout.document.root, ()):
        if isinstance(node, yaml.MappingNode):
            yield path, node


def _scalars(root: yaml.Node | None, path: tuple[str | int, ...]) -> Iterator[tuple[Any, yaml.ScalarNode]]:
    for where, node in _nodes(root, path):
        if isinstance(node, yaml.ScalarNode):
            yield where, node


def _nodes(
    node: yaml.Node | None, path: tuple[str | int, ...], seen: set[int] | None = None
) -> Iterator[tuple[tuple[str | int, ...], yaml.Node]]:
    """Every value of the tree with its path, an aliased one where its anchor stands."""
    seen = set() if seen is None else seen
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    yield path, node
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            yield from _nodes(value, path if key.tag == MERGE_TAG else (*path, name), seen)
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield from _nodes(item, (*path, position), seen)
