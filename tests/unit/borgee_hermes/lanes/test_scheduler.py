"""Who runs next. Borgee 9.5, I8-I10."""

from __future__ import annotations

import time

from borgee_hermes.inbox.records import DispatchClass, OpenReceipt, Status
from borgee_hermes.lanes.scheduler import Lane, Launch, Scheduler

ORDINARY, CONTROL, STOP = DispatchClass.ORDINARY, DispatchClass.CONTROL, DispatchClass.URGENT_STOP


def a_scheduler(*arrivals: tuple[int, str, DispatchClass], slots: int = 2, control: int = 8) -> Scheduler:
    scheduler = Scheduler(slots, control_slots=control)
    for seq, session, kind in arrivals:
        scheduler.arrived(seq, session, kind)
    return scheduler


def run(scheduler: Scheduler, seq: int, session: str) -> None:
    """Hermes begins to run what was launched there."""
    scheduler.became_busy(session)


def end(scheduler: Scheduler, seq: int, session: str) -> None:
    """It is over, and Hermes is idle there."""
    scheduler.ended(seq, session)
    scheduler.became_idle(session)


def test_one_session_in_order_and_others_beside_it() -> None:
    """A12: the second of a session waits for the first; another session does not."""
    scheduler = a_scheduler((1, "a", ORDINARY), (2, "a", ORDINARY), (3, "b", ORDINARY))

    first = scheduler.launches()
    run(scheduler, 1, "a")
    nothing = scheduler.launches()
    end(scheduler, 1, "a")
    then = scheduler.launches()

    assert first == [Launch(1, "a", Lane.ORDINARY), Launch(3, "b", Lane.ORDINARY)]
    assert nothing == []
    assert then == [Launch(2, "a", Lane.ORDINARY)]


def test_no_more_turns_than_slots() -> None:
    """A13: three sessions, two slots; the third runs when one is over."""
    scheduler = a_scheduler((1, "a", ORDINARY), (2, "b", ORDINARY), (3, "c", ORDINARY))

    first = scheduler.launches()
    full = scheduler.launches()
    end(scheduler, 1, "a")

    assert [each.ingest_seq for each in first] == [1, 2]
    assert full == []
    assert [each.ingest_seq for each in scheduler.launches()] == [3]


def test_a_session_that_hermes_keeps_busy_runs_nothing_ordinary() -> None:
    """Work that is not ours counts too: its session waits until Hermes is through."""
    scheduler = a_scheduler()
    scheduler.became_busy("a")
    scheduler.arrived(1, "a", ORDINARY)

    assert scheduler.launches() == []
    scheduler.became_idle("a")
    assert scheduler.launches() == [Launch(1, "a", Lane.ORDINARY)]


def test_commands_pass_everything_that_waits() -> None:
    """A15: behind a thousand ordinary messages of a busy session, /status and /stop run, and /queue waits."""
    scheduler = a_scheduler(*((n, "a", ORDINARY) for n in range(1, 1001)))
    scheduler.launches()
    run(scheduler, 1, "a")
    scheduler.arrived(1001, "a", CONTROL)
    scheduler.arrived(1002, "a", ORDINARY)
    scheduler.arrived(1003, "a", STOP)

    assert scheduler.launches() == [Launch(1003, "a", Lane.URGENT), Launch(1001, "a", Lane.CONTROL)]
    assert scheduler.launches() == []


def test_full_turns_leave_room_for_commands() -> None:
    """A16: with all ordinary slots taken, each session's command runs."""
    scheduler = a_scheduler((1, "a", ORDINARY), (2, "b", ORDINARY))
    for each in scheduler.launches():
        run(scheduler, each.ingest_seq, each.session_key)
    scheduler.arrived(3, "a", CONTROL)
    scheduler.arrived(4, "b", CONTROL)

    assert [each.ingest_seq for each in scheduler.launches()] == [3, 4]


def test_the_urgent_slot_is_for_stop_alone() -> None:
    """A17: a control lane that is full does not hold up a /stop; one session has one command at a time."""
    scheduler = a_scheduler((1, "a", ORDINARY), (2, "b", ORDINARY), control=1)
    for each in scheduler.launches():
        run(scheduler, each.ingest_seq, each.session_key)
    scheduler.arrived(3, "a", CONTROL)
    scheduler.arrived(4, "a", CONTROL)
    scheduler.arrived(5, "b", CONTROL)
    first = scheduler.launches()
    scheduler.arrived(6, "b", STOP)
    scheduler.arrived(7, "a", STOP)

    assert first == [Launch(3, "a", Lane.CONTROL)]
    assert scheduler.launches() == [Launch(6, "b", Lane.URGENT)]
    scheduler.ended(6, "b")
    assert scheduler.launches() == [Launch(7, "a", Lane.URGENT)]
    scheduler.ended(3, "a")
    assert scheduler.launches() == [Launch(4, "a", Lane.CONTROL)]


def test_a_command_that_may_not_bypass_after_all_waits_for_its_place() -> None:
    """A18: refused once, it runs as the head of its session, and does not come up again before."""
    scheduler = a_scheduler((1, "a", ORDINARY))
    scheduler.launches()
    run(scheduler, 1, "a")
    scheduler.arrived(2, "a", ORDINARY)
    scheduler.arrived(3, "a", CONTROL)
    assert scheduler.launches() == [Launch(3, "a", Lane.CONTROL)]

    scheduler.refused(3, "a")

    assert scheduler.launches() == []
    assert scheduler.used(Lane.CONTROL) == 0
    end(scheduler, 1, "a")
    assert scheduler.launches() == [Launch(2, "a", Lane.ORDINARY)]
    end(scheduler, 2, "a")
    assert scheduler.launches() == [Launch(3, "a", Lane.ORDINARY)]


def test_a_stop_that_came_too_late_may_pass_the_next_turn() -> None:
    """It was said about what came before it, so it does not wait behind that; what came after it waits for it."""
    scheduler = a_scheduler((1, "a", ORDINARY))
    scheduler.launches()
    run(scheduler, 1, "a")
    for seq, kind in ((2, ORDINARY), (3, CONTROL), (4, STOP), (5, ORDINARY)):
        scheduler.arrived(seq, "a", kind)
    assert scheduler.launches() == [Launch(4, "a", Lane.URGENT), Launch(3, "a", Lane.CONTROL)]
    scheduler.refused(4, "a")
    scheduler.refused(3, "a")
    assert scheduler.launches() == []

    end(scheduler, 1, "a")
    assert scheduler.launches() == [Launch(2, "a", Lane.ORDINARY)]
    run(scheduler, 2, "a")

    assert scheduler.launches() == [Launch(4, "a", Lane.URGENT)]
    scheduler.ended(4, "a")
    end(scheduler, 2, "a")
    assert scheduler.launches() == [Launch(3, "a", Lane.ORDINARY)]


def test_a_late_stop_that_is_the_head_runs_as_one() -> None:
    """Once, and not a second time past the turn behind it."""
    scheduler = a_scheduler((1, "a", ORDINARY))
    scheduler.launches()
    run(scheduler, 1, "a")
    scheduler.arrived(2, "a", STOP)
    scheduler.launches()
    scheduler.refused(2, "a")
    scheduler.arrived(3, "a", ORDINARY)

    end(scheduler, 1, "a")
    assert scheduler.launches() == [Launch(2, "a", Lane.ORDINARY)]
    end(scheduler, 2, "a")
    assert scheduler.launches() == [Launch(3, "a", Lane.ORDINARY)]
    run(scheduler, 3, "a")
    assert scheduler.launches() == []


def test_a_command_of_an_idle_session_is_an_ordinary_head() -> None:
    """A head runs in an ordinary slot, whatever its class."""
    assert a_scheduler((1, "a", STOP)).launches() == [Launch(1, "a", Lane.ORDINARY)]


def test_what_hermes_parked_keeps_its_session_and_frees_its_slot() -> None:
    """W6: a receipt behind somebody else's turn strands no slot; its session goes on when it is over."""
    scheduler = a_scheduler((1, "a", ORDINARY), (2, "a", ORDINARY), (3, "b", ORDINARY), slots=1)
    scheduler.launches()
    scheduler.became_busy("a")

    scheduler.parked(1, "a")

    assert scheduler.launches() == [Launch(3, "b", Lane.ORDINARY)]
    scheduler.ended(3, "b")
    scheduler.became_idle("a")
    assert scheduler.launches() == []
    scheduler.ended(1, "a")
    assert scheduler.launches() == [Launch(2, "a", Lane.ORDINARY)]


def test_quarantine_blocks_its_own_session_until_a_person_decides() -> None:
    """I9, W1: later turns of that session wait, those of others do not, however often anybody asks."""
    scheduler = a_scheduler((1, "a", ORDINARY), (2, "a", ORDINARY), (3, "b", ORDINARY), slots=1)
    scheduler.launches()

    scheduler.quarantined(1, "a")

    assert scheduler.launches() == [Launch(3, "b", Lane.ORDINARY)]
    scheduler.ended(3, "b")
    assert all(scheduler.launches() == [] for _ in range(100))
    assert scheduler.is_blocked("a")
    scheduler.remedied(1, "a")
    assert scheduler.launches() == [Launch(2, "a", Lane.ORDINARY)]


def test_a_requeued_receipt_is_first_again() -> None:
    """What a person sends back has its old place in the order, with its own class."""
    scheduler = a_scheduler((1, "a", CONTROL), (2, "a", ORDINARY), (3, "a", ORDINARY))
    scheduler.launches()
    scheduler.quarantined(1, "a")

    scheduler.remedied(1, "a")
    scheduler.arrived(1, "a", CONTROL)

    assert scheduler.launches() == [Launch(1, "a", Lane.ORDINARY)]
    end(scheduler, 1, "a")
    assert scheduler.launches() == [Launch(2, "a", Lane.ORDINARY)]


def test_a_later_quarantine_does_not_hold_up_what_came_before_it() -> None:
    """Only what came after the quarantined receipt waits."""
    scheduler = a_scheduler((1, "a", ORDINARY))
    scheduler.launches()
    run(scheduler, 1, "a")
    scheduler.arrived(2, "a", ORDINARY)
    scheduler.arrived(3, "a", CONTROL)
    scheduler.arrived(4, "a", ORDINARY)
    scheduler.launches()
    scheduler.quarantined(3, "a")
    end(scheduler, 1, "a")

    assert scheduler.launches() == [Launch(2, "a", Lane.ORDINARY)]
    end(scheduler, 2, "a")
    assert scheduler.launches() == []


def test_a_blocked_session_that_is_idle_still_answers_commands() -> None:
    """W17: /status runs there as a detour in an ordinary slot; a text that is no command is refused and waits."""
    scheduler = a_scheduler((1, "a", ORDINARY))
    scheduler.launches()
    scheduler.quarantined(1, "a")
    scheduler.arrived(2, "a", ORDINARY)
    scheduler.arrived(3, "a", CONTROL)
    scheduler.arrived(4, "a", STOP)

    assert scheduler.launches() == [Launch(4, "a", Lane.ORDINARY, is_detour=True)]
    end(scheduler, 4, "a")
    assert scheduler.launches() == [Launch(3, "a", Lane.ORDINARY, is_detour=True)]
    scheduler.refused(3, "a")
    assert scheduler.launches() == []
    scheduler.remedied(1, "a")
    assert scheduler.launches() == [Launch(2, "a", Lane.ORDINARY)]


def test_a_thousand_messages_of_a_busy_session_hide_nobody() -> None:
    """I8: behind them the first messages of two other sessions run at once."""
    scheduler = a_scheduler()
    scheduler.became_busy("a")
    for n in range(1, 1001):
        scheduler.arrived(n, "a", ORDINARY)
    scheduler.arrived(1001, "b", ORDINARY)
    scheduler.arrived(1002, "c", ORDINARY)

    assert [each.session_key for each in scheduler.launches()] == ["b", "c"]


def test_every_one_of_two_hundred_sessions_gets_its_turn() -> None:
    """I10: however few slots there are."""
    scheduler = a_scheduler(*((n, f"s{n}", ORDINARY) for n in range(1, 201)), slots=37)

    seen: list[int] = []
    while launched := scheduler.launches():
        seen += [each.ingest_seq for each in launched]
        for each in launched:
            scheduler.ended(each.ingest_seq, each.session_key)

    assert seen == list(range(1, 201))
    assert len(scheduler) == 0


def test_it_begins_with_what_the_inbox_holds() -> None:
    """After a restart what waits, waits, and what is quarantined blocks."""
    scheduler = Scheduler(4)
    scheduler.load(
        [
            OpenReceipt(1, "a", ORDINARY, Status.QUARANTINED),
            OpenReceipt(2, "a", ORDINARY, Status.PENDING),
            OpenReceipt(3, "b", ORDINARY, Status.PENDING),
        ]
    )

    assert [each.ingest_seq for each in scheduler.launches()] == [3]


def test_a_command_behind_a_hundred_thousand_messages_runs_within_ten_milliseconds() -> None:
    """The cost of a decision does not depend on how much waits: arrival and launch of the command together."""
    scheduler = a_scheduler((1, "a", ORDINARY))
    scheduler.launches()
    run(scheduler, 1, "a")
    for n in range(2, 100_002):
        scheduler.arrived(n, "a", ORDINARY)

    started = time.perf_counter()
    scheduler.arrived(100_002, "a", CONTROL)
    launched = scheduler.launches()
    took_s = time.perf_counter() - started

    assert launched == [Launch(100_002, "a", Lane.CONTROL)]
    assert took_s < 0.010


def test_what_was_stored_and_what_arrives_before_the_start_are_one_order() -> None:
    """A gateway takes messages before it begins to work on the older ones: the older ones still go first."""
    scheduler = a_scheduler((7, "a", ORDINARY), (8, "a", STOP), (9, "b", ORDINARY), slots=9)
    kinds = {1: ORDINARY, 2: CONTROL, 3: STOP, 5: CONTROL}
    scheduler.load([OpenReceipt(seq, "a", kind, Status.PENDING) for seq, kind in kinds.items()])
    scheduler.load([OpenReceipt(4, "c", ORDINARY, Status.QUARANTINED), OpenReceipt(6, "c", ORDINARY, Status.PENDING)])

    first = scheduler.launches()
    run(scheduler, 1, "a")
    beside = scheduler.launches()

    assert [each.ingest_seq for each in first] == [1, 9]
    assert [(each.ingest_seq, each.lane) for each in beside] == [(3, Lane.URGENT), (2, Lane.CONTROL)]


def test_a_backlog_is_sorted_once() -> None:
    """Ten thousand waiting messages, and one that came before they were read: the loop is held for milliseconds."""
    scheduler = a_scheduler((10_001, "a", ORDINARY))
    backlog = [OpenReceipt(seq, "a", ORDINARY, Status.PENDING) for seq in range(1, 10_001)]

    began = time.process_time()
    scheduler.load(backlog)
    spent_s = time.process_time() - began

    assert spent_s < 0.1
    assert scheduler.launches() == [Launch(1, "a", Lane.ORDINARY)]
