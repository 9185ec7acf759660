"""Entries of brackets: ``[a, b]``, ``{a: 1}``, on one line or over several.

yaml-edit 0.2 writes a block list into brackets, puts a new entry of brackets over several lines onto the closing
bracket's line, and drops blanks before the closing bracket. So brackets are spliced here: a new entry stands on a line
of its own when its neighbours do, with their indent; the trailing comma, if there is one, stays the habit.
"""

from __future__ import annotations

from canon_ops.files.yaml_layout import Comment
from canon_ops.lean import dataclass

__all__ = ["Brackets", "add_entry", "remove_entry"]

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Brackets:
    """A bracketed collection in a text.

    Attributes:
        start: behind the opening bracket.
        stop: at the closing bracket.
        entries: where each entry starts and ends.
        comments: all comments of the text.
    """

    text: str
    start: int
    stop: int
    entries: tuple[Span, ...]
    comments: list[Comment]

    def comma_after(self, index: int) -> int | None:
        """The comma that follows entry ``index``, if there is one before the next entry or the closing bracket."""
        begin = self.entries[index][1]
        stop = self.entries[index + 1][0] if index + 1 < len(self.entries) else self.stop
        position = self.text.find(",", begin, stop)
        while position >= 0 and any(comment.start <= position < comment.end for comment in self.comments):
            position = self.text.find(",", position + 1, stop)
        return position if position >= 0 else None

    def indent_of(self, index: int) -> str | None:
        """The blanks before entry ``index`` when it begins its line; None when something stands before it."""
        line = self.text.rfind("\n", 0, self.entries[index][0]) + 1
        before = self.text[line : self.entries[index][0]]
        return before if line > self.start and not before.strip() else None


def add_entry(brackets: Brackets, rendered: str) -> tuple[str, Span]:
    """Add ``rendered`` behind the last entry.

    Returns:
        The new text, and the range of the old one that changed.
    """
    text = brackets.text
    if not brackets.entries:
        return _begin(brackets, rendered)
    last = len(brackets.entries) - 1
    end = brackets.entries[last][1]
    comma = brackets.comma_after(last)
    indent = brackets.indent_of(last)
    place = end if comma is None else comma + 1
    line_end = text.find("\n", place, brackets.stop)
    if indent is None or line_end < 0:  # the last entry shares its line with others or with the closing bracket
        return _splice(text, place, place, f", {rendered}" if comma is None else f" {rendered},")
    newline = "\r\n" if text[line_end - 1] == "\r" else "\n"
    line_end -= len(newline) - 1
    if comma is None:
        return _splice(text, end, line_end, f",{text[end:line_end]}{newline}{indent}{rendered}")
    return _splice(text, line_end, line_end, f"{newline}{indent}{rendered},")


def _begin(brackets: Brackets, rendered: str) -> tuple[str, Span]:
    """Give empty brackets their first entry: below the comment on their line, which is about the brackets."""
    text, start = brackets.text, brackets.start
    line_end = text.find("\n", start, brackets.stop)
    if not any(start <= comment.start < line_end for comment in brackets.comments):
        return _splice(text, start, start, rendered)
    line = text[text.rfind("\n", 0, start) + 1 : start]
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    newline = "\r\n" if text[line_end - 1] == "\r" else "\n"
    place = line_end - len(newline) + 1
    return _splice(text, place, place, f"{newline}{indent}{rendered}")


def remove_entry(brackets: Brackets, index: int, block: Span) -> tuple[str, Span]:
    """Take entry ``index`` out, with its comma, and with its line when nothing else stands on it.

    Args:
        block: the comment lines directly above the entry; empty when there are none.

    Returns:
        The new text, and the range of the old one that changed.
    """
    text, entries = brackets.text, brackets.entries
    start, end = entries[index]
    comma = brackets.comma_after(index)
    after = end if comma is None else comma + 1
    is_last = index == len(entries) - 1
    line_end = text.find("\n", after)
    alone = brackets.indent_of(index) is not None and 0 <= line_end < brackets.stop
    alone = alone and (is_last or entries[index + 1][0] > line_end)
    spare = brackets.comma_after(index - 1) if is_last and comma is None and index > 0 else None
    if alone:
        cut = (block[0], line_end + 1)
    elif is_last and index > 0:
        between = text[entries[index - 1][1] : start]
        kept = any(entries[index - 1][1] <= comment.start < start for comment in brackets.comments)
        cut = (start, end) if kept or comma is not None else (entries[index - 1][1], end)
        if comma is not None:
            cut = (start - (len(between) - len(between.rstrip(" "))), after)
        spare = spare if kept else None
    elif is_last:
        cut = (start, after)
        if text[start - 1] == " " and text[after] == " ":
            cut = (start, after + 1)
    elif comma is not None and "\n" in text[comma : entries[index + 1][0]]:  # the next line stays a line
        before = brackets.comma_after(index - 1) if index > 0 else None
        cut = (start if before is None else before + 1, after)
    else:
        cut = (start, entries[index + 1][0])
    if spare is None:
        return _splice(text, *cut, "")
    return _splice(text, spare, cut[1], text[spare + 1 : cut[0]])


def _splice(text: str, start: int, stop: int, new: str) -> tuple[str, Span]:
    return text[:start] + new + text[stop:], (start, stop)
