"""Busy sessions on the host's base class and a Canon sandbox: signals, wakes, silence and acknowledgements."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.approvals.waking import message_of
from canon_hermes_plugin.desk import Silence
from canon_hermes_plugin.inbox.keeper import Inbox
from canon_hermes_plugin.state.place import state_path
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.busy_host import runner_class
from tests.support.canon_state import Rows
from tests.support.conversing import states_of
from tests.support.files import PDF
from tests.support.hosted_adapter import hosted, until
from tests.support.tool_calls import canon_turn
from tests.unit.canon_hermes_plugin.approvals.test_waking import WAKE

pytestmark = pytest.mark.host

ROOM = "conv_direct"
SESSION = f"agent:main:canon:dm:{ROOM}"
QUEUED = {"inboundDisposition": "queued"}


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def disposition(box: CanonSandbox, room: str, message_id: str) -> Any:
    return next(row for row in box.transcript(room) if row["id"] == message_id)["metadata"].get("inboundDisposition")


def settlements(home: Path) -> dict[str, str | None]:
    """Why each message of the inbox is settled; None for one that is not."""
    return dict(Rows(state_path(home)).table("SELECT item_id, settlement FROM inbox"))


@pytest.mark.parametrize("each", [True, False], ids=["a session each", "one session"])
async def test_the_owner_stops_a_members_turn(box: CanonSandbox, tmp_path: Path, each: bool) -> None:
    """S5.36, D10, R5.31: Ben's turn gets the stop and what waits behind it is dropped, though the owner pressed."""
    human = box.human
    ben = human.add_person("Ben")
    room = human.open_conversation(["user_owner", ben, "agent_sandbox"], name="Trio")
    never = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str | None:
        if event.text == "/stop":
            return None
        await never.wait()
        return "too late"

    async with hosted(box, agent, home=tmp_path, group_sessions_per_user=each) as stage:
        first = human.say(room, "work", ben)
        await until(lambda: stage.events)
        waiting = human.say(room, "and then", ben, metadata=QUEUED)
        await until(lambda: stage.adapter._port.waiting_in(room))
        human.signal(room, "stop_and_drop", "user_owner")
        await until(lambda: any(state["state"] == "interrupted" for state in human.turns(room)))
        await until(lambda: settlements(tmp_path)[waiting] == "cancelled")
        await until(lambda: not stage.adapter._active_sessions)

        stop = next(event for event in stage.events if event.text == "/stop")
        assert stop.source.user_id == ben
        assert [event.text for event in stage.events] == ["work", "/stop"]
        assert stage.adapter._port.waiting_in(room) == []
        turn_id = next(state["turnId"] for state in human.turns(room) if first in state.get("activeMessageIds", ()))
        assert states_of(box, turn_id, room)[-1] == "interrupted"
        assert disposition(box, room, waiting) == "queued"


@pytest.mark.usefixtures("private_urls")
@pytest.mark.parametrize("way", ["typed", "signal"])
async def test_a_stop_does_not_wait_for_files(box: CanonSandbox, way: str) -> None:
    """D25, R5.31: the run ends while a file of the next message is fetched; a cleared queue takes that along."""
    never = asyncio.Event()
    is_with_host: list[bool] = []

    async def agent(event: Any, adapter: Any) -> str | None:
        if event.text == "work":
            await never.wait()
        if event.text == "/stop":
            is_with_host.append(adapter._port.holds(message_id))
        return None if event.text == "/stop" else "done"

    file = box.human.upload(PDF, mime_type="application/pdf", file_name="a.pdf", conversation_id=ROOM)
    async with hosted(box, agent) as stage:
        box.human.say(ROOM, "work")
        await until(lambda: stage.events)
        box.fault("delay", method="GET", path="/files/*", seconds=3.0)
        message_id = box.human.say(ROOM, "read this", attachments=[file])
        await until(lambda: any(entry["path"].startswith("/files/") for entry in box.journal()))
        box.human.say(ROOM, "/stop") if way == "typed" else box.human.signal(ROOM, "stop_and_drop")
        await until(lambda: any(state["state"] == "interrupted" for state in box.human.turns(ROOM)))
        at_once = [event.text for event in stage.events]
        box.human.say(ROOM, "last")
        await until(lambda: stage.events[-1].text == "last", timeout_s=20)

    assert (at_once, is_with_host) == (["work", "/stop"], [False])
    assert ["read this" in event.text for event in stage.events[2:]] == ([True, False] if way == "typed" else [False])


@pytest.mark.parametrize("command", ["/stop", "/new"])
@pytest.mark.parametrize(("answer", "end"), [(None, "interrupted"), ("done", "completed")])
async def test_a_stopped_turn_that_unwinds_first_is_interrupted(
    box: CanonSandbox, command: str, answer: str | None, end: str
) -> None:
    """R6.5: the interrupted run may end, in the host's words a success, before the host cancels its task.

    One that has an answer to send delivers it: whoever typed the command came too late.
    """
    interrupted = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str | None:
        if event.text == "work":
            await interrupted.wait()
            return answer
        turn = adapter._session_tasks[SESSION]
        await adapter.interrupt_session_activity(SESSION, ROOM)  # as the host does once it obeys
        interrupted.set()
        await asyncio.wait([turn])
        return "stopped"

    async with hosted(box, agent) as stage:
        first = box.human.say(None, "work")
        await until(lambda: stage.events)
        box.human.say(None, command)
        await until(lambda: [event.text for event in stage.events] == ["work", command])

        def states() -> list[str]:
            turns = box.human.turns(ROOM)
            turn_id = next(state["turnId"] for state in turns if first in state.get("activeMessageIds", ()))
            return states_of(box, turn_id, ROOM)

        await until(lambda: states()[-1] in ("interrupted", "completed"))
        assert states()[-1] == end


async def test_a_message_leaves_the_shelf_when_it_begins(box: CanonSandbox) -> None:
    """S5.20, S5.22, R5.16: and the conversation is read; what waits is still on it."""
    gate = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str:
        await gate.wait()
        return "done"

    async with hosted(box, agent) as stage:
        first = box.human.say(None, "one", metadata=QUEUED)
        await until(lambda: disposition(box, ROOM, first) == "accepted_now")
        second = box.human.say(None, "two", metadata=QUEUED)
        await until(lambda: stage.adapter._port.queue_depth(SESSION))
        meanwhile = disposition(box, ROOM, second)
        gate.set()
        await until(lambda: disposition(box, ROOM, second) == "accepted_now")

    assert meanwhile == "queued"
    assert any(row["path"] == f"/conversations/{ROOM}/read" for row in box.journal())


async def test_a_wake_that_the_host_discards_is_run(box: CanonSandbox) -> None:
    """D27: it waits behind a turn, the host throws it away, and it comes again when the turn is over, once."""
    gate = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str:
        await gate.wait()
        return "done"

    wake = replace(WAKE, conversation_id=ROOM, user_id="user_owner")
    async with hosted(box, agent) as stage:
        runner = stage.adapter.gateway_runner = runner_class()(stage.adapter)
        stage.adapter.set_busy_session_handler(runner._handle_active_session_busy_message)
        box.human.say(None, "work")
        await until(lambda: stage.events)
        own = stage.runtime._connected.inflow.own  # type: ignore[union-attr]
        await own.take(message_of(wake, "user_owner"))
        await until(lambda: own.waiting_in(SESSION))
        assert stage.adapter.get_pending_message(SESSION).message_id == wake.key  # "consume and discard"
        gate.set()
        await until(lambda: len(stage.events) == 2)
        await until(lambda: not own.knows(wake.key))

    assert [event.message_id for event in stage.events][1:] == [wake.key]


async def test_a_wake_that_was_stopped_before_its_model_was_called_comes_again(
    box: CanonSandbox, tmp_path: Path
) -> None:
    """D27: a person stops everything in the moment in which the wake begins; nobody has heard the decision yet."""
    entered = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str | None:
        if event.text == "/stop":
            return None
        if not entered.is_set():
            entered.set()
            await asyncio.Event().wait()
        return "heard"

    wake = replace(WAKE, conversation_id=ROOM, user_id="user_owner")
    async with hosted(box, agent, home=tmp_path) as stage:
        own = stage.runtime._connected.inflow.own  # type: ignore[union-attr]
        await own.take(message_of(wake, "user_owner"))
        await entered.wait()
        box.human.signal(None, "interrupt")
        await until(lambda: not stage.adapter._active_sessions)
        await until(lambda: own._refused)
        await box.until("answer", to=box.human.say(None, "meanwhile"))
        await until(lambda: not stage.adapter._active_sessions)  # which says nothing of the decision
        await own.offer_again()
        await until(lambda: not own.open)

    assert [event.text for event in stage.events if event.text != "/stop"] == [wake.text, "meanwhile", wake.text]
    rows = Rows(state_path(tmp_path)).table("SELECT settlement FROM inbox ORDER BY number")
    assert rows[0] == ("answer",)


async def test_a_file_after_silence_goes_nowhere(box: CanonSandbox, tmp_path: Path) -> None:
    """S8.19, R8.6: it is not even uploaded; the host hears of a success without a message."""
    file = tmp_path / "report.txt"
    file.write_text("numbers")
    results: list[Any] = []

    async def agent(event: Any, adapter: Any) -> str:
        assert adapter._canon._desk.silence(ROOM, None, SESSION) is Silence.KEPT
        results.append(await adapter.send_document(ROOM, str(file), caption="the report"))
        return ""

    async with hosted(box, agent) as stage:
        box.human.say(None, "work")
        await until(lambda: any(state["state"] == "completed" for state in box.human.turns()))
        owed = stage.runtime._connected.postbox.owed  # type: ignore[union-attr]
    turn_id = box.human.turns()[0]["turnId"]

    assert [(one.success, one.message_id, one.raw_response) for one in results] == [
        (True, None, {"silenced": True, "turnId": turn_id})
    ]
    assert [row["origin"] for row in box.transcript()] == ["human"] and owed.count == 0
    assert [row["path"] for row in box.journal() if "upload" in row["path"] or row["path"] == "/messages/send"] == []


async def test_a_run_that_is_told_twice_is_one_turn(box: CanonSandbox) -> None:
    """S5.37, R6.3: a host may tell of a start and an end by two hooks; Canon sees one turn, and the one answer."""

    async def agent(event: Any, adapter: Any) -> str:
        await adapter.on_processing_start(event)
        return "once"

    async with hosted(box, agent) as stage:
        message = box.human.say(None, "work")
        await box.until("answer", to=message)
        await until(lambda: not stage.adapter._active_sessions)
        event = stage.events[0]
        await stage.adapter.on_processing_complete(event, SimpleNamespace(value="success"))

    turns = {state["turnId"] for state in box.human.turns()}
    said = [row["body"]["state"] for row in box.journal() if row["path"] == "/runtime/turn"]
    assert (len(turns), said.count("thinking"), said.count("completed")) == (1, 1, 1)
    assert [row["text"] for row in box.transcript() if row["origin"] == "agent"] == ["once"]


async def test_everything_durable_is_silent(box: CanonSandbox) -> None:
    """S8.17, S8.18, S8.20, S8.23, R8.6: an answer, a late one from a child task, a finished draft: each succeeds
    without a message, and nothing is handed to the outbox."""
    results: list[Any] = []

    async def agent(event: Any, adapter: Any) -> str:
        draft = await adapter.send(ROOM, "so far", metadata={"expect_edits": True})
        assert adapter._canon._desk.silence(ROOM, None, SESSION) is Silence.KEPT
        results.append(await adapter.send(ROOM, "an answer", metadata={"notify": True}))
        child = asyncio.create_task(adapter.send(ROOM, "from a child", metadata={"notify": True}))
        results.append(await child)
        results.append(await adapter.edit_message(ROOM, draft.message_id, "all of it", finalize=True))
        return "and the last word"

    async with hosted(box, agent) as stage:
        box.human.say(None, "work")
        await until(lambda: any(state["state"] == "completed" for state in box.human.turns()))
        turn_id = box.human.turns()[0]["turnId"]
        owed = stage.runtime._connected.postbox.owed  # type: ignore[union-attr]

    assert [result.success for result in results] == [True] * 3
    assert [result.raw_response for result in results] == [{"silenced": True, "turnId": turn_id}] * 3
    assert [result.message_id for result in results] == [None, None, turn_id]
    assert [row["origin"] for row in box.transcript()] == ["human"] and owed.count == 0


async def test_canon_hears_whether_words_can_go_into_a_turn(box: CanonSandbox) -> None:
    """S5.19, R5.33: a host without a runner cannot."""

    async def agent(event: Any, adapter: Any) -> str:
        return "done"

    async with hosted(box, agent):
        message = box.human.say(None, "work")
        await box.until("answer", to=message)

    capabilities = [row["body"]["capabilities"] for row in box.journal() if row["path"] == "/runtime/turn"]
    assert capabilities and {one["supportsInterleave"] for one in capabilities} == {False}


async def test_a_silence_is_its_callers_own(box: CanonSandbox) -> None:
    """S8.24, D9: with a turn for each member of a group, the one that calls is silenced, not the one opened last."""
    human, gate = box.human, asyncio.Event()
    ben = human.add_person("Ben")
    room = human.open_conversation(["user_owner", ben, "agent_sandbox"], name="Trio")

    async def agent(event: Any, adapter: Any) -> str:
        await gate.wait()
        return "said"

    async with hosted(box, agent) as stage:
        for sender in ("user_owner", ben):
            human.say(room, "work", sender)
        desk = stage.adapter._canon._desk
        await until(lambda: len(desk.turns.open_in(room)) == 2)
        first, last = desk.turns.open_in(room)

        kept = desk.silence(room, None, first.opening.session)
        silent = {turn.id: turn.silenced for turn in desk.turns.open_in(room)}
        gate.set()
        await until(lambda: len([row for row in box.transcript(room) if row["origin"] == "agent"]) == 1)

    assert (kept, silent) == (Silence.KEPT, {first.id: True, last.id: False})


async def test_two_agents_in_a_process_are_told_apart(box: CanonSandbox) -> None:
    """S8.13: only the adapter whose turn it is hears of the silence; the other keeps nothing."""
    async with hosted(box, connect=False) as other, canon_turn(box) as turn:
        result = await turn.control(action="no_reply")
        nowhere = await type(turn)(turn.active, type(turn.session)()).control(action="no_reply")

        assert (result["success"], nowhere["success"]) == (True, False)
        assert other.adapter._canon._desk.turns.live == {}


@pytest.mark.parametrize(
    ("command", "runs", "why"), [("/stop", True, "answer"), ("/new", False, "cancelled")], ids=["stop", "new"]
)
async def test_a_follow_up_that_never_begins_waits_again(
    box: CanonSandbox, tmp_path: Path, command: str, runs: bool, why: str
) -> None:
    """X1, docs/decisions/0042: the host has taken the next message, and is stopped before it begins with it."""
    never, taken = asyncio.Event(), asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str | None:
        if event.text == "work":
            await until(lambda: SESSION in adapter._pending_messages)
            waiting = adapter.get_pending_message(SESSION)
            assert adapter.gateway_runner._promote_queued_event(SESSION, adapter, waiting).text == "and then"
            taken.set()
            await never.wait()  # as the host waits here for the stream of the first answer
        if event.text == command:
            await adapter.interrupt_session_activity(SESSION, ROOM)  # as the host does once it obeys
        return "done"

    async with hosted(box, agent, home=tmp_path) as stage:
        runner = stage.adapter.gateway_runner = runner_class()(stage.adapter)
        stage.adapter.set_busy_session_handler(runner._handle_active_session_busy_message)
        box.human.say(None, "work")
        await until(lambda: stage.events)
        waiting = box.human.say(None, "and then")
        await until(taken.is_set)
        box.human.say(None, command)
        await until(lambda: not stage.adapter._active_sessions and stage.events[-1].text != "work")
        await until(lambda: (stage.events[-1].text == "and then") is runs)
        last = box.human.say(None, "last")
        await until(lambda: stage.events[-1].text == "last")
        await box.until("answer", to=last)

    assert [event.text for event in stage.events] == ["work", command, *["and then"] * runs, "last"]
    assert settlements(tmp_path)[waiting] == why


async def test_a_run_that_is_stopped_while_its_start_is_written_is_over(
    box: CanonSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X1: its message has begun on the disk, so a person's stop ends it there and on Canon, and no gateway runs it."""
    never, noted, real = asyncio.Event(), asyncio.Event(), Inbox.started

    async def slow(inbox: Inbox, *args: Any, **more: Any) -> None:
        await real(inbox, *args, **more)
        noted.set()
        await never.wait()

    async with hosted(box, home=tmp_path) as stage:
        monkeypatch.setattr(Inbox, "started", slow)
        message_id = box.human.say(None, "work")
        await until(noted.is_set)
        box.human.say(None, "/stop")
        await until(lambda: not stage.adapter._active_sessions and stage.events)
        monkeypatch.setattr(Inbox, "started", real)

    assert [event.text for event in stage.events] == ["/stop"]
    assert settlements(tmp_path)[message_id] == "cancelled"
    assert [state["state"] for state in box.human.turns(ROOM)][-2:] == ["thinking", "interrupted"]
