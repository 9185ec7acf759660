"""Borgee's settings: one block of config.yaml, checked; and the hook through which Hermes hands them to its adapter.

Hermes calls :func:`settings_for_host` with the whole parsed file at every configuration load; what it returns becomes
the ``extra`` of the platform. :func:`read_borgee` makes checked options of that, :func:`startup_refusal` says why a
gateway with these settings must not connect. The key is not here (:mod:`canon_ops.settings.borgee_key`): a key in
config.yaml is never read, only noticed and refused.

Source: Borgee 2.1-2.5; W9, W10, W23.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from canon_ops.lean import dataclass
from canon_ops.settings.problems import (
    BadBorgeeOption,
    BadEndpoint,
    BorgeeAddressMissing,
    BorgeeKeyInConfig,
    BorgeeUnshared,
)
from canon_ops.settings.provenance import Origin, Source

__all__ = [
    "BUSY_MODE",
    "DRAIN_S",
    "KEY_NAMES",
    "MAX_DISPATCHES",
    "OWN_KEYS",
    "REFUSED_KEYS",
    "BorgeeOptions",
    "canonical_origin",
    "read_borgee",
    "settings_for_host",
    "startup_refusal",
]

MAX_DISPATCHES: Final = 32
DISPATCHES: Final = 4
DRAIN_S: Final = 30.0
MAX_DRAIN_S: Final = 600.0

OWN_KEYS: Final = (
    "base_url",
    "agent_id",
    "allow_insecure_loopback",
    "max_concurrent_dispatches",
    "drain_timeout_seconds",
)
KEY_NAMES: Final = ("api_key", "token")
MULTIPLEX: Final = "_multiplex_profiles"
BUSY_MODE: Final = "_busy_input_mode"
REFUSED_KEYS: Final = "_refused_keys"

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class BorgeeOptions:
    """What an adapter needs to know.

    Attributes:
        origin: the server in its canonical form: ``https://chat.example.com``, ``http://[::1]:4901``.
        allow_insecure_loopback: plain http to this very machine is fine.
        agent_id: the only agent to run as; empty when any will do.
        max_concurrent_dispatches: turns at the same time, 1 to 32.
        drain_timeout_s: how long a stop waits for running turns.
    """

    origin: str
    allow_insecure_loopback: bool = False
    agent_id: str = ""
    max_concurrent_dispatches: int = DISPATCHES
    drain_timeout_s: float = DRAIN_S


def read_borgee(extra: Mapping[str, object], *, config_file: str = "config.yaml") -> BorgeeOptions:
    """Check the settings of an adapter; null means the default everywhere.

    Raises:
        BorgeeAddressMissing: nobody has said where the server is.
        BadBorgeeOption, BadEndpoint: a value that cannot be used.
    """
    if extra.get("base_url") in (None, ""):
        raise BorgeeAddressMissing(config_file)
    loopback = _is_true(extra.get("allow_insecure_loopback"))
    return BorgeeOptions(
        origin=canonical_origin(
            extra.get("base_url"), allow_insecure_loopback=loopback, place=_place("base_url", config_file)
        ),
        allow_insecure_loopback=loopback,
        agent_id=_agent_id(extra.get("agent_id"), config_file),
        max_concurrent_dispatches=_dispatches(extra.get("max_concurrent_dispatches"), config_file),
        drain_timeout_s=_drain(extra.get("drain_timeout_seconds"), config_file),
    )


def canonical_origin(value: object, *, allow_insecure_loopback: bool, place: Origin | None = None) -> str:
    """Check a server's address and bring it to the one form in which it is compared.

    Plain http is for this machine alone, and only on request: the key goes over that connection.

    Raises:
        BadEndpoint: it is no such address.
    """
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        raise BadEndpoint("Borgee address", repr(value), "it must be the https origin of a Borgee server", place)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as exc:
        raise BadEndpoint("Borgee address", repr(_without_secrets(text)), "it is not a URL", place) from exc
    shown = f"{parts.scheme}://{host}"
    if any(character.isspace() or not character.isprintable() for character in text):
        raise BadEndpoint("Borgee address", repr(shown), "it has white space or control characters", place)
    if parts.username is not None or parts.password is not None:
        raise BadEndpoint("Borgee address", shown, "it holds a user name or password", place)
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise BadEndpoint("Borgee address", repr(_without_secrets(text)), "it must be an http(s) origin", place)
    if parts.path not in ("", "/") or "?" in text or "#" in text:
        raise BadEndpoint("Borgee address", f"{shown}…", "it has a path, a query or a fragment", place)
    if parts.scheme == "http" and not (allow_insecure_loopback and _is_loopback(host)):
        why = "plain http is only for this machine, and only with borgee.allow_insecure_loopback: true"
        raise BadEndpoint("Borgee address", shown, why, place)
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}" + ("" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}")


def _without_secrets(text: str) -> str:
    """What may be shown of a text that is no address: nothing before an ``@``, nothing behind ``?`` or ``#``."""
    return text.rpartition("@")[2].partition("?")[0].partition("#")[0]


def settings_for_host(config: Mapping[str, object], block: Mapping[str, object]) -> dict[str, object]:
    """What the adapter gets of the configuration; the hook that Hermes calls.

    Args:
        config: the whole parsed config.yaml.
        block: the platform's own block.
    """
    own = {name: block[name] for name in OWN_KEYS if name in block}
    return {
        **own,
        MULTIPLEX: _multiplexes(config),
        BUSY_MODE: _busy_mode(config, block),
        REFUSED_KEYS: _keys_in(config, block),
    }


def startup_refusal(
    extra: Mapping[str, object], *, config_file: str = "config.yaml"
) -> BorgeeKeyInConfig | BorgeeUnshared | None:
    """Why a gateway with these settings must not connect Borgee, or None; the checks in the order of Borgee 2.5."""
    refused = extra.get(REFUSED_KEYS)
    places = [str(name) for name in refused] if isinstance(refused, list | tuple) else []
    places += [f"platforms.borgee.extra.{name}" for name in KEY_NAMES if extra.get(name)]
    if places:
        return BorgeeKeyInConfig(places[0], config_file)
    if extra.get("group_sessions_per_user") is not False:
        return BorgeeUnshared(
            "group_sessions_per_user", "false", "everybody in a channel shares one session", config_file
        )
    if extra.get(MULTIPLEX):
        return BorgeeUnshared("gateway.multiplex_profiles", "false", "one process serves one Borgee agent", config_file)
    if extra.get(BUSY_MODE) != "queue":
        why = "messages wait in Borgee's own durable queue"
        return BorgeeUnshared("display.busy_input_mode", "queue", why, config_file)
    return None


def _multiplexes(config: Mapping[str, object]) -> bool:
    if config.get("multiplex_profiles") is not None:
        return _is_true(config["multiplex_profiles"])
    return _is_true(_mapping(config.get("gateway")).get("multiplex_profiles"))


def _busy_mode(config: Mapping[str, object], block: Mapping[str, object]) -> str:
    for place in (block, config):
        mode = _mapping(place.get("display")).get("busy_input_mode")
        if mode is not None and str(mode).strip():
            return str(mode).strip().lower()
    return ""


def _keys_in(config: Mapping[str, object], block: Mapping[str, object]) -> list[str]:
    """Where config.yaml holds a key of Borgee's; the names of the places, never the key."""
    platform = _mapping(_mapping(config.get("platforms")).get("borgee"))
    gateway = _mapping(_mapping(_mapping(config.get("gateway")).get("platforms")).get("borgee"))
    own = _mapping(config.get("borgee"))
    places = {
        "borgee": own,
        "borgee.extra": _mapping(own.get("extra")),
        "platforms.borgee": platform,
        "platforms.borgee.extra": _mapping(platform.get("extra")),
        "gateway.platforms.borgee": gateway,
        "gateway.platforms.borgee.extra": _mapping(gateway.get("extra")),
    }
    found = [f"{place}.{name}" for place, values in places.items() for name in KEY_NAMES if values.get(name)]
    return found or [f"borgee.{name}" for name in KEY_NAMES if block.get(name)]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _is_true(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _TRUE
    return value is True or (isinstance(value, int) and value == 1)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _agent_id(value: object, config_file: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadBorgeeOption("agent_id", value, "text", _place("agent_id", config_file))
    return value.strip()


def _dispatches(value: object, config_file: str) -> int:
    if value is None:
        return DISPATCHES
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DISPATCHES:
        allowed = f"a whole number from 1 to {MAX_DISPATCHES}"
        place = _place("max_concurrent_dispatches", config_file)
        raise BadBorgeeOption("max_concurrent_dispatches", value, allowed, place)
    return value


def _drain(value: object, config_file: str) -> float:
    if value is None:
        return DRAIN_S
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_DRAIN_S:
        allowed = f"a number of seconds above 0, at most {MAX_DRAIN_S:g}"
        place = _place("drain_timeout_seconds", config_file)
        raise BadBorgeeOption("drain_timeout_seconds", value, allowed, place)
    return float(value)


def _place(name: str, config_file: str) -> Origin:
    return Origin(Source.CONFIG, f"borgee.{name}", config_file)
