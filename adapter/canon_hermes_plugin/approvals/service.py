"""Asking, checking, hearing, waking: how approvals live in a gateway, step by step over the durable machine.

Each flow is the same three beats: write down what is about to happen, do it at Canon, write down what came of it.
Killed between any two, the entry says where it stands, and :meth:`ApprovalService.pass_over` of the next start goes on
from there. Only the holder of a lease acts; everybody else reports what they see.

What stands behind the ports: :class:`CanonPort` is two HTTP calls, :class:`WakePort` the durable inbox of the adapter.

Source: canon-adapter R10.12-R10.46; Canon wire 9.3-9.9; decisions A1, A4, A5; D27, D47-D49.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from canon_hermes_plugin.approvals import results
from canon_hermes_plugin.approvals.batch import EntryDamaged
from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.entry import CREATE_LEASE_MS, TEXT_LIMIT, Decision, Entry, Status
from canon_hermes_plugin.approvals.events import (
    Activate,
    Answer,
    CancelSettled,
    ClaimConsume,
    ClaimWake,
    CreatedLate,
    Decided,
    FinishConsume,
    FinishWake,
    Gone,
    NobodyHeard,
    RejectCreation,
    Reserve,
    SeeReceipt,
    StillPending,
    TimedOut,
    Unclear,
)
from canon_hermes_plugin.approvals.machine import ClaimLost, Transition
from canon_hermes_plugin.approvals.needs import Action, is_due, is_of, nearest_lease_ms, need_of
from canon_hermes_plugin.approvals.wish import Wish
from canon_hermes_plugin.owner import Owner
from canon_ops.client.errors import ApiError, RequestFailed
from canon_ops.runtime.clock import Clock
from canon_ops.wire.interactions import ApprovalAnswer, ApprovalReceipt, ApprovalRequest, ApprovalWord

__all__ = ["ApprovalService", "CanonPort", "NotActivated", "Wake", "WakePort", "WakeRefused"]

SHORT_TIMEOUT_S: Final = 1_800  # the generic ceiling of older servers, C1
LONGEST_PAUSE_S: Final = 60.0  # R10.45
LONGEST_LIFE_MS: Final = 72 * 3_600_000  # R10.6
RETRYABLE: Final = frozenset({408, 409, 425, 429})  # a refusal that may yet turn out to have created it, R10.14


class NotActivated(RuntimeError):
    """Canon took the request, but no answer to it could ever be accepted; it was taken back."""


class CanonPort(Protocol):
    """The two calls. Both raise :class:`canon_ops.client.errors.RequestFailed`."""

    async def create(self, request: ApprovalRequest) -> ApprovalReceipt: ...

    async def consume(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer: ...


@dataclass(frozen=True, slots=True)
class Wake:
    """The turn that tells the agent what the human decided.

    Attributes:
        key: the message id of the turn; the inbox takes it once.
        session_key: the session that asked; None: the conversation's own.
    """

    key: str
    text: str
    conversation_id: str
    user_id: str
    session_key: str | None
    approval_id: str
    decision: Decision


class WakeRefused(RuntimeError):
    """The decision stands, and may start no turn as things are now (D48); it is tried again."""


class WakePort(Protocol):
    """Where wakes go. :class:`WakeRefused` says that one may not be there at all."""

    async def look(self, conversation_id: str) -> None:
        """Find out whether a turn may start there; it may take its time, so no lease is held meanwhile (R10.33)."""
        ...

    async def wake(self, wake: Wake) -> None:
        """Return once the wake is on the disk; raise when it is not (A5)."""
        ...


def _nobody_hears(approval_id: str, error: Exception) -> None:
    """A command has other ways to tell."""


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


class ApprovalService:
    """The approvals of one agent in one process.

    Args:
        wakes: None in a command: a wake is left to the gateway (A4).
        new_id: fresh hex digits, at least as many as asked for.
        process: names this process in leases, for people.
        conversations: the ids of the conversations that the agent is in, as far as is known.
        trouble: hears of a failure that is tried again later (D49).
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
        trouble: Callable[[str, Exception], None] = _nobody_hears,
    ) -> None:
        self._desk = desk
        self._canon = canon
        self._wakes = wakes
        self._owner = owner
        self._clock = clock
        self._new_id = new_id
        self._process = process
        self._conversations = conversations
        self._trouble = trouble
        self._at_work: set[str] = set()
        self._not_mine: dict[str, float] = {}  # until when another agent may ask for it

    # Asking

    async def request(
        self, wish: Wish, *, conversation_id: str, responder: str | None, session_key: str | None
    ) -> dict[str, Any]:
        """Ask the human; return at once.

        Raises:
            RegistryDamaged, DiskError, LockTimeout: nothing was sent.
            ApiError: Canon refused; the reservation is closed.
            RequestFailed: nobody knows whether Canon has it; the next pass finds out.
            NotActivated: no answer to it could be accepted.
        """
        approval_id, claim_id = f"hermes-{self._new_id(20)}", self._new_id(32)
        ask = ApprovalRequest(
            conversation_id,
            approval_id,
            wish.tool_name,
            wish.summary,
            self._clock.now_ms() + wish.timeout_s * 1000,
            responder,
            wish.details,
            native={"runtime": "hermes", "method": "detached_approval", "requestId": approval_id},
        )
        reserve = Reserve(
            approval_id,
            conversation_id,
            claim_id,
            ask.expires_at_ms,
            self._owner,
            wish.summary,
            expected_responder=responder,
            session_key=session_key,
            process=self._process,
        )
        lease_ends_ms = self._clock.now_ms() + CREATE_LEASE_MS  # counted from before the reservation, so never too long
        await self._desk.apply(approval_id, reserve)
        try:
            receipt, expires_at_ms = await self._create(ask, wish, claim_id, lease_ends_ms)
        except RequestFailed:
            if self._clock.now_ms() >= lease_ends_ms:  # Canon may have it, and nobody may be asking for it any more
                await self._created_late(approval_id)
            raise
        activate = Activate(claim_id, expires_at_ms, receipt.responder or responder)
        try:
            entry = (await self._desk.apply(approval_id, activate)).entry
            if entry is not None and entry.fields.get("cancelPending") is True:
                await self._take_back(entry)
        except ClaimLost:  # slow: another pass has taken it over and knows how it stands (D47)
            entry = await self._created_late(approval_id)
        if entry is None:
            raise NotActivated(f"approval {approval_id} vanished from the registry while it was being created")
        if entry.status is Status.ORPHANED:
            why = entry.fields.get("creationError", "another process had given it up before Canon knew of it")
            raise NotActivated(f"approval {approval_id} could not be activated safely: {why}")
        return results.requested(entry) if entry.status is Status.PENDING else results.of_entry(entry)

    async def _created_late(self, approval_id: str) -> Entry | None:
        """Somebody else has taken the creation over: a request that they gave up is taken back."""
        entry = (await self._desk.apply(approval_id, CreatedLate())).entry
        if entry is not None and entry.status is Status.ORPHANED:
            await self._take_back(entry)
        return entry

    async def _create(
        self, ask: ApprovalRequest, wish: Wish, claim_id: str, lease_ends_ms: float
    ) -> tuple[ApprovalReceipt, float]:
        """Send it, while the lease lasts; once more with the shorter expiry that older servers insist on (C1)."""
        if self._clock.now_ms() >= lease_ends_ms:
            why = "the machine stood still for so long that others may have given it up; nothing was sent"
            await self._desk.apply(ask.approval_id, RejectCreation(claim_id, why))
            raise NotActivated(f"approval {ask.approval_id} was not asked for: {why}")
        try:
            try:
                receipt, sent_ms = await self._canon.create(ask), ask.expires_at_ms
            except ApiError as error:
                is_short = wish.timeout_s <= SHORT_TIMEOUT_S or self._clock.now_ms() >= lease_ends_ms
                if is_short or not _is_about_expiry(error):
                    raise
                sent_ms = self._clock.now_ms() + SHORT_TIMEOUT_S * 1000
                receipt = await self._canon.create(_with_expiry(ask, sent_ms))
        except ApiError as error:
            if 400 <= error.status < 500 and error.status not in RETRYABLE:
                why = f"Canon rejected approval creation ({error.status}): {error.what}"
                await self._desk.apply(ask.approval_id, RejectCreation(claim_id, why))
            raise
        return receipt, sent_ms if receipt.expires_at_ms is None else receipt.expires_at_ms

    async def _take_back(self, entry: Entry) -> None:
        """Cancel a request at Canon that no entry will consume; what fails is tried again by the next pass."""
        try:
            await self._canon.consume(entry.conversation_id, entry.approval_id, cancel=True)
        except ApiError as error:
            if error.status not in (404, 410):
                return
        except Exception:  # the flag in the entry stays and is its memory
            return
        await self._desk.apply(entry.approval_id, CancelSettled())

    # Checking

    async def check(self, approval_id: str, *, conversation_id: str) -> dict[str, Any]:
        """How an approval stands, asking Canon if nobody else is; a decision that this brings wakes nobody.

        Raises:
            PermissionError: it belongs to another conversation; nothing was asked.
            RequestFailed: Canon could not be asked; it stays open.
            EntryDamaged: what stands there cannot be understood, and nothing is known of its decision (A3).
        """
        book = await self._desk.read()
        entry = book.get(approval_id)
        if entry is None and book.is_taken(approval_id):
            raise EntryDamaged(
                f"the registry's entry {approval_id} {book.reasons[approval_id]}; whether it was answered is unknown. "
                "Do not ask again before a person has run: canon-ops approvals verify"
            )
        if entry is None:
            return results.not_here(approval_id)
        if entry.conversation_id != conversation_id:
            raise PermissionError(f"approval {approval_id} was asked for in a different Canon conversation")
        if not is_of(entry, self._owner, self._conversations()):
            return results.not_here(approval_id)
        entry, answer = await self._ask(entry, wakes=False)
        if isinstance(answer, Gone) and not entry.status.is_terminal:
            return results.not_this_agents(entry)
        return results.unclear(entry) if isinstance(answer, Unclear) else results.of_entry(entry)

    async def _ask(self, entry: Entry, *, wakes: bool) -> tuple[Entry, Answer | None]:
        """Consume under a lease; the entry as it stands then, and Canon's answer, None when it was not asked."""
        claim_id = self._new_id(32)
        claimed = await self._desk.apply(entry.approval_id, ClaimConsume(claim_id, self._process))
        if not claimed.is_change or claimed.entry is None:
            return claimed.entry or entry, None
        answer: Answer = Unclear()
        written: Answer | None = None
        try:
            answer = _read_answer(await self._canon.consume(entry.conversation_id, entry.approval_id))
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

    def _is_mine(self, entry: Entry, conversations: Container[str]) -> bool:
        """Whether this process looks after it."""
        is_anothers = self._not_mine.get(entry.approval_id, 0.0) > self._clock.now_ms()
        return is_of(entry, self._owner, conversations) and not is_anothers

    # Hearing and waking

    async def see_receipt(self, approval_id: str) -> bool:
        """Canon says that a human has answered: remember it; whether the approval is one of this agent's.

        Every agent of a room hears the answer; another one's entry is not touched (A1).

        Raises:
            RegistryDamaged, DiskError, LockTimeout: it could not be looked up or remembered (R10.46).
        """
        entry = await self._desk.get(approval_id)
        if entry is None or not self._is_mine(entry, self._conversations()):
            return False
        seen = await self._desk.apply(approval_id, SeeReceipt())
        return seen.entry is not None

    async def follow_up(self, approval_id: str) -> None:
        """Do what is due about one approval: ask, wake, take back; one task an approval at a time (R10.41)."""
        if approval_id in self._at_work:
            return
        self._at_work.add(approval_id)
        try:
            while True:
                entry = await self._desk.get(approval_id)
                if entry is None or not self._is_mine(entry, self._conversations()):
                    return
                now_ms = self._clock.now_ms()
                need = need_of(entry, now_ms=now_ms)
                if need.action is not Action.WAIT or not is_due(entry, now_ms=now_ms):
                    await self._act(entry)
                    return
                left_s = ((need.until_ms or now_ms) - now_ms) / 1000
                await self._clock.sleep(min(max(0.05, left_s), 5.0))
        finally:
            self._at_work.discard(approval_id)

    async def due(self) -> tuple[str, ...]:
        """The ids that the periodic scan has to follow up (R10.40)."""
        now_ms, conversations = self._clock.now_ms(), self._conversations()
        return tuple(
            entry.approval_id
            for entry in await self._desk.read()
            if self._is_mine(entry, conversations) and is_due(entry, now_ms=now_ms)
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
        conversations, now_ms = self._conversations(), self._clock.now_ms()
        mine = [
            entry
            for entry in await self._desk.read()
            if self._is_mine(entry, conversations) and (only is None or entry.approval_id in only)
        ]
        counts: Counter[str] = Counter()
        failed: set[str] = set()
        gate = asyncio.Semaphore(limit)

        async def settle_one(entry: Entry) -> None:
            async with gate:
                try:
                    entry = await self._act(entry)
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

    async def _act(self, entry: Entry) -> Entry:
        """The next thing, and the wake if it brought a decision."""
        need = need_of(entry, now_ms=self._clock.now_ms())
        if need.action is Action.ASK:
            entry, _ = await self._ask(entry, wakes=True)
            need = need_of(entry, now_ms=self._clock.now_ms())
        if need.action is Action.WAKE:
            await self._wake(entry)
        if need.action is Action.CANCEL:
            await self._take_back(entry)
        return await self._desk.get(entry.approval_id) or entry

    async def _wake(self, entry: Entry) -> None:
        if self._wakes is None:
            return
        refusal: WakeRefused | None = None
        try:
            await self._wakes.look(entry.conversation_id)
        except WakeRefused as refused:
            if entry.wake_error == str(refused)[:TEXT_LIMIT]:
                raise  # it stands there already: a refusal that lasts is not written down at every look
            refusal = refused
        claim_id = self._new_id(32)
        claimed = await self._desk.apply(entry.approval_id, ClaimWake(claim_id, self._process))
        if not claimed.is_change or claimed.entry is None:
            return
        finish = FinishWake(claim_id, is_delivered=False)
        try:
            if refusal is not None:
                raise refusal
            await self._wakes.wake(_wake_of(claimed.entry))
            finish = FinishWake(claim_id, is_delivered=True)
        except WakeRefused as refused:
            finish = FinishWake(claim_id, is_delivered=False, why=str(refused))
            raise
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await self._desk.apply(entry.approval_id, finish)


def _wake_of(entry: Entry) -> Wake:
    decision = entry.decision
    assert decision is not None, "a wake is owed for a decision only"  # noqa: S101
    said = f"Canon approval {entry.approval_id} resolved: {decision}"
    summary = _one_line(entry.summary)
    return Wake(
        key=f"canon-detached-approval:{entry.approval_id}",
        text=f"{said} — {summary}" if summary else said,
        conversation_id=entry.conversation_id,
        user_id=entry.responded_by or "canon-approval",
        session_key=entry.requesting_session_key,
        approval_id=entry.approval_id,
        decision=decision,
    )


def _one_line(text: str) -> str:
    """A line break in what a model once wrote must not look like another decision, or like our own words (D34)."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


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


def _is_about_expiry(error: ApiError) -> bool:
    """R10.14, C1: a 400 whose text or code speaks of the expiry."""
    said = f"{error.api_code or ''} {error.message}".casefold()
    return error.status == 400 and ("expires" in said or "expiry" in said)


def _with_expiry(ask: ApprovalRequest, expires_at_ms: int) -> ApprovalRequest:
    return replace(ask, expires_at_ms=expires_at_ms)


def _word(entry: Entry) -> str:
    """How a pass counts an approval."""
    return {Status.ORPHANED: "unknown", Status.CREATING: "pending", Status.CONSUMING: "pending"}.get(
        entry.status, entry.status.value
    )
