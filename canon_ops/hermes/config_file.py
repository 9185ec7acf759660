"""Reading config.yaml as the gateway reads it, and nothing else: no default, no expansion, no folder is made.

Hermes' own ``load_config`` creates the home and ten folders in it, so a question must not go through it. The rules
for plugins and platform blocks are the host's (Hermes host, 4.1, 4.2 and 6.1): a list that is no list counts as absent;
``gateway.platforms`` lies below ``platforms`` and their ``extra`` maps are merged; words such as "off" are booleans
where the host takes them for one. What Hermes can read at all is decided in canon_ops.files, where it is edited too.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from canon_ops.files.atomic import BrokenLink
from canon_ops.files.reading import read_optional
from canon_ops.files.yaml_reader import read_yaml
from canon_ops.lean import dataclass, field

__all__ = ["HermesConfig", "read_config", "refuse_broken_link"]

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True)
class HermesConfig:
    """The parsed file.

    Attributes:
        file: where it is, or would be.
        exists: an absent file is an empty configuration.
    """

    file: Path
    tree: Mapping[str, object] = field(default_factory=dict)
    exists: bool = True

    @property
    def enabled_plugins(self) -> tuple[str, ...] | None:
        """``plugins.enabled``; None when it is absent or no list, which for the host means: none."""
        return self._plugin_list("enabled")

    @property
    def disabled_plugins(self) -> tuple[str, ...]:
        """``plugins.disabled``, which beats the other list."""
        return self._plugin_list("disabled") or ()

    def platform(self, name: str) -> dict[str, object]:
        """The block of one platform as the host merges it."""
        merged: dict[str, object] = {}
        for platforms in (_mapping(_mapping(self.tree.get("gateway")).get("platforms")), self.tree.get("platforms")):
            block = _mapping(_mapping(platforms).get(name))
            extra = {**_mapping(merged.get("extra")), **_mapping(block.get("extra"))}
            merged = {**merged, **block, **({"extra": extra} if extra else {})}
        return merged

    def platform_switch(self, name: str) -> bool | None:
        """What ``enabled`` of a platform says; None when nobody says anything (the environment may enable it then)."""
        return as_switch(self.switch(name))

    def switch(self, name: str) -> object:
        """The same as it is written."""
        own = _mapping(self.tree.get(name))
        return own["enabled"] if "enabled" in own else self.platform(name).get("enabled")

    def switch_path(self, name: str) -> str:
        """Where that switch stands, or belongs: a platform's own top-level block beats the one below ``platforms``."""
        return f"{name}.enabled" if "enabled" in _mapping(self.tree.get(name)) else f"platforms.{name}.enabled"

    @property
    def multiplexes(self) -> bool:
        """Whether one gateway serves several profiles; a top-level key beats the one below ``gateway``."""
        top = self.tree.get("multiplex_profiles")
        nested = _mapping(self.tree.get("gateway")).get("multiplex_profiles")
        return as_switch(nested if top is None else top) is True

    @property
    def multiplex_path(self) -> str:
        """Where that switch stands, or belongs."""
        return "gateway.multiplex_profiles" if self.tree.get("multiplex_profiles") is None else "multiplex_profiles"

    def _plugin_list(self, key: str) -> tuple[str, ...] | None:
        names = _mapping(self.tree.get("plugins")).get(key)
        return tuple(str(name) for name in names) if isinstance(names, list) else None


def refuse_broken_link(file: Path) -> None:
    """A link that leads nowhere is no absent file, although Hermes takes it for one: somebody meant a file.

    Raises:
        BrokenLink: it is such a link.
    """
    if file.is_symlink() and not file.exists():
        raise BrokenLink(
            f"{file} is a symbolic link to {file.readlink()}, which leads nowhere: Hermes runs on defaults.",
            fix=f"ls -l {shlex.quote(str(file))}",
            file=str(file),
        )


def read_config(file: Path) -> HermesConfig:
    """Parse config.yaml; an absent or empty file is an empty configuration.

    Raises:
        ConfigSyntaxError: Hermes cannot read it, with line and column where they are known.
        NotAFile, BrokenLink, DiskError: the file cannot be opened.
    """
    data = read_optional(file)
    if data is None:
        return HermesConfig(file, exists=False)
    return HermesConfig(file, read_yaml(data, str(file)).value)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def as_switch(value: object) -> bool | None:
    """What the host takes a value for; None for nothing and for a word that it does not know."""
    if value is None:
        return None
    if isinstance(value, str):
        word = value.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else None
    return bool(value)
