"""The pure core of the Canon plugin, driven by a shell of a few lines that answers every effect at once.

Scenarios read as the host's calls and end with what went over the wire. There is no loop, no network and no clock: time
moves only in :meth:`PureDesk.pass_ms`, and previews and finals can be held back or made to fail by flags.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from canon_hermes_plugin.outbox import operations
from canon_hermes_plugin.outbox.host_metadata import split_metadata
from canon_hermes_plugin.outbox.operations import Book
from canon_hermes_plugin.turn import registry
from canon_hermes_plugin.turn.effects import (
    ClearNode,
    DeliverFinal,
    Effect,
    Final,
    PublishState,
    RetireNode,
    TurnClosed,
    WakeAt,
    Warn,
    WritePreview,
)
from canon_hermes_plugin.turn.events import (
    Due,
    Ended,
    FinalDeferred,
    FinalRejected,
    FinalSettled,
    Kind,
    Opening,
    Outcome,
    PreviewEnded,
    Staged,
    ToolFinished,
    ToolStarted,
    TurnEvent,
)
from canon_hermes_plugin.turn.registry import Caller, Found, Move, Turns
from canon_hermes_plugin.turn.routing import (
    Auxiliary,
    Duplicate,
    Marks,
    Open,
    Plain,
    Replay,
    Route,
    Stage,
    Stale,
    route_edit,
    route_send,
)
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId, own_message_id, stream_message_id, turn_id
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.retry import Outcome as Attempt
from canon_ops.wire.retry import certainly_not_handled

__all__ = ["C1", "Answer", "PureDesk", "Stream"]

C1 = ConversationId("c1")


@dataclass(frozen=True)
class Stream:
    """A node write: ``streaming`` with text or blocks, ``thinking`` for the one that empties it."""

    status: str
    turn: TurnId
    text: str | None
    blocks: tuple[Mapping[str, Any], ...] | None

    @property
    def kinds(self) -> list[str]:
        return [block["kind"] for block in self.blocks or ()]


@dataclass(frozen=True)
class Answer:
    """What the host would get back."""

    message_id: str | None
    raw: Mapping[str, Any]
    success: bool = True


@dataclass
class PureDesk:
    """One adapter without a world."""

    conversation: ConversationId = C1
    turns: Turns = field(default_factory=Turns)
    book: Book = field(default_factory=Book)
    now_ms: int = 1_790_000_000_000
    connected: bool = True
    preview_fails: bool = False
    hold_previews: bool = False
    hold_finals: bool = False
    final_outcome: Attempt | None = None
    sent: list[SendMessage] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    states: list[tuple[str, TurnId]] = field(default_factory=list)
    published: list[PublishState] = field(default_factory=list)
    cleared: list[TurnId] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    closed: list[TurnClosed] = field(default_factory=list)
    wakes: list[WakeAt] = field(default_factory=list)
    held_previews: list[WritePreview] = field(default_factory=list)
    held_finals: list[Final] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    _fresh: Any = field(default_factory=lambda: itertools.count(1))

    # --- the host's calls ---------------------------------------------------------------------------------------------

    def open(
        self,
        turn: str = "hermes-turn-1",
        *,
        session: str | None = "s1",
        quiet: bool = False,
        conversation: ConversationId | None = None,
        **more: Any,
    ) -> Caller:
        """The start hook: opens a turn and binds the caller."""
        opening = self.opening(turn, session=session, quiet=quiet, conversation=conversation, **more)
        self._move(registry.open_turn(self.turns, opening, now_ms=self.now_ms))
        return Caller(opening.turn_id, opening.session)

    def opening(
        self,
        turn: str,
        *,
        session: str | None = "s1",
        quiet: bool = False,
        conversation: ConversationId | None = None,
        **more: Any,
    ) -> Opening:
        key = SessionKey(session) if session else None
        return Opening(TurnId(turn), conversation or self.conversation, quiet, session=key, **more)

    def send(self, caller: Caller, text: str, *, reply_to: str | None = None, **metadata: Any) -> Answer:
        route = route_send(self.turns, self.conversation, caller, Marks.read(metadata), connected=self.connected)
        return self._carry_route(route, text, reply_to, metadata)

    def edit(self, caller: Caller, message_id: str, text: str, *, finalize: bool = False, **metadata: Any) -> Answer:
        route = route_edit(
            self.turns, self.conversation, caller, message_id, finalize=finalize, connected=self.connected
        )
        return self._carry_route(route, text, None, metadata, edited=message_id)

    def tool(self, caller: Caller, name: str = "grep", *, call_id: str | None = "t1", duration_ms: int = 42) -> None:
        """A whole tool call."""
        self.tool_started(caller, name, call_id=call_id)
        self.event(caller, ToolFinished(name, call_id, args={"n": 1}, result="found", duration_ms=duration_ms))

    def tool_started(
        self, caller: Caller, name: str = "grep", *, call_id: str | None = "t1", child: bool = False
    ) -> None:
        self.event(caller, ToolStarted(name, call_id, args={"n": 1}, delegated=child))

    def event(self, caller: Caller, event: TurnEvent) -> bool:
        """Feed an event to the turn that the caller means; False when it means none."""
        found = registry.find(self.turns, self.conversation, caller) if self.connected else None
        if not isinstance(found, Found):
            return False
        self._move(registry.apply(self.turns, found.turn_id, event, now_ms=self.now_ms))
        return True

    def complete(self, caller: Caller, outcome: Outcome = Outcome.SUCCESS) -> None:
        """The completion hook, and everything that follows from it."""
        self.event(caller, Ended(outcome))
        self.settle()

    def announce(self, caller: Caller, opening: Opening) -> None:
        assert caller.bound is not None
        self.turns = registry.announce(self.turns, caller.bound, opening)

    def typing(self, caller: Caller) -> None:
        """``send_typing`` in the run's own task."""
        assert caller.bound is not None
        ended, opening = registry.hand_over(self.turns, caller.bound, now_ms=self.now_ms)
        self._move(ended)
        if opening is not None:
            self.settle()  # the host waits for the end of the turn before
            self._move(registry.open_turn(self.turns, opening, now_ms=self.now_ms))

    # --- the world ----------------------------------------------------------------------------------------------------

    def end_preview(self, *, delivered: bool = True) -> None:
        """The oldest held preview write comes back."""
        held = self.held_previews.pop(0)
        self._event(held.turn_id, PreviewEnded(delivered))

    def end_final(self, event: TurnEvent | None = None) -> None:
        """The oldest held final is settled."""
        held = self.held_finals.pop(0)
        assert held.turn_id is not None
        self._event(held.turn_id, event or FinalSettled())

    def pass_ms(self, milliseconds: int) -> None:
        """Let time go by; timers that have come are fired in order."""
        until = self.now_ms + milliseconds
        while due := [wake for wake in self.wakes if wake.at_ms <= until]:
            wake = min(due, key=lambda each: each.at_ms)
            self.wakes.remove(wake)
            self.now_ms = max(self.now_ms, wake.at_ms)
            self._event(wake.turn_id, Due())
        self.now_ms = until

    def settle(self) -> None:
        """Let the time go by that any turn may still need."""
        self.pass_ms(60_000)

    # --- reading ------------------------------------------------------------------------------------------------------

    @property
    def texts(self) -> list[str]:
        """The durable messages."""
        return [message.text for message in self.sent]

    @property
    def stream_texts(self) -> list[str]:
        """Node writes that carry text, the emptying one left out."""
        return [stream.text for stream in self.streams if stream.text is not None and stream.status == "streaming"]

    @property
    def state_names(self) -> list[str]:
        return [state for state, _ in self.states]

    # --- the shell ----------------------------------------------------------------------------------------------------

    def _digits(self, count: int) -> str:
        return f"{next(self._fresh):0{count}x}"

    def _carry_route(
        self, route: Route, text: str, reply_to: str | None, metadata: Mapping[str, Any], edited: str | None = None
    ) -> Answer:
        split = split_metadata(metadata)
        match route:
            case Stale() | Duplicate() | Auxiliary():
                return Answer(route.turn_id if isinstance(route, Duplicate) else None, route.raw)
            case Stage():
                segment = stream_message_id(route.turn_id, self._digits(32)) if route.is_new else route.segment
                staged = Staged(text, route.finalized, segment, reply_to, split.metadata, split.options)
                self._event(route.turn_id, staged)
                turn = self.turns.live.get(route.turn_id)
                dropped = {"previewDropped": True} if turn and turn.preview.dropped else {}
                return Answer(edited or segment, {**route.raw, **dropped})
            case Open():
                fresh = own_message_id(self._digits(32)) if route.kind is Kind.OWN else turn_id(self._digits(20))
                loose = route.turn_id or fresh
                opening = Opening(loose, self.conversation, False, kind=route.kind, semantics=route.semantics)
                self._move(registry.open_turn(self.turns, opening, now_ms=self.now_ms))
                self._event(loose, Staged(text, route.finalized, None, reply_to, split.metadata, split.options))
                return Answer(loose, {})
            case Replay():
                return self._deliver(Final(route.turn_id, self.conversation, text, reply_to))
            case Plain():
                own = own_message_id(self._digits(32))
                return self._deliver(
                    Final(own, self.conversation, text, reply_to, split.metadata, split.options, names_turn=False)
                )

    def _event(self, turn: TurnId, event: TurnEvent) -> None:
        self._move(registry.apply(self.turns, turn, event, now_ms=self.now_ms))

    def _move(self, move: Move) -> None:
        self.turns = move.turns
        waiting = deque(move.effects)
        while waiting:
            answered = self._do(waiting.popleft())
            if answered is not None:
                after = registry.apply(self.turns, *answered, now_ms=self.now_ms)
                self.turns = after.turns
                waiting.extend(after.effects)

    def _do(self, effect: Effect) -> tuple[TurnId, TurnEvent] | None:
        self.log.append(type(effect).__name__)
        match effect:
            case PublishState():
                self.states.append((effect.state.value, effect.turn_id))
                self.published.append(effect)
            case WritePreview():
                self.streams.append(Stream("streaming", effect.turn_id, effect.text, effect.blocks))
                if not self.hold_previews:
                    return effect.turn_id, PreviewEnded(not self.preview_fails)
                self.held_previews.append(effect)
            case RetireNode():
                self.streams.append(Stream("thinking", effect.turn_id, "", ()))
            case ClearNode():
                self.cleared.append(effect.turn_id)
            case DeliverFinal(final=final):
                assert final.turn_id is not None
                if not self.hold_finals:
                    return final.turn_id, self._attempt(final)
                self.held_finals.append(final)
            case WakeAt():
                self.wakes.append(effect)
            case Warn():
                self.warnings.append(effect.code)
            case TurnClosed():
                self.closed.append(effect)
        return None

    def _attempt(self, final: Final) -> TurnEvent:
        reserved = operations.reserve(self.book, final)
        if isinstance(reserved, operations.Refused):
            return FinalDeferred(reserved.sentence)
        self.book, operation = reserved.book, reserved.operation
        for message in operation.remaining:
            if self.final_outcome is not None:
                lost = not certainly_not_handled(self.final_outcome)
                retry = operations.release(self.book, operation, may_have_landed=lost)
                self.book = retry.book
                return FinalDeferred("lost") if retry.is_kept else FinalRejected("refused")
            self.sent.append(message)
            self.book, operation = operations.sent(self.book, operation)
        self.book = operations.settle(self.book, operation)
        return FinalSettled(operation.base_id)

    def _deliver(self, final: Final) -> Answer:
        event = self._attempt(final)
        if final.turn_id is not None:
            self._event(final.turn_id, event)
        return Answer(
            event.message_id if isinstance(event, FinalSettled) else None, {}, isinstance(event, FinalSettled)
        )
