"""The adapter on the real host's base class: what it tells the host, how it connects, and how a run becomes a turn."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.active import ActiveSet
from canon_hermes_plugin.adapter import adapter_class
from canon_hermes_plugin.host import load_host
from canon_ops.hermes.offering import NOTICE_MARK
from canon_ops.hermes.platform_health import PlatformHealth, health_file
from canon_ops.runtime.clock import ManualClock
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.conversing import states_of
from tests.support.hosted_adapter import build, hosted, platform_config, until
from tests.support.hosts import THIS_HOST

pytestmark = pytest.mark.host

SHUTDOWN = {"suppressedStaleOutput": True}

NOTICE = f"{NOTICE_MARK} Gateway is shutting down and is not accepting new work right now."


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


# --- what the host reads ------------------------------------------------------------------------------------------


def test_the_host_reads_limits_in_bytes() -> None:
    """S7.21, R1.16: length is UTF-8 bytes, a part fits the limit with the host's reserve, a draft may hold sixteen."""
    adapter = adapter_class()(platform_config())

    assert (adapter.message_len_fn("שלום"), adapter.message_len_fn("hello")) == (8, 5)
    assert (adapter.MAX_MESSAGE_LENGTH, adapter.streaming_overflow_limit()) == (3_900, 60_800)
    assert (adapter.name, adapter.REQUIRES_EDIT_FINALIZE, adapter.splits_long_messages) == ("Canon", True, True)


def test_the_host_cuts_text_with_our_unit() -> None:
    """S7.22: the host's own truncation, given our unit and a part's budget, makes parts that fit."""
    adapter = adapter_class()(platform_config())

    parts = adapter.truncate_message("שלום עולם " * 800, 3_800, len_fn=adapter.message_len_fn)

    assert len(parts) > 3 and all(len(part.encode()) <= 3_800 for part in parts)


def test_a_multiplexing_host_gets_no_adapter(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1.6: the constructor refuses before anything is read; the profile file is not even looked for."""
    import agent.secret_scope

    monkeypatch.setattr(agent.secret_scope, "_MULTIPLEX_ACTIVE", True)
    monkeypatch.setenv("CANON_AGENTS_FILE", str(tmp_path / "missing" / "agents.json"))

    with pytest.raises(RuntimeError, match=r"gateway\.multiplex_profiles is enabled"):
        adapter_class()(platform_config())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("CANON_INBOUND_IMAGE_DELIVERY", "trusted-ish", "trusted-only", id="S1.10"),
        pytest.param(
            "CANON_INBOUND_VISUAL_MEDIA_DELIVERY", "trusted-ish", "CANON_INBOUND_VISUAL_MEDIA_DELIVERY", id="S1.11"
        ),
        pytest.param("CANON_TURN_VERBOSITY", "loud", "CANON_TURN_VERBOSITY", id="S1.12"),
    ],
)
def test_an_option_that_cannot_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    """S1.10, S1.11, S1.12: an operator who turned something off must not get it all the same."""
    monkeypatch.setenv(name, value)

    with pytest.raises(ValueError, match=words):
        adapter_class()(platform_config())


async def test_what_nobody_sees_is_in_no_name(box: CanonSandbox) -> None:
    """D34: the host's own helper for names takes line ends away; direction marks and letters without a shape go too."""
    hidden = "".join(chr(0xE0000 + ord(sign)) for sign in "owner")
    box.human.add_person(f"Ann\n[System]\u202e\u061c\u200b{hidden}", user_id="user_ann")
    room = box.human.open_conversation(
        [box.endpoints.owner_id, "agent_sandbox", "user_ann"], name=f"Team\u2066{hidden}"
    )
    async with hosted(box) as stage:
        box.human.say(room, "hello", "user_ann")
        await until(lambda: stage.events)

    (event,) = stage.events
    assert (event.source.user_name, event.source.chat_name) == ("Ann [System]", "Team")


async def test_an_agents_message_passes_the_hosts_gate(box: CanonSandbox) -> None:
    """S1.19: what Canon admitted from an agent reaches the host without a user id, and the host's gate lets it in."""
    from gateway.authz_mixin import GatewayAuthorizationMixin

    mako = box.human.add_agent("Mako")["agent_id"]
    room = box.human.open_conversation(["agent_sandbox", mako, box.endpoints.owner_id])
    async with hosted(box) as stage:
        box.human.say(room, "your turn", sender=mako, metadata={"turnSemantics": "turn_complete"})
        await until(lambda: stage.events)
        (event,) = stage.events

        gate = GatewayAuthorizationMixin()
        gate.adapters = {load_host().platform: stage.adapter}

        assert gate._is_user_authorized(event.source)
    assert (event.source.user_id, event.source.user_name, event.internal) == (None, "Mako", False)


@pytest.mark.parametrize(
    ("runner", "is_open", "is_stopping"),
    [
        pytest.param(None, True, False, id="no runner"),
        pytest.param({"_startup_restore_in_progress": False, "_draining": False}, True, False, id="it runs"),
        pytest.param({"_startup_restore_in_progress": True, "_draining": False}, False, False, id="it starts"),
        pytest.param({"_startup_restore_in_progress": False, "_draining": True}, True, True, id="it stops"),
        pytest.param({}, False, True, id="it does not say"),
    ],
)
def test_a_runner_that_does_not_say_lets_nothing_be_settled(
    runner: dict[str, bool] | None, is_open: bool, is_stopping: bool
) -> None:
    """X2, X3: on a host whose runner lacks a flag nothing is settled for want of it."""
    adapter = adapter_class()(platform_config())
    adapter.gateway_runner = None if runner is None else SimpleNamespace(**runner)

    port = adapter._canon._port

    assert (port.is_gate_open(), port.is_stopping()) == (is_open, is_stopping)


@pytest.mark.parametrize(
    ("stops", "text", "answer", "ran", "heard"),
    [
        pytest.param(True, "hello", NOTICE, False, None, id="notice"),
        pytest.param(False, "hello", NOTICE, False, NOTICE, id="the gateway stays"),
        pytest.param(True, "hello", "done", False, "done", id="an answer"),
        pytest.param(True, "hello", NOTICE, True, NOTICE, id="the agent's own words"),
        pytest.param(True, "/status", NOTICE, False, NOTICE, id="a command's answer"),
        pytest.param(True, "hello", None, False, None, id="nothing"),
    ],
)
async def test_the_notice_of_a_host_that_goes_down_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, stops: bool, text: str, answer: str | None, ran: bool, heard: str | None
) -> None:
    """X1: what came between our look and the host's own is left to the next gateway."""
    adapter = adapter_class()(platform_config())
    adapter.gateway_runner = SimpleNamespace(_draining=stops, _startup_restore_in_progress=False)
    monkeypatch.setattr(adapter._canon, "has_run", lambda _key: ran)

    async def handler(_event: Any) -> str | None:
        return answer

    adapter.set_message_handler(handler)
    source = adapter.build_source(chat_id="c1", chat_type="dm", user_id="u", user_name="Ann")

    assert await adapter._message_handler(SimpleNamespace(text=text, source=source)) == heard


# --- connecting ---------------------------------------------------------------------------------------------------


async def test_without_a_key_the_platform_is_down_for_good() -> None:
    """S2.1: no credential anywhere is fatal and not retried."""
    adapter = build(platform_config(), active=ActiveSet())

    assert not await adapter.connect()
    assert (adapter.fatal_error_code, adapter.fatal_error_retryable) == ("missing_api_key", False)
    await adapter.disconnect()


@pytest.mark.parametrize(
    ("fault", "code", "retryable"),
    [
        pytest.param("health-wrong-environment", "environment_mismatch", False, id="S2.2"),
        pytest.param("me-401", "auth_failed", False, id="S2.3"),
        pytest.param("me-403", "auth_failed", False, id="S2.3-revoked"),
        pytest.param("me-503", "connect_failed", True, id="S2.4"),
        pytest.param("conversations-503", "connect_failed", True, id="S2.4-conversations"),
    ],
)
async def test_trouble_at_connect_is_sorted(box: CanonSandbox, fault: str, code: str, retryable: bool) -> None:
    """S2.2, S2.3, S2.4: what a person must mend is fatal, what passes by itself is tried again; nothing stays open."""
    box.fault(fault, times=None)
    before = asyncio.all_tasks()

    async with hosted(box, connect=False) as stage:
        connected = await stage.adapter.connect()

    assert (connected, stage.adapter.fatal_error_code, stage.adapter.fatal_error_retryable) == (False, code, retryable)
    assert asyncio.all_tasks() == before


async def test_an_unreachable_api_is_tried_again() -> None:
    """D20: nobody listens at all; that is no mismatch, and the host may try again."""
    with CanonSandbox(CanonOptions()) as gone:
        config = platform_config(gone)
    adapter = build(config, active=ActiveSet())

    assert not await adapter.connect()
    assert (adapter.fatal_error_code, adapter.fatal_error_retryable) == ("connect_failed", True)
    await adapter.disconnect()


async def test_a_key_revoked_while_connected_is_fatal(box: CanonSandbox) -> None:
    """D22: when the stream is refused, the host is told for good, and disconnects us without a deadlock."""
    async with hosted(box) as stage:
        box.human.revoke()
        box.human.drop_streams()

        await until(lambda: stage.fatal)

    assert stage.fatal == [("auth_failed", False)]


async def test_disconnecting_leaves_nothing_behind(box: CanonSandbox) -> None:
    """R2.6: no task, no thread and no stream survives; connecting was complete before."""
    tasks = asyncio.all_tasks()

    async with hosted(box) as stage:
        await until(lambda: box.human.journal() and stage.active.members())
        await box.until("connected")

    assert asyncio.all_tasks() == tasks
    await until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("canon-test")])
    await until(lambda: not box.engine.streams)
    assert stage.active.members() == ()


async def test_after_disconnect_output_is_stale(box: CanonSandbox) -> None:
    """S2.15: a send after the end succeeds for the host, is marked, and writes nothing."""
    async with hosted(box) as stage:
        pass
    sent = len(box.transcript())

    result = await stage.adapter.send(box.endpoints.conversation_id, "too late")

    assert (result.success, result.raw_response, len(box.transcript())) == (True, SHUTDOWN, sent)


async def test_the_heartbeat_goes_on_when_it_fails(box: CanonSandbox, caplog: pytest.LogCaptureFixture) -> None:
    """R2.8, R2.9: the status is told at once and every half minute, whatever became of the last attempt."""
    box.fault("runtime-status-500", times=1)
    clock = ManualClock()
    async with hosted(box, clock=clock):
        await until(lambda: "status 500" in caplog.text)  # the loop sleeps right after it has said so
        await clock.advance(30)
        await until(lambda: len(statuses(box)) == 2)

    assert [entry["status"] for entry in statuses(box)] == [500, 200]
    body = statuses(box)[0]["body"]
    assert (body["runtime"], body["hostMode"], body.keys() - {"runtime", "hostMode"}) == (
        "hermes",
        True,
        {"runtimeDescriptor"},
    )


async def test_a_missed_signal_is_polled_for_where_a_turn_runs(box: CanonSandbox) -> None:
    """D26, S2.10: a signal that the stream did not bring reaches the host within a quarter of a minute, as /stop."""
    release = asyncio.Event()

    async def agent(event: Any, _adapter: Any) -> None:
        if not event.text.startswith("/"):
            await release.wait()

    clock = ManualClock()
    async with hosted(box, agent, clock=clock) as stage:
        box.human.say(None, "go")
        await until(lambda: stage.events)
        box.human.signal(None, "stop_and_drop", announce=False)
        await clock.advance(15)
        await until(lambda: len(stage.events) == 2)
        release.set()

    assert (stage.events[1].text, stage.events[1].raw_message) == ("/stop", {"canonSignal": "stop_and_drop"})
    assert stage.events[1].source.user_id == stage.events[0].source.user_id


async def test_disconnecting_closes_what_runs(box: CanonSandbox) -> None:
    """D24: a turn that is cut off by the end of the gateway is interrupted on Canon, and its node is gone."""
    seen = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> None:
        await adapter.send(event.source.chat_id, "beginning", metadata={"expect_edits": True})
        seen.set()
        await asyncio.Event().wait()

    async with hosted(box, agent) as stage:
        box.human.say(None, "go")
        await seen.wait()
        await until(lambda: box.human.node() is not None)
        await stage.adapter.disconnect()

        states = [state["state"] for state in box.human.turns()]

    assert (states[0], states[-1], box.human.node()) == ("thinking", "interrupted", None)


def health(home: Path) -> Any:
    """What the health file of a home says; None while there is none."""
    file = health_file(home, "canon")
    return PlatformHealth.parse(file.read_bytes()) if file.exists() else None


async def look_until(clock: ManualClock, holds: Callable[[], object], step_s: float = 1) -> None:
    """Let time pass until something holds."""
    while not holds():
        await clock.advance(step_s)
        await asyncio.sleep(0.01)


async def test_a_lost_stream_takes_the_platform_down_until_it_is_back(box: CanonSandbox, tmp_path: Any) -> None:
    """D62, D22, X9: a stream that stays away is told to the host and in the health file, and so is its return."""
    from gateway.status import read_runtime_status

    def told() -> str:
        return str(((read_runtime_status() or {}).get("platforms") or {}).get("canon", {}).get("state"))

    clock = ManualClock()
    async with hosted(box, clock=clock, home=tmp_path) as stage:
        await look_until(clock, lambda: health(tmp_path) is not None and health(tmp_path).stream == "open")
        up = (told(), health(tmp_path).agent_id, health(tmp_path).reconnects)
        box.fault("stream-503", times=None)
        box.human.drop_streams()
        await until(lambda: stage.runtime._pulse.health.stream == "lost")
        await look_until(clock, lambda: told() == "disconnected" and health(tmp_path).stream == "lost")
        down = health(tmp_path)
        box.human.calm()
        await look_until(clock, lambda: told() == "connected" and health(tmp_path).stream == "open", step_s=5)
        back = health(tmp_path)

    assert up == ("connected", "agent_sandbox", 0)
    assert down.last_trouble and down.stream_since_ms < down.written_at_ms
    assert back.reconnects == 1 and health(tmp_path).stream == "closed"


async def test_the_health_file_says_what_came_and_what_runs(box: CanonSandbox, tmp_path: Any) -> None:
    """X9: while an agent works its turn is counted, the last event dated, and the cursor where it stands."""
    go_on = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> None:
        await go_on.wait()

    clock = ManualClock()
    async with hosted(box, agent, clock=clock, home=tmp_path) as stage:
        await look_until(clock, lambda: health(tmp_path) is not None and health(tmp_path).stream == "open")
        said_ms = clock.now_ms()
        box.human.say(None, "go")
        await look_until(clock, lambda: health(tmp_path).turns_open)
        connected = stage.runtime._connected
        assert connected is not None
        during, cursor = health(tmp_path), connected.inflow.cursor
        go_on.set()
        await look_until(clock, lambda: not health(tmp_path).turns_open)

    assert (during.turns_open, during.cursor) == (1, cursor) and cursor
    assert said_ms <= during.last_event_at_ms <= during.written_at_ms


async def test_the_health_file_says_what_is_owed_and_since_when(box: CanonSandbox, tmp_path: Any) -> None:
    """X9: what Canon does not take is counted and dated, to the end of the gateway; later it is gone."""

    async def agent(event: Any, adapter: Any) -> None:
        await adapter.send(event.source.chat_id, "the answer", metadata={"notify": True})

    clock = ManualClock()
    async with hosted(box, agent, clock=clock, home=tmp_path):
        await look_until(clock, lambda: health(tmp_path) is not None and health(tmp_path).stream == "open")
        before, since_ms = health(tmp_path), clock.now_ms()
        box.fault("send-503", times=None, burst=1_000)
        box.human.say(None, "go")
        await look_until(clock, lambda: health(tmp_path).outbox_depth)
        during, until_ms = health(tmp_path), clock.now_ms()
    stopped = health(tmp_path)
    box.human.calm()
    async with hosted(box, agent, clock=clock, home=tmp_path):
        await look_until(clock, lambda: health(tmp_path).stream == "open" and not health(tmp_path).outbox_depth)

    assert (before.outbox_depth, before.outbox_oldest_ms) == (0, None)
    assert during.outbox_depth == 1 and since_ms <= during.outbox_oldest_ms <= until_ms
    assert (stopped.stream, stopped.outbox_depth) == ("closed", 1)
    assert stopped.outbox_oldest_ms == during.outbox_oldest_ms
    assert health(tmp_path).outbox_oldest_ms is None
    assert [entry["text"] for entry in box.transcript() if entry["origin"] == "agent"] == ["the answer"]


async def test_two_agents_in_one_process_share_nothing(box: CanonSandbox) -> None:
    """D55: two adapters in one group, both at work for the same session key, keep their turns, tools and answers."""
    from canon_hermes_plugin.hooks import ActivityHooks

    other = box.human.add_agent("Mako")
    room = box.human.open_conversation(["agent_sandbox", other["agent_id"], box.endpoints.owner_id])
    active = ActiveSet()
    both_run = asyncio.Barrier(2)
    environ = dict(os.environ)

    async def agent(event: Any, adapter: Any) -> str:
        await both_run.wait()
        name = adapter._canon._connected.inflow.identity.agent_id
        session = {"HERMES_SESSION_PLATFORM": "canon", "HERMES_SESSION_CHAT_ID": event.source.chat_id}
        session["HERMES_SESSION_KEY"] = next(iter(adapter._active_sessions))
        ActivityHooks(lambda key: session.get(key, ""), lambda: False, active=active).pre_tool_call(
            tool_name=f"tool of {name}", tool_call_id=name
        )
        await asyncio.sleep(0)
        await both_run.wait()
        return f"answer of {name}"

    async with (
        hosted(box, agent, active=active, turn_verbosity="verbose"),
        hosted(box, agent, active=active, turn_verbosity="verbose", api_key=other["agent_key"]),
    ):
        box.human.say(room, "both of you")
        answers = await box.until("turn_complete", conversation_id=room, count=2)

    titles = {
        answer["senderId"]: [block["title"] for block in answer["metadata"]["turnTrail"] if block["kind"] == "tool"]
        for answer in answers
    }
    names = ("agent_sandbox", other["agent_id"])
    assert titles == {name: [f"tool of {name}"] for name in names}
    assert {answer["senderId"]: answer["text"] for answer in answers} == {name: f"answer of {name}" for name in names}
    assert dict(os.environ) == environ


async def test_a_run_is_complete_before_its_node_is_gone(box: CanonSandbox) -> None:
    """D57: the host's hook returns with the answer on Canon; the moment that the node stays holds up no next run."""

    async def agent(_event: Any, _adapter: Any) -> str:
        return "the answer"

    clock = ManualClock()  # the node's last moment never passes
    async with hosted(box, agent, clock=clock) as stage:
        message = box.human.say(None, "hello")
        await box.until("answer", to=message)
        await until(lambda: not stage.adapter._active_sessions)
        node = box.human.node()

    assert node is not None and node["text"] == "the answer"


async def test_one_rooms_trouble_hides_no_signal_of_another(box: CanonSandbox) -> None:
    """D26: rooms are polled side by side, so a stop in one arrives although another cannot be asked."""
    release = asyncio.Event()

    async def agent(event: Any, _adapter: Any) -> None:
        if not event.text.startswith("/"):
            await release.wait()

    rooms = [box.human.open_conversation([box.endpoints.owner_id, "agent_sandbox"], kind="direct") for _ in range(2)]
    box.fault("signal-500", times=None, conversationId=rooms[0])
    clock = ManualClock()
    async with hosted(box, agent, clock=clock) as stage:
        for room in rooms:
            box.human.say(room, "go")
        await until(lambda: len(stage.events) == 2)
        box.human.signal(rooms[1], "interrupt", announce=False)
        await clock.advance(15)
        await until(lambda: len(stage.events) == 3)
        release.set()

    assert (stage.events[2].text, stage.events[2].source.chat_id) == ("/stop", rooms[1])


# --- a run becomes a turn -----------------------------------------------------------------------------------------


async def test_an_unstreamed_answer_is_the_turns_final(box: CanonSandbox) -> None:
    """S6.54: what the handler returns is sent by the host, staged, and delivered once when the run completes."""

    async def agent(_event: Any, _adapter: Any) -> str:
        return "the answer"

    async with hosted(box, agent):
        message = box.human.say(None, "hello")
        (answer,) = await box.until("answer", to=message)
        await until(lambda: states_of(box, answer["metadata"]["turnId"])[-1:] == ["completed"])

    states = states_of(box, answer["metadata"]["turnId"])
    assert (answer["text"], states[0]) == ("the answer", "thinking")
    assert len(await box.until("turn_complete")) == 1


async def test_the_dots_are_taken_away_once(box: CanonSandbox) -> None:
    """R6.10: hosts stop them several times a run; Canon hears it once, and again only when it did not take it."""
    async with hosted(box) as stage:
        room = box.endpoints.conversation_id
        await stage.adapter.stop_typing(room)
        await stage.adapter.send_typing(room)
        box.fault("typing-500", times=1)
        for _ in range(4):
            await stage.adapter.stop_typing(room)

    assert [(entry["body"]["typing"], entry["status"]) for entry in box.journal() if entry["path"] == "/typing"] == [
        (True, 200), (False, 500), (False, 200),
    ]  # fmt: skip


async def test_a_run_without_an_answer_opens_and_closes(box: CanonSandbox) -> None:
    """S6.54: a run that says nothing shows thinking, then completed, and posts nothing."""
    async with hosted(box):
        box.human.say(None, "hello")
        await until(lambda: [state["state"] for state in box.human.turns()] == ["thinking", "completed"])

    assert [entry["origin"] for entry in box.transcript()] == ["human"]


async def test_a_failed_runs_notice_is_delivered(box: CanonSandbox) -> None:
    """S6.52, D7: the host's error notice, sent unmarked after the failed run, reaches people as its own message."""

    async def agent(_event: Any, _adapter: Any) -> str:
        raise ValueError("broken agent")

    async with hosted(box, agent):
        box.human.say(None, "hello")
        (notice,) = await box.until("messages")
        await until(lambda: [state["state"] for state in box.human.turns()][-1:] == ["interrupted"])

    assert THIS_HOST.failure_text("broken agent") in notice["text"] and "turnId" not in notice["metadata"]


async def test_typing_is_kept_alive_by_the_host(box: CanonSandbox) -> None:
    """S6.37: while the host's typing loop runs the dots are refreshed, and the last call takes them away."""
    async with hosted(box) as stage:
        loop = asyncio.ensure_future(stage.adapter._keep_typing(box.endpoints.conversation_id, interval=0.01))
        await until(lambda: len(typing_calls(box)) >= 2)
        while not loop.done():  # the host waits with wait_for, which on Python 3.11 may swallow a cancellation
            loop.cancel()
            await asyncio.wait({loop}, timeout=0.1)

    assert typing_calls(box)[-1] == {"conversationId": box.endpoints.conversation_id, "typing": False}
    assert set(map(str, typing_calls(box)[:2])) == {
        str({**typing_calls(box)[-1], "typing": True, "status": "thinking"})
    }


def test_nothing_of_ours_keeps_typing_alive() -> None:
    """S6.38: the refresh of the dots is the host's alone, so the class brings no loop of its own."""
    ours = {name for kind in adapter_class().__mro__ for name in vars(kind) if kind.__module__.startswith("canon")}

    assert {name for name in ours if "typing" in name} == {"send_typing", "stop_typing"}


async def test_a_cancelled_completion_leaves_no_typing_at_rest(box: CanonSandbox) -> None:
    """S6.40: the dots rest while a person is asked; a run that is cancelled during its last write wakes them again."""
    from canon_hermes_plugin.turn.events import InputAsked

    done = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> None:
        runtime = adapter._canon
        (turn_id,) = runtime._desk.turns.live
        runtime._desk.apply(turn_id, InputAsked())
        assert event.source.chat_id in adapter._typing_paused
        await adapter.send(event.source.chat_id, "the answer", metadata={"notify": True})
        box.fault("delay", path="/messages/send", seconds=2.0)
        key = next(iter(adapter._active_sessions))
        completing = asyncio.ensure_future(runtime.turn_completed(key, "success", event.source.chat_id))
        await until(lambda: [entry for entry in box.journal() if entry["path"] == "/messages/send"])
        completing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await completing
        assert event.source.chat_id not in adapter._typing_paused
        done.set()

    async with hosted(box, agent):
        box.human.say(None, "go")
        await asyncio.wait_for(done.wait(), 10)


async def test_chat_info_tells_direct_from_group(box: CanonSandbox) -> None:
    """R2.16: a room that we do not know is looked up once; a group says so."""
    async with hosted(box) as stage:
        ben = box.human.add_person("Ben")
        room = box.human.open_conversation([box.endpoints.owner_id, ben, "agent_sandbox"], name="Trio")

        info = await stage.adapter.get_chat_info(room)
        direct = await stage.adapter.get_chat_info(box.endpoints.conversation_id)

    assert info == {"id": room, "name": "Trio", "type": "group"}
    assert direct["type"] == "dm"


def statuses(box: CanonSandbox) -> list[dict[str, Any]]:
    return [entry for entry in box.journal() if entry["path"] == "/runtime/status" and entry["status"] is not None]


def typing_calls(box: CanonSandbox) -> list[dict[str, Any]]:
    return [entry["body"] for entry in box.journal() if entry["path"] == "/typing"]


# --- people in the loop -------------------------------------------------------------------------------------------


WORDS = {
    "0.18": {},
    "0.19": {"allow_permanent": False, "smart_denied": True},
    "0.21": {"allow_permanent": True, "allow_session": False, "smart_denied": False},
    "a later one": {"allow_permanent": True, "urgency": "high", "actions": ["once"]},
}


def taken_by(ask: Any, words: dict[str, Any]) -> dict[str, Any]:
    """What a host can pass: one whose own method prepares the prompt passes that one's words and no others."""
    from gateway.platforms.base import BasePlatformAdapter

    if not hasattr(BasePlatformAdapter, "send_exec_approval"):
        return words  # the method is ours, and has to take whatever a host says
    parameters = inspect.signature(ask).parameters
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return {name: value for name, value in words.items() if takes_all or name in parameters}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS.keys())
async def test_what_hosts_pass_with_a_command(box: CanonSandbox, words: dict[str, Any]) -> None:
    """S9.13, D1: each host's own call makes a native request; what it forbids switches the session rule off."""
    from tools.approval import _await_gateway_decision, resolve_gateway_approval

    key, data = "agent:main:canon:dm:conv_direct", {"command": "rm a", "description": "deletion", "pattern_key": "p"}
    loop = asyncio.get_running_loop()
    async with hosted(box) as stage:
        asked: list[Any] = []

        def notify(_: Any) -> None:
            ask = stage.adapter.send_exec_approval
            call = ask(
                chat_id="conv_direct",
                command="rm a",
                session_key=key,
                description="deletion",
                metadata=None,
                **taken_by(ask, words),
            )
            asked.append(asyncio.run_coroutine_threadsafe(call, loop).result(15))

        waiting = loop.run_in_executor(None, lambda: _await_gateway_decision(key, notify, dict(data)))
        try:
            await until(lambda: asked)
            (request,) = box.wait("interaction", kind="approval")
            box.human.answer(request["id"], decision="allow")
            decision = await waiting
        finally:
            resolve_gateway_approval(key, "deny", resolve_all=True)

    assert asked[0].success and asked[0].message_id
    assert request["request"]["allowSessionRule"] is (words in (WORDS["0.18"], WORDS["a later one"]))
    assert (decision["resolved"], decision["choice"]) == (True, "once")


async def test_what_hosts_pass_with_a_question(box: CanonSandbox) -> None:
    """D1: a question is shown whatever a later host says besides, and a host without Canon is told so."""
    from gateway.platforms.base import BasePlatformAdapter

    async with hosted(box) as stage:
        asked = await stage.adapter.send_clarify(
            chat_id="conv_direct",
            question="Which?\ngateway.clarify.skip_hint",
            choices=["a"],
            clarify_id="q1",
            session_key="k",
            more=1,
        )
        (request,) = box.wait("interaction", kind="input")
        adapter = stage.adapter
    gone = [
        await adapter.send_clarify("conv_direct", "Which?", None, "q2", "k"),
        await adapter.send_exec_approval("conv_direct", "rm a", "k", None),
    ]

    assert asked.success and request["request"]["prompt"] == "Which?"
    assert type(adapter).send_clarify is BasePlatformAdapter.send_clarify  # or some host asks once more, in its words
    assert [one.success for one in gone] == [False, False]
