"""Lays to rest what the last gateway left on Canon, and goes on with what it still owed there.

For each conversation, before anything new is said in it: the node of a dead turn is emptied, because the deletion of a
node that holds half a narration makes a message of it. Then the turn gets its last state, unless it goes on or its
answer is still on its way; an answer that is owed is sent under its old ids, and its turn is closed behind it.

What is decided, and why, stands in inbox/recovery.py. Source: decisions X1; defects D6, D24, D37.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from canon_hermes_plugin.inbox.items import Item
from canon_hermes_plugin.inbox.keeper import Inbox
from canon_hermes_plugin.inbox.recovery import DeadTurn, Rest, rest_of
from canon_hermes_plugin.outbound.deliveries import Deliveries
from canon_hermes_plugin.outbound.effects import LiveSurfaces, Outbound
from canon_hermes_plugin.outbox.operations import Operation
from canon_ops.client.errors import RequestFailed
from canon_ops.runtime.clock import Clock
from canon_ops.wire.requests import StreamingWrite, TurnPhase, TurnState
from canon_ops.wire.retry import reconnect_delays

__all__ = ["Legacy"]

logger = logging.getLogger(__name__)


class Legacy:
    """The executor of one start.

    Args:
        surfaces: Canon's live surfaces, directly: nothing of this is a turn of ours.
        has_open_turn: whether a turn of this life is open in a conversation.
    """

    def __init__(
        self,
        surfaces: LiveSurfaces,
        outbound: Outbound,
        deliveries: Deliveries,
        inbox: Inbox,
        *,
        has_open_turn: Callable[[str], bool],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._surfaces = surfaces
        self._outbound = outbound
        self._deliveries = deliveries
        self._inbox = inbox
        self._has_open_turn = has_open_turn
        self._clock = clock
        self._rng = rng

    def take_over(self, turns: Sequence[DeadTurn], items: Sequence[Item], operations: Sequence[Operation]) -> None:
        """Put everything into the lanes of its conversations; called before anything else is."""
        answered = frozenset(str(operation.turn_id) for operation in operations)
        waiting = {}
        for turn in turns:
            rest = rest_of(turn, items, answered)
            self._outbound.in_lane(turn.conversation_id, partial(self._bury, turn, rest))
            if rest is Rest.AFTER_ANSWER:
                waiting[turn.turn_id] = turn
        for operation in operations:
            self.resume(operation, waiting.get(str(operation.turn_id)))

    def resume(self, operation: Operation, turn: DeadTurn | None = None) -> None:
        """Send an operation again, behind the final messages of its conversation."""
        if self._deliveries.claim(operation):
            conversation_id = operation.messages[-1].conversation_id
            self._outbound.in_lane(conversation_id, partial(self._deliver, operation, turn), of_finals=True)

    async def _bury(self, turn: DeadTurn, rest: Rest) -> None:
        blank = StreamingWrite.blank(turn.conversation_id, turn.turn_id)
        if not await self._insist(lambda: self._surfaces.write_streaming(blank), f"node of {turn.turn_id}"):
            self._inbox.buried(turn.turn_id)
            return
        if rest is Rest.INTERRUPTED:
            await self._close(turn, TurnPhase.INTERRUPTED)
        elif rest is Rest.SILENT:
            await self._close(turn, None)

    async def _deliver(self, operation: Operation, turn: DeadTurn | None) -> None:
        arrived = await self._deliveries.resume(operation)
        if turn is not None:
            phase = TurnPhase.COMPLETED if arrived else TurnPhase.INTERRUPTED
            self._outbound.in_lane(turn.conversation_id, partial(self._close, turn, phase))

    async def _close(self, turn: DeadTurn, phase: TurnPhase | None) -> None:
        """Delete the empty node, unless another turn has taken it, and say the last word about the turn."""
        if not self._has_open_turn(turn.conversation_id):
            cleared = partial(self._surfaces.clear_streaming, turn.conversation_id)
            await self._insist(cleared, f"end of the node of {turn.turn_id}")
        if phase is not None:
            state = TurnState(
                conversation_id=turn.conversation_id,
                state=phase,
                updated_at_ms=self._clock.now_ms(),
                turn_id=turn.turn_id,
                opened_at_ms=turn.opened_ms,
            )
            await self._insist(lambda: self._surfaces.publish_turn(state), f"state {phase} of {turn.turn_id}")
        self._inbox.buried(turn.turn_id)

    async def _insist(self, call: Callable[[], Awaitable[None]], what: str) -> bool:
        """Try until it is done; False when Canon will never take it, which ends it here: nobody else asks again."""
        for pause_s in reconnect_delays(self._rng):
            try:
                await call()
            except RequestFailed as error:
                if not error.retryable:
                    logger.warning("Canon did not take the %s, left from before: %s", what, error.what)
                    return False
                await self._clock.sleep(max(pause_s, error.retry_after_s or 0.0))
            else:
                return True
        return False
