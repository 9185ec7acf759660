"""A command line as its simple commands, with quoting undone, the way a POSIX shell and its relatives read it. Pure.

It reads no further than needed to know which words there are. A word keeps what the shell would still do to it: braces
and patterns that no quote protects, and a mark where an expansion puts something in. What stands in ``$(...)``,
backticks and here-documents is handed out as a text to be read by itself. It never fails; what has no end is told.

Source: canon-adapter D19; POSIX shell grammar, 2.2-2.10; bash for braces, ``$'...'``, ``<<<`` and ``{name}>``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

__all__ = ["MADE", "Reading", "Simple", "Word", "decoded", "read_commands", "substituted"]

MADE: Final = "\0"  # in a pattern: something that is known only at run time
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*")
_CASE: Final = re.compile(r"(?:^|[;&|({\n]|\b(?:do|then|else|if|while|until)\b)\s*case\b")
_FILE_NUMBER: Final = re.compile(r"\d+|\{\w+\}")  # the number, or the name of one, of the file that is redirected
_LINE: Final = 1_000  # ours: letters of a calculation; a longer one is not judged
_GOES_ON: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")  # a backslash that nothing protects, at the end
_SPECIAL: Final = frozenset("*?[]{},.\\" + MADE)
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
_CODED: Final = re.compile(
    r"x(\{[0-9A-Fa-f]+\}?|[0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})"
)
_BLANKS: Final = " \t"  # a shell knows no others; what else looks like one is a letter


@dataclass(frozen=True, slots=True)
class Word:
    """One word.

    Attributes:
        pattern: its letters; a backslash stands before those that have no special meaning any more, and :data:`MADE`
            where an expansion stood.
        names: the variables of its expansions.
        is_opaque: one of them is more than the value of a variable.
    """

    pattern: str
    names: frozenset[str] = frozenset()
    is_opaque: bool = False

    @property
    def text(self) -> str:
        """Its letters, without what is made."""
        return re.sub(r"\\(.)", r"\1", self.pattern.replace(MADE, ""), flags=re.DOTALL)

    @property
    def is_made(self) -> bool:
        """Whether a part of it is known only at run time."""
        return MADE in self.pattern


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command.

    Attributes:
        inputs: the texts that it reads: here-documents, and the word behind ``<<<``.
        targets: the files that it writes.
        sources: those that it reads by a redirection.
        is_fed: it reads what another command writes.
        is_filled: a part of what it reads is made, or comes out of another command's hands as a file.
    """

    words: tuple[Word, ...]
    inputs: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    is_fed: bool = False
    is_filled: bool = False


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
    """Read ``text``."""
    return _Reader(text).read()


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    commands: list[Simple] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    is_whole: bool = True
    _words: list[Word] = field(default_factory=list)
    _inputs: list[str] = field(default_factory=list)
    _targets: list[str] = field(default_factory=list)
    _sources: list[str] = field(default_factory=list)
    _letters: list[str] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)
    _documents: list[tuple[bool, str, str]] = field(default_factory=list)  # of the line: quoted or not, end, sign
    _in_word: bool = False
    _is_opaque: bool = False
    _is_quoted: bool = False
    _is_fed: bool = False
    _is_filled: bool = False
    _purpose: str = ""  # what the word is that comes: of a redirection, its sign
    _purpose_at: int = 0  # where that word may begin

    def read(self) -> Reading:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_command()
        return Reading(tuple(self.commands), tuple(self.inner), self.is_whole and not self._documents)

    def _step(self, char: str) -> None:
        self.at += 1
        match char:
            case "\n":
                self._end_command()
                self._read_documents()
            case "|":
                self._end_command()
                following = self.text[self.at : self.at + 1]
                self.at += following in ("|", "&") and following != ""
                self._is_fed = following != "|"
            case "(" if not self._in_word and self.text.startswith("(", self.at):
                self._end_command()
                self._calculation()
            case "(" if self._letters and self._letters[-1] in ("?", "*", "+", "@", "!"):
                self._made()  # a pattern of ``extglob``; or a subshell, and then its commands follow
                self._end_command()
            case ";" | "&" | "(" | ")":
                self._end_command()
            case "<" | ">":
                self._redirect(char)
            case "'":
                self._quoted(self._until("'"))
            case '"':
                self._double_quoted()
            case "\\":
                self._escaped()
            case "$":
                self._expansion(in_quotes=False)
            case "`":
                self._substituted(self._backticked())
            case "#" if not self._in_word:
                self.at = _found(self.text, "\n", self.at)
            case _ if char in _BLANKS:
                self._end_word()
            case _:
                self._add(char)

    # --- words ---

    def _add(self, pattern: str) -> None:
        self._in_word = True
        self._letters.append(pattern)

    def _quoted(self, letters: str) -> None:
        self._is_quoted = True
        self._add("".join(f"\\{char}" if char in _SPECIAL else char for char in letters))

    def _made(self, name: str | None = None) -> None:
        self._add(MADE)
        if name is None:
            self._is_opaque = True
        else:
            self._names.add(name)

    def _end_word(self) -> None:
        if self._in_word:
            word = Word("".join(self._letters), frozenset(self._names), self._is_opaque)
            match self._purpose:
                case "":
                    self._words.append(word)
                case "<<<":
                    self._inputs.append(word.text)
                    self._is_filled |= word.is_made
                case "<<" | "<<-":
                    self._documents.append((self._is_quoted, word.text, self._purpose))
                    if re.search(r"[$`]", self.text[self._purpose_at : self.at]):  # it stands for itself there
                        self.is_whole = False
                case _ if ">" in self._purpose:
                    self._targets.append(word.text)
                    self.is_whole &= "{" not in self._letters  # some shells multiply it out
                case _:
                    self._sources.append(word.text)
            self._purpose = ""
        self._letters, self._names, self._in_word, self._is_opaque, self._is_quoted = [], set(), False, False, False

    def _end_command(self) -> None:
        self._end_word()
        self._purpose = ""
        if self._words or self._inputs or self._targets or self._sources:
            redirected = (tuple(self._inputs), tuple(self._targets), tuple(self._sources))
            self.commands.append(Simple(tuple(self._words), *redirected, self._is_fed, self._is_filled))
            self._words, self._inputs, self._targets, self._sources = [], [], [], []
            self._is_fed = self._is_filled = False

    def _calculation(self) -> None:
        """``((`` begins one, or two subshells; it is read as the latter where both would read the same."""
        near = self.text[self.at : self.at + _LINE].partition("\n")[0].partition("))")[0]
        if len(near) == _LINE or re.search(r"(?:^|\s)#|<<|['\"`\\]", near):
            self.is_whole = False

    def _redirect(self, char: str) -> None:
        if char == "<" and ("[" in self._letters or self.text.startswith("\\\n", self.at)):
            self.is_whole = False  # a shift in the index of an array; or a sign that is cut in two
        if _FILE_NUMBER.fullmatch("".join(self._letters)):
            self._letters, self._in_word = [], False
        self._end_word()
        start = self.at - 1
        while self.at < len(self.text) and self.text[self.at] in "<>&|":
            self.at += 1
        sign = self.text[start : self.at]
        if sign == "<<" and self.text[self.at : self.at + 1] == "-":
            self.at += 1
            sign = "<<-"
        if self.text[self.at : self.at + 1] == "(":  # <(...) is a command of its own
            self._is_filled = True
        else:
            self._purpose, self._purpose_at = sign, self.at

    def _read_documents(self) -> None:
        """The here-documents whose line has ended. Source: POSIX 2.7.4."""
        waiting, self._documents = self._documents, []
        for is_quoted, end, sign in waiting:
            lines: list[str] = []
            while self.at < len(self.text):
                line, self.at = self._line()
                while not is_quoted and self.at < len(self.text) and _GOES_ON.search(line):
                    more, self.at = self._line()
                    line = line[:-1] + more
                if (line.lstrip("\t") if sign == "<<-" else line) == end:
                    break
                lines.append(line)
            else:
                if end:
                    self.is_whole = False
            body = "\n".join(lines)
            if self.commands:
                last = self.commands[-1]
                made = () if is_quoted else substituted(body)
                self.inner.extend(made)
                is_filled = last.is_filled or bool(made) or (not is_quoted and "$" in body)
                self.commands[-1] = replace(last, inputs=(*last.inputs, body), is_filled=is_filled)

    def _line(self) -> tuple[str, int]:
        end = _found(self.text, "\n", self.at)
        return self.text[self.at : end], end + 1

    # --- quoting ---

    def _until(self, end: str) -> str:
        found = self.text.find(end, self.at)
        if found < 0:
            self.is_whole = False
            found = len(self.text)
        inside, self.at = self.text[self.at : found], found + 1
        return inside

    def _backticked(self, *, in_quotes: bool = False) -> str:
        """Up to the next backtick that no backslash protects; inside, such backslashes are taken away."""
        protected = ("`", "\\", "$", '"') if in_quotes else ("`", "\\", "$")
        letters: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "`":
                return "".join(letters)
            if char == "\\" and self.text[self.at : self.at + 1] in protected:
                char = self.text[self.at]
                self.at += 1
            letters.append(char)
        self.is_whole = False
        return "".join(letters)

    def _escaped(self) -> None:
        escaped = self.text[self.at : self.at + 1]
        self.at += 1
        if escaped != "\n":  # a line that goes on
            self._quoted(escaped)

    def _double_quoted(self) -> None:
        self._quoted("")
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
                self._substituted(self._backticked(in_quotes=True))
            else:
                self._quoted(char)
        self.is_whole = False

    # --- expansions ---

    def _expansion(self, *, in_quotes: bool) -> None:
        following = self.text[self.at : self.at + 1]
        if following == "[" or self.text.startswith("\\\n", self.at):
            self.is_whole = False  # an old form of arithmetic; or a sign that is cut in two
        if following == "(":
            self.at += 1
            self._substituted(self._bracketed("(", ")", quotes=True))
        elif following == "{":
            self.at += 1
            inside = self._bracketed("{", "}", quotes=not in_quotes)
            if inside.endswith("@P") or (in_quotes and "'" in inside):
                self.is_whole = False  # a prompt runs what it holds; and whether that is a quote, depends
            if _PLAIN.fullmatch(inside) or not self.is_whole:
                self._made(inside if self.is_whole else None)
                return
            self.inner.append(inside.partition("-")[2])  # ${x:-default} may be a command
            self.inner.extend(substituted(inside))
            self._made()
        elif following == "'" and not in_quotes:
            self.at += 1
            self._ansi_quoted()
        elif following == '"' and not in_quotes:
            return  # a translated text; its quote comes next
        elif name := _NAME.match(self.text, self.at):
            self.at = name.end()
            self._made(name[0] if _PLAIN.fullmatch(name[0]) else None)
        else:
            self._add("$")

    def _substituted(self, command: str) -> None:
        if _CASE.search(command):  # its brackets do not pair
            self.is_whole = False
        self.inner.append(command)
        self._made()

    def _bracketed(self, opening: str, closing: str, *, quotes: bool) -> str:
        """Up to the bracket that closes; those in quotes and comments do not count.

        Args:
            quotes: single quotes are some.
        """
        start, depth = self.at, 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            match char:
                case "\\":
                    self.at += 1
                case "'" | '"' if quotes or char == '"':
                    self._skip_quoted(char)
                case "#" if opening == "(" and self.text[self.at - 2] in (*_BLANKS, "\n"):
                    self.at = _found(self.text, "\n", self.at)
                case _ if char == opening:
                    depth += 1
                case _ if char == closing:
                    depth -= 1
                    if depth == 0:
                        return self.text[start : self.at - 1]
        self.is_whole = False
        return self.text[start:]

    def _skip_quoted(self, quote: str) -> None:
        while self.at < len(self.text) and self.text[self.at] != quote:
            self.at += 1 + (quote == '"' and self.text[self.at] == "\\")
        self.at += 1

    def _ansi_quoted(self) -> None:
        self._quoted("")
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "'":
                return
            if char == "\\" and (coded := _CODED.match(self.text, self.at)):
                self.at = coded.end()
                self._quoted(_coded(coded))
            elif char == "\\":
                escaped = self.text[self.at : self.at + 1]
                self.at += 1
                if escaped == "'":  # the end, for a shell that does not know this form of quoting
                    self.is_whole = False
                if escaped == "c":  # a control character, which no name has
                    self.at += 1
                self._quoted(_ESCAPES.get(escaped, escaped))
            else:
                self._quoted(char)
        self.is_whole = False


def decoded(text: str) -> str:
    """A text as ``echo -e``, ``printf`` and ``$'...'`` write it."""
    return re.sub(
        rf"\\(?:{_CODED.pattern}|(.))",
        lambda found: _coded(found) if found[5] is None else _ESCAPES.get(found[5], found[5]),
        text,
        flags=re.DOTALL,
    )


def substituted(text: str) -> list[str]:
    """The commands that stand in a text in which no quote counts."""
    reader = _Reader(text)
    while reader.at < len(text):
        char = text[reader.at]
        reader.at += 1
        if char == "\\":
            reader.at += 1
        elif char == "$":
            reader._expansion(in_quotes=True)
        elif char == "`":
            reader._substituted(reader._backticked())
    return reader.inner if reader.is_whole else [*reader.inner, text]


def _coded(found: re.Match[str]) -> str:
    number = int(found[4], 8) if found[4] else int((found[1] or found[2] or found[3]).strip("{}"), 16)
    number &= 0xFF if found[1] else 0xFFFFFFFF  # bash takes the last byte of any number of digits
    return chr(number) if number <= 0x10FFFF else ""


def _found(text: str, what: str, start: int) -> int:
    found = text.find(what, start)
    return len(text) if found < 0 else found
