"""Going over the registry: one approval that something was heard of, what is due from time to time, all of a start.

Source: canon-adapter R10.40, R10.41, R10.43-R10.45; decisions A1, A4; D46, D49.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Final

from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.entry import Entry, Status
from canon_hermes_plugin.approvals.needs import Action, is_due, nearest_lease_ms, need_of
from canon_hermes_plugin.approvals.steps import Steps
from canon_ops.runtime.clock import Clock

__all__ = ["Pass", "Passes"]

LONGEST_PAUSE_S: Final = 60.0  # R10.45


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass over the registry did.

    Attributes:
        counts: by the status that each approval has now, and ``error``.
        again_at_ms: when a lease that another process holds ends; None: nothing is waited for.
        leased: the ids that another process is at.
        failed: the ids that something went wrong with.
    """

    counts: Counter[str]
    again_at_ms: float | None
    leased: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()


class Passes:
    """The approvals of one agent, looked after by one process.

    Args:
        trouble: hears of a failure that is tried again later (D49).
    """

    def __init__(
        self, desk: ApprovalDesk, steps: Steps, *, clock: Clock, trouble: Callable[[str, Exception], None]
    ) -> None:
        self._desk = desk
        self._steps = steps
        self._clock = clock
        self._trouble = trouble
        self._at_work: set[str] = set()

    async def follow_up(self, approval_id: str) -> None:
        """Do what is due about one approval: ask, wake, take back; one task an approval at a time (R10.41)."""
        if approval_id in self._at_work:
            return
        self._at_work.add(approval_id)
        try:
            while True:
                entry = await self._desk.get(approval_id)
                if entry is None or not self._steps.is_mine(entry):
                    return
                now_ms = self._clock.now_ms()
                need = need_of(entry, now_ms=now_ms)
                if need.action is not Action.WAIT or not is_due(entry, now_ms=now_ms):
                    await self._steps.go_on(entry)
                    return
                left_s = ((need.until_ms or now_ms) - now_ms) / 1000
                await self._clock.sleep(min(max(0.05, left_s), 5.0))
        finally:
            self._at_work.discard(approval_id)

    async def due(self) -> tuple[str, ...]:
        """The ids that the periodic scan has to follow up (R10.40)."""
        now_ms = self._clock.now_ms()
        return tuple(
            entry.approval_id
            for entry in await self._desk.read()
            if self._steps.is_mine(entry) and is_due(entry, now_ms=now_ms)
        )

    async def pass_over(
        self, *, only: Container[str] | None = None, limit: int = 8, done: Callable[[Entry], None] = lambda entry: None
    ) -> Pass:
        """Everything that a start has to settle: ask about all that is open, wake all that is owed (R10.43, R10.44).

        Args:
            only: the ids that are meant; None: all.
            limit: how many are asked about at the same time.
            done: is told of each approval when it was dealt with.
        """
        now_ms = self._clock.now_ms()
        mine = [
            entry
            for entry in await self._desk.read()
            if self._steps.is_mine(entry) and (only is None or entry.approval_id in only)
        ]
        counts: Counter[str] = Counter()
        failed: set[str] = set()
        gate = asyncio.Semaphore(limit)

        async def settle_one(entry: Entry) -> None:
            async with gate:
                try:
                    entry = await self._steps.go_on(entry)
                    counts[_word(entry)] += 1
                except asyncio.CancelledError:
                    raise
                except Exception as error:  # counted, and tried again by the scan
                    counts["error"] += 1
                    failed.add(entry.approval_id)
                    self._trouble(entry.approval_id, error)
                done(entry)

        actions = [(entry, need_of(entry, now_ms=now_ms).action) for entry in mine]
        async with asyncio.TaskGroup() as group:
            for entry, action in actions:
                if action not in (Action.NOTHING, Action.WAIT):
                    group.create_task(settle_one(entry))
        leased = frozenset(entry.approval_id for entry, action in actions if action is Action.WAIT)
        return Pass(counts, nearest_lease_ms(mine, now_ms=now_ms), leased, frozenset(failed))

    async def settle_start(self) -> Counter[str]:
        """Pass over the registry until no lease of another process is left to wait for (R10.45).

        After the first pass only what was left is looked at again: what another process had, and what failed before a
        word of it could be written down, which no scan would come back to.
        """
        total: Counter[str] = Counter()
        left: frozenset[str] | None = None
        while True:
            done = await self.pass_over(only=left)
            total += done.counts
            forgotten = done.failed - frozenset(await self.due()) if done.failed else done.failed
            left = done.leased | forgotten
            if not left:
                return total
            lease_s = LONGEST_PAUSE_S
            if done.again_at_ms is not None:
                lease_s = max(0.0, (done.again_at_ms - self._clock.now_ms()) / 1000) + 0.05
            await self._clock.sleep(min(LONGEST_PAUSE_S, lease_s))


def _word(entry: Entry) -> str:
    """How a pass counts an approval."""
    return {Status.ORPHANED: "unknown", Status.CREATING: "pending", Status.CONSUMING: "pending"}.get(
        entry.status, entry.status.value
    )
