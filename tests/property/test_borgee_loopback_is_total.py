"""Whatever a client sends, the loopback Borgee server answers or ignores it, and stays what it was where it refuses."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from borgee_hermes.loopback.actions import ACTIONS, perform
from borgee_hermes.loopback.actions.call import Call, Denied, Failed
from borgee_hermes.loopback.engine import Engine
from borgee_hermes.loopback.fault_kinds import KINDS
from borgee_hermes.loopback.journal import Journal
from borgee_hermes.loopback.options import BorgeeOptions
from borgee_hermes.loopback.orders import Put
from borgee_hermes.loopback.records import Json
from borgee_hermes.loopback.world import World
from canon_ops.sandbox.faults import FaultBook
from canon_ops.sandbox.stage import SandboxClock

AGENT = "agent_sandbox"
KNOWN = ["dm_owner", "channel_lobby", "guild_home", "zone_builds", "user_dana", AGENT, "message_000001", "task_000001"]
MEMBERS = [
    "channel_id",
    "guild_id",
    "message_id",
    "task_id",
    "user_id",
    "parent_id",
    "content",
    "title",
    "name",
    "topic",
    "key",
    "value",
    "emoji",
    "removed",
    "limit",
    "after",
    "before",
    "status",
    "assignee_id",
    "member_ids",
    "visibility",
    "archived",
    "reply_to_id",
]
plain = (
    st.none() | st.booleans() | st.integers(-2, 60) | st.floats() | st.sampled_from([*KNOWN, "", "x", "done", "public"])
)
values = (
    plain
    | st.lists(plain | st.just([1]), max_size=3)
    | st.dictionaries(st.sampled_from(["a", "id"]), plain, max_size=2)
)
SOUND_PAYLOAD = {
    "channel_id": "channel_lobby",
    "guild_id": "guild_home",
    "message_id": "message_000001",
    "task_id": "task_000001",
    "parent_id": None,
    "content": "c",
    "title": "t",
    "name": "n",
    "key": "link.pr",
    "value": "v",
}
payloads = st.dictionaries(st.sampled_from(MEMBERS), values, max_size=6) | st.dictionaries(
    st.sampled_from(MEMBERS), values, max_size=2
).map(lambda members: {**SOUND_PAYLOAD, **members})
names = st.sampled_from([*ACTIONS, "fly", "", 7, None, ["x"]])
TYPES = ["connect", "semantic_action", "task_started", "task_finished", "agent_config_ack", "response", "ping", "later"]
SOUND = {"agent_id": AGENT, "task_id": "t-1", "channel_id": "dm_owner", "outcome": "failed", "nonce": "n", "id": "r-1"}
FRAME_MEMBERS = [
    "agent_id",
    "action",
    "payload",
    "nonce",
    "id",
    "task_id",
    "channel_id",
    "subject",
    "outcome",
    "reason",
    "data",
    "idempotency_key",
]


def furnished() -> World:
    """A world in which the known ids exist."""
    world = World(BorgeeOptions(), seed="s")
    agent = world.users[AGENT]
    world.post(world.channels["dm_owner"], AGENT, "one", now_ms=1)
    perform("create_task", Call(world, agent, {"channel_id": "channel_lobby", "title": "t"}, 1))
    world.take_pushes()
    return world


def kept(world: World) -> Any:
    """Everything that an action may change."""
    return copy.deepcopy((world.messages, world.channels, world.tasks, world.zones, world.guilds))


@settings(max_examples=500, deadline=None)
@given(names, payloads)
def test_an_action_is_done_refused_or_denied(name: Any, payload: Json) -> None:
    """Nothing else comes of it; refused, it has changed nothing, and its answer is JSON."""
    world = furnished()
    before = kept(world)

    outcome = perform(name, Call(world, world.users[AGENT], payload, 2))

    if isinstance(outcome, Failed | Denied):
        assert kept(world) == before
        assert world.take_pushes() == []
    else:
        json.dumps(outcome.value, allow_nan=True)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=10),
            st.binary(max_size=10),
            st.builds(
                lambda kind, members: json.dumps({**SOUND, **members, "type": kind}),
                st.sampled_from(TYPES),
                st.dictionaries(st.sampled_from(FRAME_MEMBERS), values, max_size=8),
            ),
        ),
        max_size=5,
    )
)
def test_a_frame_is_answered_or_ignored(messages: list[str | bytes]) -> None:
    """The server notes everything and never fails; what it writes is JSON."""
    world = furnished()
    engine = Engine(world, clock=SandboxClock(), faults=FaultBook(kinds=KINDS), journal=Journal(100))
    socket = engine.open(world.users[AGENT])

    for message in messages:
        engine.incoming(socket, message)

    assert engine.journal.count == len(messages)
    for order in socket.orders:
        assert isinstance(order, Put)
        json.loads(order.data)
