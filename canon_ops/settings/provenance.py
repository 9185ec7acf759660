"""Where a value came from, what it hides, and how that place is mended.

An error about a value is only useful when it names the place to change: a key from ``.env`` needs other advice than
one from a profile. Every effective value therefore travels as a :class:`Setting` with its :class:`Origin`.
"""

from __future__ import annotations

import shlex
from enum import Enum

from canon_ops.lean import dataclass
from canon_ops.settings.secret import Secret

__all__ = ["Found", "Origin", "Setting", "Source"]


class Source(Enum):
    """The places a value can come from, strongest first."""

    MANAGED = "managed"  # the administrator's .env, which Hermes lays over everything else
    PROCESS = "process"  # the environment of this process
    DOTENV = "dotenv"  # the Hermes home's .env, which the gateway lays over the process environment
    CONFIG = "config"  # platforms.canon in config.yaml
    BOOTSTRAP = "bootstrap"  # a profile that CANON_AGENTS_JSON_BOOTSTRAP brought
    AGENTS_FILE = "agents_file"  # a profile in agents.json
    OPTION = "option"  # an answer given to this command
    DEFAULT = "default"  # the table that ships with this package


@dataclass(frozen=True, slots=True)
class Origin:
    """One place.

    Args:
        name: the variable, the dotted configuration path, the profile field (``ops.baseUrl``) or the option.
        file: the file as text for people; None where there is no file.
        line: 1-based line, where it is known.
    """

    source: Source
    name: str
    file: str | None = None
    line: int | None = None

    def describe(self) -> str:
        """Name the place in a few words: ``CANON_API_KEY in /home/a/.hermes/.env, line 4``."""
        where = self.file or ""
        if self.line is not None:
            where += f", line {self.line}"
        match self.source:
            case Source.PROCESS:
                return f"{self.name} in the process environment"
            case Source.MANAGED | Source.DOTENV | Source.CONFIG | Source.AGENTS_FILE:
                return f"{self.name} in {where}" if where else self.name
            case Source.BOOTSTRAP:
                return f"{self.name} from CANON_AGENTS_JSON_BOOTSTRAP"
            case Source.OPTION:
                return f"the answer for {self.name}"
            case Source.DEFAULT:
                return f"the packaged default for {self.name}"

    def to_change(self, value: str) -> str:
        """Say how this place gets ``value``; a placeholder such as ``URL`` reads well too. Never hand in a secret."""
        match self.source:
            case Source.MANAGED:
                return f"ask whoever maintains {self.file} for {self.name}={value}"
            case Source.PROCESS:
                return f"export {self.name}={value} where the gateway is started, or unset it there"
            case Source.DOTENV:
                return f"canon-ops env set {self.name} {value}"
            case Source.CONFIG:
                return f"canon-ops config set {self.name} {value}"
            case Source.BOOTSTRAP:
                return f"give the profile {_profile(self.name)} another value in CANON_AGENTS_JSON_BOOTSTRAP"
            case Source.AGENTS_FILE:
                return f"canon-ops setup canon --canon-profile {shlex.quote(_profile(self.name))}"
            case Source.OPTION:
                return f"{self.name} {value}"
            case Source.DEFAULT:
                return f"report this: the packaged default for {self.name} is wrong"

    def to_drop(self) -> str:
        """Say how this place loses its value."""
        match self.source:
            case Source.MANAGED:
                return f"ask whoever maintains {self.file} to drop {self.name}"
            case Source.PROCESS:
                return f"unset {self.name} where the gateway is started"
            case Source.DOTENV:
                return f"canon-ops env unset {self.name}"
            case Source.CONFIG:
                return f"canon-ops config unset {self.name}"
            case Source.BOOTSTRAP:
                return f"remove the profile {_profile(self.name)} from CANON_AGENTS_JSON_BOOTSTRAP"
            case Source.AGENTS_FILE:
                return f"remove {self.name} from {self.file or 'agents.json'}"
            case Source.OPTION:
                return f"leave out {self.name}"
            case Source.DEFAULT:
                return f"nothing: {self.name} is a packaged default"


def _profile(field: str) -> str:
    """The profile of a name such as ``ops.baseUrl`` (a profile's name may hold dots; a field's never does)."""
    return field.rpartition(".")[0] or field


@dataclass(frozen=True, slots=True)
class Found:
    """A value that was found at a place; it need not be the one in force."""

    value: str | Secret
    origin: Origin


@dataclass(frozen=True, slots=True)
class Setting:
    """A value in force, with the weaker values that it hides.

    Args:
        name: the setting's environment variable (``CANON_BASE_URL``), or a profile field without one (``agentId``).
        value: trimmed text. Empty means *found and empty*: a variable of white space only hides what stands behind it.
        shadows: what would count if this place were empty or removed, strongest first.
    """

    name: str
    value: str | Secret
    origin: Origin
    shadows: tuple[Found, ...] = ()

    @property
    def shown(self) -> str:
        """The value for people on a terminal; a secret shows its last characters at most."""
        return self.value.hint() if isinstance(self.value, Secret) else self.value
