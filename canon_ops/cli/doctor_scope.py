"""Which questions concern a home: one that serves Borgee alone is not asked about Canon.

Only where somebody chose no checks, and where nothing of Canon is there: no plugin in a list, no switch, no credential.
In doubt everything is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from canon_ops.doctor.check import Check
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.settings.credentials import resolve
from canon_ops.settings.problems import NotConfigured

__all__ = ["concerning", "serves_borgee_alone"]

_AREAS_OF_CANON: Final = frozenset({"canon", "approvals", "registration", "net"})
_OF_CANON: Final = frozenset(
    {
        "host.contract", "plugin.entry_point", "plugin.import", "plugin.enabled", "plugin.denied", "platform.enabled",
        "env.open_access", "creds.present", "creds.binding", "creds.accepted", "creds.ambiguous", "gateway.running",
        "gateway.hooks", "settings.streaming", "settings.display",
    }
)  # fmt: skip


def concerning(home: HermesHome, environ: Mapping[str, str], checks: Sequence[Check]) -> tuple[Check, ...]:
    """The checks that are asked about ``home`` when nobody chose any."""
    if not serves_borgee_alone(home, environ):
        return tuple(checks)
    return tuple(check for check in checks if check.area not in _AREAS_OF_CANON and check.id not in _OF_CANON)


def serves_borgee_alone(home: HermesHome, environ: Mapping[str, str]) -> bool:
    """Whether Borgee is enabled here, and nothing of Canon is; a home that cannot be read is not known to."""
    canon, borgee = PLATFORMS["canon"], PLATFORMS["borgee"]
    try:
        config = read_config(home.config_file)
        if borgee.plugin not in (config.enabled_plugins or ()):
            return False
        listed = (*(config.enabled_plugins or ()), *config.disabled_plugins)
        if canon.plugin in listed or config.platform_switch(canon.name) is True:
            return False
        resolve(surroundings_from_disk(home.path, environ))
    except NotConfigured:
        return True
    except CanonOpsError:  # somebody began, and it is damaged or incomplete
        return False
    return False
