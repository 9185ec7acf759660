"""Whether a platform of a home has been told whom to be; ``install`` and ``status`` then name the next step."""

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
from canon_ops.settings.credentials import resolve

__all__ = ["is_set_up", "setup_lack"]


def is_set_up(home: HermesHome, environ: Mapping[str, str], names: PlatformNames) -> bool:
    """Whether ``setup`` has nothing left to ask for this platform."""
    return setup_lack(home, environ, names) is None


def setup_lack(home: HermesHome, environ: Mapping[str, str], names: PlatformNames) -> CanonOpsError | None:
    """What keeps this platform from being somebody, as the error that its adapter would refuse to start with."""
    try:
        surroundings = surroundings_from_disk(home.path, environ)
        if names.name == "canon":
            resolve(surroundings)
            return None
        extra = borgee_extra(read_config(home.config_file))
        read_borgee(extra, config_file=str(home.config_file))
        borgee_key(surroundings)
    except CanonOpsError as error:
        return error
    return startup_refusal(extra, config_file=str(home.config_file))
