"""Receipts for tests, and the file as earlier adapters of Borgee wrote it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from borgee_hermes.bpp.events import Kind
from borgee_hermes.inbox.identity import dedupe_key, payload_hash
from borgee_hermes.inbox.records import NewReceipt

__all__ = ["S1", "a_receipt", "session_of", "write_cursor_generation"]

S1 = "agent:main:borgee:channel:channel-1"


def session_of(channel_id: str) -> str:
    """The session key of a channel."""
    return f"agent:main:borgee:channel:{channel_id}"


def a_receipt(
    message_id: str = "m-1", channel_id: str = "channel-1", body: str = "hello", **changes: Any
) -> NewReceipt:
    """A message of Ada in a channel."""
    kind = changes.pop("kind", Kind.MESSAGE)
    digest = payload_hash(kind, channel_id, message_id, "u-1", body, 1_700_000_000_000, None)
    fields: dict[str, Any] = {
        "channel_type": "channel",
        "author_id": "u-1",
        "author_name": "Ada",
        "session_key": session_of(channel_id),
        "source_body": body,
        "effective_body": body,
        "source_created_at": 1_700_000_000_000,
        "payload_hash": digest,
        "dedupe_key": dedupe_key(kind, channel_id, message_id, digest),
    }
    return NewReceipt(kind=kind, channel_id=channel_id, message_id=message_id, **(fields | changes))


def write_cursor_generation(path: Path) -> None:
    """A file of the oldest adapter, with one pending receipt: a cursor column, its index and table, and no classes."""
    path.parent.mkdir(parents=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE receipts (
                ingest_seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, channel_id TEXT NOT NULL,
                channel_type TEXT NOT NULL, author_id TEXT NOT NULL, author_name TEXT NOT NULL,
                message_id TEXT NOT NULL, session_key TEXT NOT NULL, source_body TEXT NOT NULL,
                effective_body TEXT NOT NULL, reply_to_id TEXT, source_created_at INTEGER NOT NULL,
                raw_cursor INTEGER, payload_hash TEXT NOT NULL, dedupe_key TEXT NOT NULL UNIQUE,
                forced_queue INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL, claim_token TEXT UNIQUE,
                attempt INTEGER NOT NULL DEFAULT 0, outcome TEXT, error TEXT, created_at REAL NOT NULL,
                updated_at REAL NOT NULL);
            CREATE UNIQUE INDEX receipts_raw_cursor_unique ON receipts (raw_cursor) WHERE raw_cursor IS NOT NULL;
            CREATE TABLE sdk_cursors (agent_id TEXT PRIMARY KEY, cursor INTEGER NOT NULL);
            CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE outbound_messages (
                message_id TEXT PRIMARY KEY, channel_id TEXT NOT NULL, created_at REAL NOT NULL);
            INSERT INTO metadata VALUES ('terminal_watermark', '0');
            INSERT INTO receipts (kind, channel_id, channel_type, author_id, author_name, message_id, session_key,
                source_body, effective_body, source_created_at, raw_cursor, payload_hash, dedupe_key, status,
                created_at, updated_at)
            VALUES ('message', 'channel-1', 'channel', 'u-1', 'Ada', 'm-1', 'agent:main:borgee:channel:channel-1',
                'hello', 'hello', 1700000000000, 7, 'h', 'message:channel-1:m-1:h', 'pending', 1.0, 1.0);
        """)
