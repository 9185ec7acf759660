"""What the host's sends and edits become on Canon, through the whole adapter: in a turn, beside one, and outside."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.hooks import ActivityHooks
from canon_hermes_plugin.outbox.store import State, all_postings
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.wire.splitting import split
from tests.support.conversing import states_of
from tests.support.hosted_adapter import Hosted, hosted, until

pytestmark = pytest.mark.host

ROOM = "conv_direct"


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def posted(box: CanonSandbox) -> list[dict[str, Any]]:
    return [entry for entry in box.transcript(ROOM) if entry["origin"] == "agent"]


def sends(box: CanonSandbox) -> list[dict[str, Any]]:
    return [entry["body"] for entry in box.journal() if entry["path"] == "/messages/send"]


# --- outside of any turn ------------------------------------------------------------------------------------------


async def test_a_plain_send_is_a_message(box: CanonSandbox) -> None:
    """S6.4, S7.23: one notifying message without trail, chunk or preview; the host gets its id."""
    async with hosted(box) as stage:
        result = await stage.adapter.send(ROOM, "hello")

    (message,) = posted(box)
    assert (result.success, result.message_id, message["text"]) == (True, message["id"], "hello")
    assert message["metadata"] == {"turnSemantics": "turn_complete", "turnComplete": True}
    assert box.human.node_writes(ROOM) == []


async def test_a_notice_whose_responses_are_lost_is_one_message(box: CanonSandbox) -> None:
    """S7.30, X1: what belongs to no turn has its own id and stands in the outbox; nothing that is lost doubles it.

    The host is told that it is delivered, so that neither its own retry nor a scheduler's other way says it again.
    """
    box.fault("send-lost-response", times=3, burst=3)
    async with hosted(box) as stage:
        result = await stage.adapter._send_with_retry(ROOM, "the report", base_delay=0.01)
        owed = await stage.runtime._connected.kept.outbox.owed()  # type: ignore[union-attr]
        await until(lambda: len(sends(box)) == 4)

    (message,) = posted(box)
    assert (result.success, result.message_id, owed.count) == (True, message["id"], 1)
    assert result.raw_response == {"deliveryPending": True}
    assert len({json.dumps(body, sort_keys=True) for body in sends(box)}) == 1


async def test_a_notice_outlives_its_gateway(box: CanonSandbox, tmp_path: Path) -> None:
    """X1: Canon was away when the job reported, and the gateway stopped: the next one brings it, under the same id."""
    box.fault("send-503", times=None, burst=None)
    async with hosted(box, home=tmp_path) as stage:
        result = await stage.adapter.send(ROOM, "the report")
    box.human.calm()
    async with hosted(box, home=tmp_path):
        await until(lambda: posted(box))

    assert [(message["id"], message["text"]) for message in posted(box)] == [(result.message_id, "the report")]
    assert (result.success, len({body["messageId"] for body in sends(box)})) == (True, 1)


async def test_a_notice_that_canon_refuses_is_a_failure_and_is_kept(box: CanonSandbox, tmp_path: Path) -> None:
    """X9: the host hears the reason, and a person finds the message."""
    async with hosted(box, home=tmp_path) as stage:
        result = await stage.adapter.send("conv_of_nobody", "the report")
        (posting,) = await stage.runtime._connected.kept.file.read(all_postings)  # type: ignore[union-attr]

    assert (result.success, result.retryable, posting.state) == (False, False, State.REFUSED)
    assert (posting.operation.texts, posting.error) == (("the report",), result.error)


async def test_a_long_plain_send_replies_with_every_part(box: CanonSandbox) -> None:
    """S7.24: each part replies to the same message; the leading ones are quiet, the last one notifies."""
    original = box.human.say(ROOM, "to be replied to", verdict="record_only")
    async with hosted(box) as stage:
        await stage.adapter.send(ROOM, "ש" * 3_900, reply_to=original)

    parts = posted(box)
    assert tuple(part["text"] for part in parts) == split("ש" * 3_900)
    assert {part["replyTo"] for part in parts} == {original}
    assert [part["metadata"]["turnSemantics"] for part in parts] == ["progress", "progress", "turn_complete"]
    assert [part["metadata"]["messageChunk"]["index"] for part in parts] == [1, 2, 3]


async def test_a_draft_that_is_finalised_is_one_message(box: CanonSandbox) -> None:
    """S7.52, S6.22, R7.3: a draft outside of a turn is shown, and its finalised text is delivered exactly once."""
    async with hosted(box) as stage:
        draft = await stage.adapter.send(ROOM, "pre", metadata={"expect_edits": True})
        first = await stage.adapter.edit_message(ROOM, draft.message_id, "pre and more", finalize=True)
        again = await stage.adapter.edit_message(ROOM, draft.message_id, "pre and more", finalize=True)
        await until(lambda: box.node(ROOM) is None)

    assert draft.message_id and (first.success, again.success) == (True, True)
    assert draft.raw_response == {"streaming": True, "turnId": draft.message_id}
    assert again.raw_response["duplicateFinal"] is True
    assert [message["text"] for message in posted(box)] == ["pre and more"]
    assert next(write["text"] for write in box.human.node_writes(ROOM) if write.get("text")) == "pre"


async def test_an_answer_whose_responses_are_lost_is_repeated_as_itself(box: CanonSandbox) -> None:
    """S7.36: three lost responses fail the send; the host's repetition recovers it under the first attempt's id."""
    box.fault("send-lost-response", times=3, burst=3)
    async with hosted(box) as stage:
        lost = await stage.adapter.send(ROOM, "precious", metadata={"notify": True})
        again = await stage.adapter.send(ROOM, "precious", metadata={"notify": True})

    assert (lost.success, lost.retryable, again.success) == (False, True, True)
    assert [message["text"] for message in posted(box)] == ["precious"]
    assert len({body["messageId"] for body in sends(box)}) == 1 and len(sends(box)) == 4


async def test_the_hosts_own_retry_makes_no_second_message(box: CanonSandbox) -> None:
    """S7.36 with the host's real retry: whatever is lost on the way, people see one message."""
    box.fault("send-lost-response", times=4, burst=None)
    async with hosted(box) as stage:
        result = await stage.adapter._send_with_retry(ROOM, "precious", metadata={"notify": True}, base_delay=0.01)

    assert result.success
    assert [message["text"] for message in posted(box)] == ["precious"]


@pytest.mark.parametrize("repeat", ["send", "edit"])
async def test_only_the_part_that_was_lost_is_repeated(box: CanonSandbox, repeat: str) -> None:
    """S7.37, S7.36: three lost responses to the last part; the repetition, by send or edit, sends that part alone."""
    text = "ש" * 5_000
    box.fault("send-lost-response", times=3, burst=3, skip=2)
    async with hosted(box) as stage:
        lost = await stage.adapter.send(ROOM, text, metadata={"notify": True})
        turn_id = next(iter(stage.runtime._desk.turns.live))
        if repeat == "send":
            again = await stage.adapter.send(ROOM, text, metadata={"notify": True})
        else:
            again = await stage.adapter.edit_message(ROOM, turn_id, text, finalize=True)

    ids = [body["messageId"] for body in sends(box)]
    assert (lost.success, again.success) == (False, True)
    assert tuple(message["text"] for message in posted(box)) == split(text)
    assert [ids.count(each) for each in dict.fromkeys(ids)] == [1, 1, 4]


@pytest.mark.parametrize("way", ["send", "edit"])
@pytest.mark.parametrize(("refused", "stored"), [(1, 0), (2, 1), (3, 2)], ids=["S7.27-first", "S7.28-second", "last"])
async def test_a_part_that_canon_refuses_is_a_failure(box: CanonSandbox, refused: int, stored: int, way: str) -> None:
    """S7.27, S7.28: what was stored before it stays and notifies nobody; the host hears of a failure, not of an end."""
    text = "ש" * 5_000
    box.fault("send-400", skip=refused - 1)
    async with hosted(box) as stage:
        if way == "send":
            result = await stage.adapter.send(ROOM, text, metadata={"notify": True})
        else:
            draft = await stage.adapter.send(ROOM, "pre", metadata={"expect_edits": True})
            result = await stage.adapter.edit_message(ROOM, draft.message_id, text, finalize=True)
        parts, asked = posted(box), len(sends(box))
        again = await stage.adapter.edit_message(ROOM, result.message_id, text, finalize=True)

    assert (result.success, result.retryable, bool(result.error)) == (False, False, True)
    assert [part["text"] for part in parts] == [*split(text)[:stored]]
    assert {part["metadata"]["turnSemantics"] for part in parts} <= {"progress"}
    assert asked == refused
    assert again.success and not again.raw_response  # a duplicate of nothing: it brings what is missing
    assert tuple(part["text"] for part in posted(box)) == split(text)


async def test_equal_messages_at_the_same_time_are_two(box: CanonSandbox) -> None:
    """S7.33: while the first is on its way the second waits, and is then a message of its own under its own id."""
    box.fault("delay", path="/messages/send", seconds=0.3)
    async with hosted(box) as stage:
        results = await asyncio.gather(
            *(stage.adapter.send(ROOM, "twice", metadata={"notify": True}) for _ in range(2))
        )

    assert [result.success for result in results] == [True, True]
    assert [message["text"] for message in posted(box)] == ["twice", "twice"]
    assert len({body["messageId"] for body in sends(box)}) == 2 == len(sends(box))


async def test_equal_chunks_of_a_fallback_are_two_messages(box: CanonSandbox) -> None:
    """S7.35: what the host cuts itself, when its edits fail, may repeat a text; both are delivered."""
    chunk = "a" * 3_800
    async with hosted(box) as stage:
        for _ in range(2):
            assert (await stage.adapter.send(ROOM, chunk, metadata={"notify": True})).success

    assert [message["text"] for message in posted(box)] == [chunk, chunk]
    assert len({body["messageId"] for body in sends(box)}) == 2


async def test_host_metadata_cannot_name_a_message(box: CanonSandbox) -> None:
    """S7.48, S3.32: a message id or a reply authority inside generic options goes nowhere."""
    options = {"messageId": "x", "replyAuthority": {"token": "t" * 40}, "mentions": ["user-1"]}
    async with hosted(box) as stage:
        await stage.adapter.send(ROOM, "hello", metadata={"canon_options": options, "thread": 7})

    (body,) = sends(box)
    assert "x" not in body.values() and "replyAuthority" not in body
    assert (body["mentions"], body["metadata"]["hermes"]) == (["user-1"], {"thread": 7})


# --- in a turn ----------------------------------------------------------------------------------------------------


async def test_only_marked_sends_belong_to_the_answer(box: CanonSandbox) -> None:
    """S6.2: progress is acknowledged and not written; the marked answer is delivered once, when the run completes."""
    results = []

    async def agent(event: Any, adapter: Any) -> None:
        results.append(await adapter.send(event.source.chat_id, "⏳ working"))
        results.append(await adapter.send(event.source.chat_id, "The final answer.", metadata={"notify": True}))
        assert posted(box) == []

    async with hosted(box, agent):
        await box.until("answer", to=box.human.say(ROOM, "go"))

    progress, answer = results
    assert (progress.success, progress.message_id) == (True, None)
    assert progress.raw_response["suppressedAuxiliary"] is True
    assert answer.raw_response["finalPending"] is True and answer.message_id.startswith("canon-stream:hermes-")
    assert [message["text"] for message in posted(box)] == ["The final answer."]


async def test_only_the_answer_carries_the_authority(box: CanonSandbox) -> None:
    """S3.30: its one send has Canon's leave to answer that message; what is said after the turn has none."""
    raws: list[Any] = []

    async def agent(event: Any, adapter: Any) -> str:
        raws.append(event.raw_message)
        return "The answer."

    async with hosted(box, agent) as stage:
        message = box.human.say(ROOM, "go")
        await box.until("answer", to=message)
        await until(lambda: not stage.runtime.has_open_turn(ROOM))
        await stage.adapter.send(ROOM, "a notice")

    answer, notice = sends(box)
    assert "replyAuthority" not in raws[0]
    assert (answer["text"], answer["metadata"]["turnSemantics"]) == ("The answer.", "turn_complete")
    assert answer["metadata"]["turnId"].startswith("hermes-")
    assert answer["replyAuthority"]["sourceMessageId"] == message
    assert (notice["text"], "replyAuthority" in notice) == ("a notice", False)


async def test_tools_that_other_threads_report_wait_for_the_loop(box: CanonSandbox) -> None:
    """S6.21: what a hook says on a thread changes nothing until the gateway's loop runs, and then comes in order."""
    names = [f"tool {number}" for number in range(8)]
    stages: list[Hosted] = []

    async def agent(event: Any, adapter: Any) -> str:
        session = {"HERMES_SESSION_PLATFORM": "canon", "HERMES_SESSION_CHAT_ID": event.source.chat_id}
        hooks = ActivityHooks(lambda key: session.get(key, ""), lambda: False, active=stages[0].active)
        desk = stages[0].runtime._desk

        def report() -> None:
            for name in names:
                hooks.pre_tool_call(tool_name=name, tool_call_id=name)

        before = desk.turns
        thread = threading.Thread(target=copy_context().run, args=(report,))  # as the host runs its agent
        thread.start()
        thread.join()  # the loop stands still meanwhile
        assert desk.turns is before
        await asyncio.sleep(0)
        return "The answer."

    async with hosted(box, agent, turn_verbosity="verbose") as stage:
        stages.append(stage)
        (answer,) = await box.until("answer", to=box.human.say(ROOM, "go"))

    assert answer["text"] == "The answer."
    trail = [block["title"] for block in answer["metadata"]["turnTrail"] if block["kind"] == "tool"]
    assert trail == names


async def test_a_failing_preview_costs_nothing_but_the_preview(box: CanonSandbox) -> None:
    """S6.19: when the node cannot be written, the results say so and the answer arrives whole."""
    box.fault("streaming-500")
    results = []

    async def agent(event: Any, adapter: Any) -> None:
        chat_id = event.source.chat_id
        draft = await adapter.send(chat_id, "par", metadata={"expect_edits": True})
        await until(lambda: [entry for entry in box.journal() if entry["path"] == "/streaming" and entry["status"]])
        await asyncio.sleep(0.02)
        results.append(await adapter.edit_message(chat_id, draft.message_id, "partial"))
        results.append(await adapter.edit_message(chat_id, draft.message_id, "partial answer", finalize=True))

    async with hosted(box, agent):
        await box.until("answer", to=box.human.say(ROOM, "go"))

    assert [(result.success, result.raw_response.get("previewDropped")) for result in results] == [(True, True)] * 2
    assert [message["text"] for message in posted(box)] == ["partial answer"]


async def test_a_reply_from_another_task_is_its_own_message(box: CanonSandbox) -> None:
    """S7.49, S7.51: from outside the run a marked reply is delivered at once, an unmarked one is swallowed."""
    results = []

    async def agent(event: Any, adapter: Any) -> str:
        await outside.wait()
        return "the answer"

    outside = asyncio.Event()
    async with hosted(box, agent) as stage:
        message = box.human.say(ROOM, "go")
        await until(lambda: stage.events)
        results.append(await stage.adapter.send(ROOM, "status: fine", metadata={"notify": True}))
        results.append(await stage.adapter.send(ROOM, "noise"))
        at_once = [entry["text"] for entry in posted(box)]
        outside.set()
        await box.until("answer", to=message)

    reply, noise = results
    assert (at_once, noise.raw_response["suppressedAuxiliary"]) == (["status: fine"], True)
    assert reply.message_id == posted(box)[0]["id"] and "turnId" not in posted(box)[0]["metadata"]
    assert [entry["text"] for entry in posted(box)] == ["status: fine", "the answer"]


async def test_a_late_child_of_a_finished_run_writes_nothing(box: CanonSandbox) -> None:
    """S6.27: what a run left behind is stale, also while the next turn of the conversation runs."""
    leftovers: list[asyncio.Task[Any]] = []
    gate, second_is_in = asyncio.Event(), asyncio.Event()

    async def late(adapter: Any) -> Any:
        await gate.wait()
        return await adapter.send(ROOM, "from the past", metadata={"notify": True})

    async def agent(event: Any, adapter: Any) -> str:
        if not leftovers:
            leftovers.append(asyncio.ensure_future(late(adapter)))
            return "first"
        second_is_in.set()
        await leftovers[0]
        return "second"

    async with hosted(box, agent):
        await box.until("answer", to=box.human.say(ROOM, "one"))
        await until(lambda: states_of(box, posted(box)[0]["metadata"]["turnId"])[-1:] == ["completed"])
        second = box.human.say(ROOM, "two")
        await second_is_in.wait()
        gate.set()
        await box.until("answer", to=second)

    assert leftovers[0].result().raw_response == {"suppressedStaleOutput": True}
    assert [entry["text"] for entry in posted(box)] == ["first", "second"]


async def test_a_queued_message_follows_in_the_same_run(box: CanonSandbox) -> None:
    """S6.58: an unstreamed first answer, sent unmarked after the host took the next message, is the first turn's."""

    async def agent(event: Any, adapter: Any) -> None:
        if event.text != "one":
            return
        chat_id, key = event.source.chat_id, next(iter(adapter._active_sessions))
        await until(lambda: key in adapter._pending_messages)
        assert adapter.get_pending_message(key).text == "two"
        await adapter.send(chat_id, "answer to one")
        await adapter.send_typing(chat_id)
        await adapter.send(chat_id, "answer to two", metadata={"notify": True})

    async with hosted(box, agent) as stage:
        stage.adapter._busy_text_mode = "interrupt"
        first = box.human.say(ROOM, "one")
        await until(lambda: stage.events)
        second = box.human.say(ROOM, "two")
        answers = [(await box.until("answer", to=message))[0] for message in (first, second)]

    assert [answer["text"] for answer in answers] == ["answer to one", "answer to two"]
    assert len({answer["metadata"]["turnId"] for answer in answers}) == 2
