"""Whether a platform of a home has been told whom to be: what ``install`` asks before it names the next step."""

from __future__ import annotations

from collections.abc import Mapping

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.borgee_block import borgee_extra
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platforms import PlatformNames
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.settings.borgee import read_borgee, startup_refusal
from canon_ops.settings.borgee_key import borgee_key
from canon_ops.settings.credentials import is_configured

__all__ = ["is_set_up"]


def is_set_up(home: HermesHome, environ: Mapping[str, str], names: PlatformNames) -> bool:
    """Whether ``setup`` has nothing left to ask for this platform."""
    surroundings = surroundings_from_disk(home.path, environ)
    if names.name == "canon":
        return is_configured(surroundings)
    try:
        extra = borgee_extra(read_config(home.config_file))
        read_borgee(extra)
        borgee_key(surroundings)
    except CanonOpsError:
        return False
    return startup_refusal(extra) is None
