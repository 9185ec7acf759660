"""What the plugin answers when the host asks whether Borgee is set up: look at what is at hand, decide, return.

The host asks at every configuration load, so nothing here opens a connection, touches a keyring or raises: a platform
that cannot be built is not configured, and ``doctor`` and the adapter's connect say why.

Source: Borgee 2.2-2.4, 2.6; decisions C1.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from canon_ops.errors import CanonOpsError
from canon_ops.settings.borgee import read_borgee, settings_for_host
from canon_ops.settings.borgee_key import BorgeeKey, borgee_key
from canon_ops.settings.problems import BorgeeKeyInConfig
from canon_ops.settings.surroundings import Surroundings

__all__ = ["extra_of", "has_key", "is_configured", "key_of", "yaml_settings"]

logger = logging.getLogger(__name__)


def has_key(environ: Mapping[str, str] = os.environ) -> bool:
    """The host's ``check_fn``: whether there is a key, or a reference to one."""
    try:
        key_of(environ)
    except CanonOpsError:
        return False
    return True


def key_of(environ: Mapping[str, str]) -> BorgeeKey:
    """The key of this gateway, into whose environment the home's ``.env`` is merged.

    Raises:
        CanonOpsError: there is none, or its reference is none.
    """
    return borgee_key(Surroundings(environ=dict(environ)))


def is_configured(config: Any) -> bool:
    """The host's ``validate_config``: false wherever the adapter could not be built. Why goes to the log, once."""
    try:
        read_borgee(extra_of(config))
    except CanonOpsError as error:
        _tell_once(str(error))
        return False
    return True


def yaml_settings(config: Any, block: Any) -> dict[str, object]:
    """The host's ``apply_yaml_config_fn``: our settings from the whole file and the platform's own block."""
    return settings_for_host(config if isinstance(config, Mapping) else {}, block if isinstance(block, Mapping) else {})


def extra_of(config: Any) -> dict[str, object]:
    """The settings that the host made its configuration object of."""
    extra = getattr(config, "extra", None)
    return dict(extra) if isinstance(extra, Mapping) else {}


def refuse_key_in(config: Any) -> None:
    """Refuse a key that came by the host's own fields of a platform.

    Raises:
        BorgeeKeyInConfig: naming the place.
    """
    for name in ("api_key", "token"):
        if getattr(config, name, None):
            raise BorgeeKeyInConfig(f"platforms.borgee.{name}", "config.yaml")


@cache
def _tell_once(reason: str) -> None:
    logger.warning("Borgee cannot be used: %s", reason)
