"""What the loopback Borgee server and a Borgee client agree on: the published clients first, then ours.

The published ones are not our code, so they settle what our code may believe of the server (``make test-interop``); the
default run repeats the same sentences with our own client. Source: Borgee 1, 9.9; decisions T3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from borgee_hermes.loopback.server import BorgeeSandbox
from tests.support.borgee_boxes import DM, LOBBY, borgee_box, connected, open_peer
from tests.support.borgee_peers import OURS, PUBLISHED_SDKS, Maker, Peer, PeerError, running_peer
from tests.support.waiting import wait_until

MAKERS = [
    *(pytest.param(maker, id=maker.name, marks=pytest.mark.long) for maker in PUBLISHED_SDKS),
    pytest.param(OURS, id=OURS.name),
]


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> Maker:
    assert isinstance(request.param, Maker)
    return request.param


@pytest.fixture
def box() -> Iterator[BorgeeSandbox]:
    with borgee_box() as running:
        yield running


@pytest.fixture
def peer(maker: Maker, box: BorgeeSandbox) -> Iterator[Peer]:
    with connected(maker, box) as online:
        yield online


def frames(box: BorgeeSandbox, *, after: int = 0) -> list[str]:
    """The types of the frames that came, in order."""
    return [row["type"] for row in box.journal(after=after) if row["what"] == "frame"]


def assert_settles(peer: Peer, status: str) -> None:
    """The client arrives at a state without being asked anything."""
    wait_until(lambda: peer.status == status)


def sends(box: BorgeeSandbox) -> list[Any]:
    """What agents said, in order."""
    return [row["content"] for row in box.transcript(DM) if row["author_id"] == "agent_sandbox"]


# The opening -------------------------------------------------------------------------------------------------------


def test_a_first_conversation(peer: Peer, box: BorgeeSandbox) -> None:
    """Upgrade with the bearer, connect, identity; a message is delivered and answered (borgee W-1)."""
    message_id = box.human.say(DM, "hello")

    event = peer.take()
    answer_id = peer.act("send_message", channel_id=DM, content="hi", reply_to_id=message_id)

    upgrade = box.journal()[0]
    assert (upgrade["what"], upgrade["status"], upgrade["agent_id"]) == ("upgrade", 101, "agent_sandbox")
    assert frames(box)[:2] == ["connect", "semantic_action"]
    assert peer.call("agent_id") == "agent_sandbox"
    assert (event["kind"], event["body"], event["channel_type"], event["author_name"]) == (
        "message",
        "hello",
        "dm",
        "Olive",
    )
    assert [row["id"] for row in box.wait("answer", to=message_id)] == [answer_id]
    assert peer.status == "online"


def test_the_opening_says_what_the_client_can(peer: Peer, box: BorgeeSandbox) -> None:
    """``connect`` holds no key, names its version, and lists its capabilities as JSON in a string."""
    [opening] = [row["frame"] for row in box.journal() if row["type"] == "connect"]

    assert opening == {
        "type": "connect",
        "plugin_id": "hermes-borgee",
        "token": "",
        "version": "bpp-1",
        "capabilities": '["semantic_action","inbound_message","read_file"]',
    }


def test_a_known_agent_is_online_without_asking(maker: Maker, box: BorgeeSandbox) -> None:
    """With an agent id only ``connect`` is written, and heartbeats follow (W-13)."""
    with connected(maker, box, agent_id="agent_sandbox", heartbeat_s=0.05) as peer:
        beats = box.wait("frame", type="heartbeat", count=2)

        assert frames(box)[:3] == ["connect", "heartbeat", "heartbeat"]
        assert peer.call("state")["seen"][-2:] == ["connecting", "online"]
    assert beats[0]["frame"] == {
        "type": "heartbeat",
        "plugin_id": "hermes-borgee",
        "agent_id": "agent_sandbox",
        "status": "online",
        "reason": "",
        "timestamp": beats[0]["frame"]["timestamp"],
    }


@pytest.mark.parametrize("fault", ["result-role-admin", "result-id-empty"])
def test_an_identity_that_is_of_no_use_ends_the_opening(maker: Maker, box: BorgeeSandbox, fault: str) -> None:
    """An empty id or a foreign role is refused; nothing but the opening was sent (W-3)."""
    box.fault(fault)

    with running_peer(maker) as peer:
        open_peer(peer, box)
        with pytest.raises(PeerError) as caught:
            peer.call("connect")

        assert caught.value.code == "bpp.identity_invalid"
        assert peer.status == "error"
    assert frames(box) == ["connect", "semantic_action"]


def test_a_close_during_the_opening_is_final(maker: Maker, box: BorgeeSandbox) -> None:
    """The first connection is tried once (W-12)."""
    fault = box.fault("connect-close")

    with running_peer(maker) as peer:
        open_peer(peer, box, agent_id="")
        with pytest.raises(PeerError):
            peer.start("connect").result(timeout_s=20)

        assert peer.status == "error"
    assert fault.fired == 1
    assert box.human.connections()["accepted"] == 1


def test_a_redirect_is_not_followed(maker: Maker, box: BorgeeSandbox) -> None:
    """The key does not travel to another server (W-7)."""
    with borgee_box() as elsewhere:
        box.fault("upgrade-redirect", headers={"Location": f"{elsewhere.endpoints.base_url}/ws/plugin"})

        with running_peer(maker) as peer:
            open_peer(peer, box)
            with pytest.raises(PeerError):
                peer.call("connect")

        assert elsewhere.journal() == []


def test_a_key_that_is_not_known_is_refused(maker: Maker, box: BorgeeSandbox) -> None:
    """HTTP 401 ends the first connection (W-29)."""
    with running_peer(maker) as peer:
        open_peer(peer, box, key="bgr_live_sandbox_of_nobody")
        with pytest.raises(PeerError):
            peer.call("connect")

        assert peer.status == "error"
    assert [row["status"] for row in box.journal()] == [401]


def test_a_refusal_by_close_is_a_refused_key(maker: Maker) -> None:
    """A newer server closes with 4004; after the opening that is an auth failure for every client (W-14)."""
    with borgee_box() as box, connected(maker, box) as peer:
        box.human.close(4004)

        box.wait("ended")
        assert_settles(peer, "error")
        assert peer.call("state")["code"] == "bpp.auth_failed"
        assert peer.call("state")["reason"] == "api_key_invalid"
    assert box.human.connections()["accepted"] == 1


def test_what_comes_before_the_identity_is_delivered(maker: Maker, box: BorgeeSandbox) -> None:
    """Inbound frames during ``get_me`` are kept (W-20)."""
    box.fault("identity-late", seconds=0.3)

    with running_peer(maker) as peer:
        open_peer(peer, box)
        connecting = peer.start("connect")
        box.wait("action", name="get_me")
        box.human.say(DM, "early")
        connecting.result()

        assert peer.take()["body"] == "early"


def test_nothing_is_said_before_the_identity_is_known(maker: Maker, box: BorgeeSandbox) -> None:
    """No action but ``get_me`` and no heartbeat goes out with an empty agent id (W-22)."""
    box.fault("identity-late", seconds=0.4)

    with connected(maker, box, heartbeat_s=0.05):
        box.wait("frame", type="heartbeat")

    named = [row["frame"]["agent_id"] for row in box.journal() if row["type"] in {"heartbeat", "semantic_action"}]
    assert named[0] == ""
    assert set(named[1:]) == {"agent_sandbox"}


# Deliveries --------------------------------------------------------------------------------------------------------


def test_the_five_kinds_arrive(peer: Peer, box: BorgeeSandbox) -> None:
    """Messages, mentions, edits, deletions and reactions, with what each of them tells."""
    first = box.human.say(LOBBY, "look", mention=True)
    second = box.human.say(DM, "plain")
    box.human.edit(second, "edited")
    box.human.react(second, "+1")
    box.human.react(second, "+1", added=False)
    box.human.delete(second)

    events = [peer.take() for _ in range(6)]

    kinds = [(event["kind"], event["message_id"], event["body"]) for event in events]
    assert kinds == [
        ("mention", first, "<@agent_sandbox> look"),
        ("message", second, "plain"),
        ("edited", second, "edited"),
        ("reaction", second, ""),
        ("reaction", second, ""),
        ("deleted", second, ""),
    ]
    assert [event["reaction"] for event in events[3:5]] == [
        {"emoji": "+1", "user_id": "user_owner", "added": True},
        {"emoji": "+1", "user_id": "user_owner", "added": False},
    ]


def test_the_context_of_a_conversation_is_told(peer: Peer, box: BorgeeSandbox) -> None:
    """A channel tells its Server, a thread its top-level channel and itself; a direct channel tells nothing (W7)."""
    thread = box.human.add_channel("thread", thread_of=LOBBY, task_id="task_9")
    box.human.say(LOBBY, "one", mention=True)
    box.human.say(thread, "two", mention=True)
    box.human.say(DM, "three")

    contexts = [peer.take()["context"] for _ in range(3)]

    assert contexts == [
        {"guild_id": "guild_home", "top_level_channel_id": LOBBY, "thread_id": None, "task_id": None},
        {"guild_id": "guild_home", "top_level_channel_id": LOBBY, "thread_id": thread, "task_id": "task_9"},
        None,
    ]


def test_who_gets_what_is_the_servers_rule(peer: Peer, box: BorgeeSandbox) -> None:
    """Membership and the need for a mention decide before anything is pushed; a direct channel needs none."""
    foreign = box.human.add_channel("foreign", ["user_owner", "user_dana"])
    box.human.say(foreign, "not for it")
    box.human.say(LOBBY, "no mention")
    box.human.set_mentions(False, channel_id=LOBBY)
    box.human.say(LOBBY, "none needed here")
    box.human.set_mentions(None, channel_id=LOBBY)
    box.human.say(LOBBY, "needed again")
    box.human.say(DM, "direct")

    assert [peer.take()["body"] for _ in range(2)] == ["none needed here", "direct"]


def test_events_come_in_order_one_at_a_time(peer: Peer, box: BorgeeSandbox) -> None:
    """The next event is handed over when the one before is settled, whatever cursors they carry (W-18)."""
    box.fault("push-cursor", times=1)
    for number in range(3):
        box.human.say(DM, f"text {number}")

    first = peer.call("take")
    second = peer.start("take")
    peer.call("state")
    assert not second.is_done
    peer.call("checkpoint", delivery=first["delivery"])

    assert first["body"] == "text 0"
    assert second.result()["body"] == "text 1"


def test_the_server_is_answered_while_an_event_is_open(maker: Maker, box: BorgeeSandbox) -> None:
    """A ping and a request wait for no receiver; null is an answer (W-4)."""
    with connected(maker, box, request="null") as peer:
        box.human.say(DM, "open")
        peer.call("take")

        box.human.ping()
        response = box.human.request("look_around")

        assert response == {"type": "response", "id": response["id"], "data": None}
        assert box.wait("frame", type="pong")


def test_an_event_of_almost_4_mib_is_delivered(peer: Peer, box: BorgeeSandbox) -> None:
    """The bound for incoming messages is far above it (W-6)."""
    text = "x" * (4 * 1024 * 1024 - 1024)

    box.human.say(DM, text)

    assert len(peer.take()["body"]) == len(text)


def test_a_delivery_that_outlives_its_connection_is_stale(peer: Peer, box: BorgeeSandbox) -> None:
    """After a reconnect it cannot be settled any more (W-9)."""
    box.human.say(DM, "open")
    event = peer.call("take")
    box.human.close(1012)
    box.wait("opened", count=2)
    assert_settles(peer, "online")

    with pytest.raises(PeerError) as caught:
        peer.call("checkpoint", delivery=event["delivery"])

    assert caught.value.code == "bpp.stale_delivery"
    assert peer.status == "online"


def test_a_delivery_that_fails_ends_the_client(peer: Peer, box: BorgeeSandbox) -> None:
    """Going on would lose the event (W-17)."""
    box.human.say(DM, "cannot be stored")
    event = peer.call("take")

    peer.call("fail", delivery=event["delivery"])

    assert_settles(peer, "error")
    box.wait("ended")
    assert box.human.connections()["accepted"] == 1


# Actions -----------------------------------------------------------------------------------------------------------


def test_messages_are_sent_edited_and_deleted(peer: Peer, box: BorgeeSandbox) -> None:
    """The three actions of an answer, in the channel they name."""
    message_id = peer.act("send_message", channel_id=DM, content="draft")
    peer.act("edit_message", message_id=message_id, content="final")
    peer.act("react", message_id=message_id, emoji="+1")
    peer.act("react", message_id=message_id, emoji="+1", removed=True)

    [message] = box.transcript(DM)
    assert (message["content"], message["edits"], message["reactions"]) == ("final", 1, [])

    peer.act("delete_message", message_id=message_id)

    assert [row["deleted"] for row in box.transcript(DM)] == [True]


def test_placement_keeps_its_null(peer: Peer, box: BorgeeSandbox) -> None:
    """A zone, or JSON null, reaches the server and comes back (W-2)."""
    outside = peer.act("create_channel", guild_id="guild_home", name="lobby", parent_id=None)
    inside = peer.act("create_channel", guild_id="guild_home", name="builds", parent_id="zone_builds")

    payloads = [row["payload"] for row in box.wait("action", name="create_channel", count=2)]
    assert [payload["parent_id"] for payload in payloads] == [None, "zone_builds"]
    assert [outside["parent_id"], inside["parent_id"]] == [None, "zone_builds"]


def test_zones_are_paged(peer: Peer, box: BorgeeSandbox) -> None:
    """A page ends with the cursor of the next one, and the last one with null."""
    first = peer.act("list_zones", guild_id="guild_home", limit=1)
    second = peer.act("list_zones", guild_id="guild_home", after=first["next_after"])

    assert first == {"zones": [{"id": "zone_builds", "name": "Builds"}], "next_after": "zone_builds"}
    assert second == {"zones": [{"id": "zone_desk", "name": "Desk"}], "next_after": None}


def test_membership_is_checked_on_each_page(peer: Peer, box: BorgeeSandbox) -> None:
    """Who has left a Server sees no further page of its zones."""
    peer.act("list_zones", guild_id="guild_home", limit=1)
    box.human.set_members(["user_owner"], guild_id="guild_home")

    with pytest.raises(PeerError) as caught:
        peer.act("list_zones", guild_id="guild_home", limit=1, after="zone_builds")

    assert caught.value.code == "bpp.permission_denied"


@pytest.mark.parametrize(
    ("fault", "action", "args"),
    [
        ("result-next-after-missing", "list_zones", {"guild_id": "guild_home"}),
        ("result-parent-missing", "list_channels", {}),
    ],
)
def test_a_malformed_discovery_answer_concerns_its_caller_only(
    peer: Peer, box: BorgeeSandbox, fault: str, action: str, args: dict[str, Any]
) -> None:
    """The action fails as a protocol error and the connection lives on (borgee 1.12)."""
    box.fault(fault)

    with pytest.raises(PeerError) as caught:
        peer.act(action, **args)

    assert caught.value.code == "bpp.protocol_error"
    assert peer.status == "online"
    assert peer.act(action, **args)


def test_channels_are_listed_changed_and_deleted(peer: Peer, box: BorgeeSandbox) -> None:
    """The whole life of a channel."""
    made = peer.act(
        "create_channel", guild_id="guild_home", name="plan", parent_id=None, topic="t", visibility="private"
    )
    changed = peer.act("update_channel", channel_id=made["id"], name="plans", archived=True)
    peer.act("set_topic", channel_id=made["id"], topic="")
    listed = {row["id"]: row for row in peer.act("list_channels")}
    peer.act("delete_channel", channel_id=made["id"])

    assert (changed["name"], changed["archived"], changed["visibility"]) == ("plans", True, "private")
    assert listed[made["id"]]["topic"] == ""
    assert made["id"] not in {row["id"] for row in peer.act("list_channels")}


def test_history_is_read_between_two_messages(peer: Peer, box: BorgeeSandbox) -> None:
    """limit, before and after cut the transcript."""
    ids = [box.human.say(DM, f"text {number}") for number in range(5)]

    found = peer.act("read_channel_history", channel_id=DM, before=ids[4], after=ids[0], limit=2)

    assert [row["id"] for row in found] == ids[2:4]


def test_tasks_live(peer: Peer, box: BorgeeSandbox) -> None:
    """Created, listed, changed, given a property and rid of it."""
    made = peer.act("create_task", channel_id=LOBBY, title="Write it", assignee_id="user_dana")
    changed = peer.act("update_task", task_id=made["id"], status="done", assignee_id="")
    linked = peer.act("set_task_property", task_id=made["id"], key="link.issue", value="https://example.org/9")
    bare = peer.act("delete_task_property", task_id=made["id"], key="link.issue")

    assert (made["assignee_id"], changed["assignee_id"], changed["status"]) == ("user_dana", None, "done")
    assert (linked["properties"], bare["properties"]) == ({"link.issue": "https://example.org/9"}, {})
    assert [row["id"] for row in peer.act("list_tasks", channel_id=LOBBY)] == [made["id"]]
    assert [row["id"] for row in peer.act("list_tasks", guild_id="guild_home")] == [made["id"]]
    assert peer.act("get_task", task_id=made["id"])["title"] == "Write it"
    assert [row["key"] for row in peer.act("list_task_property_definitions")] == ["link.pr", "link.issue"]


def test_a_direct_channel_is_made_once(peer: Peer, box: BorgeeSandbox) -> None:
    """The direct channel with somebody is found, or made."""
    assert peer.act("create_dm", user_id="user_owner") == DM
    made = peer.act("create_dm", user_id="user_dana")
    assert peer.act("create_dm", user_id="user_dana") == made


def test_a_denial_is_a_permission_error(peer: Peer, box: BorgeeSandbox) -> None:
    """It answers the action instead of a result, and the connection lives on (W-19)."""
    message_id = box.human.say(box.human.add_channel("foreign", ["user_owner"]), "hi")

    with pytest.raises(PeerError) as caught:
        peer.act("react", message_id=message_id, emoji="+1")

    assert caught.value.code == "bpp.permission_denied"
    assert peer.status == "online"


def test_a_refusal_carries_the_servers_code(peer: Peer, box: BorgeeSandbox) -> None:
    """An id that names nothing is an error of that action."""
    with pytest.raises(PeerError) as caught:
        peer.act("get_task", task_id="task_of_nobody")

    assert "bpp.task_not_found" in f"{caught.value.code} {caught.value.text}"
    assert peer.status == "online"


def test_an_action_waits_for_the_next_connection(peer: Peer, box: BorgeeSandbox) -> None:
    """While reconnecting it is held, and goes out on the new connection (W-10)."""
    box.fault("upgrade-late", seconds=0.3)
    box.human.cut()
    assert_settles(peer, "reconnecting")

    assert peer.act("send_message", channel_id=DM, content="later")

    assert sends(box) == ["later"]


@pytest.mark.parametrize("fault", ["action-close-after", "action-reset-after", "action-end-after"])
def test_an_action_that_was_lost_with_its_connection_is_not_repeated(
    peer: Peer, box: BorgeeSandbox, fault: str
) -> None:
    """Nobody knows its outcome, so it fails and is sent once; the connection comes back."""
    struck = box.fault(fault)

    with pytest.raises(PeerError) as caught:
        peer.act("send_message", channel_id=DM, content="once")

    assert caught.value.code == "bpp.connection_lost"
    box.wait("opened", count=2)
    assert_settles(peer, "online")
    assert sends(box) == ["once"]
    assert struck.fired == 1


def test_an_unanswered_action_times_out(maker: Maker, box: BorgeeSandbox) -> None:
    """Its time covers the answer; a late answer is ignored."""
    with connected(maker, box, action_s=0.2) as peer:
        box.fault("action-late", seconds=0.6)

        with pytest.raises(PeerError) as caught:
            peer.act("send_message", channel_id=DM, content="late")

        assert caught.value.code == "bpp.action_timeout"
        assert peer.act("list_channels")
        assert peer.status == "online"


def test_closing_fails_what_waits(peer: Peer, box: BorgeeSandbox) -> None:
    """A pending action fails at once, a later one never starts (W-26)."""
    box.fault("action-lost")
    pending = peer.begin("send_message", channel_id=DM, content="x")
    box.wait("action", name="send_message")

    peer.call("close")

    with pytest.raises(PeerError) as caught:
        pending.result()
    assert caught.value.code == "bpp.client_closed"
    with pytest.raises(PeerError) as caught:
        peer.act("send_message", channel_id=DM, content="y")
    assert caught.value.code == "bpp.not_online"
    assert peer.status == "closed"
    assert peer.call("take") is None


# Settings, requests, tasks -----------------------------------------------------------------------------------------


def test_settings_are_rejected_without_a_handler(peer: Peer, box: BorgeeSandbox) -> None:
    """Every update is acknowledged as rejected, the same one with the same words (borgee 1.9, A43)."""
    update = box.human.push_config({"model": "fast"})
    box.wait("config-ack")
    box.human.push_config({"model": "fast"}, key=update["idempotency_key"])

    acks = box.wait("config-ack", count=2)

    assert acks[0] == {
        "type": "agent_config_ack",
        "cursor": update["cursor"],
        "agent_id": "agent_sandbox",
        "schema_version": update["schema_version"],
        "idempotency_key": update["idempotency_key"],
        "status": "rejected",
        "reason": "unknown",
        "applied_at": 0,
    }
    assert (acks[1]["status"], acks[1]["reason"]) == ("rejected", "unknown")


def test_settings_that_a_handler_applies_are_acknowledged_so(maker: Maker, box: BorgeeSandbox) -> None:
    """Applied, without a reason, and only once for one key (W-5)."""
    with connected(maker, box, config="apply") as peer:
        update = box.human.push_config({"model": "fast"})
        box.wait("config-ack")
        box.human.push_config({"model": "fast"}, key=update["idempotency_key"])

        acks = box.wait("config-ack", count=2)

        assert [(ack["status"], ack["reason"]) for ack in acks] == [("applied", "")] * 2
        assert acks[0]["applied_at"] > 0
        assert peer.call("handlers")["seen"] == [["config", {"model": "fast"}]]


@pytest.mark.parametrize("handler", ["wrong", "raise"])
def test_a_handler_of_settings_that_is_of_no_use_rejects(maker: Maker, box: BorgeeSandbox, handler: str) -> None:
    """A wrong shape and an error are rejected as unknown (W-15)."""
    with connected(maker, box, config=handler):
        box.human.push_config({"model": "fast"})

        [ack] = box.wait("config-ack")

        assert (ack["status"], ack["reason"], ack["applied_at"]) == ("rejected", "unknown", 0)


@pytest.mark.long
def test_a_handler_of_settings_that_never_ends_is_left_behind(maker: Maker, box: BorgeeSandbox) -> None:
    """After five seconds the update is rejected as a time-out, and the next one is handled (W-15)."""
    with connected(maker, box, config="hang"):
        box.human.push_config({"model": "fast"})
        box.human.push_config({"model": "slow"})

        acks = box.wait("config-ack", count=2)

        assert [(ack["status"], ack["reason"]) for ack in acks] == [("rejected", "runtime_timeout")] * 2


def test_requests_without_a_handler_are_refused(peer: Peer, box: BorgeeSandbox) -> None:
    """Nobody reads files here, and no turn is stopped (borgee 1.10, W-28)."""
    refused = box.human.request("read_file", path="/etc/hosts")
    stopped = box.human.request("stop_turn", channel_id=DM)
    nowhere = box.human.request("stop_turn", channel_id="")

    assert refused["error"] == "no_server_request_handler" or "unsupported" in refused["error"]
    assert stopped["data"] == {"aborted": False}
    assert nowhere["error"] == "stop_turn_channel_id_invalid"


def test_a_turn_is_stopped_by_its_handler(maker: Maker, box: BorgeeSandbox) -> None:
    """Its yes or no is the answer (W-28)."""
    with connected(maker, box, stop_turn=True) as peer:
        assert box.human.request("stop_turn", channel_id=DM)["data"] == {"aborted": True}
        assert peer.call("handlers")["seen"] == [["stop_turn", DM]]


@pytest.mark.parametrize(("stop_turn", "answer"), [("yes", {"data": {"aborted": False}}), ("raise", None)])
def test_a_handler_that_stops_no_turn(maker: Maker, box: BorgeeSandbox, stop_turn: Any, answer: Any) -> None:
    """A wrong shape is a no, an error is an error (W-28)."""
    with connected(maker, box, stop_turn=stop_turn):
        response = box.human.request("stop_turn", channel_id=DM)

        if answer is None:
            assert response["error"] == "server_request_failed"
        else:
            assert response["data"] == answer["data"]


def test_a_request_that_fails_says_so(maker: Maker, box: BorgeeSandbox) -> None:
    """The handler's error is answered, not swallowed."""
    with connected(maker, box, request="raise"):
        assert box.human.request("look")["error"] == "server_request_failed"


def test_requests_are_answered_by_eight_hands(maker: Maker, box: BorgeeSandbox) -> None:
    """40 requests are taken, eight at a time; the 41st is told that we are busy (W-8)."""
    with connected(maker, box, request="wait") as peer:
        ids = [box.human.ask("look") for _ in range(41)]
        busy = box.wait("response", request_id=ids[40])
        running = peer.call("handlers", release=True)

        answers = [box.wait("response", request_id=request_id) for request_id in ids[:40]]

        assert busy["error"] == "server_request_busy"
        assert running["running"] == 8
        assert all("data" in answer for answer in answers)


@pytest.mark.long
def test_a_request_that_takes_too_long_is_answered_once(maker: Maker, box: BorgeeSandbox) -> None:
    """After five seconds: timeout, and no late success (W-16)."""
    with connected(maker, box, request="wait") as peer:
        response = box.human.request("look")
        peer.call("handlers", release=True)
        box.human.request("stop_turn", channel_id="")

        assert response["error"] == "server_request_timeout"
        assert len([row for row in box.journal() if row["frame"] and row["frame"].get("id") == response["id"]]) == 1


def test_an_answer_that_is_too_large_says_so(maker: Maker, box: BorgeeSandbox) -> None:
    """It would not fit into a frame (borgee 1.10)."""
    with connected(maker, box, request="huge"):
        assert "too_large" in box.human.request("look")["error"]


def test_work_is_reported(peer: Peer, box: BorgeeSandbox) -> None:
    """A start and an end are taken as the server checks them (borgee 1.11)."""
    peer.call("report", what="started", args={"task_id": "t-1", "channel_id": DM, "subject": "Working"})
    peer.call("report", what="finished", args={"task_id": "t-1", "channel_id": DM, "outcome": "completed"})
    peer.call("report", what="started", args={"task_id": "t-2", "channel_id": DM, "subject": "Working"})
    failed = {"task_id": "t-2", "channel_id": DM, "outcome": "failed", "reason": "unknown"}
    peer.call("report", what="finished", args=failed)

    box.wait("task", outcome="failed")

    reports = [(row["type"], row["task_id"], row.get("outcome"), row["refused"]) for row in box.human.reports()]
    assert reports == [
        ("task_started", "t-1", None, None),
        ("task_finished", "t-1", "completed", None),
        ("task_started", "t-2", None, None),
        ("task_finished", "t-2", "failed", None),
    ]


# Trouble that costs nothing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("echo", ["before", "after"])
def test_an_own_message_may_come_back(maker: Maker, echo: str) -> None:
    """An echo is an event like any other for the client; whoever receives it sorts it out (borgee 1.5)."""
    with borgee_box(echo_self=echo) as box, connected(maker, box) as peer:
        message_id = peer.act("send_message", channel_id=DM, content="mine")

        assert peer.take()["message_id"] == message_id


@pytest.mark.parametrize(
    ("fault", "copies"),
    [
        ("push-twice", 2),
        ("push-cursor", 1),
        ("push-late", 1),
        ("push-binary", 1),
        ("push-fragments", 1),
        ("push-bytewise", 1),
        ("push-unknown-type", 0),
        ("push-lost", 0),
    ],
)
def test_an_unusual_push_costs_nothing(peer: Peer, box: BorgeeSandbox, fault: str, copies: int) -> None:
    """It is delivered as often as it was sent, and the next one comes over the same connection (W-21)."""
    struck = box.fault(fault, **({"seconds": 0.1} if fault == "push-late" else {}))
    box.human.say(DM, "odd")
    box.human.say(DM, "next")

    bodies = [peer.take()["body"] for _ in range(copies + 1)]

    assert bodies == ["odd"] * copies + ["next"]
    assert struck.fired == 1
    assert box.human.connections()["accepted"] == 1


@pytest.mark.parametrize("fault", ["result-twice", "result-unknown-nonce"])
def test_an_unusual_result_costs_nothing(maker: Maker, box: BorgeeSandbox, fault: str) -> None:
    """A second answer and an answer to nothing are ignored."""
    with connected(maker, box, action_s=0.5) as peer:
        struck = box.fault(fault)
        first = peer.begin("send_message", channel_id=DM, content="one")
        box.wait("fired", name=fault)

        assert peer.act("send_message", channel_id=DM, content="two")
        if fault == "result-twice":
            first.result()
        else:
            with pytest.raises(PeerError, match="action_timeout"):
                first.result()
        assert struck.fired == 1
        assert box.human.connections()["accepted"] == 1


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1012, 1013, 4000, 4003, 4005, 4999])
def test_these_closes_are_followed_by_a_reconnect(peer: Peer, box: BorgeeSandbox, code: int) -> None:
    """The server may go away in many ways and come back (borgee 1.14)."""
    box.human.close(code)

    box.wait("opened", count=2)
    assert_settles(peer, "online")
    box.human.say(DM, "back")
    assert peer.take()["body"] == "back"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (1002, "bpp.peer_protocol_close"),
        (1003, "bpp.peer_protocol_close"),
        (1007, "bpp.peer_protocol_close"),
        (1008, "bpp.peer_protocol_close"),
        (1009, "bpp.protocol_capacity"),
    ],
)
def test_these_closes_are_final(peer: Peer, box: BorgeeSandbox, code: int, error: str) -> None:
    """The server says that we are at fault; another connection would be no better."""
    box.human.close(code)

    assert_settles(peer, "error")
    assert peer.call("state")["code"] == error
    assert box.human.connections()["accepted"] == 1


@pytest.mark.parametrize("fault", ["push-close", "push-reset", "push-reset-middle", "push-end", "push-end-middle"])
def test_a_connection_that_breaks_comes_back(peer: Peer, box: BorgeeSandbox, fault: str) -> None:
    """What was on its way is lost, what comes afterwards is not."""
    struck = box.fault(fault)
    box.human.say(DM, "lost")

    box.wait("opened", count=2)
    box.human.say(DM, "back")
    assert peer.take()["body"] == "back"
    assert struck.fired == 1


def test_an_event_that_is_over_every_bound_is_the_end(peer: Peer, box: BorgeeSandbox) -> None:
    """More than five mebibytes is a capacity error (borgee 1.2, 1.4)."""
    box.fault("push-too-big")
    box.human.say(DM, "big")

    assert_settles(peer, "error")
    assert peer.call("state")["code"] == "bpp.protocol_capacity"
