"""What becomes of a ``message.created``: dropped, kept as background, or handed to the host.

The pipeline is two pure steps with the waiting between them, which is the shell's::

    admit(state, payload)      steps 1-10: who sent it, is it a receipt, is it new, may it start a turn
        Drop | Receipt | Suppress | Wake
    ... the shell looks up an unknown room, downloads attachments ...
    request(state, wake)       steps 12-15: everything the host's event needs, and the drained background

Each message is *running* in ``state.seen`` from a Wake until the shell calls its ``settle`` or ``release``;
suppressed ones are settled at once. Receipts are not counted: their registry makes each of them single.

Source: canon-adapter R3.1-R3.30; Canon wire 6.7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from canon_hermes_plugin.inbound import rooms, suppressed
from canon_hermes_plugin.inbound.channel_prompt import channel_prompt
from canon_hermes_plugin.inbound.dedupe import Seen
from canon_hermes_plugin.inbound.inert import Neutraliser, inert_name
from canon_hermes_plugin.inbound.rooms import Rooms
from canon_hermes_plugin.inbound.suppressed import Suppressed
from canon_hermes_plugin.policy import Refused, may_start_turn
from canon_ops.settings.options import UserAccess
from canon_ops.wire.agents import AgentIdentity
from canon_ops.wire.fields import JsonObject, text_of
from canon_ops.wire.messages import (
    DeliveryIntent,
    MessageCreated,
    ReplyAuthority,
    control_type,
    delivery_intent,
    message_text,
)

__all__ = [
    "Admission",
    "Drop",
    "DropReason",
    "Inbound",
    "Media",
    "MessageType",
    "Receipt",
    "Request",
    "Suppress",
    "Verdict",
    "Wake",
    "admit",
    "admit_created",
    "marked",
    "request",
    "with_lines",
]


class DropReason(StrEnum):
    """Why nothing is done with a message; in the order of the checks."""

    NO_MESSAGE = "no_message"
    OWN_MESSAGE = "own_message"
    CONTROL = "control"
    DUPLICATE = "duplicate"
    NO_CONVERSATION = "no_conversation"
    NO_TEXT = "no_text"


@dataclass(frozen=True, slots=True)
class Inbound:
    """What the adapter remembers about inbound messages; ``seen`` changes in place, the rest by replacement.

    Attributes:
        names_files: whether a model may read the names of files that stand in for a missing text.
    """

    seen: Seen = field(default_factory=Seen)
    rooms: Rooms = field(default_factory=Rooms)
    suppressed: Suppressed = field(default_factory=Suppressed)
    names_files: bool = True


@dataclass(frozen=True, slots=True)
class Drop:
    """Do nothing."""

    reason: DropReason


@dataclass(frozen=True, slots=True)
class Receipt:
    """An answer to an approval that is ours; it is no chat and belongs to the approval registry."""

    created: MessageCreated
    approval_id: str


@dataclass(frozen=True, slots=True)
class Suppress:
    """Kept as background; its attachments are not downloaded."""

    conversation_id: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Wake:
    """The message starts a turn.

    Attributes:
        is_room_known: when False, have Canon describe the conversation before :func:`request`.
    """

    created: MessageCreated
    conversation_id: str
    text: str
    is_room_known: bool


Verdict: TypeAlias = Drop | Receipt | Suppress | Wake


@dataclass(frozen=True, slots=True)
class Admission:
    """The state after a message, and what to do with it."""

    state: Inbound
    verdict: Verdict


class MessageType(StrEnum):
    """The host's kinds of messages, as far as Canon has them."""

    TEXT = "text"
    COMMAND = "command"
    PHOTO = "photo"
    VIDEO = "video"
    AUDIO = "audio"
    VOICE = "voice"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Media:
    """What the download brought; the default is a message without attachments.

    Attributes:
        markers: path-free lines for what the model may not see or did not get.
        is_protected: bytes are captured that only trusted tools may read.
    """

    type: MessageType = MessageType.TEXT
    urls: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    is_protected: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One message for the agent: the fields of the host's event and its source.

    Attributes:
        user_id: the sender when a person sent it, else None; it is also who may answer the turn's questions.
        raw: the payload without the reply authority.
        authority: kept beside the event, never in anything a model or a log sees.
        background: the entries behind ``channel_context``; :func:`with_lines` puts them back.
        item_id: what the inbox knows it by; None for what is not in it.
        turn_id: the turn of an earlier run, which this one continues.
        is_recovered: an earlier run died with its gateway.
        markers: what ``text`` ends with and its author did not write.
    """

    conversation_id: str
    text: str
    type: MessageType
    is_group: bool
    chat_name: str | None
    user_id: str | None
    user_name: str | None
    message_id: str | None
    reply_to: str | None
    channel_prompt: str | None
    channel_context: str | None
    delivery_intent: DeliveryIntent | None
    media_urls: tuple[str, ...]
    media_types: tuple[str, ...]
    raw: JsonObject = field(repr=False)
    authority: ReplyAuthority | None = None
    background: tuple[str, ...] = field(default=(), repr=False)
    item_id: str | None = None
    turn_id: str | None = None
    is_recovered: bool = False
    markers: tuple[str, ...] = ()


def admit(
    state: Inbound,
    payload: object,
    *,
    identity: AgentIdentity,
    access: UserAccess,
    is_our_approval: Callable[[str], bool] = lambda approval_id: False,
    neutralise: Neutraliser = inert_name,
) -> Admission:
    """Decide about the data of an event, as parsed from JSON. Source: R3.1, steps 1 to 10, in this order."""
    created = MessageCreated.parse(payload)
    if created is None:
        return Admission(state, Drop(DropReason.NO_MESSAGE))
    return admit_created(
        state,
        created,
        identity=identity,
        access=access,
        is_our_approval=is_our_approval,
        neutralise=neutralise,
    )


def admit_created(
    state: Inbound,
    created: MessageCreated,
    *,
    identity: AgentIdentity,
    access: UserAccess,
    is_our_approval: Callable[[str], bool] = lambda approval_id: False,
    neutralise: Neutraliser = inert_name,
) -> Admission:
    """Likewise, for an event that has been read already: steps 2 to 10.

    Args:
        is_our_approval: whether an approval id stands in the local registry.
    """
    message = created.message
    if identity.agent_id and message.sender_id == identity.agent_id:
        return Admission(state, Drop(DropReason.OWN_MESSAGE))
    control = control_type(message.metadata)
    if control is not None:
        approval_id = text_of(message.metadata, "approvalId")
        if control == "approval_reply" and approval_id and is_our_approval(approval_id):
            return Admission(state, Receipt(created, approval_id))
        return Admission(state, Drop(DropReason.CONTROL))
    if not state.seen.admit(message.id):
        return Admission(state, Drop(DropReason.DUPLICATE))
    state = replace(state, rooms=rooms.noted(state.rooms, created))
    conversation_id = created.conversation_id
    if conversation_id is None:
        state.seen.settle(message.id)
        return Admission(state, Drop(DropReason.NO_CONVERSATION))
    text = message_text(message, shows_names=state.names_files)
    if not text:
        state.seen.settle(message.id)
        return Admission(state, Drop(DropReason.NO_TEXT))
    decision = may_start_turn(created, access)
    if isinstance(decision, Refused):
        kept = suppressed.keep(state.suppressed, conversation_id, message, text, neutralise)
        state.seen.settle(message.id)
        return Admission(replace(state, suppressed=kept), Suppress(conversation_id, decision.code, decision.reason))
    is_room_known = state.rooms.is_known(conversation_id)
    return Admission(state, Wake(created, conversation_id, text, is_room_known))


def request(
    state: Inbound,
    wake: Wake,
    *,
    identity: AgentIdentity,
    media: Media | None = None,
    neutralise: Neutraliser = inert_name,
    starts_turn: bool = True,
) -> tuple[Inbound, Request]:
    """Build what the host is handed, and take the conversation's background with it.

    A command is passed to the byte. From here on the conversation's kind of session is fixed.

    Args:
        starts_turn: False leaves the background to the next message: no model reads this one. Source: R3.8.
    """
    media = media or Media()
    message = wake.created.message
    room_state = rooms.routed(state.rooms, wake.conversation_id)
    is_group = room_state.is_group(wake.conversation_id)
    others, background = (
        suppressed.drain(state.suppressed, wake.conversation_id) if starts_turn else (state.suppressed, ())
    )
    intent = delivery_intent(message.metadata)
    if intent is DeliveryIntent.INTERLEAVE and (media.is_protected or media.urls):
        intent = DeliveryIntent.QUEUE  # steering passes text only; the files would be lost (D12)
    title = room_state.title(wake.conversation_id)
    is_command = wake.text.strip().startswith("/")
    markers = () if is_command else media.markers  # a command's arguments are passed to the byte
    if markers and message.is_labelled and wake.text == message_text(message, shows_names=state.names_files):
        wake = replace(wake, text="")  # the markers say it, and name nothing
    prompt = channel_prompt(
        wake.created,
        room_state.rooms.get(wake.conversation_id),
        is_group=is_group,
        identity=identity,
        neutralise=neutralise,
    )
    return replace(state, rooms=room_state, suppressed=others), Request(
        conversation_id=wake.conversation_id,
        text=marked(wake.text, markers),
        markers=markers,
        type=MessageType.COMMAND if is_command else media.type,
        is_group=is_group,
        chat_name=None if title is None else neutralise(title),
        user_id=message.responder_id,
        user_name=None if message.sender_name is None else neutralise(message.sender_name),
        message_id=message.id,
        reply_to=message.reply_to,
        channel_prompt=prompt,
        channel_context=suppressed.rendered(background),
        delivery_intent=intent,
        media_urls=media.urls,
        media_types=media.types,
        raw=wake.created.raw,
        authority=wake.created.reply_authority,
        background=background,
    )


def marked(text: str, markers: tuple[str, ...]) -> str:
    """A message's text with what must be said of its files. Source: R4.22."""
    return "\n\n".join(part for part in (text, "\n".join(markers)) if part)


def with_lines(state: Inbound, conversation_id: str, lines: tuple[str, ...]) -> Inbound:
    """Put background back that had been taken: it stands in front of what was said since."""
    return replace(state, suppressed=suppressed.give_back(state.suppressed, conversation_id, lines))
