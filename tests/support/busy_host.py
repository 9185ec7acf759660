"""A busy session on the real host's queue: our adapter, a gateway runner that was never started, and a scripted agent.

The runner is the host's class; its queue, its promotion and its checks are the host's own. Nothing is connected: who is
told takes notes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from canon_hermes_plugin.active import ActiveSet
from canon_hermes_plugin.busy.dispatcher import BusySessions
from canon_hermes_plugin.inbound.gate import MessageType, Request
from canon_hermes_plugin.ports import Arrival
from canon_hermes_plugin.turn.machine import Turn
from canon_ops.wire.messages import DeliveryIntent, ReplyAuthority
from tests.support.hosted_adapter import build, platform_config

__all__ = ["AUTHORITY", "KEY", "ROOM", "Agent", "Busy", "a_busy_session", "a_request", "runner_class"]

ROOM = "convo-1"
KEY = "agent:main:canon:dm:convo-1"
AUTHORITY = ReplyAuthority("m9", "t" * 32, "2027-01-01T00:00:00Z")


class Agent:
    """The host's agent, as far as busy sessions ask it."""

    def __init__(self, *, takes: bool = True) -> None:
        self.takes = takes
        self.interrupts: list[str] = []
        self.steered: list[str] = []
        self.raises = False
        self._active_children: list[object] = []
        self._pending_steer: str | None = None

    def interrupt(self, text: str) -> None:
        self.interrupts.append(text)
        if self.raises:
            raise RuntimeError("the agent is gone")

    def steer(self, text: str) -> bool:
        if self.raises:
            raise RuntimeError("the agent is gone")
        self.steered.append(text)
        if self.takes:
            self._pending_steer = f"{self._pending_steer}\n{text}" if self._pending_steer else text
        return self.takes

    def _drain_pending_steer(self) -> str | None:
        waiting, self._pending_steer = self._pending_steer, None
        return waiting


class MuteAgent:
    """An agent that takes no words in the middle of its work."""

    def __init__(self) -> None:
        self.interrupts: list[str] = []
        self._active_children: list[object] = []

    def interrupt(self, text: str) -> None:
        self.interrupts.append(text)


@cache
def runner_class() -> Any:
    """The host's runner, whose own handler of busy sessions takes notes instead."""
    from gateway.run import GatewayRunner

    class Runner(GatewayRunner):  # type: ignore[misc]  # the host ships no types
        def __init__(self, adapter: Any) -> None:  # what a gateway that runs would do is not wanted
            self._running_agents: Any = {}
            self._queued_events: Any = {}
            self._draining = False
            self._startup_restore_in_progress = False
            self.session_store = None
            self.adapter = adapter
            self.left: list[Any] = []
            self.authorized: bool | Exception = True
            self.words = {"yes"}

        async def _handle_active_session_busy_message(self, event: Any, session_key: str) -> bool:
            self.left.append(event)
            return True

        def _adapter_for_source(self, source: Any) -> Any:
            return self.adapter

        _delivery_adapter_for = _adapter_for_source  # what 0.22 calls it

        def _plaintext_approval_words(self) -> set[str]:
            return self.words

        def _is_user_authorized(self, source: Any, **_more: Any) -> bool:
            if isinstance(self.authorized, Exception):
                raise self.authorized
            return self.authorized

    return Runner


@dataclass(slots=True)
class Notes:
    """Whom the adapter tells when it is connected."""

    accepted: list[str] = field(default_factory=list)
    announced: list[Arrival] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class _Runs:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def announce(self, session_key: str, arrival: Arrival) -> None:
        self._notes.announced.append(arrival)

    def joins(self, turn_id: str, session_key: str, arrival: Arrival) -> None:
        self._notes.joined += arrival.item_ids

    def leaves(self, arrival: Arrival) -> None:
        self._notes.left += arrival.item_ids

    def dropped(self, arrivals: tuple[Arrival, ...]) -> None:
        self._notes.dropped += [message_id for arrival in arrivals for message_id in arrival.message_ids]

    def refused(self, arrival: Arrival) -> None:
        self._notes.refused += arrival.message_ids


class _Acknowledgements:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def accepted(self, arrival: Arrival) -> None:
        self._notes.accepted += arrival.message_ids


@dataclass(slots=True)
class Busy:
    """A session in which an agent works."""

    adapter: Any
    runner: Any
    agent: Any
    notes: Notes

    @property
    def sessions(self) -> BusySessions:
        return cast("BusySessions", self.adapter._port.busy)

    @property
    def turn(self) -> Turn:
        turn = self.adapter._canon._desk.running(KEY)
        assert turn is not None
        return cast("Turn", turn)

    @property
    def slot(self) -> Any:
        return self.adapter._pending_messages.get(KEY)

    @property
    def behind(self) -> list[Any]:
        return list(self.runner._queued_events.get(KEY) or [])

    @property
    def line(self) -> list[Any]:
        """What waits with us."""
        return list(self.adapter._port.queue._line.get(KEY, ()))

    @property
    def waiting(self) -> list[str]:
        """The texts that wait, in order."""
        return [event.text for event in [self.slot, *self.behind, *self.line] if event is not None]

    def event(self, request: Request) -> Any:
        return self.adapter._port._event(request)

    async def say(self, text: str, intent: str | None = None, **more: Any) -> Any:
        """A message comes into the session, as the host would ask about it; its event."""
        event = self.event(a_request(text, intent, **more))
        assert await self.sessions.dispatch(event, KEY)
        return event

    def end_run(self, *, is_stopped: bool = False) -> None:
        """The run is over; the host looks into its queue for the last time afterwards."""
        self.sessions.run_ended(KEY, (), is_stopped=is_stopped)

    def promote(self, *, adapter: Any = None) -> Any:
        """The run has ended and the host looks for the next message, as it does it."""
        event = self.adapter.get_pending_message(KEY)
        return self.runner._promote_queued_event(KEY, adapter or self.adapter, event)


def a_request(
    text: str,
    intent: str | None = None,
    *,
    message_id: str = "m2",
    user: str | None = "user-1",
    name: str = "Ann",
    disposition: str | None = "queued",
    context: str | None = None,
    media: tuple[str, ...] = (),
    attachments: tuple[Mapping[str, Any], ...] = (),
    authority: ReplyAuthority | None = None,
    is_group: bool = False,
) -> Request:
    """A message for the host, as the inbound side makes it."""
    metadata = {"inboundDisposition": disposition} if disposition else {}
    message = {"id": message_id, "text": text, "metadata": metadata, "attachments": list(attachments)}
    return Request(
        conversation_id=ROOM,
        text=text,
        type=MessageType.PHOTO if media else MessageType.COMMAND if text.startswith("/") else MessageType.TEXT,
        is_group=is_group,
        chat_name=None,
        user_id=user,
        user_name=name,
        message_id=message_id,
        reply_to=None,
        channel_prompt=None,
        channel_context=context,
        delivery_intent=DeliveryIntent(intent) if intent else None,
        media_urls=media,
        media_types=tuple("image/png" for _ in media),
        raw={"conversationId": ROOM, "message": message},
        authority=authority,
        item_id=message_id,
    )


def a_busy_session(agent: Any = None, *, wired: bool = True) -> Busy:
    """A session whose turn was opened by a message of Ann's."""
    adapter = build(platform_config(), active=ActiveSet())
    runner = runner_class()(adapter)
    adapter.gateway_runner = runner
    agent = agent if agent is not None else Agent()
    runner._running_agents[KEY] = agent
    adapter._active_sessions[KEY] = asyncio.Event()
    notes = Notes()
    busy: Any = adapter._canon.busy
    busy.connect(_Runs(notes), _Acknowledgements(notes))
    adapter._canon._desk.start(Arrival.of(a_request("begin", message_id="m1")), KEY)
    if wired:
        adapter.set_busy_session_handler(runner._handle_active_session_busy_message)
    return Busy(adapter, runner, agent, notes)
