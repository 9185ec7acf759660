"""What ``canon-ops doctor`` answers: the types of its document, and the same for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from canon_ops.cli.output import Block, Diff, Item, Line, Mark, Table
from canon_ops.doctor.check import Status
from canon_ops.lean import dataclass

if TYPE_CHECKING:
    from canon_ops.doctor.check import Check
    from canon_ops.doctor.mending import Mended
    from canon_ops.doctor.run import Diagnosis, Verdict
    from canon_ops.hermes.homes import HermesHome

__all__ = [
    "CheckFound",
    "CheckList",
    "CheckListed",
    "DoctorReport",
    "DoctorReports",
    "FixShown",
    "FixesDone",
    "HomeExamined",
    "RepairTold",
    "Severity",
    "check_list",
    "fixes_done",
    "listing",
    "shown",
    "view_of",
]

Severity = Literal["info", "warning", "error"]
_SUMMARY_ORDER = (Status.ERROR, Status.WARNING, Status.UNKNOWN, Status.INFO, Status.OK, Status.SKIPPED)
_GRAVEST_LAST = (Status.SKIPPED, Status.OK, Status.INFO, Status.UNKNOWN, Status.WARNING, Status.ERROR)
_GRAVE = (Status.INFO, Status.WARNING, Status.ERROR)


@dataclass(frozen=True, slots=True)
class FixShown:
    """What mends a finding; ``automatic`` when ``--fix`` can carry it out."""

    command: str
    automatic: bool


@dataclass(frozen=True, slots=True)
class CheckFound:
    """One finding of one check."""

    id: str
    area: str
    title: str
    status: Literal["ok", "info", "warning", "error", "skipped", "unknown"]
    message: str
    file: str | None
    line: int | None
    column: int | None
    path: str | None
    fix: FixShown | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RepairTold:
    """One repair.

    Attributes:
        id: of the check whose finding it mends.
        done: it was carried out, or would be.
        why_not: the reason when it was not.
    """

    id: str
    message: str
    done: bool
    why_not: str | None


@dataclass(frozen=True, slots=True)
class FixesDone:
    """What ``--fix`` did.

    Attributes:
        files: the files that changed, or would.
        diff: unified, secrets masked.
        history_id: what ``undo`` takes.
        next: commands to paste, in order.
    """

    dry_run: bool
    repairs: tuple[RepairTold, ...]
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """``data`` of ``canon-ops.doctor/1``.

    Attributes:
        checks: the findings, after the repairs where there were some; ``--severity-min`` leaves out slighter ones.
        summary: how many checks of each status, whatever is left out.
        fixed: of ``--fix``.
        bundle: the archive of ``--bundle``.
    """

    checks: tuple[CheckFound, ...]
    summary: Mapping[str, int]
    fixed: FixesDone | None
    bundle: Path | None


@dataclass(frozen=True, slots=True)
class HomeExamined:
    """One Hermes profile among several."""

    hermes_profile: str
    hermes_home: Path
    checks: tuple[CheckFound, ...]
    summary: Mapping[str, int]
    fixed: FixesDone | None


@dataclass(frozen=True, slots=True)
class DoctorReports:
    """``data`` of ``canon-ops.doctor/1`` under ``--all-profiles``."""

    profiles: tuple[HomeExamined, ...]


@dataclass(frozen=True, slots=True)
class CheckListed:
    """A check that could be asked; ``network`` when ``--offline`` leaves it out, ``live`` when only ``--live`` asks."""

    id: str
    area: str
    title: str
    question: str
    network: bool
    live: bool


@dataclass(frozen=True, slots=True)
class CheckList:
    """``data`` of ``canon-ops.doctor/1`` under ``--list``."""

    available: tuple[CheckListed, ...]


def check_list(checks: Sequence[Check]) -> CheckList:
    return CheckList(
        tuple(CheckListed(one.id, one.area, one.title, one.question, one.network, one.live) for one in checks)
    )


def listing(checks: Sequence[Check]) -> list[Block]:
    return [Table(("id", "title", "question"), [(check.id, check.title, check.question) for check in checks])]


def shown(diagnosis: Diagnosis, least: Severity | None) -> tuple[Verdict, ...]:
    """The verdicts that are told: all, or those at least as grave as ``least`` and those without an answer."""
    if least is None:
        return diagnosis.verdicts
    told = {*_GRAVE[_GRAVE.index(Status(least)) :], Status.UNKNOWN}
    return tuple(verdict for verdict in diagnosis.verdicts if verdict.finding.status in told)


def fixes_done(mended: Mended) -> FixesDone:
    done = [RepairTold(one.check.id, one.finding.message, True, None) for one in mended.done]
    refused = [
        RepairTold(one.verdict.check.id, one.verdict.finding.message, False, one.error.what) for one in mended.refused
    ]
    package = mended.package
    files = [*mended.written.files, *((change.path for change in package.plan.changes) if package else ())]
    return FixesDone(
        mended.dry_run,
        (*done, *refused),
        tuple(dict.fromkeys(files)),
        mended.written.diff,
        mended.written.history_id,
        package.next_steps if package else (),
    )


def view_of(
    home: HermesHome, verdicts: Sequence[Verdict], diagnosis: Diagnosis, fixed: FixesDone | None, *, headed: bool
) -> list[Block]:
    """The report for people: what is worst stands last, beside the summary and the prompt, where it is read first.

    Args:
        headed: it stands beside those of other profiles.
    """
    view: list[Block] = []
    if fixed is not None:
        view += _view_of_fixes(home, fixed)
    elif headed:
        view.append(Line(f"Hermes profile {home.profile_name}: {home.path}"))
    for verdict in sorted(verdicts, key=lambda one: _GRAVEST_LAST.index(one.finding.status)):
        found = verdict.finding
        fix = found.fix.command if found.fix else None
        view.append(Item(Mark(found.status.value), verdict.check.id, found.message, fix))
    view.append(Line(_summary(diagnosis), for_people_only=True))
    if fixed is None and (count := sum(_is_mendable(one) for one in diagnosis.findings)):
        what = "this" if count == 1 else f"{count} of these"
        view.append(Line(f"{home.own_command('doctor --fix')} repairs {what}.", for_people_only=True))
    return view


def _is_mendable(verdict: Verdict) -> bool:
    return verdict.finding.fix is not None and verdict.finding.fix.automatic


def _view_of_fixes(home: HermesHome, fixed: FixesDone) -> list[Block]:
    files = ", ".join(map(str, fixed.files)) or "no file changes"
    view: list[Block] = [Line(f"Hermes profile {home.profile_name}: {files}")]
    for repair in fixed.repairs:
        if repair.done:
            view.append(Line(f"{repair.id}: {'would be repaired' if fixed.dry_run else 'repaired'}", Mark.OK))
        else:
            view.append(Line(f"{repair.id}: not repaired: {repair.why_not}", Mark.ERROR))
    if not fixed.repairs:
        view.append(Line("Nothing that could be repaired here.", Mark.OK))
    if fixed.diff:
        view.append(Diff(fixed.diff))
    return view + [Line(f"Next: {step}", for_people_only=True) for step in fixed.next]


def _summary(diagnosis: Diagnosis) -> str:
    """``2 errors, 1 warning, 14 ok``: what is worst stands first, what did not occur is left out."""
    parts = []
    for status in _SUMMARY_ORDER:
        count = diagnosis.summary[status.value]
        plural = "s" if count != 1 and status in (Status.ERROR, Status.WARNING) else ""
        if count:
            parts.append(f"{count} {status.value}{plural}")
    return ", ".join(parts) or "No checks."
