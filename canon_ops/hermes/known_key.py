"""One known key, and how a value is held to it: the type of the rows in :mod:`canon_ops.hermes.key_table`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from canon_ops.lean import dataclass

__all__ = ["KeyFile", "KeyType", "KnownKey"]

_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})  # the host's own words in .env


class KeyFile(Enum):
    """Where a key lives."""

    CONFIG = "config.yaml"
    DOTENV = ".env"


class KeyType(Enum):
    """What a value must be; the names are those of ``--type`` where it has one."""

    STR = "str"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class KnownKey:
    """One key.

    Attributes:
        name: dotted path in config.yaml, or the variable's name.
        help: one line.
        platform: ``canon``, ``borgee``, or ``hermes`` for a setting that every platform shares.
        allowed: the only values; empty for any value of the type.
        default: what counts when nobody sets it; None when nothing does, or when the audited hosts differ.
        secret: never printed, never taken from the command line.
        recommended: what the documentation of the platforms advises, with the reason in ``help``.
        aliases: other spellings that the platform reads, weaker than ``name``.
        minimum, maximum: the ends of a number's range; both belong to it.
        refused: why the key must not be set at all; the key itself stands here so that the reason can be told.
    """

    name: str
    file: KeyFile
    type: KeyType
    help: str
    platform: str = "canon"
    allowed: tuple[str, ...] = ()
    default: str | bool | int | float | None = None
    secret: bool = False
    recommended: str | bool | int | None = None
    aliases: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    refused: str | None = None

    def problem(self, value: object) -> str | None:
        """Why ``value``, as parsed from the file, does not suit this key; None when it does. Never quotes a secret."""
        if self.refused is not None:
            return f"{self.name} must not be set: {self.refused}"
        meant = _meant(value, self.type) if self.file is KeyFile.DOTENV else value
        if not _is_of(meant, self.type):
            shown = "the value" if self.secret else repr(value)
            return f"{self.name} must be {_NOUNS[self.type]}; {shown} is not"
        if self.allowed and self.type is KeyType.STR and meant not in self.allowed:
            return f"{self.name} cannot be {value!r}; allowed are {', '.join(self.allowed)}"
        if isinstance(meant, int | float) and not isinstance(meant, bool) and not self._holds(meant):
            return f"{self.name} cannot be {value!r}; it goes {self._range()}"
        return None

    def _holds(self, number: float) -> bool:
        above = self.minimum is None or number >= self.minimum
        return above and (self.maximum is None or number <= self.maximum)

    def _range(self) -> str:
        low = f"from {self.minimum:g}" if self.minimum is not None else ""
        high = f"to {self.maximum:g}" if self.maximum is not None else ""
        return " ".join(part for part in (low, high) if part)


_NOUNS = {
    KeyType.STR: "text",
    KeyType.INT: "a whole number",
    KeyType.FLOAT: "a number",
    KeyType.BOOL: "true or false",
    KeyType.LIST: "a list",
    KeyType.MAP: "a mapping",
}


def _meant(value: object, kind: KeyType) -> object:
    """The value behind the text of a variable; the text itself where it is none of the kind."""
    text = value.strip() if isinstance(value, str) else ""
    try:
        match kind:
            case KeyType.INT:
                return int(text)
            case KeyType.FLOAT:
                return float(text)
            case KeyType.BOOL:
                return True if text.lower() in _TRUE else False if text.lower() in _FALSE else value
            case KeyType.LIST:
                return [part.strip() for part in text.split(",")]
            case _:
                return value
    except ValueError:
        return value


def _is_of(value: object, kind: KeyType) -> bool:
    match kind:
        case KeyType.STR:
            return isinstance(value, str)
        case KeyType.BOOL:
            return isinstance(value, bool)
        case KeyType.INT:
            return isinstance(value, int) and not isinstance(value, bool)
        case KeyType.FLOAT:
            return isinstance(value, int | float) and not isinstance(value, bool) and value == value
        case KeyType.LIST:
            return isinstance(value, list | tuple)
        case KeyType.MAP:
            return isinstance(value, Mapping)
