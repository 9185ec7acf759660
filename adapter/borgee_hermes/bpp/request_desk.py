"""What a server asks of us: answered in time, by a bounded number of hands, also when nobody is there to answer.

The decisions that need no handler are :func:`refuse`, pure. A request whose id is so long that no frame of ours could
carry it back cannot be answered, and is not carried out either. Source: Borgee 1.10, W-8, W-16, W-28.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

from borgee_hermes.bpp import outgoing
from borgee_hermes.bpp.budget import Foreign
from borgee_hermes.bpp.effects import Serve
from borgee_hermes.bpp.errors import ProtocolCapacity, ProtocolError
from borgee_hermes.bpp.events import ServerRequest
from borgee_hermes.bpp.limits import MAX_OUTGOING_BYTES, Limits
from borgee_hermes.bpp.port import Handlers
from canon_ops.runtime.clock import Clock

__all__ = ["RequestDesk", "refuse"]

logger = logging.getLogger(__name__)

STOP_TURN: Final = "stop_turn"
NO_TURN: Final = {"aborted": False}
LONGEST_ERROR: Final = "stop_turn_channel_id_invalid"


def refuse(request: ServerRequest, handlers: Handlers) -> bytes | None:
    """The answer to a request that no handler has to see; None when one has to."""
    if request.size_bytes > MAX_OUTGOING_BYTES:
        return outgoing.response_error(request.request_id, "server_request_too_large")
    if request.action == STOP_TURN:
        channel_id = request.data.get("channel_id")
        if not isinstance(channel_id, str) or not channel_id:
            return outgoing.response_error(request.request_id, LONGEST_ERROR)
        if handlers.stop_turn is None and handlers.request is None:
            return outgoing.response(request.request_id, NO_TURN)
        return None
    if handlers.request is None:
        return outgoing.response_error(request.request_id, "no_server_request_handler")
    return None


def _is_answerable(request: ServerRequest) -> bool:
    try:
        outgoing.response_error(request.request_id, LONGEST_ERROR)
    except ProtocolCapacity:
        return False
    return True


class RequestDesk:
    """A few workers and a short queue in front of them.

    Args:
        answer: sends a response over the connection of that generation, if it still stands.
    """

    def __init__(
        self, handlers: Handlers, answer: Callable[[int, bytes], None], *, clock: Clock, limits: Limits
    ) -> None:
        self._handlers = handlers
        self._answer = answer
        self._clock = clock
        self._limits = limits
        self._foreign = Foreign(clock)
        self._queue: deque[tuple[Serve, float]] = deque()
        self._workers: set[asyncio.Task[None]] = set()

    def take(self, order: Serve) -> None:
        """Answer now, or have it answered."""
        if not _is_answerable(order.request):
            logger.warning("Borgee: a request with an id of %d characters is ignored", len(order.request.request_id))
            return
        refusal = refuse(order.request, self._handlers)
        if refusal is not None:
            self._answer(order.generation, refusal)
        elif len(self._workers) < self._limits.request_workers:
            worker = asyncio.ensure_future(self._work(order, self._clock.monotonic_s()))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        elif len(self._queue) < self._limits.request_queue:
            self._queue.append((order, self._clock.monotonic_s()))
        else:
            self._error(order, "server_request_busy")

    async def close(self) -> None:
        """Stop the workers; handlers that do not stop are left behind."""
        self._queue.clear()
        self._foreign.cancel()
        for worker in self._workers:
            worker.cancel()
        if self._workers:
            await asyncio.wait(self._workers)

    async def _work(self, order: Serve, arrived_s: float) -> None:
        await self._serve(order, arrived_s)
        while self._queue:
            await self._serve(*self._queue.popleft())

    async def _serve(self, order: Serve, arrived_s: float) -> None:
        limits = self._limits
        waited_s = self._clock.monotonic_s() - arrived_s
        if waited_s >= limits.request_wait_s or len(self._foreign) >= limits.request_tasks:
            self._error(order, "server_request_busy")
            return
        budget_s = min(limits.request_handler_s, limits.request_s - waited_s - limits.request_reserve_s)
        try:
            value = await self._foreign.run(self._handled(order.request), budget_s)
            data = outgoing.response(order.request.request_id, value)
        except TimeoutError:
            self._error(order, "server_request_timeout")
        except ProtocolCapacity:
            self._error(order, "server_request_too_large")
        except ProtocolError:  # not JSON
            self._error(order, "server_request_failed")
        except Exception:  # whatever a handler does, the server gets its answer
            logger.exception("Borgee: answering a %s request failed", order.request.action)
            self._error(order, "server_request_failed")
        else:
            self._answer(order.generation, data)

    def _handled(self, request: ServerRequest) -> Coroutine[Any, Any, Any]:
        return self._stopped(request) if request.action == STOP_TURN else self._asked(request)

    async def _asked(self, request: ServerRequest) -> Any:
        assert self._handlers.request is not None  # noqa: S101  # refuse() has looked
        return await self._handlers.request(request)

    async def _stopped(self, request: ServerRequest) -> Any:
        """A yes or a no, whatever shape the answer has: the server shows it to a person."""
        if self._handlers.stop_turn is not None:
            aborted: object = await self._handlers.stop_turn(request.data["channel_id"])
        else:
            given = await self._asked(request)
            aborted = given.get("aborted") if isinstance(given, dict) else None
        return {"aborted": aborted} if isinstance(aborted, bool) else NO_TURN

    def _error(self, order: Serve, code: str) -> None:
        self._answer(order.generation, outgoing.response_error(order.request.request_id, code))
