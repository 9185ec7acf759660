"""The keys that matter to the platforms: value, default, where it comes from, and advice.

A key of Canon below ``extra`` can also be set by a variable, which wins (Canon wire 3.8); every other key is read from
config.yaml alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument, Found
from canon_ops.files.reading import read_optional
from canon_ops.files.yaml_path import parse_path
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, KnownKey, find_key
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.settings.secret import Secret
from canon_ops.settings.surroundings import Surroundings

__all__ = ["ConfigKey", "list_config"]

Scalar = str | bool | int | float | None
Where = Literal["config", "dotenv", "process", "default", "unset"]


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One known key on one home.

    Attributes:
        value: what is in force; null when nobody sets it and nothing is known of a default, and for a secret.
        origin: ``default`` is what Hermes or the platform takes when nobody says anything.
        name: the key or the variable that is in force, which may be another spelling.
        advice: one sentence, where there is something to say.
    """

    key: str
    platform: str
    value: Any
    default: Scalar
    recommended: Scalar
    secret: bool
    origin: Where
    name: str
    file: str | None
    line: int | None
    advice: str | None
    help: str

    @property
    def is_set(self) -> bool:
        """Somebody says something about it."""
        return self.origin not in ("default", "unset")

    @property
    def is_worth_showing(self) -> bool:
        """Set somewhere, or recommended."""
        return self.is_set or self.recommended is not None


def list_config(
    home: HermesHome, environ: Mapping[str, str], platforms: Sequence[str] = tuple(PLATFORMS)
) -> tuple[ConfigKey, ...]:
    """Every known key of config.yaml of these platforms, and of Hermes itself, in the order of the table.

    Raises:
        ConfigSyntaxError: Hermes cannot read the file.
        UnreadableDotenv, NotAFile, DiskError: a file of the home cannot be read.
    """
    file = home.config_file
    document = ConfigDocument.parse(read_optional(file) or b"", str(file))
    surroundings = surroundings_from_disk(home.path, environ)
    wanted = {*platforms, "hermes"}
    return tuple(
        _row(known, document, surroundings)
        for known in KNOWN_KEYS
        if known.file is KeyFile.CONFIG and known.platform in wanted
    )


def _row(known: KnownKey, document: ConfigDocument, surroundings: Surroundings) -> ConfigKey:
    variable = _variable_of(known)
    advice: str | None = None
    value: Any = None
    origin: Where = "unset"
    name, file, line = known.name, None, None
    found = _found(known, document)
    if found is not None:
        name, value, line = found[0], found[1].value, found[1].line
        file, origin = document.file, "config"
        advice = known.problem(value) if value is not None else None
    if variable is not None:
        try:
            setting = surroundings.find(variable)
        except CanonOpsError as error:
            setting, advice = None, error.what
        if setting is not None and setting.value:
            value = None if isinstance(setting.value, Secret) else setting.value
            place = setting.origin
            origin, name, file, line = _where(place.source.value), place.name, place.file, place.line
    if origin == "unset" and known.default is not None:
        value, origin = known.default, "default"
    if advice is None and known.recommended is not None and value != known.recommended:
        advice = f"recommended: {_word(known.recommended)}"
    return ConfigKey(
        key=known.name,
        platform=known.platform,
        value=None if known.secret else value,
        default=known.default,
        recommended=known.recommended,
        secret=known.secret,
        origin=origin,
        name=name,
        file=file,
        line=line,
        advice=advice,
        help=known.help,
    )


def _found(known: KnownKey, document: ConfigDocument) -> tuple[str, Found] | None:
    for name in (known.name, *known.aliases):
        found = document.find(parse_path(name))
        if found is not None:
            return name, found
    return None


def _variable_of(known: KnownKey) -> str | None:
    """The variable that stands for a key: the spelling below ``extra`` that is one."""
    for alias in known.aliases:
        last = alias.rpartition(".")[2]
        if last.isupper() and find_key(last, KeyFile.DOTENV) is not None:
            return last
    return None


def _where(source: str) -> Where:
    return "dotenv" if source == "dotenv" else "process"


def _word(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
