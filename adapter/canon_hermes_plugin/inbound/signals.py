"""A person's stop, or new session, reaches what runs: fetched when the stream tells of it, and asked for besides.

Canon keeps one signal a conversation, and whoever consumes it is the only one to see it. The stream says where one is;
a frame that was lost would leave a run unstoppable, so where a turn is open the signal is asked for as well.

Source: Canon adapter R5.30-R5.32; defects D10, D26.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.inbound.controls import control_requests
from canon_hermes_plugin.inbound.gate import Request
from canon_ops.runtime.clock import Clock
from canon_ops.wire.requests import Signal, SignalKind

__all__ = ["Signals"]

AT_ONCE: Final = 4  # ours: a poll shares the connections with everything else


class Signals:
    """The signals of one agent.

    Args:
        consume: takes the signal of a conversation off Canon; None when there is none.
        hand_over: gives a command to the host.
        waiting_in: the sessions of a conversation in which something waits, each with a person who waits in it.
        session_of: the host's session of a command.
        drop_queue: takes out what waits in a session.
        drop_arriving: takes out what is on its way to the host in a conversation.
        is_group: whether a conversation is one.
        agent_id: ours; the author of a signal of which Canon does not say who gave it.
    """

    def __init__(
        self,
        consume: Callable[[str], Awaitable[Signal | None]],
        desk: TurnDesk,
        *,
        hand_over: Callable[[Request], Awaitable[None]],
        waiting_in: Callable[[str], list[tuple[str, str | None]]],
        session_of: Callable[[Request], str],
        drop_queue: Callable[[str], None],
        drop_arriving: Callable[[str], None],
        is_group: Callable[[str], bool],
        agent_id: str | None,
        clock: Clock,
    ) -> None:
        self._consume = consume
        self._desk = desk
        self._hand_over = hand_over
        self._waiting_in = waiting_in
        self._session_of = session_of
        self._drop_queue = drop_queue
        self._drop_arriving = drop_arriving
        self._is_group = is_group
        self._agent_id = agent_id
        self._clock = clock

    async def consume(self, conversation_id: str) -> None:
        """Fetch the signal of a conversation and act on it, in every session that it concerns.

        Raises:
            CanonOpsError: Canon did not say whether there is one.
            Exception: the host did not take the command of a session; the others have theirs.
        """
        signal = await self._consume(conversation_id)
        if signal is None:
            return
        requests = control_requests(
            signal,
            conversation_id,
            self._desk.turns,
            waiting=self._waiting_in(conversation_id),
            is_group=self._is_group(conversation_id),
            agent_id=self._agent_id,
            now_ms=self._clock.now_ms(),
        )
        self._desk.interrupted(conversation_id)
        drops = signal.kind is SignalKind.STOP_AND_DROP
        if drops:
            self._drop_arriving(conversation_id)
        refused: Exception | None = None
        for session_key, request in [(self._session_of(request), request) for request in requests]:
            if drops:
                self._drop_queue(session_key)
            try:
                await self._hand_over(request)
            except Exception as error:  # the host's own code; the signal is taken, and the other sessions are meant too
                refused = refused or error
            if drops:  # what came while the host was stopping
                self._drop_queue(session_key)
        if refused is not None:
            raise refused

    async def poll(self) -> None:
        """Ask for signals that the stream may have missed, where something runs that a signal could mean (D26).

        Raises:
            CanonOpsError: one conversation could not be asked; all the others were.
        """
        at_once = asyncio.Semaphore(AT_ONCE)

        async def poll(conversation_id: str) -> None:
            async with at_once:
                await self.consume(conversation_id)

        rooms = sorted({turn.conversation_id for turn in self._desk.turns.live.values() if turn.is_open})
        polled = await asyncio.gather(*map(poll, rooms), return_exceptions=True)
        for error in polled:  # one room's trouble hides no signal of another's
            if isinstance(error, BaseException):
                raise error
