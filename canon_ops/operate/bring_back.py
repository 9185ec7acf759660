"""Putting the package into the host again after an update of Hermes took it out: what ``doctor --fix`` does about it.

The package and nothing else: no platform is switched on, no access is opened, for a repair is no wish for either
(decision record 0038). The recorded wheel is used, so the operator gets the version that ran before and no index is
asked for it. Where the record has none, it is the running version.

Source: cases BR-33; hermes-host 2.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from canon_ops.errors import RefusedError
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.install import InstallOptions, InstallOutcome, install
from canon_ops.operate.installation import read_installation
from canon_ops.operate.package.store import PackageStore
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.served import platforms_served

__all__ = ["NothingToBringBack", "bring_back"]


class NothingToBringBack(RefusedError):
    """No platform of ours was ever wanted in this home, so there is nobody to bring the package back for."""

    code = "nothing_to_bring_back"


def bring_back(
    home: HermesHome,
    environ: Mapping[str, str],
    prompts: Prompts,
    *,
    python: Path | None = None,
    dry_run: bool = False,
) -> InstallOutcome:
    """Put the recorded version into the host again, for the platforms that the record names.

    Raises:
        NothingToBringBack: neither the record nor plugins.enabled names one.
        and as :func:`canon_ops.operate.install.install`.
    """
    record = read_installation(home.path)
    serves = platforms_served(home, record)
    if not serves:
        raise NothingToBringBack(
            f"No platform of ours is recorded or enabled in {home.path}.", fix=home.own_command("install canon")
        )
    wheel = PackageStore(home.path).place(record.package.saved) if record.package else None
    source = str(wheel) if wheel is not None and wheel.exists() else None
    options = InstallOptions(platform=serves[0], python=python, source=source, package_for=serves)
    return install(home, environ, options, prompts, dry_run=dry_run, command="doctor --fix")
