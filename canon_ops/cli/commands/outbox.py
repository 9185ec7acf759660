"""``canon-ops outbox``: Canon's answers that are not on Canon for certain, and what a person decides about them.

Looking never writes and needs no gateway. A decision is written into the gateway's own file: a running gateway notices
it within seconds, else the next one does.

Source: decisions X1, X9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from canon_hermes_plugin.outbox import store
from canon_hermes_plugin.outbox.store import Posting, State
from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.place import state_path
from canon_ops.cli.command import command as declare
from canon_ops.cli.command import dry_run_option
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Fields, Line, Mark, Raw, Result, Table
from canon_ops.durable import Transaction, read_once, write_once
from canon_ops.durable.problems import NoDatabase
from canon_ops.errors import ExitCode, NotFoundError
from canon_ops.operate.writing import require_consent
from canon_ops.runtime.clock import SystemClock
from canon_ops.wire.messages import Attachment

__all__ = ["discard_command", "list_command", "retry_command", "show_command"]

_NUMBER = click.argument("number", metavar="N", type=click.IntRange(1, 2**63 - 1))
_TEXT_CHARS = 48
_WORDS = {
    State.PENDING: "on its way: the gateway tries until Canon has it",
    State.REFUSED: "Canon refused it for good; retry it when the reason is gone, or discard it",
    State.HELD: "Hermes was told that it failed and may have said it otherwise; retry it or discard it",
}


@dataclass(frozen=True, slots=True)
class PostingRow:
    """One message; times are RFC 3339 in UTC.

    Attributes:
        parts: in how many parts it goes; ``on_canon`` of them are there.
        attempts: failed ones.
        error: why the last one failed.
    """

    number: int
    state: str
    environment: str
    agent_id: str
    conversation_id: str
    turn_id: str
    text: str
    parts: int
    on_canon: int
    attempts: int
    error: str | None
    recorded_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class OutboxList:
    """``data`` of ``canon-ops.outbox.list/1``; the oldest comes first."""

    messages: tuple[PostingRow, ...]


@dataclass(frozen=True, slots=True)
class PostingReport:
    """``data`` of ``canon-ops.outbox.show/1``.

    Attributes:
        message_ids: one a part: a repetition is stored once because of them.
    """

    message: PostingRow
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutboxDecision:
    """``data`` of ``canon-ops.outbox.retry/1`` and ``canon-ops.outbox.discard/1``.

    Attributes:
        decided: false when it was settled, or on its way, already; with ``--dry-run``, what it would be.
    """

    number: int
    decided: bool
    dry_run: bool


@declare("outbox list", data=OutboxList, examples=("canon-ops outbox list", "canon-ops outbox list --json"))
def list_command(context: Context) -> Result:
    """List what Canon does not have for certain, the oldest first.

    A message stands here from before its first attempt until Canon has all of it. Messages of an agent that this
    Hermes profile had before are shown too; only a gateway of that agent sends them.
    """
    try:
        found = read_once(state_path(context.home.path), SCHEMA, store.all_postings)
    except NoDatabase:
        found = []
    if not found:
        return Result(OutboxList(()), (Line("Canon has every answer.", for_people_only=True),))
    rows = [
        (
            str(each.number),
            each.state.value,
            each.conversation_id,
            _cut(_said(each)),
            str(each.attempts),
            each.error or "",
        )
        for each in found
    ]
    table = Table(("n", "state", "conversation", "text", "attempts", "error"), rows, right=frozenset({0, 4}))
    return Result(OutboxList(tuple(_row(each) for each in found)), (table,))


@declare("outbox show", data=PostingReport, examples=("canon-ops outbox show 3",))
@_NUMBER
def show_command(context: Context, number: int) -> Result:
    """Show one message: its text, how far it came, and why not further.

    N is its number in outbox list.
    """
    found = _found(context, number)
    report = PostingReport(_row(found), tuple(message.message_id or "" for message in found.operation.messages))
    pairs = [
        ("state", f"{found.state.value}: {_WORDS[found.state]}"),
        ("conversation", found.conversation_id),
        ("agent", f"{found.owner.agent_id} ({found.owner.environment_id})"),
        ("turn", found.turn_id),
        ("parts", f"{found.operation.confirmed} of {len(found.operation.messages)} are on Canon"),
        ("attempts", str(found.attempts)),
        ("error", found.error or "none"),
        ("recorded", _time(found.recorded_at_ms)),
        ("updated", _time(found.changed_at_ms)),
    ]
    blocks: list[Block] = [Fields(pairs), Line("", for_people_only=True), Raw(_said(found) + "\n")]
    return Result(report, tuple(blocks))


@declare("outbox retry", data=OutboxDecision, examples=("canon-ops outbox retry 3",))
@_NUMBER
@dry_run_option
def retry_command(context: Context, number: int, dry_run: bool) -> Result:
    """Have the gateway send a message again that it gave up.

    It goes out under its old ids, so what has arrived already is not said twice.
    """
    idle = f"Message {number} is on its way already."
    if dry_run:
        is_idle = _found(context, number).state is State.PENDING
        return _would(number, idle if is_idle else None, f"Would have the gateway send message {number} again.")
    now_ms = SystemClock().now_ms()
    return _decide(
        context,
        number,
        lambda transaction: store.retry(transaction, number, now_ms=now_ms),
        done=f"Message {number} is on its way again: a running gateway sends it within seconds.",
        idle=idle,
    )


@declare(
    "outbox discard", data=OutboxDecision, examples=("canon-ops outbox discard 3", "canon-ops outbox discard 3 --yes")
)
@_NUMBER
@dry_run_option
def discard_command(context: Context, number: int, dry_run: bool) -> Result:
    """Give a message up; the people in its conversation never get it."""
    _found(context, number)
    if dry_run:
        return _would(number, None, f"Would discard message {number}: nobody would get it.")
    if not context.options.yes:
        require_consent(context.prompts, f"Discard message {number}? Nobody will get it.")
    return _decide(
        context,
        number,
        lambda transaction: store.discard(transaction, number),
        done=f"Discarded message {number}.",
        idle=f"Message {number} has arrived meanwhile.",
    )


def _decide(context: Context, number: int, decide: Callable[[Transaction], bool], *, done: str, idle: str) -> Result:
    _found(context, number)
    if write_once(_path(context), SCHEMA, decide):
        return Result(OutboxDecision(number, True, False), (Line(done, Mark.OK),))
    return Result(OutboxDecision(number, False, False), (Line(idle, Mark.INFO),), ExitCode.FAILED)


def _would(number: int, idle: str | None, told: str) -> Result:
    """What a decision would come to; ``idle``: why there is nothing to decide."""
    if idle is not None:
        return Result(OutboxDecision(number, False, True), (Line(idle, Mark.INFO),), ExitCode.FAILED)
    return Result(OutboxDecision(number, True, True), (Line(told, Mark.OK),))


def _found(context: Context, number: int) -> Posting:
    path = _path(context)
    try:
        found = read_once(path, SCHEMA, store.stored, number)
    except NoDatabase as exc:
        raise NotFoundError(
            f"There is no message {number}: no answer has been recorded yet", fix="canon-ops outbox list"
        ) from exc
    if found is None:
        raise NotFoundError(f"There is no message {number} in {path}", fix="canon-ops outbox list", file=str(path))
    return found


def _path(context: Context) -> Path:
    return state_path(context.home.path)


def _said(posting: Posting) -> str:
    """What people will read, and the files beside it by their names."""
    lines = [line for message in posting.operation.messages for line in (message.text, *_names(message.attachments))]
    return "\n".join(line for line in lines if line)


def _names(attachments: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (f"[{Attachment.parse(attachment).label()}]" for attachment in attachments)


def _row(posting: Posting) -> PostingRow:
    return PostingRow(
        number=posting.number,
        state=posting.state.value,
        environment=posting.owner.environment_id,
        agent_id=posting.owner.agent_id,
        conversation_id=posting.conversation_id,
        turn_id=posting.turn_id,
        text=_said(posting),
        parts=len(posting.operation.messages),
        on_canon=posting.operation.confirmed,
        attempts=posting.attempts,
        error=posting.error,
        recorded_at=_time(posting.recorded_at_ms),
        updated_at=_time(posting.changed_at_ms),
    )


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_CHARS else f"{line[: _TEXT_CHARS - 1]}…"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
