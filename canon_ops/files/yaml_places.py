"""The places of an entry: its line, the comments above it, the slot of its value, and what goes when it goes."""

from __future__ import annotations

import yaml

from canon_ops.files.yaml_layout import Layout, Step
from canon_ops.lean import late_pattern

__all__ = [
    "block_stop",
    "comment_block",
    "end_of",
    "entry_of",
    "last_block_text",
    "line_end",
    "line_start",
    "past_deeper",
    "slot_of",
    "stop_of",
]

Span = tuple[int, int]
_COLON = late_pattern(r"(?:\s|(?<=\s)#[^\n]*)*:")


def line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def line_end(text: str, index: int) -> int:
    """The index behind the end of the line that holds ``index``, or the length of the text."""
    newline = text.find("\n", index)
    return len(text) if newline < 0 else newline + 1


def slot_of(layout: Layout, step: Step) -> Span:
    """From behind an entry's colon or dash to the end of its value: where a new value goes."""
    entry = step.parent.value[step.position]
    if isinstance(entry, tuple):
        key_end = layout.ends[id(entry[0])]
        colon = _COLON.match(layout.text, key_end)  # a key alone in brackets has none
        start = colon.end() if colon else key_end
        return start, max(start, end_of(layout, step))
    dash = layout.dashes.get((id(step.parent), step.position))
    return (int(entry.start_mark.index) if dash is None else dash + 1), layout.ends[id(entry)]


def entry_of(layout: Layout, step: Step) -> int:
    """The first character of an entry: its key (or the ``?`` before it), its dash, its value in brackets."""
    entry = step.parent.value[step.position]
    if not isinstance(entry, tuple):
        if (dash := layout.dashes.get((id(step.parent), step.position))) is not None:
            return dash
        alias = layout.aliases.get((id(step.parent), 2 * step.position + 1))
        return alias[0] if alias else int(entry.start_mark.index)
    start = int(entry[0].start_mark.index)
    before = layout.text[line_start(layout.text, start) : start].rstrip()
    return layout.text.rfind("?", 0, start) if before.endswith("?") else start


def end_of(layout: Layout, step: Step) -> int:
    """The index behind an entry's last character."""
    alias = layout.aliases.get((id(step.parent), 2 * step.position + 1))
    if alias:
        return alias[1]
    entry = step.parent.value[step.position]
    return max(layout.ends[id(part)] for part in entry) if isinstance(entry, tuple) else layout.ends[id(entry)]


def stop_of(layout: Layout, step: Step) -> int:
    """The index behind an entry's last line; the blank lines that a ``|+`` text keeps are part of it."""
    node: yaml.Node = step.parent
    entry = step.parent.value[step.position]
    node = entry[1] if isinstance(entry, tuple) else entry
    return block_stop(layout.text, node, end_of(layout, step))


def block_stop(text: str, node: yaml.Node, end: int) -> int:
    """The index behind the line that holds ``end``, the end of ``node``."""
    stop = line_end(text, end)
    last = last_block_text(node)
    if last is None:
        return stop
    start = int(last.start_mark.index)
    keeps = "+" in text[start : text.find("\n", start)].split("#")[0]
    return max(stop, int(last.end_mark.index)) if keeps else stop


def past_deeper(text: str, index: int, column: int) -> int:
    """The index behind the comment lines that follow ``index`` and are indented deeper than ``column``.

    What stands above holds them (decision 0058): an entry in that column begins below them. Blank lines between them
    count, those after them do not.
    """
    found = index
    while index < len(text):
        stop = line_end(text, index)
        words = text[index:stop].lstrip(" \t")
        if words.startswith("#") and stop - len(words) - index > column:
            found = stop
        elif words.strip():
            break
        index = stop
    return found


def last_block_text(node: yaml.Node) -> yaml.ScalarNode | None:
    """The block text (``|``, ``>``) with which ``node`` ends, if it does."""
    while isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") else None


def comment_block(layout: Layout, step: Step) -> Span:
    """The comment lines directly above an entry, in its own column; empty (at its line's start) when there are none."""
    text = layout.text
    entry = entry_of(layout, step)
    start = end = line_start(text, entry)
    if text[start:entry].strip():
        return end, end  # the entry does not begin its line
    column = entry - start
    while start > 0:
        above = line_start(text, start - 1)
        line = text[above:start]
        if line[:column].strip(" ") or line[column : column + 1] != "#" or _is_value(layout, above + column):
            break
        start = above
    return start, end


def _is_value(layout: Layout, index: int) -> bool:
    return any(start <= index < end for start, end in layout.opaque)
