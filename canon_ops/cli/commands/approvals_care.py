"""``canon-ops approvals verify|audit|prune``: whether registry and trail are whole, and what may go.

Source: command-line contract, approvals; decisions A3; the audit trail of the approvals.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.store import ApprovalStore, RegistryDamaged, RegistryGone
from canon_hermes_plugin.approvals.trail import Line as TrailLine
from canon_hermes_plugin.approvals.trail_audit import Trouble
from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.approvals import one_line, refuse_blank, registry_of, time_text
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Item, Line, Mark, Problem, Result, Table
from canon_ops.counting import counted
from canon_ops.errors import CanonOpsError, ExitCode, UsageError
from canon_ops.operate.writing import require_consent
from canon_ops.runtime.clock import SystemClock

__all__ = ["audit_command", "prune_command", "verify_command"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that cannot be right.

    Attributes:
        line: of the trail, from 1; 0 when it is about the registry.
    """

    approval_id: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Verification:
    """``data`` of ``canon-ops.approvals.verify/1``.

    Attributes:
        readable: whether the file can be understood as a whole.
        moved_to: where ``--quarantine`` put it; null when it stayed.
    """

    registry: str
    readable: bool
    approvals: int
    faults: tuple[Fault, ...]
    moved_to: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One transition of the trail."""

    at: str
    process: str
    approval_id: str
    transition: str
    before: str
    after: str
    why: str


@dataclass(frozen=True, slots=True)
class Audit:
    """``data`` of ``canon-ops.approvals.audit/1``, in the order of time.

    Attributes:
        acknowledged: how many of the faults were acknowledged by this call.
    """

    trail: str
    steps: tuple[Step, ...]
    faults: tuple[Fault, ...]
    acknowledged: int


@dataclass(frozen=True, slots=True)
class Old:
    """An approval that ended long ago.

    Attributes:
        ended_at: RFC 3339 in UTC.
    """

    approval_id: str
    status: str
    decision: str | None
    ended_at: str
    summary: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """``data`` of ``canon-ops.approvals.prune/1``.

    Attributes:
        approval_ids: what was dropped; with ``--dry-run``, what would be.
        plan: what they were.
    """

    dry_run: bool
    approval_ids: tuple[str, ...]
    plan: tuple[Old, ...]


@declare(
    "approvals verify",
    data=Verification,
    examples=("canon-ops approvals verify", "canon-ops approvals verify --quarantine"),
)
@click.option("--quarantine", is_flag=True, help="Move a registry that cannot be read aside, after asking.")
def verify_command(context: Context, quarantine: bool) -> Result:
    """Check the registry of detached approvals, entry by entry.

    A registry that cannot be read stops everything that has to do with approvals, and is never written over. With
    --quarantine it is moved aside, and the next request begins an empty one. Whatever was open in it is then unknown
    to this machine: humans may still answer, and no agent will hear of it.
    """
    store = registry_of(context)
    try:
        book = store.read_kept()
    except RegistryDamaged as error:
        return _unreadable(context, store, error, quarantine)
    except RegistryGone as error:
        if quarantine:
            raise
        return _unread(store, error, f"{error.fix}, or put a backup back")
    if quarantine:
        what = "--quarantine: the registry can be read; single damaged entries stay in it and hinder nobody"
        raise UsageError(what, fix="canon-ops approvals verify")
    faults = tuple(Fault(key, 0, why) for key, why in sorted(book.reasons.items()))
    damaged = counted(len(faults), "damaged entry", "damaged entries")
    said = f"{counted(len(book.entries), 'approval')}, {damaged} in {store.file}"
    view: list[Block] = [Line(said, Mark.ERROR if faults else Mark.OK)]
    view += [
        Item(Mark.ERROR, fault.approval_id, f"{fault.what}; it is kept, and nothing is done with it")
        for fault in faults
    ]
    code = ExitCode.FAILED if faults else ExitCode.DONE
    return Result(Verification(str(store.file), True, len(book.entries), faults, None), view, code)


def _unreadable(context: Context, store: ApprovalStore, error: RegistryDamaged, quarantine: bool) -> Result:
    if not quarantine:
        return _unread(store, error, "canon-ops approvals verify --quarantine, or put a backup back")
    if not context.options.yes:
        lost = "Approvals that are open in it can no longer be followed from here"
        require_consent(context.prompts, f"Move {store.file} aside? {lost}.")
    aside = _move_aside(store)
    said = (
        Line(f"Moved {store.file} to {aside}.", Mark.OK),
        Line("Approvals that were open in it are unknown to this machine now; look into it before it is deleted."),
    )
    return Result(Verification(str(store.file), False, 0, (_fault_of(error),), str(aside)), said)


def _unread(store: ApprovalStore, error: CanonOpsError, fix: str) -> Result:
    report = Verification(str(store.file), False, 0, (_fault_of(error),), None)
    problem = Problem(error.code, error.sentence, fix, str(store.file))
    return Result(report, (Item(Mark.ERROR, store.file.name, error.sentence, fix),), ExitCode.FAILED, (problem,))


def _fault_of(error: CanonOpsError) -> Fault:
    return Fault("", 0, error.what)


def _move_aside(store: ApprovalStore) -> Path:
    stamp = time_text(SystemClock().now_ms()).replace(":", "")
    aside = store.file.with_name(f"{store.file.name}.damaged-{stamp}")
    store.set_aside(aside)
    return aside


@declare(
    "approvals audit",
    data=Audit,
    examples=(
        "canon-ops approvals audit",
        "canon-ops approvals audit hermes-1b2c3d4e5f60718293a4",
        'canon-ops approvals audit --acknowledge "restored from the backup of 3 May"',
    ),
)
@click.argument("approval_ids", metavar="[ID]...", nargs=-1)
@click.option("--acknowledge", metavar="WHY", help="Write down that the faults were looked into, and why they are.")
def audit_command(context: Context, approval_ids: tuple[str, ...], acknowledge: str | None) -> Result:
    """Print what happened to each approval, and check that the trail is whole.

    Every line of the trail is bound to the one before it and to the registry. An edited, deleted, swapped or cut line
    is a fault, and so is a registry that was put back; then the exit code is 1. What somebody did stays a fault,
    whatever is written later, until it is acknowledged: then who did that, when and why stands in the trail, too, and
    everything before it stays there.
    """
    if acknowledge is not None and (approval_ids or not acknowledge.strip()):
        what = "it takes no ID" if approval_ids else "it takes a reason"
        raise UsageError(f"--acknowledge is about all faults of the trail: {what}", fix="canon-ops approvals audit")
    refuse_blank(approval_ids)
    store = registry_of(context)
    _, lines, troubles = store.audit()
    if acknowledge is not None:
        return _acknowledged(context, store, troubles, acknowledge.strip())
    steps = tuple(_step(line) for line in lines if not approval_ids or line.approval_id.startswith(approval_ids))
    faults = tuple(_fault(trouble) for trouble in troubles)
    view: list[Block] = []
    if steps:
        rows = [
            (step.at[:19].replace("T", " "), step.approval_id, _move(step), step.why, step.process) for step in steps
        ]
        view.append(Table(("time", "approval", "change", "why", "process"), rows, whole=frozenset({1})))
    view += [Item(Mark.ERROR, _place(fault), fault.what) for fault in faults]
    if faults:
        view.append(Line("Look into it; then: canon-ops approvals audit --acknowledge WHY", for_people_only=True))
    if not faults:
        view.append(Line(f"The trail is whole: {counted(len(lines), 'line')}.", Mark.OK, for_people_only=True))
    code = ExitCode.FAILED if faults else ExitCode.DONE
    return Result(Audit(str(store.trail.file), steps, faults, 0), view, code)


def _acknowledged(context: Context, store: ApprovalStore, troubles: Sequence[Trouble], why: str) -> Result:
    """Say what it is, ask, and write it down."""
    faults = tuple(_fault(trouble) for trouble in troubles)
    if not faults:
        said = Line("There is nothing to acknowledge: the trail is whole.", Mark.OK)
        return Result(Audit(str(store.trail.file), (), (), 0), (said,))
    if not context.options.yes:
        context.prompts.note("\n".join(f"{_place(fault)}: {fault.what}" for fault in faults))
        require_consent(context.prompts, f"Acknowledge {counted(len(faults), 'fault')}, as shown?")
    store.acknowledge(troubles, f"{_operator(context.environ)}: {why}")
    view: list[Block] = [Item(Mark.WARNING, _place(fault), fault.what) for fault in faults]
    view.append(Line(f"Acknowledged {counted(len(faults), 'fault')}; all of it stays in the trail.", Mark.OK))
    return Result(Audit(str(store.trail.file), (), faults, len(faults)), view)


def _operator(environ: Mapping[str, str]) -> str:
    """Whom the system takes this person for; behind sudo, who called it."""
    caller, uid = environ.get("SUDO_UID", ""), os.getuid()
    if uid == 0 and caller.isascii() and caller.isdecimal():
        uid = int(caller)
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"user {uid}"


@declare(
    "approvals prune", data=Pruned, examples=("canon-ops approvals prune --dry-run", "canon-ops approvals prune --yes")
)
@click.option("--dry-run", is_flag=True, help="Say what would be dropped; drop nothing.")
def prune_command(context: Context, dry_run: bool) -> Result:
    """Drop approvals that came to their end more than 14 days ago.

    It shows them and asks; every gateway drops them without a question whenever it writes. Nothing that is open, and
    no decision that the agent has not heard, is ever dropped. That they left is written into the audit trail.
    """
    store = registry_of(context)
    plan = tuple(_old(entry) for entry in store.old())
    if not plan:
        said = Line("Nothing is old enough to be dropped.", Mark.OK)
        return Result(Pruned(dry_run, (), ()), (said,))
    rows = [(old.approval_id, _ended(old), old.ended_at[:10], one_line(old.summary)) for old in plan]
    table = Table(("approval", "state", "ended", "summary"), rows, whole=frozenset({0}))
    ids = tuple(old.approval_id for old in plan)
    if dry_run:
        said = Line(f"Would drop {counted(len(plan), 'approval')}.", Mark.OK)
        return Result(Pruned(True, ids, plan), (table, said))
    if not context.options.yes:
        context.prompts.note("\n".join("  ".join(row) for row in rows))
        require_consent(context.prompts, f"Drop {counted(len(plan), 'approval')}, as shown?")
    gone = tuple(entry.approval_id for entry in store.prune(only=frozenset(ids)))
    said = Line(f"Dropped {counted(len(gone), 'approval')}.", Mark.OK)
    return Result(Pruned(False, gone, plan), (table, said))


def _old(entry: Entry) -> Old:
    decision = entry.decision.value if entry.decision else None
    return Old(entry.approval_id, entry.status.value, decision, time_text(entry.settled_at_ms()), entry.summary)


def _ended(old: Old) -> str:
    return f"{old.status}: {old.decision}" if old.decision else old.status


def _step(line: TrailLine) -> Step:
    at = time_text(line.at_ms)
    return Step(at, line.process, line.approval_id, line.number, line.before, line.after, line.why)


def _fault(trouble: Trouble) -> Fault:
    return Fault(trouble.approval_id, trouble.line, trouble.what)


def _move(step: Step) -> str:
    return f"{step.before or 'nothing'} -> {step.after or 'nothing'}"


def _place(fault: Fault) -> str:
    where = f"line {fault.line}" if fault.line else "registry"
    return f"{where}, {fault.approval_id}" if fault.approval_id else where
