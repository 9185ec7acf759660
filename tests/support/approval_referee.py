"""What one event may do to an approval, said a second time and otherwise than the machine says it.

The machine builds the entry that follows; the referee looks at an entry that followed, and objects. It knows no helper
of the machine, so that a mistake there is not repeated here: each sentence below is one of R10.10's, about what must be
true afterwards. The harness asks it after every event of every interleaving.

Source: canon-adapter R10.10, R10.11; the issue's "Must show" 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from canon_hermes_plugin.approvals import events
from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.machine import AlreadyReserved, ClaimLost, Transition, TransitionError

__all__ = ["objections"]

OPEN, ENDS = {"creating", "pending", "consuming"}, {"resolved", "expired", "orphaned"}
OWED = {"pending", "delivering", "blocked"}
CREATE_MS, OTHER_MS = 300_000, 60_000
NEVER_CHANGES = (
    "approvalId", "conversationId", "environmentId", "agentId", "requestingSessionKey", "summary", "requestedAt",
)  # fmt: skip
STAYS_AT_AN_END = ("status", "decision", "respondedBy")

Fields = dict[str, Any]


def objections(
    before: Entry | None, event: events.Event, outcome: Transition | TransitionError, *, now_ms: float
) -> list[str]:
    """Everything that is wrong about what came of the event; nothing when it is right."""
    if isinstance(outcome, TransitionError):
        return list(_of_error(before, event, outcome))
    was = dict(before.fields) if before is not None else {}
    now = dict(outcome.entry.fields) if outcome.entry is not None else {}
    found = []
    if not outcome.is_change and was != now:
        found.append("changed something and says that it did not")
    if was:
        found += [f"{name} changed" for name in NEVER_CHANGES if was.get(name) != now.get(name)]
    if was.get("status") in ENDS:
        found += [f"the end was left: {name} changed" for name in STAYS_AT_AN_END if was.get(name) != now.get(name)]
    if isinstance(event, events.RenewWake) and outcome.is_change and was["wakeClaimId"] != event.claim_id:
        found.append("somebody else renewed a wake")  # which may show in no field: both claims end at the same moment
    if type(event) in RULES:
        found += RULES[type(event)](was, event, now, now_ms)
    return found


def _of_error(before: Entry | None, event: events.Event, error: TransitionError) -> Iterator[str]:
    if isinstance(event, events.Reserve) and isinstance(error, AlreadyReserved) and before is not None:
        return
    if isinstance(event, events.Activate) and isinstance(error, ClaimLost):
        was = before.fields if before is not None else {}
        is_holder = was.get("status") == "creating" and was.get("createClaimId") == event.claim_id
        is_repeated = was.get("status") == "pending" and was.get("createdFromClaimId") == event.claim_id
        if not is_holder and not is_repeated:
            return
    yield f"was refused: {error}"


def _reserve(was: Fields, event: events.Reserve, now: Fields, now_ms: float) -> Iterator[str]:
    if was:
        yield "an id was used twice"
    yield from _expect(
        now, status="creating", expiresAt=event.expires_at_ms, responseUserId=event.expected_responder,
        agentId=event.owner.agent_id, createClaimId=event.claim_id, createClaimExpiresAt=now_ms + CREATE_MS,
    )  # fmt: skip


def _activate(was: Fields, event: events.Activate, now: Fields, now_ms: float) -> Iterator[str]:
    if was.get("status") != "creating" or was.get("createClaimId") != event.claim_id:
        if was.get("status") != "pending" or was.get("createdFromClaimId") != event.claim_id:
            yield "somebody else's creation was activated"
        yield from _same(was, now)
        return
    yield from _expect(now, expiresAt=event.expires_at_ms, createClaimId=None)
    if event.responder and event.responder == (was.get("responseUserId") or event.responder):
        yield from _expect(now, status="pending", responseUserId=event.responder)
    else:
        yield from _expect(now, status="orphaned", cancelPending=True, decision=None)


def _reject(was: Fields, event: events.RejectCreation, now: Fields, now_ms: float) -> Iterator[str]:
    if was.get("status") == "creating" and was["createClaimId"] == event.claim_id:
        yield from _expect(now, status="orphaned", createClaimId=None, decision=None)
    else:
        yield from _same(was, now)


def _claim_consume(was: Fields, event: events.ClaimConsume, now: Fields, now_ms: float) -> Iterator[str]:
    if was.get("status") not in OPEN or _is_leased(was, {"creating": "create", "consuming": "consume"}, now_ms):
        yield from _same(was, now)
        return
    yield from _expect(
        now, status="consuming", consumeClaimId=event.claim_id, consumeClaimExpiresAt=now_ms + OTHER_MS,
        createClaimId=None,
    )  # fmt: skip


def _finish_consume(was: Fields, event: events.FinishConsume, now: Fields, now_ms: float) -> Iterator[str]:
    if was.get("status") != "consuming" or was["consumeClaimId"] != event.claim_id:
        yield from _same(was, now)
        return
    yield from _expect(now, consumeClaimId=None)
    match event.answer:
        case events.Decided(decision, by) if by and by == (was.get("responseUserId") or by):
            yield from _expect(now, status="resolved", decision=str(decision), respondedBy=by)
            yield from _expect(now, wakeStatus="pending" if event.wakes else None)
            if not event.wakes and now.get("receiptPending"):
                yield "a receipt is left of what a check has fetched"
        case events.Decided():
            yield from _expect(now, status="orphaned", decision=None)
        case events.StillPending(expires_at_ms):
            until = was["expiresAt"] if expires_at_ms is None else expires_at_ms
            yield from _expect(now, status="pending", expiresAt=until, receiptPending=was.get("receiptPending"))
        case events.TimedOut():
            yield from _expect(now, status="expired", decision=None)
        case events.Gone() if was.get("createdDuringClaimId") != event.claim_id:
            yield from _expect(now, status="orphaned", decision=None)
        case _:
            yield from _expect(now, status="pending", reconcilePending=True, decision=None)


def _see_receipt(was: Fields, event: events.SeeReceipt, now: Fields, now_ms: float) -> Iterator[str]:
    if was.get("status") in OPEN or was.get("wakeStatus") in OWED:
        yield from _expect(now, receiptPending=True)
    else:
        yield from _same(was, now)


def _claim_wake(was: Fields, event: events.ClaimWake, now: Fields, now_ms: float) -> Iterator[str]:
    is_held = was.get("wakeStatus") == "delivering" and was["wakeClaimExpiresAt"] > now_ms
    if was.get("wakeStatus") not in OWED or is_held:
        yield from _same(was, now)
        return
    yield from _expect(now, wakeStatus="delivering", wakeClaimId=event.claim_id, wakeClaimExpiresAt=now_ms + OTHER_MS)


def _renew_wake(was: Fields, event: events.RenewWake, now: Fields, now_ms: float) -> Iterator[str]:
    if was.get("wakeStatus") == "delivering" and was["wakeClaimId"] == event.claim_id:
        yield from _expect(now, wakeStatus="delivering", wakeClaimExpiresAt=now_ms + OTHER_MS)
    else:
        yield from _same(was, now)


def _finish_wake(was: Fields, event: events.FinishWake, now: Fields, now_ms: float) -> Iterator[str]:
    if was.get("wakeStatus") == "delivering" and was["wakeClaimId"] == event.claim_id:
        yield from _expect(now, wakeStatus="delivered" if event.is_delivered else "pending", wakeClaimId=None)
    else:
        yield from _same(was, now)


def _cancel_settled(was: Fields, event: events.CancelSettled, now: Fields, now_ms: float) -> Iterator[str]:
    if now.get("cancelPending"):
        yield "what Canon took back is still to be taken back"


def _created_late(was: Fields, event: events.CreatedLate, now: Fields, now_ms: float) -> Iterator[str]:
    if was.get("status") == "orphaned":
        yield from _expect(now, cancelPending=True)
    elif was.get("status") == "consuming":
        yield from _expect(now, createdDuringClaimId=was["consumeClaimId"])
    else:
        yield from _same(was, now)


def _nobody_heard(was: Fields, event: events.NobodyHeard, now: Fields, now_ms: float) -> Iterator[str]:
    is_theirs = was.get("answeredToClaimId") == event.claim_id and was.get("status") == "resolved"
    if is_theirs and was.get("wakeStatus") is None:
        yield from _expect(now, wakeStatus="pending")
    else:
        yield from _same(was, now)


def _shorten_lease(was: Fields, event: events.ShortenLease, now: Fields, now_ms: float) -> Iterator[str]:
    for kind, longest_ms in (("create", CREATE_MS), ("consume", OTHER_MS), ("wake", OTHER_MS)):
        if was.get(f"{kind}ClaimId") != now.get(f"{kind}ClaimId"):
            yield f"the {kind} lease changed hands"
        ends_ms, ended_ms = now.get(f"{kind}ClaimExpiresAt"), was.get(f"{kind}ClaimExpiresAt")
        if ends_ms not in (ended_ms, now_ms + longest_ms):
            yield f"the {kind} lease ends at {ends_ms}, and it is {now_ms}"


def _give_up(was: Fields, event: events.GiveUp, now: Fields, now_ms: float) -> Iterator[str]:
    kinds = {"creating": "create", "consuming": "consume"}
    is_told = was.get("wakeStatus") == "delivering" and was["wakeClaimExpiresAt"] > now_ms
    if _is_leased(was, kinds, now_ms) or is_told or (was["expiresAt"] > now_ms and was["status"] != "resolved"):
        yield from _same(was, now)
    elif was["status"] in OPEN:
        yield from _expect(now, status="orphaned", decision=None)


def _expect(now: Fields, **values: Any) -> Iterator[str]:
    for name, value in values.items():
        if now.get(name) != value:
            yield f"{name} is {now.get(name)!r} and should be {value!r}"


def _same(was: Fields, now: Fields) -> Iterator[str]:
    if was != now:
        names = sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))
        yield f"should have changed nothing, and changed {', '.join(names)}"


def _is_leased(was: Fields, kinds: dict[str, str], now_ms: float) -> bool:
    kind = kinds.get(was.get("status", ""))
    return kind is not None and was[f"{kind}ClaimExpiresAt"] > now_ms


RULES: dict[type, Callable[[Fields, Any, Fields, float], Iterator[str]]] = {
    events.Reserve: _reserve,
    events.Activate: _activate,
    events.RejectCreation: _reject,
    events.ClaimConsume: _claim_consume,
    events.FinishConsume: _finish_consume,
    events.SeeReceipt: _see_receipt,
    events.ClaimWake: _claim_wake,
    events.RenewWake: _renew_wake,
    events.FinishWake: _finish_wake,
    events.CancelSettled: _cancel_settled,
    events.CreatedLate: _created_late,
    events.NobodyHeard: _nobody_heard,
    events.ShortenLease: _shorten_lease,
    events.GiveUp: _give_up,
}
