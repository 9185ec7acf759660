"""The inbox as the running gateway uses it: the store's functions on the database's own thread.

Every call that was begun is finished on disk before its caller goes on, also when the caller is cancelled
(:mod:`canon_ops.durable.database`). What is called in one turn of the loop is one commit.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from borgee_hermes.inbox import operator, retention, store
from borgee_hermes.inbox.records import NewReceipt, OpenReceipt, Outcome, Progress, Receipt, Status
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.inbox.store import Inserted
from canon_ops.durable import Database, Notice
from canon_ops.runtime.clock import Clock, SystemClock

__all__ = ["Inbox"]


class Inbox:
    """One file, open as long as the adapter is connected. Every method raises ``DurableError`` when the file fails."""

    def __init__(self, path: Path, *, clock: Clock | None = None, database: Database | None = None) -> None:
        self._clock = clock or SystemClock()
        self._database = database or Database(path, SCHEMA, clock=self._clock)

    @property
    def path(self) -> Path:
        return self._database.path

    async def open(self) -> tuple[Notice, ...]:
        """Open the file, created and migrated as needed."""
        return await self._database.open()

    async def close(self) -> None:
        """Finish what was begun and close; it may be called often."""
        await self._database.close()

    # -- a receipt's life ---------------------------------------------------------------------------------------------

    async def insert(self, new: NewReceipt) -> Inserted:
        return await self._database.write(store.insert, new, now_s=self._now_s())

    async def claim(self, seq: int, token: str) -> Receipt | None:
        return await self._database.write(store.claim, seq, token, now_s=self._now_s())

    async def give_back(self, seq: int, token: str) -> bool:
        return await self._database.write(store.give_back, seq, token, now_s=self._now_s())

    async def finish(self, seq: int, token: str, status: Status, outcome: Outcome, *, error: str | None = None) -> bool:
        return await self._database.write(store.finish, seq, token, status, outcome, error=error, now_s=self._now_s())

    async def doubt(self, seq: int, token: str, outcome: Outcome, *, error: str) -> bool:
        return await self._database.write(store.doubt, seq, token, outcome, error=error, now_s=self._now_s())

    async def recover_processing(self) -> int:
        return await self._database.write(store.recover_processing, now_s=self._now_s())

    async def quarantine_in_doubt(self, suspended: Collection[str], *, only: int | None = None) -> int:
        return await self._database.write(store.quarantine_in_doubt, suspended, only=only, now_s=self._now_s())

    async def quarantine_processing(self, seq: int, *, suspended: bool) -> bool:
        return await self._database.write(store.quarantine_processing, seq, suspended=suspended, now_s=self._now_s())

    async def discard(self, seq: int) -> bool:
        return await self._database.write(operator.discard, seq, now_s=self._now_s())

    async def requeue(self, seq: int, *, risk_confirmed: bool) -> bool:
        return await self._database.write(operator.requeue, seq, risk_confirmed=risk_confirmed, now_s=self._now_s())

    # -- questions ----------------------------------------------------------------------------------------------------

    async def get(self, seq: int) -> Receipt | None:
        return await self._database.read(store.get, seq)

    async def open_receipts(self) -> list[OpenReceipt]:
        return await self._database.read(store.open_receipts)

    async def in_doubt_sessions(self) -> dict[str, int]:
        return await self._database.read(store.in_doubt_sessions)

    async def terminal_watermark(self) -> int:
        return await self._database.read(store.terminal_watermark)

    async def progress(self) -> Progress:
        return await self._database.read(store.progress)

    async def channel_type(self, channel_id: str) -> str | None:
        return await self._database.read(store.channel_type, channel_id)

    # -- what was sent, and what is forgotten -------------------------------------------------------------------------

    async def record_outbound(self, message_id: str, channel_id: str) -> None:
        await self._database.write(store.record_outbound, message_id, channel_id, now_s=self._now_s())

    async def is_outbound(self, message_id: str) -> bool:
        return await self._database.read(store.is_outbound, message_id)

    async def prune(self) -> int:
        return await self._database.write(retention.prune, now_s=self._now_s())

    def _now_s(self) -> float:
        return self._clock.now_ms() / 1000
