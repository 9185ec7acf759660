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


RUNTIME_CONTROL: Final[dict[str, Any]] = {
    "name": "canon_runtime_control",
    "description": (
        "Ask people on Canon natively, or stay silent. "
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
            "title": _text("A short name of what is asked."),
            "question": _text("request_approval: what is to be allowed, with the amounts and names that matter."),
            "options": {"type": "array", "items": _TEXT, "description": "request_approval: shown beside the question."},
            "context": {"description": "request_approval: a text, or an object of at most six label: value rows."},
            "approvalId": _text("check_approval: the id that request_approval returned."),
            "reason": _text("no_reply: why; it is never posted."),
            "timeoutSeconds": {"type": "integer", "description": "How long the human has; 72 hours unless said."},
        },
    },
}
