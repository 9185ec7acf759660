"""The model endpoint over its socket."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from canon_ops.errors import OutsideError
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.options import ModelOptions
from tests.support.sandboxes import RawClient, RawResponse, model_box


def ask(model: ModelSandbox, text: str, **body: Any) -> RawResponse:
    base = model.endpoints.base_url.removesuffix("/v1")
    return RawClient(base).post("/v1/chat/completions", {"messages": [{"role": "user", "content": text}], **body})


def frames(answer: RawResponse) -> list[Any]:
    """The streamed frames of a chunked response; the closing mark as a text."""
    body, text = answer.body, b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        text, body = text + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    data = [block.removeprefix("data: ") for block in text.decode().split("\n\n") if block]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def test_the_listing_names_one_model() -> None:
    """With its context length, with and without /v1."""
    with model_box(model="m", context_length=1000) as model:
        base = RawClient(model.endpoints.base_url.removesuffix("/v1"))
        for path in ("/v1/models", "/models"):
            [entry] = base.get(path).json()["data"]
            assert (entry["id"], entry["context_length"]) == ("m", 1000)
        assert base.get("/v1/magic").status == 404


def test_a_streamed_answer() -> None:
    """Role, words, reason, counts, closing mark; then the connection closes."""
    with model_box() as model:
        answer = ask(model, "[say Invoice 42]", stream=True, stream_options={"include_usage": True})

    *chunks, done = frames(answer)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert answer.headers["content-type"] == "text/event-stream"
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "Invoice"}, {"content": " 42"}, {}]
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["total_tokens"] > 0
    assert done == "[DONE]"


def test_a_streamed_tool_call() -> None:
    """The name first, the arguments in two pieces that are JSON together."""
    with model_box() as model:
        chunks = frames(ask(model, '[tool read {"path": "a"}]', stream=True))[:-1]

    calls = [call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert calls[0]["function"]["name"] == "read"
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"path": "a"}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_trouble_on_request() -> None:
    """Refused, broken in the middle, or nothing a client may send."""
    with model_box() as model:
        assert ask(model, "[http 429]").status == 429
        with pytest.raises(ConnectionResetError):
            ask(model, "[broken] [long 50]", stream=True)
        base = RawClient(model.endpoints.base_url.removesuffix("/v1"))
        assert base.post("/v1/chat/completions", {"no": "messages"}).status == 400
        assert base.post("/v1/chat/completions", b"not json").status == 400


def test_a_slow_answer_takes_its_time() -> None:
    """Spread over the words."""
    with model_box() as model:
        started = time.monotonic()
        ask(model, "[slow 0.2] [long 10]", stream=True)

    assert time.monotonic() - started >= 0.18


def test_requests_are_logged_and_waited_for() -> None:
    """The body as it came, and what a test wants to know of it."""
    with model_box(answers=("one",)) as model:
        tools = [{"type": "function", "function": {"name": "read"}}]
        thread = threading.Thread(target=ask, args=(model, "hi"), kwargs={"stream": True, "tools": tools})
        thread.start()
        [request] = model.wait(1, where=lambda item: item.streamed)
        thread.join()
        with pytest.raises(TimeoutError):
            model.wait(2, timeout_s=0.01)

    assert (request.user_text, request.tools, request.plan.text, request.system) == ("hi", ("read",), "one", "")


def test_a_stop_does_not_wait_for_a_slow_answer() -> None:
    """The pause ends, the thread ends."""
    before = set(threading.enumerate())
    model = ModelSandbox().start()
    asking = threading.Thread(target=ask, args=(model, "[wait 60] [say x]"))
    asking.start()
    model.wait(1)

    started = time.monotonic()
    model.stop()
    asking.join()

    assert time.monotonic() - started < 5
    assert set(threading.enumerate()) == before


def test_ready_file_and_taken_port(tmp_path: Path) -> None:
    """Written when it listens; a taken port is one sentence."""
    ready = tmp_path / "model.json"
    with model_box(ready_file=ready) as model:
        assert json.loads(ready.read_text()) == model.endpoints.as_dict()
    with socket.create_server(("127.0.0.1", 0)) as holder, pytest.raises(OutsideError, match="cannot be used"):
        ModelSandbox(ModelOptions(port=holder.getsockname()[1])).start()


def test_the_newest_requests_are_remembered_under_their_numbers() -> None:
    """A model that runs for days keeps no more of them than it was told, and counts on."""
    with model_box(journal_entries=2) as model:
        for text in ("first", "second", "third"):
            ask(model, f"[say {text}]")

        assert [(each.number, each.plan.text) for each in model.requests] == [(2, "second"), (3, "third")]
