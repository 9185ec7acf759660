"""Telling Canon that a message is not waiting any more: it leaves the queued shelf, and the conversation is read.

Whoever composes marks a message as queued when a turn runs already. It is released when the host begins with it, or
consumes it otherwise; each message once, those that were merged into it as well. Nothing waits for that: the agent does
not start later because Canon is slow, and a release that fails is tried again three times.

Source: Canon adapter R5.16-R5.19, R5.22; Canon wire 8.5; D12, D57, D60, D64.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from canon_hermes_plugin.ports import Arrival
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock

__all__ = ["Acknowledgements", "ReadMarks"]

logger = logging.getLogger(__name__)

PAUSES_S: Final = (2.0, 8.0, 30.0)  # Canon adapter R5.17
REMEMBERED: Final = 1_024  # ours: a message that the host begins with twice is released once


class ReadMarks(Protocol):
    """The writes; :class:`canon_ops.client.api.CanonApi` is one."""

    async def set_disposition(self, conversation_id: str, message_id: str) -> None: ...
    async def mark_read(self, conversation_id: str) -> None: ...


class Acknowledgements:
    """The messages of one connection.

    Args:
        own: runs a task that ends with the connection at the latest.
    """

    def __init__(self, marks: ReadMarks, own: Callable[[Coroutine[Any, Any, None]], None], clock: Clock) -> None:
        self._marks = marks
        self._own = own
        self._clock = clock
        self._released: OrderedDict[str, None] = OrderedDict()

    def accepted(self, arrival: Arrival) -> None:
        """The host has begun with a message, or consumed it; returns at once."""
        said = [one for one in (arrival, *arrival.absorbed) if one.is_said]
        for one in said:
            if one.is_queued and one.message_id is not None and self._is_first(one.message_id):
                self._own(self._release(one.conversation_id, one.message_id))
        if said:
            self._own(self._read(arrival.conversation_id))

    def _is_first(self, message_id: str) -> bool:
        if message_id in self._released:
            return False
        self._released[message_id] = None
        if len(self._released) > REMEMBERED:
            self._released.popitem(last=False)
        return True

    async def _release(self, conversation_id: str, message_id: str) -> None:
        for pause_s in (*PAUSES_S, None):
            try:
                await self._marks.set_disposition(conversation_id, message_id)
            except CanonOpsError as error:
                if pause_s is None:
                    logger.warning("Canon: message %s still looks queued there: %s", message_id, error.what)
                    return
                await self._clock.sleep(pause_s)
            else:
                return

    async def _read(self, conversation_id: str) -> None:
        try:
            await self._marks.mark_read(conversation_id)
        except CanonOpsError as error:
            logger.debug("Canon: conversation %s could not be marked as read: %s", conversation_id, error.what)
