"""``canon-ops uninstall``: take an installation back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.install import FileWritten, files_written, platforms_of
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Line, Mark, Result
from canon_ops.cli.platform_choice import platforms_argument
from canon_ops.cli.session import WriteOptions
from canon_ops.errors import UsageError
from canon_ops.operate.dotenv_diff import change_diff
from canon_ops.operate.uninstall import UninstallOptions, UninstallOutcome, uninstall

__all__ = ["UninstallReport", "UninstallReports", "command"]


@dataclass(frozen=True, slots=True)
class UninstallReport:
    """``data`` of ``canon-ops.uninstall/1``.

    Attributes:
        python: the host's interpreter; null when no host was found.
        removed: the distributions that leave the host.
        kept: why our package stays there; null when it goes, or is not there.
        purged_profile: the Canon profile that goes with ``--purge``.
        kept_profile: why the Canon profile in force stays although ``--purge`` was given; null when it does not.
        left_behind: why a purged key is still somewhere.
        history_id: what ``undo`` takes.
        next: commands to paste, in order.
    """

    platform: str
    python: Path | None
    removed: tuple[str, ...]
    kept: str | None
    purged_profile: str | None
    files: tuple[FileWritten, ...]
    changed: bool
    dry_run: bool
    history_id: str | None
    next: tuple[str, ...]
    left_behind: tuple[str, ...]
    kept_profile: str | None = None


@dataclass(frozen=True, slots=True)
class UninstallReports:
    """``data`` of ``canon-ops.uninstall/1`` when several platforms are named: one after the other."""

    platforms: tuple[UninstallReport, ...]


@declare(
    "uninstall",
    data=UninstallReport | UninstallReports,
    writes=True,
    examples=("canon-ops uninstall --dry-run --diff", "canon-ops uninstall canon", "canon-ops uninstall --purge --yes"),
)
@platforms_argument
@click.option(
    "--python", metavar="PATH", type=click.Path(path_type=Path), envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that is found.",
)  # fmt: skip
@click.option("--skip-package", is_flag=True, help="Take back the configuration only; leave the package.")
@click.option(
    "--purge",
    is_flag=True,
    help="Take the platform's credentials too: its variables, its Canon profile, keyring and history included.",
)
def command(
    context: Context,
    write: WriteOptions,
    platforms: tuple[str, ...],
    python: Path | None,
    skip_package: bool,
    purge: bool,
) -> Result:
    """Take an installation back: what was written leaves the files, what was brought leaves the host.

    A file that nobody wrote since is byte for byte what it was before `install`; in any other, our own lines go and
    the rest stays. The package stays while another Hermes profile enables a plugin of it. Credentials stay unless
    --purge is given, which asks first.
    """
    meant = platforms_of(context, platforms)
    if len(meant) > 1 and write.if_unchanged:
        raise UsageError(
            "--if-unchanged goes with one platform: each of them changes the files.", fix="name one platform at a time"
        )
    done = []
    for names in reversed(meant):  # what was installed last leaves first, and lists that it made go with it
        options = UninstallOptions(
            platform=names, python=python, purge=purge, skip_package=skip_package, expected=write.if_unchanged
        )
        done.append(
            uninstall(
                context.home, context.environ, options, context.prompts, keyring=context.keyring, dry_run=write.dry_run
            )
        )
    reports = tuple(_report(context, outcome) for outcome in done)
    view = [block for outcome in done for block in _view(context, outcome, write)]
    return Result(reports[0] if len(reports) == 1 else UninstallReports(reports), view)


def _report(context: Context, outcome: UninstallOutcome) -> UninstallReport:
    plan = outcome.plan
    return UninstallReport(
        platform=plan.options.platform.name,
        python=plan.host.python if plan.host else None,
        removed=plan.removes,
        kept=plan.keeps_package or None,
        purged_profile=plan.purged[0] if plan.purged else None,
        files=files_written(context, plan.files),
        changed=outcome.changed,
        dry_run=outcome.dry_run,
        history_id=outcome.history_id,
        next=outcome.next_steps,
        left_behind=outcome.left_behind,
        kept_profile=plan.keeps_profile or None,
    )


def _view(context: Context, outcome: UninstallOutcome, write: WriteOptions) -> list[Block]:
    plan, home = outcome.plan, context.home
    label = plan.options.platform.label
    files = ", ".join(str(change.path) for change in plan.files) or "no file changes"
    view: list[Block] = [Line(f"Hermes profile {home.profile_name}: {files}")]
    if not outcome.changed:
        view.append(Line(f"{label} is not installed here; nothing to take back.", Mark.OK))
    else:
        view.append(Line(f"{label} {'would be' if outcome.dry_run else 'is'} uninstalled.", Mark.OK))
    if plan.removes:
        view.append(Line(f"{'To be removed' if outcome.dry_run else 'Removed'}: {', '.join(plan.removes)}."))
    if plan.keeps_package:
        view.append(Line(f"{plan.keeps_package}.", Mark.INFO))
    if plan.keeps_profile:
        view.append(Line(f"{plan.keeps_profile[0].upper()}{plan.keeps_profile[1:]}.", Mark.INFO))
    view += [Line(sentence, Mark.WARNING) for sentence in outcome.left_behind]
    if write.diff:
        view += [Diff(change_diff(change, context.redact.line)) for change in plan.files]
    return view + [Line(f"Next: {step}", for_people_only=True) for step in outcome.next_steps]
