"""A message that nobody asked for, part by part, through Canon's policy for such messages (the verb ``send_to``).

Its parts are idempotent by their ids, as those of an answer are by theirs, so whoever goes on with a message that was
half sent may repeat the part at which it stopped.

Source: Canon adapter R7.43-R7.45.
"""

from __future__ import annotations

from canon_ops.client.api import CanonApi
from canon_ops.errors import RefusedError
from canon_ops.wire.fields import text_of
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.retry import Policy
from canon_ops.wire.verbs import MalformedVerbAnswer

__all__ = ["NotAdmitted", "send_unasked"]


class NotAdmitted(RefusedError):
    """Canon's policy did not let the message through."""

    code = "not_admitted"

    def __init__(self, reason: str | None) -> None:
        super().__init__(f"Canon proactive send was not admitted{f': {reason}' if reason else ''}")


async def send_unasked(api: CanonApi, part: SendMessage) -> str:
    """Store one part and give back its id.

    Raises:
        NotAdmitted: the policy says no.
        RequestFailed: it could not be sent.
        MalformedVerbAnswer: whether it was stored is unknown.
    """
    envelope = {"conversationId": part.conversation_id, "idempotencyKey": part.message_id}
    options = {
        **part.options,
        "replyTo": part.reply_to,
        "metadata": dict(part.metadata) or None,
        "contentType": part.content_type,
        "attachments": [dict(attachment) for attachment in part.attachments] or None,
    }
    chosen = {key: value for key, value in options.items() if value is not None}
    value = {"text": part.text, "messageOptions": chosen or None}
    answer = await api.verb("send_to", envelope, value, policy=Policy.IDEMPOTENT)
    if answer.get("status") != "messaged":
        raise NotAdmitted(text_of(answer, "reason"))
    message_id = text_of(answer, "messageId")
    if message_id is None:
        raise MalformedVerbAnswer("send_to", "it names no message")
    return message_id
