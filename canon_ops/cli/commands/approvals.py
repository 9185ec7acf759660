"""``canon-ops approvals``: what the registry of detached approvals says, and whether it can be trusted.

Looking reads the registry under its lock, asks Canon nothing, and never writes. No command takes a decision: that is
Canon's word and the agent's business.

Source: command-line contract, approvals; decisions A1-A4.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final

import click

from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import Entry, Status
from canon_hermes_plugin.approvals.giving_up import kept_because
from canon_hermes_plugin.approvals.needs import Need, Standing, need_of
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.place import approvals_record
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Fields, Item, Line, Mark, Raw, Result, Table
from canon_ops.errors import NotFoundError, UsageError
from canon_ops.hermes.surroundings import canon_paths_from_disk
from canon_ops.runtime.clock import SystemClock

__all__ = [
    "export_command",
    "find_entry",
    "list_command",
    "one_line",
    "refuse_blank",
    "registry_of",
    "row_of",
    "show_command",
    "time_text",
]

_STANDS: Final[dict[Standing, str]] = {
    Standing.AT_WORK: "being worked on",
    Standing.WAITING: "waiting for the human",
    Standing.ANSWERED: "decided, not yet collected",
    Standing.OVERDUE: "past its expiry, not yet settled",
    Standing.IN_DOUBT: "in doubt",
    Standing.UNTOLD: "decided, agent not yet told",
    Standing.TO_TAKE_BACK: "to be taken back",
    Standing.SETTLED: "",
}
_SUMMARY_CHARS = 40
LOOK_AT_GATEWAY: Final = "canon-ops gateway status"


@dataclass(frozen=True, slots=True)
class Lease:
    """Who carries a step out just now, or did not finish it; ``live``: nobody may take it over yet."""

    kind: str
    owner: str | None
    expires_at: str
    live: bool


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval as the registry has it; times are RFC 3339 in UTC.

    Attributes:
        agent_id: whose gateway it belongs to; null for one that the published plugin wrote.
        standing: whose turn it is: "waiting" (the human's), "answered" (decided at Canon, not collected), "overdue",
            "in_doubt", "untold" (decided, the agent not told), "to_take_back", "at_work" or "settled".
        needs: what has to be done here: "reconcile", "wake" or "nothing".
        why: why it stands so.
        next: the command that brings it on; null when there is nothing to do here.
    """

    approval_id: str
    status: str
    decision: str | None
    conversation_id: str
    summary: str
    requested_at: str | None
    expires_at: str
    response_user_id: str | None
    responded_by: str | None
    wake_status: str | None
    lease: Lease | None
    standing: str
    needs: str
    why: str
    next: str | None
    agent_id: str | None


@dataclass(frozen=True, slots=True)
class Damaged:
    """What stands under an id and is no approval; it is kept, and nothing is done with it."""

    approval_id: str
    why: str


@dataclass(frozen=True, slots=True)
class ApprovalList:
    """``data`` of ``canon-ops.approvals.list/1``; the newest comes first."""

    registry: str
    approvals: tuple[Approval, ...]
    damaged: tuple[Damaged, ...]


@dataclass(frozen=True, slots=True)
class ApprovalExport:
    """``data`` of ``canon-ops.approvals.export/1``."""

    format: str
    approvals: tuple[Approval, ...]


_STATES = click.option(
    "--state", "states", type=click.Choice([status.value for status in Status]), multiple=True,
    help="Only approvals in this state; may be repeated.",
)  # fmt: skip
_NEED = click.option(
    "--needs", type=click.Choice(["reconcile", "wake", "nothing"]), help="Only approvals that need this."
)
_CONVERSATION = click.option("--conversation", metavar="ID", help="Only approvals of this conversation.")
_SINCE = click.option("--since", metavar="TIME", help="Only approvals requested since then: 2026-11-30, or 36h, or 7d.")


def registry_of(context: Context) -> ApprovalStore:
    """The registry of this user's Canon home."""
    paths = canon_paths_from_disk(context.home.path, context.environ)
    record = approvals_record(context.home.path)
    return ApprovalStore(paths.detached_approvals_file, process="canon-ops", elsewhere=record)


@declare(
    "approvals list",
    data=ApprovalList,
    examples=("canon-ops approvals list", "canon-ops approvals list --needs reconcile --json"),
)
@_STATES
@_NEED
@_CONVERSATION
@_SINCE
def list_command(
    context: Context, states: tuple[str, ...], needs: str | None, conversation: str | None, since: str | None
) -> Result:
    """List detached approvals, the newest first.

    This is what the local registry says. Nothing is asked at Canon and no answer is fetched: approvals reconcile
    does that, and so does a gateway when it starts.
    """
    store = registry_of(context)
    book = store.read_kept()
    found = _chosen(book, states, needs, conversation, since)
    damaged = tuple(Damaged(key, why) for key, why in sorted(book.reasons.items()))
    view: list[Block] = []
    if found:
        rows = [
            (
                row.approval_id,
                _state(row),
                one_line(row.summary),
                _day(row.expires_at),
                _STANDS[Standing(row.standing)],
            )
            for row in found
        ]
        view.append(Table(("approval", "state", "summary", "expires", "stands"), rows, whole=frozenset({0})))
        view += _what_helps(found)
    else:
        view.append(
            Line(
                "There are no such approvals." if any(True for _ in book) else "There are no approvals.",
                for_people_only=True,
            )
        )
    view += [
        Item(Mark.ERROR, row.approval_id, f"{row.why}; it is left as it is", "canon-ops approvals verify")
        for row in damaged
    ]
    return Result(ApprovalList(str(store.file), found, damaged), view)


def _what_helps(rows: Sequence[Approval]) -> list[Block]:
    """One line a kind of need, with its command; a person reads it under the table."""
    asked, untold = (sum(row.needs == need for row in rows) for need in ("reconcile", "wake"))
    lines: list[Block] = []
    if asked:
        said = f"{asked} to be looked up at Canon: canon-ops approvals reconcile"
        lines.append(Line(said, Mark.WARNING, for_people_only=True))
    if untold:
        said = f"{untold} to be told to the agent, which its running gateway does: {LOOK_AT_GATEWAY}"
        lines.append(Line(said, Mark.WARNING, for_people_only=True))
    return lines


@declare("approvals show", data=Approval, examples=("canon-ops approvals show hermes-1b2c3d4e5f60718293a4",))
@click.argument("approval_id", metavar="ID")
def show_command(context: Context, approval_id: str) -> Result:
    """Show one approval: what was asked, of whom, how it stands, and what to do next.

    ID is its id in approvals list; a beginning of it will do when only one has it.
    """
    store = registry_of(context)
    book = store.read_kept()
    entry = find_entry(book, approval_id, store)
    row = row_of(entry)
    pairs = [
        ("approval", row.approval_id),
        ("state", _state(row)),
        ("stands", _STANDS[Standing(row.standing)] or "settled"),
        ("summary", one_line(row.summary, 400) or "none"),
        ("conversation", row.conversation_id),
        ("asked of", row.response_user_id or "whoever Canon chooses"),
        ("answered by", row.responded_by or "nobody"),
        ("requested", row.requested_at or "unknown"),
        ("expires", row.expires_at),
        ("agent", row.agent_id or "not recorded: another program wrote it"),
        ("told the agent", row.wake_status or "not needed"),
    ]
    if row.lease is not None:
        until = "until" if row.lease.live else "over since"
        pairs.append(("lease", f"{row.lease.kind}, {row.lease.owner or 'somebody'}, {until} {row.lease.expires_at}"))
    if row.next is None:
        return Result(row, (Fields([*pairs, ("because", one_line(row.why, 400))]),))
    view: list[Block] = [Fields(pairs), Item(Mark.WARNING, f"needs {row.needs}", row.why, fix=row.next)]
    if kept_because(entry, now_ms=SystemClock().now_ms()) is None:
        said = f"If it can never be settled: canon-ops approvals abandon {row.approval_id}"
        view.append(Line(said, Mark.INFO, for_people_only=True))
    return Result(row, view)


@declare(
    "approvals export",
    data=ApprovalExport,
    examples=("canon-ops approvals export --format csv > approvals.csv",),
)
@click.option("--format", "form", type=click.Choice(["json", "csv"]), default="json", show_default=True)
@_STATES
@_NEED
@_CONVERSATION
@_SINCE
def export_command(
    context: Context,
    form: str,
    states: tuple[str, ...],
    needs: str | None,
    conversation: str | None,
    since: str | None,
) -> Result:
    """Write approvals for another program: JSON, or CSV with a heading.

    The options choose as those of approvals list do.
    """
    found = _chosen(registry_of(context).read_kept(), states, needs, conversation, since)
    rows = [asdict(row) for row in found]
    text = json.dumps(rows, indent=2, ensure_ascii=False) + "\n" if form == "json" else _csv(rows)
    return Result(ApprovalExport(form, found), (Raw(text),))


def _csv(rows: Sequence[dict[str, object]]) -> str:
    """RFC 4180; a cell that a spreadsheet would take for a formula is quoted with an apostrophe."""
    names = [name for name in Approval.__dataclass_fields__ if name != "lease"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_harmless(row[name]) for name in names])
    return out.getvalue()


def _harmless(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _chosen(
    book: Book, states: tuple[str, ...], needs: str | None, conversation: str | None, since: str | None
) -> tuple[Approval, ...]:
    since_ms = None if since is None else _since_ms(since)
    entries = sorted(book, key=lambda entry: entry.requested_at_ms or 0, reverse=True)
    rows = (row_of(entry) for entry in entries if since_ms is None or (entry.requested_at_ms or 0) >= since_ms)
    return tuple(
        row
        for row in rows
        if (not states or row.status in states)
        and (needs is None or row.needs == needs)
        and (conversation is None or row.conversation_id == conversation)
    )


def refuse_blank(approval_ids: Iterable[str]) -> None:
    """Every id begins with nothing, so an empty word would mean whichever approval there is.

    Raises:
        UsageError: one of them is blank.
    """
    if not all(one.strip() for one in approval_ids):
        raise UsageError("an ID that is empty names no approval", fix="canon-ops approvals list")


def find_entry(book: Book, approval_id: str, store: ApprovalStore) -> Entry:
    """The approval of that id, or the only one whose id begins so.

    Raises:
        NotFoundError: there is none, there are several, or what stands there cannot be understood.
        UsageError: it is blank.
    """
    refuse_blank([approval_id])
    if approval_id in book.reasons:
        what = f"The entry {approval_id} {book.reasons[approval_id]}; it is left as it is"
        raise NotFoundError(what, fix="canon-ops approvals verify", file=str(store.file))
    entry = book.get(approval_id)
    if entry is not None:
        return entry
    alike = [entry for entry in book if entry.approval_id.startswith(approval_id)]
    if len(alike) == 1:
        return alike[0]
    what = f"Several approvals begin with {approval_id}" if alike else f"There is no approval {approval_id}"
    raise NotFoundError(f"{what} in {store.file}", fix="canon-ops approvals list", file=str(store.file))


def row_of(entry: Entry) -> Approval:
    """An entry as every command shows it."""
    now_ms = SystemClock().now_ms()
    need = need_of(entry, now_ms=now_ms)
    lease = entry.lease
    return Approval(
        approval_id=entry.approval_id,
        status=entry.status.value,
        decision=entry.decision.value if entry.decision else None,
        conversation_id=entry.conversation_id,
        summary=entry.summary,
        requested_at=None if entry.requested_at_ms is None else time_text(entry.requested_at_ms),
        expires_at=time_text(entry.expires_at_ms),
        response_user_id=entry.response_user_id,
        responded_by=entry.responded_by,
        wake_status=entry.wake_status.value if entry.wake_status else None,
        lease=None
        if lease is None
        else Lease(lease[0].value, lease[1].owner, time_text(lease[1].expires_at_ms), lease[1].is_live(now_ms)),
        standing=need.standing.value,
        needs=_needs(need),
        why=need.why,
        next=_next(entry, need),
        agent_id=entry.owner.agent_id if entry.owner else None,
    )


def _needs(need: Need) -> str:
    if not need.standing.is_somebodys_turn_here:
        return "nothing"
    return "wake" if need.standing is Standing.UNTOLD else "reconcile"


def _next(entry: Entry, need: Need) -> str | None:
    commands = {"wake": LOOK_AT_GATEWAY, "reconcile": f"canon-ops approvals reconcile {entry.approval_id}"}
    return commands.get(_needs(need))


def _state(row: Approval) -> str:
    return f"{row.status}: {row.decision}" if row.decision else row.status


def one_line(text: str, most: int = _SUMMARY_CHARS) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _day(time: str) -> str:
    """A time for a table: the minute is enough."""
    return time[:16].replace("T", " ")


def time_text(milliseconds: float) -> str:
    """RFC 3339 in UTC; a time outside of the calendar as it stands."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return _beyond_the_calendar(milliseconds)


def _beyond_the_calendar(milliseconds: float) -> str:
    try:
        return f"{milliseconds:g} ms"
    except OverflowError:  # a whole number of hundreds of digits, in a line of the trail that somebody edited
        return "a time that no clock has"


def _since_ms(text: str) -> float:
    units = {"m": 60, "h": 3600, "d": 86400}
    if text[:-1].isdecimal() and text[-1:] in units:
        return SystemClock().now_ms() - int(text[:-1]) * units[text[-1]] * 1000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        what = f"--since: {text!r} is no time; give a day, a moment as 2026-11-30T08:00, or an age as 36h"
        raise UsageError(what, fix="canon-ops approvals list --since 7d") from None
    return (moment if moment.tzinfo else moment.astimezone()).timestamp() * 1000
