"""Messages from a process without a gateway: cron jobs, and tools that write to Canon by name.

Each call connects, sends and leaves. It goes through Canon's policy for messages that nobody asked for (the verb
``send_to``), because no turn stands behind it. The result is a dictionary, never an exception: the host shows it.

Source: Canon adapter R7.40-R7.45.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from canon_hermes_plugin import host as host_door
from canon_hermes_plugin import probe
from canon_hermes_plugin.connecting import Credential
from canon_hermes_plugin.credential import find_credential
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.outbox import operations
from canon_hermes_plugin.turn.effects import Final as FinalMessage
from canon_ops.client.api import CanonApi
from canon_ops.client.health import verify_environment
from canon_ops.errors import CanonOpsError, RefusedError
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.options import home_channel
from canon_ops.wire.fields import text_of
from canon_ops.wire.ids import ConversationId, own_message_id
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.retry import Policy
from canon_ops.wire.verbs import MalformedVerbAnswer

__all__ = ["NotAdmitted", "send_standalone"]

FAILED: Final = "Canon standalone send failed: "


class NotAdmitted(RefusedError):
    """Canon's policy did not let the message through."""

    code = "not_admitted"

    def __init__(self, reason: str | None) -> None:
        super().__init__(f"Canon proactive send was not admitted{f': {reason}' if reason else ''}")


async def send_standalone(
    config: Any,
    chat_id: str | None,
    message: str,
    *,
    thread_id: str | None = None,
    media_files: list[Any] | None = None,
    force_document: bool = False,
    refusal: Callable[[], str | None] = host_door.multiplex_refusal,
    clock: Clock | None = None,
) -> dict[str, Any]:
    """Send ``message``; a long one goes in parts, as an answer would.

    Args:
        config: the host's platform configuration.
        chat_id: the conversation; the home channel when there is none.
        thread_id: not used: Canon has no threads, and a reply to it would be refused.
        media_files: refused, this version sends text.

    Returns:
        ``{"success": True, "message_id": …}`` or ``{"error": sentence}``.
    """
    if sentence := refusal():
        return _error(sentence)
    if media_files:
        return _error("files cannot be sent from outside the gateway")
    offload = Offload("canon-standalone")
    try:
        conversation_id = chat_id or await offload.run(_home_channel, config)
        if not conversation_id:
            return _error("no conversation is named and CANON_HOME_CHANNEL is not set")
        credential = await find_credential(offload, partial(probe.surroundings_of, config))
        return await _send(credential, conversation_id, message, clock or SystemClock())
    except CanonOpsError as error:
        return _error(error.what)
    finally:
        offload.close()


async def _send(credential: Credential, conversation_id: str, text: str, clock: Clock) -> dict[str, Any]:
    await verify_environment(credential.connection, clock=clock)
    own_id = own_message_id(secrets.token_hex(16))
    final = FinalMessage(own_id, ConversationId(conversation_id), text, names_turn=False)
    reserved = operations.reserve(operations.Book(), final)
    message_id: str | None = None
    async with CanonApi(credential.connection, credential.api_key, clock=clock) as api:
        for part in reserved.operation.messages:
            message_id = await _send_part(api, part)
    return {"success": True, "message_id": message_id}


async def _send_part(api: CanonApi, part: SendMessage) -> str:
    envelope = {"conversationId": part.conversation_id, "idempotencyKey": part.message_id}
    options = {**part.options, "replyTo": part.reply_to, "metadata": dict(part.metadata) or None}
    chosen = {key: value for key, value in options.items() if value is not None}
    value = {"text": part.text, "messageOptions": chosen or None}
    answer = await api.verb("send_to", envelope, value, policy=Policy.IDEMPOTENT)
    if answer.get("status") != "messaged":
        raise NotAdmitted(text_of(answer, "reason"))
    message_id = text_of(answer, "messageId")
    if message_id is None:
        raise MalformedVerbAnswer("send_to", "it names no message")
    return message_id


def _home_channel(config: Any) -> str | None:
    channel = home_channel(probe.surroundings_of(config))
    return channel.chat_id if channel is not None else None


def _error(sentence: str) -> dict[str, Any]:
    return {"error": FAILED + sentence}
