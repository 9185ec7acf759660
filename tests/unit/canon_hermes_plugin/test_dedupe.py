"""Message ids: once each, remembered within a bound, and given back when the work failed."""

from __future__ import annotations

from canon_hermes_plugin.dedupe import REMEMBERED, Seen, admit, release, settle


def test_a_second_delivery_is_not_admitted() -> None:
    """Neither while the first is in work nor after it."""
    seen, first = admit(Seen(), "m1")
    _, while_running = admit(seen, "m1")
    _, afterwards = admit(settle(seen, "m1"), "m1")

    assert (first, while_running, afterwards) == (True, False, False)


def test_s2_16_the_oldest_is_forgotten_alone() -> None:
    """S2.16: after 1,025 ids the first is admitted again, the second is not."""
    seen = Seen()
    for number in range(REMEMBERED + 1):
        seen, _ = admit(seen, f"m{number}")
        seen = settle(seen, f"m{number}")

    assert admit(seen, "m0")[1] is True
    assert admit(seen, "m1")[1] is False


def test_failed_work_is_admitted_again() -> None:
    """D21: a released id counts as never seen."""
    seen, _ = admit(Seen(), "m1")

    assert admit(release(seen, "m1"), "m1")[1] is True


def test_work_in_progress_is_never_forgotten() -> None:
    """However many others are settled meanwhile, an id in work stays."""
    seen, _ = admit(Seen(), "slow")
    for number in range(REMEMBERED * 2):
        seen = settle(seen, f"m{number}")

    assert admit(seen, "slow")[1] is False


def test_messages_without_an_id_are_always_new() -> None:
    """R2.14: nothing is remembered of them."""
    assert admit(Seen(), None) == (Seen(), True)
    assert settle(Seen(), None) == release(Seen(), None) == Seen()
