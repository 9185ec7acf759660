"""A change of ``.env`` as a diff that shows no secret: neither its own, nor what other programs keep there.

A line shows its value only where its name is one that may be shown; otherwise ``NAME=[REDACTED]``, and ``…`` for
comments, broken lines and the further lines of a value, which may hold anything. What a line is, the parser says and
not the look of it. Different values get different marks, so that the change of a hidden one is seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

from canon_ops.files.dotenv_editor import comment_beside
from canon_ops.files.transaction import FileChange
from canon_ops.hermes.keys import is_public_name
from canon_ops.settings.dotenv import decode_dotenv, read_lines
from canon_ops.settings.secret import numbered_mark, redact

__all__ = ["change_diff", "dotenv_diff"]

_HIDDEN = "…"
# What stands before the = of an assignment as people write them; a piece of a key that lost its quotes looks otherwise.
_ORDINARY = re.compile(r"\s*(?:export\s+)?[A-Z_][A-Z0-9_]*\s*")
IsShown = Callable[[str], bool]


def change_diff(change: FileChange, mask: Callable[[str], str] | None) -> str:
    """The difference in any file: ``.env`` in this form, every other one with its lines masked, three around a change.

    Only a parser knows what a line of ``.env`` is: a key may stand in a comment, or go over several lines.
    """
    return dotenv_diff(change, is_public_name) if change.path.name == ".env" else change.diff(mask=mask)


def dotenv_diff(change: FileChange, is_shown: IsShown) -> str:
    """The changed lines of one file, without context.

    Args:
        is_shown: whether the value of a variable may be read by anybody.
    """
    marks: dict[str, str] = {}
    old, new = (_Lines(decode_dotenv(data or b""), is_shown, marks) for data in (change.before, change.after))
    parts = [
        f"--- {'/dev/null' if change.before is None else change.path}\n",
        f"+++ {'/dev/null' if change.after is None else change.path}\n",
    ]
    # The texts are compared, not what is shown of them: hidden lines all look alike.
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old.texts, new.texts, autojunk=False).get_opcodes():
        if tag != "equal":
            parts.append(f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n")
            parts += [f"-{old.shown(index)}\n" for index in range(i1, i2)]
            parts += [f"+{new.shown(index)}\n" for index in range(j1, j2)]
    return "".join(parts)


def _range(start: int, end: int) -> str:
    """A range as unified diffs write it."""
    count = end - start
    return str(start + 1) if count == 1 else f"{start + 1 if count else start},{count}"


class _Lines:
    """The lines of one text, and each of them as it may be seen."""

    def __init__(self, text: str, is_shown: IsShown, marks: dict[str, str]) -> None:
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        self.texts = plain.removesuffix("\n").split("\n") if plain else []
        self._assignments = {line.line - 1: line for line in read_lines(text) if line.value is not None}
        self._is_shown = is_shown
        self._marks = marks

    def shown(self, index: int) -> str:
        line, statement = self.texts[index], self._assignments.get(index)
        if not line.strip():
            return line
        before, _, _ = line.partition("=")
        if statement is None or not _ORDINARY.fullmatch(before):
            return _HIDDEN
        name, value = str(statement.name), str(statement.value)
        if not self._is_shown(name):
            return f"{before}={self._mark(value)}"
        if "\n" in value:
            return f"{before}={_HIDDEN}"
        comment = comment_beside(line)
        return redact(line.removesuffix(comment) + (f"# {_HIDDEN}" if comment else ""))

    def _mark(self, value: str) -> str:
        return self._marks.setdefault(value, numbered_mark(len(self._marks) + 1)) if value else ""
