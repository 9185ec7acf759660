"""What a person asks of the inbox and decides about it; the statements behind ``canon-ops inbox``.

A decision is about a quarantined receipt only. Whoever calls :func:`discard` or :func:`requeue` has made sure that the
receipt's session, if Hermes has one, was reset before. :func:`decide_alone` is for a file that nobody owns: what is
claimed there is what a gateway that is gone left in doubt, so it is put aside first, as the next start would do.

Source: Borgee 4.10.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from borgee_hermes.inbox.problems import RiskNotConfirmed
from borgee_hermes.inbox.records import UNDECIDED, Outcome, Receipt, Status
from borgee_hermes.inbox.rows import receipt_of, status_of
from borgee_hermes.inbox.store import (
    MOVE_WATERMARK,
    get,
    quarantine_in_doubt,
    recover_processing,
    terminal_watermark,
)
from canon_ops.durable import Snapshot, Transaction

__all__ = ["Blocked", "Stats", "decide_alone", "discard", "listed", "requeue", "stats"]

LISTED = """
    SELECT * FROM receipts WHERE status IN (SELECT value FROM json_each(:statuses))
        AND (:session IS NULL OR session_key = :session)
    ORDER BY ingest_seq DESC LIMIT :limit"""
BY_STATUS = "SELECT status, count(*) AS receipts FROM receipts GROUP BY status"
# Sessions in which somebody waits behind a receipt that only a person can settle.
BLOCKED = """
    SELECT stuck.session_key AS session_key, min(stuck.ingest_seq) AS by_seq,
        (SELECT count(*) FROM receipts waiting
         WHERE waiting.session_key = stuck.session_key AND waiting.status = 'pending'
            AND waiting.ingest_seq > min(stuck.ingest_seq)) AS waiting
    FROM receipts stuck WHERE stuck.status IN (SELECT value FROM json_each(:undecided))
    GROUP BY stuck.session_key ORDER BY by_seq"""
OLDEST_PENDING = "SELECT min(created_at) FROM receipts WHERE status = 'pending'"
# The same without what waits for a person: a gateway should have taken it up.
OLDEST_FREE = """
    SELECT min(created_at) FROM receipts waiting WHERE status = 'pending' AND NOT EXISTS (
        SELECT 1 FROM receipts stuck
        WHERE stuck.session_key = waiting.session_key AND stuck.ingest_seq < waiting.ingest_seq
            AND stuck.status IN (SELECT value FROM json_each(:undecided)))"""
OUTBOUND = "SELECT count(*) FROM outbound_messages"
DISCARD = """
    UPDATE receipts SET status = 'failed', outcome = :outcome, updated_at = :now_s
    WHERE ingest_seq = :seq AND status = 'quarantined'"""
REQUEUE = """
    UPDATE receipts SET status = 'pending', claim_token = NULL, outcome = :outcome, error = NULL, updated_at = :now_s
    WHERE ingest_seq = :seq AND status = 'quarantined'"""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A session whose ordinary turns wait for a decision about receipt ``by_seq``."""

    session_key: str
    by_seq: int
    waiting: int

    @property
    def told(self) -> str:
        """What to say behind the name of the session."""
        messages = "1 message" if self.waiting == 1 else f"{self.waiting} messages"
        return f"waits for a decision about receipt {self.by_seq}; {messages} behind it"


@dataclass(frozen=True, slots=True)
class Stats:
    """The inbox at a glance.

    Attributes:
        oldest_pending_s: when the oldest that waits was stored, in seconds since the epoch.
        oldest_free_s: the same of those that no decision holds up.
    """

    by_status: dict[Status, int]
    blocked: tuple[Blocked, ...]
    watermark: int
    oldest_pending_s: float | None
    oldest_free_s: float | None
    outbound: int


def listed(
    snapshot: Snapshot, statuses: Collection[Status], *, session_key: str | None = None, limit: int = 50
) -> list[Receipt]:
    """The newest receipts in these states, newest first."""
    values = {"statuses": _words(statuses), "session": session_key, "limit": limit}
    return [receipt_of(row) for row in snapshot.all(LISTED, values)]


def stats(snapshot: Snapshot, *, is_owned: bool = True) -> Stats:
    """Counts, blocked sessions, watermark.

    Args:
        is_owned: whether somebody works on what is claimed; where nobody does, that too waits for a person.
    """
    undecided = {"undecided": _words(UNDECIDED - {Status.PROCESSING} if is_owned else UNDECIDED)}
    counts = {status_of(row): row["receipts"] for row in snapshot.all(BY_STATUS)}
    return Stats(
        by_status={status: counts.get(status, 0) for status in Status},
        blocked=tuple(
            Blocked(row["session_key"], row["by_seq"], row["waiting"]) for row in snapshot.all(BLOCKED, undecided)
        ),
        watermark=terminal_watermark(snapshot),
        oldest_pending_s=snapshot.value(OLDEST_PENDING),
        oldest_free_s=snapshot.value(OLDEST_FREE, undecided),
        outbound=snapshot.value(OUTBOUND),
    )


def _words(statuses: Collection[Status]) -> str:
    return "[" + ",".join(f'"{status.value}"' for status in sorted(statuses)) + "]"


def discard(transaction: Transaction, seq: int, *, now_s: float) -> bool:
    """Give a quarantined receipt up; its message is never run."""
    values = {"seq": seq, "outcome": Outcome.OPERATOR_DISCARDED, "now_s": now_s}
    return _decided(transaction, transaction.run(DISCARD, values))


def requeue(transaction: Transaction, seq: int, *, risk_confirmed: bool, now_s: float) -> bool:
    """Let a quarantined receipt wait for a turn again.

    Raises:
        RiskNotConfirmed: nobody said that its effects may come twice.
    """
    if not risk_confirmed:
        raise RiskNotConfirmed(seq)
    values = {"seq": seq, "outcome": Outcome.OPERATOR_REQUEUED, "now_s": now_s}
    return _decided(transaction, transaction.run(REQUEUE, values))


def decide_alone(
    transaction: Transaction, op: str, seq: int, *, had_session: bool, risk_confirmed: bool, now_s: float
) -> bool:
    """Discard or requeue in a file that nobody owns; false when there is nothing to decide.

    Args:
        had_session: Hermes had a session of the receipt, which was reset.

    Raises:
        RiskNotConfirmed: nobody said that its effects may come twice.
    """
    receipt = get(transaction, seq)
    if receipt is None:
        return False
    recover_processing(transaction, only=seq, now_s=now_s)  # of the others somebody may be at work
    quarantine_in_doubt(transaction, [receipt.session_key] if had_session else [], only=seq, now_s=now_s)
    if op == "discard":
        return discard(transaction, seq, now_s=now_s)
    return requeue(transaction, seq, risk_confirmed=risk_confirmed, now_s=now_s)


def _decided(transaction: Transaction, changed: int) -> bool:
    if changed:
        transaction.run(MOVE_WATERMARK)
    return changed == 1
