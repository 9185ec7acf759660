"""The life of a detached approval: events in, the next entry and the number of the transition out.

The idea. People approve money through this, and the gateway that asked may be dead when they answer. So every step
that could be lost is written down *before* it is taken, under a lease: who creates, who asks Canon for the answer, who
wakes the agent. Whoever finds an expired lease takes the step over; whoever finds a live one waits. A step is finished
only by the holder of its lease, so two gateways, a command and a check may all try, and one of them acts.

::

    (nothing) --T1 reserve--> CREATING --T2 activate--> PENDING <--T9 not yet, T12 try again-- CONSUMING
                                 |  |                      |                                    ^  |  |
             T2a, T3 refused     |  +--T4 lease expired----|------------------------------------+  |  |
                 v               |                         +--T5 claim-----------------------------+  |
              ORPHANED <---------+                                          T6 lease expired: again   |
                 ^                                                                                    |
                 +--T11 gone, wrong responder---------------------------------------------------------+
              EXPIRED  <--T10 timeout-----------------------------------------------------------------+
              RESOLVED <--T8 decided, by the right human----------------------------------------------+
                 |
                 +-- owed a wake: wake pending --T17 claim--> delivering --T19--> delivered, or pending again
                                                                 T18 lease expired: claimed again

What each event does in each status; a dash is a no-op that returns the entry as it is:

==================  ==========  ==========  ==========  ============================  =======  ========
event               creating    pending     consuming   resolved                      expired  orphaned
==================  ==========  ==========  ==========  ============================  =======  ========
Reserve             error       error       error       error                         error    error
Activate            T2, T2a     T2b or err  error       error                         error    error
RejectCreation      T3          -           -           -                             -        -
ClaimConsume        T4, T4a     T5          T6, T6a     - (T7)                        - (T7)   - (T7)
FinishConsume       - (T12a)    - (T12a)    T8-T12      - (T12a)                      -        -
SeeReceipt          T14         T14         T14         T15 while a wake is owed      - (T16)  - (T16)
ClaimWake           -           -           -           T17, T18                      -        -
RenewWake           -           -           -           T23 by the holder             -        -
FinishWake          -           -           -           T19                           -        -
CancelSettled       -           -           -           -                             -        T20
CreatedLate         -           -           T21         -                             -        T21
NobodyHeard         -           -           -           T22                           -        -
ShortenLease        T24         -           T24         T24 while a wake is told      -        -
GiveUp              T25         T25         T25         T25 while a wake is owed      -        T25
==================  ==========  ==========  ==========  ============================  =======  ========

Invariants, and what breaks when one falls:

* Only Canon's word makes a decision, and only from the human whom the entry expects (R10.11): else somebody else
  approves the money.
* A terminal status is never left: else one approval has two results.
* A live lease is never taken over, whoever holds it (R10.8): else two processes consume.
* A request that Canon holds and that no entry will ever consume is taken back (T2a leaves ``cancelPending``, T20 clears
  it; D47): else a human answers into the void. A creation that was taken over and got to Canon all the same is such a
  request once "Canon does not know it" was believed; while that is being asked, the word is older than the request, so
  it is asked again (T21).
* A wake that takes its time stays its holder's (T23), and one that came too late to its own lease is not given: else
  two gateways of one agent, each with an inbox of its own, tell it twice (R10.33).
* A wake is owed only for a decision that no explicit check fetched (T8, T16): else the agent hears it twice. A check
  that was given up while its decision was being written has told nobody, so it leaves a wake (T22).
* A lease that a wrong clock has put out of reach is shortened to the longest that may be given now (T24), never ended:
  its holder, if there is one, keeps as much time as any holder has, and can finish; else nobody could go on before a
  time that may be years away.
* An operator gives up only what nobody can answer any more and no process is at (T25), and that is no decision: else a
  person at a keyboard stands in for the human who was asked.
* A receipt that arrives while Canon is being asked is kept (T14): the answer on its way may be older than it. T8 to a
  check, and every other end, clears it; T9 keeps it, and the next look asks again (R10.31): else nobody asks any more.

Everything here is pure; :mod:`canon_hermes_plugin.approvals.store` applies a transition under the lock.

Source: canon-adapter R10.10, R10.11; Canon wire 9.7, 9.8; defects D2, D27, D46, D47; decisions A1-A5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, assert_never

from canon_hermes_plugin.approvals.entry import (
    CREATE_LEASE_MS,
    LEASE_MS,
    LONGEST_LEASE_MS,
    TEXT_LIMIT,
    Claim,
    ClaimKind,
    Decision,
    Entry,
    Status,
    WakeStatus,
)
from canon_hermes_plugin.approvals.events import (
    Activate,
    CancelSettled,
    ClaimConsume,
    ClaimWake,
    CreatedLate,
    Decided,
    Event,
    FinishConsume,
    FinishWake,
    GiveUp,
    Gone,
    NobodyHeard,
    RejectCreation,
    RenewWake,
    Reserve,
    SeeReceipt,
    ShortenLease,
    StillPending,
    TimedOut,
    Unclear,
)
from canon_hermes_plugin.approvals.giving_up import kept_because

__all__ = ["AlreadyReserved", "ClaimLost", "Transition", "TransitionError", "decide"]


class TransitionError(RuntimeError):
    """The event is not possible here, and its sender must not go on as if it were."""


class AlreadyReserved(TransitionError):
    """An approval with that id exists; ids are single use for ever."""


class ClaimLost(TransitionError):
    """Somebody took the creation over, or the entry is gone: what Canon answered belongs to them."""


@dataclass(frozen=True, slots=True)
class Transition:
    """What an event did.

    Attributes:
        number: ``T1`` to ``T19`` as in R10.10, from ``T20`` on ours; the audit trail keeps it.
        entry: the entry afterwards; None only for an event about an entry that does not exist.
        is_change: False for a no-op: nothing is written, and a claim that was asked for was not given.
    """

    number: str
    entry: Entry | None
    is_change: bool


def decide(entry: Entry | None, event: Event, *, now_ms: float) -> Transition:
    """The transition that ``event`` makes.

    Raises:
        AlreadyReserved: ``Reserve`` for an id that is in use.
        ClaimLost: ``Activate`` by somebody who no longer holds the creation.
    """
    if isinstance(event, Reserve):
        return _reserve(entry, event, now_ms)
    if entry is None:
        if isinstance(event, Activate):
            raise ClaimLost("the approval is no longer in the registry")
        return Transition("-", None, is_change=False)
    return _for_entry(entry, event, now_ms)


def _for_entry(entry: Entry, event: Any, now_ms: float) -> Transition:
    match event:
        case Activate():
            return _activate(entry, event, now_ms)
        case RejectCreation():
            return _reject(entry, event, now_ms)
        case ClaimConsume():
            return _claim_consume(entry, event, now_ms)
        case FinishConsume():
            return _finish_consume(entry, event, now_ms)
        case SeeReceipt():
            return _see_receipt(entry, now_ms)
        case ClaimWake():
            return _claim_wake(entry, event, now_ms)
        case RenewWake(claim_id):
            claim = entry.claim(ClaimKind.WAKE)
            if entry.wake_status is not WakeStatus.DELIVERING or claim is None or claim.id != claim_id:
                return _same("T23", entry)
            return _changed("T23", _delivering(entry, replace(claim, expires_at_ms=now_ms + LEASE_MS)))
        case FinishWake():
            return _finish_wake(entry, event, now_ms)
        case CancelSettled():
            if entry.fields.get("cancelPending") is not True:
                return _same("T20", entry)
            return _changed("T20", entry.with_(cancelPending=False))
        case CreatedLate():
            return _created_late(entry)
        case NobodyHeard(claim_id):
            is_theirs = entry.status is Status.RESOLVED and entry.fields.get("answeredToClaimId") == claim_id
            if not is_theirs or entry.wake_status is not None:
                return _same("T22", entry)
            return _changed("T22", entry.with_(wakeStatus=WakeStatus.PENDING.value))
        case ShortenLease():
            lease = entry.out_of_reach(now_ms=now_ms)
            if lease is None:
                return _same("T24", entry)
            kind, claim = lease
            return _changed(
                "T24", entry.with_claim(kind, replace(claim, expires_at_ms=now_ms + LONGEST_LEASE_MS[kind]))
            )
        case GiveUp(why):
            return _give_up(entry, why, now_ms)
    assert_never(event)


def _same(number: str, entry: Entry) -> Transition:
    return Transition(number, entry, is_change=False)


def _changed(number: str, entry: Entry) -> Transition:
    return Transition(number, entry, is_change=True)


def _reserve(entry: Entry | None, event: Reserve, now_ms: float) -> Transition:
    if entry is not None:
        raise AlreadyReserved(f"approval {event.approval_id} exists already")
    fields: dict[str, Any] = {
        "approvalId": event.approval_id,
        "conversationId": event.conversation_id,
        "status": Status.CREATING.value,
        "requestedAt": now_ms,
        "expiresAt": event.expires_at_ms,
        "environmentId": event.owner.environment_id,
        "agentId": event.owner.agent_id,
    }
    optional = {
        "summary": event.summary[:TEXT_LIMIT],
        "responseUserId": event.expected_responder,
        "requestingSessionKey": event.session_key,
    }
    fields.update({name: value for name, value in optional.items() if value})
    claim = Claim(event.claim_id, now_ms + CREATE_LEASE_MS, event.process)
    return _changed("T1", Entry(fields).with_claim(ClaimKind.CREATE, claim))


def _activate(entry: Entry, event: Activate, now_ms: float) -> Transition:
    if entry.status is Status.PENDING and entry.fields.get("createdFromClaimId") == event.claim_id:
        return _same("T2b", entry)
    if entry.status is not Status.CREATING or not entry.holds(ClaimKind.CREATE, event.claim_id):
        raise ClaimLost(f"the creation of {entry.approval_id} was taken over: it is {entry.status} now")
    created = entry.without_claim(ClaimKind.CREATE).with_(createdAt=now_ms, createdFromClaimId=event.claim_id)
    responder, expected = (event.responder or "").strip(), entry.response_user_id
    if not responder:
        why = "server omitted effective responseUserId: the answer could not be tied to a human"
    elif expected is not None and responder != expected:
        why = f"Canon named the responder {responder}, and {expected} was asked for"
    else:
        active = created.with_(
            status=Status.PENDING.value,
            expiresAt=event.expires_at_ms,
            responseUserId=responder,
            reconcilePending=False,
        )
        return _changed("T2", active)
    orphan = _ended(created, Status.ORPHANED, now_ms).with_(
        expiresAt=event.expires_at_ms, identityMismatch=True, creationError=why[:TEXT_LIMIT], cancelPending=True
    )
    return _changed("T2a", orphan)


def _reject(entry: Entry, event: RejectCreation, now_ms: float) -> Transition:
    if entry.status is not Status.CREATING or not entry.holds(ClaimKind.CREATE, event.claim_id):
        return _same("T3", entry)
    closed = _ended(entry.without_claim(ClaimKind.CREATE), Status.ORPHANED, now_ms)
    return _changed("T3", closed.with_(creationError=event.why[:TEXT_LIMIT]))


def _claim_consume(entry: Entry, event: ClaimConsume, now_ms: float) -> Transition:
    claim = Claim(event.claim_id, now_ms + LEASE_MS, event.process)
    match entry.status:
        case Status.CREATING:
            if _is_leased(entry, ClaimKind.CREATE, now_ms):
                return _same("T4a", entry)
            recovered = entry.without_claim(ClaimKind.CREATE).with_(creationRecoveredAt=now_ms)
            return _changed("T4", _consuming(recovered, claim))
        case Status.PENDING:
            return _changed("T5", _consuming(entry, claim))
        case Status.CONSUMING:
            if _is_leased(entry, ClaimKind.CONSUME, now_ms):
                return _same("T6a", entry)
            return _changed("T6", _consuming(entry, claim))
        case _:
            return _same("T7", entry)


def _finish_consume(entry: Entry, event: FinishConsume, now_ms: float) -> Transition:
    if entry.status is not Status.CONSUMING or not entry.holds(ClaimKind.CONSUME, event.claim_id):
        return _same("T12a", entry)
    free = entry.without_claim(ClaimKind.CONSUME)
    match event.answer:
        case Decided(decision, responded_by):
            return _resolve(free, event, decision, responded_by, now_ms)
        case StillPending(expires_at_ms):
            until = free if expires_at_ms is None else free.with_(expiresAt=expires_at_ms)
            return _changed("T9", until.with_(status=Status.PENDING.value, reconcilePending=False))
        case TimedOut():
            return _changed("T10", _ended(free, Status.EXPIRED, now_ms))
        case Gone() if entry.fields.get("createdDuringClaimId") == event.claim_id:
            return _changed("T12", free.with_(status=Status.PENDING.value, reconcilePending=True))
        case Gone():
            return _changed("T11", _ended(free, Status.ORPHANED, now_ms))
        case Unclear():
            return _changed("T12", free.with_(status=Status.PENDING.value, reconcilePending=True))
    assert_never(event.answer)


def _resolve(
    entry: Entry, event: FinishConsume, decision: Decision, responded_by: str | None, now_ms: float
) -> Transition:
    """R10.11: a decision counts only from a named human, and from the expected one when one is expected."""
    who, expected = (responded_by or "").strip(), entry.response_user_id
    if not who or (expected is not None and who != expected):
        orphan = _ended(entry, Status.ORPHANED, now_ms).with_(identityMismatch=True)
        return _changed("T11", orphan.with_(respondedBy=who) if who else orphan)
    owed: dict[str, Any] = {"wakeStatus": WakeStatus.PENDING.value}
    if not event.wakes:
        owed = {"receiptPending": False, "answeredToClaimId": event.claim_id}
    resolved = entry.with_(
        status=Status.RESOLVED.value,
        decision=decision.value,
        respondedBy=who,
        resolvedAt=now_ms,
        reconcilePending=False,
        **owed,
    )
    return _changed("T8", resolved)


def _see_receipt(entry: Entry, now_ms: float) -> Transition:
    seen = entry.with_(receiptPending=True, receiptSeenAt=now_ms)
    if not entry.status.is_terminal:
        return _changed("T14", seen)
    if entry.wake_status is not None and entry.wake_status.is_owed:
        return _changed("T15", seen)
    return _same("T16", entry)


def _created_late(entry: Entry) -> Transition:
    claim = entry.claim(ClaimKind.CONSUME)
    if entry.status is Status.ORPHANED and entry.fields.get("cancelPending") is not True:
        return _changed("T21", entry.with_(cancelPending=True))
    if entry.status is Status.CONSUMING and claim is not None:
        return _changed("T21", entry.with_(createdDuringClaimId=claim.id))
    return _same("T21", entry)


def _claim_wake(entry: Entry, event: ClaimWake, now_ms: float) -> Transition:
    claim = Claim(event.claim_id, now_ms + LEASE_MS, event.process)
    if entry.wake_status in (WakeStatus.PENDING, WakeStatus.BLOCKED):
        return _changed("T17", _delivering(entry, claim))
    if entry.wake_status is WakeStatus.DELIVERING and not _is_leased(entry, ClaimKind.WAKE, now_ms):
        return _changed("T18", _delivering(entry, claim))
    return _same("T18", entry)


def _finish_wake(entry: Entry, event: FinishWake, now_ms: float) -> Transition:
    if entry.wake_status is not WakeStatus.DELIVERING or not entry.holds(ClaimKind.WAKE, event.claim_id):
        return _same("T19", entry)
    free = entry.without_claim(ClaimKind.WAKE)
    if event.is_delivered:
        done = free.with_(wakeStatus=WakeStatus.DELIVERED.value, wakeDeliveredAt=now_ms, receiptPending=False)
        return _changed("T19", done.without("wakeError"))
    again = free.with_(wakeStatus=WakeStatus.PENDING.value)
    return _changed("T19", again.with_(wakeError=event.why[:TEXT_LIMIT]) if event.why else again)


def _give_up(entry: Entry, why: str, now_ms: float) -> Transition:
    if kept_because(entry, now_ms=now_ms) is not None:
        return _same("T25", entry)
    marked = entry.with_(abandonedAt=now_ms, abandonReason=why[:TEXT_LIMIT])
    if entry.status is Status.RESOLVED:
        untold = marked.without_claim(ClaimKind.WAKE).without("wakeStatus")
        return _changed("T25", untold.with_(receiptPending=False))
    if entry.status is Status.ORPHANED:
        return _changed("T25", marked.with_(cancelPending=False))
    return _changed(
        "T25", _ended(marked.without_claim(ClaimKind.CREATE).without_claim(ClaimKind.CONSUME), Status.ORPHANED, now_ms)
    )


def _consuming(entry: Entry, claim: Claim) -> Entry:
    return entry.with_claim(ClaimKind.CONSUME, claim).with_(status=Status.CONSUMING.value)


def _delivering(entry: Entry, claim: Claim) -> Entry:
    return entry.with_claim(ClaimKind.WAKE, claim).with_(wakeStatus=WakeStatus.DELIVERING.value)


def _ended(entry: Entry, status: Status, now_ms: float) -> Entry:
    return entry.with_(status=status.value, resolvedAt=now_ms, receiptPending=False, reconcilePending=False)


def _is_leased(entry: Entry, kind: ClaimKind, now_ms: float) -> bool:
    claim = entry.claim(kind)
    return claim is not None and claim.is_live(now_ms)
