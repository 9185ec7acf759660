"""``canon-ops inbox``: Borgee's messages on disk, and what a person decides about those that are in doubt.

Looking never writes and needs no gateway. A decision goes to the gateway that owns the inbox, or is carried out here
when none does; either way the receipt's session begins afresh first.

Source: command-line contract, inbox; Borgee 4.10; decisions B2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from borgee_hermes.control.client import Where, decide
from borgee_hermes.control.protocol import Request
from borgee_hermes.inbox import operator, store
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.problems import RiskNotConfirmed, requeue_advice
from borgee_hermes.inbox.records import UNDECIDED, Outcome, Receipt, Status
from borgee_hermes.inbox.schema import SCHEMA
from canon_ops.cli.command import command as declare
from canon_ops.cli.command import dry_run_option
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Fields, Item, Line, Mark, Result, Table
from canon_ops.durable import read_once
from canon_ops.durable.problems import NoDatabase
from canon_ops.errors import CanonOpsError, ExitCode, NotFoundError
from canon_ops.hermes.discovery import find_host
from canon_ops.hermes.gateway import read_state
from canon_ops.hermes.session_reset import reset_session
from canon_ops.operate.writing import require_consent

__all__ = ["discard_command", "list_command", "requeue_command", "show_command", "stats_command"]

_NONE_SHOWN, _NONE_OPEN = "There are no such receipts.", "There are no unsettled receipts."
_SEQ = click.argument("seq", type=click.IntRange(1, 2**63 - 1))
_TEXT_CHARS = 48
_NAME_CHARS = 24
_UNSETTLED = (Status.QUARANTINED, Status.IN_DOUBT, Status.PROCESSING, Status.PENDING)


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """One receipt; times are RFC 3339 in UTC.

    Attributes:
        text: what Hermes gets of it.
        outcome: how it came to its state: a stable word; null while nothing was decided.
    """

    seq: int
    status: str
    kind: str
    session_key: str
    author: str
    text: str
    dispatch_class: str
    attempt: int
    outcome: str | None
    received_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class InboxList:
    """``data`` of ``canon-ops.inbox.list/1``; the newest comes first."""

    receipts: tuple[ReceiptRow, ...]


@dataclass(frozen=True, slots=True)
class ReceiptReport:
    """``data`` of ``canon-ops.inbox.show/1``.

    Attributes:
        source_text: what was said; ``/queue`` is still in it.
        error: why it failed or is in doubt.
        waiting_behind: how many later messages of its session wait for a decision about it.
    """

    receipt: ReceiptRow
    source_text: str
    message_id: str
    channel_id: str
    channel_type: str
    author_id: str
    guild_id: str | None
    thread_id: str | None
    task_id: str | None
    forced_queue: bool
    error: str | None
    waiting_behind: int


@dataclass(frozen=True, slots=True)
class BlockedSession:
    """A session whose turns wait for a decision about receipt ``by_seq``."""

    session_key: str
    by_seq: int
    waiting: int


@dataclass(frozen=True, slots=True)
class InboxStats:
    """``data`` of ``canon-ops.inbox.stats/1``.

    Attributes:
        watermark: every receipt up to there is settled.
        outbound: remembered ids of messages that this agent has sent.
    """

    exists: bool
    by_status: dict[str, int]
    blocked: tuple[BlockedSession, ...]
    watermark: int
    oldest_pending_at: str | None
    outbound: int


@dataclass(frozen=True, slots=True)
class Decision:
    """``data`` of ``canon-ops.inbox.discard/1`` and ``canon-ops.inbox.requeue/1``.

    Attributes:
        decided: with ``--dry-run``, what it would be.
        carried_out_by: "gateway", or "here" when none owns the inbox; null when nothing was to be decided, and with
            ``--dry-run``.
    """

    seq: int
    decided: bool
    carried_out_by: str | None
    dry_run: bool = False


@declare(
    "inbox list",
    data=InboxList,
    examples=("canon-ops inbox list", "canon-ops inbox list --status quarantined --json"),
)
@click.option(
    "--status",
    "statuses",
    type=click.Choice([status.value for status in Status]),
    multiple=True,
    help="Only receipts in this state; may be repeated.  [default: everything unsettled]",
)
@click.option("--session", "session_key", metavar="KEY", help="Only receipts of this session.")
@click.option(
    "-n", "--last", metavar="N", type=click.IntRange(1, 10_000), default=50, show_default=True, help="At most N."
)
def list_command(context: Context, statuses: tuple[str, ...], session_key: str | None, last: int) -> Result:
    """List receipts of Borgee's inbox, the newest first.

    Without --status these are the unsettled ones: what waits, runs, or is in doubt. A quarantined receipt was in
    work when its gateway ended, or took too long. It blocks later messages of its session until you discard or
    requeue it. So does one that is still processing where no gateway runs.
    """
    wanted = tuple(Status(word) for word in statuses) or _UNSETTLED
    try:
        found = read_once(
            inbox_file(context.home.path), SCHEMA, operator.listed, wanted, session_key=session_key, limit=last
        )
    except NoDatabase:
        found = []
    if not found:
        return Result(
            InboxList(()), (Line(_NONE_SHOWN if statuses or session_key else _NONE_OPEN, for_people_only=True),)
        )
    rows = [
        (
            str(each.ingest_seq),
            each.status.value,
            each.session_key,
            _cut(each.author_name or each.author_id or "nobody", _NAME_CHARS),
            _cut(each.effective_body),
            _time(each.updated_at),
        )
        for each in found
    ]
    table = Table(("seq", "status", "session", "author", "text", "updated"), rows, right=frozenset({0}))
    return Result(InboxList(tuple(_row(each) for each in found)), (table, *_to_decide(context, found)))


def _to_decide(context: Context, shown: Sequence[Receipt]) -> list[Block]:
    """What a person has to decide about, and how to go on."""
    waiting = UNDECIDED - {Status.PROCESSING} if _is_owned(context) else UNDECIDED
    found = [each for each in shown if each.status in waiting]
    if not found:
        return []
    many = "1 receipt waits" if len(found) == 1 else f"{len(found)} receipts wait"
    told = f"{many} for a decision: nobody knows how far the turn came."
    if any(each.status is Status.PROCESSING for each in found):
        told += " No gateway runs, so what is processing was interrupted."
    step = context.home.own_command(f"inbox show {found[-1].ingest_seq}")
    return [Line(told, Mark.WARNING, for_people_only=True), Line(f"Next: {step}", for_people_only=True)]


@declare("inbox show", data=ReceiptReport, examples=("canon-ops inbox show 42",))
@_SEQ
def show_command(context: Context, seq: int) -> Result:
    """Show one receipt: what was said, and how far it came.

    SEQ is its number in inbox list.
    """
    path = inbox_file(context.home.path)
    receipt = _found(path, seq)
    is_owned = _is_owned(context)
    blocked = read_once(path, SCHEMA, partial(operator.stats, is_owned=is_owned)).blocked
    behind = next((each.waiting for each in blocked if each.by_seq == seq), 0)
    report = ReceiptReport(
        receipt=_row(receipt),
        source_text=receipt.source_body,
        message_id=receipt.message_id,
        channel_id=receipt.channel_id,
        channel_type=receipt.channel_type,
        author_id=receipt.author_id,
        guild_id=receipt.context.guild_id if receipt.context else None,
        thread_id=receipt.context.thread_id if receipt.context else None,
        task_id=receipt.context.task_id if receipt.context else None,
        forced_queue=receipt.forced_queue,
        error=receipt.error,
        waiting_behind=behind,
    )
    return Result(report, _shown(receipt, behind, is_owned=is_owned))


@declare("inbox stats", data=InboxStats, examples=("canon-ops inbox stats", "canon-ops inbox stats --json"))
def stats_command(context: Context) -> Result:
    """Count receipts, and name the sessions that wait for a person."""
    try:
        look = partial(operator.stats, is_owned=_is_owned(context))
        found = read_once(inbox_file(context.home.path), SCHEMA, look)
    except NoDatabase:
        nothing = InboxStats(False, {status.value: 0 for status in Status}, (), 0, None, 0)
        return Result(nothing, (Line("This Hermes profile has no Borgee inbox yet."),))
    report = InboxStats(
        exists=True,
        by_status={status.value: count for status, count in found.by_status.items()},
        blocked=tuple(BlockedSession(each.session_key, each.by_seq, each.waiting) for each in found.blocked),
        watermark=found.watermark,
        oldest_pending_at=_time(found.oldest_pending_s) if found.oldest_pending_s is not None else None,
        outbound=found.outbound,
    )
    pairs = [(status.value, str(count)) for status, count in found.by_status.items()]
    pairs += [("settled up to", str(found.watermark)), ("oldest pending", report.oldest_pending_at or "none")]
    view: list[Block] = [Fields(pairs)]
    view += [
        Item(
            Mark.WARNING,
            each.session_key,
            each.told,
            fix=f"canon-ops inbox show {each.by_seq}",
        )
        for each in found.blocked
    ]
    return Result(report, view)


@declare("inbox discard", data=Decision, examples=("canon-ops inbox discard 42", "canon-ops inbox discard 42 --yes"))
@_SEQ
@dry_run_option
def discard_command(context: Context, seq: int, dry_run: bool) -> Result:
    """Give a quarantined receipt up; its message is never run.

    Its session goes on with the next one. The Hermes session is reset first, because the interrupted turn is still
    in it. A running gateway is asked to do it; without one it is done here, also for what a gateway that was
    killed had in work.
    """
    question = f"Discard receipt {seq}? Its message will never be run."
    return _decide(context, Request("discard", seq), question, dry_run=dry_run)


@declare(
    "inbox requeue",
    data=Decision,
    examples=("canon-ops inbox requeue 42 --confirm-duplicate-side-effect-risk",),
)
@_SEQ
@click.option(
    "--confirm-duplicate-side-effect-risk",
    "confirm",
    is_flag=True,
    help="Say that its tools, requests and messages may have their effect a second time.",
)
@dry_run_option
def requeue_command(context: Context, seq: int, confirm: bool, dry_run: bool) -> Result:
    """Let a quarantined receipt run again, effects included.

    It is the first of its session then. Nobody knows how far its first run came, so tools, requests and messages
    of it may come twice; that has to be said. The Hermes session is reset first. Without a running gateway this is
    also for what one that was killed had in work.
    """
    return _decide(context, Request("requeue", seq, confirm), None, dry_run=dry_run)


def _is_owned(context: Context) -> bool:
    """Whether a gateway works on what is claimed; one of which nothing can be read may."""
    try:
        state = read_state(context.home)
    except CanonOpsError:
        return True
    return state is not None and state.is_alive


def _gateway(context: Context) -> int | None:
    """The process of the home's gateway, if one runs."""
    state = read_state(context.home)
    return state.pid if state is not None and state.is_alive else None


def _found(path: Path, seq: int) -> Receipt:
    try:
        receipt = read_once(path, SCHEMA, store.get, seq)
    except NoDatabase as exc:
        raise NotFoundError(
            f"There is no receipt {seq}: no Borgee message has been stored yet", fix="canon-ops doctor --area borgee"
        ) from exc
    if receipt is None:
        raise NotFoundError(f"There is no receipt {seq} in {path}", fix="canon-ops inbox list", file=str(path))
    return receipt


def _decide(context: Context, request: Request, question: str | None, *, dry_run: bool) -> Result:
    path = inbox_file(context.home.path)
    seq = request.ingest_seq
    receipt = _found(path, seq)
    if receipt.status not in UNDECIDED:
        said = f"Receipt {seq} is {receipt.status.value}, not quarantined: there is nothing to decide."
        return Result(Decision(seq, False, None, dry_run), (Line(said, Mark.INFO),), ExitCode.FAILED)
    if dry_run:
        return _would(context, request, receipt)
    if question is not None and not context.options.yes:
        require_consent(context.prompts, question)
    with context.progress("Asking whoever owns the inbox"):
        changed, where = decide(
            context.home.path,
            request,
            reset_session=partial(_reset, context),
            gateway=partial(_gateway, context),
            environ=context.environ,
        )
    if not changed:
        return Result(Decision(seq, False, None), (Line(_why_not(_found(path, seq)), Mark.INFO),), ExitCode.FAILED)
    verb = "Discarded" if request.op == "discard" else "Requeued"
    by = "by the running gateway" if where is Where.GATEWAY else "here; no gateway owns the inbox"
    if request.op == "requeue" and where is Where.HERE:
        by += ", so it waits for one"
    return Result(Decision(seq, True, where.value), (Line(f"{verb} receipt {seq} ({by}).", Mark.OK),))


def _would(context: Context, request: Request, receipt: Receipt) -> Result:
    """What the decision would come to; whoever owns the inbox is not asked."""
    seq = receipt.ingest_seq
    if request.op == "requeue" and not request.confirm:
        raise RiskNotConfirmed(seq)
    is_owned = _is_owned(context)
    if is_owned and receipt.status is not Status.QUARANTINED:
        return Result(Decision(seq, False, None, True), (Line(_why_not(receipt), Mark.INFO),), ExitCode.FAILED)
    by = "the running gateway would do it" if is_owned else "here: no gateway owns the inbox"
    told = f"Would {request.op} receipt {seq}, and begin its Hermes session afresh ({by})."
    return Result(Decision(seq, True, None, True), (Line(told, Mark.OK),))


def _why_not(receipt: Receipt) -> str:
    """Why whoever owns the inbox has decided nothing: what the receipt is by now."""
    why = "there is nothing to decide any more"
    if receipt.status in (Status.PROCESSING, Status.IN_DOUBT):
        why = "the running gateway is at work on it"
    elif receipt.outcome in (Outcome.OPERATOR_DISCARDED, Outcome.OPERATOR_REQUEUED):
        why = "somebody else has decided"
    return f"Receipt {receipt.ingest_seq} is {receipt.status.value}: {why}."


def _reset(context: Context, session_key: str) -> bool:
    return reset_session(
        find_host(context.environ).facts.executable, context.home, session_key, environ=context.environ
    )


def _row(receipt: Receipt) -> ReceiptRow:
    return ReceiptRow(
        seq=receipt.ingest_seq,
        status=receipt.status.value,
        kind=receipt.kind.value,
        session_key=receipt.session_key,
        author=receipt.author_name or receipt.author_id,
        text=receipt.effective_body,
        dispatch_class=receipt.dispatch_class.value,
        attempt=receipt.attempt,
        outcome=receipt.outcome,
        received_at=_time(receipt.created_at),
        updated_at=_time(receipt.updated_at),
    )


def _shown(receipt: Receipt, behind: int, *, is_owned: bool) -> Sequence[Block]:
    pairs = [
        ("status", receipt.status.value),
        ("session", receipt.session_key),
        ("author", _cut(_author(receipt), 4 * _NAME_CHARS)),
        ("text", _cut(receipt.source_body, 400)),
        ("class", receipt.dispatch_class.value + (", told to wait" if receipt.forced_queue else "")),
        ("attempts", str(receipt.attempt)),
        ("outcome", receipt.outcome or "none yet"),
        ("error", receipt.error or "none"),
        ("received", _time(receipt.created_at)),
        ("updated", _time(receipt.updated_at)),
    ]
    is_interrupted = receipt.status is Status.PROCESSING and not is_owned
    if receipt.status not in (Status.QUARANTINED, Status.IN_DOUBT) and not is_interrupted:
        return (Fields(pairs),)
    state = "interrupted" if is_interrupted else receipt.status.value.replace("_", " ")
    give_up = f"canon-ops inbox discard {receipt.ingest_seq}"
    return (
        Fields(pairs),
        Item(Mark.WARNING, state, f"nobody knows how far its turn came; {_later(behind)}"),
        Item(Mark.INFO, "give it up", "its message is never run", fix=give_up),
        Item(Mark.INFO, "or run it", "what it did already may come twice", fix=requeue_advice(receipt.ingest_seq)),
    )


def _author(receipt: Receipt) -> str:
    """Name and id, as far as the wire said them."""
    name, author_id = receipt.author_name, receipt.author_id
    if name and author_id and name != author_id:
        return f"{name} ({author_id})"
    return name or author_id or "nobody"


def _later(behind: int) -> str:
    return "1 later message of its session waits" if behind == 1 else f"{behind} later messages of its session wait"


def _cut(text: str, most: int = _TEXT_CHARS) -> str:
    """One line of a message."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
