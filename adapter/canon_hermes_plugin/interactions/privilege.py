"""Whether a command would run with somebody else's rights: then only the owner may allow it. Pure.

A search for the word ``sudo`` is not enough: a shell takes quotes, backslashes and concatenation away before it looks
for a program, multiplies braces out and matches patterns, and sudo has relatives. So the command is read as a shell
would read it, far enough to know which program each simple command runs, also inside substitutions and the arguments of
other shells. Where that is made at run time, or the text is no whole command, the answer is yes: asking the owner costs
a moment, asking the wrong person more.

Five questions, for each simple command:

1. Which program is it, once what stands in front of it is taken away: words of the grammar, assignments, wrappers?
2. Does it run a text that stands in the line: a string for another shell, a line that is piped into one, a file that
   this very command writes?
3. Is any of that made from what nobody can see here: a substitution, a variable that the command itself has set?
4. Is a program of other rights named among the arguments of something that may run its arguments?
5. Is one named in the source of another language?

The judge of this module is a real shell: a test runs hundreds of commands under one and looks whether sudo ran.

Source: canon-adapter R9.10, R9.12; D19; docs/decisions/0052.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from canon_hermes_plugin.interactions.shell_patterns import TooMany, braces_out, may_name, text_of
from canon_hermes_plugin.interactions.shell_programs import (
    CODE,
    COPIES,
    LITERAL,
    PRIVILEGED,
    READERS,
    RESERVED,
    SHELLS,
    WRAPPERS,
)
from canon_hermes_plugin.interactions.shell_words import MADE, Reading, Simple, Word, decoded, read_commands

__all__ = ["needs_owner"]

# The bare word counts wherever it stands, the table of R9.12.
_SUDO: Final = re.compile(r"(?<![\w-])(?:[A-Za-z0-9_.-]+/)*sudo(?=$|[\s;&|()])", re.IGNORECASE)
_NAMES: Final = "|".join(sorted(PRIVILEGED))
_QUOTED_ARGUMENT: Final = re.compile(  # the first of a list of arguments in a program's source: ["sudo", "id"]
    rf"""["'](?:[A-Za-z0-9_.-]*/)*(?:{_NAMES})["']\s*,""", re.IGNORECASE
)
_IN_SOURCE: Final = re.compile(rf"""(?:^|[\s"'`/!(\[;&|=])(?:{_NAMES})(?=$|[\s"'`,;&|)\]])""", re.IGNORECASE)
_STRING: Final = re.compile(r"""\"(?P<double>[^"]*)"|'(?P<single>[^']*)'""")
_STARTS: Final = re.compile(r"system|exec|spawn|popen|subprocess|getline|`|\|", re.IGNORECASE)  # in another language
_SHELL_SIGN: Final = re.compile(r"[$`\\{\[*?'\"]")  # without one of these a text runs what it names
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=(.*)", re.DOTALL)
_SUFFIX: Final = re.compile(r"[0-9.]+$")
MOST_ROUNDS: Final = 64  # ours: how often ``printf`` begins its format anew
MOST_READ: Final = 40_000  # ours: letters, of the command and of the texts in it; half a second at worst
DEPTH: Final = 8  # ours: deeper than that nobody writes by hand


def needs_owner(command: str) -> bool:
    """Whether the command, or anything it hands to a shell, would run a program of another user.

    What takes more reading than :data:`MOST_READ` letters is the owner's unread: it is asked for on the gateway's loop.
    """
    try:
        return _Judge(command).needs_owner(command)
    except (TooMany, _TooLong):
        return True


class _TooLong(Exception):
    """It was read for long enough."""


class _Judge:
    """Reads one command, and the texts in it, within a bound."""

    def __init__(self, whole: str) -> None:
        self._left = MOST_READ
        self._whole = whole
        self._set: dict[str, bool] = {}

    def sets(self, variable: str) -> bool:
        """Whether the command gives a variable its value anywhere: what stands in it may hand the value on."""
        if variable not in self._set:
            self._set[variable] = _gives_value(self._whole, variable)
        return self._set[variable]

    def needs_owner(self, command: str, *, depth: int = 0, is_prose: bool = False) -> bool:
        """Likewise, for a text of the command.

        Args:
            depth: how many shells it is inside of.
            is_prose: it may be no command at all, so a name in the middle of it is a word.
        """
        self._left -= len(command) + 1
        if self._left < 0:
            raise _TooLong
        if depth > DEPTH or _SUDO.search(command) or _QUOTED_ARGUMENT.search(command):
            return True
        reading = read_commands(command)
        if not reading.is_whole:
            return True
        if any(self.needs_owner(inner, depth=depth + 1) for inner in reading.inner):
            return True
        return _Line(self, command, reading, depth, is_prose=is_prose).needs_owner()


class _Line:
    """One text, whose commands may work together."""

    def __init__(self, judge: _Judge, text: str, reading: Reading, depth: int, *, is_prose: bool) -> None:
        self._judge = judge
        self._is_prose = is_prose
        self._text = text
        self._depth = depth
        self._set_here: dict[str, bool] = {}
        self._commands = reading.commands
        self._heads = [_head(simple.words) for simple in reading.commands]
        self._targets = {target.rpartition("/")[2] for simple in reading.commands for target in simple.targets}

    def needs_owner(self) -> bool:
        if any(self._is_privileged(simple.words) for simple in self._commands):
            return True
        if self._gives_source() and self._is_source_of_privileged(self._text):
            return True
        return self._runs_what_it_says() and (self._is_hidden() or self._says_privileged())

    def _inner(self, text: str, *, is_prose: bool = False) -> bool:
        """The same question about a text in this one."""
        return self._judge.needs_owner(text, depth=self._depth + 1, is_prose=is_prose)

    # --- 1, 3, 4, 5: a simple command ---

    def _is_privileged(self, words: Sequence[Word]) -> bool:
        if any(self._holds_privileged(word) for word in words if _ASSIGNMENT.fullmatch(word.text)):
            return True  # what a variable holds may be run later
        words = _head(words)
        if not words:
            return False
        first, arguments = words[0], [*_rest_of_braces(words[0]), *words[1:]]
        if self._may_be_privileged(first):
            return True
        name = _program(first)
        if name in RESERVED:  # behind the name of a function
            return self._is_privileged(words[1:])
        if name in WRAPPERS and self._wraps_privileged(name, arguments):
            return True
        if name in SHELLS:
            return self._shell_runs_privileged(name, arguments)
        if name in READERS:
            return False
        if name == "find":
            arguments = _behind(arguments, ("-exec", "-execdir", "-ok", "-okdir"))
            return self._is_privileged(arguments) or any(self._names_privileged(one) for one in arguments)
        if name in CODE or _SUFFIX.sub("", name) in CODE:
            return any(self._is_source_of_privileged(one.text) or self._is_source_half_made(one) for one in arguments)
        return not self._is_prose and any(self._names_privileged(one) for one in arguments)

    def _may_be_privileged(self, word: Word) -> bool:
        """Whether a word in the place of a program may be one of other rights."""
        first = braces_out(word.pattern)[0]
        leaf = first.rpartition("/")[2]
        if MADE in leaf or "{}" in text_of(first):  # nobody can tell what it will be
            return True
        if may_name(first, PRIVILEGED):
            return True
        return MADE in first and self._is_made_here(word)

    def _names_privileged(self, word: Word) -> bool:
        """Whether an argument names a program of other rights, or holds a command that runs one."""
        for pattern in braces_out(word.pattern):
            text = text_of(pattern)
            for part in {text, text.partition("=")[2]} - {""}:
                if part.rpartition("/")[2].lower() in PRIVILEGED:
                    return True
                if any(map(str.isspace, part)) and self._inner(part.lstrip("!"), is_prose=True):
                    return True
            if MADE not in pattern and may_name(pattern, PRIVILEGED) and "/" in pattern:
                return True
        return False

    def _holds_privileged(self, word: Word) -> bool:
        """Whether the value of an assignment does."""
        assigned = _ASSIGNMENT.fullmatch(word.text)
        value = assigned[2] if assigned is not None else ""
        return value.rpartition("/")[2].lower() in PRIVILEGED or self._inner(value)

    def _wraps_privileged(self, name: str, arguments: Sequence[Word]) -> bool:
        """Whether what a wrapper runs is of other rights; any of its words may be it, when options are not known."""
        if any(self._names_privileged(one) for one in arguments):
            return True
        options, skipped = WRAPPERS[name]
        rest = list(arguments)
        while rest and (rest[0].text.startswith("-") or _ASSIGNMENT.fullmatch(rest[0].text) or skipped):
            word = rest.pop(0)
            if word.text in options and rest:
                rest.pop(0)
            elif not word.text.startswith("-") and not _ASSIGNMENT.fullmatch(word.text):
                skipped -= 1
        if name == "xargs" and (_replaces(arguments, rest) or (rest and _ends_open(rest))):
            return True
        return self._is_privileged(rest)

    def _shell_runs_privileged(self, name: str, arguments: Sequence[Word]) -> bool:
        runs_text = name in ("eval", "trap") or any(re.fullmatch(r"-\w*c", one.text) for one in arguments)
        if runs_text or name not in ("source", "."):
            texts = [one.text for one in arguments] + [" ".join(one.text for one in arguments)]
            if any(text_of_one and self._inner(text_of_one) for text_of_one in texts):
                return True
        if not runs_text:  # a script; its name is enough, wherever it comes from
            return any(self._is_made_here(one) for one in arguments)
        return any(self._is_made_here(one) or one.pattern.startswith(MADE) for one in arguments)

    def _is_made_here(self, word: Word) -> bool:
        """Whether a word holds what the command itself makes, and nobody can read."""
        return word.is_opaque or any(self._is_set_here(name) for name in word.names)

    def _is_set_here(self, variable: str) -> bool:
        """Whether the command itself gives a variable its value, in whatever way."""
        if variable not in self._set_here:
            self._set_here[variable] = self._judge.sets(variable) or _gives_value(self._text, variable)
        return self._set_here[variable]

    def _is_source_of_privileged(self, text: str) -> bool:
        """Whether a program in another language names one, or holds a string that runs one."""
        strings = [one["double"] or one["single"] or "" for one in _STRING.finditer(text)]
        return _IN_SOURCE.search(text) is not None or any(
            self._inner(one, is_prose=True) for one in strings if _SHELL_SIGN.search(one)
        )

    def _is_source_half_made(self, word: Word) -> bool:
        """Whether a program that starts others is in part what the command makes, so that nobody can read which."""
        return _STARTS.search(word.text) is not None and self._is_made_here(word)

    def _gives_source(self) -> bool:
        """Whether a program of another language reads its source here."""
        pairs = zip(self._commands, self._heads, strict=True)
        return any(_programs(head) & CODE and (one.is_fed or one.inputs or one.is_filled) for one, head in pairs)

    # --- 2: texts that are run ---

    def _runs_what_it_says(self) -> bool:
        """Whether a command of the line runs a text that another one writes, or that it is given."""
        return any(self._reads_commands(simple, head) for simple, head in zip(self._commands, self._heads, strict=True))

    def _reads_commands(self, simple: Simple, head: Sequence[Word]) -> bool:
        programs = _programs(head)
        if programs & (SHELLS | CODE | {"xargs", "parallel"}):
            return True
        return any(word.text.rpartition("/")[2] in self._targets for word in head[:1])

    def _is_hidden(self) -> bool:
        """Whether what is run is made by something else than a text that stands here."""
        pairs = list(zip(self._commands, self._heads, strict=True))
        readers = [(one, head) for one, head in pairs if _programs(head) & (SHELLS - {"ssh"})]
        if any(one.is_filled for one, _ in readers):
            return True
        others = [head for one, head in pairs if head and not _programs(head) & SHELLS]
        is_literal = all(_programs(head) <= LITERAL for head in others)
        has_pipe = any(one.is_fed for one, _ in pairs)
        if has_pipe and any(self._takes_commands(one, head) for one, head in readers):
            return not is_literal or any(word.is_made for head in others for word in head)
        made_here = self._targets | {
            word.text.rpartition("/")[2] for head in others if _programs(head) & COPIES for word in head[1:]
        }
        run = {word.text.rpartition("/")[2] for _, head in readers for word in head[1:]}
        run |= {head[0].text.rpartition("/")[2] for head in others if head}
        writes = made_here & run
        return bool(writes) and (not is_literal or any(word.is_made for head in others for word in head))

    @staticmethod
    def _takes_commands(simple: Simple, head: Sequence[Word]) -> bool:
        """Whether a shell reads its commands from its input: it has no script, or says that it is the input."""
        scripts = [word.text for word in head[1:] if not word.text.startswith("-") and word.text not in SHELLS]
        return not scripts or any(one in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0") for one in scripts)

    def _says_privileged(self) -> bool:
        """Whether a text that stands in the line would run a program of other rights."""
        said: list[str] = []
        whole = ""
        for simple, head in zip(self._commands, self._heads, strict=True):
            said += [*simple.inputs, " ".join(word.text for word in head[1:]), *(word.text for word in head[1:])]
            whole += _written(head)
        texts = {each for text in [*said, whole] for each in (text, decoded(text)) if each}
        is_prose = not any(simple.is_fed or simple.inputs for simple in self._commands)
        return any(self._inner(text, is_prose=is_prose) for text in texts)


def _gives_value(text: str, variable: str) -> bool:
    """Whether a variable stands in a text in another way than to be read."""
    return re.search(rf"(?<![\w$])(?<!\$\{{){variable}(?!\w)", text) is not None


def _written(head: Sequence[Word]) -> str:
    """What ``echo`` or ``printf`` writes."""
    words = [word.text for word in head]
    if words[:1] == ["echo"]:
        while len(words) > 1 and re.fullmatch(r"-[neE]+", words[1]):
            words.pop(1)
        return " ".join(words[1:]) + ("" if any(re.fullmatch(r"-\w*n\w*", word.text) for word in head[1:]) else "\n")
    if words[:1] != ["printf"] or len(words) < 2:
        return ""
    form, arguments, written = decoded(words[1]), words[2:], ""
    for _ in range(MOST_ROUNDS):
        written += re.sub(r"%[-\d.]*[sbq]", lambda _: arguments.pop(0) if arguments else "", form)
        if not arguments or "%" not in form:
            break
    return written


def _head(words: Sequence[Word]) -> Sequence[Word]:
    """A simple command without what the grammar puts in front of it."""
    at = 0
    while at < len(words):
        text = words[at].text
        if words[at].pattern == "function":
            at += 2
        elif (words[at].pattern in RESERVED and not words[at].is_made) or _ASSIGNMENT.fullmatch(text):
            at += 1
        else:
            break
    return words[at:]


def _programs(head: Sequence[Word]) -> set[str]:
    """The programs that a command may run: its own, and those behind wrappers."""
    if not head:
        return set()
    first = _program(head[0])
    if first not in WRAPPERS and first != "find":
        return {first, _SUFFIX.sub("", first)} - {""} if _SUFFIX.sub("", first) in CODE else {first}
    behind = {_program(word) for word in head[1:]} & (SHELLS | CODE | set(WRAPPERS))
    return {first} | (behind - {"."})  # a folder, where it is no command


def _program(word: Word) -> str:
    """The name without its folder; names are the same in any case on some file systems."""
    return text_of(braces_out(word.pattern)[0]).rpartition("/")[2].lower()


def _rest_of_braces(word: Word) -> list[Word]:
    """The words that braces make of the first one, behind it."""
    return [Word(pattern, word.names, word.is_opaque) for pattern in braces_out(word.pattern)[1:]]


def _behind(words: Sequence[Word], options: Sequence[str]) -> list[Word]:
    found = [at for at, word in enumerate(words) if word.text in options]
    return list(words[found[0] + 1 :]) if found else []


def _replaces(arguments: Sequence[Word], rest: Sequence[Word]) -> bool:
    """Whether ``xargs`` puts what it reads in the place of the program."""
    marks = [two.text for one, two in pairwise(arguments) if one.text == "-I"]
    marks += [one.text[2:] or "{}" for one in arguments if re.match(r"-[Ii]", one.text) and one.text != "-I"]
    return bool(rest) and any(mark and mark in rest[0].text for mark in marks)


def _ends_open(rest: Sequence[Word]) -> bool:
    """Whether a chain of wrappers ends without a program, so that the next word read is one."""
    return all(_program(word) in WRAPPERS or _program(word) in SHELLS or word.text.startswith("-") for word in rest)
