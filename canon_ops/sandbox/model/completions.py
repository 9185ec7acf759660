"""The shapes of an OpenAI-compatible chat endpoint: streamed chunks, whole answers, errors, the listing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from canon_ops.sandbox.events import compact
from canon_ops.sandbox.model.script import Plan, ToolCall

__all__ = ["DONE", "chunk_frames", "error_body", "listing", "whole_answer"]

DONE = b"data: [DONE]\n\n"
Json = dict[str, Any]


def listing(model: str, context_length: int) -> Json:
    """``GET /models``."""
    return {
        "object": "list",
        "data": [{"id": model, "object": "model", "owned_by": "canon-ops", "context_length": context_length}],
    }


def error_body(status: int) -> Json:
    """The body of a refused completion."""
    return {"error": {"message": f"scripted {status}", "type": "sandbox_error", "code": status}}


def usage(prompt: str, plan: Plan) -> Json:
    """Token counts as good as any: four characters a token."""
    prompt_tokens, completion_tokens = max(1, len(prompt) // 4), max(1, len(plan.text) // 4)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def whole_answer(plan: Plan, *, answer_id: str, model: str, created: int, counts: Json) -> Json:
    """The answer to a request without ``stream``."""
    message: Json = {"role": "assistant", "content": plan.text}
    if plan.tools:
        message["tool_calls"] = [_tool(call, call.arguments) for call in plan.tools]
    return {
        "id": answer_id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": _reason(plan)}],
        "usage": counts,
    }


def chunk_frames(plan: Plan, *, answer_id: str, model: str, created: int, counts: Json | None) -> Iterator[bytes]:
    """The frames of a streamed answer up to, and without, the closing mark.

    First the role, then one frame a word, then the tool calls (name first, arguments in two pieces), the reason, and a
    frame with the token counts when they were asked for.
    """

    def frame(delta: Json | None, reason: str | None = None) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
        chunk: Json = {"id": answer_id, "object": "chat.completion.chunk", "created": created, "model": model}
        chunk["choices"] = choices
        if delta is None:
            chunk["usage"] = counts
        return f"data: {compact(chunk)}\n\n".encode()

    yield frame({"role": "assistant", "content": ""})
    for word in plan.words():
        yield frame({"content": word})
    for index, call in enumerate(plan.tools):
        half = len(call.arguments) // 2
        yield frame({"tool_calls": [{"index": index, **_tool(call, "")}]})
        for piece in (call.arguments[:half], call.arguments[half:]):
            yield frame({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield frame({}, _reason(plan))
    if counts is not None:
        yield frame(None)


def _tool(call: ToolCall, arguments: str) -> Json:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _reason(plan: Plan) -> str:
    return "tool_calls" if plan.tools else "stop"
