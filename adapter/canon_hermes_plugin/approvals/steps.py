"""The single steps: ask Canon for an answer, take a request back, wake the agent; each under its lease.

Every step is the same three beats: write down what is about to happen, do it, write down what came of it. Whoever does
not get the lease does nothing.

Source: canon-adapter R10.20, R10.31-R10.33; Canon wire 9.6, 9.7; decisions A1, A5; D27, D47, D48.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Container
from typing import Final

from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.entry import LEASE_MS, TEXT_LIMIT, Decision, Entry
from canon_hermes_plugin.approvals.events import (
    Answer,
    CancelSettled,
    ClaimConsume,
    ClaimWake,
    Decided,
    Event,
    FinishConsume,
    FinishWake,
    Gone,
    NobodyHeard,
    RenewWake,
    ShortenLease,
    StillPending,
    TimedOut,
    Unclear,
)
from canon_hermes_plugin.approvals.machine import Transition, TransitionError
from canon_hermes_plugin.approvals.needs import Action, is_of, need_of
from canon_hermes_plugin.approvals.pacing import Slot
from canon_hermes_plugin.approvals.ports import CanonPort, WakePort, WakeRefused, wake_of
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.errors import ApiError
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.interactions import ApprovalAnswer, ApprovalWord

__all__ = ["Steps", "WakeTooLate"]

LONGEST_LIFE_MS: Final = 72 * 3_600_000  # R10.6
RENEW_EVERY_S: Final = LEASE_MS / 3_000  # two renewals may fail before the lease ends


def _nobody_waits() -> None:
    """For a step that is taken alone."""


class WakeTooLate(RuntimeError):
    """A lease that was just taken is over already; the wake is given by whoever claims it next."""


class Steps:
    """What one process may do about the approvals of one agent.

    Args:
        wakes: None in a command: a wake is left to the gateway (A4).
        new_id: fresh hex digits, at least as many as asked for.
        process: names this process in leases, for people.
        conversations: the ids of the conversations that the agent is in, as far as is known.
    """

    def __init__(
        self,
        desk: ApprovalDesk,
        canon: CanonPort,
        wakes: WakePort | None,
        owner: Owner,
        *,
        clock: Clock,
        new_id: Callable[[int], str],
        process: str,
        conversations: Callable[[], Container[str]],
    ) -> None:
        self._desk = desk
        self._canon = canon
        self._wakes = wakes
        self._owner = owner
        self._clock = clock
        self._new_id = new_id
        self._process = process
        self._conversations = conversations
        self._not_mine: dict[str, float] = {}  # until when another agent may ask for it
        self._is_known_as_mine: set[str] = set()  # Canon has answered this agent about it

    async def go_on(self, entry: Entry, slot: Slot | None = None) -> Entry:
        """The next thing, and the wake if it brought a decision; the entry as it stands then.

        Args:
            slot: one that is held; it is given back when Canon has answered, and taken again for a wake.
        """
        answered = slot.give_back if slot is not None else _nobody_waits
        after: Entry | None = None
        need = need_of(entry, now_ms=self._clock.now_ms())
        if need.action is Action.ASK:
            after, _ = await self.ask(entry, wakes=True, answered=answered)
            entry, need = after, need_of(after, now_ms=self._clock.now_ms())
        if need.action is Action.WAKE:
            if slot is not None:
                await slot.take()
            await self.wake(entry)
            after = None
        if need.action is Action.CANCEL:
            after = await self.take_back(entry, answered)
        if need.action is Action.SHORTEN:
            after = (await self._desk.apply(entry.approval_id, ShortenLease())).entry
        return after or await self._desk.get(entry.approval_id) or entry

    async def wake(self, entry: Entry) -> None:
        """Put the decision into the inbox, under a lease that is renewed meanwhile (R10.33)."""
        if self._wakes is None:
            return
        refusal: WakeRefused | None = None
        try:
            if not await self._is_this_agents(entry):
                return
            await self._wakes.look(entry.conversation_id)
        except WakeRefused as refused:
            if entry.wake_error == str(refused)[:TEXT_LIMIT]:
                raise  # it stands there already: a refusal that lasts is not written down at every look
            refusal = refused
        claim_id = self._new_id(32)
        lease_ends_ms = self._clock.now_ms() + LEASE_MS  # counted from before the claim, so never too long
        finish = FinishWake(claim_id, is_delivered=False)
        claimed = await self._claim(entry.approval_id, ClaimWake(claim_id, self._process), finish)
        if not claimed.is_change or claimed.entry is None:
            return
        try:
            if refusal is not None:
                raise refusal
            if self._clock.now_ms() >= lease_ends_ms:
                raise WakeTooLate("the machine stood still for so long that another gateway may have woken the agent")
            async with self._renewed(entry.approval_id, claim_id):
                await self._wakes.wake(wake_of(claimed.entry))
            finish = FinishWake(claim_id, is_delivered=True)
        except WakeRefused as refused:
            finish = FinishWake(claim_id, is_delivered=False, why=str(refused))
            raise
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await self._desk.apply(entry.approval_id, finish)

    async def _is_this_agents(self, entry: Entry) -> bool:
        """Whether this agent asked for it. An entry of the published plugin does not say so, and agents share rooms and
        homes: Canon is asked, which replays a decision to the agent that asked and to nobody else.

        Raises:
            WakeRefused: what stands in the registry is not what Canon says, or nobody can find out any more.
            RequestFailed: Canon could not be asked.

        Source: decision A1; Canon wire 9.6.
        """
        if entry.owner is not None or entry.approval_id in self._is_known_as_mine:
            return True
        try:
            answer = _read_answer(await self._canon.consume(entry.conversation_id, entry.approval_id))
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            replayed_until_ms = entry.settled_at_ms() + LONGEST_LIFE_MS
            if self._clock.now_ms() >= replayed_until_ms:
                raise WakeRefused("whose decision it is cannot be found out any more") from error
            self._not_mine[entry.approval_id] = replayed_until_ms
            return False
        stored = (entry.decision, entry.responded_by)
        if not isinstance(answer, Decided) or (answer.decision, answer.responded_by) != stored:
            raise WakeRefused("Canon does not confirm the decision that stands in the registry")
        self._is_known_as_mine.add(entry.approval_id)
        return True

    @contextlib.asynccontextmanager
    async def _renewed(self, approval_id: str, claim_id: str) -> AsyncIterator[None]:
        """A wake lease that does not end while the block is at work."""

        async def renew() -> None:
            while True:
                await self._clock.sleep(RENEW_EVERY_S)
                with contextlib.suppress(CanonOpsError):  # a lock that is held: the next time is before the end, too
                    await self._desk.apply(approval_id, RenewWake(claim_id))

        renewing = asyncio.get_running_loop().create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.wait({renewing})

    async def ask(
        self, entry: Entry, *, wakes: bool, claim_id: str | None = None, answered: Callable[[], None] = _nobody_waits
    ) -> tuple[Entry, Answer | None]:
        """Consume under a lease; the entry as it stands then, and Canon's answer, None when it was not asked.

        Args:
            answered: is called when Canon has given an answer, before it is written down.
        """
        claim_id = claim_id or self._new_id(32)
        answer: Answer = Unclear()
        claim, release = ClaimConsume(claim_id, self._process), FinishConsume(claim_id, answer, wakes)
        claimed = await self._claim(entry.approval_id, claim, release)
        if not claimed.is_change or claimed.entry is None:
            return claimed.entry or entry, None
        written: Answer | None = None
        try:
            answer = _read_answer(await self._canon.consume(entry.conversation_id, entry.approval_id))
            answered()  # not after a refusal: whoever is told to wait makes the others wait before one of them asks
            if entry.owner is None and answer != Unclear():
                self._is_known_as_mine.add(entry.approval_id)
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            answer = Gone()
            if self._may_be_anothers(entry):  # left open for its own agent, and no longer asked about by this one
                self._not_mine[entry.approval_id] = entry.expires_at_ms + LONGEST_LIFE_MS
                written = Unclear()
        finally:  # whatever happened, a cancellation too, is written down
            finished = await self._finish(entry.approval_id, FinishConsume(claim_id, written or answer, wakes))
        return finished.entry or entry, answer

    async def _claim(self, approval_id: str, claim: Event, release: Event) -> Transition:
        """Claim a step. A caller that is cancelled meanwhile gives it back: nobody is at it, and everybody else would
        wait until the lease ends."""
        try:
            return await self._desk.apply(approval_id, claim)
        except asyncio.CancelledError:  # it is on the disk by now, or somebody else holds it and nothing changes
            with contextlib.suppress(CanonOpsError, TransitionError):
                await self._desk.apply(approval_id, release)
            raise

    async def _finish(self, approval_id: str, finish: FinishConsume) -> Transition:
        try:
            return await self._desk.apply(approval_id, finish)
        except asyncio.CancelledError:  # it is on the disk by now, and nobody will ever read what this call returns
            if not finish.wakes:
                await self._desk.apply(approval_id, NobodyHeard(finish.claim_id))
            raise

    def _may_be_anothers(self, entry: Entry) -> bool:
        """An entry of the published plugin does not say whose it is, and agents share rooms: what Canon denies to this
        agent may be another one's, who has until the longest expiry to ask for it (A1; Canon wire 9.6)."""
        return entry.owner is None and self._clock.now_ms() < entry.expires_at_ms + LONGEST_LIFE_MS

    def is_mine(self, entry: Entry) -> bool:
        """Whether this process looks after it."""
        is_anothers = self._not_mine.get(entry.approval_id, 0.0) > self._clock.now_ms()
        return is_of(entry, self._owner, self._conversations()) and not is_anothers

    async def take_back(self, entry: Entry, answered: Callable[[], None] = _nobody_waits) -> Entry:
        """Cancel a request at Canon that no entry will consume; the entry then. The flag in it is the memory of that
        until it is done.

        Raises:
            RequestFailed: Canon could not be told; it is tried again.
        """
        try:
            await self._canon.consume(entry.conversation_id, entry.approval_id, cancel=True)
            answered()
        except ApiError as error:
            if error.status not in (404, 409, 410):  # it is not open any more
                raise
        return (await self._desk.apply(entry.approval_id, CancelSettled())).entry or entry


def _read_answer(answer: ApprovalAnswer) -> Answer:
    match answer.word:
        case ApprovalWord.ALLOW:
            return Decided(Decision.ALLOW, answer.responded_by)
        case ApprovalWord.DENY:
            return Decided(Decision.DENY, answer.responded_by)
        case ApprovalWord.PENDING:
            return StillPending(answer.expires_at_ms)
        case ApprovalWord.TIMEOUT:
            return TimedOut()
        case None:
            return Unclear()
