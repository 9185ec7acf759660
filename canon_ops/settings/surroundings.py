"""Everything that settings are resolved from, handed in as plain values, and the order in which one setting is found.

Whoever builds a :class:`Surroundings` has read the files; nothing here touches a disk, an environment or a keyring.
The command line hands in the process environment *and* the bytes of ``.env``; inside the gateway the host has merged
them already, so handing in both or only the environment gives the same result.

A setting is looked up in the environment (the administrator's ``.env``, then the home's, then the process), then in the
platform block of config.yaml. The first place that is not empty wins. A place that holds white space only is not empty:
it wins with an empty value and hides what stands behind it.

``${NAME}`` in a configuration value stands for a variable of the gateway's environment: the host hands such text to a
platform as it is (Hermes host, 3.1), so it is filled in here.

Source: Canon wire 3.8; canon-adapter R1.12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from canon_ops.lean import dataclass, field
from canon_ops.settings.dotenv import DotenvEntry, lay_over, read_dotenv
from canon_ops.settings.problems import BadOption, UnsetReference
from canon_ops.settings.provenance import Found, Origin, Setting, Source
from canon_ops.settings.secret import Secret

__all__ = ["PLATFORM_PATH", "Surroundings"]

PLATFORM_PATH = "platforms.canon"

_SECRETS = frozenset({"CANON_API_KEY", "BORGEE_API_KEY"})
_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")  # the second spelling came with Hermes 0.21
_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Surroundings:
    """The world as one Hermes home sees it.

    Args:
        environ: the process environment.
        dotenv: the bytes of the home's ``.env``; None when there is none, or when it is merged into ``environ``.
        platform: the parsed ``platforms.canon`` block: ``api_key``, ``token``, ``extra``, ``home_channel``, …
        agents: the bytes of agents.json; None when there is no file.
        managed: the variables of the administrator's ``.env``. A gateway has them in its environment, too, but the
            home's ``.env`` must not win over them here.
        dotenv_file, config_file, agents_file, managed_file: the same files as text for people.
    """

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    dotenv: bytes | None = field(default=None, repr=False)
    platform: Mapping[str, object] = field(default_factory=dict, repr=False)
    agents: bytes | None = field(default=None, repr=False)
    managed: Mapping[str, str] = field(default_factory=dict, repr=False)
    dotenv_file: str = ".env"
    config_file: str = "config.yaml"
    agents_file: str = "agents.json"
    managed_file: str = ".env"

    @cached_property
    def _merged(self) -> tuple[dict[str, str], dict[str, DotenvEntry]]:
        entries = read_dotenv(self.dotenv, file=self.dotenv_file) if self.dotenv is not None else ()
        return lay_over(self.environ, entries)

    @property
    def gateway_environ(self) -> Mapping[str, str]:
        """The environment that a gateway of this home has: ``.env`` over the process.

        Raises:
            UnreadableDotenv: ``.env`` is in an encoding that nobody reads.
        """
        return MappingProxyType({**self._merged[0], **self.managed})

    @property
    def extra(self) -> Mapping[str, object]:
        """The ``extra`` map of the platform block; empty when it is absent or no map."""
        extra = self.platform.get("extra")
        return extra if isinstance(extra, Mapping) else _NOTHING

    def find(self, variable: str, keys: Sequence[str] = (), *, attributes: Sequence[str] = ()) -> Setting | None:
        """The value in force for one setting, what it hides, and where both stand; None when nobody sets it.

        Args:
            variable: the environment variable; its value is a :class:`Secret` where the variable is one.
            keys: names below ``extra``, in the order in which they are tried.
            attributes: names directly in the platform block, tried before ``extra``.

        Raises:
            BadOption: the winning configuration value is a list, a map or anything else that is no text.
            UnsetReference: it refers to a variable that nobody sets.
        """
        places = [*self._in_environment(variable), *self._in_config(keys, attributes)]
        hidden_by_blank_line = self._blanked(variable)
        if not places:
            if hidden_by_blank_line is None:
                return None
            empty, hidden = hidden_by_blank_line
            return Setting(variable, "", empty, (self._found(variable, *hidden),))
        (value, origin), weaker = places[0], places[1:]
        if hidden_by_blank_line:
            weaker.append(hidden_by_blank_line[1])
        return Setting(
            variable,
            self._typed(variable, self._filled(_as_text(value, variable, origin), variable, origin)),
            origin,
            tuple(self._found(variable, *place) for place in weaker),
        )

    def _in_environment(self, variable: str) -> Iterator[tuple[object, Origin]]:
        merged, set_by = self._merged
        pinned = self.managed.get(variable, "")
        own = self.environ.get(variable, "")
        entry = set_by.get(variable)
        if pinned:
            yield pinned, Origin(Source.MANAGED, variable, self.managed_file)
            own = "" if own == pinned else own  # a gateway has it in its environment already
        if entry is not None and merged[variable]:
            yield merged[variable], Origin(Source.DOTENV, variable, self.dotenv_file, entry.line)
            if own and own != merged[variable]:
                yield own, Origin(Source.PROCESS, variable)
        elif entry is None and own and merged.get(variable):
            yield merged[variable], Origin(Source.PROCESS, variable)

    def _blanked(self, variable: str) -> tuple[Origin, tuple[object, Origin]] | None:
        """A process value that an empty ``.env`` line (``NAME=``) takes away without putting another in its place."""
        merged, set_by = self._merged
        own = self.environ.get(variable)
        entry = set_by.get(variable)
        if entry is None or merged[variable] or not own or self.managed.get(variable):
            return None
        empty = Origin(Source.DOTENV, variable, self.dotenv_file, entry.line)
        return empty, (own, Origin(Source.PROCESS, variable))

    def _in_config(self, keys: Sequence[str], attributes: Sequence[str]) -> Iterator[tuple[object, Origin]]:
        for name in attributes:
            if not _is_empty(value := self.platform.get(name)):
                yield value, Origin(Source.CONFIG, f"{PLATFORM_PATH}.{name}", self.config_file)
        for name in keys:
            if not _is_empty(value := self.extra.get(name)):
                yield value, Origin(Source.CONFIG, f"{PLATFORM_PATH}.extra.{name}", self.config_file)

    def _filled(self, text: str, variable: str, origin: Origin) -> str:
        if origin.source is not Source.CONFIG:  # python-dotenv has filled its own
            return text

        def lookup(match: re.Match[str]) -> str:
            value = self.gateway_environ.get(match[1])
            if value is None:
                raise UnsetReference(variable, match[1], origin)
            return value

        return _REFERENCE.sub(lookup, text).strip()

    def _found(self, variable: str, value: object, origin: Origin) -> Found:
        shown = value.strip() if isinstance(value, str) else str(value)
        return Found(self._typed(variable, shown), origin)

    @staticmethod
    def _typed(variable: str, text: str) -> str | Secret:
        return Secret(text) if variable in _SECRETS and text else text


def _is_empty(value: object) -> bool:
    return value is None or value == ""


def _as_text(value: object, variable: str, origin: Origin) -> str:
    """YAML gives numbers and booleans where people meant words; anything richer cannot be meant."""
    match value:
        case str():
            return value.strip()
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            raise BadOption(variable, f"a {type(value).__name__}", (), origin)
