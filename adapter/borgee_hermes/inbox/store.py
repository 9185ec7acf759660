"""The inbox's tables in a gateway's life: every statement that moves a receipt, as one function each.

A function returns whether it changed the row (or how many): a transition whose condition does not hold changes
nothing. Each one that ends a receipt moves the watermark in the same transaction.

Source: Borgee 4.3-4.5, 4.8, 4.12.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from borgee_hermes.inbox.problems import ReceiptDiffers
from borgee_hermes.inbox.records import SAID, NewReceipt, OpenReceipt, Outcome, Progress, Receipt, Status
from borgee_hermes.inbox.rows import CONTEXT, number_of, open_receipt_of, receipt_of
from canon_ops.durable import Snapshot, Transaction

__all__ = [
    "Inserted",
    "channel_type",
    "claim",
    "doubt",
    "finish",
    "get",
    "give_back",
    "in_doubt_sessions",
    "insert",
    "is_outbound",
    "open_receipts",
    "progress",
    "quarantine_in_doubt",
    "quarantine_processing",
    "record_outbound",
    "recover_processing",
    "terminal_watermark",
]

STORED = (
    "kind", "channel_id", "channel_type", "author_id", "author_name", "message_id", "session_key", "source_body",
    "effective_body", "source_created_at", "payload_hash", "dedupe_key", "dispatch_class", "status", "outcome",
)  # fmt: skip
INTERRUPTED = "the gateway ended while Hermes was at work on this"

ADD = """
    INSERT INTO receipts (
        kind, channel_id, channel_type, author_id, author_name, message_id, session_key, source_body, effective_body,
        source_created_at, payload_hash, dedupe_key, dispatch_class, forced_queue, status, outcome,
        guild_id, top_level_channel_id, thread_id, task_id, created_at, updated_at)
    VALUES (
        :kind, :channel_id, :channel_type, :author_id, :author_name, :message_id, :session_key, :source_body,
        :effective_body, :source_created_at, :payload_hash, :dedupe_key, :dispatch_class, :forced_queue, :status,
        :outcome, :guild_id, :top_level_channel_id, :thread_id, :task_id, :now_s, :now_s)
    ON CONFLICT DO NOTHING"""
# The turn that a message or a mention of it has started already.
SAME_MESSAGE = """
    SELECT * FROM receipts WHERE message_id = ? AND channel_id = ? AND kind IN ('message', 'mention')
    ORDER BY ingest_seq LIMIT 1"""
BY_KEY = "SELECT * FROM receipts WHERE dedupe_key = ?"
BY_SEQ = "SELECT * FROM receipts WHERE ingest_seq = ?"
CLAIM = """
    UPDATE receipts
    SET status = 'processing', claim_token = :token, attempt = attempt + 1, outcome = NULL, error = NULL,
        updated_at = :now_s
    WHERE ingest_seq = :seq AND status = 'pending' AND claim_token IS NULL"""
# Only the one who claimed it may give it back or end it.
GIVE_BACK = """
    UPDATE receipts SET status = 'pending', claim_token = NULL, updated_at = :now_s
    WHERE ingest_seq = :seq AND status = 'processing' AND claim_token = :token"""
END = """
    UPDATE receipts SET status = :status, outcome = :outcome, error = :error, updated_at = :now_s
    WHERE ingest_seq = :seq AND status = 'processing' AND claim_token = :token"""
RECOVER = """
    UPDATE receipts SET status = 'in_doubt', outcome = :outcome, error = :error, updated_at = :now_s
    WHERE status = 'processing' AND (:only IS NULL OR ingest_seq = :only)"""
IN_DOUBT_SESSIONS = """
    SELECT session_key, count(*) AS receipts FROM receipts WHERE status = 'in_doubt'
    GROUP BY session_key ORDER BY session_key"""
QUARANTINE_IN_DOUBT = """
    UPDATE receipts
    SET status = 'quarantined', updated_at = :now_s,
        outcome = iif(session_key IN (SELECT value FROM json_each(:suspended)), :with_session, :without_session)
    WHERE status = 'in_doubt' AND (:only IS NULL OR ingest_seq = :only)"""
QUARANTINE_PROCESSING = """
    UPDATE receipts SET status = 'quarantined', outcome = :outcome, updated_at = :now_s
    WHERE ingest_seq = :seq AND status = 'processing'"""
OPEN = """
    SELECT ingest_seq, session_key, dispatch_class, forced_queue, status FROM receipts
    WHERE status IN ('pending', 'processing', 'in_doubt', 'quarantined') ORDER BY ingest_seq"""
OPEN_COUNTS = """
    SELECT status, count(*) AS receipts FROM receipts WHERE status IN ('pending', 'processing', 'in_doubt')
    GROUP BY status"""
# The first one behind the watermark is the oldest that is open.
OLDEST_OPEN = "SELECT created_at FROM receipts WHERE ingest_seq > ? ORDER BY ingest_seq LIMIT 1"
ADD_OUTBOUND = """
    INSERT INTO outbound_messages (message_id, channel_id, created_at) VALUES (:message_id, :channel_id, :now_s)
    ON CONFLICT (message_id) DO UPDATE SET channel_id = excluded.channel_id"""
IS_OUTBOUND = "SELECT 1 FROM outbound_messages WHERE message_id = ?"
CHANNEL_TYPE = "SELECT channel_type FROM receipts WHERE channel_id = ? ORDER BY ingest_seq DESC LIMIT 1"
WATERMARK = "SELECT value FROM metadata WHERE key = 'terminal_watermark'"
# Everything up to there is settled; a quarantined receipt counts as settled, since nothing here will move it.
MOVE_WATERMARK = """
    UPDATE metadata SET value = coalesce(
        (SELECT min(first) - 1 FROM (
            SELECT min(ingest_seq) AS first FROM receipts WHERE status = 'pending'
            UNION ALL SELECT min(ingest_seq) FROM receipts WHERE status = 'processing'
            UNION ALL SELECT min(ingest_seq) FROM receipts WHERE status = 'in_doubt')),
        (SELECT max(ingest_seq) FROM receipts),
        0)
    WHERE key = 'terminal_watermark'"""


@dataclass(frozen=True, slots=True)
class Inserted:
    """A stored receipt, and whether it is new."""

    receipt: Receipt
    is_new: bool


# -- coming in --------------------------------------------------------------------------------------------------------


def insert(transaction: Transaction, new: NewReceipt, *, now_s: float) -> Inserted:
    """Store a receipt once; what is there already is returned and left alone. The echo of a message of ours is settled.

    Raises:
        ReceiptDiffers: its key is there with another content.
        ValueError: a state that no receipt begins in.
    """
    if new.status in (Status.PROCESSING, Status.IN_DOUBT):
        raise ValueError(f"no receipt begins as {new.status}")
    known = _known(transaction, new)
    if known is not None:
        return Inserted(known, is_new=False)
    if new.status is Status.PENDING and is_outbound(transaction, new.message_id):
        new = replace(new, status=Status.COMPLETED, outcome=Outcome.IGNORED_OUTBOUND_ECHO)
    seq = transaction.insert(ADD, _parameters(new, now_s))
    if seq is None:
        raise ReceiptDiffers(f"two receipts came under the key {new.dedupe_key}")
    if not new.status.is_open:
        transaction.run(MOVE_WATERMARK)
    stored = get(transaction, seq)
    assert stored is not None  # noqa: S101  # inserted three lines above, in this transaction
    return Inserted(stored, is_new=True)


def _known(snapshot: Snapshot, new: NewReceipt) -> Receipt | None:
    row = snapshot.one(BY_KEY, (new.dedupe_key,))
    if row is not None and row["payload_hash"] != new.payload_hash:
        raise ReceiptDiffers(f"the receipt {row['ingest_seq']} is stored under the same key with a different payload")
    if row is None and new.kind in SAID and new.message_id:
        row = snapshot.one(SAME_MESSAGE, (new.message_id, new.channel_id))
    return receipt_of(row) if row is not None else None


def _parameters(new: NewReceipt, now_s: float) -> dict[str, Any]:
    return {
        **{name: getattr(new, name) for name in STORED},
        **{name: getattr(new.context, name, None) for name in CONTEXT},
        "forced_queue": int(new.forced_queue),
        "now_s": now_s,
    }


# -- a turn -----------------------------------------------------------------------------------------------------------


def claim(transaction: Transaction, seq: int, token: str, *, now_s: float) -> Receipt | None:
    """Take a pending receipt; None when somebody else has it or nobody may.

    Raises:
        ValueError: the token is empty.
    """
    if not token:
        raise ValueError("a claim needs a token")
    if not transaction.run(CLAIM, {"seq": seq, "token": token, "now_s": now_s}):
        return None
    return get(transaction, seq)


def give_back(transaction: Transaction, seq: int, token: str, *, now_s: float) -> bool:
    """Let a claimed receipt wait again; only for one that Hermes has not begun. Source: docs/decisions/0055, 0066."""
    return transaction.run(GIVE_BACK, {"seq": seq, "token": token, "now_s": now_s}) == 1


def finish(
    transaction: Transaction,
    seq: int,
    token: str,
    status: Status,
    outcome: Outcome,
    *,
    error: str | None = None,
    now_s: float,
) -> bool:
    """End a claimed receipt: completed or failed."""
    if status not in (Status.COMPLETED, Status.FAILED):
        raise ValueError(f"a turn does not end as {status}")
    return _end(transaction, seq, token, status, outcome, error, now_s)


def doubt(transaction: Transaction, seq: int, token: str, outcome: Outcome, *, error: str, now_s: float) -> bool:
    """Note that nobody can say how far Hermes came with a claimed receipt."""
    return _end(transaction, seq, token, Status.IN_DOUBT, outcome, error, now_s)


def _end(
    transaction: Transaction, seq: int, token: str, status: Status, outcome: Outcome, error: str | None, now_s: float
) -> bool:
    values = {"seq": seq, "token": token, "status": status, "outcome": outcome, "error": error, "now_s": now_s}
    return _moved(transaction, transaction.run(END, values)) == 1


# -- after a crash, and after a limit ---------------------------------------------------------------------------------


def recover_processing(transaction: Transaction, *, only: int | None = None, now_s: float) -> int:
    """Every claimed receipt, or one, is in doubt: whoever claimed it is gone."""
    values = {"only": only, "outcome": Outcome.PROCESS_INTERRUPTED, "error": INTERRUPTED, "now_s": now_s}
    return transaction.run(RECOVER, values)


def in_doubt_sessions(snapshot: Snapshot) -> dict[str, int]:
    """The sessions with receipts in doubt, and how many each has."""
    return {row["session_key"]: row["receipts"] for row in snapshot.all(IN_DOUBT_SESSIONS)}


def quarantine_in_doubt(
    transaction: Transaction, suspended: Collection[str], *, only: int | None = None, now_s: float
) -> int:
    """Put what is in doubt aside for a person, all or one; ``suspended`` are those of its sessions that exist."""
    values = {
        "only": only,
        "suspended": json.dumps(sorted(suspended)),
        "with_session": Outcome.QUARANTINED_SUSPENDED,
        "without_session": Outcome.QUARANTINED_NO_SESSION,
        "now_s": now_s,
    }
    return _moved(transaction, transaction.run(QUARANTINE_IN_DOUBT, values))


def quarantine_processing(transaction: Transaction, seq: int, *, suspended: bool, now_s: float) -> bool:
    """Put one claimed receipt aside whose time is up."""
    outcome = Outcome.TIMEOUT_SUSPENDED if suspended else Outcome.TIMEOUT_NO_SESSION
    values = {"seq": seq, "outcome": outcome, "now_s": now_s}
    return _moved(transaction, transaction.run(QUARANTINE_PROCESSING, values)) == 1


# -- questions --------------------------------------------------------------------------------------------------------


def get(snapshot: Snapshot, seq: int) -> Receipt | None:
    """One receipt."""
    row = snapshot.one(BY_SEQ, (seq,))
    return receipt_of(row) if row is not None else None


def open_receipts(snapshot: Snapshot) -> list[OpenReceipt]:
    """Everything that a scheduler has to know at its start, in order of arrival."""
    return [open_receipt_of(row) for row in snapshot.all(OPEN)]


def terminal_watermark(snapshot: Snapshot) -> int:
    """The highest number up to which every receipt is settled."""
    return number_of(snapshot.value(WATERMARK) or 0)


def progress(snapshot: Snapshot) -> Progress:
    """How far the work has come; the cost is that of counting what is open in an index."""
    counts = {Status(row["status"]): row["receipts"] for row in snapshot.all(OPEN_COUNTS)}
    watermark = terminal_watermark(snapshot)
    oldest_s: float | None = snapshot.value(OLDEST_OPEN, (watermark,)) if counts else None
    return Progress(watermark, sum(counts.values()), counts.get(Status.PROCESSING, 0), oldest_s)


def channel_type(snapshot: Snapshot, channel_id: str) -> str | None:
    """The type of a channel, as its newest receipt says it; None when nothing came from there."""
    kind: str | None = snapshot.value(CHANNEL_TYPE, (channel_id,))
    return kind


# -- what was sent ----------------------------------------------------------------------------------------------------


def record_outbound(transaction: Transaction, message_id: str, channel_id: str, *, now_s: float) -> None:
    """Remember a message of ours, so that its echo is known."""
    transaction.run(ADD_OUTBOUND, {"message_id": message_id, "channel_id": channel_id, "now_s": now_s})


def is_outbound(snapshot: Snapshot, message_id: str) -> bool:
    """Whether a message is one of ours."""
    return snapshot.value(IS_OUTBOUND, (message_id,)) is not None


# -- inside -----------------------------------------------------------------------------------------------------------


def _moved(transaction: Transaction, changed: int) -> int:
    if changed:
        transaction.run(MOVE_WATERMARK)
    return changed
