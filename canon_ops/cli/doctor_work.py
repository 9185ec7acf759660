"""Carrying out ``doctor``: asking the checks about each home, repairing, and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canon_ops.cli.checks import CHECKS, EVERY_CHECK, NAMEABLE_CHECKS
from canon_ops.cli.context import Context
from canon_ops.cli.doctor_call import DoctorCall
from canon_ops.cli.doctor_report import (
    DoctorReport,
    DoctorReports,
    FixesDone,
    HomeExamined,
    check_list,
    fixes_done,
    listing,
    shown,
    view_of,
)
from canon_ops.cli.doctor_scope import concerning
from canon_ops.cli.output import Block, Line, Result
from canon_ops.doctor.check import Check, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.registry import LIVE_CHECKS, select
from canon_ops.doctor.run import Diagnosis, diagnose
from canon_ops.errors import ExitCode
from canon_ops.hermes.home_list import homes_beside
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_call import ImportsAhead
from canon_ops.operate.completion_place import Scripts, Shell
from canon_ops.operate.prompts import Question
from canon_ops.runtime.clock import SystemClock

if TYPE_CHECKING:
    from canon_ops.doctor.mending import Mended

__all__ = ["carry_out"]

_GRAVEST_FIRST = (ExitCode.FAILED, ExitCode.OUTSIDE, ExitCode.DONE)


@dataclass(frozen=True, slots=True)
class _Examined:
    """One home, examined, and repaired where that was asked for."""

    home: HermesHome
    diagnosis: Diagnosis
    mended: Mended | None


def carry_out(context: Context, call: DoctorCall, ahead: ImportsAhead | None) -> Result:
    """Do what one call asks for.

    Args:
        ahead: the host is at work on the import of the plugin already.
    """
    checks = select(call.only, call.skip, call.area, checks=_asked_from(call))
    if call.list_only:
        return Result(check_list(checks), listing(checks))
    if any(check.live for check in checks):
        from canon_ops.operate.writing import require_consent

        require_consent(context.prompts, "Say something in the home channel, where people will see it?")
    homes = homes_beside(context.home, context.environ) if call.all_profiles else (context.home,)
    examined = [_examine(context, call, checks, home, ahead) for home in homes]
    if call.bundle is not None:
        _write_bundle(context, call.bundle, examined[0])
    return _result(call, examined, as_profiles=call.all_profiles)


def _asked_from(call: DoctorCall) -> Sequence[Check]:
    """What the call chooses from."""
    if call.list_only:
        return EVERY_CHECK
    asked = NAMEABLE_CHECKS if call.is_chosen else CHECKS
    return (*asked, *LIVE_CHECKS) if call.live else asked


def _examine(
    context: Context, call: DoctorCall, checks: Sequence[Check], home: HermesHome, ahead: ImportsAhead | None
) -> _Examined:
    """Ask the checks about one home; repair, and ask again."""
    if not call.is_chosen:
        checks = concerning(home, context.environ, checks)
    diagnosis = _diagnose(context, call, checks, home, ahead)
    if not call.fix:
        return _Examined(home, diagnosis, None)
    from canon_ops.doctor.mending import choose, mend  # with the editors and the installer behind it

    asks = context.session.may_ask and not context.options.yes
    mended = mend(
        replace(context.writing("doctor --fix", call.write), home=home),
        choose(diagnosis, Status(call.severity_min or "warning")),
        context.prompts,
        python=call.python,
        show_diff=asks,
    )
    if mended.done and not mended.dry_run:
        diagnosis = _diagnose(context, call, checks, home, None)
    return _Examined(home, diagnosis, mended)


def _diagnose(
    context: Context, call: DoctorCall, checks: Sequence[Check], home: HermesHome, ahead: ImportsAhead | None
) -> Diagnosis:
    examination = Examination(
        home,
        context.environ,
        python=call.python,
        offline=call.offline,
        timeout_s=call.timeout_s,
        completion=_completion,
        ahead=ahead,
        ring=context.keyring,
    )
    with context.progress("Asking the host, its files and Canon"):
        return diagnose(checks, examination)


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


def _result(call: DoctorCall, examined: Sequence[_Examined], *, as_profiles: bool) -> Result:
    codes = {one.diagnosis.exit_code(strict=call.strict, asked_for=call.is_chosen) for one in examined}
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
