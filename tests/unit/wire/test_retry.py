"""Retry verdicts: Appendix B as a table, the pauses, and what may be forgotten."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from canon_ops.wire.retry import (
    Again,
    GiveUp,
    Outcome,
    Policy,
    TransportKind,
    certainly_not_handled,
    decide,
    is_retryable,
    reconnect_delays,
    retry_after_s,
)

A, B, C = Policy.READ, Policy.IDEMPOTENT, Policy.SINGLE

# Appendix B. For each outcome: the policies that allow another attempt.
STATUSES = {
    200: "", 301: "", 400: "", 401: "", 403: "", 404: "", 408: "AB", 409: "", 410: "", 422: "", 425: "AB",
    429: "ABC", 499: "", 500: "AB", 501: "AB", 502: "AB", 503: "ABC", 504: "AB", 599: "AB",
}  # fmt: skip
TRANSPORT = {
    TransportKind.REFUSED: "ABC",
    TransportKind.CONNECT_TIMEOUT: "ABC",
    TransportKind.READ_TIMEOUT: "AB",
    TransportKind.PROTOCOL: "AB",
    TransportKind.WRITE_TIMEOUT: "B",
    TransportKind.POOL_TIMEOUT: "B",
    TransportKind.READ_ERROR: "B",
    TransportKind.WRITE_ERROR: "B",
    TransportKind.CLOSE_ERROR: "B",
    TransportKind.OTHER: "B",
}


def policies_that_retry(outcome: Outcome) -> str:
    return "".join(policy.value for policy in Policy if is_retryable(policy, outcome))


@pytest.mark.parametrize(("status", "policies"), STATUSES.items())
def test_appendix_b_statuses(status: int, policies: str) -> None:
    """Each status is worth another attempt under exactly the policies of the table."""
    assert policies_that_retry(Outcome(status=status)) == policies


@pytest.mark.parametrize(("kind", "policies"), TRANSPORT.items())
def test_appendix_b_transport_failures(kind: TransportKind, policies: str) -> None:
    """Each way in which a connection fails is worth another attempt under exactly the policies of the table."""
    assert policies_that_retry(Outcome(transport=kind)) == policies


def test_every_kind_of_failure_has_its_row() -> None:
    """A new kind cannot be added without saying what it means."""
    assert set(TRANSPORT) == set(TransportKind)


def test_an_answer_that_nobody_can_read_is_not_repeated() -> None:
    """What the server did is unknown, and asking again would not make it known."""
    assert policies_that_retry(Outcome()) == ""


@pytest.mark.parametrize("policy", [B, C])
def test_a_write_is_attempted_three_times(policy: Policy) -> None:
    """The pauses are 0.4 and 0.8 seconds, then the error surfaces as one that may pass."""
    outcome = Outcome(status=503)

    assert [decide(policy, outcome, attempt) for attempt in (1, 2, 3)] == [Again(0.4), Again(0.8), GiveUp(True)]


def test_a_read_is_only_sorted() -> None:
    """Under the policy for reads nothing is repeated here; the verdict says whether it might help."""
    assert decide(A, Outcome(status=503), 1) == GiveUp(retryable=True)
    assert decide(A, Outcome(status=404), 1) == GiveUp(retryable=False)


def test_what_will_not_pass_is_given_up_at_once() -> None:
    """A definite refusal is not repeated under any policy."""
    assert {decide(policy, Outcome(status=400), 1) for policy in Policy} == {GiveUp(retryable=False)}


@pytest.mark.parametrize(
    ("hint_s", "pause_s"),
    [(None, 0.4), (0.0, 0.4), (0.1, 0.4), (5.0, 5.0), (30.0, 30.0), (3_600.0, 30.0)],
)
def test_the_servers_pause_is_honoured_and_bounded(hint_s: float | None, pause_s: float) -> None:
    """A hint makes the pause longer, never shorter, and never longer than half a minute."""
    assert decide(B, Outcome(status=429), 1, hint_s) == Again(pause_s)


def test_jitter_only_adds() -> None:
    """Callers who failed together come back apart, none of them early."""
    outcome = Outcome(status=429)

    assert decide(B, outcome, 2, jitter=0.5) == Again(0.8 + 0.8 * 0.25)
    assert decide(B, outcome, 1, 5.0, jitter=0.5) == Again(5.0 + 0.4 * 0.25)


NOW_MS = 1_789_000_000_000  # Thu, 10 Sep 2026 00:26:40 GMT


@pytest.mark.parametrize(
    ("header", "body", "seconds"),
    [
        ("7", None, 7.0),
        (" 7 ", 3, 7.0),
        (None, 3, 3.0),
        (None, 1.5, 1.5),
        ("Thu, 10 Sep 2026 00:26:50 GMT", None, 10.0),
        ("Thu, 10 Sep 2026 00:26:50 -0000", None, 10.0),
        ("Thu, 10 Sep 2026 00:26:30 GMT", None, 0.0),
        ("soon", 4, 4.0),
        ("-5", None, None),
        ("7.5", None, None),
        ("٧", None, None),
        ("9" * 400, None, 999_999_999.0),
        (None, True, None),
        (None, "7", None),
        (None, -1, 0.0),
        (None, float("nan"), None),
        (None, float("inf"), None),
        (None, 10**400, None),
        (None, -(10**400), None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_the_servers_pause_is_read_in_each_of_its_forms(
    header: str | None, body: object, seconds: float | None
) -> None:
    """Seconds or a date in the header, a number in the body; the header wins and nonsense is no hint."""
    assert retry_after_s(header, body, now_ms=NOW_MS) == seconds


@pytest.mark.parametrize(
    ("outcome", "forgettable"),
    [
        (Outcome(status=400), True),
        (Outcome(status=404), True),
        (Outcome(status=302), True),
        (Outcome(status=429), True),
        (Outcome(status=503), True),
        (Outcome(transport=TransportKind.REFUSED), True),
        (Outcome(transport=TransportKind.CONNECT_TIMEOUT), True),
        (Outcome(status=409), False),
        (Outcome(status=408), False),
        (Outcome(status=425), False),
        (Outcome(status=500), False),
        (Outcome(status=200), False),
        (Outcome(transport=TransportKind.READ_TIMEOUT), False),
        (Outcome(transport=TransportKind.WRITE_ERROR), False),
        (Outcome(), False),
    ],
)
def test_a_write_is_forgotten_only_when_it_certainly_left_nothing(outcome: Outcome, forgettable: bool) -> None:
    """Before the handler or a plain refusal: forget; conflict, trouble, silence: keep."""
    assert certainly_not_handled(outcome) is forgettable


def test_s2_18_reconnects_are_spread_and_bounded() -> None:
    """S2.18: each pause lies in the upper half of 1, 2, 4 … 30 seconds, so no end of a stream is a hot loop."""
    bases = [1, 2, 4, 8, 16, 30, 30, 30]

    for seed in range(50):
        delays = list(islice(reconnect_delays(random.Random(seed)), len(bases)))

        assert all(base / 2 <= delay <= base for base, delay in zip(bases, delays, strict=True))


def test_s2_18_two_clients_do_not_reconnect_together() -> None:
    """S2.18: the pauses depend on the random numbers that were handed in, and on nothing else."""
    first, again, other = (list(islice(reconnect_delays(random.Random(seed)), 6)) for seed in (1, 1, 2))

    assert first == again != other
