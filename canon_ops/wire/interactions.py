"""Asking a human for a yes or no: the bodies of the two calls, and what their answers say.

Source: Canon wire 9.1-9.5, 9.7; canon-adapter R10.13, R10.14.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from canon_ops.wire.fields import as_object, number_in, text_of

__all__ = [
    "ApprovalAnswer",
    "ApprovalReceipt",
    "ApprovalRequest",
    "ApprovalWord",
    "CardReceipt",
    "CardRequest",
    "Detail",
    "InputRequest",
    "InteractionKind",
    "RequestReceipt",
    "consume_body",
]

TOOL_NAME_LIMIT = 128  # Canon wire 9.2
TOOL_SUMMARY_LIMIT = 1_000  # R10.14
LAST_MS = 8_640_000_000_000_000  # where a Date of JavaScript ends


class InteractionKind(StrEnum):
    """What is asked of the human; it decides the name of the id."""

    INPUT = "input"
    CARD = "card"
    APPROVAL = "approval"


@dataclass(frozen=True, slots=True)
class Detail:
    """One row below the question; ``is_monospace`` for commands."""

    label: str
    value: str
    is_monospace: bool = False

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"label": self.label, "value": self.value}
        if self.is_monospace:
            body["monospace"] = True
        return body


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """``POST /runtime-interaction/request`` for an approval.

    Attributes:
        responder: the human who may answer; None leaves it to Canon, which takes the owner.
        allows_session_rule: whether the human may answer for the rest of the session, too.
        native: ids of ours that Canon keeps beside the request.
    """

    conversation_id: str
    approval_id: str
    tool_name: str
    tool_summary: str
    expires_at_ms: int
    responder: str | None = None
    details: Sequence[Detail] = ()
    allows_session_rule: bool = False
    native: Mapping[str, str] | None = None

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "interactionKind": InteractionKind.APPROVAL.value,
            "conversationId": self.conversation_id,
            "approvalId": self.approval_id,
            "toolName": self.tool_name[:TOOL_NAME_LIMIT],
            "toolSummary": self.tool_summary[:TOOL_SUMMARY_LIMIT],
            "expiresAt": self.expires_at_ms,
            "category": "command",
            "risk": "high",
            "riskLevel": "destructive",
            "allowSessionRule": self.allows_session_rule,
        }
        if self.responder:
            body["responseUserId"] = self.responder
        if self.details:
            body["details"] = [detail.body() for detail in self.details]
        if self.native:
            body["native"] = dict(self.native)
        return body


@dataclass(frozen=True, slots=True)
class ApprovalReceipt:
    """What Canon made of the request: the expiry and the responder that are in force, when it says so."""

    expires_at_ms: float | None
    responder: str | None
    message_id: str | None

    @classmethod
    def parse(cls, answer: object) -> ApprovalReceipt:
        """Read a 2xx answer; an empty or strange one says nothing (Canon wire 9.7)."""
        source = as_object(answer)
        return cls(_time(source.get("expiresAt")), text_of(source, "responseUserId"), text_of(source, "messageId"))


@dataclass(frozen=True, slots=True)
class CardRequest:
    """``POST /runtime-interaction/request`` for a card.

    Attributes:
        card: a valid ``canon.card.v1`` document.
        responder: the human who may answer; None leaves it to Canon, which takes the owner.
        turn_id: the turn that shows it.
    """

    conversation_id: str
    card_id: str
    card: Mapping[str, Any]
    expires_at_ms: int
    responder: str | None = None
    turn_id: str | None = None
    native: Mapping[str, Any] | None = None

    def body(self) -> dict[str, Any]:
        return {
            "interactionKind": InteractionKind.CARD.value,
            "conversationId": self.conversation_id,
            "card": dict(self.card),
            "cardId": self.card_id,
            "expiresAt": self.expires_at_ms,
            **_given(responseUserId=self.responder, turnId=self.turn_id, native=self.native),
        }


@dataclass(frozen=True, slots=True)
class CardReceipt:
    """What Canon made of a card; ``interactive`` is None when it does not say."""

    card_id: str | None
    interactive: bool | None
    expires_at_ms: float | None
    responder: str | None

    @classmethod
    def parse(cls, answer: object) -> CardReceipt:
        """Read a 2xx answer; an empty or strange one says nothing."""
        source = as_object(answer)
        interactive = source.get("interactive")
        return cls(
            text_of(source, "cardId"),
            interactive if isinstance(interactive, bool) else None,
            _time(source.get("expiresAt")),
            text_of(source, "responseUserId"),
        )


@dataclass(frozen=True, slots=True)
class RequestReceipt:
    """What Canon made of a question or an approval that a turn waits for; None is what it does not say.

    Attributes:
        message_id: the message that shows the request.
        responder: whose answer Canon takes.
        allows_rule: whether the answer may hold for the rest of the session.
    """

    message_id: str | None = None
    expires_at_ms: float | None = None
    responder: str | None = None
    allows_rule: bool | None = None

    @classmethod
    def parse(cls, answer: object) -> RequestReceipt:
        """Read a 2xx answer; an empty or strange one says nothing."""
        source = as_object(answer)
        rule = source.get("allowSessionRule")
        return cls(
            text_of(source, "messageId"),
            _time(source.get("expiresAt")),
            text_of(source, "responseUserId"),
            rule if isinstance(rule, bool) else None,
        )


@dataclass(frozen=True, slots=True)
class InputRequest:
    """``POST /runtime-interaction/request`` for a question; empty fields are left out.

    Attributes:
        kind: ``clarify``, ``sudo`` or ``secret``.
        responder: the human who may answer; None leaves it to Canon, which takes the owner.
    """

    conversation_id: str
    input_id: str
    kind: str
    expires_at_ms: int
    title: str | None = None
    prompt: str | None = None
    choices: Sequence[Mapping[str, Any]] = ()
    questions: Sequence[Mapping[str, Any]] = ()
    sensitive: bool | None = None
    responder: str | None = None
    turn_id: str | None = None
    native: Mapping[str, Any] | None = None

    def body(self) -> dict[str, Any]:
        return {
            "interactionKind": InteractionKind.INPUT.value,
            "conversationId": self.conversation_id,
            "inputId": self.input_id,
            "kind": self.kind,
            "expiresAt": self.expires_at_ms,
            **_given(
                title=self.title,
                prompt=self.prompt,
                choices=[dict(choice) for choice in self.choices],
                questions=[dict(question) for question in self.questions],
                responseUserId=self.responder,
                turnId=self.turn_id,
                native=self.native,
            ),
            **({} if self.sensitive is None else {"sensitive": self.sensitive}),
        }


class ApprovalWord(StrEnum):
    """The four things that Canon can say of an approval."""

    ALLOW = "allow"
    DENY = "deny"
    PENDING = "pending"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """What consuming an approval brought; ``word`` is None for anything that is none of the four."""

    word: ApprovalWord | None
    responded_by: str | None = None
    expires_at_ms: float | None = None

    @classmethod
    def parse(cls, answer: object) -> ApprovalAnswer:
        source = as_object(answer)
        said = source.get("status")
        word = next((word for word in ApprovalWord if word == said), None)
        return cls(word, text_of(source, "respondedBy"), _time(source.get("expiresAt")))


def consume_body(
    kind: InteractionKind, conversation_id: str, interaction_id: str, *, cancel: bool = False
) -> dict[str, Any]:
    """``POST /runtime-interaction/consume``: take the answer, or take the request back."""
    body: dict[str, Any] = {
        "interactionKind": kind.value,
        "conversationId": conversation_id,
        f"{kind.value}Id": interaction_id,
    }
    if cancel:
        body["cancel"] = True
    return body


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _time(value: object) -> float | None:
    """Milliseconds within JavaScript's calendar, which is Canon's; None for anything else."""
    time_ms = number_in(value)
    return time_ms if time_ms is not None and abs(time_ms) <= LAST_MS else None
