"""What the frames of the stream mean."""

from __future__ import annotations

import json

import pytest

from canon_ops.wire.agents import AgentIdentity
from canon_ops.wire.events import (
    AgentContext,
    ConversationUpdated,
    MessageDeleted,
    MessageEdited,
    ReplayExpired,
    SignalWaiting,
    StreamTrouble,
    parse_event,
)
from canon_ops.wire.messages import MessageCreated
from canon_ops.wire.sse import Frame


def frame(event: str, payload: object) -> Frame:
    return Frame(event, None, payload if isinstance(payload, str) else json.dumps(payload))


CONTEXT = {"agentId": "a", "ownerId": "o", "outboundPolicy": "open"}


@pytest.mark.parametrize(
    ("event", "payload", "meaning"),
    [
        ("replay.expired", {"lastAvailableId": "evt_200"}, ReplayExpired("evt_200")),
        ("replay.expired", {"lastAvailableId": None}, ReplayExpired(None)),
        ("replay.expired", {}, ReplayExpired(None)),
        ("replay.expired", "plain text", ReplayExpired(None)),
        ("agent.context", CONTEXT, AgentContext(AgentIdentity("a", "o", "open", None, CONTEXT))),
        ("agent.context", [], None),
        (
            "conversation.updated",
            {"conversationId": "c", "changes": {"name": "n"}},
            ConversationUpdated("c", {"name": "n"}),
        ),
        ("conversation.updated", {"id": "c", "changes": {}}, ConversationUpdated("c", {})),
        ("conversation.updated", {"id": "c", "changes": "x"}, None),
        ("conversation.updated", {"changes": {}}, None),
        ("runtime.control", {"conversationId": "c", "kind": "signal", "value": {"type": "x"}}, SignalWaiting("c")),
        ("runtime.control", {"conversationId": "c", "kind": "other"}, None),
        ("runtime.control", {"kind": "signal"}, None),
        ("error", {"code": "STREAM_LAG", "message": "restarted"}, StreamTrouble("STREAM_LAG", "restarted")),
        ("error", "broken", StreamTrouble(None, "broken")),
        ("message.created", {"conversationId": "c"}, None),
        ("message.created", "text", None),
        ("connected", {"agentId": "a"}, None),
        (
            "message.updated",
            {"conversationId": "c", "message": {"id": "m", "text": " t "}},
            MessageEdited("c", "m", " t "),
        ),
        ("message.updated", {"message": {"id": "m", "metadata": {"inboundDisposition": "accepted_now"}}}, None),
        ("message.updated", {"message": {"id": "m", "text": " "}}, None),
        ("message.updated", {"message": {"text": "t"}}, None),
        ("message.updated", {"message": "m"}, None),
        ("message.deleted", {"conversationId": "c", "messageId": "m"}, MessageDeleted("c", "m")),
        ("message.deleted", {"messageId": "m"}, MessageDeleted(None, "m")),
        ("message.deleted", {"conversationId": "c"}, None),
        ("typing", {}, None),
        ("later.event", {}, None),
    ],
    ids=str,
)
def test_each_event(event: str, payload: object, meaning: object) -> None:
    """S2.6, S2.7, S2.9, S2.10: a known event becomes its type, everything else is nothing to do."""
    assert parse_event(frame(event, payload)) == meaning


def test_a_message_is_read_as_a_message() -> None:
    """The event of a message carries the parsed message."""
    event = parse_event(frame("message.created", {"conversationId": "c", "message": {"id": "m", "text": "hi"}}))

    assert isinstance(event, MessageCreated)
    assert (event.conversation_id, event.message.id) == ("c", "m")


def test_an_agent_context_without_a_policy_withholds_it() -> None:
    """S2.9: a payload without a policy clears what was known."""
    event = parse_event(frame("agent.context", {"agentId": "a"}))

    assert isinstance(event, AgentContext) and event.identity.outbound_policy is None
