"""Whether a platform of a home has been told whom to be; ``install`` and ``status`` then name the next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.borgee_block import borgee_extra
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platforms import PlatformNames, row_of
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.settings.borgee import read_borgee, startup_refusal
from canon_ops.settings.borgee_key import borgee_key
from canon_ops.settings.credentials import resolve
from canon_ops.settings.surroundings import Surroundings

__all__ = ["is_set_up", "setup_lack"]


def is_set_up(home: HermesHome, environ: Mapping[str, str], names: PlatformNames) -> bool:
    """Whether ``setup`` has nothing left to ask for this platform."""
    return setup_lack(home, environ, names) is None


def setup_lack(home: HermesHome, environ: Mapping[str, str], names: PlatformNames) -> CanonOpsError | None:
    """What keeps this platform from being somebody, as the error that its adapter would refuse to start with."""
    try:
        lack_of = row_of(_LACKS, names.name, "say whether an agent is set up")
        return lack_of(home, surroundings_from_disk(home.path, environ))
    except CanonOpsError as error:
        return error


def _canon_lack(_home: HermesHome, surroundings: Surroundings) -> None:
    resolve(surroundings)


def _borgee_lack(home: HermesHome, surroundings: Surroundings) -> CanonOpsError | None:
    file = str(home.config_file)
    extra = borgee_extra(read_config(home.config_file))
    read_borgee(extra, config_file=file)
    borgee_key(surroundings)
    return startup_refusal(extra, config_file=file)


_Lack = Callable[[HermesHome, Surroundings], CanonOpsError | None]
_LACKS: Mapping[str, _Lack] = {"canon": _canon_lack, "borgee": _borgee_lack}
