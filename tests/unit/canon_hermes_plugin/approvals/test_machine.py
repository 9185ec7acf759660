"""The life of an approval: every event in every status, and what must never happen."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.approvals import results
from canon_hermes_plugin.approvals.entry import Claim, ClaimKind, Decision, Entry, Status, WakeStatus, damage
from canon_hermes_plugin.approvals.events import (
    Activate,
    Answer,
    ClaimConsume,
    ClaimWake,
    CreatedLate,
    Decided,
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
from canon_hermes_plugin.approvals.machine import AlreadyReserved, ClaimLost, Transition, decide
from canon_hermes_plugin.state.owner import Owner

NOW = 1_000_000_000
OWNER = Owner("env", "agent_1")
RESERVE = Reserve("hermes-1", "convo-9", "c1", NOW + 9, OWNER, "Proceed?", "owner-1", "canon:convo-9", "gw-1")


def at(status: Status, *, live: bool = True, wake: WakeStatus | None = None, **fields: Any) -> Entry:
    """An entry in that status; its lease is live or has just ended."""
    until = NOW + 1 if live else NOW
    entry = Entry(
        {
            "approvalId": "hermes-1",
            "conversationId": "convo-9",
            "status": status.value,
            "expiresAt": NOW + 9,
            "responseUserId": "owner-1",
        }
    )
    if status is Status.CREATING:
        entry = entry.with_claim(ClaimKind.CREATE, Claim("held", until, "other"))
    if status is Status.CONSUMING:
        entry = entry.with_claim(ClaimKind.CONSUME, Claim("held", until, "other"))
    if status is Status.RESOLVED:
        entry = entry.with_(decision="allow", respondedBy="owner-1")
    if wake is not None:
        entry = entry.with_(wakeStatus=wake.value)
    if wake is WakeStatus.DELIVERING:
        entry = entry.with_claim(ClaimKind.WAKE, Claim("held", until, "other"))
    return entry.with_(**fields)


def decided(entry: Entry | None, event: Any) -> Transition:
    step = decide(entry, event, now_ms=NOW)
    if step.entry is not None:
        assert damage("hermes-1", step.entry.fields) is None, "what comes out can be read again"
    return step


def changed(entry: Entry | None, event: Any, number: str) -> Entry:
    step = decided(entry, event)
    assert (step.number, step.is_change) == (number, True)
    assert step.entry is not None
    return step.entry


def unchanged(entry: Entry, event: Any, number: str) -> None:
    step = decided(entry, event)
    assert (step.number, step.is_change, step.entry) == (number, False, entry)


def test_t1_a_reservation_says_whose_it_is() -> None:
    """T1, A1: before anything is sent the entry has its lease, its owner and the session that asked."""
    entry = changed(None, RESERVE, "T1")

    assert entry.status is Status.CREATING
    assert entry.owner == OWNER
    assert entry.claim(ClaimKind.CREATE) == Claim("c1", NOW + 300_000, "gw-1")
    assert (entry.summary, entry.response_user_id, entry.requesting_session_key) == (
        "Proceed?",
        "owner-1",
        "canon:convo-9",
    )
    assert entry.fields["requestedAt"] == NOW


@pytest.mark.parametrize("status", Status)
def test_an_id_is_used_once(status: Status) -> None:
    """T1: whatever became of an approval, its id is never reserved again."""
    with pytest.raises(AlreadyReserved):
        decided(at(status), RESERVE)


def test_t2_an_activation_takes_what_canon_says() -> None:
    """T2: the server's expiry and responder stand from now on."""
    created = at(Status.CREATING, responseUserId=None, receiptPending=True)

    entry = changed(created, Activate("held", NOW + 77, "owner-1"), "T2")

    assert entry.status is Status.PENDING
    assert entry.fields["expiresAt"] == NOW + 77
    assert entry.response_user_id == "owner-1"
    assert entry.claim(ClaimKind.CREATE) is None
    assert entry.fields["createdFromClaimId"] == "held"
    assert entry.is_receipt_pending, "a receipt that overtook the answer is still to be dealt with"
    unchanged(entry, Activate("held", NOW + 78, "owner-1"), "T2b")


def test_an_expired_creation_can_still_be_activated_by_its_holder() -> None:
    """T2: as long as nobody took it over, the creation belongs to whoever began it."""
    assert changed(at(Status.CREATING, live=False), Activate("held", NOW, "owner-1"), "T2").status is Status.PENDING


@pytest.mark.parametrize(
    ("responder", "words"),
    [(None, "server omitted"), (" ", "server omitted"), ("member-9", "member-9")],
)
def test_t2a_a_responder_that_was_not_expected(responder: str | None, words: str) -> None:
    """T2a, S10.11: without a responder, or with another one, nobody may ever take an answer for this one."""
    entry = changed(at(Status.CREATING), Activate("held", NOW, responder), "T2a")

    assert entry.status is Status.ORPHANED
    assert entry.fields["identityMismatch"] is True
    assert words in entry.fields["creationError"]


@pytest.mark.parametrize("status", [Status.PENDING, Status.CONSUMING, *[s for s in Status if s.is_terminal]])
def test_t2c_a_creation_that_was_lost(status: Status) -> None:
    """T2c: whoever is late learns it, and the entry stays with whoever has it now."""
    with pytest.raises(ClaimLost):
        decided(at(status), Activate("held", NOW, "owner-1"))
    with pytest.raises(ClaimLost):
        decided(at(Status.CREATING), Activate("stale", NOW, "owner-1"))
    with pytest.raises(ClaimLost):
        decided(None, Activate("held", NOW, "owner-1"))


def test_t3_a_creation_that_canon_refused() -> None:
    """T3, S10.13: the refusal closes it; one under a stale lease changes nothing."""
    entry = changed(at(Status.CREATING), RejectCreation("held", "HTTP 400: no"), "T3")

    assert entry.status is Status.ORPHANED
    assert "400" in entry.fields["creationError"]
    assert entry.claim(ClaimKind.CREATE) is None
    unchanged(at(Status.CREATING), RejectCreation("stale", "no"), "T3")
    unchanged(at(Status.PENDING), RejectCreation("held", "no"), "T3")


def test_t4_an_abandoned_creation_is_taken_over() -> None:
    """T4, S10.7: an expired creation becomes a question to Canon; a live one is nobody else's business."""
    entry = changed(at(Status.CREATING, live=False), ClaimConsume("mine", "cli"), "T4")

    assert entry.status is Status.CONSUMING
    assert entry.fields["creationRecoveredAt"] == NOW
    assert entry.claim(ClaimKind.CREATE) is None
    assert entry.claim(ClaimKind.CONSUME) == Claim("mine", NOW + 60_000, "cli")
    unchanged(at(Status.CREATING), ClaimConsume("mine"), "T4a")


def test_t5_t6_one_of_many_asks() -> None:
    """T5, T6, S10.6: the first claims, the next only when the lease is over."""
    mine = Claim("mine", NOW + 60_000, "cli")
    assert changed(at(Status.PENDING), ClaimConsume("mine", "cli"), "T5").claim(ClaimKind.CONSUME) == mine
    assert changed(at(Status.CONSUMING, live=False), ClaimConsume("mine", "cli"), "T6").claim(ClaimKind.CONSUME) == mine
    unchanged(at(Status.CONSUMING), ClaimConsume("mine"), "T6a")


@pytest.mark.parametrize("status", [s for s in Status if s.is_terminal])
def test_t7_an_end_is_an_end(status: Status) -> None:
    """T7: no event but a wake moves a terminal entry."""
    entry = at(status)

    unchanged(entry, ClaimConsume("mine"), "T7")
    for answer in (Decided(Decision.DENY, "owner-1"), StillPending(), TimedOut(), Gone(), Unclear()):
        unchanged(entry, FinishConsume("held", answer, wakes=True), "T12a")
    unchanged(entry, RejectCreation("held", "no"), "T3")
    unchanged(entry, SeeReceipt(), "T16")


@pytest.mark.parametrize("decision", Decision)
@pytest.mark.parametrize("expected", ["owner-1", None])
def test_t8_a_decision(decision: Decision, expected: str | None) -> None:
    """T8: the right human decided; a wake is owed exactly when nobody waits for the result."""
    entry = at(Status.CONSUMING, responseUserId=expected, receiptPending=True, reconcilePending=True)

    asked = changed(entry, FinishConsume("held", Decided(decision, "owner-1"), wakes=False), "T8")
    told = changed(entry, FinishConsume("held", Decided(decision, " owner-1 "), wakes=True), "T8")

    assert (asked.status, asked.decision, asked.responded_by) == (Status.RESOLVED, decision, "owner-1")
    assert (asked.wake_status, asked.is_receipt_pending) == (None, False)
    assert (told.wake_status, told.is_receipt_pending, told.is_reconcile_pending) == (WakeStatus.PENDING, True, False)


@pytest.mark.parametrize("who", [None, "", "  ", "member-9"])
def test_t11_a_decision_by_somebody_else_is_none(who: str | None) -> None:
    """T11, S10.20, S10.21, R10.11: it never counts, and it is no denial either."""
    entry = changed(at(Status.CONSUMING), FinishConsume("held", Decided(Decision.ALLOW, who), wakes=True), "T11")

    assert entry.status is Status.ORPHANED
    assert entry.fields["identityMismatch"] is True
    assert entry.decision is None
    assert entry.wake_status is None


def test_t11_nameless_when_nobody_is_expected() -> None:
    """S10.21: even without an expectation a decision needs a name."""
    entry = at(Status.CONSUMING).without("responseUserId")

    assert changed(entry, FinishConsume("held", Decided(Decision.DENY, None), wakes=True), "T11").decision is None


@pytest.mark.parametrize(
    ("answer", "number", "status", "reconciles"),
    [
        (StillPending(NOW + 123), "T9", Status.PENDING, False),
        (StillPending(), "T9", Status.PENDING, False),
        (TimedOut(), "T10", Status.EXPIRED, False),
        (Gone(), "T11", Status.ORPHANED, False),
        (Unclear(), "T12", Status.PENDING, True),
    ],
)
def test_what_else_canon_can_say(answer: Answer, number: str, status: Status, reconciles: bool) -> None:
    """T9 to T12, S10.22 to S10.24: only a decision decides; what is unclear is asked again."""
    entry = changed(at(Status.CONSUMING, reconcilePending=True), FinishConsume("held", answer, wakes=True), number)

    assert (entry.status, entry.is_reconcile_pending) == (status, reconciles)
    assert entry.claim(ClaimKind.CONSUME) is None
    assert entry.decision is None
    assert entry.fields["expiresAt"] == (NOW + 123 if answer == StillPending(NOW + 123) else NOW + 9)


@pytest.mark.parametrize("answer", [Decided(Decision.ALLOW, "owner-1"), StillPending(), TimedOut(), Gone(), Unclear()])
def test_t12a_a_lost_claim_finishes_nothing(answer: Answer) -> None:
    """T12a: what a late process brings back changes nothing."""
    unchanged(at(Status.CONSUMING), FinishConsume("stale", answer, wakes=True), "T12a")
    unchanged(at(Status.PENDING), FinishConsume("held", answer, wakes=True), "T12a")


def test_t14_t15_t16_a_receipt() -> None:
    """T14 to T16: it is remembered where somebody will act on it, and nowhere else."""
    for entry in (at(Status.CREATING), at(Status.PENDING), at(Status.CONSUMING)):
        assert changed(entry, SeeReceipt(), "T14").fields["receiptSeenAt"] == NOW
    for wake in (WakeStatus.PENDING, WakeStatus.DELIVERING):
        assert changed(at(Status.RESOLVED, wake=wake), SeeReceipt(), "T15").is_receipt_pending
    unchanged(at(Status.RESOLVED, wake=WakeStatus.DELIVERED), SeeReceipt(), "T16")


@pytest.mark.parametrize(
    ("answer", "wakes", "is_kept"),
    [
        (StillPending(), True, True),
        (Unclear(), True, True),
        (Decided(Decision.ALLOW, "owner-1"), True, True),
        (Decided(Decision.ALLOW, "owner-1"), False, False),
        (TimedOut(), True, False),
        (Gone(), True, False),
    ],
)
def test_a_receipt_while_canon_is_asked(answer: Answer, wakes: bool, is_kept: bool) -> None:
    """T14, R10.31: it outlives the question that was on its way, and ends with whatever settles the approval."""
    asked = changed(at(Status.CONSUMING), SeeReceipt(), "T14")

    step = decided(asked, FinishConsume("held", answer, wakes=wakes))

    assert step.entry is not None
    assert step.entry.is_receipt_pending is is_kept


@pytest.mark.parametrize("status", Status)
def test_t21_a_request_that_came_late(status: Status) -> None:
    """T21, D47: given up, it is to be taken back; asked about just now, "unknown" is not believed; else nothing."""
    entry = at(status)
    if status is Status.ORPHANED:
        owed = changed(entry, CreatedLate(), "T21")
        assert owed.fields["cancelPending"] is True
        unchanged(owed, CreatedLate(), "T21")
    elif status is Status.CONSUMING:
        marked = changed(entry, CreatedLate(), "T21")
        again = changed(marked, FinishConsume("held", Gone(), wakes=True), "T12")
        asked = changed(again, ClaimConsume("second"), "T5")
        changed(asked, FinishConsume("second", Gone(), wakes=True), "T11")
    else:
        unchanged(entry, CreatedLate(), "T21")


def test_t22_a_check_that_told_nobody() -> None:
    """T22: its decision is owed a wake; one that another check told, or that is owed or delivered already, is not."""
    told = changed(at(Status.CONSUMING), FinishConsume("held", Decided(Decision.DENY, "owner-1"), wakes=False), "T8")

    assert changed(told, NobodyHeard("held"), "T22").wake_status is WakeStatus.PENDING
    unchanged(told, NobodyHeard("another"), "T22")
    for wake in WakeStatus:
        unchanged(at(Status.RESOLVED, wake=wake, answeredToClaimId="held"), NobodyHeard("held"), "T22")
    for status in set(Status) - {Status.RESOLVED}:
        unchanged(at(status), NobodyHeard("held"), "T22")


def test_t17_t18_one_wakes() -> None:
    """T17, T18, S10.8: a live wake is left alone, an abandoned one is taken over."""
    fresh = changed(at(Status.RESOLVED, wake=WakeStatus.PENDING), ClaimWake("mine"), "T17")
    assert fresh.claim(ClaimKind.WAKE) == Claim("mine", NOW + 60_000)
    late = at(Status.RESOLVED, wake=WakeStatus.DELIVERING, live=False)
    assert changed(late, ClaimWake("mine"), "T18").holds(ClaimKind.WAKE, "mine")
    unchanged(at(Status.RESOLVED, wake=WakeStatus.DELIVERING), ClaimWake("mine"), "T18")
    for entry in (at(Status.RESOLVED), at(Status.RESOLVED, wake=WakeStatus.DELIVERED), at(Status.PENDING)):
        unchanged(entry, ClaimWake("mine"), "T18")


def test_t23_the_holder_of_a_wake_keeps_it() -> None:
    """R10.33: it may renew its lease, expired or not, as long as nobody took it over; nobody else may."""
    for live in (True, False):
        held = at(Status.RESOLVED, wake=WakeStatus.DELIVERING, live=live)
        assert changed(held, RenewWake("held"), "T23").claim(ClaimKind.WAKE) == Claim("held", NOW + 60_000, "other")
        unchanged(held, RenewWake("stale"), "T23")
    for wake in (WakeStatus.PENDING, WakeStatus.DELIVERED):
        unchanged(at(Status.RESOLVED, wake=wake), RenewWake("held"), "T23")


def test_t19_a_wake_ends() -> None:
    """T19: delivered is said by the holder only; a failed attempt is owed again."""
    entry = at(Status.RESOLVED, wake=WakeStatus.DELIVERING, receiptPending=True)

    done = changed(entry, FinishWake("held", is_delivered=True), "T19")
    again = changed(entry, FinishWake("held", is_delivered=False), "T19")

    assert (done.wake_status, done.is_receipt_pending) == (WakeStatus.DELIVERED, False)
    assert done.fields["wakeDeliveredAt"] == NOW
    assert (again.wake_status, again.is_receipt_pending) == (WakeStatus.PENDING, True)
    unchanged(entry, FinishWake("stale", is_delivered=True), "T19")
    unchanged(done, FinishWake("held", is_delivered=False), "T19")


@pytest.mark.parametrize(
    ("status", "wake", "kind", "longest_ms"),
    [
        (Status.CREATING, None, ClaimKind.CREATE, 300_000),
        (Status.CONSUMING, None, ClaimKind.CONSUME, 60_000),
        (Status.RESOLVED, WakeStatus.DELIVERING, ClaimKind.WAKE, 60_000),
    ],
)
def test_t24_a_lease_that_is_out_of_reach(
    status: Status, wake: WakeStatus | None, kind: ClaimKind, longest_ms: int
) -> None:
    """It ends as a lease of now would, and stays its holder's; one that can be real is left as it is."""
    far = at(status, wake=wake).with_claim(kind, Claim("held", NOW + 2 * longest_ms + 1, "other"))

    after = changed(far, ShortenLease(), "T24")

    assert after == far.with_claim(kind, Claim("held", NOW + longest_ms, "other"))
    unchanged(far.with_claim(kind, Claim("held", NOW + 2 * longest_ms)), ShortenLease(), "T24")
    unchanged(at(status, wake=wake, live=False), ShortenLease(), "T24")
    unchanged(at(Status.PENDING), ShortenLease(), "T24")


OVER: dict[str, Any] = {"expiresAt": NOW}


@pytest.mark.parametrize(
    "entry",
    [
        at(Status.PENDING, **OVER),
        at(Status.PENDING, **OVER, reconcilePending=True, receiptPending=True),
        at(Status.CREATING, live=False, **OVER),
        at(Status.CONSUMING, live=False, **OVER),
    ],
    ids=["pending", "in doubt", "creating", "consuming"],
)
def test_t25_what_nobody_can_answer_any_more_is_given_up(entry: Entry) -> None:
    """It came to nothing, under nobody's lease, and without a decision: whoever checks it is told so."""
    after = changed(entry, GiveUp("no key"), "T25")

    assert (after.status, after.decision, after.lease) == (Status.ORPHANED, None, None)
    assert (after.fields["abandonedAt"], after.fields["abandonReason"]) == (NOW, "no key")
    assert (after.is_receipt_pending, after.is_reconcile_pending) == (False, False)
    assert results.of_entry(after)["status"] == "unknown"
    assert "gave it up" in results.of_entry(after)["note"]
    unchanged(after, ClaimConsume("late"), "T7")


@pytest.mark.parametrize("wake", [WakeStatus.PENDING, WakeStatus.BLOCKED, WakeStatus.DELIVERING])
def test_t25_a_decision_that_cannot_be_told_stays(wake: WakeStatus) -> None:
    """Nobody is woken any more, a check tells it, and a late receipt wakes nobody."""
    after = changed(at(Status.RESOLVED, wake=wake, live=False), GiveUp("left the room"), "T25")

    assert (after.decision, after.wake_status, after.lease) == (Decision.ALLOW, None, None)
    assert results.of_entry(after)["decision"] == "allow"
    unchanged(after, SeeReceipt(), "T16")
    unchanged(after, ClaimWake("c"), "T18")


def test_t25_a_request_that_nobody_can_take_back() -> None:
    """Its time is over, so no human can answer it either."""
    entry = at(Status.ORPHANED, **OVER, cancelPending=True)

    assert changed(entry, GiveUp("no key"), "T25").fields["cancelPending"] is False


@pytest.mark.parametrize(
    "entry",
    [
        at(Status.PENDING),
        at(Status.PENDING, receiptPending=True),
        at(Status.CREATING, live=False),
        at(Status.CONSUMING, live=False),
        at(Status.ORPHANED, cancelPending=True),
        at(Status.CREATING, **OVER),
        at(Status.CONSUMING, **OVER),
        at(Status.RESOLVED, wake=WakeStatus.DELIVERING),
        at(Status.RESOLVED),
        at(Status.RESOLVED, wake=WakeStatus.DELIVERED),
        at(Status.EXPIRED, **OVER),
        at(Status.ORPHANED, **OVER),
    ],
    ids=str,
)
def test_t25_what_may_not_be_given_up(entry: Entry) -> None:
    """What can still be answered, what a process is at, and what has come to its end."""
    unchanged(entry, GiveUp("I say so"), "T25")


@pytest.mark.parametrize("event", [RejectCreation("c", "no"), ClaimConsume("c"), SeeReceipt(), ClaimWake("c")])
def test_an_entry_that_is_not_there(event: Any) -> None:
    """Nothing happens to nothing."""
    assert decide(None, event, now_ms=NOW) == Transition("-", None, is_change=False)


def test_what_a_newer_program_wrote_stays() -> None:
    """R10.5: fields that this version does not know live through every transition."""
    entry = at(Status.CREATING, fromTheFuture={"a": [1]})

    for event in (
        Activate("held", NOW, "owner-1"),
        SeeReceipt(),
        ClaimConsume("b"),
        FinishConsume("b", Unclear(), False),
    ):
        step = decide(entry, event, now_ms=NOW)
        assert step.entry is not None
        entry = step.entry

    assert entry.fields["fromTheFuture"] == {"a": [1]}
