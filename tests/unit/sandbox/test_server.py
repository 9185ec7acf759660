"""The running server: it starts, is waited on, stops, and leaves nothing behind."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.errors import NotFoundError, OutsideError, UsageError
from canon_ops.sandbox.engine import WaitTimeout
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox, SandboxBroken
from canon_ops.sandbox.state import World
from tests.support.sandboxes import SEED, RawClient, RawStream, canon_box
from tests.support.waiting import wait_until


def test_nothing_is_left_after_a_stop() -> None:
    """No thread, and nobody listens any more; an open stream ends properly and stopping twice is harmless."""
    before = set(threading.enumerate())
    box = CanonSandbox(CanonOptions(seed=SEED)).start()
    with RawStream(box.endpoints.stream, box.endpoints.agent_key) as stream:
        stream.read_until("agent.context")
        box.stop()
        box.stop()
        assert stream.read_chunk() == b""

    assert set(threading.enumerate()) == before
    for url in (box.endpoints.api, box.endpoints.stream):
        with pytest.raises(ConnectionRefusedError):
            RawClient(url).get("/health")


def test_the_ready_file_appears_whole_and_private(tmp_path: Path) -> None:
    """It holds the documented keys, only the owner may read it, and nothing temporary stays."""
    ready = tmp_path / "ready.json"

    with canon_box(ready_file=ready) as box:
        content = json.loads(ready.read_text())

    assert content == box.endpoints.as_dict()
    assert list(content) == [
        "api",
        "stream",
        "admin",
        "admin_token",
        "agent_key",
        "environment_id",
        "owner_id",
        "owner_phone",
        "conversation_id",
    ]
    assert content["agent_key"].startswith("agk_live_sandbox_")
    assert ready.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [ready]


@pytest.mark.parametrize("which", ["port", "stream_port"])
def test_a_taken_port_is_one_sentence(which: str) -> None:
    """Whichever listener it is, nothing is left listening."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        before = set(threading.enumerate())

        with pytest.raises(OutsideError, match=f"127.0.0.1:{port} cannot be used"):
            CanonSandbox(CanonOptions(**{which: port})).start()

        assert set(threading.enumerate()) == before


def test_an_unknown_environment_is_refused() -> None:
    """There are two."""
    with pytest.raises(UsageError, match="canon-dev-v1"):
        CanonOptions(environment_id="canon-test-v1")


def test_faults_can_be_armed_before_the_start() -> None:
    """By the word that the command line takes."""
    with canon_box(faults=("answer:path=/agents/me,status=418",)) as box:
        assert RawClient(box.endpoints.api, box.endpoints.agent_key).get("/agents/me").status == 418


def test_a_broken_sandbox_is_loud() -> None:
    """A bug of ours answers 500 and fails the block, instead of looking like trouble on the wire."""

    def broken(world: World, now_ms: int) -> None:
        world.agent_by_key = None  # type: ignore[assignment]  # the bug

    with pytest.raises(SandboxBroken), canon_box() as box:
        box.engine.act(broken)
        answer = RawClient(box.endpoints.api, box.endpoints.agent_key).get("/agents/me")
        assert (answer.status, answer.json()["code"]) == (500, "SANDBOX_FAILED")


def test_waiting_ends_when_it_comes_true() -> None:
    """From another thread, by name or by a look at the world."""
    with canon_box() as box:
        threading.Timer(0.02, lambda: box.human.say(None, "x")).start()
        assert box.wait(lambda world: world.message_count == 1) is True
        with pytest.raises(WaitTimeout, match="turn_complete"):
            box.wait("turn_complete", timeout_s=0.01)
        with pytest.raises(UsageError, match="there are answer"):
            box.wait("miracle")
        with pytest.raises(UsageError, match="cannot be waited for"):
            box.wait("answer", magic=1)


def test_a_stop_ends_a_wait() -> None:
    """Nobody hangs on a server that is gone."""
    with canon_box() as box:
        failed: list[BaseException] = []

        def wait() -> None:
            try:
                box.wait("connected", timeout_s=60)
            except WaitTimeout as exc:
                failed.append(exc)

        waiter = threading.Thread(target=wait)
        waiter.start()
    waiter.join(5)

    assert len(failed) == 1


async def test_a_coroutine_waits_without_blocking_its_loop() -> None:
    """until() leaves the loop free, which the client under test may need."""
    with canon_box() as box:
        box.human.say(None, "x")
        assert await box.until(lambda world: world.message_count == 1) is True


def test_every_connection_of_an_agent_gets_everything() -> None:
    """Two readers, one message; other agents hear nothing."""
    with canon_box() as box:
        other = box.human.add_agent("Other")
        with (
            RawStream(box.endpoints.stream, box.endpoints.agent_key) as first,
            RawStream(box.endpoints.stream, box.endpoints.agent_key) as second,
            RawStream(box.endpoints.stream, other["agent_key"]) as stranger,
        ):
            box.wait("connected", count=3)
            box.human.say(None, "both")
            box.human.say(other["conversation_id"], "only you")
            first.read_until('"text":"both"')
            second.read_until('"text":"both"')
            stranger.read_until('"text":"only you"')

    assert "both" not in stranger.text


def test_a_reader_that_left_is_forgotten() -> None:
    """The closed socket is noticed without anything being written."""
    with canon_box() as box:
        with RawStream(box.endpoints.stream, box.endpoints.agent_key):
            box.wait("connected")
        wait_until(lambda: not box.engine.streams)


def test_a_quiet_stream_says_that_it_lives() -> None:
    """Comments, and nothing but comments."""
    with canon_box(keep_alive_s=0.02) as box, RawStream(box.endpoints.stream, box.endpoints.agent_key) as stream:
        stream.read_until("agent.context")
        greeted = len(stream.text)
        stream.read_chunk()
        stream.read_chunk()

    assert stream.text[greeted:] == ": heartbeat\n\n" * 2


def test_a_cursor_that_fell_out_of_the_window_is_told() -> None:
    """Too many events in between: replay.expired with the newest id, and then only what is new."""
    with canon_box(window_events=3) as box:
        with RawStream(box.endpoints.stream, box.endpoints.agent_key) as first:
            first.read_until("agent.context")
            box.human.say(None, "first")
            first.read_until('"text":"first"')
        for number in range(5):
            box.human.say(None, f"missed {number}")
        cursor = first.frames()[2]["id"]
        with RawStream(box.endpoints.stream, box.endpoints.agent_key, last_event_id=cursor) as second:
            second.read_until("agent.context")

    assert second.frames()[0]["event"] == "replay.expired"


def test_the_clock_can_be_moved() -> None:
    """What depends on time ages at once."""
    with canon_box() as box:
        client = RawClient(box.endpoints.api, box.endpoints.agent_key)
        client.post("/typing", {"conversationId": "conv_direct", "typing": True})
        assert box.human.typing() == {"agent_sandbox": "typing"}

        box.clock.advance(10)

        assert box.human.typing() == {}


def test_what_people_were_shown_does_not_change() -> None:
    """A transcript is a copy."""
    with canon_box() as box:
        message_id = box.human.say(None, "before")
        shown = box.transcript()

        box.human.edit(message_id, "after")

        assert (shown[0]["text"], box.transcript()[0]["text"]) == ("before", "after")


def test_unknown_names_are_errors() -> None:
    """People, rooms, agents, requests: the sentence names what was looked for."""
    with canon_box() as box:
        wrongs: list[Callable[[], object]] = [
            lambda: box.human.say("conv_x", "x"),
            lambda: box.human.set_policy("open", "agent_x"),
            lambda: box.human.approve("reg_x"),
            lambda: box.human.approve(),
            lambda: box.human.answer("a_x", decision="allow"),
            lambda: box.human.edit("msg_x", "x"),
        ]
        for wrong in wrongs:
            with pytest.raises(NotFoundError):
                wrong()
        with pytest.raises(UsageError, match="signal"):
            box.human.signal(None, "jump")
        with pytest.raises(UsageError, match="say which one"):
            box.human.add_agent("Other")
            box.human.change_conversation("conv_team", memberIds=["agent_sandbox", "agent_000001"])
            box.human.node("conv_team")


def test_the_journal_forgets_the_oldest() -> None:
    """It keeps what it was told to keep, and goes on counting."""
    with canon_box(journal_entries=2) as box:
        for _ in range(4):
            RawClient(box.endpoints.api).get("/healthz/")

        assert [row["number"] for row in box.journal()] == [3, 4]
        assert [row["number"] for row in box.journal(after=3)] == [4]
