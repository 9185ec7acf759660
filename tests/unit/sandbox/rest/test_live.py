"""What lives only while an agent works: node, typing, turn states, signals, descriptor."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.sandbox.descriptor import normalised
from canon_ops.sandbox.records import Signal
from canon_ops.sandbox.state import World
from tests.support.canon_calls import NOW_MS, a_world, call, events_of


def write(world: World, **body: Any) -> Any:
    return call(world, "POST", "/streaming", {"conversationId": "conv_direct", **body}).body


def salvaged(world: World) -> list[dict[str, Any]]:
    return [
        message.wire() for message in world.conversations["conv_direct"].messages.values() if message.origin == "server"
    ]


def test_a_write_merges_into_the_node() -> None:
    """Given fields replace, absent ones stay, an empty list of blocks empties."""
    world = a_world()
    write(world, status="streaming", text="one", turnId="t1", messageId="t1", blocks=[{"id": "b"}])

    write(world, status="streaming", text="two")
    node = world.nodes["conv_direct", "agent_sandbox"]

    assert (node.text, node.turn_id, node.blocks) == ("two", "t1", [{"id": "b"}])
    write(world, status="thinking", text="", blocks=[])
    assert node.is_empty()


def test_a_node_keeps_thirty_blocks() -> None:
    """The first ones."""
    world = a_world()

    write(world, status="streaming", text="x", blocks=[{"id": str(index)} for index in range(40)])

    assert [block["id"] for block in world.nodes["conv_direct", "agent_sandbox"].blocks] == [str(i) for i in range(30)]


def test_a_deleted_node_without_a_final_is_kept_as_progress() -> None:
    """Its text and blocks become a message of the server that wakes and notifies nobody."""
    world = a_world()
    write(world, status="streaming", text="so far", turnId="t1", blocks=[{"id": "b"}])

    answer = write(world, streaming=False)

    [message] = salvaged(world)
    assert answer["salvage"]["written"] is True
    assert message["text"] == "so far"
    assert message["metadata"] == {"turnSemantics": "progress", "turnTrail": [{"id": "b"}], "turnId": "t1"}
    assert world.notifications["conv_direct"] == 0
    assert events_of(world) == []


@pytest.mark.parametrize("emptied", [True, False])
def test_nothing_is_salvaged_after_a_final_or_from_an_empty_node(emptied: bool) -> None:
    """A blanked node says empty_streaming_content, one with a final that it exists; no message is written."""
    world = a_world()
    write(world, status="streaming", text="so far", turnId="t1")
    if emptied:
        write(world, status="thinking", text="", blocks=[])
    else:
        final = {"turnSemantics": "turn_complete", "turnId": "t1"}
        call(world, "POST", "/messages/send", {"conversationId": "conv_direct", "text": "all", "metadata": final})

    answer = write(world, streaming=False)

    expected = "empty_streaming_content" if emptied else "turn_complete_exists"
    assert answer["salvage"] == {"written": False, "reason": expected}
    assert salvaged(world) == []


def test_a_node_that_was_never_written_can_be_deleted() -> None:
    """As often as a client likes."""
    assert write(a_world(), streaming=False)["salvage"]["reason"] == "empty_streaming_content"


def test_a_salvaged_text_fits_into_a_message() -> None:
    """Cut at 4,096 bytes, never inside a character."""
    world = a_world()
    write(world, status="streaming", text="x" + "ä" * 4096, turnId="t1")

    write(world, streaming=False)

    assert salvaged(world)[0]["text"] == "x" + "ä" * 2047


def test_typing_reaches_the_other_agents_and_lapses() -> None:
    """The author's own stream hears nothing; without a refresh the mark ends by itself."""
    world = a_world()
    other = world.add_agent("Other", "user_owner").agent_id
    world.conversations["conv_direct"].member_ids.append(other)

    call(world, "POST", "/typing", {"conversationId": "conv_direct", "typing": True, "status": "thinking"})

    kind, lapses_at_ms = world.typing["conv_direct", "agent_sandbox"]
    assert (kind, lapses_at_ms) == ("thinking", NOW_MS + 6_000)
    assert [name for name, _ in events_of(world, other)] == ["typing"]
    assert events_of(world) == []
    call(world, "POST", "/typing", {"conversationId": "conv_direct", "typing": False})
    assert world.typing == {}


def test_a_turn_state_is_kept_in_order_and_told() -> None:
    """The history is for tests, the last one is what people see; unknown states are 400."""
    world = a_world()
    other = world.add_agent("Other", "user_owner").agent_id
    world.conversations["conv_direct"].member_ids.append(other)
    for state in ("thinking", "streaming", "completed"):
        body = {"conversationId": "conv_direct", "state": state, "turnId": "t1"}
        assert call(world, "POST", "/runtime/turn", body).status == 200

    wrong = call(world, "POST", "/runtime/turn", {"conversationId": "conv_direct", "state": "sleeping"})

    log = world.turns["conv_direct", "agent_sandbox"]
    assert [state["state"] for state in log.history] == ["thinking", "streaming", "completed"]
    assert (wrong.status, log.last) == (400, log.history[-1])
    assert [payload["state"] for _, payload in events_of(world, other)] == ["thinking", "streaming", "completed"]


def test_a_signal_is_one_shot() -> None:
    """Taken with its setter, then none."""
    world = a_world()
    world.signals["conv_direct"] = Signal("stop_and_drop", "user_dana")
    body = {"conversationId": "conv_direct"}

    taken, empty = (call(world, "POST", "/runtime/signal/consume", body).body for _ in range(2))

    assert taken == {"status": "signal", "signal": "stop_and_drop", "updatedBy": "user_dana"}
    assert empty == {"status": "none"}


def command(**changes: Any) -> dict[str, Any]:
    return {
        "id": "hermes-new",
        "label": "/new",
        "description": "Start a new session",
        "aliases": ["/new", "reset"],
        "category": "session",
        "placements": ["composer_slash"],
        "availability": ["idle"],
        "ownerOnly": False,
        "dispatch": {"kind": "text_passthrough", "template": "/new"},
        **changes,
    }


def test_a_well_formed_command_is_kept() -> None:
    """Aliases lose their slash; everything else stays."""
    [kept] = normalised({"commands": [command()]})["commands"]

    assert kept == command(aliases=["new", "reset"])


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": "x" * 129},
        {"label": "x" * 161},
        {"category": "magic"},
        {"placements": ["everywhere"]},
        {"placements": []},
        {"availability": ["sometimes"]},
        {"ownerOnly": "yes"},
        {"args": [{"id": "a", "label": "A", "kind": "enum"}]},
        {"args": "none"},
        {"aliases": ["no spaces please"]},
        {"dispatch": {"kind": "text_passthrough"}},
        {"dispatch": {"kind": "teleport"}},
        {"hidden": True},
        {"sensitive": True},
    ],
    ids=str,
)
def test_a_malformed_command_is_dropped(changes: dict[str, Any]) -> None:
    """Dropped, not refused; its neighbours stay."""
    good = command(id="other", aliases=["other"])

    assert [kept["id"] for kept in normalised({"commands": [command(**changes), good]})["commands"]] == ["other"]


def test_ids_and_aliases_belong_to_the_first() -> None:
    """A later command loses a taken alias, whatever its case, and goes when none is left."""
    commands = [
        command(),
        command(id="two", aliases=["NEW", "second"]),
        command(id="three", aliases=["Reset"]),
        command(),
    ]

    kept = normalised({"commands": commands})["commands"]

    assert [(item["id"], item["aliases"]) for item in kept] == [("hermes-new", ["new", "reset"]), ("two", ["second"])]


def test_unknown_keys_of_a_descriptor_go() -> None:
    """What the contract does not know is dropped, as is a mode nobody knows."""
    kept = normalised({"supportsInterrupt": True, "magic": 1, "streamingTextMode": "telepathy", "coreControls": []})

    assert kept == {"supportsInterrupt": True, "coreControls": [], "commands": []}
    assert normalised("nothing") == {}


def test_the_heartbeat_is_kept_with_its_time() -> None:
    """The newest one, normalised."""
    world = a_world()
    body = {"runtime": "hermes", "hostMode": True, "runtimeDescriptor": {"commands": [command()], "magic": 1}}

    call(world, "POST", "/runtime/status", body, now_ms=NOW_MS + 7)

    kept, received_at_ms = world.runtime_status["agent_sandbox"]
    assert (kept["hostMode"], received_at_ms) == (True, NOW_MS + 7)
    assert "magic" not in kept["runtimeDescriptor"]
