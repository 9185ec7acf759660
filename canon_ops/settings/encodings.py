"""The cure for a file in a foreign encoding."""

from __future__ import annotations

import shlex

__all__ = ["to_utf8"]


def to_utf8(encoding: str, file: str) -> str:
    """The shell's words that convert a file in its place: mode, owner and link stay, and nobody else can read along."""
    name, new = shlex.quote(file), shlex.quote(f"{file}.utf8")
    return f"(umask 077; iconv -f {encoding} -t UTF-8 {name} > {new}) && cat {new} > {name} && rm {new}"
