"""Messages that wait in the host: found in each of its places, corrected, taken away, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.hosting.queue import ABSORBED, TEXTS_REMEMBERED, HostQueue
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox
from tests.support.conversing import states_of
from tests.support.hosted_adapter import hosted, until

ROOM = "conv_direct"


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with CanonSandbox(CanonOptions()) as running:
        yield running


def an_event(message_id: str, text: str, *media: str) -> Any:
    return SimpleNamespace(message_id=message_id, text=text, media_urls=list(media))


def a_host(**places: Any) -> Any:
    """An adapter with the places that are named; the rest is as on a host that lacks them."""
    runner = SimpleNamespace(
        **{name: places[name] for name in ("_queued_events", "_startup_restore_queue") & places.keys()}
    )
    bursts = {"_text_debounce": places["_text_debounce"]} if "_text_debounce" in places else {}
    slots, line = places.get("_pending_messages", {}), places.get("line", ())
    return SimpleNamespace(_pending_messages=slots, gateway_runner=runner, line=line, **bursts)


def a_queue(host: Any, *handed: Any) -> HostQueue:
    queue = HostQueue(host, lambda event: event.message_id)
    for event in getattr(host, "line", ()):
        queue.line_up("s1", event)
    for event in handed:
        queue.handed(event.message_id, event.text)
    return queue


PLACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "slot": lambda event: {"_pending_messages": {"s1": event}},
    "burst": lambda event: {"_text_debounce": {"s1": SimpleNamespace(event=event, task=None)}},
    "behind": lambda event: {"_queued_events": {"s1": [an_event("other", "other"), event]}},
    "start": lambda event: {"_startup_restore_queue": [event]},
    "line": lambda event: {"line": [an_event("other", "other"), event]},
}


@pytest.mark.parametrize("place", PLACES)
def test_a_waiting_message_is_corrected_and_taken_away(place: str) -> None:
    """D59: wherever it waits, its words change, and in the end it is gone, while others stay."""
    event = an_event("m1", "helo")
    host = a_host(**PLACES[place](event))
    queue = a_queue(host, event)

    changed = queue.amend("m1", "hello")
    text = event.text
    gone, again = queue.amend("m1", None), queue.amend("m1", "back")

    assert (changed, text, gone, again) == (True, "hello", True, False)
    assert [one.message_id for one, _ in queue._waiting()] == (["other"] if place in ("behind", "line") else [])


def test_taking_the_last_of_a_burst_stops_its_timer() -> None:
    """The burst's own task would put an empty message into the slot."""
    stopped: list[bool] = []
    event = an_event("m1", "helo")
    burst = SimpleNamespace(event=event, task=SimpleNamespace(cancel=lambda: stopped.append(True)))

    a_queue(a_host(_text_debounce={"s1": burst}), event).amend("m1", None)

    assert stopped == [True]


def test_one_of_a_burst_is_corrected_in_the_others_event() -> None:
    """The host joins a burst in the event of its first message; the others are found by their words."""
    first, second = an_event("m1", "one"), an_event("m2", "two")
    slot = {"s1": first}
    queue = a_queue(a_host(_pending_messages=slot), first, second)
    first.text = "one\ntwo"

    changed = queue.amend("m2", "zwei")
    words = first.text
    gone = queue.amend("m1", None)

    assert (changed, words, gone, first.text, slot) == (True, "one\nzwei", True, "zwei", {"s1": first})


def test_an_event_with_files_stays_without_its_words() -> None:
    """A picture that was sent beside the words is another message's."""
    event = an_event("m1", "look", "file:///picture.png")
    slot = {"s1": event}

    assert a_queue(a_host(_pending_messages=slot), event).amend("m1", None)
    assert (event.text, slot) == ("", {"s1": event})


def test_a_message_takes_its_own_files_along() -> None:
    """D59: what was taken back leaves no file behind; the files that the host put beside it are others'."""
    event = SimpleNamespace(message_id="m1", text="look\nthere", media_urls=["/a", "/b"], media_types=["x/a", "x/b"])
    slot = {"s1": event}
    queue = a_queue(a_host(_pending_messages=slot))
    queue.handed("m1", "look", files=("/a",))
    queue.handed("m2", "there", files=("/b",))

    first = queue.amend("m1", None)
    left = (event.text, list(event.media_urls), list(event.media_types))
    second = queue.amend("m2", None)

    assert (first, left, second, slot) == (True, ("there", ["/b"], ["x/b"]), True, {})


def test_a_message_that_the_host_has_joined_to_another_travels_with_it() -> None:
    """X2, D60: while an agent is made the host joins texts by itself; which, only the text of the waiting one says."""
    waiting, same = an_event("m2", "and this"), an_event("m3", "please look")
    queue = a_queue(a_host(_queued_events={"s1": [waiting, same]}))
    for message_id, text in (("m1", "please look\nat the logs"), ("m2", "and this"), ("m3", "please look")):
        queue.handed(message_id, text, arrival=SimpleNamespace(message_id=message_id))
    before = queue.note_joined("m1")

    waiting.text += "\nplease look\nat the logs"  # the host's merge

    assert (before, queue.note_joined("m1"), queue.note_joined("m9")) == (False, True, False)
    assert ([one.message_id for one in vars(waiting)[ABSORBED]], ABSORBED in vars(same)) == (["m1"], False)
    assert queue.holds("m1") and not queue.note_joined("m1"), "once"
    assert not queue.note_joined("m3"), "an equal text that waits by itself is joined to nothing"


def test_a_correction_keeps_the_markers() -> None:
    """D59, R4.22: the author changes the words, and what is said of the files stays below them."""
    event = an_event("m1", "helo\n\n[1 image]")
    queue = a_queue(a_host(_pending_messages={"s1": event}))
    queue.handed("m1", event.text, markers=("[1 image]",))

    assert queue.amend("m1", "hello")
    assert queue.amend("m1", "hello!")
    assert event.text == "hello!\n\n[1 image]"


def test_a_message_that_does_not_wait_is_not_touched() -> None:
    """Neither one that runs nor one that nobody has heard of, not even when another one says the same."""
    ran, other = an_event("m1", "yes"), an_event("m2", "yes, and more")
    queue = a_queue(a_host(_pending_messages={"s1": other}), ran, other)

    assert (queue.amend("m1", "no"), queue.amend("m9", "no"), other.text) == (False, False, "yes, and more")


def test_the_depth_counts_every_place_of_a_session() -> None:
    """R6.2: what stands in the slot, behind it, and in a burst that is being collected."""
    event = an_event("m", "x")
    host = a_host(
        _pending_messages={"s1": event, "s2": event},
        _queued_events={"s1": [event, event]},
        _text_debounce={"s1": SimpleNamespace(event=event, task=None)},
    )

    assert [a_queue(host).depth(session) for session in ("s1", "s2", "s3")] == [4, 1, 0]
    assert a_queue(SimpleNamespace(_pending_messages={}, gateway_runner=None)).depth("s1") == 0


def test_what_waits_can_be_corrected_however_much_came_after_it() -> None:
    """D59: the memory of texts is bounded, but for what waits; a message of long ago does not."""
    first, swallowed = an_event("first", "old"), an_event("swallowed", "it")
    first.canon_absorbed = [swallowed]
    later = (an_event(f"m{number}", "x") for number in range(5 * TEXTS_REMEMBERED))
    queue = a_queue(a_host(line=[first]), first, swallowed, *later)

    assert TEXTS_REMEMBERED < len(queue._texts) <= 2 * TEXTS_REMEMBERED + 4
    assert (queue.amend("first", "new"), first.text, "swallowed" in queue._texts) == (True, "new", True)


@pytest.mark.host
async def test_the_real_hosts_queue_is_corrected(box: CanonSandbox) -> None:
    """D59, D39 on the host: an edited follow-up is read as edited, a deleted one not at all; Canon hears of both."""
    seen: list[str] = []
    gate = asyncio.Event()

    async def agent(event: Any, _adapter: Any) -> str | None:
        seen.append(event.text)
        if event.text == "one":
            await gate.wait()
        return None

    def told() -> dict[str, Any]:
        return (box.human.turns(ROOM) or [{"queueDepth": None, "state": None}])[-1]

    async with hosted(box, agent) as stage:
        stage.adapter._busy_text_mode = "queue"
        stage.adapter.config.extra["group_sessions_per_user"] = False
        box.human.say(ROOM, "one")
        await until(lambda: seen == ["one"])
        second = box.human.say(ROOM, "two")
        await until(lambda: told()["queueDepth"] == 1)
        box.human.edit(second, "deux", ROOM)
        await asyncio.sleep(0.1)
        gate.set()
        await until(lambda: len(seen) == 2 and told()["state"] == "completed" and told()["queueDepth"] == 0)

        gate.clear()
        seen.clear()
        box.human.say(ROOM, "one")
        await until(lambda: seen == ["one"])
        third = box.human.say(ROOM, "three")
        await until(lambda: told()["queueDepth"] == 1)
        box.human.delete(third, ROOM)
        await until(lambda: told()["queueDepth"] == 0)
        gate.set()
        await until(lambda: told()["state"] == "completed")
        last = states_of(box, told()["turnId"], ROOM)

    assert (seen, last[0], last[-1]) == (["one"], "thinking", "completed")
