"""The variables of a Hermes home as its gateway will have them: where each value comes from, and what it hides.

Strongest first: the administrator's ``.env``, the home's ``.env``, the environment in which the gateway starts. Hermes'
own commands look at the process environment before the home's file; where the two disagree, :attr:`Variable.hides` says
so. Source: Hermes host, 3.3 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.reading import read_optional
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, find_key
from canon_ops.hermes.managed_scope import managed_scope
from canon_ops.operate.list_credentials import Place
from canon_ops.settings.dotenv import lay_over

__all__ = ["Variable", "find_variable", "list_variables"]


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable in force.

    Attributes:
        value: the bare text: see :func:`~canon_ops.hermes.keys.may_be_shown` before it is shown.
        platform: whose it is; None for one that nobody here knows.
        place: ``managed``, ``dotenv``, ``process`` or ``default``.
        hides: where the same name stands and does not count, strongest first.
    """

    name: str
    value: str
    platform: str | None
    place: Place
    hides: tuple[Place, ...]
    help: str


def list_variables(home: HermesHome, environ: Mapping[str, str], *, unset: bool = False) -> tuple[Variable, ...]:
    """Every variable that ``.env`` sets, and every known one of the process: in the file's order, then by name.

    Args:
        unset: also the known ones that nobody sets and that have a default.

    Raises:
        UnreadableEnv, NotAFile, DiskError: ``.env`` cannot be read.
    """
    document = DotenvDocument.parse(read_optional(home.env_file) or b"", str(home.env_file))
    known = [key for key in KNOWN_KEYS if key.file is KeyFile.DOTENV]
    pinned, file = _pinned(home)
    names = dict.fromkeys(
        [
            *(entry.name for entry in document.entries if entry.value is not None),
            *(key.name for key in known if key.name in environ),
            *sorted(pinned),
            *(key.name for key in known if unset and key.default is not None),
        ]
    )
    found = (_look_up(name, document, environ, pinned, file) for name in names)
    return tuple(each for each in found if each is not None)


def find_variable(home: HermesHome, environ: Mapping[str, str], name: str) -> Variable | None:
    """One variable in force; None when nobody sets it. Raises as :func:`list_variables`."""
    document = DotenvDocument.parse(read_optional(home.env_file) or b"", str(home.env_file))
    found = _look_up(name, document, environ, *_pinned(home))
    return None if found is None or found.place.source == "default" else found


def _pinned(home: HermesHome) -> tuple[Mapping[str, str], str]:
    """The administrator's variables, and their file."""
    scope = managed_scope(home)
    return (scope.variables, str(scope.folder / ".env")) if scope else ({}, "")


def _look_up(
    name: str, document: DotenvDocument, environ: Mapping[str, str], managed: Mapping[str, str], managed_file: str
) -> Variable | None:
    merged, set_by = lay_over(environ, document.entries)
    lines = [entry.line for entry in document.entries if entry.name == name and entry.value is not None]
    places: list[tuple[str, Place]] = []
    if name in managed:
        places.append((managed[name], Place("managed", name, managed_file, None)))
    if name in set_by:
        effective = set_by[name].line
        places.append((merged[name], Place("dotenv", name, document.file, effective)))
        places += [("", Place("dotenv", name, document.file, line)) for line in reversed(lines) if line != effective]
    if name in environ:
        places.append((environ[name], Place("process", name, None, None)))
    known = find_key(name, KeyFile.DOTENV)
    if not places and known is not None and known.default is not None:
        places.append((str(known.default), Place("default", name, None, None)))
    if not places:
        return None
    (value, place), *hidden = places
    is_same = [other.source == "process" and text == value for text, other in hidden]
    hides = tuple(other for (_, other), same in zip(hidden, is_same, strict=True) if not same)
    platform, words = (known.platform, known.help) if known else (None, "")
    return Variable(name, value, platform, place, hides, words)
