"""``canon-ops doctor``: what is right and what is wrong with an installation, and which command repairs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from canon_ops.cli.checks import CHECKS
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.doctor_report import (
    CheckList,
    DoctorReport,
    DoctorReports,
    FixesDone,
    HomeExamined,
    Severity,
    check_list,
    fixes_done,
    listing,
    shown,
    view_of,
)
from canon_ops.cli.output import Block, Line, Result
from canon_ops.cli.session import WriteOptions
from canon_ops.doctor.check import Check, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.registry import LIVE_CHECKS, select
from canon_ops.doctor.run import Diagnosis, diagnose
from canon_ops.errors import ExitCode, UsageError
from canon_ops.hermes.home_list import homes_beside
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.operate.prompts import Question
from canon_ops.operate.shell_completion import Scripts, Shell
from canon_ops.runtime.clock import SystemClock

if TYPE_CHECKING:
    from canon_ops.doctor.mending import Mended

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])
_GRAVEST_FIRST = (ExitCode.FAILED, ExitCode.OUTSIDE, ExitCode.DONE)


@dataclass(frozen=True, slots=True)
class _Call:
    """What one call asks for.

    Attributes:
        asked_for: the checks were chosen, so one that cannot run is a failure.
    """

    checks: tuple[Check, ...]
    asked_for: bool
    severity_min: Severity | None
    strict: bool
    offline: bool
    fix: bool
    bundle: Path | None
    python: Path | None
    timeout_s: float
    write: WriteOptions


@dataclass(frozen=True, slots=True)
class _Examined:
    """One home, examined, and repaired where that was asked for."""

    home: HermesHome
    diagnosis: Diagnosis
    mended: Mended | None


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
    every = (*CHECKS, *LIVE_CHECKS) if live or list_only else CHECKS
    checks = select(only, skip, area, checks=every)
    if list_only:
        return Result(check_list(checks), listing(checks))
    if any(check.live for check in checks):
        from canon_ops.operate.writing import require_consent

        require_consent(context.prompts, "Say something in the home channel, where people will see it?")
    call = _Call(checks, bool(only or area), severity_min, strict, offline, fix, bundle, python, timeout_s, write)
    homes = homes_beside(context.home, context.environ) if all_profiles else (context.home,)
    examined = [_examine(context, call, home) for home in homes]
    if bundle is not None:
        _write_bundle(context, bundle, examined[0])
    return _result(call, examined, as_profiles=all_profiles)


def _examine(context: Context, call: _Call, home: HermesHome) -> _Examined:
    """Ask the checks about one home; repair, and ask again."""
    diagnosis = _diagnose(context, call, home)
    if not call.fix:
        return _Examined(home, diagnosis, None)
    from canon_ops.doctor.mending import choose, mend  # with the editors and the installer behind it

    asks = context.session.may_ask and not context.options.yes
    mended = mend(
        replace(context.writing("doctor --fix", call.write), home=home),
        choose(diagnosis, Status(call.severity_min or "warning")),
        context.prompts,
        platform=PLATFORMS["canon"],
        python=call.python,
        show_diff=asks,
    )
    if mended.done and not mended.dry_run:
        diagnosis = _diagnose(context, call, home)
    return _Examined(home, diagnosis, mended)


def _diagnose(context: Context, call: _Call, home: HermesHome) -> Diagnosis:
    examination = Examination(
        home,
        context.environ,
        python=call.python,
        offline=call.offline,
        timeout_s=call.timeout_s,
        completion=_completion,
        ring=context.keyring,
    )
    with context.progress("Asking the host, its files and Canon"):
        return diagnose(call.checks, examination)


def _completion() -> Mapping[Shell, Scripts]:
    from canon_ops.cli.completion.scripts import scripts  # here: it loads every command

    return scripts()


def _write_bundle(context: Context, file: Path, examined: _Examined) -> None:
    """List what goes in, ask, write."""
    from canon_ops.doctor.bundle import collect, write_bundle
    from canon_ops.operate.writing import ConsentMissing

    context.session.learn_secrets_of_home()
    now_ms = SystemClock().now_ms()
    made = collect(
        examined.home,
        context.environ,
        examined.diagnosis,
        mask=context.redact,
        mask_line=context.redact.line,
        now_ms=now_ms,
    )
    context.say(f"{file} will hold:")
    for item in made.items:
        context.say(f"  {item.name} ({len(item.text.encode())} bytes): {item.about}")
    for name, why in made.left_out:
        context.say(f"  without {name}: {why}")
    if not context.prompts.confirm(Question(f"Write {file}?", "--yes"), default=True):
        raise ConsentMissing(f"Not agreed: {file} was not written.", fix="leave out --bundle")
    write_bundle(file, made, now_ms=now_ms)


def _result(call: _Call, examined: Sequence[_Examined], *, as_profiles: bool) -> Result:
    codes = {one.diagnosis.exit_code(strict=call.strict, asked_for=call.asked_for) for one in examined}
    exit_code = next(code for code in _GRAVEST_FIRST if code in codes)
    view: list[Block] = []
    rows: list[HomeExamined] = []
    for one in examined:
        verdicts = shown(one.diagnosis, call.severity_min)
        fixed = fixes_done(one.mended) if one.mended else None
        view += view_of(one.home, verdicts, one.diagnosis, fixed, headed=as_profiles)
        rows.append(_row(one, fixed, [verdict.as_data() for verdict in verdicts]))
    if as_profiles:
        return Result(DoctorReports(tuple(rows)), view, exit_code)
    only = rows[0]
    if call.bundle is not None:
        view.append(Line(f"Written: {call.bundle}", for_people_only=True))
    return Result(DoctorReport(only.checks, only.summary, only.fixed, call.bundle), view, exit_code)


def _row(one: _Examined, fixed: FixesDone | None, checks: Sequence[Any]) -> HomeExamined:
    return HomeExamined(one.home.profile_name, one.home.path, tuple(checks), dict(one.diagnosis.summary), fixed)
