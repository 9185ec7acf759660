"""From the host's tool hooks to the adapter that has the turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import TypeVar

import pytest

from canon_hermes_plugin.acting import Acting
from canon_hermes_plugin.active import ActiveSet, LiveAuthority
from canon_hermes_plugin.hooks import ActivityHooks
from canon_hermes_plugin.media.captures import CanonInboundMedia
from canon_hermes_plugin.turn.events import RunCut, SubagentStopped, ToolFinished, ToolStarted, TurnEvent
from canon_ops.settings.secret import Secret

T = TypeVar("T")


class Adapter:
    """An adapter that takes notes and has turns open where it is told."""

    def __init__(self, *, key: str = "k", conversations: tuple[str, ...] = ()) -> None:
        self.noted: list[tuple[str, str, TurnEvent]] = []
        self._key = key
        self._conversations = conversations

    @property
    def agent(self) -> str:
        return self._key

    def live_authority(self) -> LiveAuthority:
        return LiveAuthority(Secret(self._key), "http://api", "http://stream", "open")

    def has_open_turn(self, conversation_id: str) -> bool:
        return conversation_id in self._conversations

    async def act(self, work: Callable[[Acting], Awaitable[T]], lost: object = None) -> T:
        raise AssertionError("a hook asks for nothing")

    def inbound_media(self, conversation_id: str, message_id: str) -> tuple[CanonInboundMedia, ...]:
        raise AssertionError("a hook reads no files")

    def note(self, conversation_id: str, session_key: str, event: TurnEvent) -> None:
        self.noted.append((conversation_id, session_key, event))


def hooks_for(active: ActiveSet, **session: str) -> ActivityHooks:
    values = {f"HERMES_SESSION_{name.upper()}": value for name, value in session.items()}
    return ActivityHooks(lambda name: values.get(name, ""), lambda: False, active=active)


def test_a_finished_tool_reaches_the_adapter() -> None:
    """S6.55: conversation, tool name, duration and call id arrive as the host gave them."""
    adapter, active = Adapter(), ActiveSet()
    active.join(adapter)

    hooks_for(active, platform="canon", chat_id="conv-9", key="s").post_tool_call(
        tool_name="grep", args={"q": 1}, result="r", status="ok", duration_ms=12, tool_call_id="tc1", task_id="t"
    )

    finished = ToolFinished("grep", call_id="tc1", args={"q": 1}, result="r", status="ok", duration_ms=12)
    assert adapter.noted == [("conv-9", "s", finished)]


def test_each_hook_is_read_into_its_event() -> None:
    """R6.21-R6.24: the host's keywords become the fields of the event; what is missing is unknown, not wrong."""
    adapter, active = Adapter(), ActiveSet()
    active.join(adapter)
    hooks = hooks_for(active, platform="canon", chat_id="c")

    hooks.pre_tool_call(tool_name="grep", args={}, tool_call_id="t1", api_request_id="turn:api:1", session_id="s")
    hooks.subagent_stop(child_role="scout", child_summary="found", child_status="completed", duration_ms=1500)
    hooks.post_tool_call()

    assert [event for _, _, event in adapter.noted] == [
        ToolStarted("grep", call_id="t1", args={}, request="turn:api:1"),
        SubagentStopped("scout", summary="found", status="completed", duration_ms=1500),
        ToolFinished(""),
    ]


def test_a_childs_call_is_marked() -> None:
    """D63: what the host runs inside a delegated child says so."""
    adapter, active = Adapter(), ActiveSet()
    active.join(adapter)
    values = {"HERMES_SESSION_PLATFORM": "canon", "HERMES_SESSION_CHAT_ID": "c"}

    ActivityHooks(lambda name: values.get(name, ""), lambda: True, active=active).pre_tool_call(tool_name="grep")

    ((_, _, event),) = adapter.noted
    assert event == ToolStarted("grep", delegated=True)


@pytest.mark.parametrize(
    "session",
    [
        pytest.param({"platform": "telegram", "chat_id": "c"}, id="other-platform"),
        pytest.param({"platform": "cli", "chat_id": "c"}, id="cli"),
        pytest.param({"platform": "canon", "chat_id": ""}, id="no-chat"),
        pytest.param({}, id="nothing"),
    ],
)
def test_calls_outside_a_canon_session_are_ignored(session: dict[str, str]) -> None:
    """S6.56: another platform or an empty chat records nothing and raises nothing."""
    adapter, active = Adapter(), ActiveSet()
    active.join(adapter)
    hooks = hooks_for(active, **session)

    hooks.pre_tool_call(tool_name="x")
    hooks.post_tool_call(tool_name="x")
    hooks.subagent_stop()

    assert adapter.noted == []


def test_a_hook_never_raises(caplog: pytest.LogCaptureFixture) -> None:
    """A broken adapter costs a log line, not the tool."""
    active = ActiveSet()
    active.join(SimpleNamespace(agent="1"))  # it cannot take a note

    hooks_for(active, platform="canon", chat_id="c").pre_tool_call(tool_name="x")

    assert "activity hook failed" in caplog.text


def test_live_authority_needs_exactly_one_candidate() -> None:
    """S2.14: the owner of the conversation; nobody when two own it, or when two are active and none is named."""
    active, one, two = (
        ActiveSet(),
        Adapter(key="1", conversations=("c1", "c2")),
        Adapter(key="2", conversations=("c2",)),
    )
    active.join(one)
    active.join(two)

    authority = active.live_authority("c1")

    assert authority is not None and authority.api_key == Secret("1")
    assert active.live_authority("c2") is None
    assert active.live_authority() is None


def test_a_call_belongs_to_one_adapter() -> None:
    """S8.11, S8.12, D51: a turn's call goes to the adapter that owns it; one without a turn to the only one."""
    active, one, two = ActiveSet(), Adapter(conversations=("c1", "c2")), Adapter(conversations=("c2",))
    active.join(one)
    alone = [active.owner(conversation_id) for conversation_id in ("c1", "c3", None)]
    active.join(two)

    assert alone == [one, one, one]
    assert [active.owner(conversation_id) for conversation_id in ("c1", "c2", "c3", None)] == [one, None, None, None]


def test_work_of_a_room_is_never_another_agents() -> None:
    """D51, R2.15: of two agents one is gone for a moment; what works in the background of a room they share is not
    carried out by the other one, and by a new adapter of the same agent in a process of its own it is."""
    active, one, two = ActiveSet(), Adapter(key="1", conversations=("c1",)), Adapter(key="2")
    active.join(one)
    active.leave(one)
    active.join(again := Adapter(key="1"))
    alone = active.owner("c1")
    active.join(two)
    active.leave(again)

    assert (alone, active.owner("c1"), active.owner(None)) == (again, None, two)


def test_a_member_that_left_is_no_candidate() -> None:
    """Leaving twice does no harm, and the one that stays is the only candidate."""
    active, one, two = ActiveSet(), Adapter(key="1"), Adapter(key="2")
    active.join(one)
    active.join(two)

    active.leave(one)
    active.leave(one)

    authority = active.live_authority()
    assert authority is not None and authority.api_key == Secret("2")


@pytest.mark.parametrize(
    ("said", "in_a_child", "noted"),
    [
        pytest.param({"interrupted": True, "completed": False}, False, [RunCut()], id="cut"),
        pytest.param({"interrupted": False, "completed": True}, False, [], id="run-to-its-end"),
        pytest.param({}, False, [], id="a-host-that-does-not-say"),
        pytest.param({"interrupted": True}, True, [], id="a-childs"),
    ],
)
def test_only_a_run_that_the_host_interrupted_is_told(
    said: dict[str, bool], in_a_child: bool, noted: list[TurnEvent]
) -> None:
    """X3: the end of every other run says itself what it came to."""
    adapter, active = Adapter(), ActiveSet()
    active.join(adapter)
    values = {"HERMES_SESSION_PLATFORM": "canon", "HERMES_SESSION_CHAT_ID": "c"}
    hooks = ActivityHooks(lambda name: values.get(name, ""), lambda: in_a_child, active=active)

    hooks.on_session_end(session_id="s", model="m", **said)

    assert [event for _, _, event in adapter.noted] == noted
