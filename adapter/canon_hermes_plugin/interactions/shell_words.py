"""A command line as its simple commands, with quoting undone, the way a POSIX shell and its relatives read it. Pure.

It reads no further than needed to know which words there are: expansions are left out of a word and noted, and what
stands in ``$(...)`` or backticks is handed out as a text to be read by itself. It never fails; what has no end is told.

Source: canon-adapter D19; POSIX shell grammar, 2.2-2.10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

__all__ = ["Reading", "Simple", "Word", "read_commands"]

_NAME: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}
_CODED: Final = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")


@dataclass(frozen=True, slots=True)
class Word:
    """One word; ``is_made`` when a part of it is known only at run time, which ``text`` leaves out."""

    text: str
    is_made: bool = False


Simple: TypeAlias = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text holds.

    Attributes:
        inner: the texts of substitutions, not read yet.
        is_whole: every quote and bracket has its end.
    """

    commands: tuple[Simple, ...]
    inner: tuple[str, ...]
    is_whole: bool


def read_commands(text: str) -> Reading:
    """Read ``text``; redirections and their targets are left out."""
    return _Reader(text).read()


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    commands: list[Simple] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    is_whole: bool = True
    _words: list[Word] = field(default_factory=list)
    _letters: list[str] = field(default_factory=list)
    _in_word: bool = False
    _is_made: bool = False
    _is_target: bool = False

    def read(self) -> Reading:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_command()
        return Reading(tuple(self.commands), tuple(self.inner), self.is_whole)

    def _step(self, char: str) -> None:
        self.at += 1
        match char:
            case "\n" | ";" | "&" | "|" | "(" | ")":
                self._end_command()
            case "<" | ">":
                self._redirect()
            case "'":
                self._add(self._until("'"))
            case '"':
                self._double_quoted()
            case "\\":
                self._escaped()
            case "$":
                self._expansion(in_quotes=False)
            case "`":
                self._substituted(self._until("`"))
            case "#" if not self._in_word:
                self.at = _found(self.text, "\n", self.at)
            case _ if char.isspace():
                self._end_word()
            case _:
                self._add(char)

    # --- words ---

    def _add(self, letters: str) -> None:
        self._in_word = True
        self._letters.append(letters)

    def _made(self) -> None:
        self._in_word = self._is_made = True

    def _end_word(self) -> None:
        if self._in_word and not self._is_target:
            self._words.append(Word("".join(self._letters), self._is_made))
        self._is_target = self._is_target and not self._in_word
        self._letters, self._in_word, self._is_made = [], False, False

    def _end_command(self) -> None:
        self._end_word()
        self._is_target = False
        if self._words:
            self.commands.append(tuple(self._words))
            self._words = []

    def _redirect(self) -> None:
        if "".join(self._letters).isdigit():  # the number of the file that is redirected
            self._letters, self._in_word = [], False
        self._end_word()
        while self.at < len(self.text) and self.text[self.at] in "<>&|":
            self.at += 1
        if self.text[self.at : self.at + 1] != "(":  # <(...) is a command of its own
            self._is_target = True

    # --- quoting ---

    def _until(self, end: str) -> str:
        found = self.text.find(end, self.at)
        if found < 0:
            self.is_whole = False
            found = len(self.text)
        inside, self.at = self.text[self.at : found], found + 1
        return inside

    def _escaped(self) -> None:
        escaped = self.text[self.at : self.at + 1]
        self.at += 1
        if escaped != "\n":  # a line that goes on
            self._add(escaped)

    def _double_quoted(self) -> None:
        self._add("")
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return
            if char == "\\" and self.text[self.at : self.at + 1] in ('"', "\\", "$", "`", "\n"):
                self._escaped()
            elif char == "$":
                self._expansion(in_quotes=True)
            elif char == "`":
                self._substituted(self._until("`"))
            else:
                self._add(char)
        self.is_whole = False

    # --- expansions ---

    def _expansion(self, *, in_quotes: bool) -> None:
        following = self.text[self.at : self.at + 1]
        if following == "(":
            self.at += 1
            self._substituted(self._bracketed("(", ")"))
        elif following == "{":
            self.at += 1
            self.inner.append(self._bracketed("{", "}").partition("-")[2])  # ${x:-default} may be a command
            self._made()
        elif following == "'" and not in_quotes:
            self.at += 1
            self._ansi_quoted()
        elif following == '"' and not in_quotes:
            return  # a translated text; its quote comes next
        elif name := _NAME.match(self.text, self.at):
            self.at = name.end()
            self._made()
        else:
            self._add("$")

    def _substituted(self, command: str) -> None:
        self.inner.append(command)
        self._made()

    def _bracketed(self, opening: str, closing: str) -> str:
        """Up to the bracket that closes; those in quotes are not told apart, which reads too much, not too little."""
        start, depth = self.at, 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            depth += (char == opening) - (char == closing)
            if depth == 0:
                return self.text[start : self.at - 1]
        self.is_whole = False
        return self.text[start:]

    def _ansi_quoted(self) -> None:
        self._add("")
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "'":
                return
            if char == "\\" and (coded := _CODED.match(self.text, self.at)):
                self.at = coded.end()
                self._add(_coded(coded))
            elif char == "\\":
                escaped = self.text[self.at : self.at + 1]
                self.at += 1
                self._add(_ESCAPES.get(escaped, escaped))
            else:
                self._add(char)
        self.is_whole = False


def _coded(found: re.Match[str]) -> str:
    number = int(found[4], 8) if found[4] else int(found[1] or found[2] or found[3], 16)
    return chr(number) if number <= 0x10FFFF else ""


def _found(text: str, what: str, start: int) -> int:
    found = text.find(what, start)
    return len(text) if found < 0 else found
