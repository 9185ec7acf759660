"""``canon-ops upgrade``: a newer version of this package in the host."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.install import HostUsed, PackageUsed, host_used, package_used, platform_of
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Line, Mark, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.operate.install import InstallOutcome
from canon_ops.operate.upgrade import UpgradeOptions, homes_that_enable, upgrade

__all__ = ["UpgradeReport", "UpgradedProfile", "command"]


@dataclass(frozen=True, slots=True)
class UpgradedProfile:
    """One Hermes profile's host.

    Attributes:
        changed: the package was, or would be, put there anew; false when an earlier profile of this call shares it.
    """

    hermes_profile: str
    hermes_home: Path
    host: HostUsed
    package: PackageUsed | None
    changed: bool
    history_id: str | None
    verified: tuple[str, ...]
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """``data`` of ``canon-ops.upgrade/1``."""

    profiles: tuple[UpgradedProfile, ...]
    changed: bool
    dry_run: bool


@declare(
    "upgrade",
    data=UpgradeReport,
    writes=True,
    examples=("canon-ops upgrade --dry-run", "canon-ops upgrade --source ./canon_ops-0.2.0-py3-none-any.whl"),
)
@click.option(
    "--python", metavar="PATH", type=click.Path(path_type=Path), envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that is found.",
)  # fmt: skip
@click.option(
    "--source", metavar="WHEEL|DIR|NAME",
    help="What to put into the host's interpreter.  [default: the running version of canon-ops]",
)  # fmt: skip
@click.option(
    "--all-profiles", is_flag=True, help="Every Hermes profile that enables a plugin of ours, one after the other."
)
def command(
    context: Context, write: WriteOptions, python: Path | None, source: str | None, all_profiles: bool
) -> Result:
    """Put a newer version of this package into the interpreter that runs Hermes.

    The configuration stays as it is. Refused is what does not fit the host, and what is older than the version there;
    `rollback` returns to the version before.
    """
    options = UpgradeOptions(platform_of(context), python, source)
    every = homes_that_enable(context.home, context.environ) if all_profiles else ()
    homes = every or (context.home,)
    for home in homes:
        write.expected_of(home.config_file, home.env_file)
    outcomes = [upgrade(home, context.environ, options, context.prompts, dry_run=write.dry_run) for home in homes]
    report = UpgradeReport(
        profiles=tuple(map(_profile, outcomes)),
        changed=any(outcome.changed for outcome in outcomes),
        dry_run=write.dry_run,
    )
    return Result(report, [block for outcome in outcomes for block in _view(outcome)])


def _profile(outcome: InstallOutcome) -> UpgradedProfile:
    plan = outcome.plan
    return UpgradedProfile(
        hermes_profile=plan.home.profile_name,
        hermes_home=plan.home.path,
        host=host_used(plan),
        package=package_used(plan.package) if plan.package else None,
        changed=outcome.changed,
        history_id=outcome.history_id,
        verified=outcome.verified,
        next=outcome.next_steps,
    )


def _view(outcome: InstallOutcome) -> list[Block]:
    plan, package = outcome.plan, outcome.plan.package
    view: list[Block] = [Line(f"Hermes profile {plan.home.profile_name}: no file changes ({plan.host.python})")]
    if package is not None and package.is_change:
        word = f"would be {package.step.value}" if outcome.dry_run else f"is {package.step.value}"
        view.append(Line(f"canon-ops {package.version} {word}.", Mark.OK))
    elif package is not None:
        view.append(Line(f"canon-ops {package.version} stays; {package.because}.", Mark.OK))
    view += [Line(sentence, Mark.OK) for sentence in outcome.verified]
    return view + [Line(f"Next: {step}", for_people_only=True) for step in outcome.next_steps]
