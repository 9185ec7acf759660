"""What makes two events the same event, and the text that a database can hold.

The product's server gives a message one id for ever. So a message and the mention of it are one turn, however often
they come and whatever its author is called by then (``store.insert`` looks for the id first); the key below tells the
other kinds apart, and messages that come without an id.

Source: Borgee 4.3, W14, W15.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from borgee_hermes.bpp.events import Kind, Reaction

__all__ = ["MOST", "dedupe_key", "payload_hash", "storable"]

MOST: Final = (1 << 63) - 1  # SQLite's largest integer


def payload_hash(
    kind: Kind,
    channel_id: str,
    message_id: str,
    author_id: str,
    body: str,
    created_at: int,
    reaction: Reaction | None,
) -> str:
    """Hex SHA-256 of what an event says; the names people and channels go by are not part of it."""
    content = {
        "kind": kind.value,
        "channel_id": channel_id,
        "message_id": message_id,
        "author_id": author_id,
        "body": body,
        "created_at": created_at,
        "reaction": reaction and {"emoji": reaction.emoji, "user_id": reaction.user_id, "added": reaction.added},
    }
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def dedupe_key(kind: Kind, channel_id: str, message_id: str, digest: str) -> str:
    """The key under which an event is stored once."""
    return f"{kind.value}:{channel_id}:{message_id}:{digest}"


def storable(text: str) -> str:
    """``text`` with each half of a torn character replaced: JSON can carry one, UTF-8 and SQLite cannot."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
