"""Where everything in a text stands: entries, comments, the true ends of blocks, and the way to a path.

PyYAML's tree lacks four things that an editor needs: a block's mark lies at the *next* token, behind blank lines and
comments; an alias appears as the node that it repeats, with that node's marks; comments are absent; a key may be there
twice. One walk over the tree finds them all.

An *entry* is a key of a mapping or an item of a list. A comment behind something on its line belongs to the last
entry that starts before it ("beside"), any other to the next entry ("above"), the last ones to the end of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property

import yaml

from canon_ops.files.yaml_path import Path
from canon_ops.files.yaml_reader import YamlText
from canon_ops.hints import Any
from canon_ops.lean import dataclass, field, late_pattern

__all__ = ["Comment", "Layout", "Owner", "Step", "Way", "find_way", "lay_out"]

Span = tuple[int, int]
MERGE_TAG = "tag:yaml.org,2002:merge"
# What may stand between an entry's start and the alias that is its value.
_TO_ALIAS = late_pattern(r"(?:[\s:,?\-\[{]|(?<=\s)#[^\n]*)*(\*[^\s,\[\]{}]+)")
_TO_DASH = late_pattern(r"(?:[&!]\S+|\s|(?<=\s)#[^\n]*)*-")
_HASH = late_pattern(r"(?:^|(?<=\s))#[^\r\n]*", re.MULTILINE)


@dataclass
class Layout:
    """The places of one text. Build it with :func:`lay_out`.

    Attributes:
        entries: the start of each entry, in the order of the text: its key, its dash, in brackets its value.
        ends: the index behind a node's last character, by ``id(node)``; line ends and comments after it do not count.
        dashes: the place of the dash of each item of a block list, by the id of the list and the position in it.
        closings: behind each closing bracket, in the order of the text.
        aliases: the place of each alias, by the id of the collection it stands in and its position there.
        shared: ids of nodes that some alias repeats.
        opaque: spans in which a ``#`` is part of a value.
    """

    document: YamlText
    entries: list[int] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    closings: list[int] = field(default_factory=list)
    dashes: dict[tuple[int, int], int] = field(default_factory=dict)
    aliases: dict[tuple[int, int], Span] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)
    opaque: list[Span] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.document.text

    @cached_property
    def comments(self) -> list[Comment]:
        """Every comment of the text, in order."""
        return self.comments_in(0, len(self.text))

    def comments_in(self, start: int, stop: int) -> list[Comment]:
        """The comments between two places, of which none lies inside a value."""
        # The values that hold a # at all: few, and often none.
        opaque = sorted(span for span in self.opaque if start <= span[0] < stop and self.text.find("#", *span) >= 0)
        found = []
        for begin, end in [*opaque, (stop, stop)]:
            found += [Comment(*match.span(), match[0]) for match in _HASH.finditer(self.text, start, begin)]
            start = end
        return found

    def owner(self, comment: Comment) -> Owner:
        """The entry that ``comment`` belongs to."""
        before = bisect_left(self.entries, comment.start) - 1
        line = self.text[self.text.rfind("\n", 0, comment.start) + 1 : comment.start].strip()
        if before >= 0 and line and line not in ("---", "..."):
            return Owner(before, before, True)
        return Owner(before + 1, _innermost(self.text, self.entries, before + 1), False)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment, from its ``#`` to the end of its line."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Owner:
    """The entry that a comment belongs to.

    Attributes:
        entry: its ordinal in ``Layout.entries``; of those that begin together (``- - a: 1``), the first.
        innermost: the last of those.
        beside: the comment is on the entry's line, not above it.
    """

    entry: int
    innermost: int
    beside: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a way: into which collection, to which position in it, under which name."""

    parent: yaml.CollectionNode
    position: int
    name: str | int


@dataclass(frozen=True, slots=True)
class Way:
    """How far a path leads in the tree.

    Attributes:
        steps: the part that exists.
        node: the PyYAML node where it ends; the root for no steps.
        rest: the part of the path that does not exist.
        alias: the span of an alias through which the way leads, if any; the steps behind it are in the anchor's node.
        duplicate: the starts of all entries of a key on the way that is there more than once.
        unlike: the start of a key that has the name as its text but is read as something else (``on``), if any.
    """

    steps: tuple[Step, ...]
    node: Any
    rest: Path
    alias: Span | None = None
    duplicate: tuple[int, ...] = ()
    unlike: int | None = None

    @property
    def address(self) -> tuple[int, ...]:
        """The positions on the way: what the engine and the proofs call the place."""
        return tuple(step.position for step in self.steps)


def lay_out(document: YamlText) -> Layout:
    """Walk the tree once."""
    layout = Layout(document)
    if document.root is not None:
        _walk(document.root, document.text, layout)
    return layout


def _walk(node: yaml.Node, text: str, layout: Layout) -> int:
    """Record ``node``, which is met for the first time, and return where it ends."""
    if isinstance(node, yaml.ScalarNode):
        end = int(node.end_mark.index)
        if node.style in ("|", ">"):
            start = int(node.start_mark.index)
            end = start + len(text[start:end].rstrip())
            layout.opaque.append((text.find("\n", start, end) % (end + 1), end))
        elif node.style or "#" in node.value:
            layout.opaque.append((int(node.start_mark.index), end))
        layout.ends[id(node)] = end
        return end
    layout.ends[id(node)] = -1  # being walked: a node inside itself is an alias too
    end = int(node.start_mark.index)
    if isinstance(node, yaml.MappingNode):
        ends, entries = layout.ends, layout.entries
        for position, (key, value) in enumerate(node.value):
            if _is_bare(key) and id(key) not in ends:  # most keys and values are, and the rest is not needed for them
                entries.append(int(key.start_mark.index))
                ends[id(key)] = last = int(key.end_mark.index)
                end = last if last > end else end
            else:
                end = _enter(node, 2 * position, key, end, text, layout, entry=True)
            if _is_bare(value) and id(value) not in ends:
                ends[id(value)] = last = int(value.end_mark.index)
                end = last if last > end else end
            else:
                end = _enter(node, 2 * position + 1, value, end, text, layout, entry=False)
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            if not node.flow_style and (dash := _TO_DASH.match(text, end)):
                end = dash.end()
                layout.entries.append(end - 1)
                layout.dashes[id(node), position] = end - 1
            end = _enter(node, 2 * position + 1, item, end, text, layout, entry=bool(node.flow_style))
    if isinstance(node, yaml.CollectionNode) and (node.flow_style or not node.value):
        end = int(node.end_mark.index)
        if node.flow_style:
            layout.closings.append(end)
    layout.ends[id(node)] = end
    return end


def _enter(parent: yaml.Node, slot: int, node: yaml.Node, end: int, text: str, layout: Layout, *, entry: bool) -> int:
    if id(node) in layout.ends:
        layout.shared.add(id(node))
        match = _TO_ALIAS.match(text, end)
        span = match.span(1) if match else (end, end)
        layout.aliases[id(parent), slot] = span
        if entry:
            layout.entries.append(span[0])
        return span[1]
    if entry:
        layout.entries.append(int(node.start_mark.index))
    return max(end, _walk(node, text, layout))


def _is_bare(node: yaml.Node) -> bool:
    """A scalar without quotes or block, in which no ``#`` can be taken for a comment."""
    return isinstance(node, yaml.ScalarNode) and not node.style and "#" not in node.value


def _innermost(text: str, entries: list[int], owner: int) -> int:
    """The last of the entries that begin together with ``owner``: on its line, with nothing but dashes between."""
    while owner + 1 < len(entries) and not text[entries[owner] : entries[owner + 1]].strip("-? "):
        owner += 1
    return owner


def find_way(layout: Layout, path: Path) -> Way:
    """Follow ``path`` as far as it leads."""
    if layout.document.root is None:
        raise ValueError("an empty document has no places")
    node: Any = layout.document.root
    steps: list[Step] = []
    alias: Span | None = None
    duplicate: tuple[int, ...] = ()
    for number, name in enumerate(path):
        hits, unlike = _matches(node, name)
        if not hits:
            return Way(tuple(steps), node, path[number:], alias, duplicate, unlike)
        position = hits[-1]  # PyYAML lets the last one win
        if len(hits) > 1 and not duplicate:
            duplicate = tuple(int(node.value[hit][0].start_mark.index) for hit in hits)
        alias = alias or layout.aliases.get((id(node), 2 * position + 1))
        steps.append(Step(node, position, name))
        node = node.value[position][1] if isinstance(node, yaml.MappingNode) else node.value[position]
    return Way(tuple(steps), node, (), alias, duplicate)


def _matches(node: yaml.Node, name: str | int) -> tuple[list[int], int | None]:
    """Positions of the entries that ``name`` means in ``node``, and the start of a key that only looks like it."""
    if isinstance(node, yaml.SequenceNode):
        index = int(name) if isinstance(name, int) or re.fullmatch(r"\d{1,9}", name) else -1
        return ([index] if 0 <= index < len(node.value) else []), None
    if not isinstance(node, yaml.MappingNode):
        return [], None
    texts, numbers, unlike = [], [], None
    for position, (key, _) in enumerate(node.value):
        if not isinstance(key, yaml.ScalarNode) or key.value != str(name):
            continue
        if key.tag == "tag:yaml.org,2002:str":
            texts.append(position)
        elif key.tag == "tag:yaml.org,2002:int":
            numbers.append(position)
        else:
            unlike = int(key.start_mark.index)
    return texts or numbers, unlike
