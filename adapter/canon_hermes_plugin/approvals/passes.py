"""Going over the registry: one approval that something was heard of, what is due from time to time, all of a start.

Source: canon-adapter R10.40, R10.41, R10.43-R10.45; decisions A1, A4; D46, D49.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.entry import Entry, Status
from canon_hermes_plugin.approvals.needs import Action, is_due, nearest_lease_ms, need_of
from canon_hermes_plugin.approvals.pacing import Brake, Slot
from canon_hermes_plugin.approvals.steps import Steps
from canon_ops.client.errors import ApiError, TransportFailure
from canon_ops.runtime.clock import Clock
from canon_ops.wire.retry import TransportKind

__all__ = ["Pass", "Passes"]

LONGEST_PAUSE_S: Final = 60.0  # R10.45
FIRST_PAUSE_S: Final = 60.0  # ours: the first failure is repeated by the next scan, the second a minute later
LONGEST_BACK_OFF_S: Final = 600.0  # ours: then once in ten minutes, for as long as it takes
TOO_OFTEN: Final = 10  # ours: so many pauses for one approval are waited for; then the next pass comes to it
BROKEN: Final = frozenset(  # ours: the connection ended before an answer came; no time limit was waited for
    {TransportKind.READ_ERROR, TransportKind.WRITE_ERROR, TransportKind.CLOSE_ERROR, TransportKind.PROTOCOL}
)


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


@dataclass(frozen=True, slots=True)
class _Failures:
    """How often in a row something about an approval failed, and when the scan comes back to it, monotonic."""

    count: int
    until_s: float


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
        self._failures: dict[str, _Failures] = {}

    async def find_registry(self) -> None:
        """See that a registry which is known of is there; one that is gone hinders nothing that is asked from now on.

        Raises:
            RegistryGone, RegistryDamaged, LockTimeout, DiskError: see :meth:`ApprovalDesk.find`.
        """
        await self._desk.find()

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
                    await self._go_on(entry)
                    return
                left_s = ((need.until_ms or now_ms) - now_ms) / 1000
                await self._clock.sleep(min(max(0.05, left_s), 5.0))
        finally:
            self._at_work.discard(approval_id)

    async def due(self) -> tuple[str, ...]:
        """The ids that the periodic scan has to follow up (R10.40); one that fails time and again is followed up less
        and less often, for every attempt is two durable writes and a call."""
        due = await self._due()
        self._failures = {one: failures for one, failures in self._failures.items() if one in due}
        now_s = self._clock.monotonic_s()
        return tuple(one for one in due if one not in self._failures or self._failures[one].until_s <= now_s)

    async def _due(self) -> dict[str, Entry]:
        now_ms = self._clock.now_ms()
        entries = await self._desk.read()
        return {one.approval_id: one for one in entries if self._steps.is_mine(one) and is_due(one, now_ms=now_ms)}

    async def _go_on(self, entry: Entry) -> None:
        try:
            after = await self._steps.go_on(entry)
        except Exception:
            self._count_failure(entry.approval_id)
            raise
        if is_due(after, now_ms=self._clock.now_ms()):  # Canon's answer meant nothing, or an answer overtook it
            self._count_failure(entry.approval_id)
        else:
            self._failures.pop(entry.approval_id, None)

    def _count_failure(self, approval_id: str) -> None:
        before = self._failures.get(approval_id)
        count = before.count + 1 if before is not None else 1
        pause_s = min(FIRST_PAUSE_S * 2 ** (count - 2), LONGEST_BACK_OFF_S) if count > 1 else 0.0
        self._failures[approval_id] = _Failures(count, self._clock.monotonic_s() + pause_s)

    async def pass_over(
        self, *, only: Container[str] | None = None, limit: int = 8, done: Callable[[Entry], None] = lambda entry: None
    ) -> Pass:
        """Everything that a start has to settle: ask about all that is open, wake all that is owed (R10.43, R10.44).

        Args:
            only: the ids that are meant; None: all.
            limit: how many are asked about at the same time; while an answer is written down, the next one is asked.
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
        gate, brake = asyncio.Semaphore(limit), Brake(self._clock)

        async def settle_one(entry: Entry) -> None:
            async with Slot(gate) as slot:
                try:
                    entry = await self._patiently(entry, brake, slot)
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
        leased = frozenset(one.approval_id for one, action in actions if action in (Action.WAIT, Action.SHORTEN))
        return Pass(counts, nearest_lease_ms(mine, now_ms=now_ms), leased, frozenset(failed))

    async def left_to_others(self, only: Container[str]) -> frozenset[str]:
        """Which of these this process leaves alone: they name another agent, or none, and Canon denies them to this one
        or they are of a room that it is not in (A1)."""
        entries = await self._desk.read()
        return frozenset(one.approval_id for one in entries if one.approval_id in only and not self._steps.is_mine(one))

    async def _patiently(self, entry: Entry, brake: Brake, slot: Slot) -> Entry:
        """The next thing about an approval; when Canon is asked too often, after the pause that it wants.

        A connection that breaks is most often one that lay idle until the server hung up, just when it was needed. Then
        Canon is asked once more, at once: after a command nobody would, and it gives the same answer (Canon wire 9.6).
        """
        is_broken = False
        for attempt in range(TOO_OFTEN):
            await slot.take()
            await brake.wait()
            try:
                return await self._steps.go_on(entry, slot)
            except ApiError as error:
                if error.status != HTTPStatus.TOO_MANY_REQUESTS:
                    raise
                brake.pull(min(error.retry_after_s or 2.0**attempt, LONGEST_PAUSE_S))
            except TransportFailure as error:
                if is_broken or error.kind not in BROKEN:
                    raise
                is_broken = True
            entry = await self._desk.get(entry.approval_id) or entry
        await slot.take()
        return await self._steps.go_on(entry, slot)

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
            forgotten = done.failed - frozenset(await self._due()) if done.failed else done.failed
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
