"""How the three readers of a ``.env`` take one value, and a way to write it that all three read alike.

- the *gateway*: python-dotenv, with escapes, ``${…}`` filled in, inline comments cut off;
- *Hermes' commands*: a small parser of their own: no inline comments, ``\\"`` and ``\\\\`` inside double quotes only;
- the *shell*: ``set -a; . file``.

The first is ``settings.dotenv``, held against python-dotenv by its tests; the other two are modelled here and held
against Hermes and real shells by theirs.
"""

from __future__ import annotations

import re
from enum import Enum

from canon_ops.settings.dotenv import lay_over, read_dotenv

__all__ = ["Reader", "differing", "hermes_values", "quotings", "shell_value"]


class Reader(Enum):
    """Who reads the file; the value is what people call it."""

    DOTENV = "dotenv"
    HERMES = "hermes"
    SHELL = "shell"


# zsh takes a = at the beginning of a value, or behind a colon there, for the name of a program to look up.
_SHELL_BARE = re.compile(r"(?!=)(?:(?!:=)[A-Za-z0-9_@%+=:,./^\u0080-\U0010ffff-])*")
_SHELL_DOUBLE = re.compile(r'(?:[^"\\$`]|\\[\\"$`]|\\(?![\\"$`]))*')


def quotings(value: str, *, like: str = "") -> tuple[str, ...]:
    """The ways to write ``value``, best first.

    Args:
        like: the quote of the value that is replaced, which is kept where it can be.
    """
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    ways = {"": value, "'": f"'{value}'", '"': f'"{escaped}"'}
    first = ways.pop(like, ways[""]) if value or like else "''"
    return (first, *ways.values())


def differing(name: str, value: str, written: str) -> tuple[Reader, ...]:
    """The readers that take ``NAME=written`` as something else than ``value``."""
    line = f"{name}={written}\n"
    # Lines with quotes below: a backslash before the closing quote makes python-dotenv look for another one there.
    frame = f"{line}_A='a'\n_B=\"b\"\n".encode()
    found = {
        Reader.DOTENV: lay_over({}, read_dotenv(frame))[0].get(name),
        Reader.HERMES: hermes_values(line).get(name),
        Reader.SHELL: shell_value(written),
    }
    return tuple(reader for reader, read in found.items() if read != value)


def hermes_values(text: str) -> dict[str, str]:
    """What ``hermes_cli.config.load_env`` reads from a text; its repair of glued lines is left out."""
    values: dict[str, str] = {}
    for raw in re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")):
        line = raw.strip()
        if not line or line.startswith("#") or "=" not in line:
            continue
        key, _, value = line.removeprefix("export ").partition("=")
        values[key.strip()] = _hermes_value(value.strip())
    return values


def _hermes_value(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", value[1:-1])
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] == "'" else value


def shell_value(written: str) -> str | None:
    """What a POSIX shell assigns for ``NAME=written``; None when it would do more than assign that text."""
    if _SHELL_BARE.fullmatch(written):
        return written
    inner = written[1:-1]
    if len(written) >= 2 and written[0] == written[-1] == "'":
        return inner if "'" not in inner else None
    if len(written) >= 2 and written[0] == written[-1] == '"' and _SHELL_DOUBLE.fullmatch(inner):
        return re.sub(r'\\([\\"$`])', r"\1", inner)
    return None
