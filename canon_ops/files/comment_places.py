"""Comments by the entry they belong to, and putting a comment to an entry.

A comment behind a closing bracket, or a comma there, belongs to the entry whose value the brackets are. Whose a comment
on a line of its own is, its indent says, as it would for a key: the last entry before it that is indented less holds
it. When the next entry is held by the same, the comment is about that one; otherwise it is the tail of its holder, and
stays there whatever becomes of what follows (decision 0058).

A comment is put where reading and every other comment stay as they are; that is tried, not computed. The places, in
this order: behind the entry's line (for one that stood beside its entry), below all that its holder holds (for a
tail), directly above the entry, above each entry around it, at the end of the text, at its beginning.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import yaml

from canon_ops.files.config_editor import ConfigDocument, ConfigSyntaxError
from canon_ops.files.yaml_layout import MERGE_TAG, Comment, Layout, find_way
from canon_ops.files.yaml_places import line_start, past_deeper, stop_of
from canon_ops.files.yaml_proofs import ProofFailed
from canon_ops.files.yaml_reader import construct, same
from canon_ops.hints import Any
from canon_ops.lean import dataclass

__all__ = ["Block", "KeyPath", "PlacedComment", "place_comments", "placed_comments"]

KeyPath = tuple[Any, ...]
Splice = tuple[int, int, str]
"""What goes (start, stop), and what comes in its place."""
_END_MARK = re.compile(r"^\.\.\.", re.MULTILINE)
_START_MARK = re.compile(r"^---.*(?:\n|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlacedComment:
    """A comment and the entry it belongs to.

    Attributes:
        path: keys as they are in the mappings, and indexes; () for a comment below the last entry.
        beside: it stands on the entry's line, not above it.
        is_tail: it stands below the entry at ``path`` and all that it holds.
    """

    comment: Comment
    path: KeyPath
    beside: bool
    is_tail: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Comments to put to one entry.

    Attributes:
        lines: each begins with ``#``.
        beside: try behind the entry's line first; only for a single line.
        is_tail: try below the entry and all that it holds first.
    """

    path: KeyPath
    lines: tuple[str, ...]
    beside: bool = False
    is_tail: bool = False


def placed_comments(layout: Layout) -> list[PlacedComment]:
    """Every comment of a text, in order."""
    paths = _paths(layout)
    starts = {path: start for start, path in paths.items()}
    found = []
    flows = _flows(layout)
    closed = {end: path for _, end, path in reversed(flows)}
    gap, held = -1, ()  # before which entry the last comment stood, and what held it
    for comment in layout.comments:
        owner = layout.owner(comment)
        if owner.beside:
            flow = closed.get(len(layout.text[: comment.start].rstrip(" \t,")))
            path = flow if flow is not None else paths[layout.entries[owner.entry]]
            found.append(PlacedComment(comment, path, True))
            continue
        holder = _holder(layout, paths, starts, flows, comment)
        if gap == owner.entry:  # what a comment has closed stays closed for the next one
            holder = min(holder, held, key=len)
        gap, held = owner.entry, holder
        after = paths[layout.entries[owner.entry]] if owner.entry < len(layout.entries) else None
        is_tail = bool(holder) and (after is None or after[: len(holder)] != holder)
        found.append(PlacedComment(comment, holder if is_tail else after or (), False, is_tail))
    return found


def _flows(layout: Layout) -> list[tuple[int, int, KeyPath]]:
    """Where brackets open and close, outer ones first, and the entry whose value they are."""
    found: list[tuple[int, int, KeyPath]] = []

    def walk(node: yaml.Node, path: KeyPath) -> None:
        if not isinstance(node, yaml.CollectionNode):
            return
        if node.flow_style and path:
            found.append((int(node.start_mark.index), layout.ends[id(node)], path))
        for position, each in enumerate(node.value):
            if (id(node), 2 * position + 1) not in layout.aliases:
                key, value = each if isinstance(node, yaml.MappingNode) else (None, each)
                walk(value, (*path, position if key is None else _key_name(key)))

    if layout.document.root is not None:
        walk(layout.document.root, ())
    return found


def _holder(
    layout: Layout,
    paths: Mapping[int, KeyPath],
    starts: Mapping[KeyPath, int],
    flows: Sequence[tuple[int, int, KeyPath]],
    comment: Comment,
) -> KeyPath:
    """The last entry before a comment that is indented less; inside brackets, the entry whose value they are."""
    text, entries = layout.text, layout.entries
    if inside := [path for begin, end, path in flows if begin < comment.start < end]:
        return inside[-1]
    following = bisect_left(entries, comment.start)
    if not following or _END_MARK.search(text, entries[following - 1], comment.start):
        return ()
    holder = paths[entries[following - 1]]
    holder = next((path for _, end, path in flows if end <= comment.start and holder[: len(path)] == path), holder)
    column = _column(text, comment.start)
    while holder and (holder not in starts or _column(text, starts[holder]) >= column):
        holder = holder[:-1]
    return holder


def _column(text: str, index: int) -> int:
    return index - line_start(text, index)


def place_comments(document: ConfigDocument, blocks: Sequence[Block]) -> ConfigDocument:
    """Put blocks of comments to their entries, or as near to them as they can stand.

    All are put in at once and the text is read once; where that does not hold, each half is tried by itself.

    Raises:
        ProofFailed: there is no place for one of them in the whole text.
    """
    if not blocks:
        return document
    places = {path: start for start, path in _paths(document.layout).items()}
    # At one place a tail comes before what is above, and the tail of what is inside before that of what is around.
    blocks = sorted(blocks, key=lambda block: (not block.is_tail, -len(block.path) if block.is_tail else 0))
    if len(blocks) > 1:
        splices = [next(_splices(document, places, block)) for block in blocks]
        together = _accepted(document, _spliced(document, splices), sum(len(block.lines) for block in blocks))
        if together is not None:
            return together
        middle = len(blocks) // 2
        return place_comments(place_comments(document, blocks[:middle]), blocks[middle:])
    for splice in _splices(document, places, blocks[0]):
        found = _accepted(document, _spliced(document, [splice]), len(blocks[0].lines))
        if found is not None:
            return found
    raise ProofFailed("there is no place for a comment in this text", file=document.file)


def _spliced(document: ConfigDocument, splices: Sequence[Splice]) -> str:
    """The text with every splice; several at one place in their order."""
    text, parts, last = document.layout.text, [], 0
    for start, stop, new in sorted(splices, key=lambda splice: splice[:2]):
        parts += [text[last:start], new]
        last = max(last, stop)
    return "".join([*parts, text[last:]])


def _splices(document: ConfigDocument, places: Mapping[KeyPath, int], block: Block) -> Iterator[Splice]:
    """Where a block may stand, best first."""
    text, lines, path = document.layout.text, block.lines, block.path
    newline = document.layout.document.newline
    if block.beside and path in places and len(lines) == 1:
        stop = text.find("\n", places[path])
        stop = len(text) if stop < 0 else stop - (text[stop - 1] == "\r")
        start = len(text[line_start(text, stop) : stop].rstrip(" ")) + line_start(text, stop)
        yield start, stop, f"  {lines[0]}"
    if block.is_tail and (below := _below(document.layout, places, path)) is not None:
        stop, indent = below
        glue = "" if text[stop - 1 : stop] == "\n" else newline
        yield stop, stop, glue + newline.join(f"{indent}{line}" for line in lines) + ("" if glue else newline)
    while path:
        if path in places:
            begin = line_start(text, places[path])
            indent = text[begin : places[path]]
            if not indent.strip(" "):
                yield begin, begin, "".join(f"{indent}{line}{newline}" for line in lines)
        path = path[:-1]
    yield from _at_the_end(text, lines, newline)
    start_mark = _START_MARK.search(text)
    head = start_mark.end() if start_mark else 0
    yield head, head, "".join(f"{line}{newline}" for line in lines)


def _below(layout: Layout, places: Mapping[KeyPath, int], holder: KeyPath) -> tuple[int, str] | None:
    """The line below all that an entry holds, and an indent that the entry holds; None where there is no such line."""
    if holder not in places:
        return None
    way = find_way(layout, holder)
    if way.rest or any(step.parent.flow_style for step in way.steps):
        return None
    text = layout.text
    column = _column(text, places[holder])
    indent = column + 2
    inside = [start for path, start in places.items() if path[:-1] == holder and len(path) > len(holder)]
    if inside and not way.node.flow_style:
        # Like its entries. A list flush with its key has no such column: deeper, it is held by the last item.
        indent = entries if (entries := _column(text, max(inside))) > column else indent
    stop = past_deeper(text, stop_of(layout, way.steps[-1]), indent)
    return stop, " " * indent


def _at_the_end(text: str, lines: Sequence[str], newline: str) -> Iterator[Splice]:
    """At the end of the text, with a blank line before if it may stand there."""
    mark = _END_MARK.search(text)
    end = mark.start() if mark else len(text)
    block = newline.join(lines)
    if end and text[end - 1] != "\n":
        yield end, end, f"{newline}{newline}{block}"
        yield end, end, f"{newline}{block}"
        return
    if end and not text[line_start(text, end - 1) : end].startswith(("#", "\n", "\r")):
        yield end, end, f"{newline}{block}{newline}"
    yield end, end, f"{block}{newline}"


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
                name = _key_name(key)
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


def _key_name(key: yaml.Node) -> Any:
    return construct(key) if isinstance(key, yaml.ScalarNode) and key.tag != MERGE_TAG else _name(key)


def _name(key: yaml.Node) -> str:
    """What a key that is no ordinary one is called here."""
    return str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
