"""What a simple command is for, by its words alone: its program, what wrappers run, what it writes and makes. Pure.

Source: canon-adapter R9.12, D19; docs/decisions/0052, 0083.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

from canon_hermes_plugin.interactions.shell_patterns import braces_out, text_of
from canon_hermes_plugin.interactions.shell_programs import CODE, COPIES, RESERVED, SHELLS, WRAPPERS
from canon_hermes_plugin.interactions.shell_words import MADE, Simple, Word, decoded

__all__ = [
    "ASSIGNMENT",
    "LONGEST_CHAIN",
    "behind",
    "ends_open",
    "files_made",
    "head_of",
    "is_odd",
    "marks_of",
    "program_of",
    "programs_of",
    "replaced",
    "rest_of_braces",
    "speaks_of",
    "unnumbered",
    "unwrapped",
    "written",
]

ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=(.*)", re.DOTALL)
LONGEST_CHAIN: Final = 16  # ours: wrappers one behind the other
MOST_MARKS: Final = 8  # ours
MOST_ROUNDS: Final = 64  # ours: how often ``printf`` begins its format anew
_FILE_NAME: Final = re.compile(r"[\w./-]+")
_IN_A_TEXT: Final = re.compile(r"[\s!'\"=]")
_SUFFIX: Final = re.compile(r"[0-9.]+$")


def unnumbered(name: str) -> str:
    """A name without its version: ``python`` of ``python3.12``."""
    return _SUFFIX.sub("", name)


def files_made(simple: Simple, head: Sequence[Word]) -> frozenset[str]:
    """The names of the files that a command makes, lower-case and without their folders."""
    programs, made = programs_of(head), list(simple.targets)
    if programs & COPIES and not programs & SHELLS:
        made += [word.text.rpartition("=")[2] for word in head[1:] if not word.text.startswith("-")]
    return frozenset(name.rpartition("/")[2].lower() for name in made) - {""}


def speaks_of(made: frozenset[str], text: str) -> bool:
    """Whether a text runs a file of these names: a shell stands beside it, or it is a path."""
    named = _FILE_NAME.findall(text) if _IN_A_TEXT.search(text) else []
    found = [one for one in named if one.rpartition("/")[2].lower() in made]
    return bool(found) and (any("/" in one for one in found) or any(one in SHELLS for one in named))


def written(head: Sequence[Word]) -> str:
    """What ``echo`` or ``printf`` writes."""
    words = [text_of(pattern) for word in head for pattern in braces_out(word.pattern)]
    if words[:1] == ["echo"]:
        while len(words) > 1 and re.fullmatch(r"-[neE]+", words[1]):
            words.pop(1)
        return " ".join(words[1:]) + ("" if any(re.fullmatch(r"-\w*n\w*", word.text) for word in head[1:]) else "\n")
    if words[:1] != ["printf"] or len(words) < 2:
        return ""
    form, arguments, written = decoded(words[1]), words[2:], ""
    for _ in range(MOST_ROUNDS):
        written += re.sub(r"%[sbq]", lambda _: arguments.pop(0) if arguments else "", form)
        if not arguments or "%" not in form:
            break
    return written


def is_odd(head: Sequence[Word]) -> bool:
    """Whether ``printf`` takes letters away from its words, or makes others of them."""
    return (
        program_of(head[0]) == "printf" and re.search(r"%[^sbq%]", "".join(word.text for word in head[1:])) is not None
    )


def head_of(words: Sequence[Word]) -> Sequence[Word]:
    """A simple command without what the grammar puts in front of it."""
    at = 0
    while at < len(words):
        text = words[at].text
        if words[at].pattern == "function":
            at += 2
        elif (words[at].pattern in RESERVED and not words[at].is_made) or ASSIGNMENT.fullmatch(text):
            at += 1
        else:
            break
    return words[at:]


def programs_of(head: Sequence[Word]) -> set[str]:
    """The programs that a command may run: its own, and those behind wrappers."""
    if not head:
        return set()
    first = program_of(head[0])
    if first not in WRAPPERS and first != "find":
        return {first, unnumbered(first)} - {""} if unnumbered(first) in CODE else {first}
    inside = {program_of(word) for word in head[1:]} & (SHELLS | CODE | set(WRAPPERS))
    return {first} | (inside - {"."})  # a folder, where it is no command


def program_of(word: Word) -> str:
    """The name without its folder; names are the same in any case on some file systems."""
    return text_of(braces_out(word.pattern)[0]).rpartition("/")[2].lower()


def rest_of_braces(word: Word) -> list[Word]:
    """The words that braces make of the first one, behind it."""
    return [Word(pattern, word.names, word.is_opaque) for pattern in braces_out(word.pattern)[1:]]


def behind(words: Sequence[Word], options: Sequence[str]) -> list[Word]:
    found = [at for at, word in enumerate(words) if word.text in options]
    return list(words[found[0] + 1 :]) if found else []


def marks_of(name: str, arguments: Sequence[Word]) -> frozenset[str]:
    """What ``xargs`` and ``parallel`` put their input in the place of."""
    marks = [two.text for one, two in pairwise(arguments) if re.fullmatch(r"-\w*I", one.text)]
    short = [found[1] for one in arguments if (found := re.fullmatch(r"-[a-zA-Z0-9]*?[Ii](.*)", one.text))]
    marks += [mark or "{}" for mark in short]
    marks += [one.text.partition("=")[2] or "{}" for one in arguments if one.text.startswith("--r")]
    return frozenset([*marks, *["{"] * (name == "parallel")]) - {""}


def replaced(marks: Collection[str], words: Sequence[Word]) -> list[Word]:
    """The words, with those that hold what is read made at run time; all of them, where the marks are very many."""
    if len(marks) > MOST_MARKS:
        return [Word(MADE, is_opaque=True)] * len(words)
    return [Word(MADE, is_opaque=True) if any(mark in one.text for mark in marks) else one for one in words]


def unwrapped(name: str, arguments: Sequence[Word]) -> Sequence[Word]:
    """What a wrapper runs: its words without its own options, and what else stands in front of the program."""
    options, skipped = WRAPPERS[name]
    at = 0
    while at < len(arguments):
        text = arguments[at].text
        is_plain = not text.startswith("-") and not ASSIGNMENT.fullmatch(text)
        if is_plain and not skipped:
            break
        skipped -= is_plain
        at += 2 if text in options else 1
    return arguments[at:]


def ends_open(rest: Sequence[Word]) -> bool:
    """Whether a chain of wrappers ends without a program, so that the next word read is one."""
    for _ in range(LONGEST_CHAIN):
        if not rest or (name := program_of(rest[0])) not in WRAPPERS:
            break
        rest = unwrapped(name, rest[1:])
    return all(program_of(word) in SHELLS or word.text.startswith("-") for word in rest)
