"""Putting a newer version of this package into the hosts that have one; the configuration is not touched.

It is an installation without edits: the same dry run, the same refusals, the same verification, the same record, so
``rollback`` returns to the version before. An older version is never put in place of a newer one.

What is verified are the platforms that the home has (``served``): a home with Borgee alone is not asked about Canon.

Several Hermes profiles often share one environment, hence one version (hermes-host 2.3). With ``all_profiles`` every
profile that enables a plugin of ours is upgraded; the second one of a shared environment finds the work done and only
has it verified and recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from canon_ops.errors import CanonOpsError, NotFoundError
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.hermes.host_call import OUR_DISTRIBUTION
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.install import InstallOutcome, carry_out
from canon_ops.operate.install_plan import InstallOptions, InstallPlan, audited_host, unfinished_in
from canon_ops.operate.installation import read_installation
from canon_ops.operate.interrupted import finish_pending
from canon_ops.operate.package.plan import plan_package
from canon_ops.operate.platform_files import Access
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.served import platforms_served

__all__ = ["NothingInstalled", "UpgradeOptions", "homes_that_enable", "upgrade"]


class NothingInstalled(NotFoundError):
    """There is no canon-ops in that host to upgrade."""

    code = "package_not_installed"


@dataclass(frozen=True, slots=True)
class UpgradeOptions:
    """What the caller decided beforehand.

    Attributes:
        platform: whom the advice is for where nothing of ours is installed.
        source: a wheel, a folder, a name; None for the running version.
    """

    platform: PlatformNames = PLATFORMS["canon"]
    python: Path | None = None
    source: str | None = None


def upgrade(
    home: HermesHome,
    environ: Mapping[str, str],
    options: UpgradeOptions,
    prompts: Prompts,
    *,
    dry_run: bool = False,
) -> InstallOutcome:
    """Plan, show, carry out, verify, for one Hermes profile.

    Raises:
        NothingInstalled: there is nothing to upgrade.
        HostRefused, PackageConflict, ManagedHome and the others of :func:`canon_ops.operate.install.install`.
    """
    if not dry_run:
        finish_pending(home)
    plan = _plan(home, environ, options, prompts)
    for sentence in plan.sentences():
        prompts.note(sentence)
    if dry_run:
        return InstallOutcome(plan, True, None, (), ())
    return carry_out(plan, environ, prompts, command="upgrade")


def homes_that_enable(home: HermesHome, environ: Mapping[str, str]) -> tuple[HermesHome, ...]:
    """``home`` and every other home below its root that enables a plugin of ours."""
    plugins = {names.plugin for names in PLATFORMS.values()}
    found = [home]
    folders = [home.root, *sorted((home.root / "profiles").glob("*/"))]
    for folder in folders:
        with suppress(CanonOpsError):
            enabled = read_config(folder / "config.yaml").enabled_plugins or ()
            if plugins & {*enabled} and folder.absolute() != home.path:
                found.append(resolve_home(environ, hermes_home=folder))
    return tuple(found)


def _plan(home: HermesHome, environ: Mapping[str, str], options: UpgradeOptions, prompts: Prompts) -> InstallPlan:
    if (managed := refuse_managed(home)) is not None:
        raise managed
    with prompts.progress("Looking at the host, and at what its installer would do"):
        host, audited = audited_host(home, environ, options.python)
        unfinished = unfinished_in(host, home)
        if host.facts.ours is None and OUR_DISTRIBUTION not in unfinished:
            raise NothingInstalled(
                f"{OUR_DISTRIBUTION} is not installed in {host.python}; there is nothing to upgrade.",
                fix=home.own_command(f"install {options.platform.name}"),
            )
        package = plan_package(host, environ, source=options.source, newer_only=True, unfinished=unfinished)
    serves = platforms_served(home, read_installation(home.path)) or (options.platform,)
    installing = InstallOptions(platform=serves[0], python=options.python, source=options.source, package_for=serves)
    return InstallPlan(home, host, audited, installing, package, Access.KEPT, False, False, (), {})
