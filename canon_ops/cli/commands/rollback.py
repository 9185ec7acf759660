"""``canon-ops rollback``: the package and the configuration from before the newest install or upgrade."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.install import FileWritten, PackageVersion, files_written
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Line, Mark, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.operate.dotenv_diff import change_diff
from canon_ops.operate.rollback import RollbackOptions, RollbackOutcome, rollback

__all__ = ["RollbackReport", "command"]


@dataclass(frozen=True, slots=True)
class RollbackReport:
    """``data`` of ``canon-ops.rollback/1``.

    Attributes:
        before: the command that is taken back; null for one that was interrupted.
        python: the host's interpreter; null when no package is touched.
        returned: the distributions that come back into the host.
        removed: the distributions that leave it.
        kept: why the host's packages stay although the command had changed them; null when they do not.
        history_id: what ``undo`` takes.
        next: commands to paste, in order.
    """

    before: str | None
    python: Path | None
    returned: tuple[PackageVersion, ...]
    removed: tuple[str, ...]
    files: tuple[FileWritten, ...]
    dry_run: bool
    history_id: str | None
    next: tuple[str, ...]
    kept: str | None = None


@declare(
    "rollback",
    data=RollbackReport,
    writes=True,
    examples=("canon-ops rollback --dry-run --diff", "canon-ops rollback --yes"),
)
@click.option(
    "--python", metavar="PATH", type=click.Path(path_type=Path), envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that was recorded.",
)  # fmt: skip
@click.option("--skip-package", is_flag=True, help="Take back the configuration only; leave the package.")
def command(context: Context, write: WriteOptions, python: Path | None, skip_package: bool) -> Result:
    """Go back before the newest install or upgrade: its package and its configuration.

    What it took out of the host was kept and is put back, a published plugin of another name too; its lines leave the
    files. Doing it again goes one run further back. The package stays while another Hermes profile needs a plugin of
    it that would be missing.
    """
    options = RollbackOptions(python, skip_package, write.if_unchanged)
    outcome = rollback(context.home, context.environ, options, context.prompts, dry_run=write.dry_run)
    plan = outcome.plan
    report = RollbackReport(
        before=plan.run.command if plan.run else None,
        python=plan.host.python if plan.host else None,
        returned=tuple(PackageVersion(one.name, one.version) for one in plan.returns),
        removed=plan.leaves,
        files=files_written(context, plan.changes),
        dry_run=outcome.dry_run,
        history_id=outcome.history_id,
        next=outcome.next_steps,
        kept=plan.keeps_package or None,
    )
    return Result(report, _view(context, outcome, write))


def _view(context: Context, outcome: RollbackOutcome, write: WriteOptions) -> list[Block]:
    plan, home = outcome.plan, context.home
    files = ", ".join(str(change.path) for change in plan.changes) or "no file changes"
    what = plan.run.command if plan.run else "a command that was interrupted"
    view: list[Block] = [
        Line(f"Hermes profile {home.profile_name}: {files}"),
        Line(f"{'This would go' if outcome.dry_run else 'Back'} before {what}.", Mark.OK),
    ]
    if plan.keeps_package:
        view.append(Line(f"{plan.keeps_package[0].upper()}{plan.keeps_package[1:]}.", Mark.INFO))
    if plan.returns:
        view.append(Line(f"Back in the host: {', '.join(map(str, plan.returns))}."))
    if plan.leaves:
        view.append(Line(f"Out of the host: {', '.join(plan.leaves)}."))
    if write.diff:
        view += [Diff(change_diff(change, context.redact.line)) for change in plan.changes]
    return view + [Line(f"Next: {step}", for_people_only=True) for step in outcome.next_steps]
