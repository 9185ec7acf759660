"""Agent configuration updates, one after the other, each acknowledged exactly as decided the first time.

Without a handler every update is rejected at once, which is what the Hermes adapter wants: settings of a running
conversation are not changed from outside. Source: Borgee 1.9.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable

from borgee_hermes.bpp import outgoing
from borgee_hermes.bpp.budget import Foreign
from borgee_hermes.bpp.effects import Configure
from borgee_hermes.bpp.errors import ProtocolCapacity
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.bpp.port import Applied, ConfigAnswer, Handlers, Rejected
from borgee_hermes.bpp.state import FaultReason
from canon_ops.runtime.clock import Clock

__all__ = ["ConfigDesk"]

logger = logging.getLogger(__name__)

LONGEST = Rejected(FaultReason.NETWORK_UNREACHABLE)  # no acknowledgement takes more room


class ConfigDesk:
    """One worker.

    Args:
        answer: sends an acknowledgement over the connection of that generation, if it still stands.
    """

    def __init__(
        self, handlers: Handlers, answer: Callable[[int, bytes], None], *, clock: Clock, limits: Limits
    ) -> None:
        self._handle = handlers.config
        self._answer = answer
        self._clock = clock
        self._limits = limits
        self._foreign = Foreign(clock)
        self._waiting: deque[Configure] = deque()
        self._bytes = 0
        self._given: OrderedDict[str, bytes] = OrderedDict()  # idempotency key -> acknowledgement
        self._worker: asyncio.Task[None] | None = None

    def take(self, order: Configure) -> None:
        """Put an update behind those that wait.

        Raises:
            ProtocolCapacity: too many wait.
        """
        limits = self._limits
        if len(self._waiting) >= limits.config_updates or self._bytes + order.size > limits.config_bytes:
            raise ProtocolCapacity("Borgee sends configuration updates faster than they can be handled.")
        self._waiting.append(order)
        self._bytes += order.size
        if self._worker is None or self._worker.done():
            self._worker = asyncio.ensure_future(self._work())

    async def close(self) -> None:
        """Stop the worker; a handler that does not stop is left behind."""
        self._waiting.clear()
        self._foreign.cancel()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})

    async def _work(self) -> None:
        while self._waiting:
            order = self._waiting[0]  # it counts as waiting until it is answered
            key = order.update.idempotency_key
            known = self._given.get(key)
            if known is None and (known := await self._acknowledgement(order)) is not None:
                self._given[key] = known
                if len(self._given) > self._limits.remembered_configs:
                    self._given.popitem(last=False)
            self._waiting.popleft()
            self._bytes -= order.size
            if known is not None:
                self._answer(order.generation, known)

    async def _acknowledgement(self, order: Configure) -> bytes | None:
        """What became of an update; None when its key is so long that no frame of ours could carry it back."""
        try:
            outgoing.config_ack(order.update, LONGEST, now_ms=0)  # before anything is applied
            return outgoing.config_ack(order.update, await self._decide(order), now_ms=self._clock.now_ms())
        except ProtocolCapacity:
            size = len(order.update.idempotency_key)
            logger.warning("Borgee: a configuration update with a key of %d characters is ignored", size)
            return None

    async def _decide(self, order: Configure) -> ConfigAnswer:
        if self._handle is None:
            return Rejected()

        async def ask() -> object:
            assert self._handle is not None  # noqa: S101  # looked at above
            return await self._handle(order.update)

        try:
            answer = await self._foreign.run(ask(), self._limits.config_s)
        except TimeoutError:
            return Rejected(FaultReason.RUNTIME_TIMEOUT)
        except Exception:  # whatever a handler does, the server gets its answer
            logger.exception("Borgee: applying a configuration update failed")
            return Rejected()
        return answer if isinstance(answer, Applied | Rejected) else Rejected()
