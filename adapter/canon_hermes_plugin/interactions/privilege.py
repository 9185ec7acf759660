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

And before all of them: is such a name spelled so that nobody finds it (shell_spelling.py)?

The judge of this module is a real shell: a test runs hundreds of commands under one and looks whether sudo ran.

Source: canon-adapter R9.10, R9.12; D19; docs/decisions/0052, 0083.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from canon_hermes_plugin.interactions.shell_heads import (
    ASSIGNMENT,
    LONGEST_CHAIN,
    behind,
    ends_open,
    files_made,
    head_of,
    is_odd,
    marks_of,
    program_of,
    programs_of,
    replaced,
    rest_of_braces,
    speaks_of,
    unnumbered,
    unwrapped,
    written,
)
from canon_hermes_plugin.interactions.shell_patterns import TooMany, braces_out, may_name, text_of
from canon_hermes_plugin.interactions.shell_programs import (
    CODE,
    EVALUATING,
    LITERAL,
    PRIVILEGED,
    PROMPTS,
    READERS,
    RESERVED,
    RUNNING_OPTIONS,
    SHELLS,
    STARTUP,
    STORING,
    UNASKED,
    WRAPPERS,
)
from canon_hermes_plugin.interactions.shell_spelling import SpelledApart, named_in
from canon_hermes_plugin.interactions.shell_words import (
    MADE,
    Reading,
    Simple,
    Word,
    decoded,
    read_commands,
    substituted,
)

__all__ = ["needs_owner"]

# The bare word counts wherever it stands, the table of R9.12.
_SUDO: Final = re.compile(r"(?<![\w-])(?:[A-Za-z0-9_.-]+/)*sudo(?=$|[\s;&|()])", re.IGNORECASE)
_NAMES: Final = "|".join(sorted(PRIVILEGED))
_QUOTED_ARGUMENT: Final = re.compile(  # the first of a list of arguments in a program's source: ["sudo", "id"]
    rf"""["'](?:[A-Za-z0-9_.-]*/)*(?:{_NAMES})["']\s*,""", re.IGNORECASE
)
_SPELLED: Final = SpelledApart(PRIVILEGED)
_SET_OFF: Final = named_in(PRIVILEGED)
_IN_SOURCE: Final = re.compile(
    rf"""(?:^|[\s"'`/!@(\[;&|=]|[\d$/}};]e|(?<!\w)[@+-])(?:{_NAMES})(?=$|[\s"'`,;&|)\]])""", re.IGNORECASE
)
_ADMINISTRATOR: Final = re.compile(r"administrator\W+privileges", re.IGNORECASE)  # how AppleScript asks for them
_STRING: Final = re.compile(r"""\"(?P<double>[^"]*)"|'(?P<single>[^']*)'""")
_STARTS: Final = re.compile(r"system|exec|spawn|popen|subprocess|getline|`|\|", re.IGNORECASE)  # in another language
_SUBSTITUTION: Final = re.compile(r"\$[({]|`")
_INPUT: Final = re.compile(  # a file that is the input, or a text in which another shell may read that
    rf"/dev/stdin|/fd/0|(?:^|[\s;&|({{`])(?:{'|'.join(sorted(map(re.escape, SHELLS)))})(?:$|[\s;&|)}}])"
)
_SHELL_SIGN: Final = re.compile(r"[$`\\{\[*?'\"|]")  # without one of these a text runs what it names
MOST_READ: Final = 40_000  # ours: letters, of the command and of the texts in it; about a second at worst
MOST_MADE: Final = 64  # ours: files that one line makes
DEPTH: Final = 8  # ours: deeper than that nobody writes by hand


def needs_owner(command: str) -> bool:
    """Whether the command, or anything it hands to a shell, would run a program of another user.

    What takes more reading than :data:`MOST_READ` letters is the owner's unread: it is asked for on the gateway's loop.
    """
    try:
        return _Judge(command).needs_owner(command)
    except (TooMany, _TooLong, RecursionError):  # the last one: braces upon braces
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
        if depth > DEPTH or _SUDO.search(command) or _QUOTED_ARGUMENT.search(command) or _SPELLED.is_in(command):
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
        self._named: dict[Word, bool] = {}
        self._commands = reading.commands
        self._heads = [head_of(simple.words) for simple in reading.commands]
        self._made_by = [files_made(simple, head) for simple, head in zip(self._commands, self._heads, strict=True)]
        self._made_files = frozenset[str]().union(*self._made_by)

    def needs_owner(self) -> bool:
        if any(self._is_privileged(simple.words) for simple in self._commands):
            return True
        if self._gives_source() and self._is_source_of_privileged(self._text):
            return True
        if self._stores_privileged():
            return True
        return self._runs_what_it_says() and (self._is_hidden() or self._says_privileged())

    def _inner(self, text: str, *, is_prose: bool = False) -> bool:
        """The same question about a text in this one."""
        return self._judge.needs_owner(text, depth=self._depth + 1, is_prose=is_prose)

    # --- 1, 3, 4, 5: a simple command ---

    def _is_privileged(self, words: Sequence[Word], *, chain: int = 0) -> bool:
        if chain > LONGEST_CHAIN:
            return True
        # What a variable holds may be run later. Of a chain of wrappers, its beginning has looked at all words.
        if not chain and any(self._holds_privileged(word) for word in words if ASSIGNMENT.fullmatch(word.text)):
            return True
        words = head_of(words)
        if not words:
            return False
        first, arguments = words[0], [*rest_of_braces(words[0]), *words[1:]]
        if self._may_be_privileged(first):
            return True
        name = program_of(first)
        if name in RESERVED:  # behind the name of a function
            return self._is_privileged(words[1:], chain=chain + 1)
        if name in WRAPPERS and self._wraps_privileged(name, arguments, chain):
            return True
        if name in SHELLS:
            return self._shell_runs_privileged(name, arguments)
        if (name in EVALUATING or not name) and any(self._substitutes_privileged(one) for one in words):
            return True
        if name in RUNNING_OPTIONS and self._runs_an_option(RUNNING_OPTIONS[name], arguments):
            return True
        if name in READERS:
            return False
        if name == "find":
            arguments = behind(arguments, ("-exec", "-execdir", "-ok", "-okdir"))
            return self._is_privileged(arguments) or any(self._names_privileged(one) for one in arguments)
        if name in CODE or unnumbered(name) in CODE:
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
        if word not in self._named:
            self._named[word] = self._names_one(word)
        return self._named[word]

    def _names_one(self, word: Word) -> bool:
        for pattern in braces_out(word.pattern):
            text = text_of(pattern)
            for part in _parts(text):
                if part.rpartition("/")[2].lower() in PRIVILEGED:
                    return True
                if any(map(str.isspace, part)) and self._inner(part.lstrip("!"), is_prose=True):
                    return True
            if not any(map(str.isspace, text)) and (_SET_OFF.search(text) or self._starts_privileged(text)):
                return True
            if "/" in pattern and may_name(pattern, PRIVILEGED) and (MADE not in pattern or _has_letters(pattern)):
                return True
        return self._substitutes_privileged(word)

    def _starts_privileged(self, text: str) -> bool:
        """Whether an argument of one word starts a command behind a sign: ``alias.x=!$A`` of git, ``exec=/bin/d*s``."""
        _, shriek, command = text.rpartition("!")
        if shriek and _SHELL_SIGN.search(command):
            return self._inner(command)
        words = [word for simple in read_commands(text.rpartition("=")[2]).commands[:1] for word in simple.words[:1]]
        patterns = [pattern for word in words for pattern in braces_out(word.pattern) if "/" in pattern]
        return any(_has_letters(pattern) and may_name(pattern, PRIVILEGED) for pattern in patterns)

    def _substitutes_privileged(self, word: Word) -> bool:
        """Whether a word holds substitutions that a quote protects from this shell, and from nothing behind it."""
        return any(self._inner(one) for one in substituted(word.text)) if _SUBSTITUTION.search(word.text) else False

    def _runs_an_option(self, options: tuple[str, ...], arguments: Sequence[Word]) -> bool:
        """Whether the value of an option, which its program runs, names one of other rights."""
        return any(
            one.text.startswith(options) and (self._names_privileged(one) or (two and self._names_privileged(two)))
            for one, two in zip_longest(arguments, arguments[1:])
        )

    def _holds_privileged(self, word: Word) -> bool:
        """Whether the value of an assignment does."""
        assigned = ASSIGNMENT.fullmatch(word.text)
        value = assigned[2] if assigned is not None else ""
        return value.rpartition("/")[2].lower() in PRIVILEGED or self._inner(value)

    def _wraps_privileged(self, name: str, arguments: Sequence[Word], chain: int) -> bool:
        """Whether what a wrapper runs is of other rights; any of its words may be it, when options are not known."""
        if not chain and any(self._names_privileged(one) for one in arguments):
            return True
        rest = unwrapped(name, arguments)
        if name in ("xargs", "parallel"):
            if ends_open(rest) and (rest or name == "parallel"):
                return True
            rest = replaced(marks_of(name, arguments), rest)
        return self._is_privileged(rest, chain=chain + 1)

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
        return any(sign.search(text) for sign in (_IN_SOURCE, _ADMINISTRATOR)) or any(
            self._inner(one, is_prose=True) for one in strings if _SHELL_SIGN.search(one)
        )

    def _is_source_half_made(self, word: Word) -> bool:
        """Whether a program that starts others is in part what the command makes, so that nobody can read which."""
        return _STARTS.search(word.text) is not None and self._is_made_here(word)

    def _gives_source(self) -> bool:
        """Whether a program of another language reads its source here."""
        pairs = zip(self._commands, self._heads, strict=True)
        return any(programs_of(head) & CODE and (one.is_fed or one.inputs or one.is_filled) for one, head in pairs)

    # --- 2: texts that are run ---

    def _runs_what_it_says(self) -> bool:
        """Whether a command of the line runs a text that another one writes, or that it is given."""
        reads = any(programs_of(head) & (SHELLS | CODE | {"xargs", "parallel"}) for head in self._heads)
        return reads or self._runs_what_was_made()

    def _runs_what_was_made(self) -> bool:
        """Whether a command runs a file that another one makes, as far as its name tells."""
        if len(self._made_files) > MOST_MADE:
            return True
        return bool(self._made_files) and any(
            self._runs_one_of(self._made_files - own, simple, head)
            for own, simple, head in zip(self._made_by, self._commands, self._heads, strict=True)
        )

    def _runs_one_of(self, made: frozenset[str], simple: Simple, head: Sequence[Word]) -> bool:
        programs = programs_of(head)
        started = [
            found[2] for word in simple.words if (found := ASSIGNMENT.fullmatch(word.text)) and found[1] in STARTUP
        ]
        names = {
            text.rpartition("/")[2].lower()
            for text in (*started, *(simple.sources if programs & {*SHELLS, "exec"} else ()))
        }
        names |= {name for program in programs for name in UNASKED.get(program, ())}
        is_wide = programs & {*SHELLS, *WRAPPERS, "find"}
        ran = [pattern for word in (head if is_wide else head[:1]) for pattern in braces_out(word.pattern)]
        if not made.isdisjoint(names) or any(may_name(pattern, made) for pattern in ran):
            return True
        return not programs & READERS and any(speaks_of(made, word.text) for word in head[1:])

    def _is_hidden(self) -> bool:
        """Whether what is run is made by something else than a text that stands here."""
        pairs = list(zip(self._commands, self._heads, strict=True))
        readers = [(one, head) for one, head in pairs if programs_of(head) & (SHELLS - {"ssh"})]
        if any(one.is_filled for one, _ in readers):
            return True
        others = [head for one, head in pairs if head and not programs_of(head) & SHELLS]
        is_literal = all(programs_of(head) <= LITERAL and not is_odd(head) for head in others)
        has_pipe = any(one.is_fed for one, _ in pairs)
        if not is_literal and any(one.is_fed and self._starts_others(head) for one, head in pairs):
            return True
        if has_pipe and any(self._takes_commands(one, head) for one, head in readers):
            return not is_literal or any(word.is_made for head in others for word in head)
        return self._runs_what_was_made() and (not is_literal or any(word.is_made for head in others for word in head))

    @staticmethod
    def _starts_others(head: Sequence[Word]) -> bool:
        """Whether a program of another language starts others, which may be what it reads."""
        return bool(programs_of(head) & CODE) and any(_STARTS.search(word.text) for word in head[1:])

    @staticmethod
    def _takes_commands(simple: Simple, head: Sequence[Word]) -> bool:
        """Whether a shell reads its commands from its input: it has no script, or says that it is the input."""
        at = next((at for at, word in enumerate(head) if program_of(word) in SHELLS), 0)
        scripts = [word.text for word in head[at + 1 :] if not word.text.startswith("-") and word.text not in SHELLS]
        return not scripts or any(_INPUT.search(one) for one in scripts)

    def _stores_privileged(self) -> bool:
        """Whether a variable gets a text whose substitutions run one: arithmetic and prompts look into variables."""
        storing = [head for head in self._heads if programs_of(head) & (STORING | {"printf"})]
        if any(word.text in PROMPTS | STARTUP for head in storing for word in head[1:]):
            return True
        keeps = any(programs_of(head) & STORING for head in storing) or any(simple.targets for simple in self._commands)
        return keeps and any(
            self._inner(each) for text in self._said() if _SUBSTITUTION.search(text) for each in substituted(text)
        )

    def _said(self) -> set[str]:
        """The texts that stand in the line, as they are and as they are written."""
        said: list[str] = []
        whole = ""
        for simple, head in zip(self._commands, self._heads, strict=True):
            said += [*simple.inputs, " ".join(word.text for word in head[1:]), *(word.text for word in head[1:])]
            whole += written(head)
        return {each for text in [*said, whole] for each in (text, decoded(text)) if each}

    def _says_privileged(self) -> bool:
        """Whether a text that stands in the line would run a program of other rights."""
        texts = self._said()
        is_prose = not any(simple.is_fed or simple.inputs for simple in self._commands)
        return any(self._inner(text, is_prose=is_prose) for text in texts)


def _gives_value(text: str, variable: str) -> bool:
    """Whether a variable stands in a text in another way than to be read."""
    return re.search(rf"(?<![\w$])(?<!\$\{{){variable}(?!\w)", text) is not None


def _parts(text: str) -> set[str]:
    """What of an argument may be a command of its own: all of it, the value of an option, what follows a sign."""
    letters = range(2, 5) if re.match(r"-[^-]", text) else range(0)
    parts = {text, text.partition("=")[2], text.rpartition("=")[2], text.rpartition("!")[2], text.rpartition("::")[2]}
    return {part for part in parts | {text[at:] for at in letters} if part}


def _has_letters(pattern: str) -> bool:
    """Whether the last part of a pattern is more than a sign for anything."""
    leaf = pattern.rpartition("/")[2]
    return MADE not in leaf and len(re.findall(r"\w", re.sub(r"\[[^]]*\]", "", leaf))) > 1
