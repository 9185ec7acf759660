"""``canon-ops doctor``: what is right and what is wrong with an installation, and which command repairs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.doctor_call import DoctorCall, asked_ahead
from canon_ops.cli.doctor_report import CheckList, DoctorReport, DoctorReports, Severity
from canon_ops.cli.output import Result
from canon_ops.cli.session import WriteOptions
from canon_ops.errors import UsageError

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])


def _names(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """``--only a,b --only c`` are three names."""
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def _choice(name: str, help: str) -> Callable[[F], F]:
    return click.option(name, metavar="NAME", multiple=True, callback=_names, help=help)


@declare(
    "doctor",
    data=DoctorReport | DoctorReports | CheckList,
    writes=True,
    timeout_s=10.0,
    examples=(
        "canon-ops doctor",
        "canon-ops doctor --fix --dry-run",
        "canon-ops doctor --area plugin --strict",
        "canon-ops doctor --offline --severity-min warning --json",
    ),
)
@_choice("--only", "Ask only this check; repeat it, or part names by commas.")
@_choice("--skip", "Leave this check out.")
@_choice("--area", "Ask the checks of this area.")
@click.option("--list", "list_only", is_flag=True, help="List the checks; ask none.")
@click.option(
    "--severity-min",
    type=click.Choice(["info", "warning", "error"]),
    help="Tell only findings at least as grave as this; --fix repairs from here on.  [--fix: warning]",
)
@click.option("--strict", is_flag=True, help="Warnings count like errors.")
@click.option("--offline", is_flag=True, help="Leave out what needs the network.")
@click.option("--fix", is_flag=True, help="Repair what can be repaired, after showing it and asking.")
@click.option("--live", is_flag=True, help="Also say something in the home channel, after asking.")
@click.option(
    "--bundle", metavar="FILE.zip", type=click.Path(path_type=Path),
    help="Write what was found and looked at into a new archive, without secrets; its contents are listed first.",
)  # fmt: skip
@click.option("--all-profiles", is_flag=True, help="Examine every Hermes profile.")
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    envvar="CANON_OPS_PYTHON",
    help="The host's interpreter, instead of the one that is found.",
)
def command(
    context: Context,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    area: tuple[str, ...],
    list_only: bool,
    severity_min: Severity | None,
    strict: bool,
    offline: bool,
    fix: bool,
    live: bool,
    bundle: Path | None,
    all_profiles: bool,
    python: Path | None,
    timeout_s: float,
    write: WriteOptions,
) -> Result:
    """Check an installation, and name the command that repairs what is wrong, or repair it.

    The exit code is 0 when nothing is wrong (warnings are allowed unless --strict), 1 with findings, and 3 when a
    check that was asked for by --only or --area could not be carried out. With --fix the repairs are shown and asked
    about, `undo` takes them back, and all checks are asked again afterwards. --bundle makes an archive for somebody
    who helps: settings and findings without secrets, and of the logs warnings and errors only.
    """
    if not fix and (write.dry_run or write.if_unchanged):
        raise UsageError("--dry-run and --if-unchanged belong to --fix.", fix="canon-ops doctor --fix --dry-run")
    if bundle is not None and all_profiles:
        raise UsageError("--bundle is about one Hermes profile.", fix="choose it with --profile NAME")
    call = DoctorCall(
        only, skip, area, list_only, severity_min, strict, offline, fix, live, bundle, all_profiles, python, timeout_s,
        write,
    )  # fmt: skip
    with asked_ahead(context, call) as ahead:
        from canon_ops.cli.doctor_work import carry_out  # every check, loaded while the host is at work

        return carry_out(context, call, ahead)
