"""The administrator's layer: values that win over the user's own, and that nobody else may change.

A folder (``$HERMES_MANAGED_DIR``, else ``/etc/hermes``) with a config.yaml and an ``.env`` of its own. Hermes lays them
over the user's files leaf by leaf and refuses to write what they pin; so do we, and say who pins it. A file there that
cannot be read counts as absent, as it does for Hermes.

It has nothing to do with a home that a package manager owns (:attr:`HermesHome.managed_by`). Source: Hermes host, 2.6
and 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from canon_ops.errors import CanonOpsError, RefusedError
from canon_ops.files.reading import read_optional
from canon_ops.hermes.homes import HermesHome
from canon_ops.hints import ClassVar
from canon_ops.lean import dataclass, field

__all__ = ["ManagedScope", "PinnedByAdministrator", "managed_scope", "managed_variables"]


class PinnedByAdministrator(RefusedError):
    """The administrator's layer decides about the value; what we write would count for nothing."""

    code: ClassVar[str] = "managed_value"


@dataclass(frozen=True, slots=True)
class ManagedScope:
    """What one administrator's folder pins.

    Attributes:
        variables: of its ``.env``, as Hermes reads them.
        leaves: the paths of its config.yaml.
    """

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    leaves: frozenset[tuple[str, ...]] = frozenset()

    def refuse_variable(self, name: str) -> None:
        """Refuse to change a variable that is pinned.

        Raises:
            PinnedByAdministrator.
        """
        if name in self.variables:
            raise _pinned(name, self.folder / ".env")

    def refuse_path(self, path: Sequence[str | int]) -> None:
        """Refuse to change a configuration value that is pinned, lies below one that is, or holds one.

        Raises:
            PinnedByAdministrator.
        """
        if (leaf := self.pinned_at(path)) is not None:
            raise _pinned(".".join(leaf), self.folder / "config.yaml")

    def pinned_at(self, path: Sequence[str | int]) -> tuple[str, ...] | None:
        """The pinned value at ``path``, above it or below it; None when there is none."""
        parts = tuple(str(part) for part in path)
        for leaf in sorted(self.leaves):
            shorter = min(len(leaf), len(parts))
            if leaf[:shorter] == parts[:shorter]:
                return leaf
        return None


def managed_scope(home: HermesHome) -> ManagedScope | None:
    """What the administrator of this machine pins for a home; None where there is no such layer."""
    folder = home.administrator
    if folder is None:
        return None
    return ManagedScope(folder, managed_variables(folder), frozenset(_leaves(_tree(folder / "config.yaml"))))


def managed_variables(folder: Path) -> dict[str, str]:
    """The variables of an administrator's ``.env``.

    By Hermes' parser of this one file: no ``export``, no escapes, quotes of either kind cut from both ends.
    """
    try:
        text = (read_optional(folder / ".env") or b"").decode("utf-8")
    except (CanonOpsError, UnicodeDecodeError):
        return {}
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


def _tree(file: Path) -> Mapping[str, object]:
    from canon_ops.hermes.config_file import read_config

    try:
        return read_config(file).tree
    except CanonOpsError:
        return {}


def _leaves(tree: Mapping[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*above, str(name)))
        else:
            yield (*above, str(name))


def _pinned(name: str, file: Path) -> PinnedByAdministrator:
    return PinnedByAdministrator(
        f"The administrator of this machine decides about {name}, in {file}; it is not changed here.",
        fix=f"ask whoever maintains {file}",
        file=str(file),
    )
