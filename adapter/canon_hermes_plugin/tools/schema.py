"""What the model is told about the tools. The words are guidance, the keys and limits are checked by the handlers.

Source: canon-adapter R1.18.
"""

from __future__ import annotations

from typing import Any, Final

from canon_hermes_plugin.tools.runtime_control import ACTIONS

__all__ = ["RUNTIME_CONTROL"]

_TEXT: Final = {"type": "string"}


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


def _objects(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object"}, "description": description}


RUNTIME_CONTROL: Final[dict[str, Any]] = {
    "name": "canon_runtime_control",
    "description": (
        "Show people on Canon native cards, ask them, or stay silent. "
        "request_card shows a canon.card.v1 card to the human of this turn and waits up to half a minute; with status "
        "pending the card stays: end the turn, and ask with check_card when you need the answer. Go on only with "
        "status submitted and an actionId that the card declares. send_card shows a card without waiting. "
        "request_input asks a question and waits for the answer. "
        "request_approval asks the human of this turn for a yes or no that may take days; it returns at once with "
        "status pending: do not wait for it and do not poll, end the turn, and you are woken with the decision. "
        "check_approval tells how one stands; unknown and expired are not a denial and authorise nothing: ask anew if "
        "it is still needed. One allow authorises one act. "
        "no_reply ends this turn without posting anything; it ignores target, takes a private reason, and whatever "
        "you write afterwards is discarded."
    ),
    "parameters": {
        "type": "object",
        "required": ["action"],
        "properties": {
            "action": {"type": "string", "enum": [*ACTIONS]},
            "target": _text("Only outside of a Canon turn: canon:<conversation id>. A turn has its own conversation."),
            "card": {"type": "object", "description": "request_card, send_card: a canon.card.v1 document."},
            "cardId": _text("check_card: the card's id; without it, which cards are open. Else a new id of yours."),
            "inputId": _text("request_input: a new id of yours, single use."),
            "kind": _text("request_input: clarify unless said; secret and sudo go to the owner only."),
            "prompt": _text("request_input: the question."),
            "choices": {"type": "array", "items": {"type": "object"}, "description": "request_input: label and value."},
            "questions": {
                "type": "array",
                "items": {"type": "object"},
                "description": "request_input: several at once.",
            },
            "sensitive": {"type": "boolean", "description": "request_input: only the owner may answer."},
            "responseUserId": _text("Not used: the human of the turn answers."),
            "runtimeId": _text("Not used."),
            "turnId": _text("Not used: it is the running turn."),
            "title": _text("A short name of what is asked."),
            "question": _text("request_approval: what is to be allowed, with the amounts and names that matter."),
            "options": {"type": "array", "items": _TEXT, "description": "request_approval: shown beside the question."},
            "context": {"description": "request_approval: a text, or an object of at most six label: value rows."},
            "approvalId": _text("check_approval: the id that request_approval returned."),
            "reason": _text("no_reply: why; it is never posted."),
            "timeoutSeconds": {
                "type": "integer",
                "description": "How long the human has; 300 unless said, 72 hours for request_approval.",
            },
        },
    },
}
