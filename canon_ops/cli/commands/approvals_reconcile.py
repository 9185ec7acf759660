"""``canon-ops approvals reconcile``: first the plan, then, when told to, the same steps as the gateway's own.

Source: command-line contract, approvals; decisions A1, A4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click

from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.from_outside import reconcile
from canon_hermes_plugin.approvals.giving_up import kept_because
from canon_hermes_plugin.approvals.needs import Action, Need, need_of
from canon_hermes_plugin.state.owner import Owner
from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.approvals import find_entry, registry_of, time_text
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Item, Line, Mark, Problem, Result, Table
from canon_ops.client.errors import Forbidden, Unauthorized
from canon_ops.counting import counted
from canon_ops.errors import CanonOpsError, ExitCode, NotFoundError
from canon_ops.hermes.gateway import read_state
from canon_ops.keyring.access import KeyringEntryMissing
from canon_ops.operate.agent_key import AgentCredential, credential_in_force, credential_of_agent
from canon_ops.runtime.clock import SystemClock
from canon_ops.settings.problems import NotConfigured

__all__ = ["JOBS", "NO_KEY", "REFUSED", "command", "credential_of"]

NO_KEY = NotFoundError | NotConfigured | KeyringEntryMissing
REFUSED = Unauthorized | Forbidden

JOBS = 16  # ours: Canon limits what is sent to conversations, not how often it is asked; a round trip is mostly waiting

_WORDS = {
    Action.ASK: "ask Canon",
    Action.CANCEL: "take back",
    Action.SHORTEN: "shorten its lease",
    Action.WAKE: "left to the gateway",
    Action.WAIT: "wait",
    Action.NOTHING: "nothing",
}
_ACTING = (Action.ASK, Action.CANCEL, Action.SHORTEN)


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to be done about one approval: "ask", "cancel", "shorten" (its lease), "wake", "wait" or "nothing".

    Attributes:
        until: when the lease that is waited for ends.
        status: how it stands now, after --apply.
    """

    approval_id: str
    agent_id: str | None
    action: str
    why: str
    until: str | None
    status: str


@dataclass(slots=True)
class Done:
    """What came of the plan, over all agents; ``left``: ids that may be another agent's."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """``data`` of ``canon-ops.approvals.reconcile/1``.

    Attributes:
        counts: with --apply, how many approvals came to which state, and how many failed.
        wakes_waiting: decisions that the agent has not been told yet; its gateway does that.
        left_alone: with --apply, those that do not say whose they are and that Canon does not know under the key in
            force; they stay as they are.
    """

    applied: bool
    plan: tuple[Planned, ...]
    counts: dict[str, int]
    wakes_waiting: int
    left_alone: tuple[str, ...] = ()


@declare(
    "approvals reconcile",
    data=Reconciliation,
    timeout_s=30.0,
    examples=(
        "canon-ops approvals reconcile",
        "canon-ops approvals reconcile --apply",
        "canon-ops approvals reconcile hermes-1b2c3d4e5f60718293a4 --apply",
    ),
)
@click.argument("approval_ids", metavar="[ID]...", nargs=-1)
@click.option("--apply", is_flag=True, help="Carry the plan out.")
@click.option(
    "--jobs", metavar="N", type=click.IntRange(1, 32), default=JOBS, show_default=True, help="Ask N at a time."
)
def command(context: Context, timeout_s: float, approval_ids: tuple[str, ...], apply: bool, jobs: int) -> Result:
    """Find out at Canon how open approvals stand.

    Without --apply only the plan is shown. With it each approval is asked about with the key of its own agent, under
    the same leases as a running gateway, so both may work at the same time. No decision is taken here: it is Canon's
    word. Telling the agent is left to its gateway.
    """
    store = registry_of(context)
    book = store.read_kept()
    named = [find_entry(book, name, store) for name in approval_ids] if approval_ids else list(book)
    chosen = list({entry.approval_id: entry for entry in named}.values())
    plan = {entry.approval_id: need_of(entry, now_ms=SystemClock().now_ms()) for entry in chosen}
    acting = [entry for entry in chosen if plan[entry.approval_id].action in _ACTING]
    done = Done()
    if apply and acting:
        done = _carry_out(context, acting, timeout_s=timeout_s, jobs=jobs)
        book = store.read()
    return _answer(context, chosen, plan, book, done, applied=apply)


def _carry_out(context: Context, acting: Sequence[Entry], *, timeout_s: float, jobs: int) -> Done:
    """One agent after the other, each with its own key; the failure of one hinders no other."""
    all_of_it = Done()
    groups: dict[Owner | None, list[Entry]] = {}
    for entry in acting:
        groups.setdefault(entry.owner, []).append(entry)
    finished = 0
    with context.progress(f"Asking Canon about {counted(len(acting), 'approval')}") as tell:

        def done(entry: Entry) -> None:
            nonlocal finished
            finished += 1
            tell(f"Asked Canon about {finished} of {counted(len(acting), 'approval')}")

        for owner, entries in groups.items():
            try:
                credential = credential_of(context, owner)
                owner = owner or Owner(credential.connection.environment_id, credential.agent_id or "")
                only = {entry.approval_id for entry in entries}
                settled = reconcile(
                    registry_of(context), credential, owner, only,
                    clock=SystemClock(), timeout_s=timeout_s, limit=jobs, done=done,
                )  # fmt: skip
                all_of_it.counts += settled.counts
                all_of_it.problems += _why_they_failed(entries, settled.failures)
                all_of_it.left += sorted(settled.left)
            except CanonOpsError as error:
                all_of_it.counts["error"] += len(entries)
                all_of_it.problems.append(Problem(error.code, error.sentence, error.fix, error.file))
                all_of_it.problems += _for_good(entries, error)
    return all_of_it


def _why_they_failed(entries: Sequence[Entry], failures: Mapping[str, Exception]) -> list[Problem]:
    """One for each cause, with the approvals that it struck; they stay open."""
    struck: dict[tuple[str, str, str | None, str | None], list[str]] = {}
    errors: dict[type[Exception], tuple[Exception, list[Entry]]] = {}
    for entry in entries:
        error = failures.get(entry.approval_id)
        if error is None:
            continue
        about: tuple[str, str, str | None, str | None] = ("failed", str(error) or type(error).__name__, None, None)
        if isinstance(error, CanonOpsError):
            about = (error.code, error.sentence, error.fix, error.file)
        struck.setdefault(about, []).append(entry.approval_id)
        errors.setdefault(type(error), (error, []))[1].append(entry)
    problems = []
    for (code, said, fix, file), ids in struck.items():
        others = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
        problems.append(Problem(code, f"{ids[0]}{others}: {said}", fix, file))
    for error, ones in errors.values():
        problems += _for_good(ones, error)
    return problems


def _for_good(entries: Sequence[Entry], error: Exception) -> list[Problem]:
    """What helps when the agent's key is gone and nobody can answer these any more."""
    if not isinstance(error, NO_KEY | REFUSED):
        return []
    now_ms = SystemClock().now_ms()
    over = [entry.approval_id for entry in entries if kept_because(entry, now_ms=now_ms) is None]
    if not over:
        return []
    said = f"{len(over)} of them can be answered no more; with that key gone for good, they can only be given up."
    return [Problem("approvals_unsettled", said, f"canon-ops approvals abandon {' '.join(over)}")]


def credential_of(context: Context, owner: Owner | None) -> AgentCredential:
    """The key to ask about an approval with: its own agent's; without an owner, the one in force.

    Raises:
        see :mod:`canon_ops.operate.agent_key`.
    """
    if owner is None:
        return credential_in_force(context.home, context.environ, context.keyring)
    return credential_of_agent(
        context.home, context.environ, context.keyring, environment_id=owner.environment_id, agent_id=owner.agent_id
    )


def _answer(
    context: Context,
    chosen: Sequence[Entry],
    plan: dict[str, Need],
    book: Book,
    done: Done,
    *,
    applied: bool,
) -> Result:
    counts, problems = done.counts, done.problems
    rows = tuple(_planned(entry, plan[entry.approval_id], book.get(entry.approval_id) or entry) for entry in chosen)
    now_ms = SystemClock().now_ms()
    waiting = sum(need_of(entry, now_ms=now_ms).action is Action.WAKE for entry in book)
    report = Reconciliation(applied, rows, dict(counts), waiting, tuple(done.left))
    busy = [row for row in rows if row.action != "nothing"]
    view: list[Block] = []
    if busy:
        table = [(row.approval_id, _WORDS[Action(row.action)], row.why, row.status) for row in busy]
        view.append(Table(("approval", "plan", "because", "state"), table, whole=frozenset({0})))
    else:
        view.append(Line("Nothing is open.", for_people_only=True))
    for approval_id in done.left:
        said = "it does not say whose it is, and Canon does not know it under the key in force; it is left as it is"
        view.append(Item(Mark.WARNING, approval_id, said))
    if applied and counts:
        said = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        view.append(Line(f"Asked Canon: {said}.", Mark.ERROR if counts["error"] else Mark.OK))
    elif any(row.action in _ACTING for row in busy):
        view.append(Line("Nothing was asked yet; --apply carries this out.", for_people_only=True))
    view += [Item(Mark.ERROR, problem.code, problem.message, problem.fix) for problem in problems]
    if waiting:
        view.append(_about_wakes(context, waiting))
    code = ExitCode.FAILED if counts["error"] else ExitCode.DONE
    return Result(report, view, code, tuple(problems))


def _about_wakes(context: Context, waiting: int) -> Line:
    what = "One decision has" if waiting == 1 else f"{waiting} decisions have"
    gateway = read_state(context.home)
    if gateway is not None and gateway.is_alive:
        return Line(f"{what} not reached the agent; the running gateway tells it within a minute.", Mark.INFO)
    return Line(f"{what} not reached the agent; its gateway tells it when it runs again.", Mark.WARNING)


def _planned(entry: Entry, need: Need, now: Entry) -> Planned:
    return Planned(
        approval_id=entry.approval_id,
        agent_id=entry.owner.agent_id if entry.owner else None,
        action=need.action.value,
        why=need.why,
        until=time_text(need.until_ms) if need.until_ms is not None else None,
        status=f"{now.status}: {now.decision}" if now.decision else now.status.value,
    )
