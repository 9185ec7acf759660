"""``canon-ops doctor``: what is right and what is wrong with an installation, and which command repairs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Item, Line, Mark, Result, Table
from canon_ops.doctor.check import Check, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.registry import select
from canon_ops.doctor.run import Diagnosis, diagnose

__all__ = ["CheckFound", "CheckList", "CheckListed", "DoctorReport", "FixShown", "command"]

F = TypeVar("F", bound=Callable[..., Any])
_SUMMARY_ORDER = (Status.ERROR, Status.WARNING, Status.UNKNOWN, Status.INFO, Status.OK, Status.SKIPPED)


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
class DoctorReport:
    """``data`` of ``canon-ops.doctor/1``."""

    checks: tuple[CheckFound, ...]
    summary: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CheckListed:
    """A check that could be asked."""

    id: str
    area: str
    title: str
    question: str
    network: bool


@dataclass(frozen=True, slots=True)
class CheckList:
    """``data`` of ``canon-ops.doctor/1`` under ``--list``."""

    available: tuple[CheckListed, ...]


def _names(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """``--only a,b --only c`` are three names."""
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def _choice(name: str, help: str) -> Callable[[F], F]:
    return click.option(name, metavar="NAME", multiple=True, callback=_names, help=help)


@declare(
    "doctor",
    data=DoctorReport | CheckList,
    timeout_s=10.0,
    examples=("canon-ops doctor", "canon-ops doctor --area plugin --strict", "canon-ops doctor --offline --json"),
)
@_choice("--only", "Ask only this check; repeat it, or part names by commas.")
@_choice("--skip", "Leave this check out.")
@_choice("--area", "Ask the checks of this area.")
@click.option("--list", "list_only", is_flag=True, help="List the checks; ask none.")
@click.option("--strict", is_flag=True, help="Warnings count like errors.")
@click.option("--offline", is_flag=True, help="Leave out what needs the network.")
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
    strict: bool,
    offline: bool,
    python: Path | None,
    timeout_s: float,
) -> Result:
    """Check an installation, and name the command that repairs what is wrong.

    The exit code is 0 when nothing is wrong (warnings are allowed unless --strict), 1 with findings, and 3 when a
    check that was asked for by --only or --area could not be carried out.
    """
    checks = select(only, skip, area)
    if list_only:
        return _listing(checks)
    examination = Examination(context.home, context.environ, python=python, offline=offline, timeout_s=timeout_s)
    with context.progress("Asking the host, its files and Canon"):
        diagnosis = diagnose(checks, examination)
    exit_code = diagnosis.exit_code(strict=strict, asked_for=bool(only or area))
    return Result(diagnosis.as_data(), _report(diagnosis), exit_code)


def _listing(checks: Sequence[Check]) -> Result:
    rows = [(check.id, check.title, check.question) for check in checks]
    listed = tuple(CheckListed(one.id, one.area, one.title, one.question, one.network) for one in checks)
    return Result(CheckList(listed), (Table(("id", "title", "question"), rows),))


def _report(diagnosis: Diagnosis) -> list[Block]:
    view: list[Block] = []
    for verdict in diagnosis.verdicts:
        found = verdict.finding
        fix = found.fix.command if found.fix else None
        view.append(Item(Mark(found.status.value), verdict.check.id, found.message, fix))
    return [*view, Line(_summary(diagnosis), for_people_only=True)]


def _summary(diagnosis: Diagnosis) -> str:
    """``2 errors, 1 warning, 14 ok``: what is worst stands first, what did not occur is left out."""
    parts = []
    for status in _SUMMARY_ORDER:
        count = diagnosis.summary[status.value]
        plural = "s" if count != 1 and status in (Status.ERROR, Status.WARNING) else ""
        if count:
            parts.append(f"{count} {status.value}{plural}")
    return ", ".join(parts) or "No checks."
