"""What ``doctor --fix`` may do, as data with one pure method: the edit that it means.

A finding carries its repair. Deciding whether to carry it out, showing the diff and writing are the work of
:mod:`canon_ops.doctor.mending`. A new kind of edit is a new class here, and nothing else::

    @dataclass(frozen=True, slots=True)
    class SetConfig(ConfigRepair):
        path: str
        value: Json

        def edit_config(self, document: ConfigDocument) -> ConfigDocument:
            return document.set(parse_path(self.path), self.value)

An edit touches what it names and nothing else. Applied where it was applied already, it changes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from canon_ops.files.yaml_path import parse_path

if TYPE_CHECKING:
    from canon_ops.files.config_editor import ConfigDocument
    from canon_ops.files.dotenv_editor import DotenvDocument

__all__ = [
    "AddToList",
    "ConfigRepair",
    "DotenvRepair",
    "DropEarlier",
    "DropMark",
    "FinishChanges",
    "MakePrivate",
    "MoveConfig",
    "QuoteAnew",
    "RemoveFromList",
    "Repair",
    "RestorePackage",
    "SetConfig",
    "SetVariable",
    "TakeBackPackage",
    "TextToList",
    "UnsetConfig",
    "UnsetVariable",
]

Json = str | bool | int | float | Sequence["Json"] | Mapping[str, "Json"] | None


class ConfigRepair(ABC):
    """An edit of the home's config.yaml."""

    __slots__ = ()

    @abstractmethod
    def edit_config(self, document: ConfigDocument) -> ConfigDocument:
        """The document after the edit.

        Raises:
            ConfigRefused, ProofFailed, EngineFault: it cannot be made safely.
        """


class DotenvRepair(ABC):
    """An edit of the home's ``.env``."""

    __slots__ = ()

    @abstractmethod
    def edit_dotenv(self, document: DotenvDocument) -> DotenvDocument:
        """The document after the edit.

        Raises:
            UnwritableValue, BadName: it cannot be made safely.
        """


@dataclass(frozen=True, slots=True)
class _AtPath(ConfigRepair):
    """An edit that needs to know no more than where."""

    path: str


@dataclass(frozen=True, slots=True)
class _OfList(ConfigRepair):
    """An edit of one item of a list."""

    path: str
    item: str


@dataclass(frozen=True, slots=True)
class _OfVariable(DotenvRepair):
    """An edit that needs to know no more than which variable."""

    name: str


@dataclass(frozen=True, slots=True)
class SetConfig(ConfigRepair):
    """Set one value of config.yaml."""

    path: str
    value: Json

    def edit_config(self, document: ConfigDocument) -> ConfigDocument:
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return document.set(parse_path(self.path), value)


class UnsetConfig(_AtPath):
    """Remove one entry of config.yaml."""

    __slots__ = ()

    def edit_config(self, document: ConfigDocument) -> ConfigDocument:
        return document.unset(parse_path(self.path))


@dataclass(frozen=True, slots=True)
class MoveConfig(ConfigRepair):
    """Give a value the path where it is read; nothing happens when that path has one."""

    path: str
    to: str

    def edit_config(self, document: ConfigDocument) -> ConfigDocument:
        place = document.find(parse_path(self.path))
        if place is None or document.find(parse_path(self.to)) is not None:
            return document
        return document.set(parse_path(self.to), place.value).unset(parse_path(self.path))


class TextToList(_AtPath):
    """Turn a text with commas into the list of its words."""

    __slots__ = ()

    def edit_config(self, document: ConfigDocument) -> ConfigDocument:
        return document.text_to_list(parse_path(self.path))


class AddToList(_OfList):
    """Append an item to a list of config.yaml, once."""

    __slots__ = ()

    def edit_config(self, document: ConfigDocument) -> ConfigDocument:
        return document.add(parse_path(self.path), self.item)


class RemoveFromList(_OfList):
    """Take an item out of a list of config.yaml."""

    __slots__ = ()

    def edit_config(self, document: ConfigDocument) -> ConfigDocument:
        return document.remove(parse_path(self.path), self.item)


@dataclass(frozen=True, slots=True)
class SetVariable(DotenvRepair):
    """Set one variable of ``.env``."""

    name: str
    value: str

    def edit_dotenv(self, document: DotenvDocument) -> DotenvDocument:
        return document.set(self.name, self.value)


class UnsetVariable(_OfVariable):
    """Remove every assignment of one variable from ``.env``."""

    __slots__ = ()

    def edit_dotenv(self, document: DotenvDocument) -> DotenvDocument:
        return document.remove(self.name)


class DropEarlier(_OfVariable):
    """Remove the assignments of one variable that a later one overrides."""

    __slots__ = ()

    def edit_dotenv(self, document: DotenvDocument) -> DotenvDocument:
        return document.without_duplicates(self.name)


@dataclass(frozen=True, slots=True)
class DropMark(DotenvRepair):
    """Remove the byte-order mark before the first name."""

    def edit_dotenv(self, document: DotenvDocument) -> DotenvDocument:
        return document.without_mark()


class QuoteAnew(_OfVariable):
    """Write one value so that every reader takes it as the gateway does."""

    __slots__ = ()

    def edit_dotenv(self, document: DotenvDocument) -> DotenvDocument:
        value = document.get(self.name)
        return document if value is None else document.set(self.name, value)


@dataclass(frozen=True, slots=True)
class FinishChanges:
    """Finish what killed commands left half-done; see :mod:`canon_ops.operate.interrupted`.

    It comes before every edit: an edit has to be of the text that stands after it.
    """


@dataclass(frozen=True, slots=True)
class MakePrivate:
    """Take a file or a folder from group and others; what its owner may do stays.

    Attributes:
        writing_only: who may read it goes on reading it.
    """

    file: Path
    writing_only: bool = False

    @property
    def bits(self) -> int:
        """The permissions that are taken."""
        return 0o022 if self.writing_only else 0o077

    @property
    def told(self) -> str:
        """The command that would do the same."""
        return f"chmod {'go-w' if self.writing_only else 'go='} {self.file}"


@dataclass(frozen=True, slots=True)
class RestorePackage:
    """Put the package into the host again, and nothing else: the recorded wheel, else the running version.

    Carried out by :func:`canon_ops.operate.bring_back.bring_back`.
    """

    version: str


@dataclass(frozen=True, slots=True)
class TakeBackPackage:
    """Put the packages of the host back as they were before a command that was interrupted among them.

    Carried out by :func:`canon_ops.operate.rollback.take_back_interrupted`, before any package is put there anew.
    """


Repair = ConfigRepair | DotenvRepair | FinishChanges | MakePrivate | RestorePackage | TakeBackPackage
