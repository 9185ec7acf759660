"""What ``doctor --fix`` may do, as data: edits of one value in the home's own files, and the package.

A finding carries its repair; deciding whether to carry it out, showing the diff and writing are other people's work.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AddToList", "RemoveFromList", "Repair", "RestorePackage", "SetConfig"]


@dataclass(frozen=True, slots=True)
class SetConfig:
    """Set one value of config.yaml."""

    path: str
    value: str | bool | int | float | None


@dataclass(frozen=True, slots=True)
class AddToList:
    """Append an item to a list of config.yaml, once."""

    path: str
    item: str


@dataclass(frozen=True, slots=True)
class RemoveFromList:
    """Take an item out of a list of config.yaml."""

    path: str
    item: str


@dataclass(frozen=True, slots=True)
class RestorePackage:
    """Put our distribution into the host again: the recorded wheel, or the running version where none is recorded.

    Carried out by :func:`canon_ops.operate.bring_back.bring_back`.
    """

    version: str


Repair = SetConfig | AddToList | RemoveFromList | RestorePackage
