"""What a model does with tools in a real gateway, said in the words that the model sandbox understands."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from canon_ops.sandbox.model.server import ModelRequest
from tests.support.gateways import Stage
from tests.support.hosts import THIS_HOST

__all__ = [
    "COMMUNICATE",
    "CONTROL",
    "call_of",
    "human_answers",
    "is_wake",
    "question_of",
    "template_of",
    "tool_results",
    "wakes",
]

CONTROL = "canon_runtime_control"
COMMUNICATE = "canon_communicate"


def call_of(tool: str, /, said: str = "done", **arguments: Any) -> str:
    """Words that make the model call a tool once, and then say ``said``."""
    return f"[tool {tool} {json.dumps(arguments)}][say {said}]"


def question_of(text: str, *choices: str, said: str = "done") -> str:
    """Words that make the model ask its human with the host's own tool, and then say ``said``."""
    question: dict[str, Any] = {"question": text, **({"choices": choices} if choices else {})}
    return call_of("clarify", said, **({"questions": [question]} if THIS_HOST.asks_in_lists else question))


def template_of(words: str) -> str:
    """``words`` for :meth:`str.format`, where nothing is left open but ``<answer>``."""
    return words.replace("{", "{{").replace("}", "}}").replace("<answer>", "{answer}")


def human_answers(results: Iterable[str]) -> list[str | None]:
    """What humans answered the model's questions, from what its tools gave it."""
    found = [json.loads(result) for result in results if '"user_response"' in result]
    return [one["user_response"] for each in found for one in each.get("responses", [each])]


def is_wake(request: ModelRequest) -> bool:
    """Whether the host asked the model because of a decision."""
    return "Canon approval " in request.user_text


def wakes(stage: Stage, approval_id: str) -> list[str]:
    """The texts by which the agent was told of an approval, one a turn; a host's own errands offer it no tools."""
    asked = [request.user_text for request in stage.model.requests if request.body.get("tools")]
    told = [text for text in asked if approval_id in text and "Canon approval " in text]
    return [text[text.index("Canon approval ") :] for text in told]


def tool_results(stage: Stage) -> list[dict[str, Any]]:
    """What Canon's tools gave the model, in order; what a host puts behind a result is left out."""
    seen: dict[str, dict[str, Any]] = {}
    for request in stage.model.requests:
        for message in request.body["messages"]:
            if message["role"] == "tool" and str(message["content"]).startswith("{"):
                seen[message["tool_call_id"]] = json.JSONDecoder().raw_decode(message["content"])[0]
    return [result for result in seen.values() if "success" in result]
