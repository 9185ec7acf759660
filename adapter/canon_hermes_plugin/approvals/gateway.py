"""The approvals of a connected adapter: what the stream says of them, a pass at the start and after each gap in the
stream, and a look every 30 s.

Nothing here decides. A receipt is written down and followed up, one after the other for each approval; what fails stays
written down and is due again at the next look. A registry that cannot be read stops approvals and nothing else: it is
an error in the log, once a minute, and the doctor says more.

Source: canon-adapter R10.31, R10.40, R10.41, R10.43-R10.46; decisions A1; D49.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Container
from functools import partial
from pathlib import Path
from typing import Final

from canon_hermes_plugin.approvals.canon_side import CanonSide
from canon_hermes_plugin.approvals.desk import ApprovalDesk, Runs
from canon_hermes_plugin.approvals.ports import WakePort
from canon_hermes_plugin.approvals.service import ApprovalService
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.complaints import Complaints
from canon_hermes_plugin.lanes import Lanes
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.api import CanonApi
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock

__all__ = ["GatewayApprovals", "open_approvals"]

logger = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 30.0  # R10.40
LOCK_S: Final = 3.0  # ours: a gateway that stops has a few seconds, and what could not be written is due again
UNHEARD: Final = 1_024  # ours: beyond that many answers in a row that could not be looked up, Canon is asked about all


def open_approvals(
    file: Path,
    record: Path,
    api: CanonApi,
    owner: Owner,
    wakes: WakePort,
    *,
    run: Runs,
    conversations: Callable[[], Container[str]],
    clock: Clock,
) -> GatewayApprovals:
    """The approvals of one agent over the registry ``file``; nothing is read yet.

    Args:
        record: where the end of the audit trail is kept a second time.
        run: carries a blocking call out on a thread.
        conversations: the ids of the conversations that the agent is in.
    """
    complaints = Complaints(logger, clock)
    process = f"gateway {os.getpid()}"
    store = ApprovalStore(file, clock=clock, lock_s=LOCK_S, process=process, elsewhere=record)
    service = ApprovalService(
        ApprovalDesk(store, run),
        CanonSide(api),
        wakes,
        owner,
        clock=clock,
        new_id=lambda digits: secrets.token_hex(digits // 2 + 1)[:digits],
        process=process,
        conversations=conversations,
        trouble=lambda approval_id, error: complaints.say("approval", _sentence(error, approval_id)),
    )
    return GatewayApprovals(service, complaints=complaints, clock=clock)


class GatewayApprovals:
    """Feeds the service of one connected adapter; :meth:`run` is a task that its owner cancels."""

    def __init__(self, service: ApprovalService, *, complaints: Complaints, clock: Clock) -> None:
        self.service = service
        self._complaints = complaints
        self._clock = clock
        self._unheard: set[str] = set()
        self._is_wanted = asyncio.Event()
        self._lanes = Lanes(lambda error: self._complain(error))

    async def heard(self, approval_id: str) -> None:
        """A person has answered an approval; perhaps not one of ours."""
        try:
            is_ours = await self.service.see_receipt(approval_id)
        except CanonOpsError as error:  # the message is no chat whatever stands in the registry (S10.49)
            self._keep(approval_id)
            self._complain(error)
            return
        self._unheard.discard(approval_id)
        if is_ours and not self._lanes.backlog(approval_id):  # one that waits will see this answer, too
            self._lanes.add(approval_id, partial(self.service.passes.follow_up, approval_id))

    def _keep(self, approval_id: str) -> None:
        """Hear of it again at the next look."""
        if len(self._unheard) < UNHEARD:
            self._unheard.add(approval_id)
        else:
            self.ask_again()

    async def run(self) -> None:
        """Settle what the last gateway left, and look again and again at what is due."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._goes_well(self.service.passes.find_registry))
                group.create_task(self._keep_looking())
                while True:
                    settling = group.create_task(self._settle())
                    await self._is_wanted.wait()
                    self._is_wanted.clear()
                    settling.cancel()  # it may be waiting for a lease, and what it began is due again
                    await asyncio.wait({settling})
        finally:
            await self._lanes.stop()

    def ask_again(self) -> None:
        """A stretch of the stream was missed: Canon has to be asked about everything that is open, as at a start."""
        self._is_wanted.set()

    async def look(self) -> None:
        """Follow up everything that is due."""
        for approval_id in tuple(self._unheard):
            await self.heard(approval_id)
        for approval_id in await self.service.passes.due():
            if not self._lanes.is_busy(approval_id):  # a stuck one must not gather a job every half minute
                self._lanes.add(approval_id, partial(self.service.passes.follow_up, approval_id))

    async def drain(self) -> None:
        """Return once nothing is followed up."""
        await self._lanes.drain()

    async def _settle(self) -> None:
        """Until it has succeeded once: answers that came while nobody listened are heard here and nowhere else."""
        while not await self._goes_well(self.service.passes.settle_start):
            await self._clock.sleep(LOOK_EVERY_S)

    async def _keep_looking(self) -> None:
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            await self._goes_well(self.look)

    async def _goes_well(self, step: Callable[[], Awaitable[object]]) -> bool:
        try:
            await step()
        except Exception as error:  # the outermost edge of a task that must go on
            self._complain(error)
            return False
        return True

    def _complain(self, error: Exception) -> None:
        self._complaints.say("approvals", _sentence(error))


def _sentence(error: Exception, approval_id: str | None = None) -> str:
    subject = f"Canon: approval {approval_id}" if approval_id else "Canon: approvals"
    what = error.what if isinstance(error, CanonOpsError) else str(error) or type(error).__name__
    fix = f" Fix: {error.fix}" if isinstance(error, CanonOpsError) and error.fix else ""
    return f"{subject}: {what}{fix}"
