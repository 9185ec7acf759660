"""The life of a Borgee client as a machine: opening, loss and return, actions, deliveries, silence, the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from borgee_hermes.bpp import actions
from borgee_hermes.bpp.effects import Configure, Log, Probe, Serve, Toggled
from borgee_hermes.bpp.errors import (
    AuthFailed,
    BppError,
    ClientClosed,
    DeliveryFailed,
    NotOnline,
    ProtocolCapacity,
    StaleDelivery,
)
from borgee_hermes.bpp.state import FaultReason, Status
from tests.support.bpp_sessions import IDENTITY, Played, inbound

SEND = actions.send_message("ch-1", "hello")


def act(played: Played, action: actions.Action[Any] = SEND) -> str:
    return played.session.act(action, played.now_s)


# Opening -----------------------------------------------------------------------------------------------------------


def test_the_opening_asks_who_we_are_once() -> None:
    """``connect``, then ``get_me`` with an empty agent; the answer is kept, so that nobody asks again (W25)."""
    played = Played().online()

    assert [(frame["type"], frame.get("action")) for frame in played.sent] == [
        ("connect", None),
        ("semantic_action", "get_me"),
    ]
    assert played.sent[1]["agent_id"] == ""
    assert (played.status, played.session.agent_id) == ("online", "agent-1")
    assert played.session.identity is not None
    assert played.session.identity.display_name == "Aide"


def test_a_known_agent_is_online_when_connect_is_written() -> None:
    """No server frame is needed (W-13)."""
    played = Played(agent_id="agent-1")
    played.did(played.session.connect(played.now_s))
    played.did(played.session.opened(1, played.now_s))
    assert played.status == "connecting"

    played.write()

    assert played.status == "online"
    assert [frame["type"] for frame in played.sent] == ["connect"]


def test_the_opening_has_a_budget() -> None:
    """Dial, upgrade and identity share eight seconds; then the first connection has failed for good (W-11)."""
    played = Played()
    played.did(played.session.connect(played.now_s))
    played.pass_time(5)
    played.did(played.session.opened(1, played.now_s))
    played.write()

    played.pass_time(2.9)
    assert played.status == "connecting"
    played.pass_time(0.1)

    assert (played.status, played.session.state.code) == ("error", "bpp.handshake_timeout")
    assert played.dials == 1
    assert played.hangups == [None]


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1009, 1011, 1012, 4000, None])
def test_a_close_before_the_opening_has_ended_is_final_and_noticed_at_once(code: int | None) -> None:
    """Also during ``get_me``, without waiting for the budget (W-12, W20)."""
    played = Played()
    played.did(played.session.connect(played.now_s))
    played.did(played.session.opened(1, played.now_s))
    played.write()

    played.lose(code)

    assert (played.status, played.session.state.code) == ("error", "bpp.handshake_closed")
    assert played.session.failure is not None
    assert played.session.failure.retryable


def test_4004_during_the_opening_is_a_refused_key() -> None:
    """And no time-out of the handshake (W-14, W20)."""
    played = Played()
    played.did(played.session.connect(played.now_s))
    played.did(played.session.opened(1, played.now_s))
    played.write()

    played.lose(4004)

    assert isinstance(played.session.failure, AuthFailed)
    assert played.session.state.reason is FaultReason.API_KEY_INVALID


@pytest.mark.parametrize(
    "identity", [{**IDENTITY, "id": ""}, {**IDENTITY, "role": "admin"}, {**IDENTITY, "permissions": [""]}, {}, []]
)
def test_an_identity_of_no_use_is_final(identity: Any) -> None:
    """Nothing can be done in somebody else's name (W-3)."""
    played = Played()
    played.did(played.session.connect(played.now_s))
    played.did(played.session.opened(1, played.now_s))
    [_, asked] = played.write()

    played.result(asked["nonce"], identity)

    assert (played.status, played.session.state.code) == ("error", "bpp.identity_invalid")


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (401, "bpp.auth_failed", False),
        (403, "bpp.auth_failed", False),
        (302, "bpp.connect_failed", True),
        (404, "bpp.connect_failed", True),
        (503, "bpp.connect_failed", True),
    ],
)
def test_a_refused_upgrade_of_the_first_connection(status: int, code: str, retryable: bool) -> None:
    """A refused key is told apart from a server that is away (W3b, W-29)."""
    played = Played()
    played.did(played.session.connect(played.now_s))

    played.did(played.session.dial_refused(1, status, played.now_s))

    assert (played.status, played.session.state.code) == ("error", code)
    assert played.session.failure is not None
    assert played.session.failure.retryable is retryable


def test_what_comes_before_the_identity_is_kept() -> None:
    """Inbound frames may already arrive during ``get_me`` (W-20)."""
    played = Played()
    played.did(played.session.connect(played.now_s))
    played.did(played.session.opened(1, played.now_s))

    played.hear(inbound())

    handed = played.session.hand_over()
    assert handed is not None
    assert handed.event.body == "text 1"


def test_no_action_before_the_first_time_online() -> None:
    """It fails at once; during a reconnect it would wait."""
    played = Played()
    with pytest.raises(NotOnline):
        act(played)
    played.did(played.session.connect(played.now_s))
    with pytest.raises(NotOnline):
        act(played)


# Loss and return ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1011, 1012, 1013, 3000, 4000, 4003, 4005, 4999, None])
def test_a_lost_connection_is_made_anew(code: int | None) -> None:
    """And the session goes on under the same identity, with ``connect`` alone."""
    played = Played().online()
    played.sent.clear()

    played.lose(code)
    assert (played.status, played.session.state.attempt) == ("reconnecting", 1)
    assert played.session.state.reason is FaultReason.NETWORK_UNREACHABLE
    played.back()

    assert played.status == "online"
    assert [frame["type"] for frame in played.sent] == ["connect"]


@pytest.mark.parametrize(
    ("code", "error"),
    [(4004, "bpp.auth_failed"), (1009, "bpp.protocol_capacity")]
    + [(code, "bpp.peer_protocol_close") for code in (1002, 1003, 1007, 1008)],
)
def test_some_closes_are_final(code: int, error: str) -> None:
    """The table of 1.14."""
    played = Played().online()

    played.lose(code)

    assert (played.status, played.session.state.code) == ("error", error)
    assert played.session.next_wake_s is None


def test_the_pauses_grow_to_half_a_minute_and_are_cut_at_random() -> None:
    """Attempt n waits min(30, 0.5 · 2^(n-1)) seconds, times a number between a half and one."""
    played = Played().online()
    played.lose()
    pauses = []
    for _ in range(9):
        before = played.now_s
        generation = played.session.generation
        while played.session.generation == generation:
            assert played.session.next_wake_s is not None
            played.pass_time(played.session.next_wake_s - played.now_s)
        pauses.append(played.now_s - before)
        played.did(played.session.dial_failed(played.session.generation, "refused", played.now_s))

    for pause_s, longest_s in zip(pauses, [0.5, 1, 2, 4, 8, 16, 30, 30, 30], strict=True):
        assert longest_s / 2 <= pause_s <= longest_s
    assert played.session.state.attempt == 10


def test_thousands_of_attempts_overflow_nothing() -> None:
    """A server that is away for a week finds us trying (W19)."""
    played = Played().online()
    played.lose()
    for _ in range(5_000):
        assert played.session.next_wake_s is not None
        played.pass_time(played.session.next_wake_s - played.now_s)
        played.did(played.session.dial_failed(played.session.generation, "refused", played.now_s))

    assert (played.status, played.session.state.attempt) == ("reconnecting", 5_001)
    assert played.session.next_wake_s is not None
    assert played.session.next_wake_s - played.now_s <= 30


def test_a_connection_that_lasted_starts_the_pauses_anew() -> None:
    """After a minute online the next loss counts as the first (W19)."""
    played = Played().online()
    for _ in range(6):
        played.lose()
        played.back()
    for _ in range(13):
        played.pass_time(5)
        played.hear({"type": "pong"})

    played.lose()

    assert played.session.state.attempt == 1


def test_a_connection_that_did_not_last_does_not() -> None:
    """A server that takes us and throws us out is not called in a loop."""
    played = Played().online()
    for _ in range(4):
        played.lose()
        played.back()
    played.lose()

    assert played.session.state.attempt == 5


@pytest.mark.parametrize(
    ("status", "end"), [(401, "error"), (403, "error"), (302, "reconnecting"), (503, "reconnecting")]
)
def test_a_refused_upgrade_on_the_way_back(status: int, end: str) -> None:
    """A proxy that answers for a server that restarts is waited out; a refused key is not (W3b, W-29)."""
    played = Played().online()
    played.lose()
    assert played.session.next_wake_s is not None
    played.pass_time(played.session.next_wake_s - played.now_s)

    played.did(played.session.dial_refused(2, status, played.now_s))

    assert played.status == end


def test_an_opening_that_hangs_on_the_way_back_is_given_up_and_tried_again() -> None:
    """Its budget is that of the first one, its end is not."""
    played = Played().online()
    played.lose()
    assert played.session.next_wake_s is not None
    played.pass_time(played.session.next_wake_s - played.now_s)

    played.pass_time(8)

    assert (played.status, played.session.state.code) == ("reconnecting", "bpp.handshake_timeout")
    played.back()
    assert played.status == "online"


def test_reports_of_a_connection_that_is_over_are_ignored() -> None:
    """Whatever comes late, in whatever order, under an old number changes nothing."""
    played = Played().online()
    played.lose()
    played.back()
    before, dials = played.session.state, played.dials

    played.did(played.session.closed(1, 4004, played.now_s))
    played.did(played.session.received(1, b"not json", played.now_s))
    played.did(played.session.too_big(1))
    played.did(played.session.stalled(1, played.now_s))
    played.did(played.session.dial_refused(1, 401, played.now_s))
    played.did(played.session.answer(1, b"{}", played.now_s))

    assert played.session.take(1) is None
    assert (played.session.state, played.dials) == (before, dials)


# Broken messages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"\xff", "bpp.frame_encoding"),
        (b"{", "bpp.frame_json"),
        (b"[]", "bpp.frame_shape"),
        (b'{"type":1}', "bpp.frame_shape"),
        (b'{"type":"inbound_message","kind":"message"}', "bpp.protocol_error"),
        (b'{"type":"agent_config_update","idempotency_key":"k"}', "bpp.protocol_error"),
        (b'{"type":"request","id":"","data":{}}', "bpp.protocol_error"),
        (
            b'{"type":"semantic_action_result","nonce":"n","status":"perhaps","payload":"","error":""}',
            "bpp.protocol_error",
        ),
    ],
)
def test_a_broken_message_is_answered_by_a_reconnect_three_times(message: bytes, code: str) -> None:
    """The fourth within ten minutes is the end (decision B1, W8, W-24)."""
    played = Played().online()
    for _ in range(3):
        played.hear(message)
        assert (played.status, played.session.state.code) == ("reconnecting", code)
        played.back()

    played.hear(message)

    assert (played.status, played.session.state.code) == ("error", code)
    assert played.hangups == [1002] * 4


def test_broken_messages_far_apart_are_no_end() -> None:
    """One every four minutes is waited out for ever."""
    played = Played().online()
    for _ in range(10):
        for _ in range(24):
            played.pass_time(10)
            played.hear({"type": "pong"})
        played.hear(b"{")
        assert played.status == "reconnecting"
        played.back()


def test_a_broken_message_fails_the_actions_that_wait() -> None:
    """Their answers may have been in it; nobody knows."""
    played = Played().online()
    nonce = act(played)
    played.write()

    played.hear(b"{")

    assert played.settled() == {nonce: "bpp.connection_lost"}


# Actions -----------------------------------------------------------------------------------------------------------


def test_an_action_is_settled_by_its_answer() -> None:
    """By the nonce; an answer to nothing is ignored."""
    played = Played().online()
    nonce = act(played)
    played.write()

    played.result("of-nobody", {"message_id": "m-8"})
    played.result(nonce, {"message_id": "m-9"})
    played.result(nonce, {"message_id": "m-10"})

    assert played.settled() == {nonce: "ok"}


def test_refusals_are_told_apart() -> None:
    """A denial and an error of the server both had no effect; a malformed answer may have had one (W26)."""
    played = Played().online()
    denied, refused, odd = act(played), act(played), act(played)
    played.write()

    played.hear(
        {
            "type": "permission_denied",
            "agent_id": "agent-1",
            "request_id": denied,
            "attempted_action": "send_message",
            "required_capability": "message.send",
            "current_scope": "channel:ch-1",
            "denied_at": 1,
        }
    )
    played.result(refused, status="error", error="their.word")
    played.result(odd, {"message_id": ""})

    assert played.settled() == {
        denied: "bpp.permission_denied!",
        refused: "bpp.action_refused!",
        odd: "bpp.protocol_error",
    }
    assert played.status == "online"


def test_a_withdrawn_action_never_goes_out() -> None:
    """Cancelled before it was written, it has had no effect (W21)."""
    played = Played().online()
    played.sent.clear()
    first, second = act(played), act(played, actions.edit_message("m-1", "x"))

    played.session.withdraw(first)

    assert [frame["nonce"] for frame in played.write()] == [second]


def test_what_was_not_written_goes_out_on_the_next_connection() -> None:
    """What was written fails with an unknown outcome; the order is kept (W-10)."""
    played = Played().online()
    written = act(played)
    played.write()
    unwritten = act(played)

    played.lose()
    later = act(played)
    played.sent.clear()
    played.back()
    played.write()

    assert played.settled() == {written: "bpp.connection_lost"}
    assert [frame["nonce"] for frame in played.sent[1:]] == [unwritten, later]


def test_an_action_runs_out_of_time_wherever_it_is() -> None:
    """Written, its outcome is unknown; unwritten, it had none."""
    played = Played().online()
    written = act(played)
    played.write()
    played.lose()
    waiting = act(played)

    played.pass_time(30)

    assert played.settled() == {written: "bpp.connection_lost", waiting: "bpp.action_timeout!"}


def test_a_written_action_runs_out_of_time() -> None:
    """After thirty seconds nobody knows its outcome, and a late answer is ignored."""
    played = Played(quiet_s=100, dead_s=100).online()
    nonce = act(played)
    played.write()

    played.pass_time(29.9)
    assert played.settled() == {}
    played.pass_time(0.1)
    played.result(nonce, {"message_id": "m-9"})

    assert played.settled() == {nonce: "bpp.action_timeout"}


def test_no_room_is_waited_for_a_moment_only() -> None:
    """While the writer takes nothing, what found no place is refused after 100 ms, and never goes out (1.13)."""
    played = Played(regular_frames=2).online()
    fits = [act(played), act(played)]
    extra = act(played)

    played.pass_time(0.09)
    assert played.settled() == {}
    played.pass_time(0.01)

    assert played.settled() == {extra: "bpp.protocol_capacity!"}
    played.sent.clear()
    assert [frame["nonce"] for frame in played.write()] == fits


def test_room_that_comes_in_time_is_taken() -> None:
    """The writer takes one, the next one moves up."""
    played = Played(regular_frames=2).online()
    nonces = [act(played) for _ in range(5)]
    played.sent.clear()

    played.write()
    played.pass_time(1)

    assert [frame["nonce"] for frame in played.sent] == nonces
    assert played.settled() == {}


def test_256_actions_may_wait() -> None:
    """One more is refused at once."""
    played = Played().online()
    played.lose()
    for _ in range(256):
        act(played)

    with pytest.raises(ProtocolCapacity) as caught:
        act(played)

    assert caught.value.had_no_effect


# Reports, heartbeats, silence --------------------------------------------------------------------------------------


def test_heartbeats_are_sent_while_online() -> None:
    """Every twenty seconds; one that was not written is replaced, not doubled (1.6)."""
    played = Played(agent_id="agent-1", quiet_s=1_000).online()
    played.pass_time(60)

    assert [frame["type"] for frame in played.write()] == ["heartbeat"]
    played.pass_time(20)
    assert [frame["timestamp"] for frame in played.write()] == [180_000]


def test_silence_is_asked_about_and_then_taken_for_the_end() -> None:
    """Half a minute without a byte: a ping; fifteen seconds later: a new connection (W5)."""
    played = Played().online()

    played.pass_time(29.9)
    assert played.of(Probe) == []
    played.pass_time(0.1)
    assert played.of(Probe) == [Probe(1)]
    played.pass_time(14.9)
    assert played.status == "online"
    played.pass_time(0.1)

    assert (played.status, played.hangups) == ("reconnecting", [None])


def test_any_byte_ends_the_silence() -> None:
    """An answer to the ping, or anything else."""
    played = Played().online()
    played.pass_time(40)
    played.session.heard(1, played.now_s)

    played.pass_time(29.9)

    assert (played.status, len(played.of(Probe))) == ("online", 1)


def test_a_writer_that_makes_no_progress_ends_the_connection() -> None:
    """Its frames may have left or not; the client lives (W21)."""
    played = Played().online()
    nonce = act(played)
    played.write()

    played.did(played.session.stalled(1, played.now_s))

    assert (played.status, played.settled()) == ("reconnecting", {nonce: "bpp.connection_lost"})


def test_a_report_needs_a_connection_and_outlives_it() -> None:
    """Taken while online, it goes out on the next connection when this one ends first (1.11)."""
    played = Played(agent_id="agent-1").online()
    played.session.report(b'{"type":"task_started"}')
    played.lose()
    with pytest.raises(NotOnline):
        played.session.report(b'{"type":"task_finished"}')
    played.sent.clear()

    played.back()
    played.write()

    assert [frame["type"] for frame in played.sent] == ["connect", "task_started"]


def test_a_pong_goes_first() -> None:
    """Ahead of what waits, and at once (1.4)."""
    played = Played().online()
    act(played)

    played.hear({"type": "ping"})

    assert [frame["type"] for frame in played.write()] == ["pong", "semantic_action"]


def test_a_server_that_reads_no_answers_is_left() -> None:
    """The lane for answers is bounded."""
    played = Played(reserved_frames=3).online()
    for _ in range(3):
        played.hear({"type": "ping"})
    assert played.status == "online"

    played.hear({"type": "ping"})

    assert played.status == "reconnecting"
    played.sent.clear()
    played.back()
    assert [frame["type"] for frame in played.sent] == ["connect"]  # old pongs are of no use


# What the server asks ----------------------------------------------------------------------------------------------


def test_settings_requests_and_switches_are_handed_on() -> None:
    """They are not the session's to decide."""
    played = Played().online()
    update = {
        "type": "agent_config_update",
        "cursor": 9,
        "agent_id": "agent-1",
        "schema_version": 2,
        "blob": '{"model":"fast"}',
        "idempotency_key": "agent-1:2",
        "created_at": 1,
    }

    played.hear(update)
    played.hear({"type": "request", "id": "r-1", "data": {"action": "read_file"}})
    played.hear({"type": "agent_toggle", "agent_id": "agent-1", "action": "disable", "reason": "owner"})
    played.hear({"type": "execution_telemetry_ack", "event_id": "e-1"})

    [configure], [serve], [toggled] = played.of(Configure), played.of(Serve), played.of(Toggled)
    assert (configure.update.blob, configure.generation) == ({"model": "fast"}, 1)
    assert (serve.request.action, serve.request.request_id) == ("read_file", "r-1")
    assert toggled.toggle.action == "disable"
    assert isinstance(played.effects[-1], Log)
    assert played.status == "online"


# Deliveries --------------------------------------------------------------------------------------------------------


def test_one_event_is_handed_over_at_a_time() -> None:
    """In order of arrival, whatever cursors they carry (W-18)."""
    played = Played().online()
    played.hear(inbound(1, cursor=9))
    played.hear(inbound(2, cursor=3))

    first = played.session.hand_over()
    assert first is not None
    assert played.session.hand_over() is None
    played.session.waiting.settle(first.number)
    second = played.session.hand_over()

    assert second is not None
    assert [first.event.body, second.event.body] == ["text 1", "text 2"]


def test_the_open_delivery_is_stale_after_a_loss_and_the_others_are_kept() -> None:
    """Nobody would send again what was received: this protocol has no replay (1.8, W2, W-9)."""
    played = Played().online()
    for number in (1, 2, 3):
        played.hear(inbound(number))
    opened = played.session.hand_over()
    assert opened is not None

    played.lose()

    with pytest.raises(StaleDelivery):
        played.session.waiting.settle(opened.number)
    following = played.session.hand_over()
    assert following is not None
    assert following.event.body == "text 2"
    played.session.waiting.settle(following.number)


@pytest.mark.parametrize("bound", ["waiting_events", "waiting_event_bytes"])
def test_the_buffer_has_an_exact_bound(bound: str) -> None:
    """Up to it everything is taken, one more is the end; what was taken can still be handed over (W-23). What comes
    after the one that had no room is not taken in its stead."""
    bounds: dict[str, Any] = {"waiting_events": 3, "waiting_event_bytes": 3 * len(json.dumps(inbound(1)))}
    played = Played(agent_id="", **{bound: bounds[bound]}).online()
    for number in (1, 2, 3):
        played.hear(inbound(number))
    assert played.status == "online"

    played.hear(inbound(4))

    assert (played.status, played.session.state.code) == ("error", "bpp.protocol_capacity")
    first = played.session.hand_over()
    assert first is not None and played.session.generation == 1
    played.hear(inbound(5))
    assert len(played.session.waiting) == 2


def test_a_drain_drops_what_comes_and_keeps_the_connection() -> None:
    """However much it is, running turns keep their way out (W29); what came before is still handed over."""
    played = Played(waiting_events=3).online()
    played.hear(inbound(1))

    played.session.waiting.stop()
    for number in range(20):
        played.hear(inbound(number))
    nonce = act(played)
    played.write()
    played.result(nonce, {"message_id": "m-9"})

    before = played.session.hand_over()
    assert before is not None and before.event.body == "text 1"
    assert len(played.session.waiting) == 0
    assert (played.status, played.settled()) == ("online", {nonce: "ok"})


@pytest.mark.parametrize("code", [4004])
def test_a_refused_key_ends_the_intake(code: int) -> None:
    """Nothing more is taken in for an agent that is switched off; what was said before it was is kept (8.4)."""
    played = Played().online()
    played.hear(inbound(1))

    played.lose(code)
    played.hear(inbound(2))

    before = played.session.hand_over()
    assert before is not None and before.event.body == "text 1"
    assert len(played.session.waiting) == 0


@pytest.mark.parametrize("end", ["closed by us", "lost", "broken"])
def test_what_is_said_until_the_goodbye_is_heard_counts(end: str) -> None:
    """It had left the server before that knew of our end, and it is not sent again (decision 0043)."""
    played = Played().online()
    generation = played.session.generation
    match end:
        case "closed by us":
            played.did(played.session.close())
        case "lost":
            played.lose(1006)
        case _:
            played.hear(b"{")

    for late in (inbound(7), {"type": "ping"}, {"type": "request"}):
        data = json.dumps(late).encode()
        assert played.session.received(generation, data, played.now_s) == []

    handed = played.session.hand_over()
    assert handed is not None and handed.event.body == "text 7"


# The end -----------------------------------------------------------------------------------------------------------


def test_a_close_settles_everything() -> None:
    """Actions fail as closed by us, with what is known of them; nothing can be begun (W-26)."""
    played = Played().online()
    written = act(played)
    played.write()
    unwritten = act(played)

    played.did(played.session.close())

    assert (played.status, played.hangups) == ("closed", [1000])
    assert played.settled() == {written: "bpp.client_closed", unwritten: "bpp.client_closed!"}
    assert played.session.next_wake_s is None
    with pytest.raises(NotOnline):
        act(played)
    with pytest.raises(ClientClosed):
        played.session.connect(played.now_s)


def test_an_error_settles_everything() -> None:
    """Actions fail with its cause, then and later; closing changes nothing any more (W-26)."""
    played = Played().online()
    written = act(played)
    played.write()

    played.lose(4004)

    assert played.settled() == {written: "bpp.auth_failed"}
    with pytest.raises(AuthFailed) as caught:
        act(played)
    assert caught.value.had_no_effect
    assert played.session.close() == []
    assert played.status == Status.ERROR


def test_a_failed_delivery_is_the_end() -> None:
    """With its own code, without another connection (W-17)."""
    played = Played().online()

    played.did(played.session.fail(DeliveryFailed("no room on the disk")))

    assert (played.status, played.session.state.code, played.session.next_wake_s) == (
        "error",
        "bpp.delivery_failed",
        None,
    )


def test_connect_is_called_once() -> None:
    """A client is for one life."""
    played = Played().online()

    with pytest.raises(BppError):
        played.session.connect(played.now_s)
