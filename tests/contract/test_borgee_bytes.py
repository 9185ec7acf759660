"""The loopback Borgee server against frames written by hand, over a plain websocket: no client of ours in between.

Source: Borgee 1.3-1.12, 1.16, 1.17.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from socket import SO_LINGER, SOL_SOCKET, create_connection
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from borgee_hermes.loopback.server import BorgeeSandbox
from tests.support.borgee_boxes import DM, LOBBY, borgee_box

AGENT = "agent_sandbox"
CONNECT = (
    '{"type":"connect","plugin_id":"hermes-borgee","token":"","version":"bpp-1",'
    '"capabilities":"[\\"semantic_action\\",\\"inbound_message\\",\\"read_file\\"]"}'
)
UPGRADE = (
    "GET /ws/plugin HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {key}\r\n\r\n"
)
LIMIT_S = 10


@pytest.fixture
def box() -> Iterator[BorgeeSandbox]:
    with borgee_box() as running:
        yield running


class Raw:
    """A websocket that says what it is told to."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def say(self, text: str | bytes) -> None:
        self.socket.send(text)

    def hear(self) -> dict[str, Any]:
        heard = json.loads(self.socket.recv(LIMIT_S))
        assert isinstance(heard, dict)
        return heard

    def act(self, name: str, payload: Any, *, nonce: str, agent_id: str = AGENT) -> None:
        frame = {"type": "semantic_action", "agent_id": agent_id, "action": name, "nonce": nonce}
        self.say(json.dumps({**frame, "payload": json.dumps(payload)}))


@contextmanager
def raw(box: BorgeeSandbox, key: str | None = None, *, path: str = "/ws/plugin", **headers: str) -> Iterator[Raw]:
    bearer = {"Authorization": f"Bearer {box.endpoints.agent_key if key is None else key}", **headers}
    with websocket(box, path, bearer) as socket:
        yield Raw(socket)


def websocket(box: BorgeeSandbox, path: str, headers: dict[str, str]) -> Any:
    """A websocket of the library, without whatever proxy the environment names."""
    port = urlsplit(box.endpoints.base_url).port
    sock = create_connection(("127.0.0.1", port), timeout=LIMIT_S)
    return connect(f"ws://127.0.0.1:{port}{path}", sock=sock, additional_headers=headers, close_timeout=1)


@contextmanager
def opened(box: BorgeeSandbox) -> Iterator[Raw]:
    """A websocket whose ``connect`` has arrived."""
    with raw(box) as socket:
        socket.say(CONNECT)
        box.wait("connected")
        yield socket


# Upgrades ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "path", "headers", "status", "body"),
    [
        ("bgr_of_nobody", "/ws/plugin", {}, 401, b"Unauthorized"),
        ("", "/ws/plugin", {"Authorization": "Basic abc"}, 401, b"Unauthorized"),
        (None, "/ws/other", {}, 404, b"Not Found"),
        (None, "/ws/plugin", {"Origin": "https://example.org"}, 403, b"Forbidden"),
    ],
    ids=["unknown key", "no bearer", "other path", "an origin"],
)
def test_who_is_not_let_in(
    box: BorgeeSandbox, key: str | None, path: str, headers: dict[str, str], status: int, body: bytes
) -> None:
    """A plain HTTP answer with a short text."""
    with pytest.raises(InvalidStatus) as caught, raw(box, key, path=path, **headers):
        pass

    assert (caught.value.response.status_code, caught.value.response.body) == (status, body)


def test_a_key_in_the_query_is_not_read(box: BorgeeSandbox) -> None:
    """Only the header counts."""
    with pytest.raises(InvalidStatus), websocket(box, f"/ws/plugin?token={box.endpoints.agent_key}", {}):
        pass


def test_a_disabled_agent_is_not_let_in(box: BorgeeSandbox) -> None:
    """It is told so while it is connected, and refused afterwards."""
    with opened(box) as socket:
        box.human.toggle("disable")
        told = socket.hear()

        with pytest.raises(InvalidStatus), raw(box):
            pass

    assert told == {"type": "agent_toggle", "agent_id": AGENT, "action": "disable", "reason": "owner"}


def test_a_newer_server_refuses_by_close() -> None:
    """It accepts the upgrade and closes with 4004."""
    with borgee_box(refuse_by_close=True) as box, raw(box, "bgr_of_nobody") as socket:
        with pytest.raises(ConnectionClosed):
            socket.hear()

        assert socket.socket.protocol.close_code == 4004


def test_who_has_read_the_answer_is_connected(box: BorgeeSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said between the answer to an upgrade and anything else is for that connection."""
    answer = ServerConnection.handshake

    async def answer_and_say(connection: ServerConnection, *given: Any) -> None:
        await answer(connection, *given)
        box.human.say(None, "welcome")

    monkeypatch.setattr(ServerConnection, "handshake", answer_and_say)

    with raw(box) as socket:
        assert socket.hear()["body"] == "welcome"


def test_who_goes_away_before_the_answer_leaves_nothing(box: BorgeeSandbox) -> None:
    """Its upgrade and its end stand in the journal, and what is said afterwards is for nobody."""
    box.fault("upgrade-late", seconds=0.1)
    port = urlsplit(box.endpoints.base_url).port
    with create_connection(("127.0.0.1", port), timeout=LIMIT_S) as sock:
        sock.sendall(UPGRADE.format(key=box.endpoints.agent_key).encode())
        box.wait("upgrade", status=101)
        sock.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))  # a reset

    box.wait("ended")
    box.human.say(None, "hello")
    counted = box.human.connections()
    assert (counted["open"], counted["opened"], counted["lost"]) == (0, 0, 1)


# Frames ------------------------------------------------------------------------------------------------------------


def test_an_opening_is_not_answered_and_the_identity_is(box: BorgeeSandbox) -> None:
    """``connect`` gets no answer; ``get_me`` may leave the agent out, and only it."""
    with raw(box) as socket:
        socket.say(CONNECT)
        socket.act("list_channels", {}, nonce="n-0", agent_id="")
        socket.act("get_me", {}, nonce="n-1", agent_id="")
        heard = socket.hear()

    assert (heard["type"], heard["nonce"], heard["status"], heard["error"]) == (
        "semantic_action_result",
        "n-1",
        "ok",
        "",
    )
    assert json.loads(heard["payload"])["id"] == AGENT


def test_an_inbound_message_has_every_member(box: BorgeeSandbox) -> None:
    """As section 1.5 writes it."""
    with opened(box) as socket:
        message_id = box.human.say(LOBBY, "hello", mention=True)
        heard = socket.hear()

    assert heard == {
        "type": "inbound_message",
        "agent_id": AGENT,
        "channel_id": LOBBY,
        "channel_type": "channel",
        "kind": "mention",
        "message_id": message_id,
        "author_id": "user_owner",
        "author_name": "Olive",
        "body": f"<@{AGENT}> hello",
        "content_type": "text",
        "msg_type": "text",
        "attachments": [],
        "created_at": heard["created_at"],
        "emoji": "",
        "reactor_id": "",
        "reaction_added": False,
        "conversation_context": {
            "guild_id": "guild_home",
            "top_level_channel_id": LOBBY,
            "thread_id": None,
            "task_id": None,
        },
    }


@pytest.mark.parametrize(
    "text",
    ["not json", "[1]", '{"type":7}', '{"type":"later"}', '{"type":"cold_start_handshake"}', '{"type":"typing"}'],
)
def test_what_is_not_known_is_ignored(box: BorgeeSandbox, text: str) -> None:
    """It stands in the journal, and the connection goes on."""
    with opened(box) as socket:
        socket.say(text)
        socket.act("get_me", {}, nonce="n-1")

        assert socket.hear()["nonce"] == "n-1"
    assert len([row for row in box.journal() if row["what"] == "frame"]) == 3


def test_an_unknown_action_is_an_error(box: BorgeeSandbox) -> None:
    """With the code that servers are known to use."""
    with opened(box) as socket:
        socket.act("fly", {}, nonce="n-3")

        assert socket.hear() == {
            "type": "semantic_action_result",
            "nonce": "n-3",
            "status": "error",
            "payload": "",
            "error": "bpp.semantic_op_unknown",
        }


def test_a_foreign_agent_is_dropped(box: BorgeeSandbox) -> None:
    """Without an answer."""
    with opened(box) as socket:
        socket.act("list_channels", {}, nonce="n-1", agent_id="agent_of_others")
        socket.act("list_channels", {}, nonce="n-2")

        assert socket.hear()["nonce"] == "n-2"


def test_a_nonce_is_an_idempotency_key(box: BorgeeSandbox) -> None:
    """The same nonce twice gives the first result again, and one message."""
    with opened(box) as socket:
        for _ in range(2):
            socket.act("send_message", {"channel_id": DM, "content": "x", "reply_to_id": None}, nonce="n-1")

        assert socket.hear() == socket.hear()
    assert len(box.transcript(DM)) == 1


def test_a_missing_capability_is_denied_instead_of_answered(box: BorgeeSandbox) -> None:
    """The denial names action, capability and scope, and carries the nonce as its request id."""
    box.human.set_permissions(["message.send:*"])

    with opened(box) as socket:
        socket.act("create_channel", {"guild_id": "guild_home", "name": "x", "parent_id": None}, nonce="n-4")
        heard = socket.hear()

    assert heard == {
        "type": "permission_denied",
        "agent_id": AGENT,
        "request_id": "n-4",
        "attempted_action": "create_channel",
        "required_capability": "channel.create",
        "current_scope": "guild:guild_home",
        "denied_at": heard["denied_at"],
    }
    assert [row["name"] for row in box.human.channels()] == ["lobby", "Olive"]


@pytest.mark.parametrize(
    ("action", "payload"),
    [
        ("edit_message", {"message_id": "of-nobody", "content": "x"}),
        ("edit_message", {"message_id": "FOREIGN", "content": "x"}),
        ("delete_message", {"message_id": "FOREIGN"}),
        ("get_task", {"task_id": "of-nobody"}),
        ("send_message", {"channel_id": "of-nobody", "content": "x"}),
        ("send_message", {"channel_id": DM}),
        ("create_channel", {"guild_id": "guild_home", "name": "x"}),
        ("create_channel", {"guild_id": "guild_home", "name": "x", "parent_id": "zone-of-nobody"}),
        ("list_tasks", {}),
        ("list_tasks", {"channel_id": DM, "guild_id": "guild_home"}),
        ("list_zones", {"guild_id": "guild_home", "limit": 51}),
        ("list_zones", {"guild_id": "guild_home", "limit": True}),
    ],
)
def test_what_cannot_be_done_is_an_error_and_changes_nothing(
    box: BorgeeSandbox, action: str, payload: dict[str, Any]
) -> None:
    """Some non-empty code, and the world as it was."""
    foreign = box.human.say(DM, "a person's")
    before = box.transcript(DM)
    named = {key: foreign if value == "FOREIGN" else value for key, value in payload.items()}

    with opened(box) as socket:
        socket.act(action, named, nonce="n-1")
        heard = socket.hear()

    assert (heard["status"], bool(heard["error"])) == ("error", True)
    assert box.transcript(DM) == before


@pytest.mark.parametrize(
    ("frame", "refused"),
    [
        ({"type": "task_started", "subject": "Working"}, None),
        ({"type": "task_started", "subject": "   "}, "blank subject"),
        ({"type": "task_started", "subject": "x", "channel_id": "of-nobody"}, "not a member"),
        ({"type": "task_started", "subject": "x", "agent_id": ""}, "foreign agent"),
        ({"type": "task_finished", "outcome": "completed", "reason": ""}, None),
        ({"type": "task_finished", "outcome": "completed", "reason": "unknown"}, "reason does not fit"),
        ({"type": "task_finished", "outcome": "failed", "reason": ""}, "reason does not fit"),
        ({"type": "task_finished", "outcome": "failed", "reason": "runtime_timeout"}, None),
        ({"type": "task_finished", "outcome": "perhaps", "reason": ""}, "unknown outcome"),
    ],
)
def test_reports_are_taken_or_dropped(box: BorgeeSandbox, frame: dict[str, Any], refused: str | None) -> None:
    """By the rules of 1.11, and never answered."""
    with opened(box) as socket:
        socket.say(json.dumps({"agent_id": AGENT, "channel_id": DM, "task_id": "t-1", **frame}))
        socket.act("get_me", {}, nonce="n-1")
        socket.hear()

    assert [row["refused"] for row in box.human.reports()] == [refused]


def test_a_second_connection_takes_over_and_the_first_stays_open(box: BorgeeSandbox) -> None:
    """Only the newest is pushed to; old servers leave the other one alone."""
    with opened(box) as first, raw(box) as second:
        box.wait("upgrade", count=2)
        second.say(CONNECT)
        box.wait("opened", count=2)
        box.human.say(DM, "hello")

        assert second.hear()["body"] == "hello"
        first.act("get_me", {}, nonce="n-1")
        assert first.hear()["nonce"] == "n-1"


def test_a_second_connection_may_close_the_first() -> None:
    """With the code of the options."""
    with borgee_box(second_socket=4001) as box, opened(box) as first, raw(box):
        with pytest.raises(ConnectionClosed):
            first.hear()

        assert first.socket.protocol.close_code == 4001


def test_a_server_that_stops_reading_reads_on_later(box: BorgeeSandbox) -> None:
    """Nothing is lost while it stalls."""
    box.fault("frame-stall", seconds=0.2, event="semantic_action")

    with opened(box) as socket:
        for number in range(3):
            socket.act("get_me", {}, nonce=f"n-{number}")

        assert [socket.hear()["nonce"] for _ in range(3)] == ["n-0", "n-1", "n-2"]


def test_the_human_side_speaks_http(box: BorgeeSandbox) -> None:
    """The verbs on their own port, behind the token; on the websocket's port there is nothing but the websocket."""
    told = box.endpoints
    with httpx.Client(headers={"X-Sandbox-Token": told.admin_token}, trust_env=False) as http, opened(box) as socket:
        said = http.post(f"{told.admin}/say", json={"text": "over HTTP"}).json()
        heard = socket.hear()
        request_id = http.post(f"{told.admin}/ask", json={"action": "stop_turn", "channel_id": DM}).json()["request_id"]
        socket.say(json.dumps({"type": "response", "id": socket.hear()["id"], "data": {"aborted": False}}))
        response = http.get(f"{told.admin}/wait", params={"kind": "response", "request_id": request_id}).json()
        refused = httpx.get(f"{told.admin}/journal", trust_env=False).status_code

    assert (heard["message_id"], heard["body"]) == (said["message_id"], "over HTTP")
    assert response == {"type": "response", "id": request_id, "data": {"aborted": False}}
    assert refused == 401


def test_no_key_stands_in_the_journal(box: BorgeeSandbox) -> None:
    """Neither of upgrades nor of frames."""
    with opened(box):
        pass

    assert box.endpoints.agent_key not in json.dumps(box.journal())
