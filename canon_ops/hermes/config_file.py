"""Reading config.yaml as the gateway reads it, and nothing else: no default, no expansion, no folder is made.

Hermes' own ``load_config`` creates the home and ten folders in it, so a question must not go through it. The rules
for plugins and platform blocks are the host's (Hermes host, 4.1, 4.2 and 6.1): a list that is no list counts as absent;
``gateway.platforms`` lies below ``platforms`` and their ``extra`` maps are merged; words such as "off" are booleans
where the host takes them for one. Editing is the business of canon_ops.files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from canon_ops.errors import OutsideError, RefusedError

__all__ = ["ConfigUnreadable", "HermesConfig", "read_config"]

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


class ConfigUnreadable(RefusedError):
    """config.yaml is no single YAML mapping; a fresh gateway would run on defaults."""

    code = "config_unreadable"


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
        own = _mapping(self.tree.get(name))
        return _as_bool(own["enabled"] if "enabled" in own else self.platform(name).get("enabled"))

    @property
    def multiplexes(self) -> bool:
        """Whether one gateway serves several profiles; a top-level key beats the one below ``gateway``."""
        nested = _mapping(self.tree.get("gateway")).get("multiplex_profiles")
        return _as_bool(self.tree.get("multiplex_profiles", nested)) is True

    def _plugin_list(self, key: str) -> tuple[str, ...] | None:
        names = _mapping(self.tree.get("plugins")).get(key)
        return tuple(str(name) for name in names) if isinstance(names, list) else None


def read_config(file: Path) -> HermesConfig:
    """Parse config.yaml; an absent or empty file is an empty configuration.

    Raises:
        ConfigUnreadable: with line and column where YAML tells them.
        OutsideError: the file cannot be opened.
    """
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return HermesConfig(file, exists=False)
    except OSError as exc:
        raise OutsideError(f"{file} cannot be read: {exc.strerror}.", file=str(file)) from exc
    try:
        tree = yaml.safe_load(data.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise _unreadable(file, "it is not UTF-8", line, None) from exc
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        why = " ".join(str(part) for part in (getattr(exc, "context", None), getattr(exc, "problem", None)) if part)
        raise _unreadable(
            file, why or "it is no YAML", mark.line + 1 if mark else None, mark.column + 1 if mark else None
        ) from exc
    if tree is None:
        return HermesConfig(file)
    if not isinstance(tree, dict):
        raise _unreadable(file, f"it holds a {type(tree).__name__} where a mapping is expected", 1, 1)
    return HermesConfig(file, tree)


def _unreadable(file: Path, why: str, line: int | None, column: int | None) -> ConfigUnreadable:
    place = f" (line {line}{f', column {column}' if column else ''})" if line else ""
    return ConfigUnreadable(
        f"Hermes cannot read {file}: {why}{place}; it would run on defaults.",
        fix=f"repair {file}{f' at line {line}' if line else ''} by hand; canon-ops never writes over it",
        file=str(file),
        line=line,
        column=column,
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _as_bool(value: object) -> bool | None:
    if value is None:
        return None
    if isinstance(value, str):
        word = value.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else None
    return bool(value)
