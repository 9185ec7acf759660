"""Comments by the entry they belong to, and putting a comment to an entry.

A comment is put where reading and every other comment stay as they are; that is tried, not computed. The places, in
this order: behind the entry's line (for one that stood beside its entry), directly above the entry, above each entry
around it, at the end of the text, at its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from canon_ops.files.config_editor import ConfigDocument, ConfigSyntaxError
from canon_ops.files.yaml_layout import MERGE_TAG, Comment, Layout
from canon_ops.files.yaml_places import line_start
from canon_ops.files.yaml_proofs import ProofFailed
from canon_ops.files.yaml_reader import construct, same

__all__ = ["KeyPath", "PlacedComment", "place_comment", "placed_comments"]

KeyPath = tuple[Any, ...]
_END_MARK = re.compile(r"^\.\.\.", re.MULTILINE)
_START_MARK = re.compile(r"^---.*(?:\n|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlacedComment:
    """A comment and the entry it belongs to.

    Attributes:
        path: keys as they are in the mappings, and indexes; () for a comment below the last entry.
        beside: it stands on the entry's line, not above it.
    """

    comment: Comment
    path: KeyPath
    beside: bool


def placed_comments(layout: Layout) -> list[PlacedComment]:
    """Every comment of a text, in order."""
    paths = _paths(layout)
    found = []
    for comment in layout.comments:
        owner = layout.owner(comment)
        start = layout.entries[owner.entry] if owner.entry < len(layout.entries) else None
        found.append(PlacedComment(comment, () if start is None else paths[start], owner.beside))
    return found


def place_comment(
    document: ConfigDocument, path: KeyPath, lines: Sequence[str], *, beside: bool = False
) -> ConfigDocument:
    """Put comment lines to the entry at ``path``, or as near to it as they can stand.

    Args:
        lines: each begins with ``#``.
        beside: try behind the entry's line first; only for a single line.

    Raises:
        ProofFailed: there is no place in the whole text.
    """
    for text in _candidates(document, path, lines, beside=beside):
        found = _accepted(document, text, len(lines))
        if found is not None:
            return found
    raise ProofFailed("there is no place for a comment in this text", file=document.file)


def _candidates(document: ConfigDocument, path: KeyPath, lines: Sequence[str], *, beside: bool) -> Iterator[str]:
    layout, text = document.layout, document.layout.text
    newline = layout.document.newline
    places = {path: start for start, path in _paths(layout).items()}
    if beside and path in places and len(lines) == 1:
        stop = text.find("\n", places[path])
        stop = len(text) if stop < 0 else stop - (text[stop - 1] == "\r")
        yield f"{text[:stop].rstrip(' ')}  {lines[0]}{text[stop:]}"
    while path:
        if path in places:
            begin = line_start(text, places[path])
            indent = text[begin : places[path]]
            if not indent.strip(" "):
                yield text[:begin] + "".join(f"{indent}{line}{newline}" for line in lines) + text[begin:]
        path = path[:-1]
    yield from _at_the_end(text, lines, newline)
    start = _START_MARK.search(text)
    head = start.end() if start else 0
    yield text[:head] + "".join(f"{line}{newline}" for line in lines) + text[head:]


def _at_the_end(text: str, lines: Sequence[str], newline: str) -> Iterator[str]:
    """At the end of the text, with a blank line before if it may stand there."""
    mark = _END_MARK.search(text)
    body, tail = (text[: mark.start()], text[mark.start() :]) if mark else (text, "")
    block = newline.join(lines)
    if body and not body.endswith("\n"):
        yield f"{body}{newline}{newline}{block}{tail}"
        yield f"{body}{newline}{block}{tail}"
        return
    if body and not body[line_start(body, len(body) - 1) :].startswith(("#", "\n", "\r")):
        yield f"{body}{newline}{block}{newline}{tail}"
    yield f"{body}{block}{newline}{tail}"


def _accepted(document: ConfigDocument, text: str, added: int) -> ConfigDocument | None:
    """The document of ``text``, if it is the old one and the new comments; None otherwise."""
    try:
        new = document.with_text(text)
    except ConfigSyntaxError:
        return None
    old_comments = [comment.text for comment in document.layout.comments]
    new_comments = [comment.text for comment in new.layout.comments]
    if len(new_comments) != len(old_comments) + added or not same(new.value, document.value):
        return None
    remaining = iter(new_comments)
    return new if all(comment in remaining for comment in old_comments) else None


def _paths(layout: Layout) -> dict[int, KeyPath]:
    """The path of the entry at each start; of entries that begin together, the outermost."""
    found: dict[int, KeyPath] = {}

    def walk(node: yaml.Node, path: KeyPath) -> None:
        if isinstance(node, yaml.MappingNode):
            for position, (key, value) in enumerate(node.value):
                alias = layout.aliases.get((id(node), 2 * position))
                name = construct(key) if isinstance(key, yaml.ScalarNode) and key.tag != MERGE_TAG else _name(key)
                found.setdefault(alias[0] if alias else int(key.start_mark.index), (*path, name))
                if alias is None:
                    walk(key, (*path, name))
                if (id(node), 2 * position + 1) not in layout.aliases:
                    walk(value, (*path, name))
        elif isinstance(node, yaml.SequenceNode):
            for position, item in enumerate(node.value):
                alias = layout.aliases.get((id(node), 2 * position + 1))
                dash = layout.dashes.get((id(node), position))
                start = dash if dash is not None else alias[0] if alias else int(item.start_mark.index)
                found.setdefault(start, (*path, position))
                if alias is None:
                    walk(item, (*path, position))

    if layout.document.root is not None:
        walk(layout.document.root, ())
    return found


def _name(key: yaml.Node) -> str:
    """What a key that is no ordinary one is called here."""
    return str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
