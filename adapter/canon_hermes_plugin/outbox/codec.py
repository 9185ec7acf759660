"""An operation as text, and back: the attempt after a restart must repeat the one before it to the byte.

Keys keep their order, and a lone surrogate stays an escape, so the body that is built from the text is the body that
was built before.
"""

from __future__ import annotations

import json
from typing import Any

from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import SendMessage

__all__ = ["decode", "encode"]


def encode(message: SendMessage) -> str:
    """One part as JSON."""
    authority = message.reply_authority
    fields = {
        "conversationId": message.conversation_id,
        "text": message.text,
        "messageId": message.message_id,
        "replyTo": message.reply_to,
        "metadata": message.metadata,
        "contentType": message.content_type,
        "attachments": list(message.attachments),
        "replyAuthority": None if authority is None else authority.body(),
        "options": message.options,
    }
    return json.dumps(fields, separators=(",", ":"))


def decode(text: str) -> SendMessage:
    """The part again.

    Raises:
        ValueError: the text is not of :func:`encode`'s making.
    """
    fields: dict[str, Any] = json.loads(text)
    try:
        authority = fields["replyAuthority"]
        return SendMessage(
            conversation_id=fields["conversationId"],
            text=fields["text"],
            message_id=fields["messageId"],
            reply_to=fields["replyTo"],
            metadata=fields["metadata"],
            content_type=fields["contentType"],
            attachments=tuple(fields["attachments"]),
            reply_authority=None if authority is None else _authority(authority),
            options=fields["options"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a stored message: {error}") from error


def _authority(fields: dict[str, str]) -> ReplyAuthority:
    return ReplyAuthority(fields["sourceMessageId"], fields["token"], fields["expiresAt"])
