"""Plan one edit: the new text, the range in which it may differ, and what changes for a reader.

What yaml-edit does well is left to it: values, new keys, new items. Three things are spliced, since
people do them otherwise: an entry of a block is removed with its whole lines and the comments directly above it;
everything inside brackets (:mod:`yaml_flow`); and a new entry begins below the comments that are indented deeper than
it, above all others, so that no comment gets another owner (decision 0058).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import yaml

from canon_ops.files.engine import Engine, EngineFault
from canon_ops.files.yaml_flow import Brackets, add_entry, remove_entry
from canon_ops.files.yaml_layout import Layout, Step, Way
from canon_ops.files.yaml_places import (
    block_stop,
    comment_block,
    end_of,
    entry_of,
    last_block_text,
    line_end,
    line_start,
    past_deeper,
    slot_of,
    stop_of,
)
from canon_ops.files.yaml_proofs import Added, Change, Dropped
from canon_ops.files.yaml_quoting import Room, Style, choose_style
from canon_ops.hints import Any
from canon_ops.lean import dataclass, late_pattern

__all__ = ["Plan", "Planner"]

Span = tuple[int, int]
_BREAKS = ("\n", "\r")  # a lone CR ends a line, for PyYAML
_END_MARK = late_pattern(r"^\.\.\.", re.MULTILINE)
_BLOCK_HEAD = late_pattern(r"(?:[&!]\S+\s+)*[|>][-+0-9]*")
_PROPERTIES = late_pattern(r"[&!]\S+(?:[ \t]+[&!]\S+)*")


@dataclass(frozen=True, slots=True)
class Plan:
    """An edit that has not been proven yet.

    Attributes:
        text: the new text, without byte-order mark.
        span: the range of the old text outside of which nothing differs.
        gone: the part of ``span`` in which comments may vanish with the entry they belong to.
    """

    text: str
    span: Span
    gone: Span = (0, 0)

    def new_part(self, old_length: int) -> str:
        """The lines of ``text`` that may differ from the old text."""
        end = len(self.text) - (old_length - self.span[1])
        begin = self.text.rfind("\n", 0, self.span[0]) + 1
        stop = self.text.find("\n", max(end, begin))
        return self.text[begin:] if stop < 0 else self.text[begin:stop]


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans edits of one text."""

    layout: Layout
    engine: Engine

    def plan(self, change: Change, way: Way | None) -> Plan:
        """Plan ``change`` at the end of ``way``; None for an empty document.

        Raises:
            EngineFault: the engine cannot do it.
        """
        if isinstance(change, Added):
            if way is None:
                return self._begin(str(change.key), change.value)
            if _in_brackets(way) or way.node.flow_style:
                return self._add_to_brackets(way, change)
            return (
                self._append(way, change.value) if change.key is None else self._insert(way, change.key, change.value)
            )
        if way is None:
            raise ValueError("an empty document has no entries")
        if isinstance(change, Dropped):
            return self._drop_from_brackets(way) if way.steps[-1].parent.flow_style else self._drop(way)
        return self._replace_in_brackets(way, change.value) if _in_brackets(way) else self._replace(way, change.value)

    def _begin(self, key: str, value: Any) -> Plan:
        """Give an empty or comments-only document its first key, one blank line below the comments."""
        text, newline = self.layout.text, self.layout.document.newline
        end = text.index("\n...") + 1 if "\n..." in text else len(text)
        head = text[:end]
        glue = newline if head and not head.endswith(_BREAKS) else ""
        if self.layout.comments:
            glue += newline
        entry = self.engine.render(value, key=key, room="block").replace("\n", newline)
        new = self._tidy(head + glue + entry + text[end:])
        return Plan(new, (end, end))

    def _replace(self, way: Way, value: Any) -> Plan:
        """Give the entry at the end of ``way`` another value."""
        text, node, at = self.layout.text, way.node, way.address
        start, end = slot_of(self.layout, way.steps[-1])
        stop = block_stop(text, node, end)  # a value of several lines goes below the comment on its line
        room = self._room(stop)
        style = choose_style(value, room=room, like=_style_of(node)) if isinstance(value, str) else None
        if style == "literal" or (isinstance(value, dict | list) and value):
            # Over several lines: first a word in the old value's place, which the engine then replaces.
            new = self.engine.replace(self._with_word(node, start, end, stop, "0"), at, value, room=room)
        else:
            new = self._with_word(node, start, end, stop, self.engine.render(value, room="line", like=_style_of(node)))
        return Plan(self._tidy(new), (start, stop), self.inside(way))

    def inside(self, way: Way) -> Span:
        """Where the comments of a collection stand, which go when it is replaced; not the one on its name's line."""
        start, end = slot_of(self.layout, way.steps[-1])
        text, node, begin = self.layout.text, way.node, int(way.node.start_mark.index)
        if not isinstance(node, yaml.CollectionNode):
            return 0, 0
        if node.flow_style:
            return begin, end
        return (begin if begin < line_end(text, start) else line_end(text, start)), line_end(text, end)

    def _with_word(self, node: yaml.Node, start: int, end: int, stop: int, word: str) -> str:
        """The text with ``word`` as the value that begins behind ``start``; the comment on that line stays."""
        text = self.layout.text
        begin = int(node.start_mark.index)
        properties = _PROPERTIES.match(text, begin)
        keep = properties.end() if properties and id(node) in self.layout.shared else start
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            if begin >= line_end(text, start) or properties:
                rest = properties.end() if properties else keep
                return f"{text[:keep]} {word}{text[rest : line_end(text, rest)]}{text[stop:]}"
            return f"{text[:keep]} {word}{self.layout.document.newline if stop > end else ''}{text[stop:]}"
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            head = _BLOCK_HEAD.match(text, begin)
            rest = head.end() if head else begin
            return f"{text[:keep]} {word}{text[rest : line_end(text, rest)]}{text[stop:]}"
        if isinstance(node, yaml.CollectionNode) and keep <= begin and (beside := self._beside_brackets(begin, end)):
            return f"{text[:begin]}{word}{beside}{text[end:]}"
        if keep > begin or begin == start or "\n" in text[start:begin]:
            return f"{text[:keep]} {word}{text[end:]}"
        return f"{text[:begin]}{word}{text[end:]}"

    def _beside_brackets(self, begin: int, end: int) -> str:
        """The comment behind an opening bracket, with its blanks; empty where one stands behind the closing one.

        It stands on the line of the key and is about the key, like one behind the name of a block.
        """
        text, first = self.layout.text, line_end(self.layout.text, begin)
        if first > end or text[end : line_end(text, end)].strip():
            return ""
        found = self.layout.comments_in(begin, first)
        if not found:
            return ""
        before = text[begin : found[0].start]
        return before[len(before.rstrip(" \t")) :] + found[0].text

    def _insert(self, way: Way, key: str, value: Any) -> Plan:
        """Add a key behind the last one of a block mapping."""
        address, room = way.address, self._room(self._stop(way))
        return self._below(way, lambda text: self.engine.insert(text, address, key, value, room=room))

    def _append(self, way: Way, item: Any) -> Plan:
        """Add an item behind the last one of a block list."""
        address, like, room = way.address, _common_style(way.node), self._room(self._stop(way))
        if (gap := self._dash_gap(way.node)) > 1 and not isinstance(item, dict | list):
            return self._below(way, lambda text: self._spaced_item(text, way.node, gap, item, like))
        return self._below(way, lambda text: self.engine.append(text, address, item, room=room, like=like))

    def _drop(self, way: Way) -> Plan:
        """Take out an entry of a block, with the comments directly above it."""
        step = way.steps[-1]
        text, siblings = self.layout.text, len(step.parent.value)
        entry = entry_of(self.layout, step)
        block = comment_block(self.layout, step)
        start, stop = block[0], stop_of(self.layout, step)
        if siblings == 1 and len(way.steps) > 1:
            return self._empty(way, block, stop)
        if text[block[1] : entry].strip():
            return self._drop_behind_dash(step, entry, stop)
        if siblings == 1:
            start = self._without_blank_line(start)
        if siblings == 1 and _END_MARK.search(text, stop):  # an end mark needs a document before it
            return Plan(f"{text[:start]}{{}}{self.layout.document.newline}{text[stop:]}", (start, stop), (start, stop))
        if stop == len(text) and not text.endswith(_BREAKS):
            start = len(text[:start].removesuffix("\n").removesuffix("\r"))  # the file goes on ending without one
        return Plan(text[:start] + text[stop:], (start, stop), (start, stop))

    def _drop_behind_dash(self, step: Step, entry: int, stop: int) -> Plan:
        """Take out the first of several entries, which stands on the line of a dash: the next one moves up to it."""
        text, following = self.layout.text, entry_of(self.layout, Step(step.parent, 1, 0))
        if any(stop <= comment.start < following for comment in self.layout.comments):
            # Comments of the next one stand between: it stays where it is, and the dash alone on its line.
            start = len(text[:entry].rstrip(" "))
            stop -= len(text[:stop]) - len(text[:stop].rstrip("\r\n"))
            return Plan(text[:start] + text[stop:], (start, stop), (start, stop))
        return Plan(text[:entry] + text[following:], (entry, following), (entry, stop))

    # -- blocks ---------------------------------------------------------------------------------------------------

    def _below(self, way: Way, write: Callable[[str], str]) -> Plan:
        """Add behind the last line of a block; nothing that follows the document's last value is given to ``write``."""
        text, end, stop = self.layout.text, self.layout.ends[id(way.node)], self._stop(way)
        if stop == len(text) and not text.endswith(_BREAKS) and last_block_text(way.node) is not None:
            raise EngineFault(
                "the file ends in a block text (| or >) without a line end; whatever follows would give that text one",
                fix=f"echo >> {shlex.quote(self.layout.document.file)}",
                file=self.layout.document.file,
            )
        below = past_deeper(text, stop, self._column(way.node))
        if below > stop:
            # The engine writes directly below the block: the comments that the last entry holds go back in between.
            written = write(text[:stop])
            if not written.startswith(text[:stop]):
                raise EngineFault("the editing engine has changed more than the end of the section")
            added = written[stop:]
            glue = "" if text[:below].endswith(_BREAKS) else self.layout.document.newline
            return Plan(self._tidy(text[:below] + glue + added + text[below:]), (end, below))
        if self.layout.entries[-1] <= end:  # nothing but comments follows
            return Plan(self._tidy(write(text[:stop]) + text[stop:]), (end, stop))
        if (block := last_block_text(way.node)) is not None:
            stop = max(stop, int(block.end_mark.index))  # the engine writes behind the blank lines below a block text
        return Plan(self._tidy(write(text)), (end, stop))

    def _column(self, node: yaml.CollectionNode) -> int:
        """The column of a block's last entry."""
        entry = entry_of(self.layout, Step(node, len(node.value) - 1, 0))
        return entry - line_start(self.layout.text, entry)

    def _stop(self, way: Way) -> int:
        return block_stop(self.layout.text, way.node, self.layout.ends[id(way.node)])

    def _room(self, stop: int) -> Room:
        """The room for a text that ends at ``stop``: one line, when a block there would take in what is below.

        A comment below would become part of it, and without a last line end its own last one cannot be told.
        """
        rest = self.layout.text[stop:].lstrip()
        only_line = rest.startswith("#") or (not rest and not self.layout.text.endswith(_BREAKS))
        return "line" if only_line else "block"

    def _tidy(self, new: str) -> str:
        """The habits of the old text in what the engine wrote: its line ends, and none behind a last line without."""
        old = self.layout.text
        if "\n" in old and "\n" not in old.replace("\r\n", ""):
            new = re.sub(r"(?<!\r)\n", "\r\n", new)
        if old and not old.endswith(_BREAKS):
            new = new.removesuffix("\n").removesuffix("\r")
        return new

    def _dash_gap(self, node: yaml.CollectionNode) -> int:
        """The blanks between a list's dashes and its items; 1 where they differ."""
        text = self.layout.text
        gaps = set()
        for position, item in enumerate(node.value):
            if (id(node), 2 * position + 1) in self.layout.aliases:
                return 1
            start = int(item.start_mark.index)
            dash = entry_of(self.layout, Step(node, position, position))
            gaps.add(start - dash - 1 if not text[dash + 1 : start].strip(" ") else 1)
        return gaps.pop() if len(gaps) == 1 else 1

    def _spaced_item(self, text: str, node: yaml.CollectionNode, gap: int, item: Any, like: Style | None) -> str:
        end = block_stop(self.layout.text, node, self.layout.ends[id(node)])
        dash = entry_of(self.layout, Step(node, 0, 0))
        column = dash - line_start(self.layout.text, dash)
        line = " " * column + "-" + " " * gap + self.engine.render(item, room="line", like=like)
        newline = self.layout.document.newline
        if text[:end].endswith(_BREAKS):
            return text[:end] + line + newline + text[end:]
        return text[:end] + newline + line + text[end:]

    def _empty(self, way: Way, block: Span, stop: int) -> Plan:
        """Remove a collection's only entry: empty brackets go behind the colon or dash that it belongs to."""
        text, node = self.layout.text, way.steps[-1].parent
        slot = slot_of(self.layout, way.steps[-2])[0]
        if properties := _PROPERTIES.match(text, int(node.start_mark.index)):
            slot = properties.end()
        brackets = " {}" if isinstance(node, yaml.MappingNode) else " []"
        if block[0] <= slot:  # the entry stands on the line of its colon or dash
            stop -= len(text[:stop]) - len(text[:stop].rstrip("\r\n"))
            new = text[:slot] + brackets + text[stop:]
        else:
            new = text[:slot] + brackets + text[slot : block[0]] + text[stop:]
        return Plan(self._tidy(new), (slot, stop), (max(slot, block[0]), stop))

    def _without_blank_line(self, start: int) -> int:
        """Where to cut so that a blank line between comments and the document's only key goes too."""
        text = self.layout.text
        above = line_start(text, start - 1) if start else 0
        blank = start > 0 and not text[above:start].strip()
        return above if blank and any(comment.end < start for comment in self.layout.comments) else start

    # -- brackets -------------------------------------------------------------------------------------------------

    def _brackets(self, node: yaml.CollectionNode) -> Brackets:
        text, stop = self.layout.text, self.layout.ends[id(node)] - 1
        opening = "[" if isinstance(node, yaml.SequenceNode) else "{"
        steps = [Step(node, position, position) for position in range(len(node.value))]
        entries = tuple((entry_of(self.layout, step), end_of(self.layout, step)) for step in steps)
        return Brackets(text, text.index(opening, int(node.start_mark.index)) + 1, stop, entries, self.layout.comments)

    def _add_to_brackets(self, way: Way, change: Added) -> Plan:
        like = _common_style(way.node) if change.key is None else None
        rendered = self.engine.render(change.value, key=change.key, room="brackets", like=like)
        new, span = add_entry(self._brackets(way.node), rendered)
        return Plan(new, span)

    def _replace_in_brackets(self, way: Way, value: Any) -> Plan:
        """Write a value in brackets where another one stands: on the same place, after a colon if there was none."""
        text, node, step = self.layout.text, way.node, way.steps[-1]
        start, end = int(node.start_mark.index), self.layout.ends[id(node)]
        rendered = self.engine.render(value, room="brackets", like=_style_of(node))
        if start == end:  # null; without a colon its mark lies at the next token, behind comments
            start = end = slot_of(self.layout, step)[0]
            bare = isinstance(step.parent, yaml.MappingNode) and text[start - 1] != ":"
            rendered = f": {rendered}" if bare else f" {rendered}"
        return Plan(text[:start] + rendered + text[end:], (start, end), (start, end))

    def _drop_from_brackets(self, way: Way) -> Plan:
        step = way.steps[-1]
        block = comment_block(self.layout, step)
        brackets = self._brackets(step.parent)
        new, span = remove_entry(brackets, step.position, block)
        gone = (block[0] if span[0] <= block[0] < block[1] else brackets.entries[step.position][0], span[1])
        return Plan(new, span, gone)


def _in_brackets(way: Way) -> bool:
    return any(bool(step.parent.flow_style) for step in way.steps)


def _style_of(node: yaml.Node) -> Style | None:
    if isinstance(node, yaml.ScalarNode) and node.style == "'":
        return "single-quoted"
    return "double-quoted" if isinstance(node, yaml.ScalarNode) and node.style == '"' else None


def _common_style(node: yaml.CollectionNode) -> Style | None:
    styles = {_style_of(item) for item in node.value}
    return styles.pop() if len(styles) == 1 else None
