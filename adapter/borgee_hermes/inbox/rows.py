"""A row of the inbox as a value; one that no adapter can have written is damage, and is told as such.

SQLite keeps what it is given: a flipped bit, or a hand that opened the file with another program, leaves words and
types that nothing here knows. Whoever meets them gets ``UnknownContent``, as from any other part of a broken file.

Source: Borgee 4.2.
"""

from __future__ import annotations

from typing import Any

from borgee_hermes.bpp.events import ConversationContext, Kind
from borgee_hermes.inbox.problems import UnknownContent
from borgee_hermes.inbox.records import DispatchClass, OpenReceipt, Receipt, Status
from canon_ops.durable import Row

__all__ = ["CONTEXT", "number_of", "open_receipt_of", "receipt_of", "status_of"]

CONTEXT = ("guild_id", "top_level_channel_id", "thread_id", "task_id")
_TEXTS = (
    "channel_id", "channel_type", "message_id", "author_id", "author_name", "session_key", "source_body",
    "effective_body", "payload_hash", "dedupe_key",
)  # fmt: skip
_TEXTS_OR_NULL = ("reply_to_id", "claim_token", "outcome", "error")
_NUMBERS = ("ingest_seq", "source_created_at", "attempt")
_LATEST_S = 253_402_300_799.0  # the last second that has a date of four digits


def receipt_of(row: Row) -> Receipt:
    """A whole receipt.

    Raises:
        UnknownContent: it holds what no receipt can.
    """
    try:
        plain: dict[str, Any] = {name: _text(row[name]) for name in _TEXTS}
        plain |= {name: _text(row[name]) if row[name] is not None else None for name in _TEXTS_OR_NULL}
        plain |= {name: _whole(row[name]) for name in _NUMBERS}
        return Receipt(
            **plain,
            created_at=_moment(row["created_at"]),
            updated_at=_moment(row["updated_at"]),
            kind=Kind(row["kind"]),
            dispatch_class=DispatchClass(row["dispatch_class"]),
            forced_queue=bool(row["forced_queue"]),
            status=Status(row["status"]),
            context=_context(row),
        )
    except (TypeError, ValueError) as error:
        raise UnknownContent(str(error)) from error


def open_receipt_of(row: Row) -> OpenReceipt:
    """What the scheduler knows of one; raises like :func:`receipt_of`."""
    try:
        return OpenReceipt(
            _whole(row["ingest_seq"]),
            _text(row["session_key"]),
            DispatchClass.ORDINARY if row["forced_queue"] else DispatchClass(row["dispatch_class"]),
            Status(row["status"]),
        )
    except (TypeError, ValueError) as error:
        raise UnknownContent(str(error)) from error


def status_of(row: Row) -> Status:
    """The state in a row; raises like :func:`receipt_of`."""
    try:
        return Status(row["status"])
    except ValueError as error:
        raise UnknownContent(str(error)) from error


def number_of(value: object) -> int:
    """A whole number that is kept as text; raises like :func:`receipt_of`."""
    try:
        return _whole(int(value) if isinstance(value, str) else value)
    except (TypeError, ValueError) as error:
        raise UnknownContent(str(error)) from error


def _context(row: Row) -> ConversationContext | None:
    if row["guild_id"] is None:
        return None
    thread_id, task_id = row["thread_id"], row["task_id"]
    return ConversationContext(
        _text(row["guild_id"]),
        _text(row["top_level_channel_id"]),
        _text(thread_id) if thread_id is not None else None,
        _text(task_id) if task_id is not None else None,
    )


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"a number is {value!r}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is {type(value).__name__}")
    return value


def _moment(value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= _LATEST_S:
        raise ValueError(f"a time is {value!r}")
    return value
