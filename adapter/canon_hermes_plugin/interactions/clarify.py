"""The host's own questions as inputs of Canon, and Canon's answers as the text that the host waits for. Pure.

Source: canon-adapter R9.1, R9.4-R9.7; Canon wire 9.2, 9.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canon_ops.hermes.catalogue import without_keys
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.interactions import InputRequest

__all__ = [
    "CANCELLED",
    "LOST",
    "NOT_ASKED",
    "HumanWaits",
    "answer_text",
    "choices_of",
    "clarify_request",
    "native_ids",
    "outcome_text",
]

CHOICES, LABEL, VALUE = 12, 160, 400  # R9.5
PROMPT: Final = 4_000  # Canon wire 9.2
TITLE: Final = "A question"
CANCELLED: Final = "[The user cancelled the question.]"
LOST: Final = "[The answer was lost on its way. Ask again if you need it.]"
NOT_ASKED: Final = "[Somebody answered who was not asked; that is no answer. Ask again if you need one.]"

DEFAULT_S, SHORTEST_S, LONGEST_S = 300, 5, 1_800  # R9.1


@dataclass(frozen=True, slots=True)
class HumanWaits:
    """How long a question and an approval wait for a person, in seconds."""

    clarify_s: int = DEFAULT_S
    approval_s: int = DEFAULT_S

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> HumanWaits:
        """What the environment says. Source: R9.1."""
        return cls(_seconds(environ.get("HERMES_CLARIFY_TIMEOUT")), _seconds(environ.get("HERMES_APPROVAL_TIMEOUT")))

    @staticmethod
    def shorter(ours_s: int, host_s: float | None) -> int:
        """Ours, unless the host gives up before: then nobody should be shown a longer time (D17)."""
        if host_s is None or not math.isfinite(host_s):
            return ours_s
        return max(SHORTEST_S, min(ours_s, int(host_s)))


def _seconds(value: str | None) -> int:
    try:
        asked = int(value) if value is not None else DEFAULT_S
    except ValueError:
        asked = DEFAULT_S
    return min(max(asked, SHORTEST_S), LONGEST_S)


def native_ids(method: str, request_id: str, session_key: str) -> dict[str, str]:
    """What Canon keeps beside a request, to find it in the runtime that made it. Source: Canon wire 9.2."""
    return {"runtime": "hermes", "method": method, "requestId": request_id, "sessionKey": session_key}


def clarify_request(
    conversation_id: str,
    clarify_id: str,
    question: str,
    choices: object,
    *,
    session_key: str,
    responder: str | None,
    expires_at_ms: int,
    turn_id: str | None = None,
) -> InputRequest:
    """The input that asks the host's question."""
    return InputRequest(
        conversation_id,
        clarify_id,
        "clarify",
        expires_at_ms,
        TITLE,
        without_keys(question)[:PROMPT],
        choices_of(choices),
        responder=responder,
        turn_id=turn_id,
        native=native_ids("clarify", clarify_id, session_key),
    )


def choices_of(choices: object) -> tuple[dict[str, str], ...]:
    """What can be chosen; blank choices are left out. Source: R9.5."""
    listed = choices if isinstance(choices, list | tuple) else ()
    named = (_choice(one) for one in listed)
    return tuple(one for one in named if one is not None)[:CHOICES]


def _choice(choice: Any) -> dict[str, str] | None:
    if isinstance(choice, Mapping):
        label = _first_text(choice.get(name) for name in ("label", "text", "value"))
        value = _first_text([choice.get("value"), label])
    else:
        label = value = str(choice).strip() if choice is not None else ""
    return {"label": label[:LABEL], "value": value[:VALUE]} if label else None


def _first_text(values: Iterable[object]) -> str:
    return next((text for value in values if value is not None and (text := str(value).strip())), "")


def outcome_text(response: JsonObject, *, waited_s: float) -> str:
    """What the host is told: the answer, or in brackets why there is none. Source: R9.6.

    Args:
        waited_s: how long the person had.
    """
    match response.get("status"):
        case "submitted":
            return answer_text(response)
        case "cancelled":
            return CANCELLED
        case "unknown":
            return LOST
    return f"[The user did not answer within {_span(waited_s)}.]"


def _span(seconds: float) -> str:
    whole = max(1, round(seconds))
    minutes, left = divmod(whole, 60)
    parts = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in ((minutes, "minute"), (left, "second"))]
    return " ".join(part for part in parts if not part.startswith("0 "))


def answer_text(response: JsonObject) -> str:
    """A submitted answer as one text. Source: R9.7."""
    value = response.get("value")
    if isinstance(value, str) and value.strip():
        return value
    if answers := _answers(response.get("answers")):
        return answers
    if isinstance(value, str):
        return value
    choice = response.get("choice")
    return _first_text([choice.get("value"), choice.get("label")]) if isinstance(choice, Mapping) else ""


def _answers(answers: object) -> str:
    if not isinstance(answers, Mapping):
        return ""
    texts = {name: _answer(item) for name, item in answers.items() if isinstance(name, str)}
    usable = {name: text for name, text in texts.items() if text}
    if len(answers) == 1:
        return next(iter(usable.values()), "")
    return "\n".join(f"{name}: {text}" for name, text in usable.items())


def _answer(item: object) -> str:
    given = item.get("answers") if isinstance(item, Mapping) else item
    if isinstance(given, list):
        return ", ".join(text for one in given if isinstance(one, str) and (text := one.strip()))
    return given.strip() if isinstance(given, str) else ""
