"""Taking our edits of a home's files back: byte for byte where nobody wrote since, by meaning where somebody did.

Each command that edits a file leaves a :class:`FileStep`: the digests before and after, the lines that it replaced, and
what it did in words (:class:`Edit`). Going back, the steps are taken from the newest on. While the file is what a step
made of it, the old lines are laid back and the result has the old digest. From the first step on that finds another
file, the edits are undone by meaning with the editors of ``files``: our item leaves its list, our value goes unless
somebody changed it, sections go that we made and that nobody else uses.

Only changed lines are kept, so no copy of a ``.env`` full of other programs' secrets lies about. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from canon_ops.files.records import digest

if TYPE_CHECKING:
    from canon_ops.files.config_editor import ConfigDocument
    from canon_ops.files.dotenv_editor import DotenvDocument

__all__ = ["Edit", "EditKind", "FileStep", "step_of", "taken_back", "undone"]

KeyPath = tuple[str | int, ...]


class EditKind(Enum):
    """What was done to one value."""

    ADDED = "added"  # an item to a list of config.yaml
    REMOVED = "removed"  # an item from a list of config.yaml
    SET = "set"  # a value of config.yaml
    VARIABLE = "variable"  # a variable of .env


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit.

    Attributes:
        path: in config.yaml; the variable's name alone in ``.env``.
        value: the item, or the new value.
        before: the value before; None also when there was none.
        existed: there was a value before.
        made: how many leading parts of ``path`` existed before: what lies deeper was made by us.
    """

    kind: EditKind
    path: KeyPath
    value: Any
    before: Any = None
    existed: bool = True
    made: int = 0


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of the new text and the ones that stood in their place.

    Attributes:
        start: index of the first line in the new text.
        count: how many lines of the new text.
        old: the lines before.
    """

    start: int
    count: int
    old: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class FileStep:
    """What one command did to one file.

    Attributes:
        file: its name in the home.
        before: SHA-256 of the old bytes; None when there was no file.
        after: SHA-256 of the new bytes.
    """

    file: str
    before: str | None
    after: str
    hunks: tuple[Hunk, ...] = ()
    edits: tuple[Edit, ...] = field(default=())


def step_of(file: str, before: bytes | None, after: bytes, edits: Iterable[Edit]) -> FileStep:
    """The step from one text to the other."""
    old, new = (before or b"").splitlines(keepends=True), after.splitlines(keepends=True)
    import difflib

    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    hunks = tuple(
        Hunk(new_start, new_end - new_start, tuple(old[old_start:old_end]))
        for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        if kind != "equal"
    )
    return FileStep(file, digest(before), digest(after) or "", hunks, tuple(edits))


def taken_back(data: bytes | None, steps: Sequence[FileStep], *, name: str) -> bytes | None:
    """The file without the steps, the last of which is the newest.

    Args:
        data: the file as it is; None when it is gone, which it then stays.
        name: for the messages of the editors.

    Returns:
        The old bytes; None when there was no file before and nothing but ours is in it.

    Raises:
        ConfigSyntaxError, ConfigRefused, UnreadableEnv: the present text cannot be edited.
    """
    left = list(steps)
    while left and data is not None and digest(data) == left[-1].after:
        step = left.pop()
        old = _laid_back(data, step.hunks)
        if (digest(old) if step.before is not None else None) != step.before:
            left.append(step)  # the record itself is not right: go by meaning
            break
        data = old if step.before is not None else None
    if data is None or not left:
        return data
    text = undone(data, [edit for step in reversed(left) for edit in reversed(step.edits)], name=name)
    return None if left[0].before is None and not text.strip() else text


def undone(data: bytes, edits: Iterable[Edit], *, name: str) -> bytes:
    """The text without the edits, which come newest first; what somebody else changed since stays theirs."""
    todo = list(edits)
    if not todo:
        return data
    if any(edit.kind is EditKind.VARIABLE for edit in todo):
        from canon_ops.files.dotenv_editor import DotenvDocument

        document = DotenvDocument.parse(data, name)
        for edit in todo:
            document = _variable_undone(document, edit)
        return document.data
    from canon_ops.files.config_editor import ConfigDocument

    config = ConfigDocument.parse(data, name)
    for edit in todo:
        config = _value_undone(config, edit)
    return config.data


def _laid_back(data: bytes, hunks: Iterable[Hunk]) -> bytes:
    lines = data.splitlines(keepends=True)
    for hunk in sorted(hunks, key=lambda one: one.start, reverse=True):
        lines[hunk.start : hunk.start + hunk.count] = hunk.old
    return b"".join(lines)


def _variable_undone(document: DotenvDocument, edit: Edit) -> DotenvDocument:
    name = str(edit.path[0])
    if document.get(name) != edit.value:
        return document
    return document.set(name, str(edit.before)) if edit.existed else document.remove(name)


def _value_undone(document: ConfigDocument, edit: Edit) -> ConfigDocument:
    found = document.find(edit.path)
    match edit.kind:
        case EditKind.ADDED:
            if found is None or not isinstance(found.value, list):
                return document
            return _without_empty(document.remove(edit.path, edit.value), edit)
        case EditKind.REMOVED:
            is_list = found is None or found.value is None or isinstance(found.value, list)
            return document.add(edit.path, edit.value) if is_list else document
        case _:
            if found is None or found.value != edit.value:
                return document
            if edit.existed:
                return document.set(edit.path, edit.before)
            return _without_empty(document.unset(edit.path), edit)


def _without_empty(document: ConfigDocument, edit: Edit) -> ConfigDocument:
    """Without the sections around the edit that it made and that hold nothing any more."""
    for depth in range(len(edit.path), edit.made, -1):
        found = document.find(edit.path[:depth])
        if found is None:
            continue
        if found.value not in ([], {}, None):
            break
        document = document.unset(edit.path[:depth])
    return document
