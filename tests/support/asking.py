"""What a model does with Canon's tools in a real gateway, said in the words that the model sandbox understands."""

from __future__ import annotations

import json
from typing import Any

from canon_ops.sandbox.model.server import ModelRequest
from tests.support.gateways import Stage

__all__ = ["COMMUNICATE", "CONTROL", "call_of", "is_wake", "tool_results", "wakes"]

CONTROL = "canon_runtime_control"
COMMUNICATE = "canon_communicate"


def call_of(tool: str, /, said: str = "done", **arguments: Any) -> str:
    """Words that make the model call a tool once, and then say ``said``."""
    return f"[tool {tool} {json.dumps(arguments)}][say {said}]"


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
