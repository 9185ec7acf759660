"""Messages from a process without a gateway: cron jobs, and tools that write to Canon by name.

Each call connects, sends and leaves. It goes through Canon's policy for messages that nobody asked for (the verb
``send_to``), because no turn stands behind it. The result is a dictionary, never an exception: the host shows it.

A message stands in the outbox of the home until Canon has all of it. When this process dies in the middle, or Canon
does, the next one, or the gateway, sends the rest (half_sent.py).

Source: Canon adapter R7.40-R7.45.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from canon_hermes_plugin import host as host_door
from canon_hermes_plugin import probe
from canon_hermes_plugin.connection.connecting import Credential
from canon_hermes_plugin.connection.credential import find_credential
from canon_hermes_plugin.media.download import Fetched
from canon_hermes_plugin.media.outgoing import FileMissing, FileWish, Outgoing, read_file, wish_of
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.outbound.unasked import NotAdmitted, send_unasked
from canon_hermes_plugin.outbox import operations
from canon_hermes_plugin.outbox.half_sent import HalfSent
from canon_hermes_plugin.outbox.operations import Operation
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.turn.effects import Final as FinalMessage
from canon_hermes_plugin.turn.events import OutgoingFile
from canon_ops.client.api import CanonApi
from canon_ops.client.health import verify_environment
from canon_ops.errors import CanonOpsError, OutsideError
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.options import home_channel
from canon_ops.wire.ids import ConversationId, unasked_message_id
from canon_ops.wire.retry import Policy

__all__ = ["HalfSentError", "NotAdmitted", "send_standalone"]

FAILED: Final = "Canon standalone send failed: "
FILES: Final = 10  # Canon wire 10.2


class HalfSentError(OutsideError):
    """Something of the message is on Canon, or may be; the rest follows under the same ids, so nobody says it again."""

    code = "half_sent"

    def __init__(self, error: CanonOpsError, operation: Operation) -> None:
        sent, count = operation.confirmed, len(operation.messages)
        known = f"{sent} of {count} parts are sent" if count > 1 else "It is not known whether the message is there"
        rest = "the rest follows" if sent else "it is sent again without standing there twice"
        super().__init__(f"{error.what} {known}; {rest} when a gateway runs.", fix="hermes gateway run")


async def send_standalone(
    config: Any,
    chat_id: str | None,
    message: str,
    *,
    thread_id: str | None = None,
    media_files: list[Any] | None = None,
    force_document: bool = False,
    refusal: Callable[[], str | None] = host_door.multiplex_refusal,
    home: Path | None = None,
    clock: Clock | None = None,
) -> dict[str, Any]:
    """Send ``message``; a long one goes in parts, as an answer would.

    Args:
        config: the host's platform configuration.
        chat_id: the conversation; the home channel when there is none.
        thread_id: not used: Canon has no threads, and a reply to it would be refused.
        media_files: paths, or pairs of a path and whether it is a voice message; they go with the last part.
        force_document: send pictures, recordings and films as plain files.
        home: the Hermes home whose outbox remembers a message that was half sent; None asks the host.

    Returns:
        ``{"success": True, "message_id": …}`` or ``{"error": sentence}``.
    """
    if sentence := refusal():
        return _error(sentence)
    wishes = [_wish(entry, as_document=force_document) for entry in media_files or []]
    if len(wishes) > FILES:
        return _error(f"Canon takes {FILES} files with a message, not {len(wishes)}")
    offload = Offload("canon-standalone")
    home = home or host_door.home_folder()
    try:
        conversation_id = chat_id or await offload.run(_home_channel, config)
        if not conversation_id:
            return _error("no conversation is named and CANON_HOME_CHANNEL is not set")
        credential = await find_credential(offload, partial(probe.surroundings_of, config))
        notes = HalfSent(home, offload, clock or SystemClock())
        return await _send(
            credential, conversation_id, message, notes, wishes, lambda path: offload.run(read_file, path)
        )
    except CanonOpsError as error:
        return _error(error.what)
    finally:
        offload.close()


async def _send(
    credential: Credential,
    conversation_id: str,
    text: str,
    notes: HalfSent,
    wishes: Sequence[FileWish],
    read: Callable[[str], Awaitable[bytes]],
) -> dict[str, Any]:
    await verify_environment(credential.connection, clock=notes.clock)
    own_id = unasked_message_id(secrets.token_hex(16))
    final = FinalMessage(own_id, ConversationId(conversation_id), text, names_turn=False)
    operation = operations.reserve(operations.Book(), final).operation
    async with CanonApi(credential.connection, credential.api_key, clock=notes.clock) as api:
        owner = Owner(credential.connection.environment_id, await _agent_id(credential, api))
        for earlier in await notes.left_by(owner):
            with suppress(CanonOpsError):  # it stays in the outbox, and is no reason to keep the new one back
                await _send_parts(api, earlier, owner, notes, is_left=True)
        store = partial(api.upload_media, policy=Policy.IDEMPOTENT)
        outgoing = Outgoing(store, fetch=_no_links, read=read)
        files = [await outgoing.upload(conversation_id, wish) for wish in wishes]
        whole = _with_files(operation, files)
        return {"success": True, "message_id": await _send_parts(api, whole, owner, notes)}


def _with_files(operation: Operation, files: Sequence[OutgoingFile]) -> Operation:
    """The files ride on the last part, which is of the kind of the first of them. Source: R7.43."""
    if not files:
        return operation
    attachments = tuple(file.attachment for file in files)
    last = replace(operation.messages[-1], content_type=files[0].content_type, attachments=attachments)
    return replace(operation, messages=(*operation.messages[:-1], last))


async def _no_links(url: str) -> Fetched:
    raise FileMissing("only files of this machine are sent from outside the gateway")


def _wish(entry: Any, *, as_document: bool) -> FileWish:
    path, is_voice = entry if isinstance(entry, tuple | list) else (entry, False)
    return wish_of(str(path), is_voice=bool(is_voice), as_document=as_document)


async def _agent_id(credential: Credential, api: CanonApi) -> str:
    return credential.resolution.agent_id or (await api.me()).agent_id or ""


async def _send_parts(
    api: CanonApi, operation: Operation, owner: Owner, notes: HalfSent, *, is_left: bool = False
) -> str | None:
    """Send what is left; the message is on the disk meanwhile, so that none is half sent or lost."""
    if not is_left:
        await notes.begun(owner, operation)
    message_id: str | None = None
    for part in operation.remaining:
        try:
            message_id = await send_unasked(api, part)
        except CanonOpsError as error:
            if await notes.failed(owner, operation, error, is_left=is_left):
                raise HalfSentError(error, operation) from error
            raise
        operation = replace(operation, confirmed=operation.confirmed + 1)
        await notes.confirmed(owner, operation)
    return message_id


def _home_channel(config: Any) -> str | None:
    channel = home_channel(probe.surroundings_of(config))
    return channel.chat_id if channel is not None else None


def _error(sentence: str) -> dict[str, Any]:
    return {"error": FAILED + sentence}
