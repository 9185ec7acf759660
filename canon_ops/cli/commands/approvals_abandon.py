"""``canon-ops approvals abandon``: end what nothing can settle any more; first the plan, then, when told to, the end.

That nobody can be asked is not believed but found out: where the agent's key is here, Canon is asked with it first, and
whatever Canon says is what the approval comes to.

Source: decisions A1, A4; docs/decisions/0046-what-nothing-can-settle.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.events import GiveUp
from canon_hermes_plugin.approvals.from_outside import reconcile
from canon_hermes_plugin.approvals.giving_up import Verdict, What, verdict_on
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.cli.command import command as declare
from canon_ops.cli.commands.approvals import find_entry, registry_of
from canon_ops.cli.commands.approvals_reconcile import NO_KEY, REFUSED, credential_of
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Item, Line, Mark, Problem, Result, Table
from canon_ops.client.errors import Forbidden, Unauthorized
from canon_ops.errors import CanonOpsError, ExitCode, OutsideError
from canon_ops.operate.agent_key import AgentCredential
from canon_ops.runtime.clock import SystemClock

__all__ = ["Abandonment", "command"]

_WORDS = {What.KEEP: "keep", What.ASK_FIRST: "ask Canon first", What.GIVE_UP: "give up"}


@dataclass(frozen=True, slots=True)
class Wish:
    """What comes of one approval: "keep", "ask_first" or "give_up", and why.

    Attributes:
        given_up: whether it was, with --apply.
        status: how it stands now.
    """

    approval_id: str
    agent_id: str | None
    verdict: str
    why: str
    given_up: bool
    status: str


@dataclass(frozen=True, slots=True)
class Abandonment:
    """``data`` of ``canon-ops.approvals.abandon/1``."""

    applied: bool
    plan: tuple[Wish, ...]


@declare(
    "approvals abandon",
    data=Abandonment,
    timeout_s=30.0,
    examples=(
        "canon-ops approvals abandon hermes-1b2c3d4e5f60718293a4",
        "canon-ops approvals abandon hermes-1b2c3d4e5f60718293a4 --apply",
    ),
)
@click.argument("approval_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--apply", is_flag=True, help="Carry the plan out.")
def command(context: Context, timeout_s: float, approval_ids: tuple[str, ...], apply: bool) -> Result:
    """Give up approvals that nothing can settle any more.

    That is one past its expiry whose agent has no key here, or a key that Canon refuses; and a decision that its
    gateway cannot tell the agent. Nothing else is given up, and no decision is made: the agent that checks one learns
    that its answer is unknown and that it may ask again. A decision that was fetched stays and can be checked.

    Without --apply only the plan is shown.
    """
    store = registry_of(context)
    book = store.read_kept()
    chosen = list(
        {entry.approval_id: entry for entry in (find_entry(book, one, store) for one in approval_ids)}.values()
    )
    wishes: list[Wish] = []
    problems: list[Problem] = []
    for entry in chosen:
        try:
            wishes.append(_about(context, store, entry, timeout_s=timeout_s, apply=apply))
        except CanonOpsError as error:
            problems.append(Problem(error.code, f"{entry.approval_id}: {error.sentence}", error.fix, error.file))
            why = "whether Canon can be asked about it could not be found out"
            wishes.append(_wish(entry, Verdict(What.KEEP, why), entry, given_up=False))
    return _answer(wishes, problems, applied=apply)


def _about(context: Context, store: ApprovalStore, entry: Entry, *, timeout_s: float, apply: bool) -> Wish:
    credential = _key(context, entry.owner)
    verdict = verdict_on(entry, has_key=credential is not None, now_ms=SystemClock().now_ms())
    if not apply or verdict.what is What.KEEP:
        return _wish(entry, verdict, entry, given_up=False)
    why = verdict.why
    if verdict.what is What.ASK_FIRST and credential is not None:
        refused = _refused(store, credential, entry, timeout_s=timeout_s)
        if refused is None:
            return _wish(entry, verdict, store.read().get(entry.approval_id) or entry, given_up=False)
        why = f"Canon refuses the key of its agent ({refused.status})"
    done = store.apply_one(entry.approval_id, GiveUp(why))
    return _wish(entry, Verdict(What.GIVE_UP, why), done.entry or entry, given_up=done.is_change)


def _key(context: Context, owner: Owner | None) -> AgentCredential | None:
    """The key to ask with; None when there is none. A keyring or a file that fails just now is no such answer."""
    try:
        return credential_of(context, owner)
    except CanonOpsError as error:
        if isinstance(error, NO_KEY):
            return None
        raise


def _refused(
    store: ApprovalStore, credential: AgentCredential, entry: Entry, *, timeout_s: float
) -> Unauthorized | Forbidden | None:
    """Ask Canon; its refusal of the key, or None when it said how the approval stands."""
    owner = entry.owner or Owner(credential.connection.environment_id, credential.agent_id or "")
    try:
        done = reconcile(
            store, credential, owner, {entry.approval_id},
            clock=SystemClock(), timeout_s=timeout_s, limit=1, done=lambda entry: None,
        )  # fmt: skip
    except CanonOpsError as refused:
        if isinstance(refused, REFUSED):
            return refused
        raise
    if entry.approval_id in done.left:
        raise OutsideError(
            "it does not say whose it is, and Canon does not know it under the key in force",
            fix="run it with --profile for the Hermes profile of its agent",
        )
    if done.counts["error"]:
        raise OutsideError(
            "Canon could not be asked just now", fix=f"canon-ops approvals reconcile {entry.approval_id} --apply"
        )
    return None


def _wish(before: Entry, verdict: Verdict, now: Entry, *, given_up: bool) -> Wish:
    return Wish(
        before.approval_id,
        before.owner.agent_id if before.owner else None,
        verdict.what.value,
        verdict.why,
        given_up,
        f"{now.status}: {now.decision}" if now.decision else now.status.value,
    )


def _answer(wishes: Sequence[Wish], problems: Sequence[Problem], *, applied: bool) -> Result:
    rows = [(wish.approval_id, _WORDS[What(wish.verdict)], wish.why, wish.status) for wish in wishes]
    view: list[Block] = [Table(("approval", "plan", "because", "state"), rows, whole=frozenset({0}))]
    count = sum(wish.given_up for wish in wishes)
    if count:
        view.append(Line(f"Gave up {count} {'approval' if count == 1 else 'approvals'}.", Mark.OK))
    elif not applied and any(wish.verdict != What.KEEP for wish in wishes):
        view.append(Line("Nothing was given up yet; --apply carries this out.", for_people_only=True))
    view += [Item(Mark.ERROR, problem.code, problem.message, problem.fix) for problem in problems]
    is_refused = applied and any(wish.verdict == What.KEEP for wish in wishes)
    code = ExitCode.FAILED if problems or is_refused else ExitCode.DONE
    return Result(Abandonment(applied, tuple(wishes)), view, code, tuple(problems))
