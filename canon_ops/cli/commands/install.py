"""``canon-ops install``: make the Hermes host run one of our platforms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.setup import SetupReport, report_of, view_of
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Line, Mark, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.errors import UsageError
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.operate.install import InstallOptions, InstallOutcome, install
from canon_ops.operate.setup_answers import SetupAnswers, SetupResult
from canon_ops.operate.setup_canon import SetupPlace, setup_canon

__all__ = ["FileWritten", "HostUsed", "InstallReport", "PackageUsed", "command"]

_PLATFORMS = ["canon"]


@dataclass(frozen=True, slots=True)
class HostUsed:
    """The host that was worked on; ``evidence`` says how it was audited."""

    python: Path
    hermes_version: str | None
    python_version: str
    found: str
    layout: str
    evidence: str


@dataclass(frozen=True, slots=True)
class PackageUsed:
    """Our distribution in that host."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class FileWritten:
    """A file that changed, or would."""

    path: Path
    created: bool
    diff: str


@dataclass(frozen=True, slots=True)
class InstallReport:
    """``data`` of ``canon-ops.install/1``.

    Attributes:
        package: null when ``--skip-package`` left it alone.
        access: what became of the question of who may start turns: kept, everybody, listed, nobody.
        history_id: what ``undo`` takes.
        verified: what the host's own loader confirmed.
        next: commands to paste, in order.
        setup: of ``--setup``.
    """

    platform: str
    host: HostUsed
    package: PackageUsed | None
    access: str
    files: tuple[FileWritten, ...]
    changed: bool
    dry_run: bool
    history_id: str | None
    verified: tuple[str, ...]
    next: tuple[str, ...]
    setup: SetupReport | None


@declare(
    "install",
    data=InstallReport,
    writes=True,
    examples=(
        "canon-ops install --dry-run --diff",
        "canon-ops install canon --setup",
        "canon-ops install --allowed-users user_1,user_2 --no-input",
    ),
)
@click.argument("platforms", metavar="[canon]…", nargs=-1, type=click.Choice(_PLATFORMS))
@click.option(
    "--platform", "more_platforms", multiple=True, type=click.Choice(_PLATFORMS), help="The same as an option."
)
@click.option("--setup", "then_setup", is_flag=True, help="Set up the platform's agent right after.")
@click.option(
    "--python", metavar="PATH", type=click.Path(path_type=Path), envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that is found.",
)  # fmt: skip
@click.option("--skip-package", is_flag=True, help="Edit the configuration only; leave package and import alone.")
@click.option(
    "--allow-all-users/--no-allow-all-users", default=None,
    help="Whether everybody whom the platform lets through may start turns.  [default: yes on a first install]",
)  # fmt: skip
@click.option("--allowed-users", metavar="IDS", help="Only these people may start turns; ids, parted by commas.")
def command(
    context: Context,
    write: WriteOptions,
    platforms: tuple[str, ...],
    more_platforms: tuple[str, ...],
    then_setup: bool,
    python: Path | None,
    skip_package: bool,
    allow_all_users: bool | None,
    allowed_users: str | None,
) -> Result:
    """Make the Hermes host run a platform: plugin enabled, platform enabled, access decided.

    Shows the plan first, carries it out in one transaction, and asks the host whether it loads the plugin. A second
    run changes nothing. On a first install everybody whom Canon lets through may start turns, unless a list or a
    setting is there or --no-allow-all-users is given; no other platform's access is touched.
    """
    people = tuple(part.strip() for part in (allowed_users or "").split(",") if part.strip())
    if allowed_users is not None and not people:
        raise UsageError("--allowed-users names nobody.")
    options = InstallOptions(
        platform=PLATFORMS[({*platforms, *more_platforms} or {context.program.platform or "canon"}).pop()],
        python=python,
        skip_package=skip_package,
        allow_all_users=allow_all_users,
        allowed_users=people,
        consent=context.options.yes,
        expected=write.if_unchanged,
    )
    prompts = context.prompts
    outcome = install(
        context.home,
        context.environ,
        options,
        prompts,
        dry_run=write.dry_run,
    )
    setup: SetupResult | None = None
    if then_setup:
        place = SetupPlace(context.home, context.environ, keyring=context.keyring)
        answers = SetupAnswers(store=context.preferences["keyring.store"])
        setup = setup_canon(place, answers, prompts, dry_run=write.dry_run)
    return Result(
        _report(context, outcome, setup),
        _view(context, outcome, setup, write),
        canon_profile=setup.canon_profile if setup else None,
    )


def _report(context: Context, outcome: InstallOutcome, setup: SetupResult | None) -> InstallReport:
    plan, host = outcome.plan, outcome.plan.host
    return InstallReport(
        platform=plan.options.platform.name,
        host=HostUsed(
            python=host.python,
            hermes_version=host.version,
            python_version=host.facts.python,
            found=host.how.name.lower(),
            layout=host.layout.name.lower(),
            evidence=plan.audited.evidence.value,
        ),
        package=PackageUsed(plan.package.name, plan.package.version) if plan.package else None,
        access=plan.access.value,
        files=tuple(
            FileWritten(change.path, change.before is None, change.diff(mask=context.redact.line))
            for change in plan.changes
        ),
        changed=outcome.changed,
        dry_run=outcome.dry_run,
        history_id=outcome.history_id,
        verified=outcome.verified,
        next=outcome.next_steps,
        setup=report_of(setup) if setup else None,
    )


def _view(context: Context, outcome: InstallOutcome, setup: SetupResult | None, write: WriteOptions) -> list[Block]:
    home, label = context.home, outcome.plan.options.platform.label
    files = ", ".join(str(change.path) for change in outcome.plan.changes) or "no file changes"
    view: list[Block] = [Line(f"Hermes profile {home.profile_name}: {files}")]
    if outcome.dry_run:
        view.append(Line(f"{label} would be installed." if outcome.changed else f"{label} is installed.", Mark.OK))
    else:
        done = f"{label} is installed." if outcome.changed else f"{label} was installed already; nothing changed."
        view.append(Line(done, Mark.OK))
    view += [Line(sentence, Mark.OK) for sentence in outcome.verified]
    if write.diff:
        view += [Diff(change.diff(mask=context.redact.line)) for change in outcome.plan.changes]
    if setup is not None:
        return view + view_of(context, setup, write)
    return view + [Line(f"Next: {step}", for_people_only=True) for step in outcome.next_steps]
