"""Whether a command would run with somebody else's rights: then only the owner may allow it. Pure.

A search for the word ``sudo`` is not enough: a shell takes quotes, backslashes and concatenation away before it looks
for a program, and sudo has relatives. So the command is read as a shell would read it, far enough to know the first
word of each simple command, inside substitutions and the arguments of other shells too. Where that word is made at run
time, or the text is no whole command, the answer is yes: asking the owner costs a moment, asking the wrong person more.

Source: canon-adapter R9.10, R9.12; D19.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from canon_hermes_plugin.interactions.shell_words import Simple, read_commands

__all__ = ["needs_owner"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The bare word counts wherever it stands, the table of R9.12.
_SUDO: Final = re.compile(r"(?<![\w-])(?:[A-Za-z0-9_.-]+/)*sudo(?=$|[\s;&|()])", re.IGNORECASE)

_PRIVILEGED: Final = _names("""
    sudo doas pkexec su runuser run0 dzdo pfexec gosu su-exec gksu gksudo kdesu kdesudo machinectl
""")
_QUOTED_ARGUMENT: Final = re.compile(  # the first of a list of arguments in a program's source: ["sudo", "id"]
    rf"""["'](?:[A-Za-z0-9_.-]*/)*(?:{"|".join(sorted(_PRIVILEGED))})["']\s*,""", re.IGNORECASE
)
_WRAPPERS: Final = _names("""
    env nohup nice ionice time timeout xargs exec command builtin stdbuf setsid chroot unshare nsenter strace ltrace
    watch find parallel busybox toybox script flock entr ssh sh bash dash zsh ksh mksh ash fish rbash eval source . trap
""")
_RESERVED: Final = _names("{ } ! if then else elif do done fi while until case esac in for select function")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=(.*)", re.DOTALL)
DEPTH: Final = 8  # ours: deeper than that nobody writes by hand


def needs_owner(command: str, *, depth: int = 0) -> bool:
    """Whether the command, or anything it hands to a shell, would run a program of another user.

    Args:
        depth: how many shells it is inside of.
    """
    if depth > DEPTH or _SUDO.search(command) or _QUOTED_ARGUMENT.search(command):
        return True
    reading = read_commands(command)
    if not reading.is_whole:
        return True
    if any(needs_owner(inner, depth=depth + 1) for inner in reading.inner):
        return True
    return any(_is_privileged(simple, depth) for simple in reading.commands)


def _is_privileged(words: Simple, depth: int) -> bool:
    for at, word in enumerate(words):
        if assigned := _ASSIGNMENT.fullmatch(word.text):
            if _program(assigned[1]) in _PRIVILEGED:
                return True  # what a variable holds may be run later
            continue
        if word.text in _RESERVED and not word.is_made:
            continue
        program = _program(word.text)
        if program in _PRIVILEGED or (word.is_made and not program):
            return True
        return program in _WRAPPERS and _runs_privileged([one.text for one in words[at + 1 :]], depth)
    return False


def _runs_privileged(arguments: Sequence[str], depth: int) -> bool:
    """What runs its arguments may name the program in any of them, or hold a whole command in one."""
    return any(
        _program(one) in _PRIVILEGED or (any(map(str.isspace, one)) and needs_owner(one, depth=depth + 1))
        for one in arguments
    )


def _program(word: str) -> str:
    """The name without its folder; names are the same in any case on some file systems."""
    return word.rpartition("/")[2].lower()
