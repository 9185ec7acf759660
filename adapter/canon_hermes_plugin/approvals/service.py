"""Asking, checking, hearing, waking: how approvals live in a gateway, step by step over the durable machine.

Each flow is the same three beats: write down what is about to happen, do it at Canon, write down what came of it.
Killed between any two, the entry says where it stands, and :meth:`Passes.pass_over` of the next start goes on from
there. Only the holder of a lease acts; everybody else reports what they see.

The steps themselves are in :mod:`~canon_hermes_plugin.approvals.steps`, going over all that is open in
:mod:`~canon_hermes_plugin.approvals.passes`; here is what tools and stream call.

Source: canon-adapter R10.12-R10.46; Canon wire 9.3-9.9; decisions A1, A4, A5; D27, D47-D49.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from typing import Any, Final

from canon_hermes_plugin.approvals import results
from canon_hermes_plugin.approvals.batch import EntryDamaged
from canon_hermes_plugin.approvals.desk import ApprovalDesk
from canon_hermes_plugin.approvals.entry import CREATE_LEASE_MS, Entry, Status
from canon_hermes_plugin.approvals.events import (
    Activate,
    CreatedLate,
    Gone,
    NobodyHeard,
    RejectCreation,
    Reserve,
    SeeReceipt,
    Unclear,
)
from canon_hermes_plugin.approvals.machine import ClaimLost
from canon_hermes_plugin.approvals.needs import is_of
from canon_hermes_plugin.approvals.passes import Passes
from canon_hermes_plugin.approvals.ports import CanonPort, WakePort
from canon_hermes_plugin.approvals.steps import Steps
from canon_hermes_plugin.approvals.wish import Wish
from canon_hermes_plugin.state.owner import Owner
from canon_ops.client.errors import ApiError, RequestFailed
from canon_ops.runtime.clock import Clock
from canon_ops.wire.interactions import ApprovalReceipt, ApprovalRequest

__all__ = ["ApprovalService", "NotActivated"]

SHORT_TIMEOUT_S: Final = 1_800  # the generic ceiling of older servers, C1
RETRYABLE: Final = frozenset({408, 409, 425, 429})  # a refusal that may yet turn out to have created it, R10.14


class NotActivated(RuntimeError):
    """Canon took the request, but no answer to it could ever be accepted; it was taken back."""


def _nobody_hears(approval_id: str, error: Exception) -> None:
    """A command has other ways to tell."""


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
        self._owner = owner
        self._clock = clock
        self._new_id = new_id
        self._process = process
        self._conversations = conversations
        self._trouble = trouble
        self._steps = Steps(
            desk, canon, wakes, owner, clock=clock, new_id=new_id, process=process, conversations=conversations
        )
        self.passes = Passes(desk, self._steps, clock=clock, trouble=trouble)

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
        except RequestFailed as error:
            error.add_note(f"The approval is {approval_id}.")
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

    async def _take_back(self, entry: Entry) -> None:
        """At once if Canon can be told; what the caller is told is the same in any case, and the scan tries again."""
        try:
            await self._steps.take_back(entry)
        except RequestFailed as error:
            self._trouble(entry.approval_id, error)

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

    # Checking

    async def check(self, approval_id: str, *, conversation_id: str, claim_id: str | None = None) -> dict[str, Any]:
        """How an approval stands, asking Canon if nobody else is; a decision that this brings wakes nobody.

        Args:
            claim_id: names this check, should its caller have to say :meth:`nobody_heard`.

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
        entry, answer = await self._steps.ask(entry, wakes=False, claim_id=claim_id)
        if isinstance(answer, Gone) and not entry.status.is_terminal:
            return results.not_this_agents(entry)
        return results.unclear(entry) if isinstance(answer, Unclear) else results.of_entry(entry)

    async def nobody_heard(self, approval_id: str, claim_id: str) -> None:
        """Whoever made that check was given up before it had the answer: the agent is woken at the next look, if it
        was this check that fetched a decision."""
        await self._desk.apply(approval_id, NobodyHeard(claim_id))

    # Hearing and waking

    async def see_receipt(self, approval_id: str) -> bool:
        """Canon says that a human has answered: remember it; whether the approval is one of this agent's.

        Every agent of a room hears the answer; another one's entry is not touched (A1).

        Raises:
            RegistryDamaged, DiskError, LockTimeout: it could not be looked up or remembered (R10.46).
        """
        entry = await self._desk.get(approval_id)
        if entry is None or not self._steps.is_mine(entry):
            return False
        seen = await self._desk.apply(approval_id, SeeReceipt())
        return seen.entry is not None


def _is_about_expiry(error: ApiError) -> bool:
    """R10.14, C1: a 400 whose text or code speaks of the expiry."""
    said = f"{error.api_code or ''} {error.message}".casefold()
    return error.status == 400 and ("expires" in said or "expiry" in said)


def _with_expiry(ask: ApprovalRequest, expires_at_ms: int) -> ApprovalRequest:
    return replace(ask, expires_at_ms=expires_at_ms)
