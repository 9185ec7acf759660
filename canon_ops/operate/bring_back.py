"""Putting the package into the host again after an update of Hermes took it out: what ``doctor --fix`` does about it.

The recorded wheel is used, so the operator gets the version that ran before and no index is asked for it. Where the
record has none, it is the running version. Everything else is an ordinary installation, which finds the configuration
as it should be and leaves it.

Source: cases BR-33; hermes-host 2.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platforms import PlatformNames
from canon_ops.operate.install import InstallOptions, InstallOutcome, install
from canon_ops.operate.installation import read_installation
from canon_ops.operate.package.store import PackageStore
from canon_ops.operate.prompts import Prompts

__all__ = ["bring_back"]


def bring_back(
    home: HermesHome,
    environ: Mapping[str, str],
    prompts: Prompts,
    *,
    platform: PlatformNames,
    python: Path | None = None,
    dry_run: bool = False,
) -> InstallOutcome:
    """Install the recorded version again; see :func:`canon_ops.operate.install.install` for the errors."""
    recorded = read_installation(home.path).package
    wheel = PackageStore(home.path).place(recorded.saved) if recorded else None
    source = str(wheel) if wheel is not None and wheel.exists() else None
    options = InstallOptions(platform=platform, python=python, source=source)
    return install(home, environ, options, prompts, dry_run=dry_run)
