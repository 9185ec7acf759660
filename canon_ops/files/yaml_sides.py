"""On which side of a change a comment stands, and how many brackets were closed before it.

Entries alone do not tell: between two of them, a comment may slip behind a closing bracket, or into the lines of a new
value. Order does. What stood before the change stands before it, what stood below it stands below it; only a comment on
the line of an entry is passed by what that entry holds, or what follows it.
"""

from __future__ import annotations

from bisect import bisect_right

import yaml

from canon_ops.files.yaml_layout import Comment, Layout, Step
from canon_ops.files.yaml_places import end_of, entry_of, line_end, line_start, slot_of
from canon_ops.hints import Any
from canon_ops.lean import dataclass

__all__ = ["Sides"]

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sides:
    """The places of one change in the old text and in the new one. Build it with one of the class methods.

    Attributes:
        was: the old value with the blanks before it, the entry that goes, or the place behind the last of a section.
        now: the new value or entry; None when something goes.
        room: where, in the new text, the room for that begins: behind the colon or dash; for an entry, at its start.
        is_value: what is new is a value, not an entry.
        is_null: a value takes the place of none: comments below the name may stand above that value.
        is_alone: what is new has a line of its own, so a comment beside the last entry stays there.
        in_block: no brackets are around what is new.
        emptied: how many pairs of brackets say that a section has no entry any more.
    """

    old: Layout
    new: Layout
    was: Span
    now: Span | None = None
    room: int = 0
    is_value: bool = False
    is_null: bool = False
    is_alone: bool = False
    in_block: bool = False
    emptied: int = 0

    @classmethod
    def of_value(cls, old: Layout, new: Layout, before: Step, after: Step) -> Sides:
        """A value was replaced."""
        was, (room, end) = slot_of(old, before), slot_of(new, after)
        node = _node(after)
        start = max(room, int(node.start_mark.index))
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            start = line_end(new.text, start)  # behind its head there is room for a comment too
        start = min(start, end)
        return cls(old, new, was, (start, end), room, is_value=True, is_null=not old.text[slice(*was)].strip())

    @classmethod
    def of_entry(cls, old: Layout, new: Layout, before: Step, after: Step, *, in_block: bool) -> Sides:
        """An entry was added behind ``before``, the last one."""
        end, now = end_of(old, before), (entry_of(new, after), end_of(new, after))
        is_alone = not old.text[line_start(old.text, entry_of(old, before)) : entry_of(old, before)].strip(" -")
        return cls(old, new, (end, end), now, now[0], is_alone=in_block or is_alone, in_block=in_block)

    @classmethod
    def of_first(cls, old: Layout, new: Layout, brackets: Span, after: Step) -> Sides:
        """Empty brackets have an entry."""
        now = entry_of(new, after), end_of(new, after)
        return cls(old, new, (brackets[0], brackets[1] - 1), now, brackets[0])

    @classmethod
    def of_none(cls, old: Layout, new: Layout, before: Step) -> Sides:
        """An entry went; a section that has no other may be a pair of brackets now."""
        emptied = len(before.parent.value) == 1 and not before.parent.flow_style
        return cls(old, new, (entry_of(old, before), end_of(old, before)), emptied=int(emptied))

    def kept(self, comment: Comment, found: Comment) -> bool:
        """Whether ``found``, in the new text, stands where ``comment`` stood."""
        (start, end), shift = self.was, len(self.new.closings) - len(self.old.closings)
        first, last = bisect_right(self.old.closings, start), bisect_right(self.old.closings, end)
        was, now = _closed(self.old, comment), _closed(self.new, found)
        if comment.start < start:
            is_open = was <= now <= was + (self.emptied if was == first else 0)
            return is_open and (self.now is None or found.start < self.room)
        if comment.start < end:
            return first <= now <= last + shift and (self.now is None or found.start >= self.room)
        if self.now is not None and was == last:
            is_ahead = now == first if self.is_value else now == was
            is_ahead = is_ahead and self._is_ahead(comment, found, self.now)
            if is_ahead or self._must_be_ahead(comment):
                return is_ahead
        return now == was + shift and (self.now is None or found.start >= self.now[1])

    def _is_ahead(self, comment: Comment, found: Comment, now: Span) -> bool:
        """It stood below or beside, and may stand before what is new."""
        is_beside = "\n" not in self.old.text[self.was[1] : comment.start]
        if self.is_value:
            return (is_beside or self.is_null) and self.room <= found.start < now[0]
        is_deeper = self.in_block and _column(self.old.text, comment.start) > _column(self.new.text, now[0])
        return (is_beside or is_deeper) and found.start < now[0]

    def _must_be_ahead(self, comment: Comment) -> bool:
        return self.is_alone and "\n" not in self.old.text[self.was[1] : comment.start]


def _node(step: Step) -> yaml.Node:
    entry: Any = step.parent.value[step.position]
    node: yaml.Node = entry[1] if isinstance(entry, tuple) else entry
    return node


def _closed(layout: Layout, comment: Comment) -> int:
    return bisect_right(layout.closings, comment.start)


def _column(text: str, index: int) -> int:
    return index - line_start(text, index)
