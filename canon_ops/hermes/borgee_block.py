"""What Hermes hands to Borgee's adapter of a config.yaml, worked out from the file alone.

The host gives the plugin's hook the platform's own block (the top-level one, else the one below ``gateway.platforms``,
else the one below ``platforms``), lays the result over the merged ``extra``, and adds whether people of a group have
sessions of their own.

Source: Borgee 2.2; hermes-host 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from canon_ops.hermes.config_file import HermesConfig
from canon_ops.settings.borgee import OWN_KEYS, settings_for_host

__all__ = ["SHARED_SESSIONS", "block_path", "borgee_extra", "shared_sessions_path"]

SHARED_SESSIONS = "group_sessions_per_user"
_FALSE = frozenset({"false", "0", "no", "off"})


def borgee_extra(config: HermesConfig) -> dict[str, object]:
    """The settings that the adapter would be made with."""
    extra = _mapping(config.platform("borgee").get("extra"))
    found = _block(config)
    seeded = settings_for_host(config.tree, found[1]) if found is not None else {}
    return {SHARED_SESSIONS: _per_user(config), **extra, **seeded}


def block_path(config: HermesConfig) -> str:
    """Where Borgee's own settings stand, or belong; a top-level block hides the other places."""
    found = _block(config)
    return found[0] if found is not None and any(key in found[1] for key in OWN_KEYS) else "borgee"


def shared_sessions_path(config: HermesConfig) -> str:
    """Where the switch for sessions stands, or belongs: the top level counts before ``gateway``."""
    nested = SHARED_SESSIONS in _mapping(config.tree.get("gateway")) and SHARED_SESSIONS not in config.tree
    return f"gateway.{SHARED_SESSIONS}" if nested else SHARED_SESSIONS


def _block(config: HermesConfig) -> tuple[str, Mapping[str, object]] | None:
    """The block that the host hands over, and its path."""
    gateway = _mapping(_mapping(config.tree.get("gateway")).get("platforms"))
    places = (
        ("borgee", config.tree),
        ("gateway.platforms.borgee", gateway),
        ("platforms.borgee", _mapping(config.tree.get("platforms"))),
    )
    for path, place in places:
        block = place.get("borgee")
        if isinstance(block, Mapping):
            return path, block
    return None


def _per_user(config: HermesConfig) -> bool:
    """As the host takes it: unset and unreadable mean yes."""
    if SHARED_SESSIONS in config.tree:
        value = config.tree[SHARED_SESSIONS]
    else:
        value = _mapping(config.tree.get("gateway")).get(SHARED_SESSIONS)
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() not in _FALSE
    return bool(value)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
