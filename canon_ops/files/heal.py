"""Bring comments back that another writer dropped: the values of the present file in the words of an older text.

Hermes writes config.yaml by dumping values: comments, quotes and anchors are gone, every value is right. The history
keeps our last commented text. So the difference in values between the two is carried into the older text by the editor
that keeps every byte (:mod:`steer`). Then

- a comment whose key is gone stands at the entry that held it, with its old path in front;
- comments that were written into the present file by hand are put to the same keys;
- Hermes' own help texts are left out, unless the older text has them.

Where the older text cannot be brought to the present values by edits, its comments are put into the present text
instead: they come back in any case, the old quotes and anchors do not.

The result is proven: PyYAML reads exactly the present values, and no comment of either text is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from canon_ops.files.comment_places import Block, KeyPath, PlacedComment, place_comments, placed_comments
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.steer import Stuck, steer
from canon_ops.files.yaml_difference import MISSING, alike, at_path
from canon_ops.files.yaml_path import format_path
from canon_ops.files.yaml_proofs import ProofFailed
from canon_ops.hints import Any
from canon_ops.lean import dataclass, field, replace

__all__ = ["Boilerplate", "Healed", "Moved", "bring_back", "comments_back", "heal", "own_comments", "words_of"]

_GAP = re.compile(rb"(?:[ \t]*\r?\n)+")
_MOVED = re.compile(r"\[.+?\] (?=\S)")

Boilerplate = Callable[[str], Sequence[tuple[int, int]]]
"""The ranges of a text (without byte-order mark) that hold comments which a program wrote, not a person."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A comment whose key is gone.

    Attributes:
        path: where it stood, as a dotted path.
        text: its words as they were, from the ``#``.
    """

    path: str
    text: str

    @property
    def line(self) -> str:
        """How it stands now: with its old path in front."""
        return f"# [{self.path}] {self.text.lstrip('#').strip()}"


@dataclass(frozen=True, slots=True)
class Healed:
    """The new text and what is worth telling about it.

    Attributes:
        back: how many comments of the older text are there again.
        moved: those of them that stand elsewhere because their key is gone.
        is_transplant: the text is the present one with the comments put in, not the older one with the values changed.
    """

    data: bytes = field(repr=False)
    back: int
    moved: tuple[Moved, ...]
    is_transplant: bool = False


def heal(older: ConfigDocument, present: ConfigDocument, boilerplate: Boilerplate) -> Healed:
    """Make one text of two; see the module's docstring.

    Raises:
        ProofFailed: the result would not be what is promised; nothing was changed.
    """
    try:
        healed = _merged(_without_gap(steer(older, present.value), older), older, present, boilerplate)
    except (Stuck, ProofFailed):
        healed = replace(_merged(present, older, present, boilerplate), is_transplant=True)
    _prove(healed, older, present, boilerplate)
    return healed


def _without_gap(document: ConfigDocument, older: ConfigDocument) -> ConfigDocument:
    """``document`` without the blank lines that stood below the first entry of ``older``, which is gone."""
    gap = _GAP.match(document.data)
    return (
        document
        if gap is None or _GAP.match(older.data)
        else ConfigDocument.parse(document.data[gap.end() :], document.file)
    )


def bring_back(
    older: ConfigDocument, present: ConfigDocument, boilerplate: Boilerplate, wanted: Counter[str]
) -> Healed:
    """Put some comments of an older text to their entries in the present one; nothing else changes.

    Args:
        wanted: their words, as :func:`words_of` gives them.

    Raises:
        ProofFailed: there is no place for one of them.
    """
    left = wanted.copy()
    lost = []
    for placed in own_comments(older, boilerplate):
        if left[words_of(placed.comment.text)] > 0:
            left[words_of(placed.comment.text)] -= 1
            lost.append(placed)
    document, moved = _bring_back(present, older, lost)
    return Healed(document.data, len(lost), moved)


def words_of(comment: str) -> str:
    """What a comment says, without its ``#`` and without the path that :attr:`Moved.line` puts in front."""
    words = comment.lstrip("#").strip()
    found = _MOVED.match(words)
    return words[found.end() :] if found else words


def own_comments(document: ConfigDocument, boilerplate: Boilerplate) -> list[PlacedComment]:
    """The comments of a text that people wrote."""
    spans = boilerplate(document.layout.text)
    return [
        placed
        for placed in placed_comments(document.layout)
        if not any(start <= placed.comment.start < end for start, end in spans)
    ]


def comments_back(after: ConfigDocument, before: ConfigDocument) -> list[PlacedComment]:
    """The comments of ``after`` that ``before`` lacks, from above downwards."""
    return _missing(placed_comments(after.layout), _count(placed_comments(before.layout)))


def _merged(
    document: ConfigDocument, older: ConfigDocument, present: ConfigDocument, boilerplate: Boilerplate
) -> Healed:
    """``document``, which has the present values already, with the comments of both texts."""
    mine, theirs = own_comments(older, boilerplate), own_comments(present, boilerplate)
    document, moved = _bring_back(document, older, _missing(mine, _count(placed_comments(document.layout))))
    there = _count(placed_comments(document.layout))
    document = place_comments(document, _blocks(_missing(theirs, there)))
    back = _count(mine) - _count(theirs)
    return Healed(document.data, back.total(), moved)


def _bring_back(
    document: ConfigDocument, older: ConfigDocument, lost: Sequence[PlacedComment]
) -> tuple[ConfigDocument, tuple[Moved, ...]]:
    """Put comments of ``older`` to their entries, or, where those are gone, to what held them."""
    at_home: list[Block] = []
    homeless: dict[KeyPath, list[Moved]] = {}
    for block in _blocks(lost):
        is_there = _is_still_there(block.path, older, document)
        if is_there and (not block.is_tail or _still_holds(block.path, older, document)):
            at_home.append(block)
        else:
            holder = block.path if is_there else _holder(block.path)
            homeless.setdefault(holder, []).extend(Moved(_shown(block.path), text) for text in block.lines)
    moved = [Block(holder, tuple(each.line for each in texts)) for holder, texts in homeless.items()]
    document = place_comments(place_comments(document, at_home), moved)
    return document, tuple(each for texts in homeless.values() for each in texts)


def _blocks(comments: Sequence[PlacedComment]) -> list[Block]:
    """Comments that belong together: above the same entry, one after the other."""
    blocks: list[Block] = []
    for each in comments:
        last = blocks[-1] if blocks else None
        if last is not None and not last.beside and (last.path, False, last.is_tail) == _place(each):
            blocks[-1] = replace(last, lines=(*last.lines, each.comment.text))
        else:
            blocks.append(Block(each.path, (each.comment.text,), each.beside, each.is_tail))
    return blocks


def _place(placed: PlacedComment) -> tuple[KeyPath, bool, bool]:
    return placed.path, placed.beside, placed.is_tail


def _is_still_there(path: KeyPath, older: ConfigDocument, document: ConfigDocument) -> bool:
    """Whether the entry at ``path`` is the one that it was; an index may mean another item now."""
    value = at_path(document.value, path)
    has_index = any(type(part) is int for part in path)
    return value is not MISSING and (not has_index or alike(value, at_path(older.value, path)))


def _still_holds(path: KeyPath, older: ConfigDocument, document: ConfigDocument) -> bool:
    """Whether an entry can have the tail that it had: not when it was a section and is a single value."""
    return _is_section(at_path(document.value, path)) or not _is_section(at_path(older.value, path))


def _is_section(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _holder(path: KeyPath) -> KeyPath:
    """The nearest entry around one that is gone which no change of a list can have moved."""
    above = path[:-1]
    first_index = next((number for number, part in enumerate(above) if type(part) is int), len(above))
    return above[:first_index]


def _shown(path: KeyPath) -> str:
    return format_path(tuple(part if type(part) is int else str(part) for part in path))


def _prove(healed: Healed, older: ConfigDocument, present: ConfigDocument, boilerplate: Boilerplate) -> None:
    """Read the new text anew: the present values, and every comment of both texts, a moved one under its new words."""
    new = ConfigDocument.parse(healed.data, present.file)
    if not alike(new.value, present.value):
        raise ProofFailed("Hermes would read other values than now (proof of values)", file=present.file)
    texts = _count(placed_comments(new.layout))
    moved_from = Counter(each.text for each in healed.moved)
    moved_to = Counter(each.line for each in healed.moved)
    for wanted in (
        _count(own_comments(older, boilerplate)) - moved_from + moved_to,
        _count(own_comments(present, boilerplate)),
    ):
        if wanted - texts:
            raise ProofFailed(
                f"the comment {next(iter(wanted - texts))!r} would be lost (proof of comments)", file=present.file
            )


def _missing(placed: Sequence[PlacedComment], there: Counter[str]) -> list[PlacedComment]:
    """Those whose text is not there, or not as often."""
    left = there.copy()
    missing = []
    for each in placed:
        if left[each.comment.text] > 0:
            left[each.comment.text] -= 1
        else:
            missing.append(each)
    return missing


def _count(placed: Sequence[PlacedComment]) -> Counter[str]:
    return Counter(each.comment.text for each in placed)
