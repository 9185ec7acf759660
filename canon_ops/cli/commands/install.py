"""``canon-ops install``: make the Hermes host run one of our platforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.setup import SetupReport, report_of, view_of
from canon_ops.cli.commands.setup_borgee import BorgeeSetupReport, lead_borgee
from canon_ops.cli.commands.setup_borgee import report_of as borgee_report
from canon_ops.cli.commands.setup_borgee import view_of as borgee_view
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Line, Mark, Result
from canon_ops.cli.platform_choice import PLATFORM_CHOICE, platforms_argument
from canon_ops.cli.session import WriteOptions
from canon_ops.errors import UsageError
from canon_ops.files.transaction import FileChange
from canon_ops.hermes.home_need import HomeNeed
from canon_ops.hermes.host_call import OUR_DISTRIBUTION
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames, row_of
from canon_ops.operate.borgee_answers import BorgeeAnswers
from canon_ops.operate.dotenv_diff import change_diff
from canon_ops.operate.install import InstallOptions, InstallOutcome, install
from canon_ops.operate.install_plan import DENIED, FOREIGN, InstallPlan
from canon_ops.operate.package.plan import PackagePlan
from canon_ops.operate.setup_answers import SetupAnswers
from canon_ops.operate.setup_canon import SetupPlace, setup_canon

__all__ = [
    "FileWritten",
    "HostUsed",
    "InstallReport",
    "InstallReports",
    "PackageMove",
    "PackageUsed",
    "PackageVersion",
    "command",
    "files_written",
    "host_used",
    "package_used",
    "platform_of",
    "platforms_of",
]


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
    """Our distribution in that host.

    Attributes:
        step: what happens to it: kept, installed, upgraded, downgraded, reinstalled.
        sha256: of the wheel that is put there; null when it stays.
        origin: where that wheel comes from; null when it stays.
        replaces: what has to go for it.
        moves: what the installer brings or moves besides: before and after, null for absent.
    """

    name: str
    version: str
    step: str
    sha256: str | None
    origin: str | None
    replaces: tuple[PackageVersion, ...]
    moves: tuple[PackageMove, ...]


@dataclass(frozen=True, slots=True)
class PackageVersion:
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class PackageMove:
    name: str
    before: str | None
    after: str | None


def package_used(plan: PackagePlan) -> PackageUsed:
    """A package plan as the documents show it."""
    source = plan.source
    return PackageUsed(
        name=OUR_DISTRIBUTION,
        version=plan.version,
        step=plan.step.value,
        sha256=source.wheel.sha256 if source else None,
        origin=source.told if source else None,
        replaces=tuple(PackageVersion(one.name, one.version) for one in plan.replaces),
        moves=tuple(PackageMove(move.name, move.before, move.after) for move in plan.moves),
    )


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
        setup: of ``--setup`` for Canon; ``borgee_setup`` for Borgee.
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
    borgee_setup: BorgeeSetupReport | None = None


@dataclass(frozen=True, slots=True)
class InstallReports:
    """``data`` of ``canon-ops.install/1`` when several platforms are named: one after the other."""

    platforms: tuple[InstallReport, ...]


def host_used(plan: InstallPlan) -> HostUsed:
    """The host of a plan as the documents show it."""
    host = plan.host
    return HostUsed(
        python=host.python,
        hermes_version=host.version,
        python_version=host.facts.python,
        found=host.how.name.lower(),
        layout=host.layout.name.lower(),
        evidence=plan.audited.evidence.value,
    )


def files_written(context: Context, changes: Sequence[FileChange]) -> tuple[FileWritten, ...]:
    """Changed files as the documents show them, secrets masked."""
    mask = context.redact.line
    return tuple(FileWritten(change.path, change.before is None, change_diff(change, mask)) for change in changes)


def platforms_of(context: Context, told: Sequence[str]) -> tuple[PlatformNames, ...]:
    """The platforms that a call means: those it names, the one of the program's name, or Canon."""
    return tuple(PLATFORMS[name] for name in dict.fromkeys(told)) or (platform_of(context),)


def platform_of(context: Context) -> PlatformNames:
    """The platform of a call that names none."""
    return PLATFORMS[context.program.platform or "canon"]


@declare(
    "install",
    home=HomeNeed.ANY,
    data=InstallReport | InstallReports,
    writes=True,
    examples=(
        "canon-ops install --dry-run --diff",
        "canon-ops install canon --setup",
        "canon-ops install borgee --setup",
        "canon-ops install --python ~/.hermes/hermes-agent/venv",
        "canon-ops install --allowed-users user_1,user_2 --no-input",
    ),
)
@platforms_argument
@click.option("--platform", "more_platforms", multiple=True, type=PLATFORM_CHOICE, help="The same as an option.")
@click.option("--setup", "then_setup", is_flag=True, help="Set up the platform's agent right after.")
@click.option(
    "--python", metavar="PATH", type=click.Path(path_type=Path), envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that is found.",
)  # fmt: skip
@click.option(
    "--source", metavar="WHEEL|DIR|NAME",
    help="What to put into the host's interpreter.  [default: the running version of canon-ops]",
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
    source: str | None,
    skip_package: bool,
    allow_all_users: bool | None,
    allowed_users: str | None,
) -> Result:
    """Make the Hermes host run a platform: package there, plugin enabled, platform enabled, access decided.

    Shows the plan first. Puts canon-ops into the interpreter that runs Hermes, with the installer that it has (pip or
    uv), unless that would move Hermes or anything that it pins; asks the host whether it would load the plugin; then
    edits the files in one transaction. What fails is taken back. A second run changes nothing. A published plugin
    that owns the same packages is replaced with consent, and `rollback` returns to it. On a first install everybody
    whom Canon lets through may start turns, unless a list or a setting is there or --no-allow-all-users is given; no
    other platform's access is touched.
    """
    people = tuple(part.strip() for part in (allowed_users or "").split(",") if part.strip())
    if allowed_users is not None and not people:
        raise UsageError("--allowed-users names nobody.", fix="--allowed-users ID,ID, or --allow-all-users")
    meant = platforms_of(context, (*platforms, *more_platforms))
    if len(meant) > 1 and write.if_unchanged:
        raise UsageError(
            "--if-unchanged goes with one platform: each of them changes the files.", fix="name one platform at a time"
        )
    for names in meant if then_setup else ():
        row_of(_SETUPS, names.name, "set up an agent")  # before anything is installed
    done = []
    for names in meant:
        has_access = names.allow_all_variable is not None or len(meant) == 1
        options = InstallOptions(
            platform=names,
            python=python,
            source=source,
            skip_package=skip_package,
            allow_all_users=allow_all_users if has_access else None,
            allowed_users=people if has_access else (),
            consents=frozenset({DENIED, FOREIGN}) if context.options.yes else frozenset(),
            expected=write.if_unchanged,
        )
        done.append(_install_one(context, options, write, then_setup=then_setup))
    reports = tuple(report for report, _view in done)
    canon_profile = next((report.setup.canon_profile for report in reports if report.setup), None)
    data = reports[0] if len(reports) == 1 else InstallReports(reports)
    return Result(data, [block for _report, view in done for block in view], canon_profile=canon_profile)


def _install_one(
    context: Context, options: InstallOptions, write: WriteOptions, *, then_setup: bool
) -> tuple[InstallReport, list[Block]]:
    """Install one platform and, where that is wanted, set it up."""
    outcome = install(context.home, context.environ, options, context.prompts, dry_run=write.dry_run)
    report, view = _report(context, outcome), _view(context, outcome, write)
    if not then_setup:
        return report, view + [Line(f"Next: {step}", for_people_only=True) for step in outcome.next_steps]
    report, more = _SETUPS[options.platform.name](context, report, write)
    return report, view + more


def _set_up_canon(context: Context, report: InstallReport, write: WriteOptions) -> tuple[InstallReport, list[Block]]:
    place = SetupPlace(context.home, context.environ, keyring=context.keyring)
    answers = SetupAnswers(store=context.preferences["keyring.store"])
    setup = setup_canon(place, answers, context.prompts, dry_run=write.dry_run)
    return replace(report, setup=report_of(setup)), [*view_of(context, setup, write)]


def _set_up_borgee(context: Context, report: InstallReport, write: WriteOptions) -> tuple[InstallReport, list[Block]]:
    made = lead_borgee(context, replace(write, if_unchanged=()), BorgeeAnswers())
    return replace(report, borgee_setup=borgee_report(made)), [*borgee_view(context, made, write)]


_SetUp = Callable[[Context, InstallReport, WriteOptions], tuple[InstallReport, list[Block]]]
_SETUPS: Mapping[str, _SetUp] = {"canon": _set_up_canon, "borgee": _set_up_borgee}


def _report(context: Context, outcome: InstallOutcome) -> InstallReport:
    plan = outcome.plan
    return InstallReport(
        platform=plan.options.platform.name,
        host=host_used(plan),
        package=package_used(plan.package) if plan.package else None,
        access=plan.access.value,
        files=files_written(context, plan.changes),
        changed=outcome.changed,
        dry_run=outcome.dry_run,
        history_id=outcome.history_id,
        verified=outcome.verified,
        next=outcome.next_steps,
        setup=None,
    )


def _view(context: Context, outcome: InstallOutcome, write: WriteOptions) -> list[Block]:
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
        view += [Diff(change_diff(change, context.redact.line)) for change in outcome.plan.changes]
    return view
