"""The host's own stream consumer over our adapter: what a streamed answer becomes on Canon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canon_hermes_plugin.turn.events import ToolFinished, ToolStarted
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from canon_ops.wire.splitting import split
from tests.support.conversing import states_of
from tests.support.hosted_adapter import Hosted, hosted, until
from tests.support.hosts import THIS_HOST

pytestmark = pytest.mark.host

CURSOR = " ▉"


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


@asynccontextmanager
async def consuming(adapter: Any, chat_id: str, *, cursor: str = CURSOR) -> AsyncIterator[Any]:
    """A running consumer; leaving the block finishes the stream and waits for its last edit."""
    from gateway.stream_consumer import GatewayStreamConsumer, StreamConsumerConfig

    settings = StreamConsumerConfig(edit_interval=0.01, buffer_threshold=1, cursor=cursor)
    consumer = GatewayStreamConsumer(adapter, chat_id, settings)
    running = asyncio.ensure_future(consumer.run())
    try:
        yield consumer
    finally:
        consumer.finish()
        await running


async def shown(consumer: Any) -> None:
    """Return once the consumer has taken everything said so far."""
    await until(consumer._queue.empty)
    await asyncio.sleep(0.06)  # one turn of the consumer's own loop, which sleeps 50 ms between looks


def tool(stage: Hosted, chat_id: str, call_id: str, *, finished: bool) -> None:
    """A tool hook of the host, from the run's own context."""
    event = (
        ToolFinished("grep", call_id=call_id, result="found", duration_ms=4)
        if finished
        else ToolStarted("grep", call_id=call_id, request=f"request-of-{call_id}")
    )
    stage.runtime.note(chat_id, "", event)


async def answered(
    box: CanonSandbox, run: Callable[[Hosted, Any, Any], Any], *, sender: str | None = None, **extra: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Let ``run`` be the agent of one message; gives the final answer and everything the agent posted."""
    stage_of: list[Hosted] = []

    async def agent(event: Any, adapter: Any) -> None:
        await run(stage_of[0], event, adapter)

    async with hosted(box, agent, **extra) as stage:
        stage_of.append(stage)
        message = box.human.say(None, "go", sender=sender)
        answer = (await box.until("answer", to=message))[-1]
        await until(lambda: states_of(box, answer["metadata"]["turnId"])[-1:] == ["completed"])
    return answer, [entry for entry in box.transcript() if entry["origin"] == "agent"]


@pytest.mark.parametrize("tool_first", [False, True], ids=["segment-first", "tool-first"])
async def test_speech_and_tools_alternate(box: CanonSandbox, tool_first: bool) -> None:
    """S6.23: text, tool, text, tool, text is one answer with all three texts in the trail, whichever comes first."""
    spoken = ["First I look.", "Now I check.", "Done."]

    async def run(stage: Hosted, event: Any, adapter: Any) -> None:
        chat_id = event.source.chat_id
        async with consuming(adapter, chat_id) as consumer:
            for number, text in enumerate(spoken):
                mark = "" if number == 0 else "\n\n"  # the host begins what follows a tool with a blank line
                consumer.on_delta(mark + text)
                if number == len(spoken) - 1:
                    break
                if not tool_first:
                    await shown(consumer)
                consumer.on_segment_break()
                tool(stage, chat_id, f"t{number}", finished=False)
                await shown(consumer)
                tool(stage, chat_id, f"t{number}", finished=True)

    answer, posted = await answered(box, run)

    trail = answer["metadata"]["turnTrail"]
    writes = box.human.node_writes()
    assert [entry["text"] for entry in posted] == ["Done."]
    assert sorted(block["kind"] for block in trail) == ["text", "text", "text", "tool", "tool"]
    assert [block["text"] for block in trail if block["kind"] == "text"] == spoken
    assert not tool_first or [block["kind"] for block in trail][-1] == "text"
    assert tool_first or [block["kind"] for block in trail] == ["text", "tool", "text", "tool", "text"]
    assert not any("▉" in str(entry) for entry in [*writes, *posted])


async def test_an_equal_text_after_a_break_is_kept(box: CanonSandbox) -> None:
    """S6.24: the same words twice, with a break and no tool between, are both part of the answer."""

    async def run(_stage: Hosted, event: Any, adapter: Any) -> None:
        async with consuming(adapter, event.source.chat_id) as consumer:
            consumer.on_delta("Repeat this.")
            consumer.on_segment_break()
            await shown(consumer)
            consumer.on_delta("Repeat this.")

    answer, posted = await answered(box, run)

    assert [entry["text"] for entry in posted] == ["Repeat this.\nRepeat this."]
    assert [block["kind"] for block in answer["metadata"]["turnTrail"]] == ["text", "text"]


@pytest.mark.parametrize("cursor", [" ▉", " <stream>", ""], ids=["block", "word", "none"])
@pytest.mark.parametrize(
    "text",
    ["Keep the literal ▉ and this suffix ▉", "`literal ▉ `", "```\nan open fence with a literal ▉"],
    ids=["suffix", "code", "fence"],
)
async def test_only_the_hosts_cursor_is_removed(box: CanonSandbox, cursor: str, text: str) -> None:
    """S6.25: previews and answer show the author's text, glyphs included, and never the host's cursor."""

    async def run(stage: Hosted, event: Any, adapter: Any) -> None:
        from types import SimpleNamespace

        adapter.gateway_runner = SimpleNamespace(config=SimpleNamespace(streaming=SimpleNamespace(cursor=cursor)))
        async with consuming(adapter, event.source.chat_id, cursor=cursor) as consumer:
            for index in range(0, len(text), 7):
                consumer.on_delta(text[index : index + 7])
                await shown(consumer)
        adapter.gateway_runner = None

    _answer, posted = await answered(box, run)

    previews = [write["text"] for write in box.human.node_writes() if write.get("text")]
    ends = ("", "\n```", "`") if THIS_HOST.closes_code else ("",)  # what the host puts behind code that is still open
    assert [entry["text"] for entry in posted] in [[f"{text}{end}"] for end in ends]
    assert previews
    assert all(
        any(preview.endswith(end) and text.startswith(preview.removesuffix(end)) for end in ends)
        for preview in previews
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("The quick brown fox jumps over the lazy dog. " * 175, id="ascii"),
        pytest.param("ש" * 3_900, id="hebrew"),
    ],
)
async def test_a_long_streamed_answer_is_cut_once(box: CanonSandbox, text: str) -> None:
    """S7.40: the parts are our own split, share a group, and only the last one notifies."""
    answer, posted = await answered(box, saying(text))

    marks = [entry["metadata"] for entry in posted]
    assert tuple(entry["text"] for entry in posted) == split(text.strip()) or tuple(
        entry["text"] for entry in posted
    ) == split(text)
    assert [mark["turnSemantics"] for mark in marks] == ["progress"] * (len(marks) - 1) + ["turn_complete"]
    assert {mark["messageChunk"]["groupId"] for mark in marks} == {answer["metadata"]["messageChunk"]["groupId"]}
    assert answer["metadata"]["messageChunk"]["groupId"].startswith("hermes-final-")
    assert all(mark["replyBehavior"] == "suppress_auto_reply" for mark in marks[:-1])
    assert [write for write in box.human.node_writes() if write.get("text")]


@pytest.mark.parametrize("text", ["Short and sweet.", "שלום וברכה"], ids=["ascii", "hebrew"])
async def test_a_short_streamed_answer_is_one_message(box: CanonSandbox, text: str) -> None:
    """S7.41: no chunk, no reply behaviour, one message."""
    answer, posted = await answered(box, saying(text))

    assert [entry["text"] for entry in posted] == [text]
    assert not {"messageChunk", "replyBehavior"} & set(answer["metadata"])


async def test_an_answer_beyond_the_hosts_ceiling_notifies_once(box: CanonSandbox) -> None:
    """S7.42: 65.8 kB overflow the host's draft into a second one; still exactly one message notifies."""
    lines = [f"line {index:04d} of a very long answer" for index in range(2_000)]

    answer, posted = await answered(box, saying("\n".join(lines)))

    notifying = [entry for entry in posted if entry["metadata"]["turnSemantics"] == "turn_complete"]
    assert notifying == [answer]
    assert "\n".join(entry["text"] for entry in posted).split("\n") == lines


async def test_two_members_stream_at_the_same_time(box: CanonSandbox) -> None:
    """S6.12: in one group two per-user turns stream at once; each answer carries its own words and its own turn."""
    ben = box.human.add_person("Ben")
    room = box.human.open_conversation([box.endpoints.owner_id, ben, "agent_sandbox"], name="Trio")
    together = asyncio.Barrier(2)

    async def agent(event: Any, adapter: Any) -> None:
        async with consuming(adapter, event.source.chat_id) as consumer:
            for word in f"Answer for {event.source.user_name} alone.".split():
                consumer.on_delta(f"{word} ")
                await together.wait()
                await shown(consumer)

    async with hosted(box, agent, turn_verbosity="verbose"):
        asked = {name: box.human.say(room, "go", sender=who) for name, who in (("Olivia", None), ("Ben", ben))}
        finals = {name: (await box.until("answer", to=message))[0] for name, message in asked.items()}

    assert {name: final["text"].strip() for name, final in finals.items()} == {
        name: f"Answer for {name} alone." for name in asked
    }
    assert len({final["metadata"]["turnId"] for final in finals.values()}) == 2


def saying(text: str) -> Callable[[Hosted, Any, Any], Any]:
    """An agent that streams ``text`` in pieces of a tenth."""

    async def run(_stage: Hosted, event: Any, adapter: Any) -> None:
        async with consuming(adapter, event.source.chat_id) as consumer:
            for piece in pieces(text):
                consumer.on_delta(piece)
                await asyncio.sleep(0.02)

    return run


def pieces(text: str, count: int = 10) -> Sequence[str]:
    size = max(1, len(text) // count)
    return [text[index : index + size] for index in range(0, len(text), size)]


async def test_a_short_first_answer_streams_after_the_next_message_was_taken(box: CanonSandbox) -> None:
    """R6.34: the run has ended and the host has taken the follow-up before the first answer's first segment arrives."""

    async def agent(event: Any, adapter: Any) -> None:
        if event.text != "one":
            return
        chat_id, key = event.source.chat_id, next(iter(adapter._active_sessions))
        await until(lambda: key in adapter._pending_messages)
        async with consuming(adapter, chat_id) as consumer:
            consumer.on_delta("answer to one")
            assert adapter.get_pending_message(key).text == "two"
        await adapter.send_typing(chat_id)
        async with consuming(adapter, chat_id) as consumer:
            consumer.on_delta("answer to two")

    async with hosted(box, agent) as stage:
        first = box.human.say(None, "one")
        await until(lambda: stage.events)
        second = box.human.say(None, "two")
        answers = [(await box.until("answer", to=message))[0] for message in (first, second)]

    assert [answer["text"] for answer in answers] == ["answer to one", "answer to two"]
    assert len({answer["metadata"]["turnId"] for answer in answers}) == 2
