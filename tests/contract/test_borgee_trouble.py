"""Our Borgee client against a server and a network that misbehave: what it survives, what ends it, what it then knows.

Every fault is named, and its counter shows that it struck. What the published clients get wrong stands here and not in
the suite that they pass. Source: Borgee 1.4, 1.7, 1.13, 1.14, W3b, W5, W8, W20, W21, W29; decisions B1.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from borgee_hermes.loopback.server import BorgeeSandbox
from tests.support.borgee_boxes import DM, borgee_box, connected, open_peer
from tests.support.borgee_peers import OURS, Peer, PeerError, running_peer
from tests.support.waiting import wait_until

SOON = {"quiet_s": 0.15, "dead_s": 0.15}  # silence is noticed within a third of a second


@pytest.fixture
def box() -> Iterator[BorgeeSandbox]:
    with borgee_box() as running:
        yield running


@pytest.fixture
def peer(box: BorgeeSandbox) -> Iterator[Peer]:
    with connected(OURS, box) as online:
        yield online


def settles(peer: Peer, status: str) -> None:
    wait_until(lambda: peer.status == status)


def outcome(peer: Peer, content: str) -> tuple[str | None, bool | None]:
    """The code of the error that a send ends with, and whether it had no effect."""
    with pytest.raises(PeerError) as caught:
        peer.act("send_message", channel_id=DM, content=content)
    return caught.value.code, caught.value.had_no_effect


def said(box: BorgeeSandbox) -> list[str]:
    return [row["content"] for row in box.transcript(DM) if row["author_id"] == "agent_sandbox"]


# Silence -----------------------------------------------------------------------------------------------------------


def test_a_half_open_connection_is_noticed(box: BorgeeSandbox) -> None:
    """Nothing comes, not even the answer to a ping: within the two limits there is a new connection (W5)."""
    with connected(OURS, box, limits=SOON) as peer:
        before = time.monotonic()
        assert box.human.freeze() == 1

        box.wait("opened", count=2)
        took_s = time.monotonic() - before

        box.human.say(DM, "back")
        assert peer.take()["body"] == "back"
    assert 0.15 <= took_s < 5


def test_a_quiet_connection_is_left_alone(box: BorgeeSandbox) -> None:
    """The server answers the pings and says nothing else."""
    with connected(OURS, box, limits=SOON, heartbeat_s=0.1) as peer:
        box.wait("frame", type="heartbeat", count=12)

        assert peer.status == "online"
    assert box.human.connections()["accepted"] == 1


@pytest.mark.parametrize(("fault", "effects"), [("action-freeze", 0), ("action-freeze-after", 1)])
def test_a_connection_that_goes_half_open_in_an_action(box: BorgeeSandbox, fault: str, effects: int) -> None:
    """The action's outcome is unknown, whichever it was; it is not sent again."""
    struck = box.fault(fault)

    with connected(OURS, box, limits=SOON) as peer:
        assert outcome(peer, "once") == ("bpp.connection_lost", False)
        settles(peer, "online")

    assert said(box) == ["once"] * effects
    assert struck.fired == 1


@pytest.mark.parametrize("fault", ["push-freeze", "heartbeat-freeze", "frame-freeze"])
def test_a_connection_that_goes_half_open_by_itself(box: BorgeeSandbox, fault: str) -> None:
    """With a push, with a heartbeat, with whatever it reads next."""
    with connected(OURS, box, limits=SOON, heartbeat_s=0.1) as peer:
        struck = box.fault(fault)
        box.human.say(DM, "swallowed or not")

        box.wait("opened", count=2)
        settles(peer, "online")

    assert struck.fired == 1


def test_writing_that_makes_no_progress_ends_the_connection(box: BorgeeSandbox) -> None:
    """A server that does not read fills every buffer on the way; then there is a new connection (W21)."""
    with connected(OURS, box, limits={"write_s": 0.3}) as peer:
        stall = box.fault("frame-stall", seconds=20, event="semantic_action")
        pending = [peer.begin("send_message", channel_id=DM, content="x" * 30_000) for _ in range(250)]

        box.wait("opened", count=2)
        box.human.calm()
        codes = [code_of(one) for one in pending]

    assert stall.fired == 1
    assert codes.count("bpp.connection_lost") > 0
    assert set(codes) <= {"ok", "bpp.connection_lost", "bpp.protocol_capacity"}
    assert len(said(box)) >= codes.count("ok")
    assert len(said(box)) + codes.count("bpp.protocol_capacity") <= len(codes)


def code_of(pending: object) -> str:
    try:
        pending.result()  # type: ignore[attr-defined]
    except PeerError as error:
        return str(error.code)
    return "ok"


def test_a_send_that_is_cancelled_before_it_left_never_leaves(box: BorgeeSandbox) -> None:
    """While the connection is away it waits; taken back, it is gone for good (W21)."""
    with connected(OURS, box) as peer:
        box.fault("upgrade-late", seconds=0.4)
        box.human.cut()
        settles(peer, "reconnecting")
        taken_back = peer.begin("send_message", channel_id=DM, content="taken back")
        kept = peer.begin("send_message", channel_id=DM, content="kept")

        taken_back.cancel()
        kept.result()

        assert code_of(taken_back) == "cancelled"
    assert said(box) == ["kept"]
    assert [row["payload"]["content"] for row in box.wait("action", name="send_message")] == ["kept"]


# Ends ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "delivered"),
    [("push-close-talking", []), ("push-close-hanging", ["with the end"]), ("push-close-after", ["with the end"])],
)
def test_closes_in_an_odd_order(peer: Peer, box: BorgeeSandbox, fault: str, delivered: list[str]) -> None:
    """What comes after a close frame is nothing; a close frame is an end, also when the socket stays open."""
    struck = box.fault(fault)
    before = time.monotonic()
    box.human.say(DM, "with the end")

    box.wait("opened", count=2)
    took_s = time.monotonic() - before
    box.human.say(DM, "back")

    assert [peer.take()["body"] for _ in range(len(delivered) + 1)] == [*delivered, "back"]
    assert struck.fired == 1
    assert took_s < 5


@pytest.mark.parametrize(("code", "how"), [(None, "proper"), (1012, "hanging"), (4000, "talking")])
def test_closes_that_no_server_should_do(peer: Peer, box: BorgeeSandbox, code: int | None, how: str) -> None:
    """Without a code, without an end, without silence afterwards: each is followed by a reconnect."""
    box.human.close(code, how=how)

    box.wait("opened", count=2)
    settles(peer, "online")


@pytest.mark.parametrize("how", ["reset", "end"])
def test_cuts(peer: Peer, box: BorgeeSandbox, how: str) -> None:
    """A reset, and an end without a close frame."""
    box.human.cut(how=how)

    box.wait("opened", count=2)
    settles(peer, "online")


@pytest.mark.parametrize(
    "fault",
    [
        "upgrade-404",
        "upgrade-500",
        "upgrade-502",
        "upgrade-503",
        "upgrade-200",
        "upgrade-redirect",
        "upgrade-reset",
        "upgrade-end",
        "upgrade-silent",
        "upgrade-late",
    ],
)
def test_a_server_that_is_away_for_a_while(box: BorgeeSandbox, fault: str) -> None:
    """Whatever answers in its place, three times in a row: the client comes back and goes on (W3b, W-29)."""
    with connected(OURS, box, limits={"opening_s": 0.3}) as peer:
        struck = box.fault(fault, burst=1, times=3)
        box.human.cut()

        box.wait("opened", count=2)
        settles(peer, "online")
        box.human.say(DM, "back")
        assert peer.take()["body"] == "back"

    assert struck.fired == 3


@pytest.mark.parametrize("fault", ["upgrade-401", "upgrade-403", "upgrade-4004", "connect-4004"])
def test_a_key_that_is_refused_on_the_way_back(peer: Peer, box: BorgeeSandbox, fault: str) -> None:
    """The client gives up, says why, and takes nothing more in (W3b, 8.4)."""
    struck = box.fault(fault)
    box.human.cut()

    settles(peer, "error")

    state = peer.call("state")
    assert (state["code"], state["reason"]) == ("bpp.auth_failed", "api_key_invalid")
    assert peer.call("take") is None
    assert outcome(peer, "too late") == ("bpp.auth_failed", True)
    assert struck.fired == 1


def test_an_agent_that_is_switched_off(peer: Peer, box: BorgeeSandbox) -> None:
    """Its key is refused as soon as the connection has to be made anew (W28)."""
    box.human.toggle("disable")
    box.human.cut()

    settles(peer, "error")

    assert peer.call("state")["code"] == "bpp.auth_failed"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("upgrade-401", "bpp.auth_failed"),
        ("upgrade-4004", "bpp.auth_failed"),
        ("identity-4004", "bpp.auth_failed"),
        ("upgrade-503", "bpp.connect_failed"),
        ("upgrade-200", "bpp.connect_failed"),
        ("upgrade-redirect", "bpp.connect_failed"),
        ("upgrade-reset", "bpp.connect_failed"),
        ("upgrade-end", "bpp.connect_failed"),
        ("upgrade-silent", "bpp.handshake_timeout"),
        ("identity-lost", "bpp.handshake_timeout"),
        ("identity-close", "bpp.handshake_closed"),
        ("connect-close", "bpp.handshake_closed"),
        ("identity-error", "bpp.handshake_failed"),
        ("identity-denied", "bpp.handshake_failed"),
        ("result-not-json", "bpp.frame_json"),
    ],
)
def test_a_first_connection_that_fails(box: BorgeeSandbox, fault: str, code: str) -> None:
    """It is tried once, and its failure is told apart and at once (W-11, W-12, W-14, W20, W3b)."""
    struck = box.fault(fault)

    with running_peer(OURS) as peer:
        open_peer(peer, box, limits={"opening_s": 1.0})
        before = time.monotonic()
        with pytest.raises(PeerError) as caught:
            peer.call("connect")
        took_s = time.monotonic() - before

        assert caught.value.code == code
        assert peer.status == "error"
    assert struck.fired == 1
    assert took_s < (5 if code == "bpp.handshake_timeout" else 1.0)


def test_nobody_listens() -> None:
    """The port is closed: the first connection has failed, with the system's own words."""
    with borgee_box() as gone:
        address = gone.endpoints.base_url

    with running_peer(OURS) as peer:
        peer.call("open", base_url=address, key="bgr_x")
        with pytest.raises(PeerError, match="could not be reached") as caught:
            peer.call("connect")

    assert caught.value.code == "bpp.connect_failed"


# Broken messages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("push-not-json", "bpp.frame_json"),
        ("push-not-utf8", "bpp.frame_encoding"),
        ("push-list", "bpp.frame_shape"),
        ("push-no-type", "bpp.frame_shape"),
        ("push-no-body", "bpp.protocol_error"),
        ("push-bad-time", "bpp.protocol_error"),
        ("push-bad-opcode", "bpp.frame_shape"),
    ],
)
def test_broken_messages_are_waited_out_three_times(peer: Peer, box: BorgeeSandbox, fault: str, code: str) -> None:
    """Each costs its connection; the fourth within ten minutes costs the client (decision B1, W8)."""
    struck = box.fault(fault, times=4)
    for number in range(1, 4):
        box.human.say(DM, f"broken {number}")
        box.wait("opened", count=number + 1)
        settles(peer, "online")

    box.human.say(DM, "broken 4")

    settles(peer, "error")
    assert peer.call("state")["code"] == code
    assert struck.fired == 4


@pytest.mark.parametrize("fault", ["result-bad-payload", "result-bad-status", "result-no-code", "result-no-nonce"])
def test_a_broken_answer_leaves_its_action_open(peer: Peer, box: BorgeeSandbox, fault: str) -> None:
    """The connection is made anew, and nobody knows whether the action took effect (1.12, B1)."""
    struck = box.fault(fault)

    assert outcome(peer, "once") == ("bpp.connection_lost", False)

    settles(peer, "online")
    assert said(box) == ["once"]
    assert struck.fired == 1


def test_an_unknown_kind_is_skipped(peer: Peer, box: BorgeeSandbox) -> None:
    """A newer server may tell more than we know; the connection goes on (W8)."""
    struck = box.fault("push-unknown-kind")
    box.human.say(DM, "poke")
    box.human.say(DM, "hello")

    assert peer.take()["body"] == "hello"
    assert struck.fired == 1
    assert peer.status == "online"  # before the count: one that is made anew is not counted yet
    assert box.human.connections()["accepted"] == 1


# More than there is room for ----------------------------------------------------------------------------------------


def test_events_that_nobody_takes_are_bounded(peer: Peer, box: BorgeeSandbox) -> None:
    """512 wait; one more ends the client, and what was received can still be taken over (W-23)."""
    for number in range(513):
        box.human.say(DM, f"text {number}")

    settles(peer, "error")

    assert peer.call("state")["code"] == "bpp.protocol_capacity"
    bodies = [peer.take()["body"] for _ in range(512)]
    assert bodies == [f"text {number}" for number in range(512)]
    assert peer.call("take") is None


def test_a_drain_keeps_the_way_out_open(peer: Peer, box: BorgeeSandbox) -> None:
    """However much comes in that nobody takes any more, a running turn can still answer (W29)."""
    peer.call("drain")
    for number in range(700):
        box.human.say(DM, f"text {number}")

    assert peer.act("send_message", channel_id=DM, content="the answer")
    assert peer.status == "online"
    assert peer.call("take") is None


def test_33_updates_may_not_wait(box: BorgeeSandbox) -> None:
    """32 are held while one handler is at work; one more ends the client (W-24)."""
    with connected(OURS, box, config="hang") as peer:
        for number in range(32):
            box.human.push_config({"number": number})
        box.human.ping()
        box.wait("frame", type="pong")
        assert peer.status == "online"

        box.human.push_config({"number": 33})

        settles(peer, "error")
        assert peer.call("state")["code"] == "bpp.protocol_capacity"


@pytest.mark.parametrize("handlers", [{}, {"config": "apply", "request": {}, "stop_turn": True}], ids=["none", "all"])
def test_what_no_frame_could_answer_is_ignored(box: BorgeeSandbox, handlers: dict[str, Any]) -> None:
    """An id that a request or an update has to get back, longer than a frame of ours: nothing is carried out, and the
    client goes on answering (1.9, 1.10)."""
    long = "i" * 40_000
    update = {"type": "agent_config_update", "agent_id": "a", "schema_version": 1, "blob": "{}", "created_at": 1}
    with connected(OURS, box, **handlers) as peer:
        for action in ("read_file", "stop_turn"):
            box.human.send_frame({"type": "request", "id": long, "data": {"action": action, "channel_id": DM}})
        box.human.send_frame({**update, "cursor": 1, "idempotency_key": long})

        assert box.human.request("stop_turn", channel_id="")["error"] == "stop_turn_channel_id_invalid"
        key = box.human.push_config({})["idempotency_key"]
        assert box.wait("config-ack")[0]["idempotency_key"] == key
        assert peer.status == "online"
        assert peer.call("handlers")["seen"] == ([["config", {}]] if handlers else [])


def test_too_much_text_is_refused_before_it_leaves(peer: Peer, box: BorgeeSandbox) -> None:
    """A frame has a bound, and the failure is a certain one (W26, W-25)."""
    assert outcome(peer, "x" * 40_000) == ("bpp.protocol_capacity", True)

    assert said(box) == []
    assert peer.status == "online"


def test_certain_failures_are_told_apart(peer: Peer, box: BorgeeSandbox) -> None:
    """Refused, denied: nothing happened. Closed after it took effect: nobody knows (W4, W26)."""
    box.fault("action-error")
    assert outcome(peer, "refused") == ("bpp.action_refused", True)
    box.fault("action-denied")
    assert outcome(peer, "denied") == ("bpp.permission_denied", True)
    box.fault("action-close-after")
    assert outcome(peer, "unknown") == ("bpp.connection_lost", False)

    assert said(box) == ["unknown"]
