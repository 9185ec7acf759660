"""An adapter that starts on the state of another one, on the real host's base class, against a Canon sandbox."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.approvals.waking import message_of
from canon_hermes_plugin.inbound.inflow import Inflow
from canon_hermes_plugin.inbox import adoption, cursors, store, turns
from canon_hermes_plugin.outbox import store as outbox
from canon_hermes_plugin.state.owner import Owner
from canon_hermes_plugin.state.place import state_path
from canon_hermes_plugin.turn.machine import ANSWER_MARK
from canon_ops.sandbox.server import CanonSandbox
from tests.support.canon_state import NOW, Rows, an_operation
from tests.support.hosted_adapter import hosted, until
from tests.support.sandboxes import canon_box
from tests.unit.canon_hermes_plugin.approvals.test_waking import WAKE

pytestmark = pytest.mark.host


def left(box: CanonSandbox, home: Path) -> tuple[Rows, Owner, str]:
    """A message that arrived in an earlier life, and whose row it is."""
    message_id = box.human.say(None, "are you there?")
    owner = Owner(box.endpoints.environment_id, "agent_sandbox")
    payload = {
        "conversationId": box.endpoints.conversation_id,
        "message": {"id": message_id, "senderId": "user_owner", "senderType": "human", "text": "are you there?"},
        "turnDispatch": {"kind": "run_turn"},
    }
    rows = Rows(state_path(home))
    rows(cursors.begin_cursor, owner, now_ms=NOW)
    rows(store.record, owner, message_id, box.endpoints.conversation_id, payload, step=None, now_ms=NOW)
    return rows, owner, message_id


async def answers(event: Any, adapter: Any) -> str:
    return "Yes, I am."


async def test_what_was_only_recorded_is_handed_over_as_if_new(tmp_path: Path) -> None:
    """X3: the host gets it once, without a mark, and the answer settles it."""
    with canon_box() as box:
        rows, owner, message_id = left(box, tmp_path)
        async with hosted(box, answers, home=tmp_path) as stage:
            (answer,) = await box.until("answer", to=message_id)
            await until(lambda: not rows(store.unsettled, owner))

        assert [event.text for event in stage.events] == ["are you there?"]
        assert answer["text"] == "Yes, I am."


async def test_a_start_without_a_text_is_the_run_of_what_died(tmp_path: Path) -> None:
    """X3: the host resumes the session; that run gets the message, marked, as the same turn."""
    with canon_box() as box:
        rows, owner, message_id = left(box, tmp_path)
        session = f"agent:main:canon:dm:{box.endpoints.conversation_id}"
        turn_id = "hermes-11112222333344445555"
        rows(turns.open_turn, owner, turn_id, box.endpoints.conversation_id, now_ms=NOW)
        rows(store.started, owner, message_id, session=session, turn_id=turn_id, now_ms=NOW)
        async with hosted(box, answers, home=tmp_path) as stage:
            source = stage.adapter.build_source(chat_id=box.endpoints.conversation_id, chat_type="dm")
            from gateway.platforms.base import MessageEvent, MessageType

            await stage.adapter.handle_message(
                MessageEvent(text="", message_type=MessageType.TEXT, source=source, internal=True)
            )
            (answer,) = await box.until("answer", to=message_id)

        (event,) = stage.events
        assert event.message_id == message_id
        assert event.text.endswith("are you there?")
        assert "recovered" in event.text
        assert answer["text"] == ANSWER_MARK + "Yes, I am."
        assert answer["metadata"]["turnId"] == "hermes-11112222333344445555"


@pytest.mark.parametrize("is_ours", [False, True], ids=["said", "ours"])
async def test_what_waits_behind_the_dead_is_not_done_when_the_session_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ours: bool
) -> None:
    """X2, X3, A5: the host resumes the session for the first message; the third waits behind the second, for which the
    host has its time. That an earlier gateway had handed the third over says nothing when the first run ends.
    """
    monkeypatch.setattr(adoption, "WINDOW_S", 1.0)

    async def says(event: Any, adapter: Any) -> str:
        return f"answer to {event.text.splitlines()[-1]}"

    with canon_box() as box:
        rows, owner, first = left(box, tmp_path)
        second = left(box, tmp_path)[2]
        if is_ours:
            wake = replace(WAKE, conversation_id=box.endpoints.conversation_id, user_id="user_owner")
            payload, third = message_of(wake, "user_owner"), wake.key
            rows(store.record, owner, third, wake.conversation_id, payload, step=None, now_ms=NOW)
        else:
            third = left(box, tmp_path)[2]
        session = f"agent:main:canon:dm:{box.endpoints.conversation_id}"
        for item_id, turn_id in ((first, "hermes-11112222333344445555"), (second, "hermes-66667777888899990000")):
            rows(turns.open_turn, owner, turn_id, box.endpoints.conversation_id, now_ms=NOW)
            rows(store.started, owner, item_id, session=session, turn_id=turn_id, now_ms=NOW)
        rows(store.handed, owner, third, box.endpoints.conversation_id, session=session, background=(), now_ms=NOW)
        async with hosted(box, says, home=tmp_path) as stage:
            source = stage.adapter.build_source(chat_id=box.endpoints.conversation_id, chat_type="dm")
            from gateway.platforms.base import MessageEvent, MessageType

            await stage.adapter.handle_message(
                MessageEvent(text="", message_type=MessageType.TEXT, source=source, internal=True)
            )
            await box.until("answer", to=first)
            await until(lambda: not stage.adapter._active_sessions)
            left_over = [(item.item_id, item.state) for item in rows(store.unsettled, owner)]
            await until(lambda: not rows(store.unsettled, owner))

        assert left_over == [(second, "started"), (third, "handed")]
        assert [event.message_id for event in stage.events] == [first, second, third]
        assert rows.table("SELECT settlement FROM inbox ORDER BY number") == [("answer",)] * 3


async def test_a_resumed_run_that_is_stopped_before_it_has_its_message_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X3: while its files are fetched a person stops the run; its turn ends on Canon, and its message with it."""
    looking = asyncio.Event()

    async def slow(*_: Any) -> None:
        looking.set()
        await asyncio.Event().wait()

    with canon_box() as box:
        rows, owner, message_id = left(box, tmp_path)
        session = f"agent:main:canon:dm:{box.endpoints.conversation_id}"
        turn_id = "hermes-11112222333344445555"
        rows(turns.open_turn, owner, turn_id, box.endpoints.conversation_id, now_ms=NOW)
        rows(store.started, owner, message_id, session=session, turn_id=turn_id, now_ms=NOW)
        monkeypatch.setattr(Inflow, "adopted", slow)
        async with hosted(box, answers, home=tmp_path) as stage:
            source = stage.adapter.build_source(chat_id=box.endpoints.conversation_id, chat_type="dm")
            from gateway.platforms.base import MessageEvent, MessageType

            await stage.adapter.handle_message(
                MessageEvent(text="", message_type=MessageType.TEXT, source=source, internal=True)
            )
            await looking.wait()
            await stage.adapter.cancel_session_processing(session)
            await until(lambda: not rows(store.unsettled, owner))
            await until(lambda: box.human.turns()[-1:] and box.human.turns()[-1]["state"] == "interrupted")

        assert rows.table("SELECT settlement FROM inbox") == [("cancelled",)]
        assert {state["turnId"] for state in box.human.turns()} == {turn_id}


async def test_a_turn_that_was_closed_on_canon_is_not_opened_again(tmp_path: Path) -> None:
    """X2, X3: a run that left no trace was told to be over, so its message gets another turn after a restart."""

    async def nothing(event: Any, adapter: Any) -> None:
        """The host reports success for a message that it only queued, and has lost."""

    with canon_box() as box:
        async with hosted(box, nothing, home=tmp_path):
            message_id = box.human.say(None, "are you there?")
            await until(lambda: [state["state"] for state in box.human.turns()][-1:] == ["completed"])
        async with hosted(box, answers, home=tmp_path):
            (answer,) = await box.until("answer", to=message_id)
            await box.until("idle")

        told = [(state["turnId"], state["state"]) for state in box.human.turns()]
        assert box.breaches() == []
        assert [state for turn_id, state in told if turn_id == told[0][0]] == ["thinking", "completed"]
        assert answer["metadata"]["turnId"] != told[0][0]


async def test_a_run_that_a_stop_interrupted_is_another_turn_afterwards(tmp_path: Path) -> None:
    """X3: people were told that the turn was interrupted; the answer, marked, belongs to a new one."""
    begun = asyncio.Event()

    async def stuck(event: Any, adapter: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    with canon_box() as box:
        async with hosted(box, stuck, home=tmp_path) as stage:
            message_id = box.human.say(None, "are you there?")
            await begun.wait()
            await until(lambda: box.human.turns())
            await stage.adapter.disconnect()
        async with hosted(box, answers, home=tmp_path) as stage:
            source = stage.adapter.build_source(chat_id=box.endpoints.conversation_id, chat_type="dm")
            from gateway.platforms.base import MessageEvent, MessageType

            await stage.adapter.handle_message(
                MessageEvent(text="", message_type=MessageType.TEXT, source=source, internal=True)
            )
            (answer,) = await box.until("answer", to=message_id)
            await box.until("idle")

        told = [(state["turnId"], state["state"]) for state in box.human.turns()]
        assert box.breaches() == []
        assert [state for turn_id, state in told if turn_id == told[0][0]] == ["thinking", "interrupted"]
        assert (answer["metadata"]["turnId"] != told[0][0], told[-1][1]) == (True, "completed")


async def test_an_owed_answer_is_sent_under_its_old_id(tmp_path: Path) -> None:
    """X1, D6: the parts, ids and metadata of before; another agent's are left alone."""
    with canon_box() as box:
        owner = Owner(box.endpoints.environment_id, "agent_sandbox")
        rows = Rows(state_path(tmp_path))
        operation = an_operation(conversation=box.endpoints.conversation_id)
        rows(outbox.keep, owner, operation, now_ms=NOW)
        rows(outbox.keep, Owner(owner.environment_id, "somebody else"), operation, now_ms=NOW)

        async with hosted(box, home=tmp_path):
            (sent,) = await box.until("messages", count=1)
            await until(lambda: len(rows(outbox.all_postings)) == 1)

        assert sent["id"] == operation.messages[0].message_id
        assert [posting.owner.agent_id for posting in rows(outbox.all_postings)] == ["somebody else"]


async def test_a_turn_of_a_conversation_that_is_gone_is_laid_to_rest(tmp_path: Path) -> None:
    """D24: what Canon refuses for good about a dead turn is asked once, and not again at each start."""
    with canon_box() as box:
        owner, rows = Owner(box.endpoints.environment_id, "agent_sandbox"), Rows(state_path(tmp_path))
        rows(turns.open_turn, owner, "hermes-11112222333344445555", "conv_that_is_gone", now_ms=NOW)
        async with hosted(box, home=tmp_path):
            await until(lambda: not rows(turns.dead_turns, owner))

        assert [entry["status"] for entry in box.journal() if entry["path"] == "/streaming"] == [403]


async def test_a_message_that_the_host_joins_to_another_is_answered_with_it(tmp_path: Path) -> None:
    """X2, D60: while an agent is made the host puts one's text into the other's and reports success for its run."""
    from gateway.platforms.base import merge_pending_message_event

    both_in = asyncio.Event()

    async def agent(event: Any, adapter: Any) -> str | None:
        if event.text != "one":
            return f"answer to {event.text}"
        (key,) = adapter._active_sessions
        await until(lambda: key in adapter._pending_messages)
        both_in.set()
        merge_pending_message_event(adapter._pending_messages, key, event, merge_text=True)
        return None

    with canon_box() as box:
        rows, owner = Rows(state_path(tmp_path)), Owner(box.endpoints.environment_id, "agent_sandbox")
        async with hosted(box, agent, home=tmp_path) as stage:
            stage.adapter._busy_text_mode = "interrupt"
            box.human.say(None, "one")
            await until(lambda: stage.events)
            second = box.human.say(None, "two")
            (answer,) = await box.until("answer", to=second)
            await until(lambda: not rows(store.unsettled, owner))

        settled = rows.table("SELECT settlement FROM inbox ORDER BY number")
        async with hosted(box, agent, home=tmp_path) as again:
            await box.until("idle")

        assert (answer["text"], both_in.is_set()) == ("answer to two\none", True)
        assert ([why for (why,) in settled], again.events) == (["absorbed", "answer"], [])


async def test_an_answer_to_what_died_is_marked_whatever_it_was_joined_to(tmp_path: Path) -> None:
    """X3, D60: the host puts the message whose run died into the one behind it; their answer may repeat something."""
    from gateway.platforms.base import MessageEvent, MessageType, merge_pending_message_event

    async def agent(event: Any, adapter: Any) -> str | None:
        if event.text.startswith("two"):
            return "answer to both"
        (key,) = adapter._active_sessions
        await until(lambda: key in adapter._pending_messages)
        merge_pending_message_event(adapter._pending_messages, key, event, merge_text=True)
        return None

    with canon_box() as box:
        rows, owner, message_id = left(box, tmp_path)
        session = f"agent:main:canon:dm:{box.endpoints.conversation_id}"
        rows(store.started, owner, message_id, session=session, turn_id="hermes-11112222333344445555", now_ms=NOW)
        async with hosted(box, agent, home=tmp_path) as stage:
            stage.adapter._busy_text_mode = "interrupt"
            source = stage.adapter.build_source(chat_id=box.endpoints.conversation_id, chat_type="dm")
            await stage.adapter.handle_message(
                MessageEvent(text="", message_type=MessageType.TEXT, source=source, internal=True)
            )
            await until(lambda: stage.events)
            second = box.human.say(None, "two")
            (answer,) = await box.until("answer", to=second)
            await until(lambda: not rows(store.unsettled, owner))

        assert answer["text"] == ANSWER_MARK + "answer to both"
        assert [answer] == await box.until("answer", to=message_id)


async def test_a_turn_that_was_put_off_goes_on_as_a_follow_up(tmp_path: Path) -> None:
    """D4, D24: Canon was told that it thinks; it is the turn in which the message is answered, and it ends."""

    async def agent(event: Any, adapter: Any) -> str | None:
        if event.text == "first":
            adapter.gateway_runner = SimpleNamespace(
                _startup_restore_queue=[event], _startup_restore_in_progress=False, _draining=False
            )
            return None
        (key,) = adapter._active_sessions
        adapter._pending_messages[key] = adapter.gateway_runner._startup_restore_queue.pop()
        assert adapter.get_pending_message(key).text == "first"
        await adapter.send(event.source.chat_id, "answer to second")
        await adapter.send_typing(event.source.chat_id)
        await adapter.send(event.source.chat_id, "answer to first", metadata={"notify": True})
        return None

    with canon_box() as box:
        async with hosted(box, agent, home=tmp_path) as stage:
            first = box.human.say(None, "first")
            await until(lambda: stage.events and not stage.adapter._active_sessions)
            begun = [state["turnId"] for state in box.human.turns()]
            second = box.human.say(None, "second")
            answers = [(await box.until("answer", to=message))[0] for message in (first, second)]
            await box.until("idle")

        assert [answer["text"] for answer in answers] == ["answer to first", "answer to second"]
        assert {answers[0]["metadata"]["turnId"]} == set(begun)
        assert box.breaches() == []
