"""Carries the effects of turns out to Canon: ordered lanes for each conversation, and the answers back as events.

Canon keeps one turn state and one streaming node a conversation, so what concerns them leaves in the order in which the
machine said it. The caller never waits: an effect is taken over at once, and what a preview or a final message came to
is reported as an event of its turn. Other writes are made once: a failure is logged, and the next state or write
repairs what people see. Only what is said last of a turn is said again until Canon takes it, because nothing would
repair that: an agent that looks busy for half an hour, or a node that nobody writes any more.

Source: Canon adapter R6.2, R6.10, R6.11, R6.17, D39, D49, D57.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, Protocol

from canon_hermes_plugin.complaints import Complaints
from canon_hermes_plugin.lanes import Job, Lanes
from canon_hermes_plugin.turn import effects as effect_types
from canon_hermes_plugin.turn.effects import (
    ClearNode,
    DeliverFinal,
    Effect,
    PublishState,
    RetireNode,
    TurnClosed,
    WakeAt,
    Warn,
    WritePreview,
)
from canon_hermes_plugin.turn.events import Due, PreviewEnded, TurnEvent
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.ids import TurnId
from canon_ops.wire.requests import StreamingWrite, TurnPhase, TurnState

__all__ = ["LiveSurfaces", "Outbound", "TypingRefresh"]

logger = logging.getLogger(__name__)

WRITE_LIMIT_S: Final = 5.0  # a final message waits for the last preview; a second of silence is better than ten
STATE_LIMIT_S: Final = 10.0
LAST_PAUSES_S: Final = (0.25, 0.5, 1.0, 2.0)  # ours: within a few seconds, or not at all
BEATS_WAITING: Final = 16  # beyond this, another "still at work" tells people nothing that the waiting ones do not


class LiveSurfaces(Protocol):
    """The writes that Canon forgets by itself; :class:`canon_ops.client.api.CanonApi` is one."""

    async def write_streaming(self, write: StreamingWrite) -> None: ...
    async def clear_streaming(self, conversation_id: str) -> None: ...
    async def publish_turn(self, state: TurnState) -> None: ...


class TypingRefresh(Protocol):
    """The host's refresh of the typing dots."""

    def pause_typing(self, conversation_id: str) -> None: ...
    def resume_typing(self, conversation_id: str) -> None: ...


class Outbound:
    """The owner of the lanes and of the turns' timers.

    Args:
        report: takes an event for a turn; it may lead to further effects.
        deliver: takes a final message over, and is given the way into the lane of the conversation's final messages;
            it reports what becomes of it.
        closed: told that a turn is over.
        queue_depth: how many messages wait behind the turns of a conversation.
        can_steer: whether words can be put into a running turn.
    """

    def __init__(
        self,
        surfaces: LiveSurfaces,
        clock: Clock,
        *,
        report: Callable[[TurnId, TurnEvent], None],
        deliver: Callable[[effect_types.Final, Callable[[Job], None]], Awaitable[object]],
        closed: Callable[[TurnClosed], None],
        typing: TypingRefresh,
        queue_depth: Callable[[TurnId], int],
        can_steer: Callable[[], bool],
    ) -> None:
        self._surfaces = surfaces
        self._clock = clock
        self._report = report
        self._deliver = deliver
        self._closed = closed
        self._typing = typing
        self._queue_depth = queue_depth
        self._can_steer = can_steer
        self._lanes = Lanes(lambda error: logger.error("Canon: carrying an effect out failed", exc_info=error))
        self._timers: dict[asyncio.Task[None], TurnId] = {}
        self._told_depths: dict[TurnId, int] = {}
        self._complaints = Complaints(logger, clock)
        self._is_stopped = False

    def carry(self, effects: Iterable[Effect]) -> None:
        """Take effects over, in order; after :meth:`stop` they are dropped."""
        if not self._is_stopped:
            for effect in effects:
                self._take(effect)

    def in_lane(self, conversation_id: str, job: Job, *, of_finals: bool = False) -> None:
        """Do something behind what was taken over for the conversation, or behind its final messages.

        After :meth:`stop` it is dropped, like an effect.
        """
        if self._is_stopped:
            return
        self._lanes.add(("final", conversation_id) if of_finals else conversation_id, job)

    def told_depth(self, turn_id: TurnId) -> int | None:
        """How many waiting messages Canon was last told of behind a turn; None before its first state."""
        return self._told_depths.get(turn_id)

    async def drain(self) -> None:
        """Return once everything taken over has been said and no turn waits for its time."""
        await self._lanes.drain()
        while self._timers:
            await asyncio.wait(list(self._timers))
            await self._lanes.drain()

    async def stop(self) -> None:
        """Drop what waits and what still comes, and end every task."""
        self._is_stopped = True
        timers = list(self._timers)
        for timer in timers:
            timer.cancel()
        await asyncio.gather(*timers, return_exceptions=True)
        await self._lanes.stop()

    def _take(self, effect: Effect) -> None:
        match effect:
            case PublishState():
                self._steer_typing(effect)
                is_beat = effect.state.is_open and not effect.active_message_ids
                if not (is_beat and self._lanes.backlog(effect.conversation_id) >= BEATS_WAITING):
                    depth = self._told_depths[effect.turn_id] = self._queue_depth(effect.turn_id)
                    self._lanes.add(effect.conversation_id, partial(self._publish, effect, depth))
            case WritePreview():
                self._lanes.add(effect.conversation_id, partial(self._write, effect))
            case RetireNode():
                self._lanes.add(effect.conversation_id, partial(self._retire, effect))
            case ClearNode():
                self._lanes.add(effect.conversation_id, partial(self._clear, effect))
            case DeliverFinal(final=final):
                # Lanes of their own: a final message may take several attempts, and neither states nor the record of
                # the next one wait for that.
                conversation_id = final.conversation_id
                in_lane = partial(self.in_lane, conversation_id, of_finals=True)
                self._lanes.add(("record", conversation_id), partial(self._deliver, final, in_lane))
            case WakeAt():
                self._wake(effect)
            case Warn():
                logger.warning("Canon turn %s: %s (%s)", effect.turn_id, effect.sentence, effect.code)
            case TurnClosed():
                self._told_depths.pop(effect.turn_id, None)
                for timer in [timer for timer, turn_id in self._timers.items() if turn_id == effect.turn_id]:
                    timer.cancel()
                self._closed(effect)

    def _steer_typing(self, effect: PublishState) -> None:
        """While a turn waits for a person the dots rest. Source: R6.11."""
        if effect.state is TurnPhase.WAITING_INPUT:
            self._typing.pause_typing(effect.conversation_id)
        else:
            self._typing.resume_typing(effect.conversation_id)

    async def _publish(self, effect: PublishState, depth: int) -> None:
        state = TurnState(
            conversation_id=effect.conversation_id,
            state=effect.state,
            updated_at_ms=self._clock.now_ms(),
            queue_depth=depth,
            turn_id=effect.turn_id,
            active_message_ids=effect.active_message_ids,
            opened_at_ms=effect.opened_ms,
            supports_interleave=self._can_steer(),
        )
        publish = partial(self._surfaces.publish_turn, state)
        if effect.state.is_open:
            await self._attempt(publish(), STATE_LIMIT_S, "a state", effect)
        else:
            await self._insist(publish, "the end of a turn", effect)

    async def _write(self, effect: WritePreview) -> None:
        write = StreamingWrite(effect.conversation_id, text=effect.text, turn_id=effect.turn_id, blocks=effect.blocks)
        delivered = False
        try:
            delivered = await self._attempt(self._surfaces.write_streaming(write), WRITE_LIMIT_S, "a preview", effect)
        finally:
            self._report(effect.turn_id, PreviewEnded(delivered))

    async def _retire(self, effect: RetireNode) -> None:
        blank = StreamingWrite.blank(effect.conversation_id, effect.turn_id)
        await self._attempt(self._surfaces.write_streaming(blank), WRITE_LIMIT_S, "the emptying of a node", effect)

    async def _clear(self, effect: ClearNode) -> None:
        await self._insist(partial(self._surfaces.clear_streaming, effect.conversation_id), "the end of a node", effect)

    async def _insist(self, call: Callable[[], Awaitable[None]], what: str, effect: PublishState | ClearNode) -> None:
        """Make a write that nothing later repairs, again when it fails; a state that is overtaken is let go."""
        for pause_s in (*LAST_PAUSES_S, None):
            is_taken = await self._attempt(call(), STATE_LIMIT_S, what, effect)
            is_overtaken = isinstance(effect, PublishState) and self._lanes.backlog(effect.conversation_id) > 0
            if is_taken or is_overtaken or pause_s is None:
                return
            await self._clock.sleep(pause_s)

    async def _attempt(
        self,
        call: Awaitable[None],
        limit_s: float,
        what: str,
        effect: PublishState | WritePreview | RetireNode | ClearNode,
    ) -> bool:
        """Make a write that may fail; says whether it went through."""
        try:
            async with asyncio.timeout(limit_s):
                await call
        except (CanonOpsError, TimeoutError) as error:
            reason = str(error) or f"no answer in {limit_s:g} s"
            self._complaints.say(what, f"Canon did not take {what} (of turn {effect.turn_id}): {reason}")
            return False
        return True

    def _wake(self, effect: WakeAt) -> None:
        async def timer() -> None:
            await self._clock.sleep((effect.at_ms - self._clock.now_ms()) / 1_000)
            self._report(effect.turn_id, Due())

        task = asyncio.get_running_loop().create_task(timer())
        self._timers[task] = effect.turn_id
        task.add_done_callback(lambda done: self._timers.pop(done, None))
