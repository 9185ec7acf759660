"""Messages of a busy session on the host's own queue: what waits, what is stopped, what the turn hears."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.desk import Silence
from canon_hermes_plugin.hosting.runner import HostRunner
from canon_hermes_plugin.turn.events import ModelCalled
from tests.support.busy_host import AUTHORITY, KEY, ROOM, Agent, Busy, MuteAgent, a_busy_session, a_request

pytestmark = pytest.mark.host


def being_made() -> Any:
    """What the host has in place of an agent that it is still making."""
    from gateway.run import _AGENT_PENDING_SENTINEL

    return _AGENT_PENDING_SENTINEL


async def until(holds: Callable[[], Any]) -> None:
    """Wait for something that comes within a few looks."""
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  # the host's agents set no event
            await asyncio.sleep(0.01)


# --- wiring -------------------------------------------------------------------------------------------------------


async def test_ours_stands_in_front_and_goes_away() -> None:
    """S5.1: the host's handler is wrapped while there is one."""
    busy = a_busy_session()
    wired = (busy.adapter._busy_session_handler, busy.sessions.can_route, busy.sessions.has_seam)

    busy.adapter.set_busy_session_handler(None)

    assert wired == (busy.sessions.dispatch, True, True)
    assert (busy.adapter._busy_session_handler, busy.sessions.can_route, busy.sessions.has_seam) == (None, False, False)
    assert await busy.sessions.dispatch(busy.event(a_request("hi")), KEY) is False


async def test_a_plain_function_is_left_alone() -> None:
    """S5.15: behind a handler that belongs to no runner there is nothing that could be asked."""
    busy, seen = a_busy_session(wired=False), []
    busy.adapter.gateway_runner = None

    async def handler(event: Any, session_key: str) -> bool:
        seen.append(event.text)
        return True

    busy.adapter.set_busy_session_handler(handler)
    await busy.say("hi", "interrupt")

    assert (seen, busy.waiting, busy.agent.interrupts) == (["hi"], [], [])


async def test_a_host_without_its_members_decides_itself(caplog: pytest.LogCaptureFixture) -> None:
    """S5.16, S5.19: one warning that names what is missing, and no interleave is offered."""
    busy, seen = a_busy_session(wired=False), []

    async def handler(event: Any, session_key: str) -> bool:
        seen.append(event.text)
        return True

    handler_of = SimpleNamespace(_queue_or_replace_pending_event=None, _draining=False)
    busy.adapter.gateway_runner = handler_of
    busy.adapter.set_busy_session_handler(handler)
    for text in ("one", "two"):
        await busy.say(text, "interrupt")

    warnings = [record.getMessage() for record in caplog.records if "lacks" in record.getMessage()]
    assert seen == ["one", "two"] and busy.agent.interrupts == []
    assert (len(warnings), "_running_agents" in warnings[0], "host.contract" in warnings[0]) == (1, True, True)
    assert busy.adapter._port.can_steer() is False


async def test_interleave_is_offered_where_it_is_possible() -> None:
    """S5.19."""
    assert a_busy_session().adapter._port.can_steer() is True


# --- intents ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent", [None, "queue"])
async def test_a_message_waits(intent: str | None) -> None:
    """S5.2, S5.3: nothing is interrupted, and the host's own handler is not asked."""
    busy = a_busy_session()

    await busy.say("hi", intent)

    assert (busy.waiting, busy.agent.interrupts, busy.runner.left) == (["hi"], [], [])
    assert busy.notes.accepted == []


async def test_an_interruption() -> None:
    """S5.4: the message waits, the agent is stopped with its words, and the turn knows that we did it."""
    busy = a_busy_session()

    await busy.say("change of plans", "interrupt")

    assert (busy.waiting, busy.agent.interrupts) == (["change of plans"], ["change of plans"])
    assert busy.turn.interrupted


@pytest.mark.parametrize("why", ["subagents", "compression", "plain", "raises"])
async def test_an_interruption_that_would_do_harm_waits(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S5.5: sub-agents, a compression (told by a plain function or a coroutine), or a host that cannot say."""
    busy = a_busy_session()

    async def compresses(session_key: str) -> bool:
        return True

    def fails(session_key: str) -> bool:
        raise RuntimeError("no database")

    if why == "subagents":
        busy.agent._active_children.append(object())
    else:
        check = {"compression": compresses, "plain": lambda session_key: True, "raises": fails}[why]
        monkeypatch.setattr(busy.runner, "_session_has_compression_in_flight", check)
    await busy.say("change of plans", "interrupt")

    assert (busy.waiting, busy.agent.interrupts, busy.turn.interrupted) == (["change of plans"], [], False)


async def test_an_agent_that_cannot_be_interrupted_is_no_failure() -> None:
    """R5.7: the message waits all the same."""
    busy = a_busy_session()
    busy.agent.raises = True

    await busy.say("change of plans", "interrupt")

    assert busy.waiting == ["change of plans"]


async def test_words_for_an_agent_that_is_still_made_wait() -> None:
    """R5.5, R5.6: they are answered next."""
    busy = a_busy_session(being_made())

    await busy.say("also check the logs", "interleave")

    assert (busy.waiting, busy.turn.interrupted, len(busy.sessions._early)) == (["also check the logs"], False, 0)


@pytest.mark.parametrize("intent", ["interrupt", "stop"])
async def test_an_agent_that_is_still_made_is_interrupted_once_it_is_there(intent: str) -> None:
    """S5.4, S5.9, R5.5: the host's mark for it is no agent; without a look at what comes, the whole turn would run."""
    busy = a_busy_session(being_made())

    await busy.say("change of plans", intent)
    await asyncio.sleep(0.1)
    before = busy.turn.interrupted
    busy.runner._running_agents[KEY] = agent = Agent()
    await until(lambda: agent.interrupts)

    assert (before, busy.waiting, agent.interrupts) == (False, ["change of plans"], ["change of plans"])
    assert (busy.turn.interrupted, len(busy.sessions._early)) == (True, 0)


@pytest.mark.parametrize("why", ["run over", "run stopped", "next message", "stopped by the host", "unwired", "idle"])
async def test_an_early_interruption_is_of_its_run_only(why: str) -> None:
    """R5.6: the agent that comes after the run has ended, or was ended by something else, is left alone."""
    busy = a_busy_session(being_made())
    await busy.say("change of plans", "interrupt")

    match why:
        case "run over" | "run stopped":
            busy.end_run(is_stopped=why == "run stopped")
        case "next message":
            busy.promote()
        case "stopped by the host":
            await busy.adapter.interrupt_session_activity(KEY, ROOM)
        case "unwired":
            busy.adapter.set_busy_session_handler(None)
        case "idle":
            busy.adapter._active_sessions.clear()
            await asyncio.sleep(0.1)
            busy.adapter._active_sessions[KEY] = asyncio.Event()
    busy.runner._running_agents[KEY] = agent = Agent()
    await asyncio.sleep(0.15)

    assert (agent.interrupts, len(busy.sessions._early)) == ([], 0)


async def test_an_early_interruption_spares_what_it_would_tear_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """S5.5: a turn may begin with a compression; a message that stops is not asked about it."""
    busy = a_busy_session(being_made())
    monkeypatch.setattr(busy.runner, "_session_has_compression_in_flight", lambda session_key: True)

    await busy.say("change of plans", "interrupt")
    busy.runner._running_agents[KEY] = agent = Agent()
    await until(lambda: not len(busy.sessions._early))

    assert (agent.interrupts, busy.waiting) == ([], ["change of plans"])


async def test_the_newest_early_interruption_counts() -> None:
    """S5.4: two of them are one; what the agent is told is the last."""
    busy = a_busy_session(being_made())

    await busy.say("one", "interrupt")
    await busy.say("two", "interrupt", message_id="m3")
    busy.runner._running_agents[KEY] = agent = Agent()
    await until(lambda: agent.interrupts)
    await asyncio.sleep(0.1)

    assert (agent.interrupts, busy.waiting) == (["two"], ["one", "two"])


async def test_a_stop_takes_the_place_of_everything() -> None:
    """S5.9, S5.10, R5.25: what waited is gone with what it had swallowed, also while sub-agents run."""
    busy = a_busy_session()
    busy.agent._active_children.append(object())
    for number in (2, 3):
        await busy.say(f"waits {number}", message_id=f"m{number}")

    await busy.say("stop it", "stop", message_id="m4")

    assert (busy.waiting, busy.agent.interrupts) == (["stop it"], ["stop it"])
    assert busy.notes.dropped == ["m2", "m3"]


async def test_a_stop_comes_before_its_files() -> None:
    """R5.6, D25: the run is stopped without words that the host would answer, and what waited is gone; nothing else."""
    busy = a_busy_session()
    await busy.say("waits", message_id="m2")

    stopped = busy.adapter._port.stop_now(a_request("not that", "stop", message_id="m3"))

    assert (stopped, busy.waiting, busy.agent.interrupts) == (True, [], [None])
    assert (busy.notes.dropped, busy.notes.accepted, busy.turn.interrupted) == (["m2"], [], True)


@pytest.mark.parametrize("why", ["intent", "no agent", "draining", "stranger", "idle", "unwired"])
async def test_what_is_not_for_a_message_to_stop_goes_on(why: str) -> None:
    """R5.3, R5.5: the same table decides; what it leaves to the host, or has no agent yet, waits for the message."""
    from gateway.run import _AGENT_PENDING_SENTINEL

    busy = a_busy_session(_AGENT_PENDING_SENTINEL if why == "no agent" else Agent(), wired=why != "unwired")
    busy.runner._draining = why == "draining"
    busy.runner.authorized = why != "stranger"
    if why == "idle":
        busy.adapter._active_sessions.clear()
        busy.runner._running_agents.clear()

    stopped = busy.adapter._port.stop_now(a_request("not that", "interrupt" if why == "intent" else "stop"))

    assert (stopped, getattr(busy.agent, "interrupts", []), busy.turn.interrupted) == (False, [], False)


async def test_words_go_into_the_turn() -> None:
    """S5.6, D12, D64: nothing waits, the message leaves the shelf, and its leave to answer goes with it."""
    busy = a_busy_session()

    await busy.say("also check the logs", "interleave", authority=AUTHORITY)

    assert (busy.agent.steered, busy.waiting) == (["also check the logs"], [])
    assert (busy.notes.accepted, busy.notes.joined, busy.notes.left) == (["m2"], ["m2"], [])
    assert (busy.turn.unread, busy.turn.steered_authority) == ((1,), AUTHORITY)


async def test_words_take_their_background_and_their_speaker() -> None:
    """D12: nothing of the message is lost but what people see on Canon anyway."""
    busy = a_busy_session()

    await busy.say("look", "interleave", user="user-2", name="Ben", context="[said before]")

    assert busy.agent.steered == ["[said before]\n\n[Ben] look"]


@pytest.mark.parametrize(
    "more", [{"media": ("cat.png",)}, {"attachments": ({"kind": "image"},)}], ids=["bytes", "no bytes"]
)
async def test_an_attachment_is_not_lost(more: dict[str, Any]) -> None:
    """D12: whether its bytes are there, or only trusted tools may see them."""
    busy = a_busy_session()

    await busy.say("look at this", "interleave", **more)

    assert (busy.agent.steered, busy.waiting, busy.notes.accepted) == ([], ["look at this"], [])


@pytest.mark.parametrize("agent", [Agent(takes=False), MuteAgent()], ids=["refuses", "cannot"])
async def test_words_that_are_not_taken_wait(agent: Any) -> None:
    """S5.7, S5.8."""
    busy = a_busy_session(agent)

    await busy.say("also", "interleave")

    assert (busy.waiting, busy.notes.accepted) == (["also"], [])


async def test_words_wait_when_the_agent_breaks_over_them() -> None:
    """R5.6: raising counts as refusing."""
    busy = a_busy_session()
    busy.agent.raises = True

    await busy.say("also", "interleave")

    assert busy.waiting == ["also"]


@pytest.mark.parametrize("why", ["command", "internal", "draining", "unauthorised", "unsure"])
async def test_what_is_the_hosts(why: str) -> None:
    """S5.11: nothing of ours is done with it."""
    busy = a_busy_session()
    event = busy.event(a_request("/status" if why == "command" else "hi", "interrupt"))
    event.internal = why == "internal"
    busy.runner._draining = why == "draining"
    if why in ("unauthorised", "unsure"):
        busy.runner.authorized = RuntimeError("no list") if why == "unsure" else False

    await busy.sessions.dispatch(event, KEY)

    assert (busy.runner.left, busy.waiting, busy.agent.interrupts) == ([event], [], [])


@pytest.fixture
def approval_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The session waits for somebody's leave."""
    import tools.approval

    from canon_hermes_plugin import host

    monkeypatch.setattr(tools.approval, "has_blocking_approval", lambda session_key: session_key == KEY)
    host._resolve.cache_clear()
    yield
    host._resolve.cache_clear()


async def test_a_word_answers_an_approval(approval_waits: None) -> None:
    """S5.12, S5.13, D64: the host gets the answer, which leaves the shelf without a turn; other words wait."""
    busy = a_busy_session()

    await busy.say("Yes", "interrupt", message_id="m2")
    await busy.say("also check the attachment", message_id="m3")

    assert [event.text for event in busy.runner.left] == ["Yes"]
    assert (busy.waiting, busy.notes.accepted, busy.agent.interrupts) == (["also check the attachment"], ["m2"], [])


@pytest.mark.parametrize(("word", "command"), [("Yes", "/approve"), ("no", "/deny"), ("always", "/approve always")])
async def test_a_word_that_the_host_lacks_answers_an_approval(
    approval_waits: None, monkeypatch: pytest.MonkeyPatch, word: str, command: str
) -> None:
    """S5.12, D64: a host without its texts would let a yes wait until the approval is over; it hears a command."""
    busy, heard = a_busy_session(), []
    busy.runner.words = set()

    async def handle(event: Any) -> None:
        heard.append(event.text)

    monkeypatch.setattr(busy.adapter, "handle_message", handle)
    event = await busy.say(word, message_id="m2")

    assert (heard, event.text) == ([command], word)
    assert (busy.runner.left, busy.waiting, busy.notes.accepted) == ([], [], ["m2"])


def test_a_host_that_does_not_say_takes_each_word() -> None:
    """R5.4: older hosts keep their words where nobody can ask for them."""
    assert HostRunner(object()).takes_word("yes")


async def test_a_run_that_ended_meanwhile_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the host is asked about a compression its run may end; the message then begins at once."""
    busy, begun = a_busy_session(), []

    async def ends(session_key: str) -> bool:
        del busy.adapter._active_sessions[KEY]
        return False

    async def handle(event: Any) -> None:
        begun.append(event.text)

    monkeypatch.setattr(busy.runner, "_session_has_compression_in_flight", ends)
    monkeypatch.setattr(busy.adapter, "handle_message", handle)
    await busy.say("change of plans", "interrupt")

    assert (begun, busy.waiting) == (["change of plans"], [])


# --- the queue ----------------------------------------------------------------------------------------------------


async def test_the_queue_is_counted_wherever_it_is() -> None:
    """S5.17, S5.18: the slot and what is behind it, whatever mapping the host keeps it in; all of it can be dropped."""
    busy = a_busy_session()
    for number in range(3):
        await busy.say(f"waits {number}", message_id=f"m{number}")
    depths = [busy.adapter._port.queue_depth(key) for key in (KEY, "another")]

    busy.sessions.drop(KEY)

    assert (depths, busy.adapter._port.queue_depth(KEY)) == ([3, 0], 0)


async def test_a_merged_message_travels_with_its_survivor() -> None:
    """S5.28, D60: a text that the host puts into a waiting picture is released with it, and keeps its authority."""
    busy = a_busy_session()
    await busy.say("a picture", media=("cat.png",), message_id="m2", disposition=None)
    await busy.say("and a text", message_id="m3", authority=AUTHORITY)

    event = busy.promote()

    (announced,) = busy.notes.announced
    assert (event.message_id, busy.waiting) == ("m2", [])
    assert (announced.message_ids, announced.item_ids) == (("m2", "m3"), ("m2", "m3"))
    assert [one.is_queued for one in (announced, *announced.absorbed)] == [False, True]
    assert busy.notes.accepted == ["m2", "m3"]
    desk = busy.adapter._canon._desk
    desk.start(announced, "another session")
    opening = desk.running("another session").opening
    assert (opening.source_message_id, opening.merged_ids, opening.authority) == ("m2", ("m3",), AUTHORITY)


async def test_what_the_host_does_not_merge_waits_with_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """S5.28, S5.29: some hosts merge pictures alone, and put a film behind the next; it waits in our line instead."""
    busy = a_busy_session()
    await busy.say("a note", message_id="m2")

    def behind(session_key: str, event: Any) -> None:
        busy.runner._queued_events.setdefault(session_key, []).append(event)

    monkeypatch.setattr(busy.runner, "_queue_or_replace_pending_event", behind)
    film = await busy.say("a film", media=("film.mp4",), message_id="m3")
    await busy.say("and a text", message_id="m4")

    assert (busy.behind, busy.line[:1], busy.slot.message_id) == ([], [film], "m2")
    assert busy.waiting == ["a note", "a film", "and a text"]


async def test_what_a_host_takes_before_it_knows_us_waits_with_us() -> None:
    """S5.29, X1: until we have connected the host finds no platform for an event, and keeps it nowhere; we do."""
    busy = a_busy_session()
    adapter, busy.runner.adapter = busy.runner.adapter, None
    texts = [f"waits {number}" for number in range(3)]
    for number, text in enumerate(texts):
        await busy.say(text, message_id=f"m{number}")
    busy.end_run()
    while_unknown = (busy.slot, busy.waiting, busy.adapter._port.queue_depth(KEY))

    busy.runner.adapter = adapter
    busy.end_run()
    began = []
    while busy.waiting:
        began.append(busy.promote())
        busy.end_run()

    assert while_unknown == (None, texts, 3)
    assert [event.text for event in began] == texts


async def test_more_than_the_host_holds_wait_with_us(caplog: pytest.LogCaptureFixture) -> None:
    """S5.29, S5.30: the host has one, whatever its limit; the others follow in order, and none is lost."""
    busy = a_busy_session()
    texts = [f"waits {number}" for number in range(40)]
    for number, text in enumerate(texts):
        await busy.say(text, message_id=f"m{number}")
    depth, in_host = busy.adapter._port.queue_depth(KEY), len([busy.slot, *busy.behind])

    began = []
    while busy.waiting:
        began.append(busy.promote())
        busy.end_run()

    assert [event.text for event in began] == texts
    assert [busy.sessions._arrival_of(event).absorbed for event in began] == [()] * 40
    assert (depth, in_host, "cap" in caplog.text) == (40, 1, False)


async def test_a_host_that_answers_many_in_one_run_writes_over_none() -> None:
    """When it has answered a few in a run, the host puts the next one back into the slot, over whatever is there."""
    busy = a_busy_session()
    for number in range(3):
        await busy.say(f"waits {number}", message_id=f"m{number}")

    event = busy.promote()
    busy.adapter._pending_messages[KEY] = event  # the host's merge of texts without a file replaces
    busy.end_run()

    assert busy.waiting == ["waits 0", "waits 1", "waits 2"]


async def test_what_the_host_loses_is_handed_over_again(caplog: pytest.LogCaptureFixture) -> None:
    """X1, X2: a message that was seen waiting and has not begun waits on, in front; a host says nothing."""
    busy = a_busy_session()
    for number in range(2):
        await busy.say(f"waits {number}", message_id=f"m{number}")
    busy.end_run()

    busy.adapter._pending_messages.clear()
    busy.end_run()

    assert busy.waiting == ["waits 0", "waits 1"]
    assert "lost message m0" in caplog.text


async def test_a_message_that_is_lost_each_time_is_not_brought_back_for_ever() -> None:
    """Three times; what happens to it then is seen in the inbox."""
    busy = a_busy_session()
    await busy.say("waits", message_id="m2")
    found = []
    for _ in range(5):
        busy.end_run()
        found.append(len(busy.waiting))
        busy.adapter._pending_messages.clear()

    assert found == [1, 1, 1, 1, 0]


def _begins(busy: Busy, event: Any) -> None:
    busy.adapter._pending_messages.clear()
    busy.sessions.begins(event)


def _drops(busy: Busy, _event: Any) -> None:
    busy.sessions.drop(KEY)


def _deletes(busy: Busy, event: Any) -> None:
    busy.adapter._port.queue.handed(event.message_id, event.text)
    assert busy.adapter._port.amend_waiting(event.message_id, None)


def _takes(busy: Busy, _event: Any) -> None:
    assert busy.promote() is not None  # to answer it in the run that goes on


def _drains(busy: Busy, _event: Any) -> None:
    busy.adapter._pending_messages.clear()
    busy.runner._draining = True


def _restores(busy: Busy, _event: Any) -> None:
    busy.adapter._pending_messages.clear()  # on its way from the queue of the start to its session
    busy.runner._startup_restore_in_progress = True


@pytest.mark.parametrize("happens", [_begins, _drops, _deletes, _takes, _drains, _restores])
async def test_what_is_not_lost_is_not_brought_back(happens: Callable[[Busy, Any], None]) -> None:
    """X3: a message that has begun, will not run by somebody's wish, or is on its way, must not run twice."""
    busy = a_busy_session()
    event = await busy.say("waits", message_id="m2")
    busy.end_run()

    happens(busy, event)
    busy.end_run()

    assert busy.waiting == []


async def test_what_a_taken_message_has_swallowed_is_not_lost() -> None:
    """X3: words that the host has merged into a picture are in its run, whatever they were seen as before."""
    busy = a_busy_session()
    words = busy.event(a_request("and this", message_id="m3"))
    busy.runner._startup_restore_queue = [words]  # so it waited first, as an event of its own
    busy.end_run()
    busy.runner._startup_restore_queue = []
    await busy.say("look", message_id="m2", media=("/pictures/one.png",))
    assert await busy.sessions.dispatch(words, KEY)

    taken = busy.promote()
    busy.end_run()

    assert ([one.message_id for one in busy.sessions._arrival_of(taken).absorbed], busy.waiting) == (["m3"], [])


async def test_what_a_follow_up_is_for_is_done_when_the_host_takes_the_next() -> None:
    """A run answers one waiting message after the other; none of them was lost."""
    busy = a_busy_session()
    for number in range(3):
        await busy.say(f"waits {number}", message_id=f"m{number}")
    busy.end_run()
    taken = [busy.promote().text]
    busy.end_run()
    taken.append(busy.promote().text)
    busy.end_run()

    assert (taken, busy.waiting) == (["waits 0", "waits 1"], ["waits 2"])


async def test_a_command_that_waited_is_given_once() -> None:
    """Not every command is a run, so the end of none says that it was lost."""
    busy = a_busy_session()
    given: list[str] = []

    async def handle(event: Any) -> None:
        given.append(event.text)

    busy.adapter.handle_message = handle
    event = busy.event(a_request("/status", message_id="m2"))
    busy.adapter._port.queue.put_first(KEY, event)
    busy.end_run()
    busy.adapter._pending_messages.clear()
    busy.adapter._port.queue.put_first(KEY, event)
    busy.adapter._active_sessions.pop(KEY)
    await busy.sessions.serve()
    busy.end_run()

    assert (given, busy.waiting) == (["/status"], [])


async def test_an_interruption_leaves_the_host_a_next_message() -> None:
    """Without one, the host would answer the words of the interruption by themselves, and then once more."""
    busy = a_busy_session()
    for number in range(2):
        await busy.say(f"waits {number}", message_id=f"m{number}")
    busy.promote()

    await busy.say("change of plans", "interrupt", message_id="m9")

    assert (busy.slot.text, busy.waiting) == ("waits 1", ["waits 1", "change of plans"])


@pytest.mark.parametrize(("command", "waiting"), [("/stop", ["waits 0", "waits 1"]), ("/new", []), ("/reset now", [])])
async def test_a_stopped_run_takes_along_only_what_its_session_does(
    command: str, waiting: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R5.30, R5.25: for a stop the host throws its next message away, which waits on with us; a new one ends it."""
    busy = a_busy_session()
    for number in range(2):
        await busy.say(f"waits {number}", message_id=f"m{number}")

    async def handle(event: Any) -> None:  # as the host does it for both commands
        await busy.adapter.interrupt_session_activity(KEY, ROOM)
        busy.adapter.get_pending_message(KEY)
        busy.end_run(is_stopped=True)

    monkeypatch.setattr(busy.adapter, "handle_message", handle)
    await busy.sessions.hand_over(busy.event(a_request(command, message_id="m9")), KEY)

    assert busy.waiting == waiting
    assert busy.notes.dropped == ([] if waiting else ["m0", "m1"])


async def test_what_waits_for_an_idle_session_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """However a run ended, what waits with us begins, and nothing that comes later overtakes it."""
    busy = a_busy_session()
    began: list[str] = []

    async def handle(event: Any) -> None:
        began.append(event.text)

    monkeypatch.setattr(busy.adapter, "handle_message", handle)
    for number in range(3):
        await busy.say(f"waits {number}", message_id=f"m{number}")
    busy.adapter.get_pending_message(KEY)
    busy.adapter._active_sessions.pop(KEY)

    await busy.sessions.hand_over(busy.event(a_request("comes later", message_id="m9")), KEY)
    await busy.sessions.serve()

    assert (began, busy.waiting) == (["waits 1", "waits 2"], ["comes later"])


@pytest.mark.parametrize("then", ["a look around", "another message"])
async def test_nothing_overtakes_a_message_that_the_host_gets_just_now(then: str) -> None:
    """R5.6: a host looks around before it begins; until it has begun, those behind in the line stay behind."""
    busy, begins = a_busy_session(), asyncio.Event()
    entered: list[str] = []
    for number in (2, 3, 4) if then == "a look around" else (2, 3):
        await busy.say(f"waits {number}", message_id=f"m{number}")
    busy.adapter._pending_messages.clear()  # the host has answered the first of them, and its run is over
    busy.adapter._active_sessions.clear()

    async def handle_message(event: Any) -> None:
        entered.append(event.text)
        await begins.wait()
        busy.adapter._active_sessions[KEY] = asyncio.Event()

    busy.adapter.handle_message = handle_message
    first = asyncio.create_task(busy.sessions.serve())
    await asyncio.sleep(0)
    if then == "another message":
        await asyncio.wait_for(busy.sessions.hand_over(busy.event(a_request("new", message_id="m9")), KEY), 1)
    else:
        await asyncio.wait_for(busy.sessions.serve(), 1)
    begins.set()
    await first

    assert (entered, len(busy.line)) == (["waits 3"], 1)


async def test_a_survivor_that_is_discarded_takes_the_others_along() -> None:
    """S5.31, R5.25: a fresh message is released alone."""
    busy = a_busy_session()
    await busy.say("a picture", media=("cat.png",), message_id="m2")
    await busy.say("and a text", message_id="m3")
    busy.adapter.get_pending_message(KEY)  # what the host does for /stop: it throws the message away

    await busy.say("fresh", message_id="m4")
    busy.promote()

    assert busy.notes.accepted == ["m4"]
    assert [arrival.message_ids for arrival in busy.notes.announced] == [("m4",)]


# --- words that came late -----------------------------------------------------------------------------------------


async def test_words_that_were_read_are_done_with() -> None:
    """A request that ended with nothing waiting in the agent has brought them to the model."""
    busy = a_busy_session()
    await busy.say("also", "interleave")
    waits = busy.adapter._port.steering_read(KEY)
    busy.agent._drain_pending_steer()
    read = busy.adapter._port.steering_read(KEY)

    busy.adapter._canon._desk.apply(busy.turn.id, ModelCalled(read))
    busy.adapter._port.run_ended(KEY, busy.turn.unread, is_stopped=False)

    assert (waits, read, busy.turn.unread, busy.waiting) == (0, 1, (), [])


async def test_words_that_the_host_answers_itself_are_a_follow_up() -> None:
    """R6.34: the run was over when they came, and the host goes on with them: a turn of their own."""
    busy = a_busy_session()
    await busy.say("and seven", "interleave")
    busy.agent._drain_pending_steer()  # the host has taken them for the end of its run

    assert busy.promote() is None

    assert [arrival.message_id for arrival in busy.notes.announced] == ["m2"]
    assert busy.waiting == []


async def test_words_that_came_after_the_end_wait() -> None:
    """They stand in an agent that nobody asks any more: they are taken back and wait like a message."""
    busy = a_busy_session()
    await busy.say("and seven", "interleave")

    assert busy.promote() is None

    assert (busy.waiting, busy.agent._pending_steer, busy.notes.announced) == (["and seven"], None, [])


async def test_words_that_another_message_overtakes_wait() -> None:
    """The host would forget them for the message that it answers next."""
    busy = a_busy_session()
    await busy.say("and seven", "interleave", message_id="m2")
    await busy.say("something else", message_id="m3")
    busy.agent._drain_pending_steer()

    event = busy.promote()

    assert (event.message_id, busy.waiting) == ("m3", ["and seven"])
    assert [arrival.message_id for arrival in busy.notes.announced] == ["m3"]


@pytest.mark.parametrize(("is_stopped", "waiting"), [(False, ["and seven"]), (True, [])])
async def test_words_of_a_run_that_failed(is_stopped: bool, waiting: list[str]) -> None:
    """They wait as a message; unless a person has stopped everything."""
    busy = a_busy_session()
    await busy.say("and seven", "interleave")

    busy.adapter._port.run_ended(KEY, busy.turn.unread, is_stopped=is_stopped)

    assert (busy.waiting, busy.agent._pending_steer) == (waiting, None)


# --- silence ------------------------------------------------------------------------------------------------------


async def test_words_lift_a_silence_and_unread_ones_forbid_it() -> None:
    """S8.16, D11: neither revives an old silence, nor is a new request silenced unread."""
    busy = a_busy_session()
    desk = busy.adapter._canon._desk

    chosen = desk.silence(ROOM, None, KEY)
    was_silent = busy.turn.silenced
    await busy.say("please do answer", "interleave")
    lifted = busy.turn.silenced
    too_early = desk.silence(ROOM, None, KEY)
    busy.agent._drain_pending_steer()
    between = desk.silence(ROOM, None, KEY)
    desk.apply(busy.turn.id, ModelCalled(busy.adapter._port.steering_read(KEY)))
    anew = desk.silence(ROOM, None, KEY)

    assert (chosen, was_silent, lifted) == (Silence.KEPT, True, False)
    assert (too_early, between, anew) == (Silence.UNREAD, Silence.UNREAD, Silence.KEPT)


@pytest.mark.parametrize(
    ("text", "is_lifted"), [("/steer also answer this", True), ("/steer", False), ("/status", False)]
)
async def test_a_command_that_steers_lifts_a_silence(
    text: str, is_lifted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S8.27: it reaches the agent past us; the host may have a silence chosen while it is on its way."""
    busy = a_busy_session()
    desk = busy.adapter._canon._desk
    desk.silence(ROOM, None, KEY)

    async def handle(event: Any) -> None:
        desk.silence(ROOM, None, KEY)

    monkeypatch.setattr(busy.adapter, "handle_message", handle)
    await busy.sessions.hand_over(busy.event(a_request(text)), KEY)

    assert busy.turn.silenced is not is_lifted


@pytest.mark.parametrize("asks", [True, False])
async def test_the_answer_to_a_question_leaves_the_shelf(asks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """S5.38, D64: the host consumes it before it asks us; any other message is released when it begins."""
    busy = a_busy_session()

    async def handle(event: Any) -> None:
        if not asks:
            await busy.sessions.dispatch(event, KEY)

    monkeypatch.setattr(busy.adapter, "handle_message", handle)
    monkeypatch.setattr(busy.sessions, "_is_asking", lambda session_key: True)
    await busy.sessions.hand_over(busy.event(a_request("the second one")), KEY)

    assert busy.notes.accepted == (["m2"] if asks else [])
