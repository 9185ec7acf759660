"""Three proofs that an edit did what it announced, and nothing else. Whoever made the edit is not asked.

1. Values: PyYAML reads the old tree plus the one announced change. Trees are compared, not values, so that equal values
   in other places (an alias written out, a key moved) are found too.
2. Comments: every comment outside the announced range is still there, on the same side of the same entry. Inside the
   range, comments vanish only together with the entry that is removed, and what that is the proof knows by itself: the
   announcement can be too generous. A comment on a line of its own keeps its column, since its indent says whose it is
   (decision 0058), and no new entry comes between it and what holds it.
3. Bytes: every character outside the announced range is the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

import yaml

from canon_ops.errors import RefusedError
from canon_ops.files.engine import Address
from canon_ops.files.yaml_layout import Comment, Layout, Owner, Step
from canon_ops.files.yaml_places import end_of, entry_of, line_end, line_start, slot_of, stop_of
from canon_ops.files.yaml_reader import YamlText, construct, same
from canon_ops.files.yaml_sides import Sides
from canon_ops.hints import Any, ClassVar
from canon_ops.lean import dataclass

__all__ = ["Added", "Change", "Dropped", "ProofFailed", "Replaced", "prove", "prove_rewrite"]


class ProofFailed(RefusedError):
    """The edit would change more than it announced; nothing was written."""

    code: ClassVar[str] = "config_proof"


@dataclass(frozen=True, slots=True)
class Replaced:
    """The entry ``at`` has the value ``value`` now."""

    at: Address
    value: Any


@dataclass(frozen=True, slots=True)
class Added:
    """The collection at ``parent`` has one more entry, the last: ``key`` (None in a list) with ``value``."""

    parent: Address
    key: str | None
    value: Any


@dataclass(frozen=True, slots=True)
class Dropped:
    """The entry ``at`` is gone."""

    at: Address


Change = Replaced | Added | Dropped
Span = tuple[int, int]


def prove(old: Layout, new: Layout, *, span: Span, gone: Span, change: Change) -> None:
    """Check the new text against the old one.

    Args:
        span: the announced range, in the old text.
        gone: the part of it that is removed, where comments may vanish.

    Raises:
        ProofFailed: says which proof and where.
    """
    _prove_bytes(old.text, new.text, span)
    _prove_values(old.document, new.document, change)
    _prove_comments(old, new, span, gone, change)


def prove_rewrite(old: Layout, new: Layout, *, gone: Span, change: Change) -> None:
    """Check a document that was written anew: the proof of values, and no comment's text is lost or made up.

    Raises:
        ProofFailed: says which proof.
    """
    _prove_values(old.document, new.document, change)
    kept = Counter(comment.text for comment in old.comments if not gone[0] <= comment.start < gone[1])
    every, found = Counter(comment.text for comment in old.comments), Counter(comment.text for comment in new.comments)
    if kept - found:
        lost = next(comment for comment in old.comments if (kept - found)[comment.text])
        raise _lost(old, lost)
    if found - every:
        raise ProofFailed("comments would be made up (proof of comments)", file=old.document.file)


def _prove_bytes(old: str, new: str, span: Span) -> None:
    start, end = span
    kept = start + len(old) - end
    if not (len(new) >= kept and new.startswith(old[:start]) and new.endswith(old[end:])):
        raise ProofFailed("the edit would change text that it has no business with (proof of bytes)")


# -- values ---------------------------------------------------------------------------------------------------------


def _prove_values(old: YamlText, new: YamlText, change: Change) -> None:
    address = change.parent if isinstance(change, Added) else change.at
    twins: dict[int, int] = {}
    if old.root is None or new.root is None:
        held = _alone(old, new, change)
    else:
        held = _changed(old.root, new.root, address, change, twins)
    if not held:
        raise ProofFailed("Hermes would read something else than the old values and the change (proof of values)")


def _alone(old: YamlText, new: YamlText, change: Change) -> bool:
    """The document was empty before, or is empty now."""
    if isinstance(change, Added) and new.root is not None:
        return change.parent == () and same(new.value, {change.key: change.value})
    return isinstance(change, Dropped) and old.root is not None and len(change.at) == 1 and len(old.root.value) == 1


def _changed(old: yaml.Node, new: yaml.Node, address: Address, change: Change, twins: dict[int, int]) -> bool:
    """``new`` is ``old`` but for ``change``, which lies ``address`` further down."""
    if isinstance(change, Replaced) and not address:
        # Whatever repeats the old node must repeat the new one.
        _pair(old, new, twins)
        return same(construct(new), change.value)
    if type(old) is not type(new) or old.tag != new.tag or not isinstance(old, yaml.CollectionNode):
        return False
    _pair(old, new, twins)
    before, after = list(old.value), list(new.value)
    if isinstance(change, Added) and not address:
        if len(after) != len(before) + 1:
            return False
        return _is_entry(after.pop(), change) and _all_equal(before, after, twins)
    position = address[0]
    if isinstance(change, Dropped) and len(address) == 1:
        del before[position]
        return _all_equal(before, after, twins)
    if len(before) != len(after):
        return False
    head = _all_equal(before[:position], after[:position], twins)
    one, other = before[position], after[position]
    if isinstance(old, yaml.MappingNode):
        head = head and _equal(one[0], other[0], twins)
        one, other = one[1], other[1]
    return (
        head
        and _changed(one, other, address[1:], change, twins)
        and _all_equal(before[position + 1 :], after[position + 1 :], twins)
    )


def _is_entry(entry: Any, change: Added) -> bool:
    if isinstance(entry, tuple):
        return same(construct(entry[0]), change.key) and same(construct(entry[1]), change.value)
    return change.key is None and same(construct(entry), change.value)


def _all_equal(before: list[Any], after: list[Any], twins: dict[int, int]) -> bool:
    if len(before) != len(after):
        return False
    for one, other in zip(before, after, strict=True):
        if isinstance(one, tuple):
            (key, value), (new_key, new_value) = one, other
            if not (_equal(key, new_key, twins) and _equal(value, new_value, twins)):
                return False
        elif not _equal(one, other, twins):
            return False
    return True


def _equal(old: yaml.Node, new: yaml.Node, twins: dict[int, int]) -> bool:
    if id(old) in twins or id(new) in twins:  # an alias: it must repeat the same node as before
        return twins.get(id(old)) == id(new)
    if type(old) is not type(new) or old.tag != new.tag:
        return False
    if isinstance(old, yaml.ScalarNode):
        return old.value == new.value  # type: ignore[no-any-return]  # PyYAML is untyped here; two texts
    _pair(old, new, twins)
    return _all_equal(old.value, new.value, twins)


def _pair(old: yaml.Node, new: yaml.Node, twins: dict[int, int]) -> None:
    """The one has taken the other's place, so whatever repeats either must repeat both."""
    twins[id(old)], twins[id(new)] = id(new), id(old)


# -- comments -------------------------------------------------------------------------------------------------------


def _prove_comments(old: Layout, new: Layout, span: Span, gone: Span, change: Change) -> None:
    start, end = span
    owners = _Owners.of(old, new, span, change)
    # Beyond, bytes and values are the same: no comment there can have become a value, or a value a comment.
    before = old.comments_in(*owners.near)
    after = new.comments_in(owners.near[0], owners.near[1] + len(new.text) - len(old.text))
    head = [comment for comment in before if comment.start < start]
    inside = [comment for comment in before if start <= comment.start < end]
    tail = before[len(head) + len(inside) :]
    if len(after) < len(head) + len(tail):
        raise _lost(old, next((c for c, d in zip(before, after, strict=False) if c.text != d.text), before[-1]))
    middle = after[len(head) : len(after) - len(tail)]
    for comment, found in zip(head + tail, after[: len(head)] + after[len(after) - len(tail) :], strict=True):
        if comment.text != found.text or not owners.still(comment, found):
            raise _lost(old, comment)
    if isinstance(change, Added):
        _prove_unheld(old, new, change, before)
    going = _Going.of(old, change)
    removable = [gone[0] <= comment.start < gone[1] and going.takes(comment) for comment in inside]
    _prove_inside(owners, inside, removable, middle)


def _prove_unheld(old: Layout, new: Layout, change: Added, before: list[Comment]) -> None:
    """No comment below a new entry is held by it: what is indented deeper belongs to an older one."""
    parent = _at(new, change.parent)
    if parent is None or old.document.root is None or any(node.flow_style for node in parent):
        return
    last = len(parent[-1].value) - 1
    step = Step(parent[-1], last, last)
    entry, stop = entry_of(new, step), stop_of(new, step)
    following = bisect_left(new.entries, stop)
    behind = new.entries[following] if following < len(new.entries) else len(new.text)
    for comment in new.comments_in(stop, behind):
        is_behind_the_end = new.text.startswith("...", line_start(new.text, comment.start))
        if is_behind_the_end or _column(new.text, comment.start) <= _column(new.text, entry):
            return  # what it closes stays closed for those below it
        raise _lost(old, next(each for each in before if each.text == comment.text))


@dataclass(frozen=True, slots=True)
class _Going:
    """What goes with an entry, or with the value of one, told without the plan of the edit.

    Attributes:
        start: where the entry begins that goes, or the value that is replaced; behind the text when nothing goes.
        end: behind its last character.
        entry: where the entry begins that changes.
        closing: behind the brackets that it stands in, or that a value itself has: what follows is about them.
        above: the start of the entry that goes, whose comments directly above it go too; None for a value.
    """

    layout: Layout
    start: int
    end: int
    entry: int
    closing: int
    above: int | None = None

    @classmethod
    def of(cls, layout: Layout, change: Change) -> _Going:
        nodes = None if isinstance(change, Added) else _at(layout, change.at[:-1])
        if isinstance(change, Added) or nodes is None:
            return cls(layout, *(4 * [len(layout.text)]))
        step = Step(nodes[-1], change.at[-1], change.at[-1])
        entry, parent = entry_of(layout, step), nodes[-1]
        closing = layout.ends[id(parent)] if parent.flow_style else len(layout.text)
        if isinstance(change, Replaced):
            start, end = slot_of(layout, step)
            value = _at(layout, change.at)
            is_bracketed = value is not None and getattr(value[-1], "flow_style", False)
            return cls(layout, start, end, entry, min(closing, end) if is_bracketed else closing)
        return cls(layout, entry, end_of(layout, step), entry, closing, entry)

    def takes(self, comment: Comment) -> bool:
        """Whether ``comment`` is a part of it."""
        owner = self.layout.owner(comment)
        if owner.beside:
            entry = self.layout.entries[owner.entry]
            is_own_value = self.above is None and entry == self.entry  # an item in brackets has no name before it
            if self.start <= entry < self.end and comment.start < self.closing and not is_own_value:
                return True
            # About the name of a value in brackets that goes: another one on that line may stay in its place.
            return self.start <= comment.start < self.end and self._has_another(comment)
        return self.start <= comment.start < self.end or self._is_directly_above(comment)

    def _has_another(self, comment: Comment) -> bool:
        if self.above is None and self.closing > self.end:  # behind the last line of a section: it goes with that
            return False
        line = self.layout.comments_in(self.end, line_end(self.layout.text, self.end))
        return bool(line) and line[0].start != comment.start

    def _is_directly_above(self, comment: Comment) -> bool:
        if self.above is None or comment.start >= self.above:
            return False
        text, column = self.layout.text, _column(self.layout.text, self.above)
        lines = text[line_start(text, comment.start) : line_start(text, self.above)].splitlines()
        return all(line[:column].strip(" ") == "" and line[column : column + 1] == "#" for line in lines)


def _at(layout: Layout, address: Address) -> list[Any] | None:
    """The collections on the way to a place, the one there last; None in an empty document."""
    node: Any = layout.document.root
    if node is None:
        return None
    nodes = [node]
    for position in address:
        node = node.value[position]
        node = node[1] if isinstance(node, tuple) else node
        nodes.append(node)
    return nodes


def _place_of(layout: Layout, change: Change) -> Span:
    """Where entries come and go: the entry, the value of one, or the end of the section that has one more."""
    nodes = _at(layout, change.parent if isinstance(change, Added) else change.at[:-1])
    if nodes is None:
        return len(layout.text), len(layout.text)
    if isinstance(change, Added):
        last = len(nodes[-1].value) - 1
        end = layout.ends[id(nodes[-1])] if last < 0 else end_of(layout, Step(nodes[-1], last, last))
        return end, end
    step = Step(nodes[-1], change.at[-1], change.at[-1])
    return slot_of(layout, step) if isinstance(change, Replaced) else (entry_of(layout, step), end_of(layout, step))


def _sides_of(old: Layout, new: Layout, change: Change) -> Sides | None:
    way = change.parent if isinstance(change, Added) else change.at[:-1]
    nodes, others = _at(old, way), _at(new, way)
    if nodes is None:
        return None
    if isinstance(change, Dropped):
        return Sides.of_none(old, new, _step(nodes[-1], change.at[-1]))
    if others is None:  # the proof of values refuses that
        return None
    if isinstance(change, Replaced):
        return Sides.of_value(old, new, _step(nodes[-1], change.at[-1]), _step(others[-1], change.at[-1]))
    before, after = len(nodes[-1].value), _step(others[-1], len(others[-1].value) - 1)
    if not before:
        return Sides.of_first(old, new, (int(nodes[-1].start_mark.index), old.ends[id(nodes[-1])]), after)
    in_block = not any(node.flow_style for node in others)
    return Sides.of_entry(old, new, _step(nodes[-1], before - 1), after, in_block=in_block)


def _step(parent: Any, position: int) -> Step:
    return Step(parent, position, position)


def _entries_in(layout: Layout, span: Span) -> Span:
    """The first entry that begins inside ``span``, and the first one behind."""
    first = bisect_left(layout.entries, span[0])
    return first, max(first, bisect_left(layout.entries, span[1]))


def _column(text: str, index: int) -> int:
    return index - line_start(text, index)


@dataclass(frozen=True, slots=True)
class _Owners:
    """Who owned the comments around a change, and who owns them now.

    Attributes:
        first: how many entries lie before the change itself, however much was announced.
        last: the first entry behind it.
        shift: by how many places that one moved.
        in_brackets: what is new stands in brackets, or is a value in brackets.
        sides: before and below the change; None when there was no entry.
        near: the part of the old text in which owners may have changed: between the last entry before the change and
            the first one behind it, as long as the entries beyond stand where they stood.
    """

    old: Layout
    new: Layout
    first: int
    last: int
    shift: int
    in_brackets: bool
    sides: Sides | None
    near: Span

    @classmethod
    def of(cls, old: Layout, new: Layout, span: Span, change: Change) -> _Owners:
        shift = len(new.entries) - len(old.entries)
        moved = len(new.text) - len(old.text)
        near = (0, len(old.text))
        first, last = _entries_in(old, span)
        ahead, beyond = old.entries[:first], [entry + moved for entry in old.entries[last:]]
        if new.entries[:first] == ahead and new.entries[last + shift :] == beyond:
            near = (ahead[-1] if ahead else 0, old.entries[last] if beyond else len(old.text))
        around = _at(new, change.parent if isinstance(change, Added) else change.at) if shift > 0 else None
        in_brackets = any(bool(getattr(node, "flow_style", False)) for node in around or ())
        sides = _sides_of(old, new, change)
        return cls(old, new, *_entries_in(old, _place_of(old, change)), shift, in_brackets, sides, near)

    def still(self, comment: Comment, found: Comment) -> bool:
        """Whether ``found``, in the new text, belongs to the entry that ``comment`` belonged to."""
        if self.sides is None:
            return True  # without entries, a comment belongs to none
        if not self.sides.kept(comment, found):
            return False
        was, now = self.old.owner(comment), self.new.owner(found)
        if was.beside != now.beside or not (was.beside or self._in_its_column(comment, found)):
            return False
        return self._is_its_entry(was, now) and self._is_at_its_brackets(was, comment, found)

    def stays(self, comment: Comment, found: Comment) -> bool:
        """Whether ``found`` is ``comment``, which stands inside the range and stays."""
        if self.sides is not None and not self.sides.kept(comment, found):
            return False
        was, now = self.old.owner(comment), self.new.owner(found)
        if was.beside:
            return now.beside and self._is_its_entry(was, now) and self._is_at_its_brackets(was, comment, found)
        if now.beside or not self._in_its_column(comment, found):
            return False
        if self.first <= was.entry <= self.last:  # it may stand above a new entry, when an older one holds it
            return now.innermost >= self.first and now.entry <= self.last + self.shift
        return _meet(was, now, 0 if was.entry < self.first else self.shift)

    def _is_its_entry(self, was: Owner, now: Owner) -> bool:
        if was.entry < self.first:
            # A new entry in brackets comes between its key and the comment at the end of the line.
            is_new = self.first <= now.entry < self.last + self.shift
            return _meet(was, now, 0) or (was.beside and was.entry == self.first - 1 and is_new and self.in_brackets)
        if was.entry >= self.last:
            return _meet(was, now, self.shift)
        # Its entry is what changes: the comment is now at what took its place, or at what follows.
        return now.innermost >= self.first - was.beside and now.entry <= self.last + self.shift

    def _is_at_its_brackets(self, was: Owner, comment: Comment, found: Comment) -> bool:
        """Behind closing brackets a comment is about them, not about what is last in them: there it stays."""
        if not was.beside or self.first - 1 <= was.entry < self.last:
            return True
        return _closes(self.old.text, comment) == _closes(self.new.text, found)

    def _in_its_column(self, comment: Comment, found: Comment) -> bool:
        return _column(self.old.text, comment.start) == _column(self.new.text, found.start)


def _closes(text: str, comment: Comment) -> bool:
    return text[line_start(text, comment.start) : comment.start].rstrip(" \t,").endswith(("]", "}"))


def _meet(was: Owner, now: Owner, shift: int) -> bool:
    return was.entry + shift <= now.innermost and now.entry <= was.innermost + shift


def _prove_inside(owners: _Owners, inside: list[Comment], removable: list[bool], middle: list[Comment]) -> None:
    """Inside the range, what is not removed stays, in its order, and nothing is made up."""
    # possible: how many of ``middle`` may be explained by the comments seen so far; equal texts leave a choice.
    possible = {0}
    for comment, may_go in zip(inside, removable, strict=True):
        kept = {
            count + 1
            for count in possible
            if count < len(middle) and middle[count].text == comment.text and owners.stays(comment, middle[count])
        }
        possible = kept | possible if may_go else kept
        if not possible:
            raise _lost(owners.old, comment)
    if len(middle) not in possible:
        raise ProofFailed("the edit would move comments or make some up (proof of comments)")


def _lost(old: Layout, comment: Comment) -> ProofFailed:
    line, column = old.document.line_column(comment.start)
    return ProofFailed(
        f"the comment in line {line} would be lost or stand elsewhere (proof of comments)",
        file=old.document.file,
        line=line,
        column=column,
    )
