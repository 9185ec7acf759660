"""All checks, in the order in which a person would look: the host first, the gateway last."""

from __future__ import annotations

from collections.abc import Sequence

from canon_ops.doctor.check import Check
from canon_ops.doctor.checks import (
    access,
    comments,
    completion,
    config,
    config_file,
    config_text,
    credentials,
    disk,
    env_file,
    gateway,
    host,
    interrupted,
    live,
    network,
    plugin,
    probe,
    registration,
    settings,
    stores,
)
from canon_ops.errors import UsageError

__all__ = ["CHECKS", "LIVE_CHECKS", "PROBE_CHECKS", "NothingToAsk", "UnknownCheck", "areas", "select"]

CHECKS: tuple[Check, ...] = (
    *host.CHECKS,
    *plugin.CHECKS,
    *config.CHECKS,
    *interrupted.CHECKS,
    *comments.CHECKS,
    *config_file.CHECKS,
    *config_text.CHECKS,
    *env_file.CHECKS,
    *settings.CHECKS,
    *access.CHECKS,
    *credentials.CHECKS,
    *stores.CHECKS,
    *registration.CHECKS,
    *network.CHECKS,
    *gateway.CHECKS,
    *disk.CHECKS,
    *completion.CHECKS,
)
LIVE_CHECKS: tuple[Check, ...] = live.CHECKS
"""Those that people see something of; asked only when somebody wants that."""
PROBE_CHECKS: tuple[Check, ...] = probe.PROBE_CHECKS
"""Those that a supervisor asks; asked only by name or area."""


class UnknownCheck(UsageError):
    """An id or an area that no check has."""

    code = "check_unknown"


class NothingToAsk(UsageError):
    """What is wanted and what is skipped leave no check."""

    code = "check_none"


def areas(checks: Sequence[Check] = CHECKS) -> tuple[str, ...]:
    """The areas, in the order of the checks."""
    return tuple(dict.fromkeys(check.area for check in checks))


def select(
    only: Sequence[str] = (), skip: Sequence[str] = (), area: Sequence[str] = (), *, checks: Sequence[Check] = CHECKS
) -> tuple[Check, ...]:
    """The checks that a call means, in the order of the registry: those named or of a named area, less those skipped.

    Raises:
        UnknownCheck: a name that no check, or no area, has.
        NothingToAsk: no check is left.
    """
    ids = {check.id for check in checks}
    for name in (*only, *skip):
        if name not in ids:
            raise UnknownCheck(f"There is no check {name!r}.", fix="canon-ops doctor --list")
    for name in area:
        if name not in areas(checks):
            raise UnknownCheck(
                f"There is no area {name!r}; areas are {', '.join(areas(checks))}.", fix="canon-ops doctor --list"
            )
    wanted = [check for check in checks if not (only or area) or check.id in only or check.area in area]
    left = tuple(check for check in wanted if check.id not in skip)
    if not left:
        raise NothingToAsk(
            "Every check that is wanted is skipped, too; nothing is left to ask.", fix="leave out --skip"
        )
    return left
