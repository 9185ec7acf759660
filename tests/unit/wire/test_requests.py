"""Outgoing bodies, compared whole and in order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import (
    RuntimeStatus,
    SendMessage,
    Signal,
    SignalKind,
    StreamingClear,
    StreamingWrite,
    TurnPhase,
    TurnState,
    Typing,
    encode_body,
    path_segment,
)

AUTHORITY = ReplyAuthority("msg_in_17", "t" * 40, "2030-01-01T00:00:00.000Z")
CAPABILITIES = {
    "supportsInterrupt": True,
    "supportsQueue": True,
    "supportsInterleave": False,
    "supportsInputInterrupt": True,
    "supportsNonFinalPermanentMessages": False,
}

# Each row: the request, and its body with the keys in the order in which they are sent.
BODIES = [
    pytest.param(SendMessage("c1", "hi"), [("conversationId", "c1"), ("text", "hi")], id="send, the least"),
    pytest.param(
        SendMessage(
            "c1",
            "",
            message_id="m1",
            reply_to="r1",
            metadata={"turnSemantics": "turn_complete"},
            content_type="image",
            attachments=[{"kind": "image", "url": "u"}],
            reply_authority=AUTHORITY,
            options={"mentions": ["a"], "replyToPosition": None},
        ),
        [
            ("conversationId", "c1"),
            ("text", ""),
            ("mentions", ["a"]),
            ("contentType", "image"),
            ("attachments", [{"kind": "image", "url": "u"}]),
            ("replyAuthority", AUTHORITY.body()),
            ("messageId", "m1"),
            ("replyTo", "r1"),
            ("metadata", {"turnSemantics": "turn_complete"}),
        ],
        id="send, everything",
    ),
    pytest.param(
        SendMessage("c1", "hi", message_id="", reply_to="", metadata={}, content_type="", attachments=[]),
        [("conversationId", "c1"), ("text", "hi")],
        id="send, empty is absent",
    ),
    pytest.param(
        StreamingWrite("c1", text="so far", turn_id="t1", blocks=[{"id": "b"}]),
        [
            ("conversationId", "c1"),
            ("status", "streaming"),
            ("text", "so far"),
            ("messageId", "t1"),
            ("turnId", "t1"),
            ("blocks", [{"id": "b"}]),
        ],
        id="streaming write",
    ),
    pytest.param(StreamingWrite("c1"), [("conversationId", "c1"), ("status", "streaming")], id="streaming, the least"),
    pytest.param(
        StreamingWrite.blank("c1", "t1"),
        [
            ("conversationId", "c1"),
            ("status", "thinking"),
            ("text", ""),
            ("messageId", "t1"),
            ("turnId", "t1"),
            ("blocks", []),
        ],
        id="streaming, the blanking write",
    ),
    pytest.param(StreamingClear("c1"), [("conversationId", "c1"), ("streaming", False)], id="streaming delete"),
    pytest.param(
        Typing("c1", True), [("conversationId", "c1"), ("typing", True), ("status", "thinking")], id="typing on"
    ),
    pytest.param(Typing("c1", False), [("conversationId", "c1"), ("typing", False)], id="typing off"),
    pytest.param(Typing("c1", True, "dozing"), [("conversationId", "c1"), ("typing", True)], id="typing, odd status"),
    pytest.param(
        TurnState("c1", TurnPhase.THINKING, 1_789, turn_id="t1", active_message_ids=["m"], opened_at_ms=1_788),
        [
            ("conversationId", "c1"),
            ("state", "thinking"),
            ("queueDepth", 0),
            ("turnId", "t1"),
            ("activeMessageIds", ["m"]),
            ("capabilities", CAPABILITIES),
            ("openedAt", 1_788),
            ("turnUpdatedAt", 1_789),
        ],
        id="turn opens",
    ),
    pytest.param(
        TurnState("c1", TurnPhase.WAITING_INPUT, 1_789, queue_depth=2, supports_interleave=True),
        [
            ("conversationId", "c1"),
            ("state", "waiting_input"),
            ("queueDepth", 2),
            ("capabilities", {**CAPABILITIES, "supportsInterleave": True, "supportsInputInterrupt": False}),
            ("turnUpdatedAt", 1_789),
        ],
        id="turn waits",
    ),
    pytest.param(
        TurnState("c1", TurnPhase.TOOL, 1_789, queue_depth=-1),
        [
            ("conversationId", "c1"),
            ("state", "tool"),
            ("queueDepth", 0),
            ("capabilities", CAPABILITIES),
            ("turnUpdatedAt", 1_789),
        ],
        id="R5.11 fewer than none do not wait",
    ),
    pytest.param(RuntimeStatus(), [("runtime", "hermes"), ("hostMode", True)], id="status, nothing to offer"),
    pytest.param(
        RuntimeStatus({"commands": []}),
        [("runtime", "hermes"), ("hostMode", True), ("runtimeDescriptor", {"commands": []})],
        id="status",
    ),
]


@pytest.mark.parametrize(("request_", "body"), BODIES)
def test_bodies(request_: Any, body: list[tuple[str, object]]) -> None:
    """Each body has exactly these keys, in this order; what has no value is absent."""
    assert list(request_.body().items()) == body


def test_s7_43_a_host_cannot_bring_in_an_id_or_an_authority() -> None:
    """S7.43: the explicit id is sent, the other options are kept, and whatever has a field of its own is not taken."""
    options = {
        "messageId": "x",
        "replyAuthority": {"token": "x"},
        "text": "x",
        "conversationId": "x",
        "mentions": ["a"],
    }

    assert SendMessage("c1", "hi", message_id="m1", options=options).body() == {
        "conversationId": "c1",
        "text": "hi",
        "mentions": ["a"],
        "messageId": "m1",
    }
    assert "messageId" not in SendMessage("c1", "hi", options=options).body()


def test_the_token_does_not_show() -> None:
    """A message that carries an authority can be logged."""
    assert AUTHORITY.token not in repr(SendMessage("c1", "hi", reply_authority=AUTHORITY))


def test_which_states_are_open() -> None:
    """Four states keep a turn open."""
    assert {phase for phase in TurnPhase if phase.is_open} == {"thinking", "streaming", "tool", "waiting_input"}


@pytest.mark.parametrize(
    ("answer", "signal"),
    [
        ({"status": "signal", "signal": "interrupt", "updatedBy": "u"}, Signal(SignalKind.INTERRUPT, "u")),
        ({"status": "signal", "signal": "stop_and_drop"}, Signal(SignalKind.STOP_AND_DROP)),
        ({"status": "signal", "signal": "new_session", "updatedBy": ""}, Signal(SignalKind.NEW_SESSION)),
        ({"status": "signal", "signal": "dance"}, None),
        ({"status": "signal"}, None),
        ({"status": "none", "signal": "interrupt"}, None),
        ({}, None),
        ([], None),
    ],
    ids=str,
)
def test_signals(answer: object, signal: Signal | None) -> None:
    """A signal counts only when the server says that one was taken and names one we know."""
    assert Signal.parse(answer) == signal


def test_bytes_are_compact_utf8() -> None:
    """Text goes out as it is, not escaped."""
    assert encode_body({"text": "שלום", "n": [1]}) == '{"text":"שלום","n":[1]}'.encode()


def test_a_lone_surrogate_goes_out_escaped() -> None:
    """Half a character, which a host may hand over, does not stop a message."""
    body = {"text": "a\ud800ש"}

    encoded = encode_body(body)

    assert encoded.isascii()
    assert json.loads(encoded) == body


def test_what_is_no_json_is_refused() -> None:
    """A number that JSON does not have never reaches the wire."""
    with pytest.raises(ValueError, match="JSON compliant"):
        encode_body({"n": float("nan")})


@pytest.mark.parametrize(
    ("identifier", "segment"),
    [
        ("canon-control:stop:1.5", "canon-control:stop:1.5"),
        ("conv_dm1-A.b", "conv_dm1-A.b"),
        ("a/b?c#d", "a%2Fb%3Fc%23d"),
        ("%2e", "%252e"),
        ("ש", "%D7%A9"),
    ],
)
def test_an_id_in_a_path(identifier: str, segment: str) -> None:
    """Canon's own ids are not escaped; any other can name nothing but itself."""
    assert path_segment(identifier) == segment


@pytest.mark.parametrize("identifier", ["", ".", ".."])
def test_a_relative_step_is_no_id(identifier: str) -> None:
    """An id that would name another resource is refused."""
    with pytest.raises(ValueError, match="not an id"):
        path_segment(identifier)
