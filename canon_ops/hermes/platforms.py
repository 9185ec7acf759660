"""The platforms that this distribution brings to a Hermes host, and the names each goes by in the host's files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from canon_ops.errors import RefusedError
from canon_ops.hints import TypeVar
from canon_ops.lean import dataclass

__all__ = ["PLATFORMS", "PlatformNames", "row_of"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlatformNames:
    """One platform.

    Attributes:
        name: what ``platforms.<name>`` and the gateway's state call it.
        label: what people call it.
        plugin: the entry-point name, which is what operators put into ``plugins.enabled``.
        package: the import package behind the entry point.
        allow_all_variable, allowlist_variable: who may start turns; None where the platform has no such switch.
        has_block: its settings, the switch among them, stand in a top-level block of its name.
    """

    name: str
    label: str
    plugin: str
    package: str
    allow_all_variable: str | None = None
    allowlist_variable: str | None = None
    has_block: bool = False


PLATFORMS: Mapping[str, PlatformNames] = MappingProxyType(
    {
        "canon": PlatformNames(
            name="canon",
            label="Canon",
            plugin="canon-hermes",
            package="canon_hermes_plugin",
            allow_all_variable="CANON_ALLOW_ALL_USERS",
            allowlist_variable="CANON_ALLOWED_USERS",
        ),
        "borgee": PlatformNames(
            name="borgee", label="Borgee", plugin="borgee", package="borgee_hermes", has_block=True
        ),
    }
)


def row_of(table: Mapping[str, T], name: str, deed: str) -> T:
    """What a table by platforms has for the platform ``name``.

    Args:
        deed: what cannot be done without it, after "to".

    Raises:
        RefusedError: it has nothing; no other platform's row stands in for it.
    """
    if name not in table:
        raise RefusedError(
            f"There is no way to {deed} for the platform {name}.", fix=f"name another: {', '.join(table)}"
        )
    return table[name]
