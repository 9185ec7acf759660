"""The inbox's tables, and how an older file becomes today's.

The first releases of Borgee's adapter wrote this file without a record of migrations; such a file is taken over as it
is. Its oldest form also carries the cursor of a wire that is gone. What was added since can be null or has a default,
so the adapter that wrote the file can still use it.

Source: Borgee 4.2.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from canon_ops.durable import Schema, Snapshot, Transaction, require_sqlite
from canon_ops.durable.notices import LINKED_SQLITE, SqliteVersion

__all__ = ["SCHEMA", "inbox_schema"]

DROP_COLUMN: Final[SqliteVersion] = (3, 35, 5)  # earlier ones can lose data with it; Borgee 4.2

_OURS: Final = frozenset({"ingest_seq", "dedupe_key", "payload_hash", "claim_token", "effective_body", "forced_queue"})


def create_inbox(transaction: Transaction) -> None:
    """Receipts, the watermark, and the ids of what was sent."""
    transaction.run("""
        CREATE TABLE receipts (
            ingest_seq INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            channel_id TEXT NOT NULL,
            channel_type TEXT NOT NULL,
            author_id TEXT NOT NULL,
            author_name TEXT NOT NULL,
            message_id TEXT NOT NULL,
            session_key TEXT NOT NULL,
            source_body TEXT NOT NULL,
            effective_body TEXT NOT NULL,
            reply_to_id TEXT,                       -- the wire does not carry it yet
            source_created_at INTEGER NOT NULL,     -- as on the wire
            payload_hash TEXT NOT NULL,
            dedupe_key TEXT NOT NULL UNIQUE,
            dispatch_class TEXT NOT NULL DEFAULT 'ordinary'
                CHECK (dispatch_class IN ('ordinary', 'control', 'urgent_stop')),
            forced_queue INTEGER NOT NULL DEFAULT 0 CHECK (forced_queue IN (0, 1)),
            status TEXT NOT NULL
                CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'in_doubt', 'quarantined')),
            claim_token TEXT UNIQUE,
            attempt INTEGER NOT NULL DEFAULT 0,
            outcome TEXT,
            error TEXT,
            created_at REAL NOT NULL,               -- seconds since the epoch
            updated_at REAL NOT NULL
        )""")
    transaction.run("CREATE INDEX receipts_schedule ON receipts (status, ingest_seq)")
    transaction.run("CREATE INDEX receipts_session_schedule ON receipts (session_key, status, ingest_seq)")
    transaction.run("CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    transaction.run("INSERT INTO metadata (key, value) VALUES ('terminal_watermark', '0')")
    transaction.run("""
        CREATE TABLE outbound_messages (
            message_id TEXT PRIMARY KEY,
            channel_id TEXT NOT NULL,
            created_at REAL NOT NULL
        )""")


def take_over(transaction: Transaction, *, version: SqliteVersion) -> None:
    """Bring a file of an earlier adapter to the tables above."""
    columns = _columns(transaction)
    if "dispatch_class" not in columns:
        transaction.run("""
            ALTER TABLE receipts ADD COLUMN dispatch_class TEXT NOT NULL DEFAULT 'ordinary'
                CHECK (dispatch_class IN ('ordinary', 'control', 'urgent_stop'))""")
    if "raw_cursor" in columns:
        require_sqlite(DROP_COLUMN, "Dropping the column raw_cursor of an earlier inbox", version=version)
        transaction.run("DROP INDEX IF EXISTS receipts_raw_cursor_unique")
        transaction.run("ALTER TABLE receipts DROP COLUMN raw_cursor")
        transaction.run("DROP TABLE IF EXISTS sdk_cursors")
    transaction.run("CREATE INDEX IF NOT EXISTS receipts_schedule ON receipts (status, ingest_seq)")
    transaction.run(
        "CREATE INDEX IF NOT EXISTS receipts_session_schedule ON receipts (session_key, status, ingest_seq)"
    )
    transaction.run("INSERT OR IGNORE INTO metadata (key, value) VALUES ('terminal_watermark', '0')")


def keep_context(transaction: Transaction) -> None:
    """Where a message stands in Borgee, and quick ways to a message and to a channel's newest receipt."""
    for column in ("guild_id", "top_level_channel_id", "thread_id", "task_id"):
        transaction.run(f"ALTER TABLE receipts ADD COLUMN {column} TEXT")
    transaction.run("CREATE INDEX receipts_message ON receipts (message_id, channel_id)")
    transaction.run("CREATE INDEX receipts_channel ON receipts (channel_id, ingest_seq)")


def adopted(snapshot: Snapshot) -> int:
    """How many of the migrations a file without a record amounts to: 1 when an earlier adapter wrote it, else 0."""
    return 1 if _columns(snapshot) >= _OURS and _columns(snapshot, "metadata") == {"key", "value"} else 0


def inbox_schema(version: SqliteVersion = LINKED_SQLITE) -> Schema:
    """The schema, for a Python with that SQLite."""
    takes_over = partial(take_over, version=version)
    takes_over.__name__ = take_over.__name__  # type: ignore[attr-defined]  # the record names migrations
    return Schema("Borgee's inbox", (create_inbox, takes_over, keep_context), adopted)


SCHEMA: Final = inbox_schema()


def _columns(snapshot: Snapshot, table: str = "receipts") -> set[str]:
    return {row["name"] for row in snapshot.all("SELECT name FROM pragma_table_info(?)", (table,))}
