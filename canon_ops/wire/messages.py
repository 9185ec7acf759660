"""Inbound messages: what ``message.created`` carries, and the text an agent is given for it.

Parsing never raises: the server may grow new fields and leave old ones out, so a wrong shape reads as absent and the
object itself stays in ``raw``. One field is kept out of ``raw``: the reply authority is a capability, and ``raw`` is
what a model or a log may see.

Source: Canon wire 6.5, 7.1, 7.3-7.5; canon-adapter R3.2, R3.10-R3.12, R3.15, R3.16, R3.22, R3.25, R3.30, D18, D34.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from canon_ops.unseen import SHAPELESS, TURNING
from canon_ops.wire.agents import Conversation
from canon_ops.wire.dispatch import turn_dispatch_kind
from canon_ops.wire.fields import (
    JsonObject,
    as_object,
    integer_of,
    objects_in,
    string_first,
    strings_in,
    text_of,
)

__all__ = [
    "CONTROL_TYPES",
    "Attachment",
    "ContactCard",
    "DeliveryIntent",
    "InboundMessage",
    "MessageCreated",
    "ReplyAuthority",
    "control_type",
    "delivery_intent",
    "inline_text",
    "message_text",
]

CONTROL_TYPES = frozenset({
    "approval_reply",
    "approval_outcome",
    "runtime_input_reply",
    "runtime_input_outcome",
    "plan_approval_reply",
    "runtime_card_reply",
    "runtime_card_outcome",
})  # fmt: skip
"""``metadata.type`` of the receipts that the server writes; none of them is chat."""

_NO_STRUCTURE = str.maketrans("[];", "(),")
_AUTHORITY_SCHEMA = "canon.agent-reply-authority.v1"
_AUTHORITY_TOKEN_CHARACTERS = 32  # Canon wire 6.5: shorter ones are not accepted
_CONVERSATION_KINDS = frozenset({"direct", "dm", "group"})
_NOT_INLINE = re.compile(rf"[\s\x00-\x1f\x7f-\x9f\u2028\u2029{TURNING}{SHAPELESS}]+")


class DeliveryIntent(StrEnum):
    """What a message wants while a turn runs; absent or unknown means to wait its turn."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"
    INTERLEAVE = "interleave"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file on a message. ``url`` may hold an access token: it is for the download and never for a text or a log."""

    kind: str
    url: str | None = field(default=None, repr=False)
    mime_type: str | None = None
    file_name: str | None = None
    size_bytes: int | None = None
    duration_ms: int | None = None
    raw: JsonObject = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, source: JsonObject) -> Attachment:
        return cls(
            kind=string_first(source, "kind", "contentType") or "file",
            url=text_of(source, "url"),
            mime_type=text_of(source, "mimeType"),
            file_name=text_of(source, "fileName"),
            size_bytes=integer_of(source, "sizeBytes"),
            duration_ms=integer_of(source, "durationMs"),
            raw=source,
        )

    def label(self, *, shows_name: bool = True) -> str:
        """``file attachment: report.pdf``; only a bare file name is shown, never a path or an address.

        Brackets and semicolons of a name are changed: the label stands in brackets, between semicolons.
        """
        name = self.file_name or ""
        leaf = "" if "://" in name else inline_text(re.split(r"[/\\]", name)[-1]).translate(_NO_STRUCTURE)
        kind = inline_text(self.kind).translate(_NO_STRUCTURE)
        return f"{kind} attachment: {leaf}" if leaf and shows_name else f"{kind} attachment"


@dataclass(frozen=True, slots=True)
class ContactCard:
    """A person or an agent that somebody shared."""

    display_name: str | None = None
    user_type: str | None = None
    user_id: str | None = None
    owner_name: str | None = None
    about: str | None = None
    raw: JsonObject = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, source: object) -> ContactCard | None:
        if not isinstance(source, Mapping):
            return None
        return cls(
            display_name=string_first(source, "displayName"),
            user_type=string_first(source, "userType"),
            user_id=string_first(source, "userId"),
            owner_name=string_first(source, "ownerName"),
            about=string_first(source, "about"),
            raw=source,
        )

    @property
    def label(self) -> str:
        """The card on one line, whatever its fields hold."""
        parts = [
            inline_text(f"{prefix}{value}")
            for prefix, value in (
                ("", self.user_type),
                ("userId: ", self.user_id),
                ("owner: ", self.owner_name),
                ("about: ", self.about),
            )
            if value
        ]
        known = f" - {'; '.join(parts)}" if parts else ""
        return f'[Contact card] "{inline_text(self.display_name or "Unknown")}"{known}'


@dataclass(frozen=True, slots=True)
class ReplyAuthority:
    """The server's leave to answer one message; a capability, so its token shows in no repr."""

    source_message_id: str
    token: str = field(repr=False)
    expires_at: str

    @classmethod
    def parse(cls, source: object, *, message_id: str | None) -> ReplyAuthority | None:
        """Accept an authority for ``message_id``; None for any other, or one that is not whole."""
        fields = as_object(source)
        token, expires_at = text_of(fields, "token"), text_of(fields, "expiresAt")
        if not message_id or text_of(fields, "sourceMessageId") != message_id:
            return None
        if text_of(fields, "schema") != _AUTHORITY_SCHEMA or not expires_at:
            return None
        if token is None or len(token) < _AUTHORITY_TOKEN_CHARACTERS:
            return None
        return cls(message_id, token, expires_at)

    def body(self) -> dict[str, str]:
        """Exactly the four keys that a reply carries back."""
        return {
            "schema": _AUTHORITY_SCHEMA,
            "sourceMessageId": self.source_message_id,
            "token": self.token,
            "expiresAt": self.expires_at,
        }


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One message of a conversation. ``sender_type`` other than ``human`` means an agent."""

    id: str | None = None
    sender_id: str | None = None
    sender_name: str | None = None
    sender_type: str | None = None
    content_type: str | None = None
    text: str | None = None
    attachments: tuple[Attachment, ...] = ()
    contact_card: ContactCard | None = None
    reply_to: str | None = None
    mentions: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    provenance: JsonObject = field(default_factory=dict)
    raw: JsonObject = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, source: object) -> InboundMessage | None:
        """Read a message; None for anything but an object."""
        if not isinstance(source, Mapping):
            return None
        return cls(
            id=string_first(source, "id"),
            sender_id=string_first(source, "senderId"),
            sender_name=string_first(source, "senderName"),
            sender_type=text_of(source, "senderType"),
            content_type=text_of(source, "contentType"),
            text=text_of(source, "text"),
            attachments=tuple(Attachment.parse(item) for item in objects_in(source.get("attachments"))),
            contact_card=ContactCard.parse(source.get("contactCard")),
            reply_to=string_first(source, "replyTo"),
            mentions=strings_in(source.get("mentions")),
            metadata=as_object(source.get("metadata")),
            provenance=as_object(source.get("provenance")),
            raw=source,
        )

    @property
    def is_from_human(self) -> bool:
        return self.sender_type == "human"

    @property
    def is_from_agent(self) -> bool:
        """Canon says that an agent sent it; a kind that is missing, or that we do not know, is not that."""
        return self.sender_type == "ai_agent"

    @property
    def slots(self) -> tuple[Attachment | None, ...]:
        """The attachments at their places; None where the list holds something that is no object."""
        listed = self.raw.get("attachments")
        items = listed if isinstance(listed, list | tuple) else ()
        return tuple(Attachment.parse(item) if isinstance(item, Mapping) else None for item in items)

    @property
    def is_labelled(self) -> bool:
        """Whether :func:`message_text` has only the labels of its attachments to say."""
        return self.content_type != "contact_card" and not (self.text or "").strip()

    @property
    def responder_id(self) -> str | None:
        """The person who may be asked back; a turn that an agent opened has none."""
        return self.sender_id if self.is_from_human else None


@dataclass(frozen=True, slots=True)
class MessageCreated:
    """The ``message.created`` event.

    ``verdict`` is the server's word on whether to run a turn, ``conversation_kind`` its word on direct or group
    (None: it did not say). ``raw`` is the payload without the reply authority.
    """

    message: InboundMessage
    conversation_id: str | None = None
    conversation: Conversation | None = None
    verdict: str | None = None
    conversation_kind: str | None = None
    mentions: tuple[str, ...] = ()
    mentioned_agent: bool = False
    max_consecutive_agent_turns: int | None = None
    reply_authority: ReplyAuthority | None = None
    raw: JsonObject = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, payload: object) -> MessageCreated | None:
        """Read the payload; None when it holds no message object."""
        source = as_object(payload)
        message = InboundMessage.parse(source.get("message"))
        if message is None:
            return None
        conversation_id = string_first(source, "conversationId")
        conversation = source.get("conversation")
        provenance = source.get("provenance")
        origin = provenance if isinstance(provenance, Mapping) else message.provenance
        participation = as_object(as_object(source.get("behavior")).get("participation"))
        return cls(
            message=message,
            conversation_id=conversation_id,
            conversation=Conversation.parse(conversation, default_id=conversation_id)
            if isinstance(conversation, Mapping)
            else None,
            verdict=turn_dispatch_kind(source),
            conversation_kind=_conversation_kind(provenance),
            mentions=message.mentions or strings_in(source.get("mentions")),
            mentioned_agent=bool(origin.get("mentionedAgent")),
            max_consecutive_agent_turns=integer_of(participation, "maxConsecutiveAgentTurns"),
            reply_authority=ReplyAuthority.parse(source.get("replyAuthority"), message_id=message.id),
            raw={key: value for key, value in source.items() if key != "replyAuthority"},
        )

    @property
    def payload(self) -> JsonObject:
        """The event's data with the leave to answer: for a private store, never for a model or a log."""
        authority = self.reply_authority
        return self.raw if authority is None else {**self.raw, "replyAuthority": authority.body()}

    def mentions_agent(self, agent_id: str | None) -> bool:
        """Whether the message addresses the agent, by the server's word or by the list of mentions."""
        return self.mentioned_agent or (agent_id is not None and agent_id in self.mentions)


def message_text(message: InboundMessage, *, shows_names: bool = True) -> str:
    """The text an agent is given for ``message``; empty means that there is nothing to say.

    Args:
        shows_names: whether files may be named that stand in for a missing text.

    A non-blank text is passed unchanged, to the byte, so that commands survive. What stands in for a missing text is
    one line and shows neither addresses nor paths.
    """
    text = message.text or ""
    if message.content_type == "contact_card":
        card = message.contact_card
        label = "[Contact card]" if card is None else card.label
        return f"{label}\n{text.strip()}" if text.strip() else label
    if text.strip():
        return text
    if message.attachments:
        return f"[{'; '.join(attachment.label(shows_name=shows_names) for attachment in message.attachments)}]"
    if message.content_type is not None and message.content_type != "text":
        return f"[{inline_text(message.content_type)} message]"
    return ""


def delivery_intent(metadata: object) -> DeliveryIntent | None:
    """What the sender asked for while a turn runs; None when absent or unknown."""
    declared = (text_of(as_object(metadata), "deliveryIntent") or "").strip().lower()
    return DeliveryIntent(declared) if declared in set(DeliveryIntent) else None


def control_type(metadata: object) -> str | None:
    """The receipt type of a message that the server wrote; None for chat."""
    declared = text_of(as_object(metadata), "type")
    return declared if declared in CONTROL_TYPES else None


def inline_text(text: str) -> str:
    """``text`` on one line: line breaks, and what is not seen, become single spaces.

    What a stranger typed into a name or a label must not be able to open a line of its own in a prompt.
    """
    return _NOT_INLINE.sub(" ", text).strip()


def _conversation_kind(provenance: object) -> str | None:
    declared = text_of(as_object(as_object(provenance).get("conversation")), "type") or ""
    kind = declared.strip().lower()
    return kind if kind in _CONVERSATION_KINDS else None
