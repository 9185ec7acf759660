"""What Borgee delivers becomes a receipt on disk, is acknowledged, and only then concerns anybody else.

In order of arrival, and what has arrived meanwhile in one commit: a burst costs the disk a few waits, a single message
none more. A connection that ends between the commit and the checkpoint makes what it delivered stale; the receipts are
stored all the same, and the next ones are taken (W2).

Nobody sends again what was received. So the intake goes on while an adapter stops, until the client has nothing more,
and an event that cannot be stored does not take those behind it along, though it ends the adapter.

Source: Borgee 1.8, 5; docs/decisions/0043.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from borgee_hermes.bpp.errors import StaleDelivery
from borgee_hermes.bpp.events import InboundEvent
from borgee_hermes.bpp.port import BppSession, Burst
from borgee_hermes.inbound import receipt_of
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.records import DispatchClass, Status
from borgee_hermes.ports import HostPort

__all__ = ["Intake"]

logger = logging.getLogger(__name__)


class Intake:
    """The one consumer of the deliveries.

    Args:
        heard: is told that a delivery came.
        arrived: takes number, session and class of a receipt that waits for a turn.
        fail: ends the adapter over a fault of the inbox, or of the host when it was asked about a command; may be
            called again for what comes after.
    """

    def __init__(
        self,
        session: BppSession,
        inbox: Inbox,
        port: HostPort,
        *,
        heard: Callable[[], None],
        arrived: Callable[[int, str, DispatchClass], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._session = session
        self._inbox = inbox
        self._port = port
        self._heard = heard
        self._arrived = arrived
        self._fail = fail

    async def run(self) -> None:
        """Take what is delivered until the client has no more."""
        async for burst in self._session.bursts():
            try:
                await self._take(burst)
            except Exception as error:  # nobody else takes what waits behind it, and nobody would miss this task
                logger.exception("Borgee: the intake failed over a message")
                self._fail(error)

    async def _take(self, burst: Burst) -> None:
        self._heard()
        outcomes = await asyncio.gather(*map(self._store, burst.events), return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        for error in failures:  # the disk, or the host when it was asked about a command
            logger.error("Borgee: a message could not be stored", exc_info=error)
        if failures:
            self._fail(failures[0])
        await self._settle(burst, failures[0] if failures else None)
        for outcome in outcomes:
            if outcome is not None and not isinstance(outcome, BaseException):
                self._arrived(*outcome)

    async def _settle(self, burst: Burst, failure: BaseException | None) -> None:
        try:
            await (burst.checkpoint() if failure is None else burst.fail(failure))
        except StaleDelivery:
            logger.debug("Borgee: the connection ended before a message was acknowledged, or given up")

    async def _store(self, event: InboundEvent) -> tuple[int, str, DispatchClass] | None:
        """Store the receipt of an event; what the scheduler has to know of it, or None when it starts no turn."""
        session_key = self._port.session_key(event.channel_id, event.channel_type)
        new = receipt_of(event, agent_id=self._session.agent_id, session_key=session_key, commands=self._port.commands)
        inserted = await self._inbox.insert(new)
        receipt = inserted.receipt
        if not inserted.is_new or receipt.status is not Status.PENDING:
            return None
        return receipt.ingest_seq, receipt.session_key, receipt.dispatch_class
