"""What the model can do in Borgee. Borgee 9.8; with the host's own tool registry."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from borgee_hermes.bpp.errors import ConnectionLost
from borgee_hermes.tools import bridge
from borgee_hermes.tools.bridge import Active, Live, ToolsUnavailable, handler_of, is_available, register_tools
from borgee_hermes.tools.calls import CALLS, Answer, Plan
from borgee_hermes.tools.schemas import SCHEMAS
from tests.support.borgee_session import FakeSession

RUNTIME = {"session_id": "s-1", "user_task": "do it", "task_id": "host-task"}


def plan(name: str, arguments: Mapping[str, Any], **beside: Any) -> Plan:
    found = CALLS[name](arguments, beside)
    assert isinstance(found, Plan)
    return found


def payload(name: str, arguments: Mapping[str, Any], **beside: Any) -> dict[str, Any]:
    return dict(plan(name, arguments, **beside).action.payload)


def channel(parent_id: str | None) -> dict[str, Any]:
    return {"id": "ch-9", "name": "lobby", "parent_id": parent_id}


@pytest.fixture
async def session() -> FakeSession:
    found = FakeSession()
    await found.connect()
    found.done.clear()
    return found


@pytest.fixture
async def active(session: FakeSession) -> Active:
    found = Active()
    found.join(Live(session, asyncio.get_running_loop()))
    return found


@pytest.fixture
def registry(active: Active, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The host's registry with our tools in it, and only for this test."""
    from tools.registry import ToolRegistry

    monkeypatch.setenv("BORGEE_API_KEY", "bgr_x")
    found = ToolRegistry()
    register_tools(found.register, active)
    yield found


async def dispatch(registry: Any, name: str, arguments: Mapping[str, Any], **beside: Any) -> Any:
    """Call a tool as the host does: on a worker thread."""
    return json.loads(await asyncio.to_thread(registry.dispatch, name, dict(arguments), **beside))


@pytest.mark.host
@pytest.mark.parametrize("parent_id", [None, "zone-one"])
async def test_a_channel_is_made_where_the_model_says(
    registry: Any, session: FakeSession, parent_id: str | None
) -> None:
    """T1: null stays null on the wire; what the host passes beside the arguments is not sent."""
    session.answers["create_channel"] = channel(parent_id)
    arguments = {"guild_id": "g-1", "name": "lobby", "parent_id": parent_id}

    result = await dispatch(registry, "borgee_channel_create", arguments, **RUNTIME)

    assert result == {"channel": channel(parent_id)}
    assert session.payloads("create_channel") == [arguments]


def test_what_the_model_says_wins() -> None:
    """T2: an explicit null beats a value that came beside it; without one, the value beside it counts."""
    asked = {"guild_id": "g-1", "name": "lobby"}

    assert payload("borgee_channel_create", {**asked, "parent_id": None}, parent_id="zone-other")["parent_id"] is None
    assert payload("borgee_channel_create", asked, parent_id="zone-other")["parent_id"] == "zone-other"


@pytest.mark.parametrize("value", ["", "null", False, 4, {}, "zone/one", "x" * 129, [], ...])
def test_a_placement_that_is_none_is_refused(value: object) -> None:
    """T3: absent or malformed, nothing is sent."""
    arguments = {"guild_id": "g-1", "name": "lobby"} | ({} if value is ... else {"parent_id": value})

    with pytest.raises(ValueError, match="parent_id"):
        CALLS["borgee_channel_create"](arguments, {})


@pytest.mark.host
def test_the_host_knows_the_tools_as_described(registry: Any) -> None:
    """T4: placement is required and nullable, the page has its maximum, everything is of one toolset."""
    definitions = {
        each["function"]["name"]: each["function"] for each in registry.get_definitions(set(SCHEMAS), quiet=True)
    }

    assert set(definitions) == set(SCHEMAS) == set(CALLS)
    create, zones = definitions["borgee_channel_create"]["parameters"], definitions["borgee_list_zones"]["parameters"]
    assert "parent_id" in create["required"]
    assert create["properties"]["parent_id"]["type"] == ["string", "null"]
    assert zones["properties"]["limit"] == {"type": "integer", "minimum": 1, "maximum": 50}
    assert all(schema["parameters"]["additionalProperties"] is False for schema in SCHEMAS.values())
    assert {registry.get_toolset_for_tool(name) for name in SCHEMAS} == {"borgee"}


@pytest.mark.host
async def test_faults_reach_the_model_by_name(registry: Any, session: FakeSession) -> None:
    """T5: a missing placement sends nothing; an answer that is no page is said to be none."""
    session.answers["list_zones"] = {"zones": []}

    refused = await dispatch(registry, "borgee_channel_create", {"guild_id": "g-1", "name": "lobby"})
    malformed = await dispatch(registry, "borgee_list_zones", {"guild_id": "g-1"})

    assert "parent_id is required" in refused["error"]
    assert "missing next_after" in malformed["error"]
    assert session.names == ["list_zones"]


async def test_the_clients_own_error_travels_up(session: FakeSession, active: Active) -> None:
    """T6: the very exception."""
    error = session.answers["list_zones"] = ConnectionLost("gone")

    with pytest.raises(ConnectionLost) as caught:
        await asyncio.to_thread(handler_of("borgee_list_zones", active), {"guild_id": "g-1"})

    assert caught.value is error


@pytest.mark.parametrize("change", [{"parent_id": None}, {"parent_id": "zone-one"}, {"channel_type": 0}])
@pytest.mark.parametrize("beside", [False, True])
def test_a_channel_keeps_its_place(change: dict[str, Any], beside: bool) -> None:
    """T7: any of the two members, wherever it came from."""
    arguments = {"channel_id": "ch-1", "name": "new"}

    with pytest.raises(ValueError, match="immutable"):
        CALLS["borgee_channel_update"](arguments | ({} if beside else change), change if beside else {})


@pytest.mark.host
async def test_zones_come_page_by_page(registry: Any, session: FakeSession) -> None:
    """T8: one action a call, from a worker thread; the second asks behind the first."""
    pages = [
        {"zones": [{"id": "zone-a", "name": "A"}], "next_after": "zone-a"},
        {"zones": [{"id": "zone-b", "name": "B"}], "next_after": None},
    ]
    session.answers["list_zones"] = lambda _: pages.pop(0)

    first = await dispatch(registry, "borgee_list_zones", {"guild_id": "g-1", "limit": 1}, **RUNTIME)
    second = await dispatch(registry, "borgee_list_zones", {"guild_id": "g-1", "after": first["next_after"]})

    assert [page["zones"][0]["id"] for page in (first, second)] == ["zone-a", "zone-b"]
    assert session.payloads("list_zones") == [
        {"guild_id": "g-1", "limit": 1},
        {"guild_id": "g-1", "after": "zone-a"},
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"guild_id": None}, {"guild_id": ""}, {"guild_id": " "}, {"guild_id": 1},
        *({"guild_id": "g", "limit": value} for value in (None, True, "20", 0, 51, 2.0)),
        *({"guild_id": "g", "after": value} for value in (None, "", "zone/one", "null")),
    ],
)  # fmt: skip
def test_a_page_that_cannot_be_asked_for(arguments: dict[str, Any]) -> None:
    """T9: nothing is sent."""
    with pytest.raises(ValueError, match=r"guild_id|limit|after"):
        CALLS["borgee_list_zones"](arguments, {})


@pytest.mark.parametrize(
    ("name", "arguments", "sent"),
    [
        ("task_create", {"channel_id": "c", "title": "t", "assignee_id": ""}, {"channel_id": "c", "title": "t"}),
        ("task_list", {"guild_id": "g"}, {"guild_id": "g"}),
        ("task_update", {"task_id": "t", "assignee_id": "", "heartbeat_interval_ms": 0, "title": None},
         {"task_id": "t", "assignee_id": "", "heartbeat_interval_ms": 0}),
        ("task_set_property", {"task_id": "t", "key": "link.pr", "value": ""},
         {"task_id": "t", "key": "link.pr", "value": ""}),
        ("channel_update", {"channel_id": "c", "archived": False}, {"channel_id": "c", "archived": False}),
        ("channel_set_topic", {"channel_id": "c", "topic": ""}, {"channel_id": "c", "topic": ""}),
        ("channel_read_history", {"channel_id": "c", "limit": 5, "after": "m-1", "before": None},
         {"channel_id": "c", "limit": 5, "after": "m-1"}),
    ],
)  # fmt: skip
def test_only_what_is_given_is_sent(name: str, arguments: dict[str, Any], sent: dict[str, Any]) -> None:
    """7.3: an empty text is a value where it means one, null is not."""
    assert payload(f"borgee_{name}", arguments, **RUNTIME) == sent


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        ("task_list", {}, "error"),
        ("task_get", {}, "note"),
        ("task_update", {"task_id": "t"}, "note"),
        ("task_update", {"title": "x"}, "note"),
        ("task_set_property", {"task_id": "t", "key": "k"}, "note"),
        ("task_delete_property", {"task_id": "t"}, "note"),
    ],
)
def test_some_faults_are_notes_to_the_model(name: str, arguments: dict[str, Any], word: str) -> None:
    """7.3: a result that says what is missing; no server is asked."""
    found = CALLS[f"borgee_{name}"](arguments, RUNTIME)

    assert isinstance(found, Answer)
    assert list(found.result) == [word]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("task_create", {"channel_id": "c"}),
        ("task_create", {"title": "t"}),
        ("task_list", {"channel_id": "c", "guild_id": "g"}),
        ("channel_create", {"name": "n", "parent_id": None}),
        ("channel_create", {"guild_id": "g", "name": " ", "parent_id": None}),
        ("channel_update", {"name": "n"}),
        ("channel_delete", {}),
        ("channel_set_topic", {"channel_id": "c"}),
        ("channel_set_topic", {"channel_id": "c", "topic": None}),
        ("channel_read_history", {}),
    ],
)
def test_other_faults_are_errors(name: str, arguments: dict[str, Any]) -> None:
    """7.3: nothing is sent."""
    with pytest.raises(ValueError):
        CALLS[f"borgee_{name}"](arguments, {})


async def test_tools_follow_the_connected_adapter(session: FakeSession, active: Active) -> None:
    """W11: offered while an adapter is connected and the key is set; one that leaves does not take its successor."""
    key = {"BORGEE_API_KEY": "bgr_x"}
    live = active.live
    assert is_available(active, key)
    assert is_available(active, {"BORGEE_API_KEY_REF": "s/a"})
    assert not is_available(active, {"BORGEE_API_KEY": " "})

    successor = Live(session, asyncio.get_running_loop())
    active.join(successor)
    active.leave(live)
    assert active.live is successor
    active.leave(successor)

    assert not is_available(active, key)
    with pytest.raises(ToolsUnavailable, match="not connected"):
        handler_of("borgee_channel_list", active)({})


async def test_an_answer_that_does_not_come_is_unknown(session: FakeSession, active: Active) -> None:
    """W22: the action is cancelled, and the model is told that nobody knows."""
    cancelled = asyncio.Event()

    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    session.answers["list_channels"] = lambda _: hangs()
    action = plan("borgee_channel_list", {}).action

    with pytest.raises(ToolsUnavailable, match="unknown"):
        await asyncio.to_thread(active.run, action, wait_s=0.02)

    await asyncio.wait_for(cancelled.wait(), 5)


async def test_the_loop_never_waits_for_itself(active: Active) -> None:
    """W22: called on the gateway's own loop it fails at once instead of blocking it."""
    with pytest.raises(ToolsUnavailable, match="own loop"):
        handler_of("borgee_channel_list", active)({})

    assert bridge.WAIT_S > 30  # longer than an action can take
