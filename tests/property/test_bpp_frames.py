"""Frames of Borgee: whatever comes is a value or a ProtocolError, and what goes out fits and means what it should."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from borgee_hermes.bpp import actions, outgoing
from borgee_hermes.bpp.errors import ProtocolCapacity, ProtocolError
from borgee_hermes.bpp.events import ActionResult, Ignored, InboundEvent, Kind
from borgee_hermes.bpp.incoming import read_frame
from borgee_hermes.bpp.limits import MAX_OUTGOING_BYTES

INBOUND: dict[str, Any] = {
    "type": "inbound_message",
    "channel_id": "ch-1",
    "channel_type": "channel",
    "kind": "message",
    "message_id": "m-1",
    "author_id": "u-1",
    "author_name": "Ada",
    "body": "hello",
    "created_at": 1_700_000_000_000,
}
TYPES = [
    "inbound_message",
    "semantic_action_result",
    "permission_denied",
    "agent_config_update",
    "agent_toggle",
    "request",
    "ping",
    "pong",
    "execution_telemetry_ack",
]
any_text = st.text(st.characters(exclude_categories=()))  # lone surrogates too
plain = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "x", "ok", "error", "{}", "\ud800"])
)
json_values = plain | st.lists(plain, max_size=2) | st.dictionaries(st.sampled_from("ab"), plain, max_size=2)
members = st.sampled_from([*INBOUND, "nonce", "status", "payload", "error", "id", "data", "cursor", "blob", "emoji"])


@given(st.binary() | any_text)
def test_whatever_comes_is_a_value_or_a_protocol_error(message: bytes | str) -> None:
    """Bytes and texts of any kind never raise anything else."""
    with suppress(ProtocolError):
        read_frame(message)


@given(st.sampled_from(TYPES), st.dictionaries(members, json_values, max_size=12))
def test_frames_of_known_types_with_any_members_are_a_value_or_a_protocol_error(kind: str, given: Any) -> None:
    """Mistyped and missing members never raise anything else, and never pass as an inbound message."""
    message = json.dumps({**given, "type": kind}).encode("utf-8", "surrogatepass")

    try:
        frame = read_frame(message)
    except ProtocolError:
        return

    if isinstance(frame, InboundEvent):
        assert isinstance(frame.created_at_ms, int)
        assert all(isinstance(text, str) for text in (frame.channel_id, frame.body, frame.author_name))


@given(st.dictionaries(st.sampled_from(["cursor", "application_data", "later"]), json_values))
def test_members_that_nobody_knows_change_nothing(extra: dict[str, Any]) -> None:
    """Stray cursors and members of later versions are ignored (borgee 1.1, W-18)."""
    assert read_frame(json.dumps({**INBOUND, **extra})) == read_frame(json.dumps(INBOUND))


@pytest.mark.parametrize("member", [key for key in INBOUND if key not in {"type", "kind"}])
def test_a_required_member_is_required(member: str) -> None:
    """An inbound message without one of them is a protocol error, whatever the rest says."""
    with pytest.raises(ProtocolError):
        read_frame(json.dumps({key: value for key, value in INBOUND.items() if key != member}))


@pytest.mark.parametrize("frame", [{**INBOUND, "kind": "poked"}, {"type": "later"}, {"type": "pong"}])
def test_what_is_new_is_skipped(frame: dict[str, Any]) -> None:
    """An unknown kind and an unknown type are nothing to us (W8, W-21)."""
    assert isinstance(read_frame(json.dumps(frame)), Ignored)


@given(any_text, any_text)
def test_an_action_says_what_was_meant(channel_id: str, content: str) -> None:
    """Both levels of JSON give the payload back, lone surrogates included, as UTF-8 (W15)."""
    action = actions.send_message(channel_id, content)

    data = outgoing.semantic_action(action, agent_id="a", nonce="n")

    assert json.loads(json.loads(data.decode())["payload"]) == action.payload


@pytest.mark.parametrize(("extra", "fits"), [(0, True), (1, False)])
def test_a_frame_has_a_bound(extra: int, fits: bool) -> None:
    """32 KiB go out, one byte more does not, and that certainly had no effect."""
    empty = len(outgoing.semantic_action(actions.edit_message("m", ""), agent_id="a", nonce="n"))
    action = actions.edit_message("m", "x" * (MAX_OUTGOING_BYTES - empty + extra))

    if fits:
        assert len(outgoing.semantic_action(action, agent_id="a", nonce="n")) == MAX_OUTGOING_BYTES
    else:
        with pytest.raises(ProtocolCapacity) as caught:
            outgoing.semantic_action(action, agent_id="a", nonce="n")
        assert caught.value.had_no_effect


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_json_has_no_word_for_is_refused(value: object) -> None:
    """NaN, infinities and objects do not go out."""
    with pytest.raises(ProtocolError):
        outgoing.response("r-1", value)


def test_an_empty_payload_is_null() -> None:
    """ok with an empty payload means null (borgee 1.12)."""
    frame = {"type": "semantic_action_result", "nonce": "n", "status": "ok", "payload": "", "error": ""}

    assert read_frame(json.dumps(frame)) == ActionResult("n", None)


def test_every_kind_is_read() -> None:
    """The five kinds, with the reaction's own members."""
    reaction = {"emoji": "+1", "reactor_id": "u-2", "reaction_added": True}

    kinds = [read_frame(json.dumps({**INBOUND, **reaction, "kind": kind.value})) for kind in Kind]

    assert [event.kind for event in kinds if isinstance(event, InboundEvent)] == list(Kind)
    assert [bool(event.reaction) for event in kinds if isinstance(event, InboundEvent)] == [False] * 4 + [True]
