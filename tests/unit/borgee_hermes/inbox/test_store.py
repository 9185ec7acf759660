"""A receipt moves only where its states allow, and the watermark with it. Borgee 9.3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from borgee_hermes.bpp.events import ConversationContext, Kind
from borgee_hermes.inbox import operator, retention, store
from borgee_hermes.inbox.problems import ReceiptDiffers, RiskNotConfirmed
from borgee_hermes.inbox.records import DispatchClass, Outcome, Progress, Status
from tests.support.borgee_receipts import S1, a_receipt, session_of

Do = Callable[..., Any]


def put(do: Do, count: int, channel_id: str = "channel-1", **changes: Any) -> list[int]:
    """Store ``count`` receipts; their numbers."""
    new = [a_receipt(f"m-{channel_id}-{n}", channel_id, **changes) for n in range(count)]
    return [do(store.insert, each, now_s=1.0).receipt.ingest_seq for each in new]


def claimed(do: Do, count: int) -> list[int]:
    """Store and claim; token ``t-<n>`` each."""
    seqs = put(do, count)
    for seq in seqs:
        assert do(store.claim, seq, f"t-{seq}", now_s=2.0)
    return seqs


def finish(do: Do, seq: int, token: str | None = None) -> bool:
    done: bool = do(
        store.finish, seq, token or f"t-{seq}", Status.COMPLETED, Outcome.HERMES_COMPLETED, error=None, now_s=3.0
    )
    return done


def test_the_same_receipt_is_stored_once(do: Do) -> None:
    """I4: a second insert returns the first row and says that it is not new."""
    new = a_receipt(context=ConversationContext("g-1", "channel-1", thread_id="t-1"))

    first = do(store.insert, new, now_s=1.0)
    second = do(store.insert, new, now_s=9.0)

    assert (first.is_new, second.is_new) == (True, False)
    assert first.receipt == second.receipt
    assert first.receipt.context == ConversationContext("g-1", "channel-1", "t-1", None)
    assert first.receipt.status is Status.PENDING


def test_a_message_and_its_mention_are_one_turn(do: Do) -> None:
    """W14: the id of a message decides, not its kind nor what its author is called by then."""
    first = do(store.insert, a_receipt("m-1", kind=Kind.MESSAGE), now_s=1.0)

    mention = do(store.insert, a_receipt("m-1", kind=Kind.MENTION, author_name="Ada L."), now_s=2.0)
    edit = do(store.insert, a_receipt("m-1", kind=Kind.EDITED, status=Status.COMPLETED), now_s=3.0)
    elsewhere = do(store.insert, a_receipt("m-1", "channel-2"), now_s=3.0)

    assert (mention.is_new, mention.receipt.ingest_seq) == (False, first.receipt.ingest_seq)
    assert edit.is_new
    assert elsewhere.is_new


def test_messages_without_an_id_are_told_apart_by_what_they_say(do: Do) -> None:
    """An empty message id names nothing, so two different messages stay two."""
    assert do(store.insert, a_receipt("", body="one"), now_s=1.0).is_new
    assert do(store.insert, a_receipt("", body="two"), now_s=1.0).is_new
    assert not do(store.insert, a_receipt("", body="one"), now_s=1.0).is_new


def test_one_key_with_another_payload_is_refused(do: Do) -> None:
    """I6: what is stored under a key is not silently taken for something else."""
    do(store.insert, a_receipt(), now_s=1.0)

    with pytest.raises(ReceiptDiffers, match="different payload"):
        do(store.insert, replace(a_receipt(), payload_hash="other"), now_s=1.0)


@pytest.mark.parametrize("status", [Status.PROCESSING, Status.IN_DOUBT])
def test_no_receipt_begins_in_the_middle(do: Do, status: Status) -> None:
    """A receipt begins waiting or settled."""
    with pytest.raises(ValueError, match="no receipt begins"):
        do(store.insert, a_receipt(status=status), now_s=1.0)


def test_one_claim_wins_and_its_token_ends_it(do: Do) -> None:
    """I7: a second claim gets nothing, a foreign token ends nothing, the right one ends it once."""
    (seq,) = put(do, 1)

    won = do(store.claim, seq, "mine", now_s=2.0)
    lost = do(store.claim, seq, "other", now_s=2.0)

    assert (won.status, won.attempt, won.claim_token, lost) == (Status.PROCESSING, 1, "mine", None)
    assert not finish(do, seq, "other")
    assert finish(do, seq, "mine")
    assert not finish(do, seq, "mine")
    with pytest.raises(ValueError, match="token"):
        do(store.claim, seq, "", now_s=2.0)


def test_a_claim_is_given_back_by_the_one_who_has_it(do: Do) -> None:
    """It waits again, can be claimed again, and what the first claim would settle is nobody's."""
    (seq,) = claimed(do, 1)

    assert not do(store.give_back, seq, "another", now_s=3.0)
    assert do(store.give_back, seq, f"t-{seq}", now_s=3.0)
    assert not do(store.give_back, seq, f"t-{seq}", now_s=3.0)

    row = do(store.get, seq)
    assert (row.status, row.claim_token, do(store.terminal_watermark)) == (Status.PENDING, None, 0)
    assert not finish(do, seq)
    assert do(store.claim, seq, "t-2", now_s=4.0).attempt == 2
    assert not do(store.give_back, seq, f"t-{seq}", now_s=5.0)


def test_the_watermark_waits_for_the_first_open_receipt(do: Do) -> None:
    """I11: finished out of order, it stands still until nothing before it is open."""
    first, second, third = claimed(do, 3)

    marks = []
    for seq in (third, second, first):
        assert finish(do, seq)
        marks.append(do(store.terminal_watermark))

    assert marks == [0, 0, third]


def test_how_far_the_work_has_come(do: Do) -> None:
    """What is open, what runs, and when the oldest of it came; what is settled or quarantined is none of it."""
    assert do(store.progress) == Progress()
    numbers = claimed(do, 3)
    for number in range(4, 7):
        do(store.insert, a_receipt(f"m-{number}"), now_s=float(number))
    assert finish(do, numbers[0])

    first = do(store.progress)
    do(store.recover_processing, now_s=8.0)
    do(store.quarantine_in_doubt, set(), now_s=9.0)

    assert (first.watermark, first.open, first.running) == (numbers[0], 5, 2)
    assert first.oldest_s == do(store.get, numbers[1]).created_at
    assert do(store.progress) == Progress(numbers[2], 3, 0, 4.0)


def test_the_watermark_follows_receipts_that_start_no_turn(do: Do) -> None:
    """A receipt that is settled as it is stored counts at once."""
    do(store.insert, a_receipt(kind=Kind.EDITED, status=Status.COMPLETED, outcome=Outcome.IGNORED_EDITED), now_s=1.0)

    assert do(store.terminal_watermark) == 1


def test_doubt_quarantine_and_a_persons_decision(do: Do) -> None:
    """I12: recover, list, quarantine, refuse a requeue without confirmation, requeue with one."""
    (seq,) = claimed(do, 1)

    assert do(store.recover_processing, now_s=4.0) == 1
    assert do(store.in_doubt_sessions) == {S1: 1}
    assert do(store.get, seq).outcome == Outcome.PROCESS_INTERRUPTED
    assert do(store.quarantine_in_doubt, {S1}, now_s=5.0) == 1
    assert do(store.get, seq).outcome == Outcome.QUARANTINED_SUSPENDED
    assert do(store.terminal_watermark) == seq
    with pytest.raises(RiskNotConfirmed, match="risk confirmation"):
        do(operator.requeue, seq, risk_confirmed=False, now_s=6.0)
    assert do(operator.requeue, seq, risk_confirmed=True, now_s=6.0)

    back = do(store.get, seq)
    assert (back.status, back.claim_token, back.outcome) == (Status.PENDING, None, Outcome.OPERATOR_REQUEUED)
    assert do(store.terminal_watermark) == 0
    assert do(store.claim, seq, "again", now_s=7.0).attempt == 2


def test_quarantine_without_a_session_says_so(do: Do) -> None:
    """A31: the row of a session that Hermes does not know is quarantined like any other."""
    (seq,) = claimed(do, 1)
    do(store.recover_processing, now_s=4.0)

    do(store.quarantine_in_doubt, {session_of("another")}, now_s=5.0)

    row = do(store.get, seq)
    assert (row.status, row.outcome) == (Status.QUARANTINED, Outcome.QUARANTINED_NO_SESSION)


@pytest.mark.parametrize(
    ("suspended", "outcome"),
    [(True, Outcome.TIMEOUT_SUSPENDED), (False, Outcome.TIMEOUT_NO_SESSION)],
)
def test_a_receipt_whose_time_is_up_is_quarantined_once(do: Do, suspended: bool, outcome: Outcome) -> None:
    """Only a receipt that is still claimed can run out of time, and then its claim ends nothing any more."""
    (seq,) = claimed(do, 1)

    assert do(store.quarantine_processing, seq, suspended=suspended, now_s=5.0)
    assert not do(store.quarantine_processing, seq, suspended=suspended, now_s=5.0)
    assert not finish(do, seq)
    assert do(store.get, seq).outcome == outcome


def test_a_person_decides_about_quarantined_receipts_only(do: Do) -> None:
    """Discard and requeue change nothing in any other state."""
    pending, processing = put(do, 2)
    do(store.claim, processing, "t", now_s=2.0)

    for seq in (pending, processing, 99):
        assert not do(operator.discard, seq, now_s=3.0)
        assert not do(operator.requeue, seq, risk_confirmed=True, now_s=3.0)

    assert [do(store.get, seq).status for seq in (pending, processing)] == [Status.PENDING, Status.PROCESSING]


def test_the_scheduler_is_told_what_is_open(do: Do) -> None:
    """Everything unsettled comes in order; a forced queue counts as ordinary whatever it looks like."""
    stop = put(do, 1, dispatch_class=DispatchClass.URGENT_STOP)[0]
    forced = put(do, 1, "channel-2", dispatch_class=DispatchClass.ORDINARY, forced_queue=True)[0]
    done = put(do, 1, "channel-3", kind=Kind.EDITED, status=Status.COMPLETED)[0]

    found = do(store.open_receipts)

    assert [(each.ingest_seq, each.dispatch_class) for each in found] == [
        (stop, DispatchClass.URGENT_STOP),
        (forced, DispatchClass.ORDINARY),
    ]
    assert done not in {each.ingest_seq for each in found}


def test_outbound_ids_and_channels_are_known(do: Do) -> None:
    """I13 and 4.12: a sent id is known, also when it is recorded again; a channel's newest receipt tells its type."""
    do(store.record_outbound, "m-9", "channel-1", now_s=1.0)
    do(store.record_outbound, "m-9", "channel-1", now_s=2.0)
    put(do, 1, channel_type="channel")
    do(store.insert, a_receipt("m-8", channel_type="dm"), now_s=2.0)

    assert do(store.is_outbound, "m-9")
    assert not do(store.is_outbound, "m-10")
    assert do(store.channel_type, "channel-1") == "dm"
    assert do(store.channel_type, "nowhere") is None


def test_operators_see_counts_and_blocked_sessions(do: Do) -> None:
    """Stats name the session that waits, and for which receipt."""
    seq = claimed(do, 1)[0]
    do(store.recover_processing, now_s=2.0)
    do(store.quarantine_in_doubt, (), now_s=2.0)
    waiting = [do(store.insert, a_receipt(f"w-{n}"), now_s=7.0).receipt.ingest_seq for n in range(3)]

    found = do(operator.stats)

    assert found.by_status[Status.QUARANTINED] == 1
    assert found.by_status[Status.PENDING] == 3
    assert found.blocked == (operator.Blocked(S1, seq, 3),)
    assert (found.oldest_pending_s, found.oldest_free_s) == (7.0, None)
    assert [each.ingest_seq for each in do(operator.listed, [Status.PENDING], limit=2)] == waiting[:0:-1]
    assert do(operator.listed, [Status.PENDING], session_key="another") == []


def test_old_settled_rows_go_in_batches_and_nothing_else(do: Do) -> None:
    """W16: thirty days or the last rows, whichever is more; open and quarantined receipts stay whatever their age."""
    seqs = claimed(do, 6)
    do(store.quarantine_processing, seqs[0], suspended=False, now_s=1.0)
    for seq in seqs[2:]:
        finish(do, seq)
    for n in range(6):
        do(store.record_outbound, f"out-{n}", "channel-1", now_s=1.0)
    limits = {"kept_s": 100.0, "kept_rows": 2, "batch": 2}

    assert do(retention.prune, now_s=50.0, **limits) == 0  # nothing is old enough
    assert do(retention.prune, now_s=500.0, **limits) == 4  # two receipts, two ids
    assert do(retention.prune, now_s=500.0, **limits) == 2  # two ids
    assert do(retention.prune, now_s=500.0, **limits) == 0

    left = [seq for seq in seqs if do(store.get, seq) is not None]
    assert left == [seqs[0], seqs[1], *seqs[-2:]]
    assert do(store.is_outbound, "out-5")
    assert not do(store.is_outbound, "out-3")
