"""The contract of a Canon plugin in a real gateway against our sandbox: our plugin, and the published ones, pass it.

The published ones are not our code, so they settle what our code may believe of the sandbox: a server that these
clients work with, and whose faults they meet as the wire says they must. ``make test-interop`` runs all of them, in
environments that are made once; ``make test-contract`` runs ours. What ours cannot do yet must fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.published import CONTRACT, Scene, published_scene

pytestmark = [pytest.mark.host, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=CONTRACT)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with published_scene(tmp_path_factory.mktemp("published"), request.param) as running:
        yield running


def test_it_connects_with_the_profile_that_we_wrote(scene: Scene) -> None:
    """Health of both listeners, identity, rooms, then stream and heartbeat; no key on the probes.

    What the heartbeat tells of the runtime is made beside the loop (R2.9), so it may come behind the stream.
    """
    paths = ["/healthz/", "/health", "/agents/me", "/conversations", "/runtime/status", "/agents/stream"]
    calls = [row for row in scene.box.journal(after=scene.began) if row["path"] in paths]

    order = list(dict.fromkeys(row["path"] for row in calls))
    assert (order[:4], sorted(order[4:])) == (paths[:4], sorted(paths[4:]))
    probes = [row for row in calls if row["path"] in paths[:2]]
    assert {row["agentId"] for row in calls if row not in probes} == {scene.agent_id}
    assert not any("authorization" in row["headers"] for row in probes)


def test_it_answers_a_message_once(scene: Scene) -> None:
    """One final message with the reply authority of its trigger, narrated before; then node deleted, turn completed."""
    before = scene.box.journal()[-1]["number"]

    answers = scene.ask("[say Invoice 42 is filed.]")

    assert [answer["text"] for answer in answers] == ["Invoice 42 is filed."]
    rows = scene.box.journal(after=before)
    final = next(row for row in rows if row["path"] == "/messages/send")
    deleted = next(row for row in rows if row["path"] == "/streaming" and row["body"].get("streaming") is False)
    closed = next(row for row in rows if row["path"] == "/runtime/turn" and row["body"]["state"] == "completed")
    narrated = [row for row in rows if row["path"] == "/streaming" and row["body"].get("status") == "streaming"]
    assert final["body"]["replyAuthority"]["sourceMessageId"] == final["body"]["replyTo"]
    assert narrated[0]["number"] < final["number"] < deleted["number"] < closed["number"]
    assert {row["status"] for row in rows} == {200}
    assert scene.box.node(scene.room) is None


def test_it_releases_a_queued_message(scene: Scene) -> None:
    """A message that the composer marked as queued is accepted when its turn starts."""
    scene.ask("[say released]", metadata={"inboundDisposition": "queued"})

    question = scene.box.transcript(scene.room)[-2]
    assert question["metadata"]["inboundDisposition"] == "accepted_now"


def test_it_splits_a_long_answer(scene: Scene) -> None:
    """Parts before the last are progress, the last one completes the turn, and all of them make the text."""
    position = scene.box.transcript(scene.room)[-1]["position"]

    [last] = scene.ask("[long 900]")

    parts = [row for row in scene.box.transcript(scene.room, after=position) if row["origin"] == "agent"]
    assert [row["metadata"]["turnSemantics"] for row in parts] == ["progress", "turn_complete"]
    assert [row["metadata"]["messageChunk"]["index"] for row in parts] == [1, 2]
    assert parts[-1]["id"] == last["id"]
    assert " ".join(row["text"] for row in parts).split() == [f"word{index}" for index in range(1, 901)]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("send-429", {"burst": 2, "times": 2}),
        ("send-503", {"burst": 2, "times": 2}),
        ("send-500", {}),
        ("send-500-after-commit", {}),
        ("send-lost-response", {}),
        ("event-duplicate", {}),
        ("event-duplicate-new-id", {}),
        ("event-no-id", {}),
        ("event-no-name", {}),
        ("event-bytewise", {}),
        ("event-multi-line", {}),
        ("event-not-json", {}),
        ("event-unknown-name", {}),
        ("event-no-verdict", {}),
        ("stream-drop", {}),
        ("stream-drop-mid-frame", {}),
        ("stream-drop-after", {}),
        ("stream-end", {}),
        ("typing-500", {}),
        ("streaming-500", {}),
        ("turn-500", {"times": 1}),
        ("read-500", {}),
    ],
)
def test_trouble_costs_no_answer_and_doubles_none(scene: Scene, name: str, settings: dict[str, Any]) -> None:
    """Each fault fires, and the message is answered exactly once."""
    fault = scene.box.fault(name, **settings)

    answers = scene.ask(f"[say through {name}]")

    scene.box.human.calm()
    assert [answer["text"] for answer in answers] == [f"through {name}"]
    assert fault.fired >= 1
    assert fault.met >= fault.fired
    texts = [row["text"] for row in scene.box.transcript(scene.room) if row["origin"] != "human"]
    assert texts.count(f"through {name}") == 1


def test_a_dropped_stream_is_taken_up_where_it_was(scene: Scene) -> None:
    """What is said while no stream is open is replayed after the reconnect, by the id of the last event."""
    before = scene.box.journal()[-1]["number"]
    opened = scene.box.engine.streams_opened

    assert scene.box.human.drop_streams() == 1
    answers = scene.ask("[say caught up]")

    reconnect = next(row for row in scene.box.journal(after=before) if row["path"] == "/agents/stream")
    assert [answer["text"] for answer in answers] == ["caught up"]
    assert reconnect["headers"]["last-event-id"].startswith("evt_")
    assert scene.box.engine.streams_opened == opened + 1


def test_a_recorded_message_wakes_nobody_and_is_remembered(scene: Scene) -> None:
    """The verdict record_only starts no turn; its text reaches the model with the next one."""
    before = len(scene.model.requests)

    scene.box.human.say(scene.room, "the ledger is blue", verdict="record_only")
    scene.ask("what did I say? [say noted]")

    turns = [request for request in scene.model.requests[before:] if "[say noted]" in request.user_text]
    assert len(turns) == 1
    assert "the ledger is blue" in str(turns[0].body["messages"])


def test_a_signal_is_consumed_and_stops_the_turn(scene: Scene) -> None:
    """An interrupt reaches the running turn: it ends as interrupted and nothing is left pending."""
    message_id = scene.box.human.say(scene.room, "[slow 8] [long 300]")
    scene.box.wait("request", path="/runtime/turn", after=scene.box.journal()[-1]["number"], timeout_s=30)

    scene.box.human.signal(scene.room, "interrupt")

    scene.box.wait("idle", conversation_id=scene.room, timeout_s=30)
    assert scene.box.human.turns(scene.room)[-1]["state"] == "interrupted"
    assert scene.box.engine.read(lambda world: world.signals) == {}
    assert message_id


def test_nothing_was_done_that_a_good_client_does_not(scene: Scene) -> None:
    """The rules of the audit hold over the whole run, through all the trouble."""
    assert scene.box.breaches() == []
