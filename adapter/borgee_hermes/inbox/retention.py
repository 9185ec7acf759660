"""How long the inbox remembers what is settled: thirty days, or the last fifty thousand, whichever is more.

Every edit and reaction of every channel is a row, so without an end the file would grow for ever. Rows go in small
batches, so that no turn waits for a big one. What is open or quarantined stays, however old it is.

Source: Borgee 4.12, W16.
"""

from __future__ import annotations

from typing import Final

from canon_ops.durable import Transaction

__all__ = ["BATCH", "KEPT_ROWS", "KEPT_S", "prune"]

KEPT_S: Final = 30 * 86_400.0
KEPT_ROWS: Final = 50_000
BATCH: Final = 500

PRUNE_RECEIPTS = """
    DELETE FROM receipts WHERE ingest_seq IN (
        SELECT ingest_seq FROM receipts
        WHERE ingest_seq <= (SELECT max(ingest_seq) FROM receipts) - :kept
            AND status IN ('completed', 'failed') AND updated_at < :before
        ORDER BY ingest_seq LIMIT :batch)"""
PRUNE_OUTBOUND = """
    DELETE FROM outbound_messages WHERE rowid IN (
        SELECT rowid FROM outbound_messages
        WHERE rowid <= (SELECT max(rowid) FROM outbound_messages) - :kept AND created_at < :before
        ORDER BY rowid LIMIT :batch)"""


def prune(
    transaction: Transaction,
    *,
    now_s: float,
    kept_s: float = KEPT_S,
    kept_rows: int = KEPT_ROWS,
    batch: int = BATCH,
) -> int:
    """Forget at most one batch of receipts and one of sent ids; return how many rows went, 0 when nothing is due."""
    values = {"before": now_s - kept_s, "kept": kept_rows, "batch": batch}
    return transaction.run(PRUNE_RECEIPTS, values) + transaction.run(PRUNE_OUTBOUND, values)
