"""Message ids: once each, remembered within a bound, and given back when the work failed."""

from __future__ import annotations

from canon_hermes_plugin.inbound.dedupe import Seen

NEWEST = 1_024  # R2.14 says so; the module's own number is what these tests hold


def test_a_second_delivery_is_not_admitted() -> None:
    """Neither while the first is in work nor after it."""
    seen = Seen()

    first, while_running = seen.admit("m1"), seen.admit("m1")
    seen.settle("m1")

    assert (first, while_running, seen.admit("m1")) == (True, False, False)


def test_what_is_in_work_is_known_as_such() -> None:
    """From the admission to the end of the work, however it ends."""
    seen = Seen(["m0"])
    before = seen.is_running("m0"), seen.is_running("m1")
    seen.admit("m1")
    seen.admit("m2")
    during = seen.is_running("m1"), seen.is_running("m2")
    seen.settle("m1")
    seen.release("m2")

    assert (before, during) == ((False, False), (True, True))
    assert not seen.is_running("m1")
    assert not seen.is_running("m2")
    assert ("m0" in seen, "m1" in seen, "m2" in seen) == (True, True, False)


def test_s2_16_the_oldest_is_forgotten_alone() -> None:
    """S2.16: after 1,025 ids the first is admitted again, the second is not."""
    seen = Seen()
    for number in range(NEWEST + 1):
        seen.admit(f"m{number}")
        seen.settle(f"m{number}")

    assert seen.admit("m0") is True
    assert seen.admit("m1") is False


def test_failed_work_is_admitted_again() -> None:
    """D21: a released id counts as never seen."""
    seen = Seen()
    seen.admit("m1")
    seen.release("m1")

    assert seen.admit("m1") is True


def test_work_in_progress_is_never_forgotten() -> None:
    """However many others are settled meanwhile, an id in work stays."""
    seen = Seen()
    seen.admit("slow")
    for number in range(NEWEST * 2):
        seen.settle(f"m{number}")

    assert seen.admit("slow") is False


def test_messages_without_an_id_are_always_new() -> None:
    """R2.14: nothing is remembered of them."""
    seen = Seen()

    assert (seen.admit(None), seen.admit(None)) == (True, True)
    seen.settle(None)
    seen.release(None)
    assert len(seen) == 0
